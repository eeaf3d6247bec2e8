package modules

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
)

// What values a column may have binds what users write. What the cloud has is shown as it is:
// a name that was allowed once, a value that the cloud has added since, nothing where there
// always was something (R34). A CHECK constraint or NOT NULL cannot tell the two apart, and it
// refuses every UPDATE of a row that has an odd value, whatever that changes. So a statement
// trigger has the rules. It lets the engine write anything, and looks at those columns alone
// that the statement changes.

// rule is what users' values must meet.
type rule struct {
	name      string
	columns   []string // that it is about
	condition string   // an SQL expression of them; NULL meets it, as in a CHECK constraint
	hint      string   // what to do, for people
	null      bool     // it is broken by NULL alone
	extra     bool     // no constraint of an earlier version said so
}

// KeepsNotNull reports whether NULL is refused by the table itself, whoever writes it: by
// what the row is known by, what belongs to the database alone, and a reference without
// which the cloud has no such object.
func (t *Table) KeepsNotNull(c *Column) bool {
	return c.Required && (t.setting() || c.Identity || c.Local || c.Name == ColumnAccount || c.Name == ColumnRegion ||
		c.References != nil && !c.References.ByKey)
}

// setting reports whether the table has no counterpart in the cloud.
func (t *Table) setting() bool { return t.settings || t.DefinesAccounts }

// rules returns what users' values must meet.
func (t *Table) rules() (list []rule) {
	if t.setting() {
		return nil
	}
	for i := range t.Columns {
		c := &t.Columns[i]
		if c.Required && !t.KeepsNotNull(c) && !c.Computed {
			list = append(list, rule{name: named(t.Name, c.Name, "not_null"), columns: []string{c.Name},
				condition: quote(c.Name) + " IS NOT NULL",
				hint:      "Give it a value.", null: true})
		}
		for _, check := range t.checks(c) {
			if check.condition != "" && !c.Computed {
				list = append(list, rule{name: check.name, columns: t.columnsIn(check.condition),
					condition: check.condition, hint: c.allowed(check.condition)})
			}
		}
		if records := t.RecordsOf(c); records != nil {
			list = append(list, t.listRule(c, records))
		} else if extra := c.wellFormed(); extra != "" && !c.Computed && !t.hides(c) {
			list = append(list, rule{name: named(t.Name, c.Name, "form"), columns: []string{c.Name}, condition: extra,
				hint: formHint[c.Type], extra: true})
		}
	}
	for _, check := range t.checks(nil) {
		list = append(list, rule{name: check.name, columns: t.columnsIn(check.condition), condition: check.condition,
			hint: "It must hold that " + check.condition + "."})
	}
	return list
}

// wellFormed is the condition for a value that has a meaning to the cloud at all, for types
// of PostgreSQL that have others, too; "" for other types.
func (c *Column) wellFormed() string {
	name := quote(c.Name)
	switch c.Type {
	case TypeTexts:
		return fmt.Sprintf("array_position(%[1]s, NULL) IS NULL AND coalesce(array_ndims(%[1]s), 1) = 1", name)
	case TypeDouble:
		return fmt.Sprintf("%s NOT IN ('NaN', 'Infinity', '-Infinity')", name)
	}
	return ""
}

// listRule is the rule that each element of a list of names has a name or, beside it, a record.
func (t *Table) listRule(c, records *Column) rule {
	return rule{name: named(t.Name, c.Name, "form"), columns: []string{c.Name, records.Name}, extra: true,
		condition: fmt.Sprintf("coalesce(array_ndims(%[1]s), 1) = 1 AND coalesce(array_ndims(%[2]s), 1) = 1 "+
			"AND NOT EXISTS (SELECT FROM unnest(%[1]s, %[2]s) e (name, record) WHERE e.name IS NULL AND e.record "+
			"IS NULL)",
			quote(c.Name), quote(records.Name)),
		hint: fmt.Sprintf("It is a list of one dimension. NULL stands in it only for what %s names by its record "+
			"and the "+
			"cloud has no name for yet: leave out what there is none of, and set the column to NULL for none at all.",
			records.Name)}
}

