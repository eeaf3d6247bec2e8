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

// A service in the SDK's manner, which notes its calls. The tests here are of
// what modules have in common; their own tests go through all of it.
type (
	api     struct{ region string }
	options struct{}

	shelf struct{ Name, Region, Owner *string }
	label struct{ Key, Value *string }

	ListInput   struct{}
	ListOutput  struct{ Shelves []shelf }
	ReadInput   struct{ Name *string }
	ReadOutput  struct{ Attributes map[string]string }
	CreateInput struct {
		Name  *string
		Books []string
	}
	CreateOutput struct{}
	SetInput     struct{ Name, AttributeName, AttributeValue *string }
	AddInput     struct{ Name, Book, Text *string }
	RemoveInput  struct{ Name, Book *string }
	LabelInput   struct {
		Name          *string
		AddTags       []label
		RemoveTagKeys []string
	}
	DeleteInput struct{ Name *string }
	nothing     struct{}
)

var (
	mu  sync.Mutex
	log []string
)

func note(c *api, format string, args ...any) {
	mu.Lock()
	defer mu.Unlock()
	log = append(log, c.region+" "+fmt.Sprintf(format, args...))
}

func newAPI(cfg awssdk.Config, _ ...func(*options)) *api { return &api{cfg.Region} }

func (c *api) List(context.Context, *ListInput, ...func(*options)) (*ListOutput, error) {
	return &ListOutput{[]shelf{{Name: awssdk.String("open"), Region: awssdk.String("eu-west-1")},
		{Name: awssdk.String("locked"), Region: awssdk.String("us-west-2"), Owner: awssdk.String("rds")}}}, nil
}

func (c *api) Read(_ context.Context, in *ReadInput, _ ...func(*options)) (*ReadOutput, error) {
	note(c, "read %s", *in.Name)
	if *in.Name == "locked" {
		return nil, &modules.Error{Class: modules.Denied}
	}
	return &ReadOutput{map[string]string{"Policy": "{}"}}, nil
}

func (c *api) Create(_ context.Context, in *CreateInput, _ ...func(*options)) (*CreateOutput, error) {
	note(c, "create %s %v", *in.Name, in.Books)
	return &CreateOutput{}, nil
}

func (c *api) Set(_ context.Context, in *SetInput, _ ...func(*options)) (*nothing, error) {
	note(c, "set %s %s=%s", *in.Name, *in.AttributeName, *in.AttributeValue)
	return &nothing{}, nil
}

func (c *api) Add(_ context.Context, in *AddInput, _ ...func(*options)) (*nothing, error) {
	note(c, "add %s %s %s", *in.Name, *in.Book, awssdk.ToString(in.Text))
	return &nothing{}, nil
}

func (c *api) Remove(_ context.Context, in *RemoveInput, _ ...func(*options)) (*nothing, error) {
	note(c, "remove %s %s", *in.Name, *in.Book)
	return nil, &modules.Error{Class: modules.NotFound} // which is as well
}

func (c *api) Label(_ context.Context, in *LabelInput, _ ...func(*options)) (*nothing, error) {
	note(c, "label %s %d %v", *in.Name, len(in.AddTags), in.RemoveTagKeys)
	return &nothing{}, nil
}

func (c *api) Delete(_ context.Context, in *DeleteInput, _ ...func(*options)) (*nothing, error) {
	note(c, "delete %s", *in.Name)
	return &nothing{}, nil
}

