-- +goose Up
ALTER TABLE iasql_internal.module ADD COLUMN functions text[] NOT NULL DEFAULT '{}';
COMMENT ON COLUMN iasql_internal.module.functions IS 'The functions the module has in schema public.';

ALTER TABLE iasql_internal.request ADD COLUMN engine text;
COMMENT ON COLUMN iasql_internal.request.engine IS 'The engine that has begun to work on it.';

ALTER TABLE public.iasql_operations DROP CONSTRAINT iasql_operations_kind_check;
ALTER TABLE public.iasql_operations ADD CONSTRAINT iasql_operations_kind_check CHECK (kind IN ('create', 'update', 'delete', 'call'));
COMMENT ON COLUMN public.iasql_operations.kind IS 'create, update, delete, or call: made by a function of a module, not by a cycle (whose id is 0), and never made again.';

-- +goose Down
DELETE FROM public.iasql_operations WHERE kind = 'call';
ALTER TABLE public.iasql_operations DROP CONSTRAINT iasql_operations_kind_check;
ALTER TABLE public.iasql_operations ADD CONSTRAINT iasql_operations_kind_check CHECK (kind IN ('create', 'update', 'delete'));
ALTER TABLE iasql_internal.request DROP COLUMN engine;
ALTER TABLE iasql_internal.module DROP COLUMN functions;
