-- It says nothing of anybody's account but what iasql_modules_installed() says, too.
CREATE OR REPLACE VIEW public.iasql_type_names WITH (security_barrier) AS
SELECT n.name, n.type AS type_name, CASE WHEN m.installed IS NULL THEN n.name ELSE m.tables[1] END AS table_name, m.installed IS NOT NULL AS installed, n.doc AS description
FROM iasql_internal.type_name n LEFT JOIN iasql_internal.module m ON m.name = n.type;
COMMENT ON VIEW public.iasql_type_names IS 'The names that people know resource types by, by which they can be installed: SELECT * FROM iasql_type_names WHERE description ~* ''proxy''. iasql_types has all types, of which most have their own name alone.';
COMMENT ON COLUMN public.iasql_type_names.name IS 'What iasql_install and iasql_uninstall take, and the engine''s command that prints permissions.';
COMMENT ON COLUMN public.iasql_type_names.type_name IS 'The resource type, as its publisher calls it.';
COMMENT ON COLUMN public.iasql_type_names.table_name IS 'The table that it is or would be. One that was installed before it had the name may be called otherwise.';
COMMENT ON COLUMN public.iasql_type_names.installed IS 'Whether it is installed.';
COMMENT ON COLUMN public.iasql_type_names.description IS 'What its objects are, and what people call them.';
