package declare

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"

	"iasql/internal/aws"
	"iasql/internal/modules"
	"iasql/internal/test/awstest"
)

// zoo is an API in memory: cages, each with animals, by operations of the SDK's
// form.
type zoo struct {
	mu    sync.Mutex
	cages map[string]*Cage
	tags  map[string]map[string]string
	calls []string
	page  int // how many cages a page has

	refusing bool // names of cages
}

// Cage is what the API answers of a cage.
type Cage struct {
	CageName *string
	CageArn  *string
	State    string
	Size     *int32
	Locked   *bool
	Limits   *Limits
	Animals  []string
}

// Limits are members of a member.
type Limits struct {
	Visitors *int32
	Note     *string
}

type (
	options        struct{}
	ListCagesInput struct {
		NextToken, Prefix *string
		Names             []string
	}
	ListCagesOutput struct {
		Cages     []Cage
		NextToken *string
	}
	DescribeCagesInput struct {
		Names     []string
		NextToken *string
	}
	GetFoodInput  struct{ CageName, NextToken *string }
	GetFoodOutput struct {
		Food      []string
		NextToken *string
	}
	CreateCageInput struct {
		CageName *string
		Size     *int32
		Locked   *bool
		Limits   *Limits
		Tags     map[string]string
	}
	CreateCageOutput struct{ Cage *Cage }
	UpdateCageInput  struct {
		CageName *string
		Size     *int32
		Locked   *bool
	}
	PutLimitsInput struct {
		CageName *string
		Limits   *Limits
	}
	DeleteLimitsInput struct{ CageName *string }
	DeleteCageInput   struct{ CageArn *string }
	TagInput          struct {
		ResourceArn *string
		Tags        map[string]string
	}
	UntagInput struct {
		ResourceArn *string
		TagKeys     []string
	}
	ListTagsInput  struct{ ResourceArn *string }
	ListTagsOutput struct{ Tags map[string]string }
	Nothing        struct{}
)

func (z *zoo) note(format string, args ...any) {
	z.calls = append(z.calls, fmt.Sprintf(format, args...))
}

func missing(what string) error {
	return &modules.Error{Class: modules.NotFound, Code: "NoSuch", Message: what + " does not exist"}
}

func text[T any](p *T) string {
	if p == nil {
		return "nil"
	}
	return fmt.Sprint(*p)
}

func (z *zoo) ListCages(_ context.Context, in *ListCagesInput, _ ...func(*options)) (*ListCagesOutput, error) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.note("ListCages %s", text(in.Prefix))
	if in.Names != nil && z.refusing {
		return nil, &modules.Error{Class: modules.Invalid, Code: "InvalidParameter", Message: "no names here"}
	}
	names := slices.Sorted(maps.Keys(z.cages))
	from := 0
	if in.NextToken != nil {
		from, _ = slices.BinarySearch(names, *in.NextToken)
	}
	out := &ListCagesOutput{}
	for _, name := range names[from:] {
		if len(out.Cages) == cmp.Or(z.page, 1000) {
			out.NextToken = awssdk.String(name)
			break
		}
		if in.Prefix == nil || strings.HasPrefix(name, *in.Prefix) {
			out.Cages = append(out.Cages, *z.cages[name])
		}
	}
	return out, nil
}

// cagePages is a paginator of the SDK's form.
type cagePages struct {
	api interface {
		ListCages(context.Context, *ListCagesInput, ...func(*options)) (*ListCagesOutput, error)
	}
	in   ListCagesInput
	more bool
}

type listCagesAPI interface {
	ListCages(context.Context, *ListCagesInput, ...func(*options)) (*ListCagesOutput, error)
}

func newCagePages(api listCagesAPI, in *ListCagesInput, _ ...func(*Nothing)) *cagePages {
	return &cagePages{api, *in, true}
}

func (p *cagePages) HasMorePages() bool { return p.more }

