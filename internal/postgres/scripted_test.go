package postgres_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"iasql/internal/modules"
)

// scripted is a cloud in memory, with the two tables "box" and "item" (an item
// is in a box), and the sheets of boxes. Tests reach into it as other people reach into an account.
type scripted struct {
	lock    sync.Mutex
	next    int
	boxes   map[string]modules.Row
	items   map[string]modules.Row
	sheets  map[string]bool   // "box/name"
	tokens  map[string]string // token → id
	deletes map[string]bool   // ids the engine deleted
	creates int
	// fault, if set, may refuse a call before its effect or lose its answer.
	fault func(action string) (before, after error)
	// listed, if set, makes of an object what listings show of it.
	listed func(modules.Row)
}

func newScripted() *scripted {
	return &scripted{boxes: map[string]modules.Row{}, items: map[string]modules.Row{}, sheets: map[string]bool{},
		tokens: map[string]string{}, deletes: map[string]bool{}}
}

var accountColumn = modules.Column{Name: "account", Type: modules.TypeText, Required: true, Default: "'main'",
	CreateOnly: true, Doc: "Account.",
	References: &modules.Reference{Table: "owner", Key: "name", ByKey: true}}

var ownerTable = &modules.Table{Name: "owner", Doc: "Accounts.", Provider: "scripted", DefinesAccounts: true,
	Columns: []modules.Column{{Name: "name", Type: modules.TypeText, Required: true, Identity: true, Doc: "Name."}}}

var boxTable = &modules.Table{Name: "box", Doc: "Boxes.", Provider: "scripted", Reach: modules.PerAccount,
	Creation: modules.ByTag,
	Columns: []modules.Column{accountColumn,
		{Name: "box_id", Type: modules.TypeText, Identity: true, Computed: true, Doc: "Id."},
		{Name: "label", Type: modules.TypeText, Doc: "Label."},
		{Name: "size", Type: modules.TypeInteger, Required: true, Default: "1", Doc: "Size."},
		{Name: "tags", Type: modules.TypeJSON, EmptyIsNull: true, Doc: "Tags."},
		{Name: "open", Type: modules.TypeBool, Required: true, Default: "false", Local: true,
			Doc: "Whether its sheets are listed."},
	}}

var itemTable = &modules.Table{Name: "item", Doc: "Items.", Provider: "scripted", Reach: modules.PerAccount,
	Creation: modules.ByTag,
	Columns: []modules.Column{accountColumn,
		{Name: "item_id", Type: modules.TypeText, Identity: true, Computed: true, Doc: "Id."},
		{Name: "box_id", Type: modules.TypeBigint, Required: true, CreateOnly: true, Doc: "Box.",
			References: &modules.Reference{Table: "box", Key: "box_id"}},
		{Name: "label", Type: modules.TypeText, Doc: "Label."},
	}}

func (c *scripted) registry() (*modules.Registry, error) {
	return modules.NewRegistry(&modules.Module{Name: "scripted", Version: 1, Doc: "Scripted.",
		Settings:   []*modules.Table{ownerTable},
		Resources:  []modules.Resource{scriptedResource{c, boxTable}, scriptedResource{c, itemTable}, sheets{c}},
		Migrations: map[int]string{1: `INSERT INTO public.owner (name) VALUES ('main') ON CONFLICT DO NOTHING`}})
}

type scriptedResource struct {
	*scripted
	table *modules.Table
}

func (r scriptedResource) Table() *modules.Table { return r.table }

func (r scriptedResource) objects() map[string]modules.Row {
	if r.table == boxTable {
		return r.boxes
	}
	return r.items
}

func (r scriptedResource) id() string { return r.table.Identity()[0] }

// List gives the objects in pages of ten.
func (r scriptedResource) List(_ context.Context, _ modules.ListRequest, page func([]modules.Observation) error) error {
	r.lock.Lock()
	var rows []modules.Row
	for _, o := range r.objects() {
		o = o.Clone()
		if r.listed != nil {
			r.listed(o)
		}
		rows = append(rows, o)
	}
	err := r.faulty("List")
	r.lock.Unlock()
	for len(rows) > 0 {
		n := min(10, len(rows))
		if err := page(modules.Observe(rows[:n]...)); err != nil {
			return err
		}
		rows = rows[n:]
		if err != nil {
			return err // midway
		}
	}
	return err
}

func (r scriptedResource) faulty(action string) error {
	if r.fault == nil {
		return nil
	}
	before, _ := r.fault(action)
	return before
}

func (r scriptedResource) Get(_ context.Context, asked modules.GetRequest) ([]modules.Observation, error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if err := r.faulty("Get"); err != nil {
		return nil, err
	}
	var rows []modules.Row
	for _, identity := range asked.Identities {
		if o, ok := r.objects()[identity[r.id()].String()]; ok {
			rows = append(rows, o.Clone())
		}
	}
	return modules.Observe(rows...), nil
}

func (r scriptedResource) FindCreated(_ context.Context, _ modules.Scope,
	tokens []string) (map[string]modules.Row, error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	found := map[string]modules.Row{}
	for _, token := range tokens {
		if o, ok := r.objects()[r.tokens[token]]; ok {
			found[token] = o.Clone()
		}
	}
	return found, r.faulty("FindCreated")
}

// mutate makes a call as transports do: journaled, and with faults on both
// sides of its effect.
func (r scriptedResource) mutate(ctx context.Context, m *modules.Mutation, action string, do func() error) error {
	return m.Permit.Do(ctx, modules.Call{Service: "scripted", Action: action}, func(modules.Entry) error {
		r.lock.Lock()
		defer r.lock.Unlock()
		var before, after error
		if r.fault != nil {
			before, after = r.fault(action)
		}
		if before != nil {
			return before
		}
		if err := do(); err != nil {
			return err
		}
		return after
	})
}

func (r scriptedResource) Create(ctx context.Context, m modules.Mutation) (row modules.Row, err error) {
	err = r.mutate(ctx, &m, "Create", func() error {
		if box := m.Want["box_id"]; r.table == itemTable && r.boxes[box.String()] == nil {
			return &modules.Error{Class: modules.Dependency, Code: "NoSuchBox", Message: box.String()}
		}
		r.next++
		id := r.table.Name + "-" + strconv.Itoa(r.next)
		o := modules.Row{}
		for _, c := range r.table.Columns {
			if !c.Local {
				o[c.Name] = m.Want[c.Name]
			}
		}
		o[r.id()] = modules.Text(id)
		r.objects()[id], r.tokens[m.Token] = o, id
		r.creates++
		row = o.Clone()
		return nil
	})
	return row, err
}

func (r scriptedResource) Update(ctx context.Context, m modules.Mutation) error {
	return r.mutate(ctx, &m, "Update", func() error {
		o := r.objects()[m.Have[r.id()].String()]
		if o == nil {
			return &modules.Error{Class: modules.NotFound, Code: "NotFound"}
		}
		for _, name := range m.Columns {
			o[name] = m.Want[name]
		}
		return nil
	})
}

func (r scriptedResource) Delete(ctx context.Context, m modules.Mutation) error {
	return r.mutate(ctx, &m, "Delete", func() error {
		id := m.Have[r.id()].String()
		for _, item := range r.items {
			if r.table == boxTable && item["box_id"].String() == id {
				return &modules.Error{Class: modules.Dependency, Code: "BoxNotEmpty",
					Message: fmt.Sprintf("%s is not empty", id)}
			}
		}
		delete(r.objects(), id)
		r.deletes[id] = true
		return nil
	})
}
