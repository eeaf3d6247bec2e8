package conformance

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"iasql/internal/aws"
	"iasql/internal/modules/all"
)

// columns is what the database says of a table.
type columns struct {
	insert, delete bool
	regional       bool
	bound          bool // it needs something of its region
	identity       []string
	mutable        []string
	writeOnly      []string
	createOnly     []string
}

// describedBySQL reads what the engine was built with: nothing of it has to be
// said twice.
func (s *suite) describedBySQL(module string) map[string]columns {
	s.t.Helper()
	var rows []struct {
		Name                       string
		Insert, Delete             bool
		Regional, Bound            bool
		Identity, Mutable, Created []string
		Secret                     []string
	}
	s.decode(&rows, s.admin(`
		SELECT coalesce(jsonb_agg(jsonb_build_object('name', m.name, 'insert', m.can_insert, 'delete', m.can_delete, 'identity', m.identity,
			'secret', m.write_only, 'regional', m.regional,
			'bound', EXISTS (SELECT FROM pg_constraint c WHERE c.contype = 'f' AND c.conrelid = to_regclass(quote_ident(m.name)) AND c.confrelid <> 'aws_regions'::regclass
				AND (SELECT bool_and(a.attnotnull OR a.attname = ANY (m.required)) AND bool_or(a.attname = 'region') FROM pg_attribute a WHERE a.attrelid = c.conrelid AND a.attnum = ANY (c.conkey)))
				OR EXISTS (SELECT FROM iasql_internal.scoped_reference r JOIN pg_attribute a ON a.attrelid = to_regclass(quote_ident(m.name)) AND a.attname = r.column_name
				AND (a.attnotnull OR a.attname = ANY (m.required)) WHERE r.table_name = m.name),
			'created', (SELECT coalesce(jsonb_agg(a.attname), '[]') FROM pg_attribute a WHERE a.attrelid = to_regclass(quote_ident(m.name)) AND a.attname = ANY (m.columns)
				AND a.attname NOT IN ('account', 'region') AND col_description(a.attrelid, a.attnum) LIKE '%(changing it replaces the object)'),
			'mutable', (SELECT coalesce(jsonb_agg(a.attname), '[]') FROM pg_attribute a WHERE a.attrelid = to_regclass(quote_ident(m.name)) AND a.attname = ANY (m.columns)
				AND NOT a.attname = ANY (m.identity || m.assigned || '{account,region}'::text[])
				AND col_description(a.attrelid, a.attnum) NOT LIKE '%(changing it replaces the object)'))), '[]')
		FROM iasql_internal.managed_table m JOIN iasql_tables t ON t."table" = m.name
		WHERE NOT m.settings AND t.module = '`+module+`'`))
	made := madeColumns()
	found := map[string]columns{}
	for _, r := range rows {
		elsewhere := func(column string) bool { return slices.Contains(made[r.Name], column) }
		r.Mutable, r.Created = slices.DeleteFunc(r.Mutable, elsewhere), slices.DeleteFunc(r.Created, elsewhere)
		found[r.Name] = columns{insert: r.Insert, delete: r.Delete, regional: r.Regional, bound: r.Bound,
			identity: r.Identity, mutable: r.Mutable, writeOnly: r.Secret, createOnly: r.Created}
	}
	return found
}

// madeColumns are the columns that are made of what AWS publishes: TestRichest of package declare tests them all, since the emulator has
// few of them.
func madeColumns() map[string][]string {
	made := map[string][]string{}
	for _, m := range all.Modules(aws.New(aws.Options{})) {
		for _, r := range m.Resources {
			if declared, ok := r.(interface{ Made() []string }); ok {
				made[r.Table().Name] = declared.Made()
			}
		}
	}
	return made
}

var reason = regexp.MustCompile(`^(moto|aws): \S`)

// covered checks that the description leaves nothing out.
func (s *suite) covered(sub *suite) {
	t := sub.t
	byName := map[string][]*Table{}
	for i := range s.Tables {
		table := &s.Tables[i]
		byName[table.Name] = append(byName[table.Name], table)
		if _, ok := s.tables[table.Name]; !ok {
			t.Errorf("%s is described and not a table of %s", table.Name, s.Module.Name)
		}
		for check, why := range table.Skip {
			if !reason.MatchString(why) {
				t.Errorf("%s: %s is skipped without a reason: %q", table.Name, check, why)
			}
		}
		if table.Missing != "" && !reason.MatchString(table.Missing) {
			t.Errorf("%s is skipped without a reason: %q", table.Name, table.Missing)
		}
	}
	for name, has := range s.tables {
		if len(byName[name]) == 0 {
			t.Errorf("table %s of %s is not described", name, s.Module.Name)
			continue
		}
		if byName[name][0].Missing != "" {
			continue
		}
		changes := map[string]bool{}
		for _, table := range byName[name] {
			s.coveredTable(t, table, has, changes)
		}
		if byName[name][0].Listed != "" {
			continue
		}
		if left := slices.DeleteFunc(slices.Clone(has.createOnly), func(column string) bool {
			return slices.ContainsFunc(byName[name], func(table *Table) bool {
				return table.replaces(column) || table.Skip[column+" replaced"] != ""
			})
		}); len(left) > 0 {
			t.Errorf("%s: replaced by no description, and no reason to skip it: %s", name, strings.Join(left, ", "))
		}
		for _, column := range has.mutable {
			for _, check := range []string{column + " by SQL", column + " by the CLI"} {
				// which SQL never sees
				secret := slices.Contains(has.writeOnly, column) && check == column+" by the CLI"
				if !changes[check] && !secret {
					t.Errorf("%s: it is not described how to change %s, nor why it is skipped", name, check)
				}
			}
		}
	}
}

// coveredTable checks one description, and notes in changes which columns it
// changes from which side.
func (s *suite) coveredTable(t *testing.T, table *Table, has columns, changes map[string]bool) {
	if table.Listed != "" {
		if has.insert || has.delete {
			t.Errorf("%s can be written, and is only listed", table.Name)
		}
		return
	}
	need := func(what, check string, is bool) {
		if !is && table.Skip[check] == "" {
			t.Errorf("%s: no %s, and no reason to skip %q", table.key(), what, check)
		}
	}
	need("Insert", createBySQL, table.Insert != "" || !has.insert)
	need("Create", createByCLI, len(table.Create) > 0)
	need("Delete", deleteByCLI, len(table.Delete) > 0)
	need("Replace", replace, table.Replace.Column != "" || len(has.createOnly) == 0)
	need("See", "see", table.See != "")
	if r := table.Replace.Column; r != "" && !slices.Contains(has.createOnly, r) {
		t.Errorf("%s: column %s can be changed in place", table.key(), r)
	}
	for _, c := range table.fixed() {
		if !slices.Contains(has.createOnly, c.Column) || c.SQL == "" || c.See == "" {
			t.Errorf("%s: column %s is not replaced, or not told how", table.key(), c.Column)
		}
	}
	for check := range table.Skip {
		changes[check] = true
	}
	for _, c := range table.Change {
		if !slices.Contains(has.mutable, c.Column) {
			t.Errorf("%s: column %s is described and cannot be changed in place", table.key(), c.Column)
		}
		if c.SQL != "" && c.See != "" {
			changes[c.Column+" by SQL"] = true
		}
		if len(c.CLI) > 0 && c.Then != "" {
			changes[c.Column+" by the CLI"] = true
		}
	}
}