func (p *cagePages) NextPage(ctx context.Context, _ ...func(*options)) (*ListCagesOutput, error) {
	in := p.in
	out, err := p.api.ListCages(ctx, &in)
	if err != nil {
		return nil, err
	}
	p.in.NextToken, p.more = out.NextToken, out.NextToken != nil
	return out, nil
}

func (z *zoo) DescribeCages(_ context.Context, in *DescribeCagesInput, _ ...func(*options)) (*ListCagesOutput, error) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.note("DescribeCages %v", in.Names)
	out := &ListCagesOutput{}
	for _, name := range in.Names {
		if z.cages[name] == nil {
			return nil, missing(name)
		}
		out.Cages = append(out.Cages, *z.cages[name])
	}
	return out, nil
}

func (z *zoo) GetFood(_ context.Context, in *GetFoodInput, _ ...func(*options)) (*GetFoodOutput, error) {
	z.mu.Lock()
	defer z.mu.Unlock()
	switch cage := z.cages[*in.CageName]; {
	case cage == nil:
		return nil, missing(*in.CageName)
	case cage.State == "empty":
		return nil, &modules.Error{Class: modules.NotFound, Code: "NoFood", Message: "NoFood: nothing is fed"}
	case in.NextToken == nil:
		return &GetFoodOutput{Food: []string{"hay"}, NextToken: awssdk.String("2")}, nil
	}
	return &GetFoodOutput{Food: []string{"fish"}}, nil
}

func (z *zoo) CreateCage(_ context.Context, in *CreateCageInput, _ ...func(*options)) (*CreateCageOutput, error) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.note("CreateCage %s size=%s locked=%s limits=%t", *in.CageName, text(in.Size), text(in.Locked), in.Limits != nil)
	arn := "arn:zoo:" + *in.CageName
	z.cages[*in.CageName] = &Cage{CageName: in.CageName, CageArn: &arn, Size: in.Size, Locked: in.Locked,
		Limits: in.Limits, State: "ready"}
	z.tags[arn] = in.Tags
	return &CreateCageOutput{Cage: z.cages[*in.CageName]}, nil
}

func (z *zoo) UpdateCage(_ context.Context, in *UpdateCageInput, _ ...func(*options)) (*Nothing, error) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.note("UpdateCage %s size=%s locked=%s", *in.CageName, text(in.Size), text(in.Locked))
	cage := z.cages[*in.CageName]
	if in.Size != nil {
		cage.Size = in.Size
	}
	if in.Locked != nil {
		cage.Locked = in.Locked
	}
	return &Nothing{}, nil
}

func (z *zoo) PutLimits(_ context.Context, in *PutLimitsInput, _ ...func(*options)) (*Nothing, error) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.note("PutLimits %s visitors=%s note=%s", *in.CageName, text(in.Limits.Visitors), text(in.Limits.Note))
	z.cages[*in.CageName].Limits = in.Limits
	return &Nothing{}, nil
}

func (z *zoo) DeleteLimits(_ context.Context, in *DeleteLimitsInput, _ ...func(*options)) (*Nothing, error) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.note("DeleteLimits %s", *in.CageName)
	z.cages[*in.CageName].Limits = nil
	return &Nothing{}, nil
}

func (z *zoo) DeleteCage(_ context.Context, in *DeleteCageInput, _ ...func(*options)) (*Nothing, error) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.note("DeleteCage %s", text(in.CageArn))
	name := strings.TrimPrefix(*in.CageArn, "arn:zoo:")
	if z.cages[name] == nil {
		return nil, missing(name)
	}
	delete(z.cages, name)
	return &Nothing{}, nil
}

func (z *zoo) Tag(_ context.Context, in *TagInput, _ ...func(*options)) (*Nothing, error) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.note("Tag %s %v", *in.ResourceArn, in.Tags)
	maps.Copy(z.tags[*in.ResourceArn], in.Tags)
	return &Nothing{}, nil
}

