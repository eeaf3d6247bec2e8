package declare

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"

	"iasql/internal/modules"
)

// life is the object of a table in an account of shapes, and another value of each of its columns.
type life struct {
	*testing.T
	*Shapes
	r      *Resource
	scope  modules.Scope
	object reflect.Value
	apart  []reflect.Value
	row    modules.Row
	others map[string]reflect.Value // members that columns are read from, of another object
}

// Live takes the richest object of a table through its life in an account of shapes. It returns, by column, what is
// wrong: "" is the table as a whole. A column that can be changed and of which no error is told has been changed alone,
// and nothing else of the object was another one afterwards (R35).
func (a *Shapes) Live(t *testing.T, r *Resource) (changed []string, wrong map[string][]string) {
	t.Helper()
	wrong = map[string][]string{}
	a.knows(r.service.client)
	a.known = map[string][]known{}
	l := &life{T: t, Shapes: a, r: r, scope: modules.Scope{Account: "test", Region: "us-east-1"},
		others: map[string]reflect.Value{}}
	if err := l.made(); err != nil {
		wrong[""] = append(wrong[""], err.Error())
		return nil, wrong
	}
	if again, err := l.look(l.object, l.apart); err != nil {
		wrong[""] = append(wrong[""], err.Error())
	} else {
		for _, c := range l.differ(l.row, again) {
			wrong[c] = append(wrong[c], fmt.Sprintf("is read as %s and then as %s", l.row[c], again[c]))
		}
	}
	l.nothingPending(wrong)
	for i := range r.columns {
		c := &r.columns[i]
		if !c.changeable() {
			continue
		}
		if err := l.changesAlone(c); err != nil {
			wrong[c.Name] = append(wrong[c.Name], err.Error())
		} else {
			changed = append(changed, c.Name)
		}
	}
	if r.Can().Create {
		l.madeAgain(wrong)
	}
	return changed, wrong
}

// nothingPending compares the object with one of which nothing is told where some columns are read first: an empty
// structure there hides nothing.
func (l *life) nothingPending(wrong map[string][]string) {
	l.holds(l.r, l.object, l.apart)
	first := false
	all, _ := l.r.targets()
	for _, t := range all {
		if root, _, ok := l.where(t.column); ok && t.first != nil {
			first = true
			empty(t.first, root)
		}
	}
	if !first {
		return
	}
	row, err := l.now()
	if err != nil {
		wrong[""] = append(wrong[""], err.Error())
		return
	}
	for _, name := range l.differ(l.row, row) {
		wrong[name] = append(wrong[name], fmt.Sprintf("is %s, not %s, where nothing of it is pending", row[name],
			l.row[name]))
	}
}

// texts are what a member that is a text can have, so that what a codec of a module's own wants is among it.
func texts(n int) []string {
	return []string{
		fmt.Sprintf("sample-%d", n), fmt.Sprint(10 + n), fmt.Sprintf("10.%d.0.0/16", n),
		fmt.Sprintf("2026-01-0%dT00:00:00Z", n),
		fmt.Sprintf(`{"Sample":"%d"}`, n), fmt.Sprintf("arn:aws:iam::123456789012:role/sample-%d", n),
		fmt.Sprintf("https://example.com/sample-%d", n), []string{"true", "false"}[n%2], fmt.Sprintf("10.0.0.%d", n),
		fmt.Sprintf("%d.1", n), []string{"ENABLED", "DISABLED"}[n%2],
	}
}