var formHint = map[Type]string{
	TypeTexts: "It is a list of one dimension, without NULL: leave out what there is none of, and set the column to " +
		"NULL for none at all.",
	TypeDouble: "It is a number: neither NaN nor infinite.",
}

var (
	word   = regexp.MustCompile(`[a-z_][a-z0-9_]*`)
	quoted = regexp.MustCompile(`'[^']*'`)
)

// columnsIn returns the columns that a condition names.
func (t *Table) columnsIn(condition string) (columns []string) {
	said := map[string]bool{}
	for _, name := range word.FindAllString(quoted.ReplaceAllString(condition, "''"), -1) {
		if t.Column(name) != nil && !said[name] {
			said[name] = true
			columns = append(columns, name)
		}
	}
	return columns
}

// allowed says in words which values a condition of the column allows.
func (c *Column) allowed(condition string) string {
	if len(c.Enum) > 0 && strings.Contains(condition, " IN (") {
		const most = 40
		if len(c.Enum) > most {
			return fmt.Sprintf("It is one of %s, and %d others.", strings.Join(c.Enum[:most], ", "), len(c.Enum)-most)
		}
		return "It is one of " + strings.Join(c.Enum, ", ") + "."
	}
	var all []string
	for rest := condition; rest != ""; {
		text, n := c.phrase(rest)
		if n == 0 {
			return "It must hold that " + condition + "."
		}
		all = append(all, text)
		rest = rest[n:]
	}
	return "It must be " + strings.Join(all, ", and ") + "."
}

// phrases say what a part of a condition means; each of the patterns takes the " AND "
// after it along.
var phrases = []struct {
	pattern *regexp.Regexp
	say     string
}{
	{regexp.MustCompile(`^"?\w+"? BETWEEN (-?[\d.]+) AND (-?[\d.]+)(?: AND |$)`), "from $1 to $2"},
	{regexp.MustCompile(`^length\("?\w+"?\) BETWEEN (\d+) AND (\d+)(?: AND |$)`), "$1 to $2 characters long"},
	{regexp.MustCompile(`^length\("?\w+"?\) <= (\d+)(?: AND |$)`), "at most $1 characters long"},
	{regexp.MustCompile(`^"?\w+"? >= (-?[\d.]+)(?: AND |$)`), "at least $1"},
	{regexp.MustCompile(`^"?\w+"? > (-?[\d.]+)(?: AND |$)`), "more than $1"},
	{regexp.MustCompile(`^"?\w+"? ~ '((?:[^']|'')*)'(?: AND |$)`), "a text that matches the regular expression $1"},
	{regexp.MustCompile(`^"?\w+"? !~ '((?:[^']|'')*)'(?: AND |$)`),
		"a text that does not match the regular expression $1"},
	{regexp.MustCompile(`^jsonb_typeof\("?\w+"?\) = '(\w+)'(?: AND |$)`), "a JSON $1"},
	{regexp.MustCompile(`^"?\w+"? <> ''(?: AND |$)`), "not empty"},
}

// phrase says what the first part of a condition means, and how long that is; 0 if it
// knows no words for it.
func (c *Column) phrase(condition string) (text string, length int) {
	for _, p := range phrases {
		if at := p.pattern.FindStringSubmatchIndex(condition); at != nil {
			return strings.ReplaceAll(string(p.pattern.ExpandString(nil, p.say, condition, at)), "''", "'"), at[1]
		}
	}
	return "", 0
}

// valuesFunction is the trigger function that ValuesDDL makes.
func (t *Table) valuesFunction() string { return "iasql_internal." + quote("values_"+t.Name) }

