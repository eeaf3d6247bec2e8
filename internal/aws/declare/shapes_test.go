package declare

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/middleware"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// Shapes is an account of AWS's that is made of the API's own shapes. It holds one object of one table. What a call's
// input has, the object has afterwards where it is read; what an input leaves out stays, unless the call is declared
// to replace everything. What the table reads besides, and no call sets, is a sample of its shape.
type Shapes struct {
	clients map[string]reflect.Type // of services, by the package of their inputs

	mu     sync.Mutex
	of     *Resource
	object reflect.Value
	apart  []reflect.Value // what the calls that read some columns answer
	known  map[string][]known
	inBulk map[string]string // tags, where they are read of several objects by one call
	calls  []string
	failed []error
}

// keeping are operations that leave alone what their input leaves out, although tables send them all of a structure.
var keeping = []string{
	"UpdateProject",      // every member but the name is optional (CodeBuild API Reference)
	"UpdateStateMachine", // one of the definition and the role is needed, nothing else (Step Functions API Reference)
}

// known is a value of a column, and what it is read from: calls write some in another shape.
type known struct {
	value  modules.Value
	member reflect.Value
}

// NewShapes returns such an account, and the clients of it.
func NewShapes() (*Shapes, *aws.Clients) {
	a := &Shapes{clients: map[string]reflect.Type{}}
	for _, client := range []any{(*iam.Client)(nil), (*sts.Client)(nil)} {
		a.knows(reflect.TypeOf(client))
	}
	return a, aws.New(aws.Options{
		Endpoint: "http://shapes.invalid",
		Accounts: func(context.Context, string) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "AKIAIOSFODNN7EXAMPLE", SecretAccessKey: "sample"}, nil
		},
		Middleware: func(s *middleware.Stack) error {
			return s.Initialize.Add(middleware.InitializeMiddlewareFunc("shapes", func(ctx context.Context,
				in middleware.InitializeInput, _ middleware.InitializeHandler) (out middleware.InitializeOutput,
				metadata middleware.Metadata, err error) {
				out.Result, err = a.answer(awsmiddleware.GetOperationName(ctx), reflect.ValueOf(in.Parameters).Elem())
				return out, metadata, err
			}), middleware.After)
		},
	})
}

// knows has the account answer calls of a service's client.
func (a *Shapes) knows(client reflect.Type) { a.clients[client.Elem().PkgPath()] = client }

// holds has the account hold an object, or none.
func (a *Shapes) holds(r *Resource, object reflect.Value, apart []reflect.Value) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.of, a.object, a.apart, a.calls, a.failed = r, clone(object), nil, nil, nil
	a.inBulk = map[string]string{}
	for _, answer := range apart {
		a.apart = append(a.apart, clone(answer))
	}
}

func (a *Shapes) fail(format string, args ...any) {
	a.failed = append(a.failed, fmt.Errorf(format, args...))
}

// answer answers a call.
func (a *Shapes) answer(name string, in reflect.Value) (any, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	client := a.clients[in.Type().PkgPath()]
	if client == nil {
		return nil, fmt.Errorf("no table is of the service of %s", in.Type())
	}
	method, ok := client.MethodByName(name)
	if !ok {
		return nil, fmt.Errorf("%s has no operation %s", client, name)
	}
	out := reflect.New(method.Type.Out(0).Elem())
	switch in := in.Addr().Interface().(type) {
	case *iam.GetRoleInput:
		out.Elem().Set(sample(out.Type().Elem(), 1))
		role := out.Interface().(*iam.GetRoleOutput).Role
		role.RoleName, role.Arn = in.RoleName, awssdk.String("arn:aws:iam::123456789012:role/"+*in.RoleName)
		return out.Interface(), nil
	case *sts.GetCallerIdentityInput:
		return &sts.GetCallerIdentityOutput{Account: awssdk.String("123456789012"),
			Arn: awssdk.String("arn:aws:iam::123456789012:root")}, nil
	}
	if a.of == nil {
		return out.Interface(), nil
	}
	if aws.IsRead(name) {
		if t := a.of.tags; t != nil && t.tagging.bulk != nil && t.tagging.bulk.op.in == in.Type() {
			a.tagsInBulk(t.tagging.bulk, in, out.Elem())
			return out.Interface(), nil
		}
		read := false
		for i, reading := range a.of.apart { // some calls read one of several attributes at a time
			if reading.op.out == out.Type().Elem() && reading.op.in == in.Type() {
				read = true
				for j := range out.Elem().NumField() {
					if f := a.apart[i].Field(j); out.Elem().Field(j).CanSet() && !empties(f) {
						out.Elem().Field(j).Set(clone(f))
					}
				}
			}
		}
		if read {
			return out.Interface(), nil
		}
	} else {
		a.calls = append(a.calls, name)
		a.changed(name, in)
	}
	out.Elem().Set(sample(out.Type().Elem(), 1))
	a.shown(out.Elem())
	return out.Interface(), nil
}

