package sync_test

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"iasql/internal/modules"
	"iasql/internal/simulate"
	"iasql/internal/store"
	"iasql/internal/sync"
)

// cloud is a cloud that is a map, and the resource of the table name.
type cloud struct {
	table   *modules.Table
	objects map[string]modules.Row
}

func (c *cloud) Table() *modules.Table { return c.table }

func (c *cloud) List(_ context.Context, _ modules.ListRequest, page func([]modules.Observation) error) error {
	return page(modules.Observe(slices.Collect(maps.Values(c.objects))...))
}

func (c *cloud) Get(_ context.Context, asked modules.GetRequest) ([]modules.Observation, error) {
	var rows []modules.Row
	for _, identity := range asked.Identities {
		if row, ok := c.objects[identity["name"].String()]; ok {
			rows = append(rows, row.Clone())
		}
	}
	return modules.Observe(rows...), nil
}

func (c *cloud) Create(ctx context.Context, m modules.Mutation) (modules.Row, error) {
	return m.Want, m.Permit.Do(ctx, modules.Call{Service: "Example", Action: "Create"}, func(modules.Entry) error {
		fmt.Println("created:", m.Want["name"], m.Want["value"])
		c.objects[m.Want["name"].String()] = modules.Row{"name": m.Want["name"], "kind": m.Want["kind"],
			"value": m.Want["value"]}
		return nil
	})
}

func (c *cloud) Update(ctx context.Context, m modules.Mutation) error {
	return m.Permit.Do(ctx, modules.Call{Service: "Example", Action: "Update"}, func(modules.Entry) error {
		for _, column := range m.Columns {
			fmt.Println("pushed:", column, m.Want[column])
			c.objects[m.Have["name"].String()][column] = m.Want[column]
		}
		return nil
	})
}

func (c *cloud) Delete(ctx context.Context, m modules.Mutation) error {
	return m.Permit.Do(ctx, modules.Call{Service: "Example", Action: "Delete"}, func(modules.Entry) error {
		delete(c.objects, m.Have["name"].String())
		return nil
	})
}

// A record is pushed; what then changes in the cloud is pulled. The store is the
// simulated one, in which people do what they do in SQL.
func ExampleReconciler_Cycle() {
	ctx, people := context.Background(), simulate.NewStore()
	world := &cloud{objects: map[string]modules.Row{}}
	for _, t := range simulate.Tables() {
		if t.Name == "name" {
			world.table = t
		}
	}
	registry, err := modules.NewRegistry(&modules.Module{Name: "example", Version: 1, Doc: "Names.",
		Resources: []modules.Resource{world}})
	if err != nil {
		fmt.Println(err)
		return
	}
	engine := &sync.Reconciler{Store: people, Registry: registry, Serial: true}
	cycle := func(kind store.Kind) {
		lease, err := people.Take(ctx)
		if err == nil {
			_, err = engine.Cycle(ctx, lease, kind)
		}
		if err != nil {
			fmt.Println(err)
		}
	}
	show := func() {
		rows, _ := people.Rows(ctx, "name")
		for _, row := range rows {
			fmt.Println("record:", row.Row["name"], row.Row["value"])
		}
	}

	_, _, err = people.Insert(ctx, 0, "name", 0,
		modules.Row{"account": modules.Text("acct"), "name": modules.Text("jobs"), "value": modules.Text("a")})
	if err != nil {
		fmt.Println(err)
	}
	cycle(store.Push)
	show()

	world.objects["jobs"]["value"] = modules.Text("b") // somebody in the console
	cycle(store.Full)
	show()
	// Output:
	// created: jobs a
	// record: jobs a
	// record: jobs b
}
