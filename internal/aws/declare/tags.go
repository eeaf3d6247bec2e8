package declare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// tagging is how an object's tags are changed.
type tagging struct {
	set, remove *Op
	kind        ec2types.ResourceType // of EC2: objects are created with a TagSpecification
	owner       string                // column with the id that tags are set by, where that is no key
	bulk        *bulk
	together    *together
}

// together says how the tags of many objects are read that have records already.
type together struct {
	read func(c *aws.Clients, ctx context.Context, scope modules.Scope, kind string) (map[string]map[string]string,
		error)
	kind string // of objects, as the Resource Groups Tagging API calls them
	arn  string // column by which they are named there
}

// bulk reads the tags of several objects by one call.
type bulk struct {
	op          *Op
	member      string // of the input: the list of what is asked for
	size        int
	key         string // column by which objects are named
	items       string // of the answer
	owner, tags string // of each item
}

// Tags declares the column tags. They live at member: in what is read of the
// object, or in the answer of the call that From names. They are changed by set,
// whose input has the tags in a map or a list of keys and values, and remove,
// which has the keys in a list.
func Tags[C, SetIn, SetOut, RemoveIn, RemoveOut, O any](
	member string,
	set func(C, context.Context, *SetIn, ...func(*O)) (*SetOut, error),
	remove func(C, context.Context, *RemoveIn, ...func(*O)) (*RemoveOut, error),
	options ...Option,
) Column {
	return TagsBy(member, Call(set, options...), Call(remove, options...))
}

// TagsBy is [Tags] with calls that say more. Where both are the same one, it is
// made once for all that changes.
func TagsBy(member string, set, remove *Op) Column {
	c := Plain(aws.TagsColumn(), member)
	c.tagging = &tagging{set: set, remove: remove}
	return c
}

// EC2Tags declares the tags of an object of EC2, which is created with them and
// with the token of its creation, if there is one. Objects that get, or lose, the same
// tags at the same time do so by one call.
func EC2Tags(kind ec2types.ResourceType) Column {
	set := sameTags("CreateTags", func(ctx context.Context, client *ec2.Client, resources []string,
		tags []ec2types.Tag) error {
		_, err := client.CreateTags(ctx, &ec2.CreateTagsInput{Resources: resources, Tags: tags})
		return err
	})
	remove := sameTags("DeleteTags",
		func(ctx context.Context, client *ec2.Client, resources []string, tags []ec2types.Tag) error {
			_, err := client.DeleteTags(ctx, &ec2.DeleteTagsInput{Resources: resources, Tags: tags})
			return err
		})
	c := TagsBy("Tags",
		Call((*ec2.Client).CreateTags,
			Jointly(func(ctx context.Context, s *Step, in *ec2.CreateTagsInput) (*ec2.CreateTagsOutput, error) {
				return &ec2.CreateTagsOutput{}, set(ctx, s, in.Resources, in.Tags)
			})),
		Call((*ec2.Client).DeleteTags,
			Jointly(func(ctx context.Context, s *Step, in *ec2.DeleteTagsInput) (*ec2.DeleteTagsOutput, error) {
				return &ec2.DeleteTagsOutput{}, remove(ctx, s, in.Resources, in.Tags)
			})))
	c.tagging.kind = kind
	return c
}

// mostTagged is how many objects one call tags: CreateTags and DeleteTags take 1000, and
// their pages recommend fewer.
const mostTagged = 200

