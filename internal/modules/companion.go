package modules

import (
	"fmt"
	"strings"
)

// A reference may be the companion of a column that has the cloud's name of the same object
// ([Reference.NameColumn]). So an object without a record is named all the same, and users
// write whichever of the two they know.

// companions returns the references that have a column with the cloud's name.
func (t *Table) companions() []*Column {
	var list []*Column
	for i := range t.Columns {
		if t.Columns[i].isCompanion() {
			list = append(list, &t.Columns[i])
		}
	}
	return list
}

// leaves returns the columns that are NULL once what they name has gone in the cloud.
func (t *Table) leaves() []*Column {
	var list []*Column
	for i := range t.Columns {
		if c := &t.Columns[i]; c.isCompanion() || c.References != nil && c.References.Lasts {
			list = append(list, c)
		}
	}
	return list
}

// companionFunction is the trigger function that companionDDL makes.
func (t *Table) companionFunction() string { return "iasql_internal." + quote("beside_"+t.Name) }

// recordOf is the condition for the record p of the referenced table that a row names.
func (c *Column) recordOf(row string, lookup func(string) *Table) string {
	conditions := []string{fmt.Sprintf("p.%s = %s.%s", quote(c.References.Key), row, quote(c.References.NameColumn))}
	for _, name := range lookup(c.References.Table).scopeColumns() {
		conditions = append(conditions, fmt.Sprintf("p.%s = %s.%[1]s", quote(name), row))
	}
	return strings.Join(conditions, " AND ")
}

// companionDDL returns the statements that make the trigger by which what users write to one
// of two such columns is in the other, too. They may be run again.
func (t *Table) companionDDL(lookup func(string) *Table) []string {
	var body, of []string
	for _, c := range t.companions() {
		if c.Computed || c.References.ByKey { // the engine pulls it
			continue
		}
		text, record, target := quote(c.References.NameColumn), quote(c.Name), "public."+quote(c.References.Table)
		of = append(of, c.References.NameColumn, c.Name)
		body = append(body, fmt.Sprintf(`
    IF TG_OP = 'INSERT' AND NEW.%[2]s IS NULL OR TG_OP = 'UPDATE' AND NEW.%[1]s IS DISTINCT FROM OLD.%[1]s AND NEW.%[2]s IS NOT DISTINCT FROM OLD.%[2]s THEN
        NEW.%[2]s := (SELECT p.id FROM %[3]s p WHERE %[5]s);
    ELSIF TG_OP = 'UPDATE' AND NEW.%[1]s IS NOT DISTINCT FROM OLD.%[1]s AND NEW.%[2]s IS DISTINCT FROM OLD.%[2]s THEN
        -- A record that is not in the cloud yet has no name there: the engine fills it in.
        NEW.%[1]s := CASE WHEN NEW.%[2]s IS NOT NULL THEN coalesce((SELECT p.%[4]s FROM %[3]s p WHERE p.id = NEW.%[2]s), NEW.%[1]s) END;
    ELSIF NEW.%[1]s IS NOT NULL AND NEW.%[2]s IS NOT NULL AND (TG_OP = 'INSERT' OR NEW.%[2]s IS DISTINCT FROM OLD.%[2]s)
        AND NOT EXISTS (SELECT FROM %[3]s p WHERE p.id = NEW.%[2]s AND p.%[4]s = NEW.%[1]s) THEN
        RAISE EXCEPTION '%% and %% name different objects', %[6]s, %[7]s
            USING ERRCODE = '23514', SCHEMA = 'public', TABLE = TG_TABLE_NAME, COLUMN = %[7]s, HINT = 'Give only one of them.';
    END IF;`, text, record, target, quote(c.References.Key), c.recordOf("NEW", lookup), literal(c.References.NameColumn),
			literal(c.Name)))
	}
	var statements []string
	for _, c := range t.leaves() {
		args := []string{literal(t.Name), literal(c.Name)}
		if c.References.ByKey {
			for _, name := range append(lookup(c.References.Table).scopeColumns(), c.References.Key) {
				args = append(args, literal(name))
			}
		}
		statements = append(statements,
			fmt.Sprintf("CREATE OR REPLACE TRIGGER %s BEFORE DELETE ON public.%s FOR EACH ROW EXECUTE FUNCTION "+
				"iasql_internal.leave_beside(%s)",
				quote(t.releaseTrigger(c)), quote(c.References.Table), strings.Join(args, ", ")))
	}
	if len(body) == 0 {
		return statements
	}
	return append(statements,
		fmt.Sprintf(`CREATE OR REPLACE FUNCTION %s() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER `+pinned+` AS %s`, t.companionFunction(), dollar(fmt.Sprintf(`
BEGIN
    IF iasql_internal.writer_is_engine() THEN
        RETURN NEW; -- it has read both
    END IF;%s
    RETURN NEW;
END
`, strings.Join(body, "")))),
		fmt.Sprintf("COMMENT ON FUNCTION %s() IS 'Row trigger: the columns of %s that name an object, and those that "+
			"name its record, name the same one.'", t.companionFunction(), t.Name),
		fmt.Sprintf("REVOKE EXECUTE ON FUNCTION %s() FROM PUBLIC", t.companionFunction()),
		fmt.Sprintf("CREATE OR REPLACE TRIGGER iasql_beside BEFORE INSERT OR UPDATE OF %s ON public.%s FOR EACH ROW "+
			"EXECUTE FUNCTION %s()",
			quoteAll(of), quote(t.Name), t.companionFunction()),
	)
}

// releaseTrigger is the trigger on the referenced table by which the records of what has gone
// in the cloud leave the column.
func (t *Table) releaseTrigger(c *Column) string { return named("iasql_beside", t.Name, c.Name) }

// dropCompanionDDL returns the statements that remove what companionDDL makes besides the table.
func (t *Table) dropCompanionDDL() []string {
	var statements []string
	for _, c := range t.leaves() {
		statements = append(statements, fmt.Sprintf("DROP TRIGGER IF EXISTS %s ON public.%s",
			quote(t.releaseTrigger(c)),
			quote(c.References.Table)))
	}
	if len(statements) > 0 {
		statements = append(statements, "DROP FUNCTION IF EXISTS "+t.companionFunction()+"()")
	}
	return statements
}

// fillDDL returns the statement that fills in a column that is new beside another one.
func (t *Table) fillDDL(c *Column, lookup func(string) *Table) []string {
	if !c.isCompanion() || c.References.ByKey {
		return nil
	}
	return []string{"SELECT set_config('iasql.origin', 'engine', true)",
		fmt.Sprintf("UPDATE public.%s t SET %s = p.id FROM public.%s p WHERE t.%s IS NOT NULL AND %s",
			quote(t.Name), quote(c.Name), quote(c.References.Table), quote(c.References.NameColumn),
			c.recordOf("t", lookup))}
}