// ValuesDDL returns the statements that make the rules for what users write, and the triggers
// that check them. They may be run again. A rule that an administrator has switched off
// (iasql_internal.value_rule.active) stays off.
//
// The trigger's own query finds out whether any row breaks a rule, by a plan that is made once
// a session; which rules those are, it looks up only then, and says all of them.
func (t *Table) ValuesDDL() []string {
	if t.setting() {
		return nil
	}
	rules := t.rules()
	broken := make([]string, len(rules))
	for i, r := range rules {
		broken[i] = fmt.Sprintf("(%s) IS FALSE", r.condition)
	}
	if len(rules) == 0 {
		broken = []string{"false"}
	}
	var required []string
	for _, r := range rules {
		if r.null {
			required = append(required, r.columns[0])
		}
	}
	table := "public." + quote(t.Name)
	return append(t.rulesDDL(),
		fmt.Sprintf("CREATE OR REPLACE FUNCTION %s() RETURNS trigger\nLANGUAGE plpgsql SECURITY DEFINER %s AS %s",
			t.valuesFunction(), pinned, dollar(fmt.Sprintf(`
#variable_conflict use_column
DECLARE
    iasql_broken record;
    iasql_query  text;
    iasql_found  jsonb := '[]';
BEGIN
    IF iasql_internal.writer_is_free() THEN
        RETURN NULL;
    END IF;
    IF EXISTS (SELECT FROM new_rows WHERE %s) THEN
        FOR iasql_query IN SELECT q FROM iasql_internal.broken_rules(TG_TABLE_NAME, TG_OP) q LOOP
            FOR iasql_broken IN EXECUTE iasql_query LOOP
                iasql_found := iasql_found || to_jsonb(iasql_broken);
            END LOOP;
        END LOOP;
        IF iasql_found <> '[]' THEN
            PERFORM iasql_internal.refuse_values(TG_TABLE_NAME, iasql_found);
        END IF;
    END IF;
    RETURN NULL;
END
`, strings.Join(broken, "\n        OR ")))),
		fmt.Sprintf("COMMENT ON FUNCTION %s() IS 'Statement trigger: refuses values that users may not write to %s.'",
			t.valuesFunction(), t.Name),
		fmt.Sprintf("REVOKE EXECUTE ON FUNCTION %s() FROM PUBLIC", t.valuesFunction()),
		fmt.Sprintf("CREATE OR REPLACE TRIGGER iasql_allow_insert AFTER INSERT ON %s REFERENCING NEW TABLE AS "+
			"new_rows FOR EACH STATEMENT EXECUTE FUNCTION %s()", table, t.valuesFunction()),
		fmt.Sprintf("CREATE OR REPLACE TRIGGER iasql_allow_update AFTER UPDATE ON %s REFERENCING OLD TABLE AS "+
			"old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION %s()", table, t.valuesFunction()),
		fmt.Sprintf("UPDATE iasql_internal.managed_table SET rules_of = %s, required = ARRAY[%s]::text[] WHERE "+
			"name = %s", literal(t.RulesSum()), literals(required), literal(t.Name)),
	)
}

// rulesDDL returns the statements that tell the database the rules.
func (t *Table) rulesDDL() []string {
	rules := t.rules()
	values := make([]string, len(rules))
	for i, r := range rules {
		values[i] = fmt.Sprintf("(%s, ARRAY[%s]::text[], %s, %s, %t)", literal(r.name), literals(r.columns),
			literal(r.condition), literal(r.hint), r.null)
	}
	statements := []string{fmt.Sprintf(
		"DELETE FROM iasql_internal.value_rule WHERE table_name = %s AND name <> ALL (ARRAY[%s]::text[])",
		literal(t.Name), literals(names(rules)))}
	if len(rules) == 0 {
		return statements
	}
	return append(statements, fmt.Sprintf(
		`INSERT INTO iasql_internal.value_rule (table_name, name, columns, condition, hint, of_null)
SELECT %s, r.* FROM (VALUES %s) r
ON CONFLICT (table_name, name) DO UPDATE SET columns = excluded.columns, condition = excluded.condition, hint = excluded.hint, of_null = excluded.of_null`,
		literal(t.Name), strings.Join(values, ",\n")))
}

