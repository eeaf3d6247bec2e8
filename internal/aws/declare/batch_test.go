package declare_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
	"iasql/internal/test/awstest"
)

// farm is an API in memory: barns with animals, which are listed by their ARNs
// and described several a call.
type farm struct {
	mu      sync.Mutex
	animals []Animal
	calls   []string
}

// Animal is what the API answers of an animal.
type Animal struct {
	BarnArn *string
	Name    *string
	Age     *int32
	Mood    *string
	Changes *struct{ Age *int32 }
	Herds   []string
	Tags    map[string]string
}

type (
	farmOptions          struct{}
	ListBarnsInput       struct{}
	ListBarnsOutput      struct{ BarnArns []string }
	ListAnimalsInput     struct{ Barn *string }
	ListAnimalsOutput    struct{ AnimalArns []string }
	DescribeAnimalsInput struct {
		Barn  *string
		Names []string
	}
	DescribeAnimalsOutput struct {
		Animals  []Animal
		Failures []string
	}
	GetDietInput  struct{ Barn, Name *string }
	GetDietOutput struct{ Diet *string }
	FeedInput     struct {
		Barn, Name *string
		Age        *int32
	}
	FeedOutput        struct{}
	CreateAnimalInput struct {
		Barn, Name *string
		Age        *int32
		Tags       map[string]string
	}
)

const barnARN = "arn:barn/"

func (f *farm) took(format string, args ...any) func() {
	f.mu.Lock()
	f.calls = append(f.calls, fmt.Sprintf(format, args...))
	return f.mu.Unlock
}

func (f *farm) made() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	calls := f.calls
	f.calls = nil
	return slices.Sorted(slices.Values(calls))
}

func (f *farm) ListBarns(context.Context, *ListBarnsInput, ...func(*farmOptions)) (*ListBarnsOutput, error) {
	defer f.took("ListBarns")()
	out := &ListBarnsOutput{}
	for _, a := range f.animals {
		if !slices.Contains(out.BarnArns, *a.BarnArn) {
			out.BarnArns = append(out.BarnArns, *a.BarnArn)
		}
	}
	return out, nil
}

func (f *farm) ListAnimals(_ context.Context, in *ListAnimalsInput, _ ...func(*farmOptions)) (*ListAnimalsOutput,
	error) {
	defer f.took("ListAnimals %s", *in.Barn)()
	out := &ListAnimalsOutput{}
	for _, a := range f.animals {
		if *a.BarnArn == *in.Barn {
			out.AnimalArns = append(out.AnimalArns, "arn:animal/"+*a.Name)
		}
	}
	return out, nil
}

func (f *farm) DescribeAnimals(_ context.Context, in *DescribeAnimalsInput,
	_ ...func(*farmOptions)) (*DescribeAnimalsOutput, error) {
	defer f.took("DescribeAnimals %s %s", *in.Barn, strings.Join(in.Names, ","))()
	out := &DescribeAnimalsOutput{}
	for _, name := range in.Names {
		at := slices.IndexFunc(f.animals, func(a Animal) bool {
			return *a.Name == name && *a.BarnArn == barnARN+*in.Barn
		})
		switch {
		case name == "sick":
			out.Failures = append(out.Failures, name)
		case at < 0:
			return nil, &modules.Error{Class: modules.NotFound, Code: "NoSuchAnimal", Message: name}
		default:
			out.Animals = append(out.Animals, f.animals[at])
		}
	}
	return out, nil
}

func (f *farm) GetDiet(_ context.Context, in *GetDietInput, _ ...func(*farmOptions)) (*GetDietOutput, error) {
	defer f.took("GetDiet %s", *in.Name)()
	return &GetDietOutput{Diet: awssdk.String("hay")}, nil
}

func (f *farm) Feed(_ context.Context, in *FeedInput, _ ...func(*farmOptions)) (*FeedOutput, error) {
	defer f.took("Feed %s", *in.Name)()
	return &FeedOutput{}, nil
}

func (f *farm) CreateAnimal(context.Context, *CreateAnimalInput, ...func(*farmOptions)) (*FeedOutput, error) {
	return &FeedOutput{}, nil
}

func (f *farm) SetTags(context.Context, *TagAnimalInput, ...func(*farmOptions)) (*FeedOutput, error) {
	return &FeedOutput{}, nil
}