// shown has an answer show the object wherever that is what it has, and no further page.
func (a *Shapes) shown(out reflect.Value) {
	a.shows(out)
	for i := range out.NumField() {
		f, name := out.Field(i), out.Type().Field(i).Name
		if f.CanSet() && (strings.HasSuffix(name, "Token") || strings.HasSuffix(name, "Marker") ||
			strings.HasPrefix(name, "Fail") || strings.HasPrefix(name, "Un") || slices.Contains([]string{"IsTruncated",
			"Position", "HasMoreResults", "Errors"}, name)) {
			f.SetZero()
		}
	}
	for i := range a.of.columns { // what an answer says of the object itself
		c := &a.of.columns[i]
		if p := a.of.answered(c, out.Type()); c.key && p != nil && p.leaf == reflect.TypeFor[*string]() {
			if v, ok := a.read(c); ok {
				if v, ok = indirect(v); ok && v.Kind() == reflect.String {
					p.set(out, reflect.ValueOf(awssdk.String(v.String())))
				}
			}
		}
	}
}

// where returns where a column is read.
func (a *Shapes) where(c *Column) (root reflect.Value, t target, ok bool) {
	for _, t := range a.of.direct {
		if t.column == c {
			return a.object, t, true
		}
	}
	for i, reading := range a.of.apart {
		for _, t := range reading.columns {
			if t.column == c {
				return a.apart[i], t, true
			}
		}
	}
	return reflect.Value{}, target{}, false
}

func (a *Shapes) read(c *Column) (reflect.Value, bool) {
	root, t, ok := a.where(c)
	if !ok {
		return reflect.Value{}, false
	}
	return t.get(root)
}

// shows has a part of an answer show the object, and reports whether it is anywhere in it.
func (a *Shapes) shows(v reflect.Value) (is bool) {
	if v.Type() == a.of.object {
		v.Set(clone(a.object))
		return true
	}
	switch v.Kind() {
	case reflect.Pointer:
		return !v.IsNil() && a.shows(v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			is = a.shows(v.Index(i)) || is
		}
	case reflect.Struct:
		for i := range v.NumField() {
			is = v.Field(i).CanSet() && a.shows(v.Field(i)) || is
		}
	}
	return is
}

// sets has the object have, where a column is read, what an input has of it.
func (a *Shapes) sets(c *Column, x reflect.Value) {
	root, t, ok := a.where(c)
	if !ok {
		return
	}
	if x.Type() != t.path.leaf {
		for _, known := range a.known[c.Name] {
			sent, err := encode(c, known.value, x.Type())
			if err == nil && reflect.DeepEqual(sent.Interface(), x.Interface()) {
				put(t.path, root, known.member)
				if t.first != nil {
					empty(t.first, root)
				}
				return
			}
		}
	}
	y, err := converted(x, t.path.leaf)
	if err != nil {
		a.fail("column %s: %v", c.Name, err)
		return
	}
	put(t.path, root, y)
	t.firstAs(root, x)
}

// firstAs has a column that is read elsewhere first be there, too, what it is.
func (t target) firstAs(root, x reflect.Value) {
	if t.first == nil {
		return
	}
	if y, err := converted(x, t.first.leaf); err == nil {
		put(t.first, root, y)
	} else {
		empty(t.first, root)
	}
}

func (a *Shapes) clears(c *Column) {
	if root, t, ok := a.where(c); ok {
		empty(t.path, root)
		if t.first != nil {
			empty(t.first, root)
		}
	}
}

