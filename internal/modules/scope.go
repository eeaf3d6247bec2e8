package modules

import (
	"fmt"
	"slices"
	"strings"
)

// A record may refer only to records of its own account and region, unless the
// reference says otherwise. The foreign key cannot say so: with account and
// region in it, tools that make models of tables (Django's inspectdb among them)
// take the account for the reference. So it is a plain one, and a statement
// trigger compares account and region (sql/internal/scope.sql).

// Scoped tells whether a reference of the table is to a record of the same
// account and region only.
func (t *Table) Scoped(c *Column, lookup func(string) *Table) bool {
	ref := c.References
	return ref != nil && !ref.ByKey && !ref.AnyScope && t.Reach == PerRegion && lookup(ref.Table).Reach == PerRegion
}

// accountLast returns the columns with the account at the end. Django takes the
// last foreign key that a column begins for the column's own, in the catalog's
// order: that in which they were made or, by the index, of their names.
func (t *Table) accountLast() []*Column {
	var columns, last []*Column
	for i := range t.Columns {
		if c := &t.Columns[i]; c.Name == ColumnAccount {
			last = append(last, c)
		} else {
			columns = append(columns, c)
		}
	}
	return append(columns, last...)
}

// foreignKey returns the name of a reference's constraint: one of several columns
// comes before that of the account (accountLast).
func (t *Table) foreignKey(c *Column, columns []string) string {
	if len(columns) > 1 {
		return named(t.Name, "account_and", c.Name, "fkey")
	}
	return named(t.Name, c.Name, "fkey")
}

// ReferenceConstraints returns the names that the foreign key of a reference has or had.
func (t *Table) ReferenceConstraints(c *Column) []string {
	return []string{t.foreignKey(c, nil), t.foreignKey(c, []string{ColumnAccount, c.Name})}
}

// scopeFunction is the trigger function that ScopeDDL makes.
func (t *Table) scopeFunction() string { return "iasql_internal." + quote("scope_"+t.Name) }

// ScopeDDL returns the statements that make the triggers by which the table's
// records refer to their own account and region only. They may be run again.
//
// The function is the table's own, as its statements are planned once a session
// then. A loop over the index of the referenced table's id costs less than what
// the foreign key does for each row.
func (t *Table) ScopeDDL(lookup func(string) *Table) []string {
	if t.Reach != PerRegion || t.Column(ColumnRegion) == nil {
		return nil
	}
	var checks, references []string
	for i := range t.Columns {
		c := &t.Columns[i]
		if !t.Scoped(c, lookup) {
			continue
		}
		made := "NULL"
		if t.Made != "" && c.References.PartIf == t.Made {
			made = literal(t.Made) // along with its whole: not to be moved
		}
		references = append(references,
			fmt.Sprintf("(%s, %s, %s, %s)", literal(t.Name), literal(c.Name), literal(c.References.Table), made))
		checks = append(checks, fmt.Sprintf(
			`SELECT n.id, %s::text AS column_name, p.id IS NOT NULL AS found FROM new_rows n LEFT JOIN public.%s p ON p.id = n.%s
            WHERE n.%[3]s IS NOT NULL AND (p.id IS NULL OR p.account <> n.account OR p.region <> n.region)`,
			literal(c.Name), quote(c.References.Table), quote(c.Name)))
	}
	statements := []string{fmt.Sprintf("DELETE FROM iasql_internal.scoped_reference WHERE table_name = %s",
		literal(t.Name))}
	if len(references) > 0 {
		statements = append(statements,
			"INSERT INTO iasql_internal.scoped_reference (table_name, column_name, target, part_if) VALUES "+
				strings.Join(references, ", "))
	}
	leave, body := strings.Join(t.leave(lookup), ""), ""
	if len(checks) > 0 {
		body = fmt.Sprintf(`
    SELECT array_agg(b.id), array_agg(b.column_name), bool_or(b.found) INTO ids, names, found_one
    FROM (%s) b;
    IF ids IS NOT NULL THEN
        PERFORM iasql_internal.other_scope(TG_TABLE_NAME, ids, names, found_one, moved);
    END IF;`, strings.Join(checks, "\n        UNION ALL "))
	}
	table := "public." + quote(t.Name)
	return append(statements,
		fmt.Sprintf(`CREATE OR REPLACE FUNCTION %s() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER `+pinned+`
SET plan_cache_mode = force_generic_plan SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS %s`,
			t.scopeFunction(), dollar(fmt.Sprintf(`
DECLARE
    ids       bigint[];
    names     text[];
    found_one boolean;
    moved     bigint[] := '{}';
BEGIN
    IF TG_OP = 'UPDATE' THEN
        -- Not a join: a loop over both would take the square of the rows.
        moved := ARRAY(SELECT m.id FROM (SELECT id, region FROM new_rows EXCEPT SELECT id, region FROM old_rows) m);
        IF moved <> '{}' THEN
            PERFORM iasql_internal.moved(TG_TABLE_NAME, moved);%s
        END IF;
    END IF;%s
    RETURN NULL;
END
`, leave, body))),
		fmt.Sprintf("COMMENT ON FUNCTION %s() IS 'Statement trigger: records of %s refer to records of their own "+
			"account and region only.'", t.scopeFunction(), t.Name),
		fmt.Sprintf("REVOKE EXECUTE ON FUNCTION %s() FROM PUBLIC", t.scopeFunction()),
		fmt.Sprintf("CREATE OR REPLACE TRIGGER iasql_scope_insert AFTER INSERT ON %s REFERENCING NEW TABLE AS "+
			"new_rows FOR EACH STATEMENT EXECUTE FUNCTION %s()", table, t.scopeFunction()),
		fmt.Sprintf("CREATE OR REPLACE TRIGGER iasql_scope_update AFTER UPDATE ON %s REFERENCING OLD TABLE AS "+
			"old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION %s()", table, t.scopeFunction()),
	)
}