func (z *zoo) Untag(_ context.Context, in *UntagInput, _ ...func(*options)) (*Nothing, error) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.note("Untag %s %v", *in.ResourceArn, in.TagKeys)
	for _, key := range in.TagKeys {
		delete(z.tags[*in.ResourceArn], key)
	}
	return &Nothing{}, nil
}

func (z *zoo) ListTags(_ context.Context, in *ListTagsInput, _ ...func(*options)) (*ListTagsOutput, error) {
	z.mu.Lock()
	defer z.mu.Unlock()
	return &ListTagsOutput{Tags: maps.Clone(z.tags[*in.ResourceArn])}, nil
}

func newZoo() *zoo { return &zoo{cages: map[string]*Cage{}, tags: map[string]map[string]string{}} }

func (z *zoo) build(awssdk.Config, ...func(*options)) *zoo { return z }

// cages declares the table that most tests are about.
func (z *zoo) table() Table[Cage] {
	return Table[Cage]{
		Name: "cage", Doc: "Cages.", Service: Service(z.build),
		Columns: []Column{
			Name("name", "CageName", "Its name."),
			Integer("size", "Size", "How large it is.").Default("3"),
			Bool("locked", "Locked", "Whether it is locked.").Default("false"),
			Integer("visitors", "Limits.Visitors", "How many visitors there may be."),
			Text("state", "State", "Its state.").Computed(),
			Texts("food", "Food", "What is fed.").Computed().From(Call((*zoo).GetFood, None("NoFood"))),
			ARN("arn", "CageArn"),
			Tags("Tags", (*zoo).Tag, (*zoo).Untag).From(Call((*zoo).ListTags)),
		},
		List:   Pages(newCagePages, "Cages"),
		Get:    Prefix("Prefix"),
		Create: Call((*zoo).CreateCage, Answer("Cage")),
		Updates: []Update{
			Modify(Call((*zoo).UpdateCage)),
			Put("visitors", Call((*zoo).PutLimits), Call((*zoo).DeleteLimits)),
		},
		Delete: Call((*zoo).DeleteCage),
		Going:  In("state", "leaving"),
	}
}

func bind[T any](t *testing.T, table Table[T]) *Resource {
	t.Helper()
	r := New(aws.New(aws.Options{Accounts: func(context.Context, string) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: "AKIA", SecretAccessKey: "secret"}, nil
	}}), table)
	if err := r.Validate(); err != nil {
		t.Fatal(err)
	}
	return r
}

var here = modules.Scope{Account: "test", Region: "us-east-1"}

func (z *zoo) took() []string {
	z.mu.Lock()
	defer z.mu.Unlock()
	calls := z.calls
	z.calls = nil
	return calls
}

func expect(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s made the calls\n%q, want\n%q", what, got, want)
	}
}

