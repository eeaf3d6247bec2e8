package hostcontainers

import (
	"context"
	"net/netip"
	"slices"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"iasql/internal/hosts"
	"iasql/internal/modules"
)

const (
	columnSubnet, columnGateway, columnInternal, columnNetworkID = "subnet", "gateway", "internal", "network_id"
)

var networkTable = hosts.NamedTable(modules.Table{ // two that are called the same would be confused
	Name: "host_container_network",
	Doc: "The networks of containers that Docker or Podman has on a host, and that a row of host_scope of the kind " +
		"container_network names. Those that are always there (bridge, host, none, podman) are left out. A network " +
		"that a container uses is not deleted.",
	Columns: []modules.Column{
		{Name: columnName, Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true,
			Check: `name ~ '` + objectName + `' AND name NOT IN ('bridge', 'host', 'none', 'default', 'podman', 'container')`,
			Doc:   "Its name, such as backend."},
		{Name: columnDriver, Type: modules.TypeText, Required: true, CreateOnly: true, Default: "'bridge'",
			Doc: "What makes it: bridge, macvlan, ipvlan."},
		{Name: columnSubnet, Type: modules.TypeCIDR, OptionalComputed: true, CreateOnly: true,
			Doc: "The addresses of its containers, such as 172.30.0.0/24. NULL: some that are free."},
		{Name: columnGateway, Type: modules.TypeInet, OptionalComputed: true, CreateOnly: true,
			Doc: "The host's address in it. NULL: the first."},
		{Name: columnInternal, Type: modules.TypeBool, Required: true, CreateOnly: true, Default: "false",
			Doc: "Whether it leads nowhere else."},
		{Name: columnOptions, Type: modules.TypeJSON, CreateOnly: true, EmptyIsNull: true,
			Check: "jsonb_typeof(options) = 'object'",
			Doc:   `Options of the driver, as texts: {"com.docker.network.driver.mtu": "1400"}.`},
		{Name: columnLabels, Type: modules.TypeJSON, CreateOnly: true, EmptyIsNull: true,
			Check: "jsonb_typeof(labels) = 'object'", Doc: "Its labels, as texts."},
		{Name: columnNetworkID, Type: modules.TypeText, Computed: true, Incarnation: true, Doc: "Its id."},
	},
})

// always are the networks that are always there.
var always = []string{"bridge", "host", "none", "podman"}

func networks(h *hosts.Hosts) modules.Resource {
	return &exclusive{resource: resource{hosts: h, of: networkTable, kind: hosts.KindContained, read: readNetworks},
		noun: "ContainerNetwork", create: createNetwork,
		remove: func(ctx context.Context, host string, c *client.Client, have modules.Row) error {
			name := have[columnName].String()
			_, err := c.NetworkRemove(ctx, name, client.NetworkRemoveOptions{})
			switch {
			case errdefs.IsNotFound(err):
				return nil
			case errdefs.IsConflict(err), err != nil && strings.Contains(err.Error(), "active endpoints"),
				err != nil && strings.Contains(err.Error(), "being used"):
				return inUse(host, "network", name, err)
			}
			return err
		}}
}

func createNetwork(ctx context.Context, host string, c *client.Client, want modules.Row) error {
	name := want[columnName].String()
	// An older Docker makes several networks of one name.
	there := false
	if err := readNetworks(ctx, host, c, func(other, _ string) bool { return other == name }, func(thing) error {
		there = true
		return nil
	}); err != nil {
		return err
	}
	if there {
		return hosts.Failure(modules.Exists, "Exists", host, "there is a network %s already", name)
	}
	options := client.NetworkCreateOptions{Driver: want[columnDriver].String(), Internal: want[columnInternal].Bool(),
		Options: want[columnOptions].StringMap(), Labels: made(want[columnLabels].StringMap())}
	if !want[columnSubnet].IsNull() || !want[columnGateway].IsNull() {
		config := network.IPAMConfig{}
		var err error
		if subnet := want[columnSubnet]; !subnet.IsNull() {
			if config.Subnet, err = netip.ParsePrefix(subnet.String()); err != nil {
				return invalid(host, "network %s: subnet %s is none: %v", name, subnet, err)
			}
			if config.Subnet.Addr().Is6() {
				enable := true
				options.EnableIPv6 = &enable
			}
		}
		if gateway := want[columnGateway]; !gateway.IsNull() {
			if config.Gateway, err = netip.ParseAddr(gateway.String()); err != nil {
				return invalid(host, "network %s: gateway %s is no address: %v", name, gateway, err)
			}
		}
		options.IPAM = &network.IPAM{Driver: "default", Config: []network.IPAMConfig{config}}
	}
	_, err := c.NetworkCreate(ctx, name, options)
	if errdefs.IsPermissionDenied(err) { // what it cannot make: addresses that overlap
		return invalid(host, "network %s: %s", name, hosts.Words(err))
	}
	return err
}

func readNetworks(ctx context.Context, _ string, c *client.Client, want wanted, each func(thing) error) error {
	all, err := c.NetworkList(ctx, client.NetworkListOptions{})
	if err != nil {
		return err
	}
	for i := range all.Items {
		n := &all.Items[i]
		owner := ownerOf(n.Labels)
		if slices.Contains(always, n.Name) || n.Ingress || !validName.MatchString(n.Name) || !want(n.Name, owner) {
			continue
		}
		row := modules.Row{columnName: modules.Text(n.Name), columnDriver: modules.Text(n.Driver),
			columnSubnet: modules.Null, columnGateway: modules.Null, columnInternal: modules.Bool(n.Internal),
			columnOptions: jsonMap(n.Options), columnLabels: jsonMap(n.Labels, mark),
			columnNetworkID: modules.NonEmpty(n.ID)}
		for _, config := range n.IPAM.Config {
			if config.Subnet.IsValid() && row[columnSubnet].IsNull() {
				row[columnSubnet] = modules.Text(config.Subnet.Masked().String())
				if config.Gateway.IsValid() {
					row[columnGateway] = modules.Text(config.Gateway.String())
				}
			}
		}
		if err := each(thing{name: n.Name, owner: owner, row: row}); err != nil {
			return err
		}
	}
	return nil
}