// changed has the object be as an input says.
func (a *Shapes) changed(operation string, in reflect.Value) {
	r := a.of
	told := map[string]bool{} // members of the input that need no more look
	bound := func(c *Column, p *path, whole, kept bool) {
		if p == nil || len(p.steps) == 0 {
			return
		}
		member := memberOf(in.Type(), p)
		told[member] = true
		if c.key && c.Column.Identity && r.create != nil && in.Type() != r.create.in {
			return
		}
		x, ok := p.get(in)
		switch there := !empties(in.FieldByName(member)); {
		case ok && !empties(x):
			a.sets(c, x)
		case whole && (there || !kept && !slices.Contains(keeping, operation)):
			a.clears(c)
		case ok && there && !whole && x.Kind() == reflect.Bool: // a structure is what it has, and no member of it is left
			a.sets(c, x)
		}
	}
	known := false
	if t := r.tags; t != nil && t.tagging.set != nil && in.Type() == t.tagging.set.in &&
		!(r.create != nil && in.Type() == r.create.in) {
		a.tags(in, tagsMember(in.Type()), nil)
		known = true
	}
	if t := r.tags; t != nil && t.tagging.remove != nil && in.Type() == t.tagging.remove.in {
		a.tags(in, nil, keysMember(in.Type()))
		known = true
	}
	if known && !slices.ContainsFunc(r.updates, func(u *update) bool { return u.op != nil && u.op.in == in.Type() }) {
		return
	}
	for _, t := range r.keysOfType(in.Type()) {
		told[memberOf(in.Type(), t.path)] = true
	}
	if r.create != nil && in.Type() == r.create.in {
		known = true
		for i := range in.NumField() { // with what edits have put beside columns
			if f := in.Field(i); in.Field(i).CanInterface() && deref(f.Type()).Kind() == reflect.Struct && !empties(f) {
				a.echo(operation, in.Type().Field(i).Name, f)
			}
		}
		for _, t := range r.created {
			bound(t.column, t.path, false, false)
		}
		if r.tags != nil {
			a.tags(in, tagsMember(in.Type()), nil)
			told["Tags"], told["TagSpecifications"] = true, true
		}
	}
	for _, u := range r.updates {
		switch {
		case u.op == nil || u.op.in != in.Type() && (u.unset == nil || u.unset.in != in.Type()):
		case u.members:
			known = true
			a.member(u, in)
			return
		case u.op.in != in.Type():
			a.clears(r.byName[u.columns[0]])
			known = true
		case u.name != "":
			known = true
			for _, t := range u.targets {
				_, key, _, _, _ := cutLast(t.column.member)
				if name := reflect.Indirect(in.FieldByName(u.name)); name.IsValid() && name.String() == key {
					a.sets(t.column, in.FieldByName(u.value))
				}
			}
			return
		default:
			known = true
			for _, t := range append(slices.Clone(u.targets), u.others...) {
				bound(t.column, t.path, u.whole, u.kept)
			}
		}
	}
	for _, op := range r.ops() {
		if op.in == in.Type() && op.template != nil { // what the call always says
			for i, said := 0, reflect.ValueOf(op.template).Elem(); i < said.NumField(); i++ {
				told[in.Type().Field(i).Name] = told[in.Type().Field(i).Name] || !said.Field(i).IsZero()
			}
		}
	}
	for i := range in.NumField() {
		if name := in.Type().Field(i).Name; in.Field(i).CanInterface() && !told[name] && !empties(in.Field(i)) {
			a.echo(operation, name, in.Field(i))
		}
	}
}

// adds and removes are how the API calls what adds to a list, and what takes away from one.
var (
	adds    = []string{"Add", "Attach", "Associate", "Assign", "Enable"}
	removes = []string{"Remove", "Detach", "Disassociate", "Unassign", "Disable"}
)

// cutAny cuts one of some prefixes off a name.
func cutAny(name string, prefixes []string) (rest string, found bool) {
	for _, prefix := range prefixes {
		if rest, found = strings.CutPrefix(name, prefix); found {
			return rest, true
		}
	}
	return name, false
}

// echo has the object have a member of an input that no column says anything about, where it has one of that name: as
// it is, or as a list to which the member is added, or from which it is taken away, where the API's names say so.
func (a *Shapes) echo(operation, name string, x reflect.Value) {
	if strings.HasSuffix(name, "Token") {
		return
	}
	_, adding := cutAny(operation, adds)
	_, removing := cutAny(operation, removes)
	if len(a.places(name)) == 0 {
		if rest, ok := cutAny(name, adds); ok {
			name, adding = rest, true
		} else if rest, ok := cutAny(name, removes); ok {
			name, removing = rest, true
		}
	}
	for i, answer := range a.apart { // PutBucketTagging has what GetBucketTagging answers in a structure
		noun, put := strings.CutPrefix(operation, "Put")
		if structure, ok := indirect(x); put && ok && structure.Kind() == reflect.Struct &&
			a.of.apart[i].op.in.Name() == "Get"+noun+"Input" {
			for j := range structure.NumField() {
				f := answer.FieldByName(structure.Type().Field(j).Name)
				if f.IsValid() && f.CanSet() && f.Type() == structure.Field(j).Type() {
					f.Set(clone(structure.Field(j)))
				}
			}
		}
	}
	for _, f := range a.places(name) {
		y, err := converted(x, f.Type())
		switch {
		case err != nil:
		case f.Kind() == reflect.Slice && removing:
			left := reflect.MakeSlice(f.Type(), 0, f.Len())
			for i := range f.Len() {
				if !has(y, f.Index(i)) {
					left = reflect.Append(left, f.Index(i))
				}
			}
			f.Set(left)
		case f.Kind() == reflect.Slice && adding:
			for i := range y.Len() {
				if !has(f, y.Index(i)) {
					f.Set(reflect.Append(clone(f), y.Index(i)))
				}
			}
		default:
			f.Set(y)
		}
	}
}

