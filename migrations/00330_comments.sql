-- +goose Up
CREATE TABLE public.iasql_batch_comments (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    batch      bigint NOT NULL REFERENCES iasql_internal.batch ON DELETE CASCADE,
    author     text NOT NULL DEFAULT CURRENT_USER,
    written_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    comment    text NOT NULL
);
CREATE INDEX iasql_batch_comments_batch ON public.iasql_batch_comments (batch, id);
COMMENT ON TABLE public.iasql_batch_comments IS 'What people say of a batch while they review it. Everybody who may see batches reads it; who has written a comment may delete it.';
COMMENT ON COLUMN public.iasql_batch_comments.id IS 'Number of the comment.';
COMMENT ON COLUMN public.iasql_batch_comments.batch IS 'The batch: the column id of iasql_batches.';
COMMENT ON COLUMN public.iasql_batch_comments.author IS 'The role that wrote it.';
COMMENT ON COLUMN public.iasql_batch_comments.written_at IS 'When.';
COMMENT ON COLUMN public.iasql_batch_comments.comment IS 'The text, up to 10,000 characters.';
ALTER TABLE public.iasql_batch_comments ENABLE ROW LEVEL SECURITY;

-- +goose Down
DROP TABLE public.iasql_batch_comments CASCADE;
