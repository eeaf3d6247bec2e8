package awstypes

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	gosync "sync"
	"testing"

	"iasql/internal/aws"
	"iasql/internal/aws/cfn"
	"iasql/internal/modules"
	"iasql/internal/test/awstest"
	"iasql/internal/test/cloudcontrol"
)

// every says that TestLives takes every published type, and not only some.
var every = flag.Bool("every-type", false, "take every published resource type through its life")

// failure is why a type does not pass: a reason that others share, and what it was.
type failure struct{ reason, what string }

func (f *failure) Error() string { return f.reason + ": " + f.what }

func fail(reason, format string, args ...any) error {
	return &failure{reason, fmt.Sprintf(format, args...)}
}

// TestLives takes published types through their lives on a fake of Cloud Control, with the
// steps that an engine takes: made, read, listed, changed in every property that can be,
// deleted.
func TestLives(t *testing.T) {
	t.Parallel()
	schemas := cloudcontrol.AWS(t, "../../..")
	server := cloudcontrol.Start(t, cloudcontrol.Options{Schemas: schemas})
	source := &Source{Clients: awstest.Fake(server.URL)}
	var names []string
	for i, name := range slices.Sorted(maps.Keys(schemas)) {
		if *every || i%50 == 0 {
			names = append(names, name)
		}
	}
	var lock gosync.Mutex
	passed, failed := 0, map[string][]string{}
	_ = aws.Each(t.Context(), 4, names, func(ctx context.Context, name string) error {
		err := life(ctx, source, schemas[name], name)
		lock.Lock()
		defer lock.Unlock()
		var f *failure
		switch {
		case err == nil:
			passed++
		case errors.As(err, &f):
			failed[f.reason] = append(failed[f.reason], name+": "+f.what)
		default:
			failed["error"] = append(failed["error"], name+": "+err.Error())
		}
		return nil
	})
	t.Logf("%d of %d types pass", passed, len(names))
	for _, reason := range slices.Sorted(maps.Keys(failed)) {
		list := failed[reason]
		sort.Strings(list)
		shown := list
		if len(list) > 12 {
			shown = list[:12]
		}
		text := fmt.Sprintf("%d: %s:\n\t%s", len(list), reason, strings.Join(shown, "\n\t"))
		if slices.Contains(expected, reason) {
			t.Log(text)
		} else {
			t.Error(text)
		}
	}
}

// expected are the reasons for which types do not pass that are no fault of the tables.
var expected = []string{
	"no handlers to make, read and delete",
	"no example could be made up",
	"its example lacks what identifies it",
	"an update needs what is fixed and cannot be read", // which Cloud Control misses in what it reads
}

// life takes an object of a type through its life.
func life(ctx context.Context, source *Source, schema []byte, name string) error {
	d := modules.Description{Name: name, Schema: string(schema), Revision: 1}
	if err := source.Lay(&d, func(string) bool {
		return false
	}, func(string) modules.Resource { return nil }); err != nil {
		if strings.Contains(err.Error(), "no handlers") {
			return fail("no handlers to make, read and delete", "%v", err)
		}
		return fail("no table", "%v", err)
	}
	m, err := source.Module(&d)
	if err != nil {
		return fail("no table", "%v", err)
	}
	r := m.Resources[0].(*resource)
	if can := r.Can(); !can.Create || !can.Delete || !r.t.Schema.Handlers["read"] {
		return fail("no handlers to make, read and delete", "%v", slices.Sorted(maps.Keys(r.t.Schema.Handlers)))
	}
	typ, err := cloudcontrol.NewType(schema)
	if err != nil {
		return err
	}
	example, err := typ.Example(1, false)
	if err != nil {
		return fail("no example could be made up", "%v", err)
	}
	l := &lived{ctx: ctx, r: r, typ: typ, scope: awstest.Scope("us-east-1"), example: example}
	if r.t.Table.Reach == modules.PerAccount {
		l.scope.Region = ""
	}
	for _, step := range []func() error{l.create, l.list, l.update, l.delete} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// lived is an object and its type.
type lived struct {
	ctx     context.Context
	r       *resource
	typ     *cloudcontrol.Type
	scope   modules.Scope
	example map[string]any
	have    modules.Row // as it was read last
	want    modules.Row
}

func (l *lived) asked() (modules.Row, error) {
	text, err := json.Marshal(l.example)
	if err != nil {
		return nil, err
	}
	row, err := l.r.t.Asked(text)
	if err != nil {
		return nil, fail("the example cannot be a row", "%v", err)
	}
	for _, c := range l.r.t.Table.Columns {
		if _, said := row[c.Name]; !said {
			row[c.Name] = modules.Null
		}
	}
	return row, nil
}

func (l *lived) create() (err error) {
	if l.want, err = l.asked(); err != nil {
		return err
	}
	made, err := awstest.Create(l.ctx, l.r, awstest.Permit(), l.scope, l.want, "token-"+l.r.t.Name)
	if err != nil && strings.Contains(err.Error(), "what identifies an object") {
		return fail("its example lacks what identifies it", "%v", err)
	}
	if err != nil {
		return fail("could not be made", "%v", err)
	}
	again, err := awstest.Create(l.ctx, l.r, awstest.Permit(), l.scope, l.want, "token-"+l.r.t.Name)
	if err != nil {
		return fail("could not be made again with its token", "%v", err)
	}
	key, named := l.r.t.Table.Key(made)
	if other, _ := l.r.t.Table.Key(again); !named || other != key {
		return fail("its identity is not known when it is made", "%v, %v", made, again)
	}
	l.have = made
	return l.read("after it was made")
}

// read reads the object and compares it with what it is to be.
func (l *lived) read(when string) error {
	rows, err := awstest.Get(l.ctx, l.r, l.scope, []modules.Row{l.have})
	if err != nil {
		return fail("could not be read "+when, "%v", err)
	}
	if len(rows) != 1 {
		return fail("is not there "+when, "%v", l.have)
	}
	l.have = rows[0]
	for i := range l.r.t.Table.Columns {
		c := &l.r.t.Table.Columns[i]
		got, known := l.have[c.Name]
		if c.WriteOnly || c.Local || c.Computed || c.Name == modules.ColumnAccount || c.Name == modules.ColumnRegion {
			continue
		}
		if !known {
			return fail("a column is unknown "+when, "%s", c.Name)
		}
		if want := l.want[c.Name]; !want.IsNull() && !c.Same(want, got) && !c.Assigns(want, got) && !covers(want, got) {
			return fail("a column is not as it was to be "+when, "%s: %s instead of %s", c.Name, got, want)
		}
	}
	return nil
}

// fixed reports whether a column that cannot be read is fixed at creation.
func (l *lived) fixed(column string) bool {
	_, err := l.r.t.Patch(l.have, l.want, []string{column})
	return aws.HasCode(err, "FixedSecret")
}

// covers reports whether a value has all that was asked for, and AWS has added to it.
func covers(want, got modules.Value) bool {
	var w, g any
	if json.Unmarshal([]byte(want.String()), &w) != nil || json.Unmarshal([]byte(got.String()), &g) != nil {
		return false
	}
	return has(w, g)
}

func has(want, got any) bool {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		for name := range w {
			ok = ok && has(w[name], g[name])
		}
		return ok
	case []any:
		g, ok := got.([]any)
		ok = ok && len(g) == len(w)
		for i := range w {
			ok = ok && has(w[i], g[i])
		}
		return ok
	}
	return want == got
}

