ALTER TABLE public.web_service
    ADD COLUMN max_number integer,
    ADD COLUMN target_cpu integer DEFAULT 60 CHECK (target_cpu BETWEEN 1 AND 100),
    ADD COLUMN target_memory integer CHECK (target_memory BETWEEN 1 AND 100),
    ADD CHECK (max_number >= number),
    ADD CHECK (max_number IS NULL OR num_nonnulls(target_cpu, target_memory) > 0);
COMMENT ON COLUMN public.web_service.number IS 'How many tasks run: at least, if there is a max_number.';
COMMENT ON COLUMN public.web_service.max_number IS 'How many tasks run at most: as many as it takes to keep processors and memory at what target_cpu and target_memory say. NULL: always number.';
COMMENT ON COLUMN public.web_service.target_cpu IS 'At which use of its tasks'' processors it is kept, in percent, if there is a max_number. NULL: processors do not count.';
COMMENT ON COLUMN public.web_service.target_memory IS 'At which use of its tasks'' memory it is kept, in percent, if there is a max_number. NULL: memory does not count.';