// member returns what a column is read from, so that it is read as something: another for another n.
func (l *life) member(t target, n int) (reflect.Value, modules.Value, error) {
	c := t.column
	leaf := t.path.leaf
	var why error
	try := func(x reflect.Value) (modules.Value, bool) {
		v, err := decode(c, x, true)
		if err == nil && c.References == nil && !v.IsNull() {
			var canonical string
			if canonical, err = c.Type.Canonical(v.String()); err == nil && canonical != v.String() {
				err = fmt.Errorf("%s is not as the database writes it: %s", v, canonical)
			}
		}
		if err == nil && c.Column.Same(v, modules.Null) {
			err = fmt.Errorf("it reads nothing of %s", t.path.text)
		}
		if err == nil && len(c.Enum) > 0 && !slices.Contains(c.Enum, v.String()) {
			err = fmt.Errorf("%s is none of its values", v)
		}
		why = errors.Join(why, err)
		return v, err == nil
	}
	x := sample(leaf, n)
	if (c.sent != nil || c.companion != nil) && leaf == reflect.TypeFor[*string]() { // a role
		x = reflect.ValueOf(awssdk.String(fmt.Sprintf("arn:aws:iam::123456789012:role/sample-%d", n)))
	}
	if v, ok := try(x); ok {
		return x, v, nil
	}
	if deref(leaf).Kind() == reflect.String {
		candidates := texts(n)
		if len(c.Enum) > 0 {
			candidates = append([]string{c.Enum[n%len(c.Enum)]}, candidates...)
		}
		for _, text := range candidates {
			if x, err := conform(reflect.ValueOf(text), leaf); err == nil {
				if v, ok := try(x); ok {
					return x, v, nil
				}
			}
		}
	}
	candidates := append([]string{fmt.Sprintf(`["sample-%d"]`, n)}, texts(n)...)
	if len(c.Enum) > 0 {
		candidates = []string{c.Enum[n%len(c.Enum)]}
	}
	for _, text := range candidates { // what a codec writes it can read
		if c.codec == nil || c.codec.Encode == nil {
			break
		}
		if canonical, err := c.Type.Canonical(text); err != nil || canonical != text {
			continue
		}
		if y, err := encode(c, modules.Text(text), leaf); err == nil {
			if v, ok := try(y); ok {
				return y, v, nil
			}
		}
	}
	return x, modules.Null, why
}

func (r *Resource) targets() (all []target, apart []int) {
	for _, t := range r.direct {
		all, apart = append(all, t), append(apart, -1)
	}
	for i, reading := range r.apart {
		for _, t := range reading.columns {
			all, apart = append(all, t), append(apart, i)
		}
	}
	return all, apart
}

// made makes the richest object, in a state in which nothing is under way.
func (l *life) made() (err error) {
	for n := 1; n < 40; n++ {
		l.object = sample(l.r.object, n)
		l.apart = nil
		for _, reading := range l.r.apart {
			answer := reflect.New(reading.op.out).Elem()
			l.apart = append(l.apart, answer)
		}
		l.seed()
		all, of := l.r.targets()
		for i, t := range all {
			root := l.object
			if of[i] >= 0 {
				root = l.apart[of[i]]
			}
			if t.column.tagging != nil {
				t.path.set(root, writeTags(map[string]string{"sample": "1", "stays": "1"}, t.path.leaf))
				continue
			}
			if l.seeded(t) {
				continue
			}
			if c := t.column; c.References != nil && !c.changeable() && c.Column.Computed {
				continue
			}
			x, v, err := l.member(t, n)
			l.known[t.column.Name] = []known{{v, x}}
			if err == nil || len(t.path.steps) > 0 {
				put(t.path, root, x)
				t.firstAs(root, x)
			}
		}
		if l.row, err = l.look(l.object, l.apart); err != nil {
			continue
		}
		r := l.r
		if r.going.Holds(l.row) || r.forming.Holds(l.row) || r.failed != nil && r.failed(l.row) != "" {
			err = fmt.Errorf("its object is in no state of an object that is there")
			continue
		}
		return nil
	}
	return err
}