// places returns where what is read has a member of a name: of its own, or else of one of its structures, under that
// name or the end of it (PrivateDnsHostnameType is HostnameType there), or with Id at the end.
func (a *Shapes) places(name string) (all []reflect.Value) {
	fields := func(of reflect.Value, is func(string) bool) {
		for i := range of.NumField() {
			if f := of.Field(i); f.CanSet() && is(of.Type().Field(i).Name) {
				all = append(all, f)
			}
		}
	}
	for _, root := range append([]reflect.Value{a.object}, a.apart...) {
		if root.Kind() == reflect.Struct {
			fields(root, func(field string) bool { return field == name || field == name+"Id" })
		}
	}
	for i := 0; len(all) == 0 && a.object.Kind() == reflect.Struct && i < a.object.NumField(); i++ {
		if part, ok := indirect(a.object.Field(i)); ok && a.object.Field(i).CanSet() && part.Kind() == reflect.Struct {
			fields(part, func(field string) bool {
				return field == name || strings.Count(field, "") > 10 && strings.HasSuffix(name, field)
			})
		}
	}
	return all
}

func has(list, member reflect.Value) bool {
	for i := range list.Len() {
		if reflect.DeepEqual(list.Index(i).Interface(), member.Interface()) {
			return true
		}
	}
	return false
}

// member adds or removes a member of a list of texts.
func (a *Shapes) member(u *update, in reflect.Value) {
	root, t, ok := a.where(a.of.byName[u.columns[0]])
	p, err := resolve(in.Type(), u.name)
	if !ok || err != nil || t.path.leaf != reflect.TypeFor[[]string]() {
		return
	}
	name, _ := p.get(in)
	text := reflect.Indirect(name).String()
	have, _ := t.path.get(root)
	left := slices.DeleteFunc(slices.Clone(have.Interface().([]string)), func(s string) bool { return s == text })
	if u.op.in == in.Type() {
		left = append(left, text)
	}
	t.path.set(root, reflect.ValueOf(left))
}

// tagsInBulk answers the call that reads the tags of several objects.
func (a *Shapes) tagsInBulk(b *bulk, in, out reflect.Value) {
	member, _ := resolve(b.op.in, b.member)
	items, _ := resolve(b.op.out, b.items)
	owner, _ := resolve(items.leaf.Elem(), b.owner)
	tags, _ := resolve(items.leaf.Elem(), b.tags)
	one := reflect.New(items.leaf.Elem()).Elem()
	asked, _ := member.get(in)
	y, err := conform(asked.Index(0), owner.leaf)
	if err != nil {
		a.fail("%s: %v", b.op.name, err)
		return
	}
	owner.set(one, y)
	tags.set(one, writeTags(a.inBulk, tags.leaf))
	items.set(out, reflect.Append(reflect.MakeSlice(items.leaf, 0, 1), one))
}

// tags sets and removes tags as an input says.
func (a *Shapes) tags(in reflect.Value, set, keys *path) {
	have := map[string]string{}
	root, t, ok := a.where(a.of.tags)
	if ok {
		if v, ok := t.path.get(root); ok {
			maps.Copy(have, readTags(v))
		}
	} else {
		have = a.inBulk
	}
	if set != nil {
		if v, ok := set.get(in); ok {
			maps.Copy(have, readTags(v))
		}
	}
	if f := in.FieldByName("TagSpecifications"); f.IsValid() && set == nil && keys == nil && f.Len() > 0 {
		maps.Copy(have, readTags(f.Index(0).FieldByName("Tags")))
	}
	if keys != nil {
		v, _ := keys.get(in)
		for i := range v.Len() {
			if k := v.Index(i); k.Kind() == reflect.String {
				delete(have, k.String())
			} else {
				at, _, _ := pair(k.Type())
				delete(have, k.FieldByIndex(at).Elem().String())
			}
		}
	}
	if ok {
		t.path.set(root, writeTags(have, t.path.leaf))
	}
}

