package types

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"iasql/internal/aws/cfn"
	"iasql/internal/modules"
	"iasql/internal/modules/awstypes"
	"iasql/internal/test/cloudcontrol"
)

// together is how many types a life is taken through at a time.
const together = 100

// TestEveryLife takes published types through their whole lives, by SQL on one side and the
// hands of others on the other: made, changed in every property that can be, changed by
// others, tracked, replaced, deleted, adopted, with a fixpoint after each.
func TestEveryLife(t *testing.T) {
	if testing.Short() {
		t.Skip("a sweep of types: make test-all runs it")
	}
	t.Parallel()
	published := cloudcontrol.AWS(t, "../..")
	names := slices.Sorted(maps.Keys(published))
	tables, without := 0, map[string]int{}
	var takes []string
	for _, name := range names {
		s, err := cfn.Parse(published[name])
		switch {
		case err != nil:
			without["its schema makes no table: "+err.Error()]++
		case !s.Can("read") || !s.Can("create") && !s.Can("list"):
			without["no handlers by which its objects can be read"]++
		case awstypes.Native(name) != "":
			without["a module has its objects"]++
		default:
			tables++
			if s.Can("create") && s.Can("delete") {
				takes = append(takes, name)
			} else {
				without["a table, whose objects cannot be made or deleted through Cloud Control"]++
			}
		}
	}
	t.Logf("%d of %d schemas give a table", tables, len(names))
	for _, reason := range slices.Sorted(maps.Keys(without)) {
		t.Logf("%d: %s", without[reason], reason)
	}
	if *livesOf != "" {
		takes = strings.Split(*livesOf, ",")
	} else if !*every { // some of each kind
		var some []string
		for i := 7; i < len(takes); i += 120 {
			some = append(some, takes[i])
		}
		takes = some
	}
	w := start(t, cloudcontrol.Options{Schemas: published})
	l := newLives(w, published)
	for part := range slices.Chunk(takes, together) {
		l.take(part)
	}
	l.report(len(takes))
}

// lives are objects of types that are taken through their lives together.
type lives struct {
	*world
	published map[string][]byte
	conn      *pgx.Conn
	all       []*life
	failed    map[string][]string // types by reason
	passed    int
	changes   int
}

// life is that of the object of a type.
type life struct {
	name, table string
	t           *cfn.Type
	typ         *cloudcontrol.Type
	at          cloudcontrol.Scope
	example     map[string]any
	over        bool
}

func newLives(w *world, published map[string][]byte) *lives {
	conn, err := pgx.Connect(w.Context(), w.UserURL)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = conn.Close(context.Background()) })
	// What others set back to what the engine has written over would be taken for late.
	w.Admin(`UPDATE iasql_settings SET value = '1 second' WHERE name = 'consistency_window'`)
	return &lives{world: w, published: published, conn: conn, failed: map[string][]string{}}
}

// fail ends a life.
func (l *lives) fail(f *life, reason, format string, args ...any) {
	if f.over {
		return
	}
	f.over = true
	what := fmt.Sprintf(format, args...)
	for _, known := range reasons {
		if strings.Contains(what, known.says) {
			reason = known.reason
		}
	}
	l.failed[reason] = append(l.failed[reason], f.name+": "+what)
}

// reasons are those for which types do not pass that are no fault of the tables.
var reasons = []struct{ says, reason string }{
	{"what identifies an object", "its made up object lacks what identifies it, which AWS would choose"},
	{"required key", "an update needs what is fixed and cannot be read, which Cloud Control misses"},
	{"Model validation failed", "an update needs what is fixed and cannot be read, which Cloud Control misses"},
	{"which cannot be read, is not in its replacement", "a replacement has not what is fixed and cannot be read"},
}

func (l *lives) report(of int) {
	l.Logf("%d of %d types pass the whole life; %d changes of properties", l.passed, of, l.changes)
	for _, reason := range slices.Sorted(maps.Keys(l.failed)) {
		list := l.failed[reason]
		text := fmt.Sprintf("%d: %s:\n\t%s", len(list), reason, strings.Join(list[:min(len(list), 100)], "\n\t"))
		if slices.ContainsFunc(reasons, func(r struct{ says, reason string }) bool { return r.reason == reason }) ||
			reason == noExample {
			l.Log(text)
		} else {
			l.Error(text)
		}
	}
}

const noExample = "no object could be made up from its schema"

