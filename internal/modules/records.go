package modules

import (
	"fmt"
	"slices"
	"strings"
)

// A column may hold the list of the records that the elements of another column name
// ([Column.Records]), as a reference may stand beside a name (beside.go). No foreign key of
// PostgreSQL's can say so; triggers do what one would.

// Lists returns the columns that hold lists of records.
func (t *Table) Lists() []*Column {
	var list []*Column
	for i := range t.Columns {
		if t.Columns[i].Records != nil {
			list = append(list, &t.Columns[i])
		}
	}
	return list
}

// RecordsOf returns the column with the records that the elements of a column name; nil if there
// is none.
func (t *Table) RecordsOf(c *Column) *Column {
	if c.Type != TypeTexts {
		return nil
	}
	for _, list := range t.Lists() {
		if list.Records.NameColumn == c.Name {
			return list
		}
	}
	return nil
}

// RecordsIn returns the ids of the records that a row names by the column, a reference to records by id or a list
// of records, also if that is on its way out; none for other columns.
func (c *Column) RecordsIn(row Row) []int64 {
	v := row[c.Name]
	switch {
	case v.IsNull(), v.IsUnrecorded():
	case c.Records != nil:
		return slices.DeleteFunc(v.IDs(), func(id int64) bool { return id == 0 })
	case c.References != nil && !c.References.ByKey:
		return []int64{v.Int()}
	}
	return nil
}

// Target returns the table whose records the column names by id; "" for other columns.
func (c *Column) Target() string {
	switch {
	case c.Records != nil:
		return c.Records.Table
	case c.References != nil && !c.References.ByKey:
		return c.References.Table
	}
	return ""
}

// listsBefore reports whether the column with the names of a list of records stands before it.
func (t *Table) listsBefore(at int) bool {
	return slices.ContainsFunc(t.Columns[:at], func(c Column) bool {
		return c.Name == t.Columns[at].Records.NameColumn && c.Type == TypeTexts && !c.Computed
	})
}

// within is the condition for a record p of the referenced table to be in the place of a row.
func (c *Column) within(row string, t *Table, lookup func(string) *Table) string {
	scope := lookup(c.Records.Table).scopeColumns()
	if c.Records.AnyScope || t.Reach != PerRegion {
		scope = scope[:1]
	}
	conditions := make([]string, len(scope))
	for i, name := range scope {
		conditions[i] = fmt.Sprintf("p.%s = %s.%[1]s", quote(name), row)
	}
	return strings.Join(conditions, " AND ")
}

// moved is the condition for a row that is updated to have got to another place.
func (t *Table) moved() string {
	conditions := []string{}
	for _, name := range t.scopeColumns() {
		conditions = append(conditions, fmt.Sprintf("NEW.%s <> OLD.%[1]s", quote(name)))
	}
	return "TG_OP = 'UPDATE' AND (" + strings.Join(conditions, " OR ") + ")"
}

// recordsFunction is the trigger function that recordsDDL makes.
func (t *Table) recordsFunction() string { return "iasql_internal." + quote("records_"+t.Name) }

