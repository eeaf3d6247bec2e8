package modules_test

import (
	"context"
	"fmt"
	"strings"

	"iasql/internal/modules"
)

// notes is a resource of a cloud that is a map.
type notes map[string]string

var table = &modules.Table{
	Name: "note", Doc: "Notes.", Provider: "example", Reach: modules.PerAccount, Creation: modules.ByName,
	Columns: []modules.Column{
		{Name: modules.ColumnAccount, Type: modules.TypeText, Required: true, Doc: "The account it is in."},
		{Name: "name", Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true, Doc: "Its name."},
		{Name: "words", Type: modules.TypeText, Doc: "What it says."},
	},
}

func (notes) Table() *modules.Table { return table }

func (n notes) List(_ context.Context, _ modules.ListRequest, page func([]modules.Observation) error) error {
	for name, words := range n {
		if err := page(modules.Observe(modules.Row{"name": modules.Text(name), "words": modules.Text(words)})); err != nil {
			return err
		}
	}
	return nil
}

func (n notes) Get(_ context.Context, asked modules.GetRequest) ([]modules.Observation, error) {
	var rows []modules.Row
	for _, identity := range asked.Identities {
		if words, ok := n[identity["name"].String()]; ok {
			rows = append(rows, modules.Row{"name": identity["name"], "words": modules.Text(words)})
		}
	}
	return modules.Observe(rows...), nil
}

// A table is its description: its DDL follows from it, and so does what can be
// done with its records. One whose resource cannot create refuses an INSERT.
func ExampleResource() {
	registry, err := modules.NewRegistry(&modules.Module{Name: "example", Version: 1, Doc: "Notes.",
		Resources: []modules.Resource{notes{"a": "hello"}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	resource := registry.Resource("note")
	found, _ := resource.Get(context.Background(),
		modules.GetRequest{Identities: []modules.Row{{"name": modules.Text("a")}, {"name": modules.Text("b")}}})
	fmt.Println(len(found), "of two notes is there and says", found[0].Row["words"])
	fmt.Printf("%+v\n", modules.Can(resource))
	ddl, _, _ := strings.Cut(strings.Join(resource.Table().DDL(registry.Table), "\n"), "(")
	fmt.Println(ddl)
	// Output:
	// 1 of two notes is there and says hello
	// {Create:false Update:false Delete:false}
	// CREATE TABLE public."note"
}

// Two texts of one value are one value: the cloud and PostgreSQL may spell it
// differently.
func ExampleType_Canonical() {
	for _, text := range []string{`{"b": 1.50, "a": [1, 2]}`, `{"a":[1,2],"b":1.5}`} {
		canonical, _ := modules.TypeJSON.Canonical(text)
		fmt.Println(canonical)
	}
	// Output:
	// {"a":[1,2],"b":1.5}
	// {"a":[1,2],"b":1.5}
}