// take takes types through their lives.
func (l *lives) take(names []string) {
	began := time.Now()
	l.all = nil
	l.PSQL(`SELECT * FROM iasql_install('` + strings.Join(names, "', '") + `')`)
	for _, name := range names {
		f := &life{name: name, at: l.at}
		l.all = append(l.all, f)
		if err := l.describe(f); err != nil {
			l.fail(f, "its table was not made", "%v", err)
		}
	}
	for _, step := range []struct {
		name string
		do   func()
	}{{"made", l.make}, {"changed", l.change}, {"changed by others", l.drift}, {"tracked", l.track},
		{"replaced", l.replace}, {"deleted", l.delete}, {"adopted", l.adopt}} {
		step.do()
		l.fixpoint(step.name)
	}
	for _, f := range l.all {
		if !f.over {
			l.passed++
		}
		if f.table != "" {
			_, _ = l.conn.Exec(l.Context(), "DELETE FROM "+f.table)
		}
	}
	l.settle("cleared")
	l.PSQL(`SELECT count(*) FROM iasql_uninstall('` + strings.Join(names, "', '") + `')`)
	l.Logf("%s … %s: %d of %d so far, %s", names[0], names[len(names)-1], l.passed, l.passed+l.broken(),
		time.Since(began).Round(time.Second))
}

func (l *lives) broken() (n int) {
	for _, list := range l.failed {
		n += len(list)
	}
	return n
}

// describe reads how the engine has laid the table out.
func (l *lives) describe(f *life) error {
	var text []byte
	if err := l.admin(`SELECT layout FROM iasql_internal.resource_type WHERE name = $1`, []any{&text}, f.name); err != nil {
		return err
	}
	var layout cfn.Layout
	if err := json.Unmarshal(text, &layout); err != nil {
		return err
	}
	s, err := cfn.Parse(l.published[f.name])
	if err != nil {
		return err
	}
	if f.t, err = cfn.New(s, layout, nil); err != nil {
		return err
	}
	if f.typ, err = cloudcontrol.NewType(l.published[f.name]); err != nil {
		return err
	}
	if f.table = layout.Table; cfn.Global(f.name) {
		f.at.Region = cfn.Home(f.name)
	}
	if f.example, err = f.typ.Example(1, false); err != nil {
		l.fail(f, noExample, "%v", err)
	}
	return nil
}

// admin asks one row with an administrator's rights.
func (l *lives) admin(query string, into []any, args ...any) error {
	conn, err := pgx.Connect(l.Context(), l.AdminURL)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(l.Context()) }()
	return conn.QueryRow(l.Context(), query, args...).Scan(into...)
}

// asked returns the columns and values by which somebody asks for properties.
func (f *life) asked(properties map[string]any) (modules.Row, error) {
	text, err := json.Marshal(properties)
	if err != nil {
		return nil, err
	}
	return f.t.Asked(text)
}

// sql spells the values of columns.
func (f *life) sql(row modules.Row) (columns, values []string) {
	for _, name := range slices.Sorted(maps.Keys(row)) {
		literal := "'" + strings.ReplaceAll(row[name].String(), "'", "''") + "'"
		if f.t.Table.Column(name).Type == modules.TypeTexts {
			literal = "ARRAY(SELECT jsonb_array_elements_text(" + literal + "))"
		}
		columns, values = append(columns, `"`+name+`"`), append(values, literal)
	}
	return columns, values
}

func (l *lives) insert(f *life) error {
	row, err := f.asked(f.example)
	if err != nil {
		return err
	}
	columns, values := f.sql(row)
	statement := fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", f.table, strings.Join(columns, ", "),
		strings.Join(values, ", "))
	if len(columns) == 0 {
		statement = fmt.Sprintf("INSERT INTO %s DEFAULT VALUES", f.table)
	}
	_, err = l.conn.Exec(l.Context(), statement)
	return err
}

// write changes the columns of the record that have other values for other properties. It
// reports whether there is something to be changed.
func (l *lives) write(f *life, properties map[string]any, setting string) (bool, error) {
	before, err := f.asked(f.example)
	if err != nil {
		return false, err
	}
	after, err := f.asked(properties)
	if err != nil {
		return false, err
	}
	changed := modules.Row{}
	differs := false
	for name, v := range after {
		switch c := f.t.Table.Column(name); {
		case !c.Same(before[name], v) && fixedSecret(f, name):
			return false, nil // nobody could tell whether it is another one
		case !c.Same(before[name], v):
			changed[name], differs = v, true
		// which an update has to say again, and a replacement all of it
		case c.WriteOnly && (setting == allowed || !fixedSecret(f, name)):
			changed[name] = v
		}
	}
	if !differs {
		return false, nil
	}
	columns, values := f.sql(changed)
	_, err = l.conn.Exec(l.Context(), fmt.Sprintf("BEGIN; %s UPDATE %s SET (%s) = ROW(%s); COMMIT", setting, f.table,
		strings.Join(columns, ", "), strings.Join(values, ", ")))
	if err != nil {
		_, _ = l.conn.Exec(l.Context(), "ROLLBACK")
		return false, err
	}
	f.example = properties
	return true, nil
}

// fixedSecret reports whether a column can neither be read nor be changed.
func fixedSecret(f *life, column string) bool {
	_, err := f.t.Patch(modules.Row{}, modules.Row{}, []string{column})
	return err != nil
}

func refusedAs(err error, code string) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == code
}
