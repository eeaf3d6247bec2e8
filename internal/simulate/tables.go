package simulate

import (
	"strings"

	"iasql/internal/decide"
	"iasql/internal/modules"
)

// The world's one account and its regions.
const account = "acct"

var regions = []string{"r1", "r2"}

func text(name string, with ...func(*modules.Column)) modules.Column {
	c := modules.Column{Name: name, Type: modules.TypeText, Doc: name + "."}
	for _, f := range with {
		f(&c)
	}
	return c
}

func required(c *modules.Column)   { c.Required = true }
func createOnly(c *modules.Column) { c.CreateOnly = true }
func assigned(c *modules.Column)   { c.Computed = true }
func identity(c *modules.Column)   { c.Identity = true }
func deferred(c *modules.Column)   { c.Deferred = true }
func secret(c *modules.Column)     { c.WriteOnly = true }

func references(table, key string) func(*modules.Column) {
	return func(c *modules.Column) {
		c.Type, c.References = modules.TypeBigint, &modules.Reference{Table: table, Key: key}
	}
}

// The tables: identities assigned and chosen, creations by tag, token and
// name, columns fixed at creation, defaults of the cloud, a reference that may
// form circles, a secret, and states in which objects are being deleted.
var (
	net = &modules.Table{
		Name: "net", Doc: "Networks.", Provider: "sim", Reach: modules.PerRegion, Creation: modules.ByTag,
		Columns: []modules.Column{
			text("account", required, createOnly), text("region", required, createOnly),
			text("net_id", identity, assigned), text("cidr", required, createOnly), text("note", deferred),
			text("status", assigned),
			{Name: "tags", Type: modules.TypeJSON, Doc: "Tags."},
		},
	}
	host = &modules.Table{
		Name: "host", Doc: "Hosts.", Provider: "sim", Reach: modules.PerRegion, Creation: modules.ByTag,
		Columns: []modules.Column{
			text("account", required, createOnly), text("region", required, createOnly),
			text("host_id", identity, assigned), text("net_id", required, createOnly, references("net", "net_id")),
			text("peer_id", references("host", "host_id")), text("size"),
		},
	}
	name = &modules.Table{
		Name: "name", Doc: "Names.", Provider: "sim", Reach: modules.PerAccount, Creation: modules.ByName,
		Columns: []modules.Column{
			text("account", required, createOnly), text("name", required, identity, createOnly),
			text("kind", createOnly),
			text("value"), text("secret", secret), text("status", assigned),
		},
	}
	job = &modules.Table{
		Name: "job", Doc: "Jobs.", Provider: "sim", Reach: modules.PerAccount, Creation: modules.ByToken,
		DestroyBeforeCreate: true, HoldsData: true,
		Columns: []modules.Column{
			text("account", required, createOnly), text("job_id", identity, assigned), text("image", createOnly),
			text("spec", func(c *modules.Column) { c.Equal = strings.EqualFold }),
		},
	}
	tables   = told(net, host, name, job)
	registry = newRegistry()
)

// Module returns the simulated cloud's module, so that a real database can have
// the same tables. Its resources need a running simulation; its tables do not.
func Module() *modules.Module {
	m := &modules.Module{Name: "sim", Version: 1, Doc: "The simulated cloud."}
	for _, t := range tables {
		if t.Creation == modules.ByTag {
			m.Resources = append(m.Resources, tagged{resource{t}})
		} else {
			m.Resources = append(m.Resources, resource{t})
		}
	}
	return m
}

func newRegistry() *modules.Registry {
	r, err := modules.NewRegistry(Module())
	if err != nil {
		panic(err)
	}
	return r
}

// values are what users and other people write. "bad" is refused by the cloud,
// "lost" is accepted and not kept.
var values = map[string][]string{
	"cidr": {"10", "20", "bad"}, "note": {"a", "b", "c", "", "bad", "lost"}, "tags": {`{"k":"a"}`, `{"k":"b"}`, ""},
	"size": {"s", "m", "l", "", "lost"}, "name": {"ann", "bob", "cat", "dan"}, "kind": {"x", "y", ""},
	"value": {"a", "b", "c", "", "bad"}, "secret": {"one", "two", "three", ""}, "image": {"i", "j"},
	"spec": {"a", "A", "b", ""},
}

func value(column string, pick int) modules.Value {
	list := values[column]
	s := list[pick%len(list)]
	if s == "" {
		return modules.Null
	}
	return modules.Text(s)
}

func ref(t *modules.Table, id int64) decide.RecordRef { return decide.RecordRef{Table: t.Name, ID: id} }

// told says of tables that the cloud tells of calls that change their objects.
func told(tables ...*modules.Table) []*modules.Table {
	for _, t := range tables {
		t.EventMappings = []modules.EventMapping{{Source: "sim", Name: "Change", At: []string{"requestParameters.id"}}}
	}
	return tables
}