// sameTags has objects that are tagged alike at the same time tagged by one call. Both
// calls may be made again, so that one that is refused because of one object is made for
// each.
func sameTags(action string, call func(ctx context.Context, client *ec2.Client, resources []string,
	tags []ec2types.Tag) error) func(context.Context, *Step, []string, []ec2types.Tag) error {
	type one struct {
		resources []string
		tags      []ec2types.Tag
	}
	all := &Joint[string, one, struct{}]{Most: mostTagged,
		Send: func(ctx context.Context, s *Step, _ string, some []one) ([]Result[struct{}], error) {
			var resources []string
			for _, o := range some {
				resources = append(resources, o.resources...)
			}
			return make([]Result[struct{}], len(some)), call(ctx, ClientOf[*ec2.Client](s), resources, some[0].tags)
		}}
	return func(ctx context.Context, s *Step, resources []string, tags []ec2types.Tag) error {
		text, err := json.Marshal(tags) // they are sorted
		if err != nil {
			return err
		}
		_, err = all.Do(ctx, s, modules.Call{Service: ec2.ServiceID, Action: action}, string(text),
			one{resources, tags})
		return err
	}
}

// TagsInBulk has the tags of up to size objects read by one call: member of its
// input has their values of the column key; each of items in its answer has, at
// owner, whose they are, and, at tags, the tags.
func (c Column) TagsInBulk(op *Op, member string, size int, key, items, owner, tags string) Column {
	t := *c.tagging
	t.bulk = &bulk{op, member, size, key, items, owner, tags}
	c.tagging = &t
	return c
}

// Owner says which column has the id that tags are set by, where the calls do
// not name the object by a key.
func (c Column) Owner(column string) Column {
	t := *c.tagging
	t.owner = column
	c.tagging = &t
	return c
}

// Together has a listing read the tags of objects a hundred a call, where the service has a
// call for one alone: from the Resource Groups Tagging API, by the type that it calls
// them and the column with their ARN. What it says may be late. So it is asked for what
// there is a record of only, whose changes are confirmed by a direct read (R13).
func (c Column) Together(kind, arn string) Column {
	t := *c.tagging
	t.together = &together{(*aws.Clients).TagsOf, kind, arn}
	c.tagging = &t
	return c
}

// tagIndex is what a listing has read of tags together.
type tagIndex struct {
	lock sync.Mutex
	read bool
	tags map[string]map[string]string // nil: there is no such index
	err  error
}

// indexed returns the tags of all objects of a listing's region; nil where they are to be
// read one by one: it is no listing, or so few that it makes no difference, or the index
// cannot be read.
func (r *Resource) indexed(ctx context.Context, s *Step, all []*found) (map[string]map[string]string, error) {
	if s.index == nil || r.tags == nil || r.tags.tagging.together == nil || r.home != nil {
		return nil, nil
	}
	s.index.lock.Lock()
	defer s.index.lock.Unlock()
	known := 0
	for _, f := range all {
		if s.Recorded(f.row) {
			known++
		}
	}
	if s.index.read || known < 2 {
		return s.index.tags, s.index.err
	}
	t := r.tags.tagging.together
	s.index.read = true
	s.index.tags, s.index.err = t.read(s.Clients, ctx, s.Scope, t.kind)
	if s.index.err != nil && modules.ClassOf(s.index.err) != modules.Throttled && ctx.Err() == nil {
		s.index.tags, s.index.err = nil, nil // not permitted, or not there: the service itself says
	}
	return s.index.tags, s.index.err
}

// ofTags reports whether a call reads the tags alone.
func (reading *reading) ofTags() bool {
	return len(reading.columns) == 1 && reading.columns[0].column.tagging != nil
}

// isTags reports whether a type is the SDK's for tags: a map of texts, or a list
// of keys and values.
func isTags(t reflect.Type) bool {
	if t == reflect.TypeFor[map[string]string]() {
		return true
	}
	if t.Kind() != reflect.Slice {
		return false
	}
	_, _, ok := pair(t.Elem())
	return ok
}

// readTags returns tags as a map, those that users do not see included.
func readTags(v reflect.Value) map[string]string {
	if m, ok := v.Interface().(map[string]string); ok {
		return m
	}
	key, value, _ := pair(v.Type().Elem())
	m := make(map[string]string, v.Len())
	for i := range v.Len() {
		if tag, ok := indirect(v.Index(i)); ok {
			m[awssdk.ToString(tag.FieldByIndex(key).Interface().(*string))] = awssdk.ToString(
				tag.FieldByIndex(value).Interface().(*string))
		}
	}
	return m
}