func TestLife(t *testing.T) {
	t.Parallel()
	z := newZoo()
	r := bind(t, z.table())
	want := modules.Row{
		"name": modules.Text("a"), "size": modules.Int(3), "locked": modules.Bool(false), "visitors": modules.Int(9),
		"tags": modules.StringMap(map[string]string{"k": "v"}),
	}
	made, err := awstest.Create(t.Context(), r, nil, here, want, "")
	if err != nil || made["name"].String() != "a" || made["arn"].String() != "arn:zoo:a" {
		t.Fatalf("created %v, %v", made, err)
	}
	expect(t, "creating", z.took(), "CreateCage a size=3 locked=false limits=true")

	get := func() modules.Row {
		t.Helper()
		rows, err := awstest.Get(t.Context(), r, here,
			[]modules.Row{{"name": modules.Text("a")}, {"name": modules.Text("b")}})
		if err != nil || len(rows) != 1 {
			t.Fatalf("got %v, %v", rows, err)
		}
		return rows[0]
	}
	have := get()
	for column, value := range want {
		if have[column] != value {
			t.Errorf("%s is %q, want %q", column, have[column], value)
		}
	}
	// A reading call that has pages is read to its end.
	if got := have["food"].String(); got != `["hay","fish"]` {
		t.Errorf("food is %s", got)
	}
	z.took()

	change := func(column string, value modules.Value, calls ...string) {
		t.Helper()
		want := have.Clone()
		want[column] = value
		if err := awstest.Update(t.Context(), r, nil, here, have, want, []string{column}); err != nil {
			t.Fatal(err)
		}
		expect(t, "changing "+column, z.took(), calls...)
		if have = get(); !r.description.Column(column).Same(have[column], value) {
			t.Errorf("%s is %q, want %q", column, have[column], value)
		}
		z.took()
	}
	change("size", modules.Int(5), "UpdateCage a size=5 locked=nil")
	change("visitors", modules.Int(1), "PutLimits a visitors=1 note=nil")
	change("visitors", modules.Null, "DeleteLimits a")
	change("tags", modules.StringMap(map[string]string{"x": "y"}), "Untag arn:zoo:a [k]", "Tag arn:zoo:a map[x:y]")

	// Several columns of one call change together.
	want = have.Clone()
	want["size"], want["locked"] = modules.Int(6), modules.Bool(true)
	if err := awstest.Update(t.Context(), r, nil, here, have, want, []string{"size", "locked"}); err != nil {
		t.Fatal(err)
	}
	expect(t, "changing two", z.took(), "UpdateCage a size=6 locked=true")

	// A deletion that knows the identity alone reads what the call takes.
	if err := awstest.Delete(t.Context(), r, nil, here, modules.Row{"name": modules.Text("a")}); err != nil {
		t.Fatal(err)
	}
	expect(t, "deleting", z.took(), "ListCages a", "DeleteCage arn:zoo:a")
	if err := awstest.Delete(t.Context(), r, nil, here, have); err != nil {
		t.Errorf("deleting what is gone: %v", err)
	}
	z.took()
	if err := awstest.Delete(t.Context(), r, nil, here,
		modules.Row{"name": modules.Text("c"), "arn": modules.Text("x"), "state": modules.Text("leaving")}); err != nil {
		t.Error(err)
	}
	expect(t, "deleting what is on its way out", z.took())
}

func (z *zoo) fill(n int) {
	for i := range n {
		name, arn := fmt.Sprintf("c%02d", i), fmt.Sprintf("arn:zoo:c%02d", i)
		z.cages[name] = &Cage{CageName: &name, CageArn: &arn, State: "ready", Locked: awssdk.Bool(false),
			Size: awssdk.Int32(int32(i))}
		z.tags[arn] = map[string]string{}
	}
}

func TestListingIsComplete(t *testing.T) {
	t.Parallel()
	z := newZoo()
	z.page = 7
	z.fill(40)
	r := bind(t, z.table())
	var names []string
	err := awstest.List(t.Context(), r, here, func(rows []modules.Row) error {
		names = append(names, aws.Column(rows, "name")...)
		return nil
	})
	if err != nil || len(names) != 40 {
		t.Errorf("got %d, %v", len(names), err)
	}
	stop := fmt.Errorf("enough")
	if err := awstest.List(t.Context(), r, here, func([]modules.Row) error {
		return stop
	}); err != stop { //nolint:errorlint // as it is
		t.Errorf("the error of page became %v", err)
	}
}

// What a prefix finds beyond the name is another object.
func TestPrefixFindsOne(t *testing.T) {
	t.Parallel()
	z := newZoo()
	z.fill(3)
	name, arn := "c", "arn:zoo:c"
	z.cages["c"] = &Cage{CageName: &name, CageArn: &arn}
	rows, err := awstest.Get(t.Context(), bind(t, z.table()), here, []modules.Row{{"name": modules.Text("c")}})
	if err != nil || len(rows) != 1 || rows[0]["name"].String() != "c" {
		t.Errorf("got %v, %v", rows, err)
	}
}

