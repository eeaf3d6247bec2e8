// Package hostsystem is the module host_system: how the system of a host is set up, as far as a scope of it names that
// (tables host_sysctl, host_sudoer, host_cron, host_mount and host_repository).
package hostsystem

import (
	"embed"

	"iasql/internal/hosts"
	"iasql/internal/modules"
)

// Module returns the module host_system, which asks h.
func Module(h *hosts.Hosts) *modules.Module {
	return hosts.Module(sql, 1, modules.Module{
		Name:    "host_system",
		Version: 1,
		Doc: "How the system of a host is set up: settings of the kernel, who may become root, what cron " +
			"runs, what is mounted, and where apt gets packages from.",
		Resources: []modules.Resource{sysctls(h), sudoers(h), cron(h), mounts(h), repositories(h)},
	})
}

//go:embed sql
var sql embed.FS

// columnName is the column that names a thing.
const columnName = "name"

// table describes a table whose rows are named by a column, and of which no two have one name.
func table(name, doc string, columns ...modules.Column) *modules.Table {
	return hosts.NamedTable(modules.Table{Name: name, Doc: doc, Columns: columns})
}

// set puts a value into a row, unless nothing is known of it.
func set(r modules.Row, column string, is *bool) {
	if is != nil {
		r[column] = modules.Bool(*is)
	}
}