// writeTags returns a map as tags of type t, sorted by key.
func writeTags(m map[string]string, t reflect.Type) reflect.Value {
	if t == reflect.TypeFor[map[string]string]() {
		return reflect.ValueOf(m)
	}
	key, value, _ := pair(t.Elem())
	list := reflect.MakeSlice(t, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		tag := reflect.New(t.Elem()).Elem()
		tag.FieldByIndex(key).Set(reflect.ValueOf(awssdk.String(k)))
		tag.FieldByIndex(value).Set(reflect.ValueOf(awssdk.String(m[k])))
		list = reflect.Append(list, tag)
	}
	return list
}

// tagsMember finds where an input takes tags.
func tagsMember(in reflect.Type) *path {
	for _, name := range []string{"Tags", "TagList", "TagsToAdd", "AddTags", "HostedZoneTags", "tags", "Tags.Items",
		"DistributionConfigWithTags.Tags.Items"} {
		if p, err := resolve(in, name); err == nil && isTags(p.leaf) {
			return p
		}
	}
	return nil
}

// keysMember finds where an input takes the keys of tags: texts, or tags of
// which only the key is set.
func keysMember(in reflect.Type) *path {
	for _, name := range []string{"TagKeys", "TagKeyList", "Keys", "RemoveTagKeys", "TagsToRemove", "Tags",
		"TagKeys.Items"} {
		if p, err := resolve(in, name); err == nil && p.leaf.Kind() == reflect.Slice &&
			(p.leaf.Elem().Kind() == reflect.String || isTags(p.leaf)) {
			return p
		}
	}
	return nil
}

// addTags puts the tags that an object is created with into the input.
func (t *tagging) addTags(in reflect.Value, want modules.Row, token string) {
	tags := aws.TagsOf(want, token)
	if len(tags) == 0 {
		return
	}
	if t.kind != "" {
		in.Elem().FieldByName("TagSpecifications").Set(reflect.ValueOf(aws.EC2TagSpecification(t.kind, want, token)))
		return
	}
	if p := tagsMember(in.Type().Elem()); p != nil {
		p.set(in, writeTags(tags, p.leaf))
	}
}

// created reports whether a creation takes tags.
func (t *tagging) created(in reflect.Type) bool {
	if t.kind != "" {
		_, ok := in.FieldByName("TagSpecifications")
		return ok
	}
	return tagsMember(in) != nil
}

// update makes the tags those of the step, by at most two calls.
func (t *tagging) update(ctx context.Context, s *Step, r *binding) error {
	if r.description.Creation == modules.ByTag && len(s.Want[modules.ColumnTags].StringMap()) >= aws.MostTags {
		// Users' tags need all the room. The token has done its work: the object is known.
		in := t.remove.input()
		t.putKeys(in, []string{aws.TokenTag})
		if err := t.change(ctx, s, r, t.remove, in); err != nil {
			return err
		}
	}
	if t.set == t.remove {
		tags, keys := aws.TagChanges(s.Have[modules.ColumnTags], s.Want[modules.ColumnTags])
		in := t.set.input()
		if len(tags) > 0 { // an empty list is refused
			t.putTags(in, tags)
		}
		if len(keys) > 0 {
			t.putKeys(in, keys)
		}
		return t.change(ctx, s, r, t.set, in)
	}
	return aws.UpdateTags(ctx, s.Have, s.Want,
		func(ctx context.Context, tags map[string]string) error {
			in := t.set.input()
			t.putTags(in, tags)
			return t.change(ctx, s, r, t.set, in)
		},
		func(ctx context.Context, keys []string) error {
			in := t.remove.input()
			t.putKeys(in, keys)
			return t.change(ctx, s, r, t.remove, in)
		})
}