func (l *lived) list() error {
	if !l.r.t.Schema.Handlers["list"] || len(l.r.t.Schema.ListBy) > 0 &&
		slices.ContainsFunc(l.r.t.Schema.ListBy, func(p cfn.Parameter) bool { return len(p.Values) == 0 }) {
		return nil // what it is listed by has no objects here
	}
	var keys []string
	err := awstest.List(l.ctx, l.r, l.scope, func(rows []modules.Row) error {
		for _, row := range rows {
			key, _ := l.r.t.Table.Key(row)
			keys = append(keys, key)
		}
		return nil
	})
	if err != nil {
		return fail("could not be listed", "%v", err)
	}
	if key, _ := l.r.t.Table.Key(l.have); !slices.Contains(keys, key) {
		return fail("is not listed", "%q in %q", key, keys)
	}
	return nil
}

// update changes every property that can be changed, one after the other.
func (l *lived) update() error {
	if !l.r.Can().Update {
		return nil
	}
	for n, property := range l.typ.Mutable() {
		value, ok := l.typ.Another(uint64(n), l.example, property)
		if !ok {
			continue
		}
		before := l.want
		l.example = maps.Clone(l.example)
		l.example[property] = value
		var err error
		if l.want, err = l.asked(); err != nil {
			return err
		}
		var columns []string
		replaces := false
		for i := range l.r.t.Table.Columns {
			c := &l.r.t.Table.Columns[i]
			switch {
			case c.Computed || c.Local || c.Name == modules.ColumnAccount || c.Name == modules.ColumnRegion:
			case c.WriteOnly:
				if !l.want[c.Name].IsNull() && !l.fixed(c.Name) { // which the update has to say again
					columns = append(columns, c.Name)
				}
			case !c.Same(before[c.Name], l.want[c.Name]):
				columns = append(columns, c.Name)
				replaces = replaces || c.Replaces(before[c.Name], l.want[c.Name])
			}
		}
		if replaces || len(columns) == 0 {
			l.want = before
			continue
		}
		err = awstest.Update(l.ctx, l.r, awstest.Permit(), l.scope, l.have, l.want, columns)
		if err != nil && strings.Contains(err.Error(), "required key") {
			return fail("an update needs what is fixed and cannot be read", "%s: %v", property, err)
		}
		if err != nil {
			return fail("could not be changed", "%s: %v", property, err)
		}
		if err := l.read("after it was changed"); err != nil {
			return err
		}
	}
	return nil
}

func (l *lived) delete() error {
	if err := awstest.Delete(l.ctx, l.r, awstest.Permit(), l.scope, l.have); err != nil {
		return fail("could not be deleted", "%v", err)
	}
	if err := awstest.Delete(l.ctx, l.r, awstest.Permit(), l.scope, l.have); err != nil {
		return fail("could not be deleted again", "%v", err)
	}
	rows, err := awstest.Get(l.ctx, l.r, l.scope, []modules.Row{l.have})
	if err != nil {
		return fail("could not be read after it was deleted", "%v", err)
	}
	if len(rows) > 0 {
		return fail("is there after it was deleted", "%v", rows)
	}
	return nil
}