// Of names that are asked for together, the one that is not there does not hide
// the others.
func TestNamedLeavesOutWhatIsGone(t *testing.T) {
	t.Parallel()
	z := newZoo()
	z.fill(8)
	table := z.table()
	table.List, table.Get = Once(Call((*zoo).DescribeCages), "Cages"), Named("Names", 4)
	r := bind(t, table)
	var ids []modules.Row
	for _, name := range []string{"c00", "c01", "gone", "c02", "c03", "c07"} {
		ids = append(ids, modules.Row{"name": modules.Text(name)})
	}
	rows, err := awstest.Get(t.Context(), r, here, ids)
	names := aws.Column(rows, "name")
	slices.Sort(names)
	if err != nil || !slices.Equal(names, []string{"c00", "c01", "c02", "c03", "c07"}) {
		t.Errorf("got %v, %v", names, err)
	}
}

// Where names are not known or refused, those that were asked for are found all the same, and
// of nothing else more is read.
func TestNamedOrPrefix(t *testing.T) {
	t.Parallel()
	for _, refusing := range []bool{false, true} {
		z := newZoo()
		z.fill(8)
		z.page, z.refusing = 3, refusing
		table := z.table()
		table.Get = Named("Names", 4).OrPrefix("Prefix")
		r := bind(t, table)
		var ids []modules.Row
		for _, name := range []string{"c00", "c0", "c05"} {
			ids = append(ids, modules.Row{"name": modules.Text(name)})
		}
		rows, err := awstest.Get(t.Context(), r, here, ids)
		names := aws.Column(rows, "name")
		slices.Sort(names)
		if err != nil || !slices.Equal(names, []string{"c00", "c05"}) {
			t.Errorf("refusing %v: got %v, %v", refusing, names, err)
		}
		calls := z.took()
		slices.Sort(calls)
		want := []string{"ListCages nil", "ListCages nil", "ListCages nil"}
		if refusing {
			want = []string{"ListCages c0", "ListCages c0", "ListCages c0", "ListCages c00", "ListCages c05",
				"ListCages nil"}
		}
		expect(t, fmt.Sprintf("refusing %v: Get", refusing), calls, want...)
	}
}

// What a call cannot have changed takes no call to read, and is unknown.
func TestExtents(t *testing.T) {
	t.Parallel()
	z := newZoo()
	z.fill(1)
	r := bind(t, z.table())
	for _, portion := range []modules.Extent{modules.Everything, modules.JustTags, modules.ButTags} {
		found, err := r.Get(t.Context(),
			modules.GetRequest{Scope: here, Identities: []modules.Row{{"name": modules.Text("c00")}}, Extent: portion})
		if err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		_, food := found[0].Row["food"]
		_, tags := found[0].Row["tags"]
		if tags != portion.Has(true) || food != portion.Has(false) {
			t.Errorf("%q: got %v", portion, found[0])
		}
	}
}

// A listing makes no calls for an object whose turn it is not: what they would tell is unknown.
func TestTurns(t *testing.T) {
	t.Parallel()
	z := newZoo()
	z.fill(8)
	table := z.table()
	var asked []string
	table.Columns[5] = Texts("food", "Food",
		"What is fed.").Computed().From(Call((*zoo).GetFood,
		Edit(func(_ context.Context, _ *Step, in *GetFoodInput) error {
			z.mu.Lock()
			defer z.mu.Unlock()
			asked = append(asked, *in.CageName)
			return nil
		})))
	r := bind(t, table)
	if !r.IsPaced() {
		t.Fatal("objects of which calls of their own are made have no turns")
	}
	due := func(object modules.Row) bool { return object["name"].String() == "c03" }
	read := 0
	err := awstest.ListAs(t.Context(), r, modules.ListRequest{Scope: here, Due: due}, func(rows []modules.Row) error {
		for _, row := range rows {
			read++
			if _, known := row["food"]; known != (row["name"].String() == "c03") || row["arn"].IsNull() {
				t.Errorf("got %v", row)
			}
		}
		return nil
	})
	if err != nil || read != 8 {
		t.Errorf("%d objects, %v", read, err)
	}
	if asked = slices.Compact(asked); !slices.Equal(asked, []string{"c03"}) {
		t.Errorf("asked what is fed in %q", asked)
	}
	if rows, err := awstest.Get(t.Context(), r, here, []modules.Row{{"name": modules.Text("c04")}}); err != nil ||
		len(rows) != 1 || rows[0]["food"].IsNull() {
		t.Errorf("what is asked for by name has no turns: got %v, %v", rows, err)
	}
}

