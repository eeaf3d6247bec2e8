package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"iasql/internal/aws"
	"iasql/test/faultproxy"
	"iasql/test/harness"
)

func TestMain(m *testing.M) {
	// moto issues certificates after a minute, all by itself: not in a world that
	// is to be quiet.
	if err := os.Setenv("MOTO_ACM_VALIDATION_WAIT", "3600"); err != nil {
		panic(err)
	}
	harness.Main(m)
}

// TestConformance takes the tables of each module through their lives, step by
// step, in a database and an account of their own. Every step is done for all
// tables of the module, and followed by a full cycle that has to find nothing
// left to do.
func TestConformance(t *testing.T) {
	t.Parallel()
	for _, m := range described {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			s := newSuite(t, m)
			s.t.Run("described", func(t *testing.T) { s.covered(s.with(t)) })
			s.setUp()
			s.step(createBySQL, nil, s.createBySQL, s.createdBySQL)
			s.step(createByCLI, nil, s.createByCLI, s.createdByCLI)
			s.step("change by SQL", nil, s.changeBySQL, s.changedBySQL)
			// Within the window a read that shows what was before the engine's own
			// write is not believed (R13), and the CLI now undoes such writes.
			s.admin(`UPDATE iasql_settings SET value = '0 seconds' WHERE name = 'consistency_window'`)
			s.step("change by the CLI", nil, s.changeByCLI, s.changedByCLI)
			s.step(replace, nil, s.replace, s.replaced)
			s.step(deleteBySQL, nil, s.deleteBySQL, s.deletedBySQL)
			s.step(deleteByCLI, nil, s.deleteByCLI, s.deletedByCLI)
			s.step(adopt, nil, s.adopt, s.adopted)
			s.sql(`INSERT INTO iasql_mode (mode) VALUES ('TRACK')`)
			s.step(track, s.tracksNothing, s.track, s.tracked)
			s.step(track+" to the end", s.tracksNothing, s.trackEnd, s.trackedEnd)
		})
	}
}

// suite is one module in one world.
type suite struct {
	Module
	t      *testing.T
	world  *harness.World
	cli    *cli
	calls  *calls
	vars   map[string]string
	tables map[string]columns
	things map[string]map[string]*thing // by table and $n
	dead   map[string]bool              // tables of which a check has failed: what follows would fail too
}

// thing is one object of a table and its record.
type thing struct {
	n, i   string
	id     string
	old    string
	record string
}

func newSuite(t *testing.T, m Module) *suite {
	w := harness.NewWorld(t)
	s := &suite{
		Module: m, t: t, world: w, cli: startCLI(t, w.AWS), calls: watch(t, w),
		vars: map[string]string{"account": w.AWS.ID}, things: map[string]map[string]*thing{}, dead: map[string]bool{},
	}
	w.Serve()
	w.Install([]string{"us-east-1"}, append(slices.Clone(m.Also), m.Name)...)
	// No cycle but those that are asked for.
	s.admin(`UPDATE iasql_settings SET value = '1 hour' WHERE name = 'sync_interval'`)
	s.tables = s.describedBySQL(m.Name)
	return s
}

// with returns the suite, reporting to a subtest.
func (s *suite) with(t *testing.T) *suite {
	sub, world := *s, *s.world
	world.T = t
	sub.t, sub.world = t, &world
	return &sub
}

// step does something for all tables, looks at the outcome table by table, and
// then asks for a full cycle, which has nothing to do. around watches over it.
func (s *suite) step(name string, around func(*suite) func(), do func(*suite), look func(*suite, *Table)) {
	s.t.Run(name, func(t *testing.T) {
		sub := s.with(t)
		if around != nil {
			defer around(sub)()
		}
		do(sub)
		for i := range s.Tables {
			table := &s.Tables[i]
			t.Run(table.key(), func(t *testing.T) {
				switch {
				case s.dead[table.key()]:
					t.Skip("an earlier step has failed")
				case table.Missing != "":
					t.Skip(table.Missing)
				}
				defer func() {
					if t.Failed() {
						s.dead[table.key()] = true
					}
				}()
				look(s.with(t), table)
			})
		}
		t.Run("fixpoint", func(t *testing.T) { s.with(t).fixpoint() })
	})
}

// skips skips the running check if the description says why.
func (s *suite) skips(table *Table, check string) {
	if why := table.Skip[check]; why != "" {
		s.t.Skip(why)
	}
}