func (t *tagging) putTags(in reflect.Value, tags map[string]string) {
	p := tagsMember(t.set.in)
	p.set(in, writeTags(tags, p.leaf))
}

func (t *tagging) putKeys(in reflect.Value, keys []string) {
	p := keysMember(t.remove.in)
	list := reflect.MakeSlice(p.leaf, len(keys), len(keys))
	for i := range keys {
		if p.leaf.Elem().Kind() == reflect.String {
			list.Index(i).SetString(keys[i])
		} else { // a key without a value: whatever the value is
			at, _, _ := pair(p.leaf.Elem())
			list.Index(i).FieldByIndex(at).Set(reflect.ValueOf(&keys[i]))
		}
	}
	p.set(in, list)
}

func (t *tagging) change(ctx context.Context, s *Step, r *binding, op *Op, in reflect.Value) error {
	if t.kind != "" {
		id := s.Have[r.description.Identity()[0]]
		if t.owner != "" {
			id = s.Have[t.owner]
		}
		in.Elem().FieldByName("Resources").Set(reflect.ValueOf([]string{id.String()}))
	} else if err := r.name(op, in, s.Have); err != nil {
		return err
	}
	_, err := op.run(ctx, s, in)
	return err
}

// check notes what is wrong with the declaration.
func (t *tagging) check(client reflect.Type, columns []Column) error {
	var defects []error
	for _, op := range []*Op{t.set, t.remove} {
		if op == nil {
			return errors.New("column tags: no calls change it")
		}
		defects = append(defects, op.check(client, columns))
	}
	if tagsMember(t.set.in) == nil {
		defects = append(defects, fmt.Errorf("call %s: its input takes no tags", t.set.name))
	}
	if keysMember(t.remove.in) == nil {
		defects = append(defects, fmt.Errorf("call %s: its input takes no keys of tags", t.remove.name))
	}
	if b := t.bulk; b != nil {
		defects = append(defects, b.check(client, columns))
	}
	return errors.Join(defects...)
}

func (b *bulk) check(client reflect.Type, columns []Column) error {
	_, err := resolve(b.op.in, b.member)
	if err != nil {
		return errors.Join(b.op.check(client, columns), err)
	}
	items, err := resolve(b.op.out, b.items)
	if err != nil || items.leaf.Kind() != reflect.Slice {
		return errors.Join(b.op.check(client, columns), err, fmt.Errorf("call %s: %s is no list", b.op.name, b.items))
	}
	_, noOwner := resolve(items.leaf.Elem(), b.owner)
	_, noTags := resolve(items.leaf.Elem(), b.tags)
	return errors.Join(b.op.check(client, columns), noOwner, noTags)
}

// read returns, by the value of the key column, the tags of objects.
func (b *bulk) read(ctx context.Context, s *Step, keys []string) (map[string]map[string]string, error) {
	member, _ := resolve(b.op.in, b.member)
	items, _ := resolve(b.op.out, b.items)
	owner, _ := resolve(items.leaf.Elem(), b.owner)
	tags, _ := resolve(items.leaf.Elem(), b.tags)
	found := make(map[string]map[string]string, len(keys))
	for some := range slices.Chunk(keys, b.size) {
		in := b.op.input()
		member.set(in, reflect.ValueOf(some))
		out, err := b.op.run(ctx, s, in)
		if err != nil {
			return nil, err
		}
		list, ok := items.get(out)
		for i := 0; ok && i < list.Len(); i++ {
			of, there := owner.get(list.Index(i))
			if !there {
				continue
			}
			of, _ = indirect(of)
			found[of.String()] = map[string]string{}
			if v, ok := tags.get(list.Index(i)); ok {
				found[of.String()] = readTags(v)
			}
		}
	}
	return found, nil
}