// seeds are, by table, members without which, or with which alone, an object has all the others: "" is none.
var seeds = map[string]map[string]string{
	"cache_cluster":          {"ReplicationGroupId": "", "CacheClusterStatus": "available"},
	"elastic_ip_association": {"ServiceManaged": ""},
	"instance":               {"State.Name": "stopped", "InstanceLifecycle": ""},
	"lambda_function":        {"Configuration.Environment.Error": "", "TagsError": ""},
	"log_group":              {"DataProtectionStatus": "ACTIVATED"},
	"peering_connection": {"RequesterVpcInfo.Region": "us-east-1", "AccepterVpcInfo.Region": "us-east-1",
		"Status.Code": "active"},
	"rds":    {"DBClusterIdentifier": ""},
	"secret": {"DeletedDate": ""},
}

// seed puts the seeds of the table into its object.
func (l *life) seed() {
	for text, value := range seeds[l.r.description.Name] {
		p, err := resolve(l.r.object, text)
		if err != nil {
			l.Fatal(err)
		}
		if value == "" {
			empty(p, l.object)
			continue
		}
		x, err := conform(reflect.ValueOf(value), p.leaf)
		if err != nil {
			l.Fatal(err)
		}
		p.set(l.object, x)
	}
}

func (l *life) seeded(t target) bool {
	_, is := seeds[l.r.description.Name][t.path.text]
	return is
}

// look reads the object of an account of shapes.
func (l *life) look(object reflect.Value, apart []reflect.Value) (modules.Row, error) {
	l.holds(l.r, object, apart)
	return l.now()
}

func (l *life) now() (modules.Row, error) {
	ctx, cancel := context.WithTimeout(l.Context(), 5*time.Second)
	defer cancel()
	s, err := l.r.stepOf(ctx, l.scope, false)
	if err != nil {
		return nil, err
	}
	all, err := l.r.complete(ctx, s, []reflect.Value{clone(l.Shapes.object)}, func(int) string { return "sample-1" })
	if err != nil {
		return nil, err
	}
	if len(all) != 1 {
		return nil, fmt.Errorf("its object is read as %d", len(all))
	}
	return all[0].row, nil
}

// differ returns the columns in which two rows do not mean the same.
func (l *life) differ(a, b modules.Row) (columns []string) {
	for i := range l.r.columns {
		c := &l.r.columns[i]
		x, inA := a[c.Name]
		y, inB := b[c.Name]
		if inA != inB || !c.Column.Same(x, y) {
			columns = append(columns, c.Name)
		}
	}
	return columns
}

// changesAlone changes one column, and compares the whole object with what it was.
func (l *life) changesAlone(c *Column) error {
	l.holds(l.r, l.object, l.apart)
	want := l.row.Clone()
	expected := l.row.Clone()
	root, t, ok := l.where(c)
	switch {
	case c.tagging != nil:
		want[c.Name] = modules.StringMap(map[string]string{"sample": "2", "other": "2"})
	case !ok:
		if c.Column.WriteOnly {
			want[c.Name] = modules.Text("sample-2")
			break
		}
		return errors.New("it is read in a way of the module's own")
	default:
		var why error
		for n := 2; n < 12; n++ {
			x, v, err := l.member(t, n)
			if err != nil {
				why = err
				continue
			}
			l.known[c.Name] = append(l.known[c.Name], known{v, x})
			put(t.path, root, x)
			t.firstAs(root, x)
			if expected, err = l.now(); err != nil {
				return err
			}
			if !c.Column.Same(expected[c.Name], l.row[c.Name]) {
				why = nil
				break
			}
			why = fmt.Errorf("there is none than %s", l.row[c.Name])
		}
		if why != nil {
			return fmt.Errorf("no other value of it is known: %w", why)
		}
		want[c.Name] = expected[c.Name]
	}
	if !c.Column.WriteOnly {
		expected[c.Name] = want[c.Name]
	}
	l.holds(l.r, l.object, l.apart)
	if err := l.update(l.row, want, []string{c.Name}); err != nil {
		return err
	}
	if len(l.calls) == 0 {
		return errors.New("a change of it makes no call")
	}
	calls := strings.Join(l.calls, ", ")
	got, err := l.now()
	if err != nil {
		return err
	}
	var defects []error
	for _, name := range l.differ(expected, got) {
		defects = append(defects, fmt.Errorf("after a change of it by %s, %s is %s, not %s", calls, name, got[name],
			expected[name]))
	}
	if rest := l.rest(); rest != "" {
		defects = append(defects, fmt.Errorf("a change of it by %s also changes %s", calls, rest))
	}
	return errors.Join(append(defects, l.failed...)...)
}