// recordsDDL returns the statements that make the triggers by which a list of records and the names
// beside it are in step, whichever users write, and by which no record goes that is in a list. They
// may be run again.
//
// A NULL in what users write stands for what stood there: the n-th name without a record in one
// column is the n-th NULL in the other. So what has been read can be written again, with more to it.
func (t *Table) recordsDDL(lookup func(string) *Table) []string {
	var body, of, statements []string
	for i, c := range t.Lists() {
		if i == 0 {
			of = append(of, t.scopeColumns()...)
		}
		names, ids := quote(c.Records.NameColumn), quote(c.Name)
		of = append(of, c.Records.NameColumn, c.Name)
		body = append(body, strings.NewReplacer("{names}", names, "{ids}", ids,
			"{target}", "public."+quote(c.Records.Table), "{key}", quote(c.Records.Key),
			"{within}", c.within("NEW", t, lookup), "{moved}", t.moved(),
			"{column}", literal(c.Name), "{beside}", literal(c.Records.NameColumn), "{record}",
			literal(c.Records.Table),
		).Replace(recordsBody))
		for _, trigger := range []struct{ kind, when, deferrable, function string }{
			{"TRIGGER", "BEFORE", "", "leave_records"},
			{"CONSTRAINT TRIGGER", "AFTER", "DEFERRABLE INITIALLY IMMEDIATE ", "keep_records"},
		} {
			name := quote(named("iasql_"+trigger.function, t.Name, c.Name))
			create := fmt.Sprintf("CREATE %s %s %s DELETE ON public.%s %sFOR EACH ROW EXECUTE FUNCTION "+
				"iasql_internal.%s(%s, %s)", trigger.kind, name, trigger.when, quote(c.Records.Table),
				trigger.deferrable,
				trigger.function, literal(t.Name), literal(c.Name))
			statements = append(statements,
				fmt.Sprintf("DROP TRIGGER IF EXISTS %s ON public.%s", name, quote(c.Records.Table)), create)
		}
	}
	if len(body) == 0 {
		return nil
	}
	return append(statements,
		fmt.Sprintf("CREATE OR REPLACE FUNCTION %s() RETURNS trigger\nLANGUAGE plpgsql SECURITY DEFINER "+pinned+
			" AS %s",
			t.recordsFunction(), dollar(fmt.Sprintf(`
DECLARE
    found_names text[];
    missing     bigint;
BEGIN
    IF iasql_internal.writer_is_engine() THEN
        RETURN NEW; -- it has read both
    END IF;%s
    RETURN NEW;
END
`, strings.Join(body, "")))),
		fmt.Sprintf("COMMENT ON FUNCTION %s() IS 'Row trigger: the lists of %s that name objects, and those of their "+
			"records, name the same ones.'", t.recordsFunction(), t.Name),
		fmt.Sprintf("REVOKE EXECUTE ON FUNCTION %s() FROM PUBLIC", t.recordsFunction()),
		fmt.Sprintf("CREATE OR REPLACE TRIGGER iasql_records BEFORE INSERT OR UPDATE OF %s ON public.%s FOR EACH ROW "+
			"EXECUTE FUNCTION %s()", quoteAll(of), quote(t.Name), t.recordsFunction()))
}