// ops returns the calls that create and change an object.
func (r *Resource) ops() (all []*Op) {
	if r.create != nil {
		all = append(all, r.create)
	}
	for _, u := range r.updates {
		if u.op != nil {
			all = append(all, u.op)
		}
	}
	return all
}

// keysOfType returns where calls with inputs of a type name the object.
func (r *Resource) keysOfType(in reflect.Type) []target {
	var all []target
	for op, keys := range r.keys {
		if op.in == in {
			all = append(all, keys...)
		}
	}
	return all
}

// memberOf returns the member of an input in which a path begins.
func memberOf(in reflect.Type, p *path) string {
	if p == nil || len(p.steps) == 0 {
		return ""
	}
	return in.FieldByIndex(p.steps[0].field).Name
}

// empties reports whether a member of an input says nothing.
func empties(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		return v.IsNil()
	}
	return v.IsZero()
}

// converted returns what an input has in the shape in which it is read: as it is, or member by member of the same name.
func converted(x reflect.Value, t reflect.Type) (reflect.Value, error) {
	if x.Type() == t {
		return clone(x), nil
	}
	out := reflect.New(t).Elem()
	to := out
	for to.Kind() == reflect.Pointer {
		to.Set(reflect.New(to.Type().Elem()))
		to = to.Elem()
	}
	from, ok := indirect(x)
	switch {
	case !ok:
		return out, fmt.Errorf("%s is nothing", x.Type())
	case from.Type() == to.Type():
		to.Set(clone(from))
		return out, nil
	case from.Kind() == reflect.String && to.Kind() == reflect.String:
		to.SetString(from.String())
		return out, nil
	case from.Kind() != reflect.Struct && from.Kind() != reflect.Slice && from.Kind() != reflect.Map &&
		to.Kind() == reflect.String:
		to.SetString(fmt.Sprint(from.Interface()))
		return out, nil
	}
	if from.Kind() == reflect.Struct && from.NumField() <= 3 { // EC2's attributes
		if f := from.FieldByName("Value"); f.IsValid() && to.Kind() != reflect.Struct {
			y, err := converted(f, t)
			return y, err
		}
	}
	text, err := json.Marshal(from.Interface())
	if err == nil {
		err = json.Unmarshal(text, to.Addr().Interface())
	}
	if err != nil {
		return out, fmt.Errorf("%s is not read as %s", x.Type(), t)
	}
	return out, nil
}

// put is [path.set] for what is there already: other members of lists stay, and a pair replaces that of its key.
func put(p *path, v, x reflect.Value) {
	if len(p.steps) == 0 {
		p.set(v, x)
		return
	}
	last := p.steps[len(p.steps)-1]
	switch last.kind {
	case pairKey:
		empty(p, v)
	case eachMember:
		list := &path{steps: append(slices.Clone(p.steps[:len(p.steps)-1]), step{field: last.field})}
		have, ok := list.get(v)
		if ok && have.Len() == x.Len() && len(last.rest.steps) > 0 {
			have = clone(have)
			for i := range x.Len() {
				put(last.rest, have.Index(i), x.Index(i))
			}
			list.set(v, have)
			return
		}
	}
	p.set(v, x)
}

// empty takes away what a path leads to.
func empty(p *path, v reflect.Value) {
	if len(p.steps) == 0 {
		v.SetZero()
		return
	}
	last := p.steps[len(p.steps)-1]
	holder := &path{steps: append(slices.Clone(p.steps[:len(p.steps)-1]), step{field: last.field})}
	for _, s := range p.steps[:len(p.steps)-1] {
		if s.kind == mapKey || s.kind == pairKey {
			return
		}
	}
	have, ok := holder.get(v)
	if !ok || empties(have) {
		return
	}
	switch last.kind {
	case mapKey:
		m := clone(have)
		m.SetMapIndex(reflect.ValueOf(last.key).Convert(m.Type().Key()), reflect.Value{})
		holder.set(v, m)
	case pairKey:
		key, _, _ := pair(last.elem)
		left := reflect.MakeSlice(have.Type(), 0, have.Len())
		for i := range have.Len() {
			if k := have.Index(i).FieldByIndex(key); k.IsNil() || k.Elem().String() != last.key {
				left = reflect.Append(left, have.Index(i))
			}
		}
		holder.set(v, left)
	default:
		holder.set(v, reflect.Zero(have.Type()))
	}
}

// journal notes nothing.
type journal struct{}

func (journal) Begin(context.Context, modules.Call) (func(error), error) { return func(error) {}, nil }
