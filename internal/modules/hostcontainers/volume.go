package hostcontainers

import (
	"context"
	"regexp"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"iasql/internal/hosts"
	"iasql/internal/modules"
)

const columnMountpoint, columnCreatedAt = "mountpoint", "created_at"

var volumeTable = hosts.NamedTable(modules.Table{
	Name: "host_volume",
	Doc: "The volumes that Docker or Podman has on a host, and that a row of host_scope of the kind volume names. A " +
		"DELETE destroys what is in one. A volume that a container uses is not deleted.",
	HoldsData: true,
	Columns: []modules.Column{
		{Name: columnName, Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true,
			Check: `name ~ '` + objectName + `'`, Doc: "Its name, such as pgdata."},
		{Name: columnDriver, Type: modules.TypeText, Required: true, CreateOnly: true, Default: "'local'",
			Doc: "What keeps it."},
		{Name: columnOptions, Type: modules.TypeJSON, CreateOnly: true, EmptyIsNull: true,
			Check: "jsonb_typeof(options) = 'object'",
			Doc:   `Options of the driver, as texts: {"type": "nfs", "o": "addr=192.0.2.1", "device": ":/data"}.`},
		{Name: columnLabels, Type: modules.TypeJSON, CreateOnly: true, EmptyIsNull: true,
			Check: "jsonb_typeof(labels) = 'object'", Doc: "Its labels, as texts."},
		{Name: columnMountpoint, Type: modules.TypeText, Computed: true, Doc: "Where its files are on the host."},
		{Name: columnCreatedAt, Type: modules.TypeTime, Computed: true, Incarnation: true, Doc: "When it was made."},
	},
})

// anonymous are the names of volumes that nobody has named.
var anonymous = regexp.MustCompile(`^[0-9a-f]{64}$`)

func volumes(h *hosts.Hosts) modules.Resource {
	return &exclusive{resource: resource{hosts: h, of: volumeTable, kind: hosts.KindVolume, read: readVolumes},
		noun: "Volume",
		create: func(ctx context.Context, host string, c *client.Client, want modules.Row) error {
			name := want[columnName].String()
			// It would be given as if it had been made.
			if _, err := c.VolumeInspect(ctx, name, client.VolumeInspectOptions{}); !errdefs.IsNotFound(err) {
				if err == nil {
					err = hosts.Failure(modules.Exists, "Exists", host, "there is a volume %s already", name)
				}
				return err
			}
			_, err := c.VolumeCreate(ctx, client.VolumeCreateOptions{Name: name, Driver: want[columnDriver].String(),
				DriverOpts: want[columnOptions].StringMap(), Labels: made(want[columnLabels].StringMap())})
			return err
		},
		remove: func(ctx context.Context, host string, c *client.Client, have modules.Row) error {
			name := have[columnName].String()
			_, err := c.VolumeRemove(ctx, name, client.VolumeRemoveOptions{})
			switch {
			case errdefs.IsNotFound(err):
				return nil
			case errdefs.IsConflict(err):
				return inUse(host, "volume", name, err)
			}
			return err
		}}
}

func readVolumes(ctx context.Context, _ string, c *client.Client, want wanted, each func(thing) error) error {
	all, err := c.VolumeList(ctx, client.VolumeListOptions{})
	if err != nil {
		return err
	}
	for i := range all.Items {
		v := &all.Items[i]
		owner := ownerOf(v.Labels)
		if anonymous.MatchString(v.Name) {
			owner = v.Name
		}
		if !validName.MatchString(v.Name) || !want(v.Name, owner) {
			continue
		}
		row := modules.Row{columnName: modules.Text(v.Name), columnDriver: modules.Text(v.Driver),
			columnOptions: jsonMap(v.Options), columnLabels: jsonMap(v.Labels, mark),
			columnMountpoint: modules.NonEmpty(v.Mountpoint), columnCreatedAt: modules.Null}
		if at, err := modules.TypeTime.Canonical(v.CreatedAt); err == nil {
			row[columnCreatedAt] = modules.Text(at)
		}
		if err := each(thing{name: v.Name, owner: owner, row: row}); err != nil {
			return err
		}
	}
	return nil
}
