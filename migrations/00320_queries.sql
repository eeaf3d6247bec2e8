-- +goose Up
CREATE TABLE public.iasql_queries (
    id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name   text NOT NULL CHECK (name ~ '\S' AND length(name) <= 200 AND name !~ '[[:cntrl:]]'),
    query  text NOT NULL CHECK (query ~ '\S' AND length(query) <= 50000),
    owner  text NOT NULL DEFAULT CURRENT_USER,
    shared boolean NOT NULL DEFAULT false,
    CONSTRAINT iasql_queries_name UNIQUE (owner, name)
);
COMMENT ON TABLE public.iasql_queries IS 'Queries that people have saved, as the console does on its SQL page. Each role sees its own and what others share.';
COMMENT ON COLUMN public.iasql_queries.id IS 'Number of the query.';
COMMENT ON COLUMN public.iasql_queries.name IS 'What its owner calls it.';
COMMENT ON COLUMN public.iasql_queries.query IS 'The SQL, up to 50,000 characters. Nobody runs it but who asks for it, with rights of his own.';
COMMENT ON COLUMN public.iasql_queries.owner IS 'The role that saved it, and alone may change or delete it.';
COMMENT ON COLUMN public.iasql_queries.shared IS 'Whether others may read it.';
ALTER TABLE public.iasql_queries ENABLE ROW LEVEL SECURITY;

-- +goose Down
DROP TABLE public.iasql_queries CASCADE;
