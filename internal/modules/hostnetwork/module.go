// Package hostnetwork is the module host_network: what the network of hosts is made of, as far as a scope of theirs
// names it (tables host_interface, host_route and host_firewall_rule).
//
// Every change of it touches the way into the host, so that all of them are armed there: see package hosts.
package hostnetwork

import (
	"embed"
	"slices"

	"iasql/internal/hosts"
	"iasql/internal/hosts/runner"
	"iasql/internal/modules"
)

// Module returns the module host_network, which asks h.
func Module(h *hosts.Hosts) *modules.Module {
	return hosts.Module(sql, 1, modules.Module{
		Name:      "host_network",
		Version:   1,
		Doc:       "Interfaces, bridges, routes and firewall rules of hosts.",
		Resources: []modules.Resource{interfaces(h), routes(h), rules(h)},
	})
}

//go:embed sql
var sql embed.FS

// wayIn arms a change.
func wayIn(what, name string) *hosts.WayIn {
	return &hosts.WayIn{What: "a change of " + what + " " + name, Reason: "one gets in by the network"}
}

// text returns what a column says; nil if it is not asked for, and "" for NULL.
func text(r modules.Row, columns []string, name string) *string {
	if columns != nil && !slices.Contains(columns, name) {
		return nil
	}
	value := r[name].String()
	return &value
}

// number returns what a column says; nil if it is not asked for, or NULL.
func number(r modules.Row, columns []string, name string) *int64 {
	if columns != nil && !slices.Contains(columns, name) || r[name].IsNull() {
		return nil
	}
	value := r[name].Int()
	return &value
}

// list returns what a column says; nil if it is not asked for, and an empty list for NULL.
func list(r modules.Row, columns []string, name string) *[]string {
	if columns != nil && !slices.Contains(columns, name) {
		return nil
	}
	value := slices.Clone(r[name].Strings())
	if value == nil {
		value = []string{}
	}
	return &value
}

func said(p *string) modules.Value {
	if p == nil {
		return modules.Null
	}
	return modules.NonEmpty(*p)
}

// Names of columns.
const (
	columnName, columnKind, columnPeer, columnUp         = "name", "kind", "peer", "up"
	columnMTU, columnMaster, columnAddresses, columnMAC  = "mtu", "master", "addresses", "mac"
	columnMetric, columnDestination                      = "metric", "destination"
	columnGateway, columnInterface                       = "gateway", "interface"
	columnChain, columnPosition, columnStates            = "chain", "position", "states"
	columnSource, columnProtocol, columnPort, columnDoes = "source", "protocol", "port", "action"
)

var interfaceTable = hosts.NamedTable(modules.Table{
	Name: "host_interface",
	Doc: "The network interfaces that a row of host_scope of the kind interface names. A bridge and its members can " +
		"be " +
		"made in one transaction: a member waits for its bridge.",
	Columns: []modules.Column{
		{Name: columnName, Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true,
			Check: `name ~ '^[^[:space:]/:]+$' AND octet_length(name) <= 15 AND name NOT IN ('.', '..')`,
			Doc:   "Its name, such as br0."},
		{Name: columnKind, Type: modules.TypeText, Required: true, CreateOnly: true, Default: "'bridge'",
			Enum: []string{"bridge", "veth"},
			Doc: "What it is. One can make bridge and veth; others are there, such as physical, loopback, vlan, and " +
				"are changed, not made."},
		{Name: columnPeer, Type: modules.TypeText, CreateOnly: true, OptionalComputed: true, Check: "peer <> ''",
			Doc: "The name of the other end of a veth, which is made along with it, and goes with it. NULL if that " +
				"is in " +
				"another namespace."},
		{Name: columnUp, Type: modules.TypeBool, Required: true, Default: "true", Doc: "Whether it is up."},
		{Name: columnMTU, Type: modules.TypeInteger, OptionalComputed: true, Check: "mtu BETWEEN 68 AND 65536",
			Doc: "How many bytes a packet may have. NULL: what the kernel chooses."},
		{Name: columnMaster, Type: modules.TypeText, Check: "master <> '' AND master <> name",
			Doc: "The bridge that it is joined to, by its name. It waits until that is there."},
		{Name: columnAddresses, Type: modules.TypeTexts, Unordered: true, EmptyIsNull: true, Equal: sameAddresses,
			Doc: "Its addresses with the length of their network, such as 192.0.2.7/24. Those that DHCP or a router " +
				"has " +
				"assigned for a time, and those of IPv6 that the kernel makes by itself, are left out."},
		{Name: columnMAC, Type: modules.TypeText, Computed: true, Doc: "Its hardware address."},
	},
})