// RulesSum is a sum of the rules for what users write: tables with the same sum have the same.
func (t *Table) RulesSum() string {
	if t.setting() {
		return ""
	}
	sum := sha256.Sum256([]byte(fmt.Sprintf("4 %+v", t.rules())))
	return hex.EncodeToString(sum[:8])
}

// FreeDDL returns the statements that bring a table of an earlier version to where [Table.ValuesDDL]
// can go on. An earlier one had constraints in place of the rules, which bound the engine, too: those
// go. A rule whose constraint an administrator has dropped is off.
func (t *Table) FreeDDL() []string {
	if t.setting() {
		return nil
	}
	table := literal("public." + quote(t.Name))
	var free []string
	for _, r := range t.rules() {
		if r.extra {
			continue
		}
		gone := fmt.Sprintf("NOT EXISTS (SELECT FROM pg_constraint WHERE contype = 'c' AND conrelid = %s::regclass "+
			"AND conname = %s)", table, literal(r.name))
		drop := fmt.Sprintf("ALTER TABLE public.%s DROP CONSTRAINT IF EXISTS %s", quote(t.Name), quote(r.name))
		if r.null {
			gone = fmt.Sprintf("NOT (SELECT attnotnull FROM pg_attribute WHERE attrelid = %s::regclass AND "+
				"attname = %s)", table, literal(r.columns[0]))
			drop = fmt.Sprintf("ALTER TABLE public.%s ALTER %s DROP NOT NULL", quote(t.Name), quote(r.columns[0]))
		}
		free = append(free, fmt.Sprintf(`
    IF (SELECT count(*) = %d FROM pg_attribute WHERE attrelid = %s::regclass AND attname = ANY (ARRAY[%s]::text[]) AND NOT attisdropped) THEN
        IF %s THEN
            UPDATE iasql_internal.value_rule SET active = false WHERE table_name = %s AND name = %s;
        END IF;
        %s;
    END IF;`, len(r.columns), table, literals(r.columns), gone, literal(t.Name), literal(r.name), drop))
	}
	free = append(free, t.freeAssigned()...)
	if len(free) == 0 {
		return nil
	}
	return append(t.rulesDDL(), fmt.Sprintf(`
DO $free$
BEGIN
    IF EXISTS (SELECT FROM pg_trigger WHERE tgrelid = %s::regclass AND tgname = 'iasql_allow_insert') THEN
        RETURN;
    END IF;%s
END
$free$`, table, strings.Join(free, "")))
}

// freeAssigned returns the statements that drop the constraints of columns that the cloud
// assigns: users do not write those at all.
func (t *Table) freeAssigned() (statements []string) {
	for i := range t.Columns {
		c := &t.Columns[i]
		if !c.Computed {
			continue
		}
		for _, check := range t.checks(c) {
			statements = append(statements,
				fmt.Sprintf("\n    ALTER TABLE public.%s DROP CONSTRAINT IF EXISTS %s;", quote(t.Name),
					quote(check.name)))
		}
		if c.Required && !t.KeepsNotNull(c) {
			statements = append(statements, fmt.Sprintf(`
    IF EXISTS (SELECT FROM pg_attribute WHERE attrelid = %s::regclass AND attname = %s AND attnotnull) THEN
        ALTER TABLE public.%s ALTER %s DROP NOT NULL;
    END IF;`, literal("public."+quote(t.Name)), literal(c.Name), quote(t.Name), quote(c.Name)))
		}
	}
	return statements
}

func names(rules []rule) []string {
	list := make([]string, len(rules))
	for i := range rules {
		list[i] = rules[i].name
	}
	return list
}

func literals(texts []string) string {
	list := make([]string, len(texts))
	for i, text := range texts {
		list[i] = literal(text)
	}
	return strings.Join(list, ", ")
}
