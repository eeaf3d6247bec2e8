package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"iasql/internal/modules"
)

// cloud is a scripted cloud: its objects are computed from their number, so
// that it takes no memory of its own; what was changed is kept apart.
type cloud struct {
	n       int
	lock    sync.Mutex
	changed map[string]modules.Row
	calls   chan time.Time // when mutating calls were made
}

func newCloud(n int) *cloud {
	return &cloud{n: n, changed: map[string]modules.Row{}, calls: make(chan time.Time, 100)}
}

// mainAccount is the account that every installation has.
const mainAccount = "main"

var owner = &modules.Table{Name: "owner", Doc: "Accounts.", Provider: "bench", DefinesAccounts: true,
	Columns: []modules.Column{{Name: "name", Type: modules.TypeText, Required: true, Identity: true, Doc: "Name."}}}

var thing = &modules.Table{Name: "thing", Doc: "Things.", Provider: "bench", Reach: modules.PerAccount,
	Creation: modules.ByToken,
	Columns: []modules.Column{
		{Name: "account", Type: modules.TypeText, Required: true, Default: "'main'", CreateOnly: true, Doc: "Account.",
			References: &modules.Reference{Table: "owner", Key: "name", ByKey: true}},
		{Name: "thing_id", Type: modules.TypeText, Identity: true, Computed: true, Doc: "Id."},
		{Name: "label", Type: modules.TypeText, Doc: "Label."},
		{Name: "size", Type: modules.TypeInteger, Required: true, Default: "1", Doc: "Size."},
		{Name: "enabled", Type: modules.TypeBool, Required: true, Default: "false", Doc: "Enabled."},
		{Name: "state", Type: modules.TypeText, Computed: true, Doc: "State."},
		{Name: "arn", Type: modules.TypeText, Computed: true, Doc: "ARN."},
		{Name: "tags", Type: modules.TypeJSON, EmptyIsNull: true, Doc: "Tags."},
	}}

func (c *cloud) module() *modules.Module {
	return &modules.Module{Name: "bench", Version: 1, Doc: "Bench.", Settings: []*modules.Table{owner},
		Resources:  []modules.Resource{c},
		Migrations: map[int]string{1: `INSERT INTO public.owner (name) VALUES ('main')`}}
}

// Table returns the description.
func (c *cloud) Table() *modules.Table { return thing }

// id differs between runs of different sizes: the journal remembers objects
// that were written a moment ago.
func (c *cloud) id(account string, i int) string {
	return fmt.Sprintf("thing-%d-%s-%08d", c.n, account, i)
}

func (c *cloud) object(key string, i int) modules.Row {
	if row, ok := c.changed[key]; ok {
		return row.Clone()
	}
	name := fmt.Sprintf("name %d", i)
	return modules.Row{
		"thing_id": modules.Text(key), "label": modules.Text(name), "size": modules.Int(i),
		"enabled": modules.Bool(i%2 == 0),
		"state":   modules.Text("available"), "arn": modules.Text("arn:bench:" + key),
		"tags": modules.StringMap(map[string]string{"Name": name, "env": "test"}),
	}
}

// List gives all objects of an account, page by page.
func (c *cloud) List(_ context.Context, asked modules.ListRequest, page func([]modules.Observation) error) error {
	for from := 0; from < c.n; from += *pageSize {
		time.Sleep(*latency)
		rows := make([]modules.Row, 0, *pageSize)
		c.lock.Lock()
		for i := from; i < min(from+*pageSize, c.n); i++ {
			rows = append(rows, c.object(c.id(asked.Scope.Account, i), i))
		}
		c.lock.Unlock()
		if err := page(modules.Observe(rows...)); err != nil {
			return err
		}
	}
	return nil
}

// Get reads objects by id.
func (c *cloud) Get(_ context.Context, asked modules.GetRequest) ([]modules.Observation, error) {
	time.Sleep(*latency)
	c.lock.Lock()
	defer c.lock.Unlock()
	var rows []modules.Row
	for _, identity := range asked.Identities {
		var i int
		id, of := identity["thing_id"].String(), fmt.Sprintf("thing-%d-%s-%%d", c.n, asked.Scope.Account)
		if _, err := fmt.Sscanf(id, of, &i); err == nil && i < c.n {
			rows = append(rows, c.object(id, i))
		}
	}
	return modules.Observe(rows...), nil
}

// Update changes an object.
func (c *cloud) Update(ctx context.Context, m modules.Mutation) error {
	return m.Permit.Do(ctx, modules.Call{Service: "bench", Action: "Update"}, func(modules.Entry) error {
		time.Sleep(*latency)
		c.lock.Lock()
		defer c.lock.Unlock()
		c.calls <- time.Now()
		row := m.Have.Clone()
		for _, name := range m.Columns {
			row[name] = m.Want[name]
		}
		c.changed[m.Have["thing_id"].String()] = row
		return nil
	})
}

// Create and Delete are there so that rows may be written; the bench rolls
// those back.
func (c *cloud) Create(context.Context, modules.Mutation) (modules.Row, error) {
	return nil, &modules.Error{Class: modules.Invalid, Message: "the bench creates nothing"}
}

// Delete is not called.
func (c *cloud) Delete(context.Context, modules.Mutation) error {
	return &modules.Error{Class: modules.Invalid, Message: "the bench deletes nothing"}
}