// sameAddresses compares lists of addresses as JSON has them.
func sameAddresses(a, b string) bool {
	return runner.SameAddresses(modules.Text(a).Strings(), modules.Text(b).Strings())
}

func interfaces(h *hosts.Hosts) modules.Resource {
	return &hosts.Writer[runner.Interface]{Reader: hosts.Reader[runner.Interface]{Hosts: h, Of: interfaceTable,
		Kind: hosts.Kind[runner.Interface]{Name: runner.KindInterface, Scope: runner.KindInterface,
			Key: func(i *runner.Interface) string { return i.Name },
			WayIn: func(want, have *runner.Interface) *hosts.WayIn {
				return wayIn("interface", runner.Either(want, have).Name)
			}},
		Row: func(i *runner.Interface) modules.Row {
			r := modules.Row{columnName: modules.Text(i.Name), columnKind: modules.NonEmpty(i.Kind),
				columnPeer: modules.NonEmpty(i.Peer), columnUp: modules.Bool(i.Up != nil && *i.Up),
				columnMTU: modules.IntPtr(i.MTU), columnMaster: said(i.Master), columnAddresses: modules.Null,
				columnMAC: modules.NonEmpty(i.MAC)}
			if i.Has != nil && len(*i.Has) > 0 {
				r[columnAddresses] = modules.Strings(*i.Has)
			}
			return r
		},
		Thing: func(r modules.Row, columns []string) *runner.Interface {
			i := &runner.Interface{Name: r[columnName].String(), MTU: number(r, columns, columnMTU),
				Master: text(r, columns, columnMaster), Has: list(r, columns, columnAddresses)}
			if columns == nil { // fixed when it is made
				i.Kind, i.Peer = r[columnKind].String(), r[columnPeer].String()
			}
			if up := text(r, columns, columnUp); up != nil {
				is := *up == "true"
				i.Up = &is
			}
			return i
		}}}
}

var routeTable = hosts.NamedTable(modules.Table{ // two cannot have one destination and metric
	Name: "host_route",
	Doc: "The routes of the main table that a row of host_scope of the kind route names by their destination. Those " +
		"that the kernel makes of addresses, or a router has announced, are left out.",
	Columns: []modules.Column{
		{Name: columnMetric, Type: modules.TypeBigint, Required: true, Identity: true, CreateOnly: true, Default: "0",
			Check: "metric BETWEEN 0 AND 4294967295",
			Doc: "Of several routes to one destination the one with the lowest is taken. Of IPv6 it is at least 1, " +
				"and " +
				"1024 if nobody says it."},
		{Name: columnDestination, Type: modules.TypeCIDR, Required: true, Identity: true, CreateOnly: true,
			Doc: "Where it leads to, such as 10.0.0.0/8; 0.0.0.0/0 or ::/0 is the default route."},
		{Name: columnGateway, Type: modules.TypeInet, Doc: "The address of the next host on the way. NULL: none."},
		{Name: columnInterface, Type: modules.TypeText, OptionalComputed: true, Check: "interface <> ''",
			Doc: "The interface by which it leads there. NULL: the one that leads to the gateway."},
	},
	Checks: []string{"family(destination) = 4 OR metric > 0"},
})

func routes(h *hosts.Hosts) modules.Resource {
	return &hosts.Writer[runner.Route]{Reader: hosts.Reader[runner.Route]{Hosts: h, Of: routeTable,
		Kind: hosts.Kind[runner.Route]{Name: runner.KindRoute, Scope: runner.KindRoute, Key: (*runner.Route).Key,
			Scoped: func(r *runner.Route) string { return r.Destination },
			WayIn: func(want, have *runner.Route) *hosts.WayIn {
				return wayIn("the route to", runner.Either(want, have).Destination)
			}},
		Row: func(r *runner.Route) modules.Row {
			return modules.Row{columnMetric: modules.Int(r.Metric), columnDestination: modules.Text(r.Destination),
				columnGateway: said(r.Gateway), columnInterface: said(r.Interface)}
		},
		Thing: func(r modules.Row, columns []string) *runner.Route {
			route := &runner.Route{Metric: r[columnMetric].Int(), Destination: r[columnDestination].String(),
				Gateway: text(r, columns, columnGateway), Interface: text(r, columns, columnInterface)}
			if columns != nil && !r[columnGateway].IsNull() && !slices.Contains(columns, columnInterface) {
				// Another gateway may be reached by another interface.
				route.Interface = new(string)
			}
			return route
		}}}
}

