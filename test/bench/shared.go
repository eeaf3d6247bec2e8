package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	"iasql/internal/modules"
)

// sharedCloud is a scripted cloud with accounts, in which things can be made. It
// is common to the engines of this process.
type sharedCloud struct {
	latency time.Duration

	lock    sync.Mutex
	objects map[string]map[string]modules.Row // by account and id
	tokens  map[string]string
	serial  int
	name    string // the journal remembers objects that were written a moment ago

	updates chan time.Time // when updates were made, while somebody listens
}

var item = &modules.Table{Name: "item", Doc: "Items.", Provider: "bench", Reach: modules.PerAccount,
	Creation: modules.ByToken,
	Columns: []modules.Column{
		{Name: "account", Type: modules.TypeText, Required: true, Default: "'main'", CreateOnly: true, Doc: "Account.",
			References: &modules.Reference{Table: "owner", Key: "name", ByKey: true}},
		{Name: "item_id", Type: modules.TypeText, Identity: true, Computed: true, Doc: "Id."},
		{Name: "label", Type: modules.TypeText, Doc: "Label."},
	}}

func newSharedCloud(latency time.Duration) *sharedCloud {
	return &sharedCloud{latency: latency, objects: map[string]map[string]modules.Row{}, tokens: map[string]string{},
		name: rand.Text()[:8]}
}

func (c *sharedCloud) module() *modules.Module {
	return &modules.Module{Name: "shared", Version: 1, Doc: "Shared.", Settings: []*modules.Table{owner},
		Resources:  []modules.Resource{c},
		Migrations: map[int]string{1: `INSERT INTO public.owner (name) VALUES ('main')`}}
}

func (c *sharedCloud) Table() *modules.Table { return item }

// made returns how many objects have been made.
func (c *sharedCloud) made() int {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.serial
}

// listen has the times of updates sent, until unlisten.
func (c *sharedCloud) listen() {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.updates = make(chan time.Time, 100)
}

func (c *sharedCloud) unlisten() {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.updates = nil
}

// add makes an object; the lock is held.
func (c *sharedCloud) add(account string, label modules.Value) modules.Row {
	c.serial++
	id := fmt.Sprintf("item-%s-%08d", c.name, c.serial)
	row := modules.Row{"item_id": modules.Text(id), "label": label}
	if c.objects[account] == nil {
		c.objects[account] = map[string]modules.Row{}
	}
	c.objects[account][id] = row
	return row.Clone()
}

func (c *sharedCloud) List(_ context.Context, asked modules.ListRequest, page func([]modules.Observation) error) error {
	time.Sleep(c.latency)
	c.lock.Lock()
	var rows []modules.Row
	for _, row := range c.objects[asked.Scope.Account] {
		rows = append(rows, row.Clone())
	}
	c.lock.Unlock()
	return page(modules.Observe(rows...))
}

func (c *sharedCloud) Get(_ context.Context, asked modules.GetRequest) (all []modules.Observation, err error) {
	time.Sleep(c.latency)
	c.lock.Lock()
	defer c.lock.Unlock()
	for _, identity := range asked.Identities {
		if row, ok := c.objects[asked.Scope.Account][identity["item_id"].String()]; ok {
			all = append(all, modules.Observation{Row: row.Clone()})
		}
	}
	return all, nil
}

func (c *sharedCloud) Create(ctx context.Context, m modules.Mutation) (row modules.Row, err error) {
	err = m.Permit.Do(ctx, modules.Call{Service: "bench", Action: "Create"}, func(modules.Entry) error {
		time.Sleep(c.latency)
		c.lock.Lock()
		defer c.lock.Unlock()
		if id, again := c.tokens[m.Token]; again {
			row = c.objects[m.Scope.Account][id].Clone()
			return nil
		}
		row = c.add(m.Scope.Account, m.Want["label"])
		c.tokens[m.Token] = row["item_id"].String()
		return nil
	})
	return row, err
}

func (c *sharedCloud) Update(ctx context.Context, m modules.Mutation) error {
	return m.Permit.Do(ctx, modules.Call{Service: "bench", Action: "Update"}, func(modules.Entry) error {
		time.Sleep(c.latency)
		c.lock.Lock()
		defer c.lock.Unlock()
		if c.updates != nil {
			c.updates <- time.Now()
		}
		for _, name := range m.Columns {
			c.objects[m.Scope.Account][m.Have["item_id"].String()][name] = m.Want[name]
		}
		return nil
	})
}

func (c *sharedCloud) Delete(ctx context.Context, m modules.Mutation) error {
	return m.Permit.Do(ctx, modules.Call{Service: "bench", Action: "Delete"}, func(modules.Entry) error {
		time.Sleep(c.latency)
		c.lock.Lock()
		defer c.lock.Unlock()
		delete(c.objects[m.Scope.Account], m.Have["item_id"].String())
		return nil
	})
}