func shelves(t *testing.T) *declare.Resource {
	t.Helper()
	read := declare.Call((*api).Read, declare.IfAllowed())
	change := declare.Call((*api).Label)
	r := declare.New(awstest.Fake("http://localhost"), declare.Table[shelf]{
		Name: "shelf", Doc: "Shelves.", Service: declare.Service(newAPI), PerAccount: true, HasRegion: true,
		Columns: []declare.Column{
			declare.Name("name", "Name", "Its name."),
			declare.JSON("policy", "Attributes[Policy]",
				"Its policy.").EmptyIsNull().From(read).Unset(modules.Text("{}")),
			declare.Texts("books", "", "Its books.").In("Books").EmptyIsNull(),
			declare.JSON("texts", "", "Its texts, by name.").EmptyIsNull().Same(strings.EqualFold),
			declare.Text("owner", "Owner", "Who owns it.").Computed(),
			declare.TagsBy("", change, change),
		},
		List: declare.Once(declare.Call((*api).List), "Shelves"),
		Get:  declare.Search(),
		Home: func(_ context.Context, _ *declare.Step, s *shelf, row modules.Row) (string, error) {
			if s == nil {
				return row["region"].String(), nil
			}
			return *s.Region, nil
		},
		Row: func(_ context.Context, s *declare.Step, _ *shelf, row modules.Row) error {
			row["region"] = modules.Text(s.Scope.Region)
			return nil
		},
		Create: declare.Call((*api).Create, declare.Edit(func(context.Context, *declare.Step, *CreateInput) error {
			return nil
		})),
		Updates: []declare.Update{
			declare.Attributes(declare.Call((*api).Set), "AttributeName", "AttributeValue", "policy"),
			declare.Members("books", declare.Call((*api).Add), declare.Call((*api).Remove), "Book", ""),
			declare.Members("texts", declare.Call((*api).Add), declare.Call((*api).Remove), "Book", "Text"),
		},
		Delete: declare.Call((*api).Delete),
		Reread: true,
		Protected: func(have modules.Row) string {
			if owner := have["owner"]; !owner.IsNull() {
				return "it is " + owner.String() + "'s"
			}
			return ""
		},
	})
	if err := r.Validate(); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCalls(t *testing.T) {
	r, scope := shelves(t), awstest.Scope("")
	ctx, permit := t.Context(), awstest.Permit()
	text := func(json string) modules.Value {
		v, err := modules.JSONText(json)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	expect := func(what string, err error, calls ...string) {
		t.Helper()
		slices.Sort(log) // objects are read at the same time
		if err != nil || !slices.Equal(log, calls) {
			t.Errorf("%s: made the calls %q, %v, want %q", what, log, err, calls)
		}
		log = nil
	}
	have := modules.Row{"name": modules.Text("open"), "region": modules.Text("eu-west-1")}

	page, rows := aws.Collector()
	expect("list", awstest.List(ctx, r, scope, page), "eu-west-1 read open", "us-west-2 read locked")
	all := rows()
	if len(all) != 2 || all[0]["region"].String() != "eu-west-1" || !all[0]["policy"].IsNull() {
		t.Fatalf("listed %v", all)
	}
	if _, known := all[1]["policy"]; known {
		t.Error("what may not be read is taken for known")
	}

	want := have.Clone()
	want["books"] = modules.Strings([]string{})
	_, err := awstest.Create(ctx, r, permit, scope, want, "")
	expect("create with an empty list", err, "eu-west-1 create open []")

	had := have.Clone()
	had["policy"], had["books"], had["texts"] = text(`{"a":1}`), modules.Strings([]string{"a", "b"}),
		text(`{"a":"x","b":"y","c":"z"}`)
	had["tags"] = modules.StringMap(map[string]string{"old": "1"})
	want = have.Clone()
	want["books"], want["texts"], want["tags"] = modules.Strings([]string{"b", "c"}), text(`{"a":"X","b":"other"}`),
		modules.StringMap(map[string]string{"new": "1"})
	for column, calls := range map[string][]string{
		"policy": {"eu-west-1 set open Policy={}"},
		"books":  {"eu-west-1 add open c ", "eu-west-1 remove open a"},
		"texts":  {`eu-west-1 add open b "other"`, "eu-west-1 remove open c"},
		"tags":   {"eu-west-1 label open 1 [old]"},
	} {
		expect("update "+column, awstest.Update(ctx, r, permit, scope, had, want, []string{column}), calls...)
	}

	expect("delete", awstest.Delete(ctx, r, permit, scope, have), "eu-west-1 delete open", "eu-west-1 read open",
		"us-west-2 read locked")
	err = awstest.Delete(ctx, r, permit, scope,
		modules.Row{"name": modules.Text("locked"), "region": modules.Text("us-west-2")})
	if modules.ClassOf(err) != modules.Invalid || slices.Contains(log, "us-west-2 delete locked") {
		t.Errorf("deletes what has an owner by now: %v, %q", err, log)
	}
}