var ruleTable = hosts.NamedTable(modules.Table{
	Name: "host_firewall_rule",
	Doc: "Rules of the firewall: those of the table inet iasql of nftables that a row of host_scope of the kind " +
		"firewall " +
		"names. No other table is looked at. What a rule says of a packet has to be true all together.",
	Columns: []modules.Column{
		{Name: columnName, Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true,
			Check: `name <> '' AND name !~ '[[:cntrl:]]' AND octet_length(name) <= 100`,
			Doc:   "Its name, which nft shows in the rule's comment, behind the position."},
		{Name: columnChain, Type: modules.TypeText, Required: true, Default: "'input'",
			Enum: []string{"input", "forward", "output"},
			Doc:  "Whether it is asked of what comes to the host, goes through it, or comes from it."},
		{Name: columnPosition, Type: modules.TypeInteger, Required: true, Default: "100", Check: "position >= 0",
			Doc: "The rules of a chain are asked in the order of their positions, and of their names. The first that " +
				"fits decides; if none does, the packet is accepted."},
		{Name: columnInterface, Type: modules.TypeText, Check: "interface <> '' AND octet_length(interface) <= 15",
			Doc: "The interface by which a packet comes or, in the chain output, goes. NULL: any."},
		{Name: columnStates, Type: modules.TypeTexts, Unordered: true, EmptyIsNull: true,
			Check: "states <@ ARRAY['new', 'established', 'related', 'invalid']",
			Doc:   "What its connection is, one of: new, established, related, invalid. NULL: any."},
		{Name: columnSource, Type: modules.TypeCIDR, Doc: "The network that it comes from. NULL: any."},
		{Name: columnDestination, Type: modules.TypeCIDR, Doc: "The network that it goes to. NULL: any."},
		{Name: columnProtocol, Type: modules.TypeText, Enum: []string{"tcp", "udp", "icmp", "icmpv6"},
			Doc: "Its protocol. NULL: any."},
		{Name: columnPort, Type: modules.TypeText, Check: "port ~ '^[0-9]{1,5}(-[0-9]{1,5})?$'",
			Doc: "The port that it goes to, or the first and last of several: 22, 8000-8100. The protocol is tcp or " +
				"udp then. NULL: any."},
		{Name: columnDoes, Type: modules.TypeText, Required: true, Enum: []string{"accept", "drop", "reject"},
			Doc: "What becomes of it."},
	},
	Checks: []string{"port IS NULL OR protocol IS NOT NULL AND protocol IN ('tcp', 'udp')",
		"source IS NULL OR destination IS NULL OR family(source) = family(destination)"},
})

func rules(h *hosts.Hosts) modules.Resource {
	return &hosts.Writer[runner.Rule]{Reader: hosts.Reader[runner.Rule]{Hosts: h, Of: ruleTable,
		Kind: hosts.Kind[runner.Rule]{Name: runner.KindFirewall, Scope: runner.KindFirewall,
			Key: func(r *runner.Rule) string { return r.Name },
			WayIn: func(want, have *runner.Rule) *hosts.WayIn {
				return wayIn("firewall rule", runner.Either(want, have).Name)
			}},
		Row: func(r *runner.Rule) modules.Row {
			row := modules.Row{columnName: modules.Text(r.Name), columnChain: said(r.Chain),
				columnPosition: modules.IntPtr(r.Position), columnInterface: said(r.Interface),
				columnStates: modules.Null,
				columnSource: said(r.Source), columnDestination: said(r.Destination), columnProtocol: said(r.Protocol),
				columnPort: said(r.Port), columnDoes: said(r.Action)}
			if r.States != nil && len(*r.States) > 0 {
				row[columnStates] = modules.Strings(*r.States)
			}
			return row
		},
		Thing: func(r modules.Row, columns []string) *runner.Rule {
			return &runner.Rule{Name: r[columnName].String(), Chain: text(r, columns, columnChain),
				Position: number(r, columns, columnPosition), Interface: text(r, columns, columnInterface),
				States: list(r, columns, columnStates), Source: text(r, columns, columnSource),
				Destination: text(r, columns, columnDestination), Protocol: text(r, columns, columnProtocol),
				Port: text(r, columns, columnPort), Action: text(r, columns, columnDoes)}
		}}}
}