func (f *farm) RemoveTags(context.Context, *UntagAnimalInput, ...func(*farmOptions)) (*FeedOutput, error) {
	return &FeedOutput{}, nil
}

type (
	// TagAnimalInput is what tags are set by.
	TagAnimalInput struct {
		Barn, Name *string
		Tags       map[string]string
	}
	// UntagAnimalInput is what tags are removed by.
	UntagAnimalInput struct {
		Barn, Name *string
		TagKeys    []string
	}
)

func (f *farm) table(t *testing.T) *declare.Resource {
	t.Helper()
	r := declare.New(aws.New(aws.Options{Accounts: func(context.Context, string) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: "AKIA", SecretAccessKey: "secret"}, nil
	}}), declare.Table[Animal]{
		Name: "animal", Doc: "Animals.", Creation: modules.ByTag,
		Service: declare.Service(func(awssdk.Config, ...func(*farmOptions)) *farm { return f }),
		Columns: []declare.Column{
			declare.Ref("barn", "BarnArn", "barn", "name",
				"Where it is.").In("Barn").As(declare.LastPart("/")).Required().Identity().CreateOnly(),
			declare.Name("name", "Name", "Its name.").As(declare.LastPart("/")),
			declare.Integer("age", "Age", "How old it is.").First("Changes.Age").OptionalComputed().Initially("1"),
			declare.Text("mood", "Mood", "How it is.").Computed().Absent(modules.Text("calm")),
			declare.Text("diet", "Diet", "What it eats.").Computed().From(declare.Call((*farm).GetDiet)),
			declare.Tags("Tags", (*farm).SetTags, (*farm).RemoveTags),
		},
		List: declare.Once(declare.Call((*farm).ListAnimals), "AnimalArns").
			Within(declare.Once(declare.Call((*farm).ListBarns), "BarnArns"), "", "Barn").Names("name", ""),
		Get: declare.Batch(declare.Call((*farm).DescribeAnimals,
			declare.Checked(func(out *DescribeAnimalsOutput) error {
				if len(out.Failures) > 0 {
					return &modules.Error{Class: modules.Transient, Code: "Failure", Message: out.Failures[0]}
				}
				return nil
			})), "Names", "name", 2, "Animals").Each("barn"),
		Create: declare.Call((*farm).CreateAnimal),
		Updates: []declare.Update{declare.Modify(declare.Call((*farm).Feed), "age").Holding(func(*declare.Step) func() {
			f.took("hold")()
			return func() { f.took("release")() }
		})},
	})
	if err := r.Validate(); err != nil {
		t.Fatal(err)
	}
	return r
}

var meadow = modules.Scope{Account: "test", Region: "us-east-1"}

func newFarm(names ...string) *farm {
	f := &farm{}
	for i, name := range names {
		barn, name, _ := strings.Cut(name, "/")
		f.animals = append(f.animals, Animal{BarnArn: awssdk.String(barnARN + barn), Name: &name,
			Age: awssdk.Int32(int32(i)), Herds: []string{"h" + name}})
	}
	return f
}

func identities(names ...string) (rows []modules.Row) {
	for _, name := range names {
		barn, name, _ := strings.Cut(name, "/")
		rows = append(rows, modules.Row{"barn": modules.Text(barn), "name": modules.Text(name)})
	}
	return rows
}

func same(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// Several objects are read by one call, those of a barn together; what is not
// there is left out, and what cannot be read is an error.
func TestBatch(t *testing.T) {
	f := newFarm("a/cow", "a/dog", "a/pig", "b/cat")
	r := f.table(t)
	rows, err := awstest.Get(t.Context(), r, meadow, identities("a/cow", "a/dog", "a/gone", "b/cat", "c/cow"))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "read", aws.Column(rows, "name"), "cat", "cow", "dog")
	same(t, "calls", f.made(), "DescribeAnimals a cow,dog", "DescribeAnimals a gone", "DescribeAnimals b cat",
		"DescribeAnimals c cow",
		"GetDiet cat", "GetDiet cow", "GetDiet dog")
	if _, err := awstest.Get(t.Context(), r, meadow, identities("a/cow", "a/gone")); err != nil {
		t.Error(err)
	}
	same(t, "halves", f.made(), "DescribeAnimals a cow", "DescribeAnimals a cow,gone", "DescribeAnimals a gone",
		"GetDiet cow")
	if rows, err := awstest.Get(t.Context(), r, meadow, identities("a/cow", "a/sick")); err == nil {
		t.Errorf("what cannot be read is left out of %v", rows)
	}
}