// rest returns which members of the object that no column has are not what they were.
func (l *life) rest() string {
	was, is := clone(l.object), clone(l.Shapes.object)
	for _, t := range l.r.direct {
		for _, root := range []reflect.Value{was, is} {
			empty(t.path, root)
			if t.first != nil && t.first.leaf == t.path.leaf {
				empty(t.first, root)
			}
		}
	}
	var names []string
	for i := range was.NumField() {
		if was.Type().Field(i).IsExported() && !slices.ContainsFunc(l.r.direct, func(t target) bool {
			return len(t.path.steps) > 0 && memberOf(was.Type(), t.path) == was.Type().Field(i).Name
		}) && !reflect.DeepEqual(was.Field(i).Interface(), is.Field(i).Interface()) {
			names = append(names, was.Type().Field(i).Name)
		}
	}
	return strings.Join(names, ", ")
}

func (l *life) update(have, want modules.Row, columns []string) error {
	ctx, cancel := context.WithTimeout(l.Context(), 5*time.Second)
	defer cancel()
	return l.r.Update(ctx, modules.Mutation{Scope: l.scope, Have: have, Want: want, Columns: columns, Token: "token",
		Permit: &modules.Permit{Journal: journal{}}})
}

// madeAgain makes the object from its row in an empty account, and compares the two.
func (l *life) madeAgain(wrong map[string][]string) {
	fail := func(column, format string, args ...any) {
		wrong[column] = append(wrong[column], "made again: "+fmt.Sprintf(format, args...))
	}
	object := reflect.New(l.r.object).Elem()
	var apart []reflect.Value
	for _, reading := range l.r.apart {
		apart = append(apart, reflect.New(reading.op.out).Elem())
	}
	all, of := l.r.targets()
	for i, t := range all {
		root, from := object, l.object
		if of[i] >= 0 {
			root, from = apart[of[i]], l.apart[of[i]]
		}
		if c := t.column; c.Column.Computed {
			if x, ok := t.path.get(from); ok && !empties(x) {
				put(t.path, root, x)
			}
		}
	}
	l.holds(l.r, object, apart)
	want := modules.Row{}
	for i := range l.r.columns {
		if c := &l.r.columns[i]; !c.Column.Computed {
			if v, ok := l.row[c.Name]; ok && !v.IsNull() {
				want[c.Name] = v
			}
		}
	}
	for _, o := range l.r.origins {
		delete(want, o.Column)
	}
	ctx, cancel := context.WithTimeout(l.Context(), 5*time.Second)
	defer cancel()
	_, err := l.r.Create(ctx, modules.Mutation{Scope: l.scope, Want: want, Token: "token",
		Permit: &modules.Permit{Journal: journal{}}})
	if err != nil {
		fail("", "%v", err)
		return
	}
	var got modules.Row
	var differ []string
	for range 3 {
		if got, err = l.now(); err != nil {
			fail("", "%v", err)
			return
		}
		differ = nil
		for _, name := range l.differ(want, got) {
			if c := l.r.byName[name]; !c.Column.Computed && !c.Column.Local && !want[name].IsNull() {
				differ = append(differ, name)
			}
		}
		left := slices.DeleteFunc(slices.Clone(differ), func(name string) bool { return !l.r.byName[name].changeable() })
		if len(left) == 0 {
			break
		}
		if err := l.update(got, want, left); err != nil {
			fail("", "%v: %v", left, err)
			return
		}
	}
	for _, name := range differ {
		fail(name, "it is %s, not %s", got[name], want[name])
	}
	for _, err := range l.failed {
		fail("", "%v", err)
	}
}