// each calls do for the tables that take part in a step.
func (s *suite) each(check string, do func(*Table)) {
	for i := range s.Tables {
		if table := &s.Tables[i]; !s.dead[table.key()] && table.Listed == "" && table.Missing == "" && table.Skip[check] == "" {
			do(table)
		}
	}
}

func (s *suite) eachReversed(check string, do func(*Table)) {
	var tables []*Table
	s.each(check, func(table *Table) { tables = append(tables, table) })
	slices.Reverse(tables)
	for _, table := range tables {
		do(table)
	}
}

// columns is what the database says of a table.
type columns struct {
	insert, delete bool
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
		Identity, Mutable, Created []string
		Secret                     []string
	}
	s.decode(&rows, s.admin(`
		SELECT coalesce(jsonb_agg(jsonb_build_object('name', m.name, 'insert', m.can_insert, 'delete', m.can_delete, 'identity', m.identity,
			'secret', m.write_only,
			'created', (SELECT coalesce(jsonb_agg(a.attname), '[]') FROM pg_attribute a WHERE a.attrelid = to_regclass(quote_ident(m.name)) AND a.attname = ANY (m.columns)
				AND a.attname NOT IN ('account', 'region') AND col_description(a.attrelid, a.attnum) LIKE '%(changing it replaces the object)'),
			'mutable', (SELECT coalesce(jsonb_agg(a.attname), '[]') FROM pg_attribute a WHERE a.attrelid = to_regclass(quote_ident(m.name)) AND a.attname = ANY (m.columns)
				AND NOT a.attname = ANY (m.identity || m.assigned || '{account,region}'::text[])
				AND col_description(a.attrelid, a.attnum) NOT LIKE '%(changing it replaces the object)'))), '[]')
		FROM iasql_internal.managed_table m JOIN iasql_tables t ON t."table" = m.name
		WHERE NOT m.settings AND t.module = '`+module+`'`))
	found := map[string]columns{}
	for _, r := range rows {
		found[r.Name] = columns{insert: r.Insert, delete: r.Delete, identity: r.Identity, mutable: r.Mutable, writeOnly: r.Secret, createOnly: r.Created}
	}
	return found
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
		for _, column := range has.mutable {
			for _, check := range []string{column + " by SQL", column + " by the CLI"} {
				secret := slices.Contains(has.writeOnly, column) && check == column+" by the CLI" // which SQL never sees
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

func (s *suite) setUp() {
	s.t.Helper()
	for _, command := range s.Module.CLI {
		s.must(s.expand(command, nil, nil))
	}
	if len(s.Setup) > 0 {
		for _, statement := range s.Setup {
			s.sql(s.expand(statement, nil, nil))
		}
		s.sql(`SELECT iasql_wait_for_all(60)`)
	}
	s.sync()
	// Commands may name what queries have found.
	for _, queries := range []bool{true, false} {
		for name, query := range s.Vars {
			switch {
			case strings.HasPrefix(query, "SELECT ") != queries:
				continue
			case queries:
				s.vars[name] = s.sql(query)
			default:
				s.vars[name] = strings.Trim(s.must(s.expand(query, nil, nil)), `"`)
			}
			if s.vars[name] == "" || s.vars[name] == "null" {
				s.t.Fatalf("$%s: %s returns nothing", name, query)
			}
		}
	}
	s.sync()
}

// Create by SQL and see by the CLI.

func (s *suite) createBySQL(sub *suite) {
	sub.each(createBySQL, func(table *Table) {
		o := sub.thing(table, "sql")
		if sub.tables[table.Name].insert {
			sub.insert(table, o, table.Insert)
		} else {
			sub.create(table, o)
		}
	})
	sub.settle()
	sub.sync()
}

func (s *suite) createdBySQL(sub *suite, table *Table) {
	if table.Listed != "" {
		sub.listed(table)
		return
	}
	sub.skips(table, createBySQL)
	if !sub.tables[table.Name].insert {
		if _, err := sub.world.TryPSQL(sub.world.UserURL, fmt.Sprintf(`INSERT INTO %s DEFAULT VALUES`, table.Name)); err == nil {
			sub.t.Error("an INSERT is not refused")
		}
	}
	o := sub.thing(table, "sql")
	sub.loaded(table, o)
	sub.there(table, o, o.id)
}

func (s *suite) insert(table *Table, o *thing, columns string) {
	s.t.Helper()
	out, err := s.world.TryPSQL(s.world.UserURL, fmt.Sprintf(`INSERT INTO %s %s RETURNING id`, table.Name, s.expand(columns, table, o)))
	if err != nil {
		s.broken(table, err)
		return
	}
	o.record, _, _ = strings.Cut(out, "\n")
}

// broken reports an error of one table without ending the step for all.
func (s *suite) broken(table *Table, err error) {
	s.t.Helper()
	s.t.Errorf("%s: %v", table.key(), err)
	s.dead[table.key()] = true
}

// Create by the CLI and see by SQL.

func (s *suite) createByCLI(sub *suite) {
	sub.each(createByCLI, func(table *Table) { sub.create(table, sub.thing(table, "cli")) })
	sub.sync()
}

func (s *suite) createdByCLI(sub *suite, table *Table) {
	sub.skips(table, createByCLI)
	if table.Listed != "" {
		return
	}
	o := sub.thing(table, "cli")
	sub.there(table, o, o.id)
	sub.loaded(table, o)
}

func (s *suite) create(table *Table, o *thing) {
	s.t.Helper()
	out := s.commands(table, o, table.Create)
	if table.ID == "" && table.Identity != "" && !s.dead[table.key()] {
		o.id = strings.TrimPrefix(out, "/hostedzone/") // which Route 53 puts before its ids
	}
}

var assignment = regexp.MustCompile(`^(\w+) := `)

// commands runs commands about an object and returns what the last one printed.
func (s *suite) commands(table *Table, o *thing, commands []string) string {
	s.t.Helper()
	var out string
	for _, command := range commands {
		command = s.expand(command, table, o)
		variable := ""
		if m := assignment.FindStringSubmatch(command); m != nil {
			variable, command = m[1], command[len(m[0]):]
		}
		answer, err := s.cli.run(command)
		if err != nil {
			s.broken(table, err)
			return ""
		}
		out = strings.Trim(answer, `"`)
		if variable != "" {
			s.vars[variable] = out
		}
	}
	return out
}

// Change by SQL and see by the CLI.

func (s *suite) changeBySQL(sub *suite) {
	sub.each(createBySQL, func(table *Table) {
		o := sub.thing(table, "sql")
		var set []string
		for _, c := range table.Change {
			if c.SQL != "" && table.Skip[c.Column+" by SQL"] == "" {
				set = append(set, fmt.Sprintf(`%s = %s`, c.Column, sub.expand(c.SQL, table, o)))
			}
		}
		if len(set) == 0 {
			return
		}
		if _, err := sub.world.TryPSQL(sub.world.UserURL, fmt.Sprintf(`UPDATE %s SET %s WHERE id = %s`, table.Name, strings.Join(set, ", "), o.record)); err != nil {
			sub.broken(table, err)
		}
	})
	sub.settle()
	sub.sync()
}

func (s *suite) changedBySQL(sub *suite, table *Table) {
	sub.skips(table, createBySQL)
	sub.untouched(table, " by SQL")
	o := sub.thing(table, "sql")
	read := sub.read(table, o)
	for _, c := range table.Change {
		if c.SQL == "" {
			continue // another description of the table has it
		}
		sub.t.Run(c.Column, func(t *testing.T) {
			sub := sub.with(t)
			sub.skips(table, c.Column+" by SQL")
			want := c.Want
			if want == "" {
				want = literal(c.SQL)
			}
			got := read(sub, c)
			if want = sub.expand(want, table, o); !same(got, want) {
				t.Errorf("%s is %s, and the cloud has %s, not %s", c.Column, c.SQL, got, want)
			}
			if slices.Contains(sub.tables[table.Name].writeOnly, c.Column) {
				if kept := sub.sql(fmt.Sprintf(`SELECT %s FROM %s WHERE id = %s`, c.Column, table.Name, o.record)); kept != "" {
					t.Errorf("%s is write-only, and kept", c.Column)
				}
			}
		})
	}
}

// read asks the CLI for what the changed columns are in the cloud, with one
// command for all those that ask for parts of the same answer. The function that
// it returns gives the part of a column.
func (s *suite) read(table *Table, o *thing) func(*suite, Change) string {
	s.t.Helper()
	type answer struct {
		parts []json.RawMessage
		err   error
	}
	const query = " --query "
	asked, answers := map[string][]string{}, map[string]answer{}
	for _, c := range table.Change {
		if command, part, ok := strings.Cut(c.See, query); ok && c.SQL != "" && table.Skip[c.Column+" by SQL"] == "" {
			asked[command] = append(asked[command], part)
		}
	}
	for command, parts := range asked {
		out, err := s.cli.run(s.expand(command+query+"[("+strings.Join(parts, "),(")+")]", table, o))
		a := answer{err: err}
		if err == nil {
			s.decode(&a.parts, out)
		}
		answers[command] = a
	}
	return func(s *suite, c Change) string {
		s.t.Helper()
		command, part, ok := strings.Cut(c.See, query)
		if !ok {
			return s.must(s.expand(c.See, table, o))
		}
		if err := answers[command].err; err != nil {
			s.t.Fatal(err)
		}
		return string(answers[command].parts[slices.Index(asked[command], part)])
	}
}

// Change by the CLI and see by SQL.

func (s *suite) changeByCLI(sub *suite) {
	sub.each(createBySQL, func(table *Table) {
		o := sub.thing(table, "sql")
		said := map[string]bool{} // one command may change several columns
		for _, c := range table.Change {
			if commands := strings.Join(c.CLI, "\n"); table.Skip[c.Column+" by the CLI"] == "" && !said[commands] {
				said[commands] = true
				sub.commands(table, o, c.CLI)
			}
		}
	})
	sub.sync()
}

// untouched reports the columns that are not changed at all, and why.
func (s *suite) untouched(table *Table, side string) {
	for check, why := range table.Skip {
		column, ok := strings.CutSuffix(check, side)
		described := slices.ContainsFunc(table.Change, func(c Change) bool { return c.Column == column })
		if ok && !described && slices.Contains(s.tables[table.Name].mutable, column) {
			s.t.Run(column, func(t *testing.T) { t.Skip(why) })
		}
	}
}

func (s *suite) changedByCLI(sub *suite, table *Table) {
	sub.skips(table, createBySQL)
	sub.untouched(table, " by the CLI")
	for _, c := range table.Change {
		sub.t.Run(c.Column, func(t *testing.T) {
			sub := sub.with(t)
			sub.skips(table, c.Column+" by the CLI")
			if len(c.CLI) == 0 { // a secret, which nobody can read
				return
			}
			sub.holds(table, sub.thing(table, "sql"), c.Column, c.Then)
			if t.Failed() {
				t.Logf("the cloud has %s", sub.must(sub.expand(c.See, table, sub.thing(table, "sql"))))
			}
		})
	}
}

func (s *suite) holds(table *Table, o *thing, column, want string) {
	s.t.Helper()
	got := s.sql(fmt.Sprintf(`SELECT %[1]s IS NOT DISTINCT FROM %[2]s, %[1]s FROM %[3]s WHERE id = %[4]s`, column, s.expand(want, table, o), table.Name, o.record))
	if !strings.HasPrefix(got, "t|") {
		s.t.Errorf("%s is not %s: %s", column, want, got)
	}
}

// Replace on a column that cannot be changed.

func (s *suite) replace(sub *suite) {
	sub.each(replace, func(table *Table) {
		if table.Replace.Column == "" || table.Skip[createBySQL] != "" {
			return
		}
		o := sub.thing(table, "sql")
		o.old = o.id
		if table.Replace.Child != "" {
			sub.sql(sub.expand(table.Replace.Child, table, o))
			sub.settle()
		}
		if table.Replace.Dependents != "" {
			sub.vars["dependents of "+table.key()] = sub.sql(sub.expand(table.Replace.Dependents, table, o))
		}
		set := table.Replace.Column + " = " + table.Replace.SQL
		if table.Replace.With != "" {
			set += ", " + table.Replace.With
		}
		if _, err := sub.world.TryPSQL(sub.world.UserURL, fmt.Sprintf(`UPDATE %s SET %s WHERE id = %s`, table.Name, sub.expand(set, table, o), o.record)); err != nil {
			sub.broken(table, err)
		}
		if table.Replace.ID != "" {
			o.id = sub.chosen(table.Replace.ID, table, o)
		}
	})
	sub.settle()
	sub.sync()
}

func (s *suite) replaced(sub *suite, table *Table) {
	sub.skips(table, replace)
	r := table.Replace
	if r.Column == "" {
		return
	}
	sub.skips(table, createBySQL)
	o := sub.thing(table, "sql")
	sub.loaded(table, o)
	sub.holds(table, o, r.Column, r.SQL)
	sub.there(table, o, o.id)
	if table.Identity != "" && o.old == o.id && (table.ID == "" || r.ID != "") {
		sub.t.Errorf("the object is still %s", o.id)
	}
	if o.old != o.id {
		if out, there := sub.see(table, o, o.old); there {
			sub.t.Errorf("the old object is still there: %s", out)
		}
	}
	if r.Dependents != "" {
		if before, after := sub.vars["dependents of "+table.key()], sub.sql(sub.expand(r.Dependents, table, o)); before != after || after == "" {
			sub.t.Errorf("what depends on it was %q and is %q", before, after)
		}
	}
}

// Delete by SQL and see by the CLI.

func (s *suite) deleteBySQL(sub *suite) {
	var statements []string
	sub.eachReversed(deleteBySQL, func(table *Table) {
		if o := sub.thing(table, "cli"); o.record != "" && sub.tables[table.Name].delete {
			statements = append(statements, fmt.Sprintf(`DELETE FROM %s WHERE id = %s`, table.Name, o.record))
		}
	})
	sub.each(replace, func(table *Table) {
		if table.Replace.Away != "" {
			statements = append(statements, sub.expand(table.Replace.Away, table, sub.thing(table, "sql")))
		}
	})
	if len(statements) > 0 {
		sub.sql(append(append([]string{`BEGIN`}, statements...), `COMMIT`)...)
	}
	sub.settle()
	sub.sync()
}

func (s *suite) deletedBySQL(sub *suite, table *Table) {
	sub.skips(table, deleteBySQL)
	if table.Listed != "" || len(table.Create) == 0 {
		return
	}
	o := sub.thing(table, "cli")
	if !sub.tables[table.Name].delete {
		sub.world.Refused(fmt.Sprintf(`DELETE FROM %s WHERE id = %s`, table.Name, o.record))
		return
	}
	if out, there := sub.see(table, o, o.id); there {
		sub.t.Errorf("still there: %s", out)
	}
	sub.gone(table, o)
}

// Delete by the CLI and see by SQL.

func (s *suite) deleteByCLI(sub *suite) {
	sub.eachReversed(deleteByCLI, func(table *Table) {
		if table.Skip[createBySQL] == "" {
			sub.delete(table, sub.thing(table, "sql"))
		}
	})
	sub.sync()
}

func (s *suite) deletedByCLI(sub *suite, table *Table) {
	sub.skips(table, deleteByCLI)
	sub.skips(table, createBySQL)
	if table.Listed != "" {
		return
	}
	sub.gone(table, sub.thing(table, "sql"))
}

func (s *suite) delete(table *Table, o *thing) {
	s.t.Helper()
	s.commands(table, o, table.Delete)
}

// Adopt: an INSERT for an object that is there already takes it over. Where the
// cloud assigns the identity, it is part of what is inserted.

func (s *suite) adopt(sub *suite) {
	sub.each(adopt, func(table *Table) {
		if len(table.Create) == 0 || !sub.tables[table.Name].insert {
			return
		}
		o := sub.thing(table, "adopted")
		sub.create(table, o)
		if sub.dead[table.key()] {
			return
		}
		columns := table.Adopts
		if columns == "" {
			columns = table.Insert
			if table.ID == "" && table.Identity != "" {
				columns = adopting(columns, table.Identity)
			}
		}
		before := sub.calls.count()
		sub.insert(table, o, columns)
		sub.settle()
		if made := sub.calls.since(before); slices.ContainsFunc(made, func(call string) bool {
			return strings.Contains(call, "Create") && !strings.HasSuffix(call, ":CreateTags")
		}) {
			sub.broken(table, fmt.Errorf("it is there, and the engine made the calls %v", made))
		}
	})
	sub.sync()
}

// adopting adds the identity to what is inserted.
func adopting(columns, identity string) string {
	columns = strings.Replace(columns, "(", "("+identity+", ", 1)
	if strings.Contains(columns, "VALUES (") {
		return strings.Replace(columns, "VALUES (", "VALUES ('$id', ", 1)
	}
	return strings.Replace(columns, "SELECT ", "SELECT '$id', ", 1)
}

func (s *suite) adopted(sub *suite, table *Table) {
	sub.skips(table, adopt)
	if table.Listed != "" || len(table.Create) == 0 || !sub.tables[table.Name].insert {
		return
	}
	o := sub.thing(table, "adopted")
	record, id := o.record, o.id
	sub.loaded(table, o)
	sub.there(table, o, o.id)
	if o.record != record || o.id != id {
		sub.t.Errorf("record %s of %s has become record %s of %s", record, id, o.record, o.id)
	}
}

// TRACK: the tables follow, and the engine makes no mutating call.

func (s *suite) tracksNothing(sub *suite) func() {
	before := sub.calls.count()
	return func() {
		if made := sub.calls.since(before); len(made) > 0 {
			sub.t.Errorf("mutating calls: %v", made)
		}
	}
}

func (s *suite) track(sub *suite) {
	sub.each(track, func(table *Table) {
		if len(table.Create) == 0 {
			return
		}
		sub.create(table, sub.thing(table, "tracked"))
		if table.Skip[adopt] != "" || !sub.tables[table.Name].insert {
			return
		}
		o := sub.thing(table, "adopted")
		for _, c := range table.Change[:min(1, len(table.Change))] {
			sub.commands(table, o, c.CLI)
		}
	})
	sub.sync()
	sub.sync()
}

func (s *suite) tracked(sub *suite, table *Table) {
	sub.skips(table, track)
	if table.Listed != "" || len(table.Create) == 0 {
		return
	}
	sub.loaded(table, sub.thing(table, "tracked"))
	if table.Skip[adopt] != "" || !sub.tables[table.Name].insert {
		return
	}
	for _, c := range table.Change[:min(1, len(table.Change))] {
		if len(c.CLI) > 0 && table.Skip[c.Column+" by the CLI"] == "" {
			sub.holds(table, sub.thing(table, "adopted"), c.Column, c.Then)
		}
	}
}

func (s *suite) trackEnd(sub *suite) {
	sub.eachReversed(track, func(table *Table) {
		if len(table.Create) == 0 || table.Skip[deleteByCLI] != "" {
			return
		}
		sub.delete(table, sub.thing(table, "tracked"))
		if table.Skip[adopt] == "" && sub.tables[table.Name].insert {
			sub.delete(table, sub.thing(table, "adopted"))
		}
	})
	sub.sync()
	sub.sync()
}

func (s *suite) trackedEnd(sub *suite, table *Table) {
	sub.skips(table, track)
	sub.skips(table, deleteByCLI)
	if table.Listed != "" || len(table.Create) == 0 {
		return
	}
	sub.gone(table, sub.thing(table, "tracked"))
	if table.Skip[adopt] == "" && sub.tables[table.Name].insert {
		sub.gone(table, sub.thing(table, "adopted"))
	}
}

// fixpoint checks that a further full cycle writes nothing on either side (R12).
func (s *suite) fixpoint() {
	s.t.Helper()
	calls, rows := s.calls.count(), s.versions()
	s.sync()
	if made := s.calls.since(calls); len(made) > 0 {
		s.t.Errorf("a further cycle made the calls %v", made)
	}
	for record, version := range s.versions() {
		if rows[record] != version {
			s.t.Errorf("a further cycle wrote the record %s: %s", record, s.sql(fmt.Sprintf(
				`SELECT change FROM iasql_audit_log WHERE table_name || ' ' || record_id = '%s' ORDER BY id DESC LIMIT 1`, record)))
		}
		delete(rows, record)
	}
	if len(rows) > 0 {
		s.t.Errorf("a further cycle removed the records %v", slices.Collect(maps.Keys(rows)))
	}
	if got := s.sql(`SELECT calls, pushes, pulls, errors FROM iasql_cycles WHERE kind = 'full' ORDER BY id DESC LIMIT 1`); got != fmt.Sprintf("0|0|0|%d", len(s.missing())) {
		s.t.Errorf("a further cycle's calls, pushes, pulls and errors: %s: %s", got, s.sql(`SELECT details FROM iasql_cycles WHERE kind = 'full' ORDER BY id DESC LIMIT 1`))
	}
	if got := strings.Fields(s.sql(`SELECT DISTINCT table_name FROM iasql_get_errors() ORDER BY 1`)); !slices.Equal(got, s.missing()) {
		s.t.Errorf("there are errors of %v, want %v", got, s.missing())
	}
	if left := s.sql(`SELECT table_name, record_id, state, message FROM iasql_status WHERE state <> 'Present'`); left != "" {
		s.t.Errorf("not settled: %s", left)
	}
}

// missing returns the names of the tables that the emulator has nothing of,
// sorted.
func (s *suite) missing() []string {
	var names []string
	for _, table := range s.Tables {
		if table.Missing != "" {
			names = append(names, table.Name)
		}
	}
	slices.Sort(names)
	return names
}

// versions returns the version of every row of every managed table.
func (s *suite) versions() map[string]string {
	s.t.Helper()
	var parts []string
	for _, table := range strings.Fields(s.sql(`SELECT "table" FROM iasql_tables ORDER BY 1`)) {
		parts = append(parts, fmt.Sprintf(`SELECT '%s ' || id, xmin::text FROM %s`, table, table))
	}
	found := map[string]string{}
	for _, line := range strings.Split(s.admin(strings.Join(parts, " UNION ALL ")), "\n") {
		record, version, _ := strings.Cut(line, "|")
		found[record] = version
	}
	return found
}

// thing returns an object of a table by its $n.
func (s *suite) thing(table *Table, n string) *thing {
	all := s.things[table.key()]
	if all == nil {
		all = map[string]*thing{}
		s.things[table.key()] = all
	}
	if all[n] == nil {
		o := &thing{n: n, i: strconv.Itoa(1 + slices.Index([]string{"sql", "cli", "adopted", "tracked"}, n))}
		o.id = s.chosen(table.ID, table, o)
		all[n] = o
	}
	return all[n]
}

// chosen returns an identity that the description chooses.
func (s *suite) chosen(id string, table *Table, o *thing) string {
	s.t.Helper()
	if id = s.expand(id, table, o); strings.HasPrefix(id, "SELECT ") {
		return s.sql(id)
	}
	return id
}

// loaded checks that the object has a record, one, and learns which.
func (s *suite) loaded(table *Table, o *thing) {
	s.t.Helper()
	where := table.Find
	switch {
	case o.record != "":
		where = "id = " + o.record
	case where == "":
		where = table.Identity + " = '$id'"
	}
	var rows []map[string]any
	s.decode(&rows, s.sql(fmt.Sprintf(`SELECT coalesce(jsonb_agg(t), '[]') FROM %s t WHERE %s`, table.Name, s.expand(where, table, o))))
	if len(rows) != 1 {
		s.t.Fatalf("%d records where %s, want one", len(rows), s.expand(where, table, o))
	}
	o.record = text(rows[0]["id"])
	if table.ID == "" && table.Identity != "" {
		if o.id = text(rows[0][table.Identity]); o.id == "" {
			s.t.Fatalf("record %s has no %s: %s", o.record, table.Identity, s.sql(fmt.Sprintf(
				`SELECT state, message FROM iasql_status WHERE table_name = '%s' AND record_id = %s`, table.Name, o.record)))
		}
	}
}

// gone checks that the object has no record any more.
func (s *suite) gone(table *Table, o *thing) {
	s.t.Helper()
	if o.record == "" {
		s.t.Fatal("the record was never found")
	}
	if row := s.sql(fmt.Sprintf(`SELECT to_jsonb(t) FROM %s t WHERE id = %s`, table.Name, o.record)); row != "" {
		s.t.Errorf("the record is still there: %s", row)
	}
}

// listed compares what both sides list.
func (s *suite) listed(table *Table) {
	s.t.Helper()
	var here, there []string
	s.decode(&here, s.sql(fmt.Sprintf(`SELECT jsonb_agg(%s) FROM %s`, table.Identity, table.Name)))
	s.decode(&there, s.must(s.expand(table.Listed, nil, nil)))
	slices.Sort(here)
	slices.Sort(there)
	if !slices.Equal(here, there) || len(here) == 0 {
		s.t.Errorf("the table has %q, the cloud %q", here, there)
	}
	s.world.Refused(fmt.Sprintf(`DELETE FROM %s`, table.Name))
}

// absent are what AWS's APIs say of what is not there.
var absent = regexp.MustCompile(`(?i)not ?found|no ?such|not exist|non-?existent|404|does not|cannot be found|not a valid|unknown`)

// see asks the CLI for an object by its id.
func (s *suite) see(table *Table, o *thing, id string) (out string, there bool) {
	s.t.Helper()
	of := *o
	of.id = id
	out, err := s.cli.run(s.expand(table.See, table, &of))
	switch {
	case err != nil && absent.MatchString(err.Error()):
		return "", false
	case err != nil:
		s.t.Fatal(err)
	}
	return out, out != "" && out != "null" && out != "[]" && out != "{}" && out != `""`
}

func (s *suite) there(table *Table, o *thing, id string) {
	s.t.Helper()
	if out, there := s.see(table, o, id); !there {
		s.t.Errorf("%s is not there: %s", id, out)
	}
}

// expand fills in a template.
func (s *suite) expand(template string, table *Table, o *thing) string {
	s.t.Helper()
	return os.Expand(template, func(name string) string {
		if o != nil {
			switch name {
			case "n":
				return o.n
			case "i":
				return o.i
			case "id":
				return o.id
			case "old":
				return o.old
			case "row":
				return o.record
			}
		}
		if v, ok := s.vars[name]; ok {
			return v
		}
		if o == nil || o.record == "" {
			s.t.Fatalf("%s: there is no $%s", template, name)
		}
		return s.sql(fmt.Sprintf(`SELECT %s FROM %s WHERE id = %s`, name, table.Name, o.record))
	})
}

func (s *suite) sql(statements ...string) string {
	s.t.Helper()
	return s.world.PSQL(statements...)
}

func (s *suite) admin(statements ...string) string {
	s.t.Helper()
	return s.world.Admin(statements...)
}

func (s *suite) must(command string) string {
	s.t.Helper()
	out, err := s.cli.run(command)
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

func (s *suite) decode(into any, text string) {
	s.t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		s.t.Fatalf("%v: %s", err, text)
	}
}

// settle waits until the users' changes are dealt with. What has failed shows
// with its table.
func (s *suite) settle() {
	s.t.Helper()
	if _, err := s.world.TryPSQL(s.world.UserURL, `SELECT iasql_wait_for_all(30)`); err != nil {
		s.t.Errorf("%v\nstatus:\n%s\nunended calls:\n%s", err, s.sql(`SELECT table_name, record_id, state, message FROM iasql_status WHERE state <> 'Present'`),
			s.sql(`SELECT table_name, record_id, action, started FROM iasql_operations WHERE ended IS NULL`))
	}
}

func (s *suite) sync() {
	s.t.Helper()
	s.sql(`SET statement_timeout = '60s'`, `SELECT iasql_sync_now()`)
}

// calls are the mutating calls that the engine has made.
type calls struct {
	lock sync.Mutex
	made []string
}

// reading are the requests that are reads where an API has methods: Route 53's
// ListTagsForResources is a POST.
var reading = regexp.MustCompile(`^(GET|HEAD) |^POST /2013-04-01/tags/\w+$`)

// watch puts a proxy between the world's engines and the cloud, which counts
// what is no read: by the operation's name as package aws does, and by the
// request where that does not name the operation.
func watch(t *testing.T, w *harness.World) *calls {
	proxy, c := faultproxy.Start(t, w.AWS.Endpoint), &calls{}
	proxy.Set(func(call faultproxy.Call) faultproxy.Fault {
		if !aws.IsRead(call.Action) && !reading.MatchString(call.Action) {
			c.lock.Lock()
			c.made = append(c.made, call.Service+":"+call.Action)
			c.lock.Unlock()
		}
		return faultproxy.Fault{}
	})
	w.Endpoint = proxy.URL
	return c
}

func (c *calls) count() int {
	c.lock.Lock()
	defer c.lock.Unlock()
	return len(c.made)
}

func (c *calls) since(n int) []string {
	c.lock.Lock()
	defer c.lock.Unlock()
	return slices.Clone(c.made[n:])
}

// literal returns what an SQL literal says.
func literal(sql string) string {
	if n := len(sql); n >= 2 && sql[0] == '\'' && sql[n-1] == '\'' {
		return strings.ReplaceAll(sql[1:n-1], "''", "'")
	}
	return sql
}

func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

// same compares what the CLI prints with what is wanted: JSON where it is JSON,
// also within a string; tags as an object however an API spells them; scalars by
// their text; lists in any order.
func same(got, want string) bool {
	return reflect.DeepEqual(plain(parse(got)), plain(parse(want)))
}

func parse(text string) any {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	return v
}

func plain(v any) any {
	switch v := v.(type) {
	case string:
		if strings.HasPrefix(v, "{") || strings.HasPrefix(v, "[") {
			var inner any
			if json.Unmarshal([]byte(v), &inner) == nil {
				return plain(inner)
			}
		}
		return v
	case []any:
		tags := map[string]any{}
		var list []any
		for _, member := range v {
			if m, ok := member.(map[string]any); ok && len(m) == 2 {
				key, value := first(m, "Key", "key", "TagKey"), first(m, "Value", "value", "TagValue")
				if key != nil && value != nil {
					if text(key) != aws.TokenTag {
						tags[text(key)] = text(value)
					}
					continue
				}
			}
			list = append(list, plain(member))
		}
		if len(list) == 0 && len(v) > 0 {
			return tags
		}
		slices.SortFunc(list, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		return list
	case map[string]any:
		m := map[string]any{}
		for key, value := range v {
			if key != aws.TokenTag {
				m[key] = plain(value)
			}
		}
		return m
	}
	return text(v)
}

func first(m map[string]any, names ...string) any {
	for _, name := range names {
		if v, ok := m[name]; ok {
			return v
		}
	}
	return nil
}