// What is listed by name within something is known by both.
func TestBatchListing(t *testing.T) {
	f := newFarm("a/cow", "a/dog", "a/pig", "b/cat")
	page, rows := aws.Collector()
	if err := awstest.List(t.Context(), f.table(t), meadow, page); err != nil {
		t.Fatal(err)
	}
	same(t, "listed", aws.Column(rows(), "name"), "cat", "cow", "dog", "pig")
	same(t, "barns", aws.Column(rows(), "barn"), "a", "a", "a", "b")
	if len(rows()[0]) != 6 {
		t.Errorf("a row has %v", rows()[0])
	}
}

func TestReadValues(t *testing.T) {
	f := newFarm("a/cow", "a/dog")
	f.animals[0].Changes = &struct{ Age *int32 }{awssdk.Int32(7)}
	f.animals[1].Changes, f.animals[1].Mood = &struct{ Age *int32 }{}, awssdk.String("wild")
	r := f.table(t)
	for i, want := range []modules.Row{
		{"age": modules.Int(7), "mood": modules.Text("calm")}, {"age": modules.Int(1), "mood": modules.Text("wild")},
	} {
		row, err := declare.RowOf(t.Context(), r, f.animals[i])
		for column, v := range want {
			if err != nil || row[column] != v {
				t.Errorf("animal %d: %s is %v, %v, want %v", i, column, row[column], err, v)
			}
		}
	}
	if len(f.made()) > 0 {
		t.Error("made calls")
	}
	if age := r.Table().Column("age"); age.Required || age.Default != "1" {
		t.Errorf("age is %+v", age)
	}
}

// Of objects whose lists are asked for nothing else is read.
func TestLists(t *testing.T) {
	f := newFarm("a/cow", "a/dog", "b/cat")
	lists := declare.Lists(f.table(t), func(owner string) modules.Row {
		if barn, name, ok := strings.Cut(owner, "/"); ok {
			return modules.Row{"barn": modules.Text(barn), "name": modules.Text(name)}
		}
		return nil
	}, func(a *Animal) aws.MemberList {
		return aws.MemberList{Owner: strings.TrimPrefix(*a.BarnArn, barnARN) + "/" + *a.Name, Members: a.Herds}
	})
	has := func(owners []string, want ...string) {
		t.Helper()
		var got []string
		err := lists(t.Context(), aws.MembersRequest{Scope: meadow, Owners: owners}, func(some []aws.MemberList) error {
			for _, list := range some {
				got = append(got, list.Members...)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		same(t, fmt.Sprint(owners), got, want...)
	}
	has(nil, "hcat", "hcow", "hdog")
	has([]string{})
	f.made()
	has([]string{"a/cow", "a/gone"}, "hcow")
	same(t, "calls", f.made(), "DescribeAnimals a cow", "DescribeAnimals a cow,gone", "DescribeAnimals a gone")
	has([]string{"a/cow", "nameless"}, "hcow") // all are looked through
}

// What is found by its token is read completely, and nothing else is.
func TestFindCreated(t *testing.T) {
	f := newFarm("a/cow", "a/dog", "b/cat")
	f.animals[1].Tags = map[string]string{aws.TokenTag: "mine", "a": "1"}
	found, err := f.table(t).FindCreated(t.Context(), meadow, []string{"mine", "other"})
	if err != nil || len(found) != 1 || found["mine"]["diet"] != modules.Text("hay") ||
		found["mine"]["name"] != modules.Text("dog") {
		t.Errorf("found %v, %v", found, err)
	}
	same(t, "calls", slices.DeleteFunc(f.made(), func(call string) bool {
		return !strings.HasPrefix(call, "GetDiet")
	}), "GetDiet dog")
}

func TestHolding(t *testing.T) {
	f := newFarm("a/cow")
	row := identities("a/cow")[0]
	want := row.Clone()
	want["age"] = modules.Int(9)
	if err := awstest.Update(t.Context(), f.table(t), nil, meadow, row, want, []string{"age"}); err != nil {
		t.Fatal(err)
	}
	if got := f.calls; !slices.Equal(got, []string{"hold", "Feed cow", "release"}) {
		t.Errorf("made the calls %v", got)
	}
}
