-- What is in force, and what is being declared for the first time.
CREATE OR REPLACE VIEW public.iasql_configurations WITH (security_barrier) AS
SELECT n.name, c.declared_at, d.declared_by, d.revision, d.batch,
       (SELECT count(*) FROM iasql_internal.mention m WHERE m.declaration = c.declaration) AS mentions,
       o.batch AS declaring, o.declared_by AS declaring_by
FROM (SELECT c.name FROM iasql_internal.configuration c
      UNION
      SELECT d.configuration FROM iasql_internal.declaration d WHERE d.closed_at IS NULL) n
LEFT JOIN iasql_internal.configuration c USING (name)
LEFT JOIN iasql_internal.declaration d ON d.id = c.declaration
LEFT JOIN iasql_internal.declaration o ON o.configuration = n.name AND o.closed_at IS NULL;
COMMENT ON VIEW public.iasql_configurations IS 'The configurations, each with the declaration of it that is in force. To take one away with all records that only it mentions, delete its row.';
COMMENT ON COLUMN public.iasql_configurations.name IS 'What iasql_declare calls it.';
COMMENT ON COLUMN public.iasql_configurations.declared_at IS 'When the declaration in force was committed; NULL: none has been yet.';
COMMENT ON COLUMN public.iasql_configurations.declared_by IS 'Role that declared it.';
COMMENT ON COLUMN public.iasql_configurations.revision IS 'Which state of a repository it was, as iasql_declare was told.';
COMMENT ON COLUMN public.iasql_configurations.batch IS 'The batch that put it in force; iasql_undo takes that back.';
COMMENT ON COLUMN public.iasql_configurations.mentions IS 'How many records it mentions, also those that are gone since, and those that you may not see.';
COMMENT ON COLUMN public.iasql_configurations.declaring IS 'The open batch in which it is being declared anew.';
COMMENT ON COLUMN public.iasql_configurations.declaring_by IS 'Role that declares it there.';

CREATE OR REPLACE TRIGGER iasql_delete_configuration INSTEAD OF DELETE ON public.iasql_configurations
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.delete_configuration();

CREATE OR REPLACE FUNCTION iasql_internal.mentions() RETURNS TABLE (configuration text, table_name text, record_id bigint, shared boolean)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    "table" text;
BEGIN
    FOR "table" IN
        SELECT DISTINCT m.table_name FROM iasql_internal.mentioned m
        JOIN pg_class c ON c.relname = m.table_name AND c.relnamespace = 'public'::regnamespace
        JOIN pg_attribute i ON i.attrelid = c.oid AND i.attname = 'id'
        WHERE has_column_privilege(i.attrelid, i.attnum, 'SELECT') ORDER BY 1
    LOOP
        RETURN QUERY EXECUTE format('SELECT m.configuration, m.table_name, m.record_id, m.shared FROM iasql_internal.mentioned m
                                     JOIN public.%I t ON t.id = m.record_id WHERE m.table_name = %L', "table", "table");
    END LOOP;
END
$$;
COMMENT ON FUNCTION iasql_internal.mentions() IS 'Rows of the view iasql_mentions.';

CREATE OR REPLACE VIEW iasql_internal.mentioned WITH (security_barrier) AS
SELECT c.name AS configuration, m.table_name, m.record_id,
       EXISTS (SELECT FROM iasql_internal.mention o JOIN iasql_internal.configuration x ON x.declaration = o.declaration
               WHERE o.table_name = m.table_name AND o.record_id = m.record_id AND x.name <> c.name) AS shared
FROM iasql_internal.configuration c JOIN iasql_internal.mention m ON m.declaration = c.declaration
WHERE NOT m.table_name = ANY ((SELECT iasql_internal.restricted())::text[])
   OR (m.table_name, m.record_id) IN (SELECT s.table_name, s.record_id FROM iasql_internal.seen() s);
COMMENT ON VIEW iasql_internal.mentioned IS 'The records that configurations in force mention, as far as grants and row-level security let the caller see them.';

CREATE OR REPLACE VIEW public.iasql_mentions WITH (security_barrier) AS
SELECT m.configuration, m.table_name, m.record_id, m.shared FROM iasql_internal.mentions() m;
COMMENT ON VIEW public.iasql_mentions IS 'Which records each configuration has, of those that you may see.';
COMMENT ON COLUMN public.iasql_mentions.configuration IS 'The configuration.';
COMMENT ON COLUMN public.iasql_mentions.table_name IS 'The table of the record.';
COMMENT ON COLUMN public.iasql_mentions.record_id IS 'The record: its column id.';
COMMENT ON COLUMN public.iasql_mentions.shared IS 'Another configuration has it too: it goes with the last.';