// What seldom changes is read of an object whose turn has come, whether or not its table has turns.
func TestRarely(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(*Table[Cage]){
		"in turn": func(*Table[Cage]) {},
		"each listing": func(t *Table[Cage]) {
			t.Row = func(context.Context, *Step, *Cage, modules.Row) error { return nil }
		},
	} {
		z := newZoo()
		z.fill(3)
		table := z.table()
		table.Columns[5] = Texts("food", "Food", "What is fed.").Computed().From(Call((*zoo).GetFood, Rarely()))
		change(&table)
		r := bind(t, table)
		due := func(object modules.Row) bool { return object["name"].String() == "c01" }
		for name, request := range map[string]modules.ListRequest{"": {Scope: here}, "c01": {Scope: here, RarelyDue: due}} {
			err := awstest.ListAs(t.Context(), r, request, func(rows []modules.Row) error {
				for _, row := range rows {
					_, known := row["food"]
					if want := name == "" || row["name"].String() == name; known != want || row["arn"].IsNull() {
						t.Errorf("%s: of what is due (%q) got %v", what, name, row)
					}
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
		if rows, err := awstest.Get(t.Context(), r, here, []modules.Row{{"name": modules.Text("c02")}}); err != nil ||
			len(rows) != 1 || rows[0]["food"].IsNull() {
			t.Errorf("%s: what is asked for by name: got %v, %v", what, rows, err)
		}
	}
}

// The calls that change a table's objects say which part of them they change.
func TestEventMappingsOfExtents(t *testing.T) {
	t.Parallel()
	got := map[string]modules.Extent{}
	for _, mapping := range bind(t, newZoo().table()).Table().EventMappings {
		got[mapping.Name] = mapping.Extent
	}
	want := map[string]modules.Extent{
		"CreateCage": modules.Everything, "UpdateCage": modules.ButTags, "PutLimits": modules.ButTags,
		"DeleteLimits": modules.ButTags,
		"DeleteCage":   modules.Everything, "Tag": modules.JustTags, "Untag": modules.JustTags,
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// An error that is no NotFound is never taken for an absence.
func TestUnreadableIsNotAbsent(t *testing.T) {
	t.Parallel()
	z := newZoo()
	z.fill(2)
	table := z.table()
	table.Columns[5] = Texts("food", "Food",
		"What is fed.").Computed().From(Call((*zoo).GetFood, Failed(func(context.Context, *Step, error) error {
		return nil
	}),
		Edit(func(_ context.Context, _ *Step, in *GetFoodInput) error {
			if *in.CageName == "c01" {
				return &modules.Error{Class: modules.Denied, Code: "AccessDenied"}
			}
			return nil
		})))
	if rows, err := awstest.Get(t.Context(), bind(t, table), here,
		[]modules.Row{{"name": modules.Text("c00")}, {"name": modules.Text("c01")}}); err == nil {
		t.Errorf("got %v, want an error", rows)
	}
}

// A part that AWS says there is none of is NULL; an object that has gone while
// it was read is left out.
func TestNoneAndGone(t *testing.T) {
	t.Parallel()
	z := newZoo()
	z.fill(3)
	z.cages["c01"].State = "empty"
	table := z.table()
	table.Gone = func(c *Cage) bool { return *c.CageName == "c02" }
	var rows []modules.Row
	err := awstest.List(t.Context(), bind(t, table), here, func(page []modules.Row) error {
		rows = append(rows, page...)
		return nil
	})
	if err != nil || len(rows) != 2 || rows[0]["food"].IsNull() || !rows[1]["food"].IsNull() {
		t.Errorf("got %v, %v", rows, err)
	}
}

// An object of which only a part is not found is there, and the part unknown. One
// that has gone is left out, and so is one of which the call is proof.
func TestPartNotFound(t *testing.T) {
	t.Parallel()
	z := newZoo()
	z.fill(3)
	table := z.table()
	// it does not say None
	table.Columns[5] = Texts("food", "Food", "What is fed.").Computed().From(Call((*zoo).GetFood))
	r := bind(t, table)
	z.cages["c01"].State = "empty"
	identities := []modules.Row{{"name": modules.Text("c00")}, {"name": modules.Text("c01")},
		{"name": modules.Text("c02")}}
	rows, err := awstest.Get(t.Context(), r, here, identities)
	if err != nil || len(rows) != 3 {
		t.Fatalf("got %v, %v, want all", rows, err)
	}
	for _, row := range rows {
		if _, known := row["food"]; known == (row["name"].String() == "c01") {
			t.Errorf("of %v the food is known: %t", row, known)
		}
	}
	table.Columns[5] = Texts("food", "Food", "What is fed.").Computed().From(Call((*zoo).GetFood, Proves()))
	if rows, err := awstest.Get(t.Context(), bind(t, table), here, identities); err != nil || len(rows) != 2 {
		t.Errorf("got %v, %v, want those that are proven", rows, err)
	}
	z.cages["c01"].State = "ready"
	table.Columns[5] = Texts("food", "Food",
		"What is fed.").Computed().From(Call((*zoo).GetFood,
		Edit(func(_ context.Context, _ *Step, in *GetFoodInput) error {
			z.mu.Lock()
			defer z.mu.Unlock()
			delete(z.cages, "c01") // just after it was listed
			return nil
		})))
	if rows, err := awstest.Get(t.Context(), bind(t, table), here, identities); err != nil || len(rows) != 2 {
		t.Errorf("got %v, %v, want what is left", rows, err)
	}
}

// What is wrong with a declaration is told at start, with the table, the column
// and the call.
func TestDefects(t *testing.T) {
	t.Parallel()
	z := newZoo()
	for name, c := range map[string]struct {
		spoil func(*Table[Cage])
		says  string
	}{
		"a member that is not there": {func(t *Table[Cage]) {
			t.Columns[1] = Integer("size", "Sise", "x").Default("3")
		}, "column size: path \"Sise\""},
		"a type that does not fit": {func(t *Table[Cage]) {
			t.Columns[1] = Bool("size", "Size", "x").Default("true")
		}, "column size: member Size"},
		"a change that nobody makes": {func(t *Table[Cage]) {
			t.Updates = t.Updates[:1]
		}, "column visitors: it can be changed"},
		"a change to NULL": {func(t *Table[Cage]) {
			t.Columns[1] = Integer("size", "Size", "x")
		}, "column size: nothing says how UpdateCage makes it NULL"},
		"a column that no call sends": {func(t *Table[Cage]) {
			t.Columns = append(t.Columns, Text("extra", "", "x").CreateOnly())
		}, "column extra: no call sends it"},
		"a call that names no object": {func(t *Table[Cage]) {
			t.Delete = Call((*zoo).ListCages)
		}, "no key of the table is in its input"},
		"a listing of something else": {func(t *Table[Cage]) {
			t.List = Pages(newCagePages, "NextToken")
		}, "NextToken is no list"},
		"a template of another call": {func(t *Table[Cage]) {
			t.Create = Call((*zoo).CreateCage, With(&TagInput{}))
		}, "call CreateCage: its input is"},
		"a column that is not there": {func(t *Table[Cage]) {
			t.Delete = Call((*zoo).DeleteCage, From("CageArn", "ar"))
		}, "there is no column ar"},
		"a creation without its answer": {func(t *Table[Cage]) {
			t.Create = Call((*zoo).CreateCage, Answer("Cgae"))
		}, "has no member Cgae"},
		"no way to read": {func(t *Table[Cage]) { t.Get = nil }, "service, list and get are required"},
	} {
		table := z.table()
		c.spoil(&table)
		if err := New(nil, table).Validate(); err == nil || !strings.Contains(err.Error(), c.says) ||
			!strings.Contains(err.Error(), "table cage") {
			t.Errorf("%s: got %v, want an error that says %q", name, err, c.says)
		}
	}
}

// Listing, reading and changing may all be under way at once.
func TestConcurrency(t *testing.T) {
	t.Parallel()
	z := newZoo()
	z.page = 5
	z.fill(30)
	r := bind(t, z.table())
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			name := fmt.Sprintf("c%02d", i)
			if err := awstest.List(t.Context(), r, here, func([]modules.Row) error { return nil }); err != nil {
				t.Error(err)
			}
			have := modules.Row{"name": modules.Text(name), "size": modules.Int(0)}
			if err := awstest.Update(t.Context(), r, nil, here, have, modules.Row{"size": modules.Int(i)},
				[]string{"size"}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

func TestOneWay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, to string
		newer    bool
	}{
		{"16.4", "16.10", true}, {"16.10", "16.4", false}, {"16.4", "16.4", false},
		{"8.0.mysql_aurora.3.04.1", "8.0.mysql_aurora.3.05.2", true},
		{"19.0.0.0.ru-2024-01.rur-2024-01.r1", "19.0.0.0.ru-2024-04.rur-2024-04.r1", true}, {"1.33", "1.32", false},
	} {
		if Newer(c.from, c.to) != c.newer {
			t.Errorf("from %s to %s: newer is not %v", c.from, c.to, c.newer)
		}
	}
	if !Larger("9", "10") || Larger("10", "9") || Larger("10", "10") {
		t.Error("larger")
	}
}

// Of an object that has just been created no call asks what its creation was told, or what new objects have; what was
// written to it since is read.
func TestJustCreated(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		sent modules.Row
		food int // calls
	}{
		"nothing written since": {modules.Row{"name": modules.Text("c00"), "food": modules.Null, "tags": modules.Null},
			0},
		"written since":    {modules.Row{"name": modules.Text("c00"), "tags": modules.Null}, 1},
		"not just created": {nil, 1},
	} {
		z := newZoo()
		z.fill(1)
		var asked atomic.Int64
		table := z.table()
		table.Columns[5] = Texts("food", "Food",
			"What is fed.").Computed().From(Call((*zoo).GetFood,
			Edit(func(context.Context, *Step, *GetFoodInput) error {
				asked.Add(1)
				return nil
			}))).Born(modules.Strings([]string{"milk"}))
		r := bind(t, table)
		found, err := r.Get(t.Context(),
			modules.GetRequest{Scope: here, Identities: []modules.Row{{"name": modules.Text("c00")}},
				Created: func(modules.Row) (modules.Row, bool) { return c.sent, c.sent != nil }})
		if err != nil || len(found) != 1 {
			t.Fatal(what, found, err)
		}
		row := found[0].Row
		if got := asked.Load(); (got > 0) != (c.food > 0) {
			t.Errorf("%s: asked %d times what is fed", what, got)
		}
		if milk := row["food"].String() == `["milk"]`; milk != (c.food == 0) {
			t.Errorf("%s: %v", what, row["food"])
		}
	}
}