// leave returns the statements by which records that have moved to another region
// leave behind what the cloud has made there. Of what it makes once in a region they
// take the one of the new region; what it makes along with a whole comes with that.
func (t *Table) leave(lookup func(string) *Table) (statements []string) {
	for i := range t.Columns {
		c := &t.Columns[i]
		if !t.Scoped(c, lookup) || c.Required || lookup(c.References.Table).Made == "" {
			continue
		}
		target := lookup(c.References.Table)
		successor, join := "NULL", ""
		if !target.madeAlong() {
			successor = "q.id"
			join = fmt.Sprintf(" JOIN public.%s q ON q.account = p.account AND q.region <> p.region AND q.%s",
				quote(target.Name), quote(target.Made))
		}
		statement := fmt.Sprintf(`
            UPDATE public.%[1]s n SET %[2]s = %[3]s FROM public.%[4]s p%[5]s
            WHERE n.id = ANY (moved) AND p.id = n.%[2]s AND p.region <> n.region AND p.%[6]s`,
			quote(t.Name), quote(c.Name), successor, quote(target.Name), join, quote(target.Made))
		if join != "" {
			statement += " AND q.region = n.region"
		}
		statements = append(statements, statement+";")
	}
	return statements
}

// madeAlong tells whether the cloud makes objects of the table along with a whole.
func (t *Table) madeAlong() bool {
	return slices.ContainsFunc(t.Columns, func(c Column) bool {
		return c.References != nil && c.References.PartIf == t.Made
	})
}

// PlainReferencesDDL returns the statements that bring a table's foreign keys from
// the form of versions that had account and region in them. Their names are kept,
// and so is what users have dropped: it does not come back. They may be run again.
func (t *Table) PlainReferencesDDL(lookup func(string) *Table) []string {
	var statements []string
	for _, c := range t.accountLast() {
		if c.References == nil {
			continue
		}
		columns, targets := t.referenceColumns(c, lookup)
		name, old := t.foreignKey(c, columns), t.foreignKey(c, nil)
		statements = append(statements, "\nDO "+dollar(fmt.Sprintf(`
BEGIN
    IF EXISTS (SELECT FROM pg_constraint WHERE conrelid = %[1]s::regclass AND conname = %[2]s AND contype = 'f' AND (cardinality(conkey) > 1 OR %[4]t)) THEN
        %[3]s
    END IF;
END
`, literal("public."+quote(t.Name)), literal(old), t.renewReference(c, name, old, columns, targets),
			c.Name == ColumnAccount)))
	}
	return statements
}

// DropScopeKeyDDL returns the statement that drops the unique constraint which the
// foreign keys of those versions needed. It may be run again.
func (t *Table) DropScopeKeyDDL() string {
	return "\nDO " + dollar(fmt.Sprintf(`
BEGIN
    ALTER TABLE public.%s DROP CONSTRAINT IF EXISTS %s;
EXCEPTION WHEN dependent_objects_still_exist THEN
    NULL; -- a foreign key of a user's own needs it
END
`, quote(t.Name), quote(t.Name+"_account_region_id_key")))
}

func (t *Table) renewReference(c *Column, name, old string, columns, targets []string) string {
	table := "public." + quote(t.Name)
	if len(columns) > 1 { // has several columns as before
		return fmt.Sprintf("ALTER TABLE %s RENAME CONSTRAINT %s TO %s;", table, quote(old), quote(name))
	}
	return fmt.Sprintf("ALTER TABLE %s DROP CONSTRAINT %s, ADD CONSTRAINT %s FOREIGN KEY (%s) REFERENCES public.%s "+
		"(%s) DEFERRABLE;",
		table, quote(old), quote(name), quoteAll(columns), quote(c.References.Table), quoteAll(targets))
}