// recordsBody is what the trigger function does about one list. (In an INSERT, OLD is NULL: manual,
// section 43.10.1.) A row that moves names by its names what there is in its new place. The records are locked as by a
// foreign key, so that none goes meanwhile.
const recordsBody = `
    IF NEW.{ids} IS NOT NULL AND NEW.{ids} IS DISTINCT FROM OLD.{ids} THEN
        PERFORM FROM {target} p WHERE p.id = ANY (NEW.{ids}) ORDER BY p.id FOR KEY SHARE;
        SELECT array_agg(CASE WHEN u.id IS NOT NULL THEN p.{key} ELSE without.name END ORDER BY u.ord),
               min(u.id) FILTER (WHERE u.id IS NOT NULL AND p.id IS NULL) INTO found_names, missing
        FROM (SELECT x.id, x.ord, count(*) FILTER (WHERE x.id IS NULL) OVER (ORDER BY x.ord) AS n
              FROM unnest(NEW.{ids}) WITH ORDINALITY x (id, ord)) u
        LEFT JOIN {target} p ON p.id = u.id AND {within}
        LEFT JOIN (SELECT o.name, row_number() OVER (ORDER BY o.ord) AS n
                   FROM unnest(OLD.{names}, OLD.{ids}) WITH ORDINALITY o (name, id, ord) WHERE o.id IS NULL) without
            ON u.id IS NULL AND without.n = u.n;
        IF missing IS NOT NULL THEN
            RAISE EXCEPTION '% names record % of %, which there is not', {column}, missing, {record}
                USING ERRCODE = '23503', SCHEMA = 'public', TABLE = TG_TABLE_NAME, COLUMN = {column},
                      HINT = format('It takes ids of records of %s of the same account and region.', {record});
        END IF;
        IF NEW.{names} IS DISTINCT FROM OLD.{names} AND NEW.{names} IS NOT NULL THEN
            IF cardinality(NEW.{names}) IS DISTINCT FROM cardinality(NEW.{ids}) OR EXISTS (
                SELECT FROM unnest(NEW.{names}, NEW.{ids}, found_names) b (name, id, found)
                WHERE b.id IS NOT NULL AND b.name <> b.found) THEN
                RAISE EXCEPTION '% and % name different objects', {beside}, {column}
                    USING ERRCODE = '23514', SCHEMA = 'public', TABLE = TG_TABLE_NAME, COLUMN = {column},
                          HINT = 'Give only one of them.';
            END IF;
            found_names := ARRAY(SELECT coalesce(b.found, b.name)
                                 FROM unnest(NEW.{names}, found_names) WITH ORDINALITY b (name, found, ord) ORDER BY b.ord);
        END IF;
        NEW.{names} := coalesce(found_names, '{}');
    ELSIF NEW.{ids} IS DISTINCT FROM OLD.{ids} AND NEW.{names} IS NOT DISTINCT FROM OLD.{names} THEN
        NEW.{names} := NULL;
    ELSIF NEW.{names} IS DISTINCT FROM OLD.{names} OR {moved} THEN
        NEW.{ids} := CASE WHEN NEW.{names} IS NOT NULL THEN coalesce((
            SELECT array_agg(CASE WHEN u.name IS NOT NULL THEN p.id ELSE without.id END ORDER BY u.ord)
            FROM (SELECT x.name, x.ord, count(*) FILTER (WHERE x.name IS NULL) OVER (ORDER BY x.ord) AS n
                  FROM unnest(NEW.{names}) WITH ORDINALITY x (name, ord)) u
            LEFT JOIN {target} p ON p.{key} = u.name AND {within}
            LEFT JOIN (SELECT o.id, row_number() OVER (ORDER BY o.ord) AS n
                       FROM unnest(OLD.{names}, OLD.{ids}) WITH ORDINALITY o (name, id, ord) WHERE o.name IS NULL) without
                ON u.name IS NULL AND without.n = u.n), '{}') END;
    END IF;`

// dropRecordsDDL returns the statements that remove what recordsDDL makes besides the table.
func (t *Table) dropRecordsDDL() []string {
	var statements []string
	for _, c := range t.Lists() {
		for _, function := range []string{"leave_records", "keep_records"} {
			statements = append(statements, fmt.Sprintf("DROP TRIGGER IF EXISTS %s ON public.%s",
				quote(named("iasql_"+function, t.Name, c.Name)), quote(c.Records.Table)))
		}
	}
	if len(statements) > 0 {
		statements = append(statements, "DROP FUNCTION IF EXISTS "+t.recordsFunction()+"()")
	}
	return statements
}

// recordsIndexDDL returns the statement that makes the index by which those are found who have a
// record in their list.
func (t *Table) recordsIndexDDL(c *Column) string {
	return fmt.Sprintf("CREATE INDEX %s ON public.%s USING gin (%s)", quote(named(t.Name, c.Name, "idx")),
		quote(t.Name), quote(c.Name))
}

// fillRecordsDDL returns the statements that fill in a list of records that is new beside names.
func (t *Table) fillRecordsDDL(c *Column, lookup func(string) *Table) []string {
	return []string{"SELECT set_config('iasql.origin', 'engine', true)", fmt.Sprintf(`UPDATE public.%s t SET %s = coalesce((
    SELECT array_agg(p.id ORDER BY u.ord) FROM unnest(t.%s) WITH ORDINALITY u (name, ord)
    LEFT JOIN public.%s p ON p.%s = u.name AND %s), '{}') WHERE t.%[3]s IS NOT NULL`,
		quote(t.Name), quote(c.Name), quote(c.Records.NameColumn), quote(c.Records.Table), quote(c.Records.Key),
		c.within("t", t, lookup))}
}
