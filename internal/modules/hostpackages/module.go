// Package hostpackages is the module host_packages: the packages of hosts that apt or dnf looks after, as far as
// a scope names them (table host_package).
package hostpackages

import (
	"embed"

	"iasql/internal/hosts"
	"iasql/internal/hosts/runner"
	"iasql/internal/modules"
)

// Module returns the module host_packages, which asks h.
func Module(h *hosts.Hosts) *modules.Module {
	return hosts.Module(sql, 1, modules.Module{
		Name:      "host_packages",
		Version:   1,
		Doc:       "Packages of hosts, by apt or dnf.",
		Resources: []modules.Resource{packages(h)},
	})
}

//go:embed sql
var sql embed.FS

// The columns of host_package.
const (
	columnName, columnArchitecture, columnVersion, columnLatest = "name", "architecture", "version", "latest"
	columnHeld, columnAutomatic, columnConfigured               = "held", "automatic", "configured"
	columnEssential, columnPurge, columnMayRemove               = "essential", "purge", "may_remove"
)

var table = hosts.NamedTable(modules.Table{
	Name: "host_package",
	Doc: "The packages that are installed on a host and that a row of host_scope names. An INSERT installs one, and " +
		"what it depends on; a DELETE removes it. What apt or dnf would remove besides is found out before: nothing " +
		"is done then, unless may_remove names that.",
	Columns: []modules.Column{
		{Name: columnName, Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true,
			Check: "name ~ '" + runner.PackageName + "'",
			Doc: "Its name, such as nginx. One of another architecture than the host's has that behind a colon: " +
				"libc6:i386, glibc:i686."},
		{Name: columnArchitecture, Type: modules.TypeText, Computed: true,
			Doc: "Its architecture, such as amd64 or x86_64, or all or noarch."},
		{Name: columnVersion, Type: modules.TypeText, OptionalComputed: true,
			Check: "version ~ '" + runner.PackageVersion + "'",
			Doc: "Its version, of rpm with the release and with the epoch unless that is 0: 1:1.20.1-14.el9. NULL: " +
				"what apt or dnf chooses. To bring it up to date: UPDATE host_package SET version = latest. An older " +
				"one is installed too. While the engine changes it, it is the old one."},
		{Name: columnLatest, Type: modules.TypeText, Computed: true,
			Doc: "The version that apt or dnf would choose now, by the repositories' lists and the host's " +
				"preferences; NULL if it knows of none."},
		{Name: columnHeld, Type: modules.TypeBool, Required: true, Default: "false",
			Doc: "Whether it is left at its version, as by apt-mark hold or dnf versionlock, which is a plugin. You " +
				"may change its version here nevertheless."},
		// What an INSERT does not say is taken from a package that is there. These two it says always, which a default
		// that is spelt otherwise than the value means: whoever wants a package wants it for itself, and whole.
		{Name: columnAutomatic, Type: modules.TypeBool, Required: true, Default: "(NOT true)",
			Doc: "Whether it was installed because another needs it, so that autoremove of apt-get or dnf may remove " +
				"it. The engine itself removes nothing for that."},
		{Name: columnConfigured, Type: modules.TypeBool, Required: true, Default: "(NOT false)",
			Doc: "Whether what was begun with it has ended, triggers and a purge included. false after an " +
				"interruption: set it to true to have it go on. What the engine itself began goes on unasked."},
		{Name: columnEssential, Type: modules.TypeBool, Computed: true,
			Doc: "Whether the host cannot be without it. Such a package is never removed, nor are the kernel, " +
				"systemd, sudo and openssh-server."},
		{Name: columnPurge, Type: modules.TypeBool, Required: true, Default: "false", Local: true,
			Doc: "Whether a DELETE removes its configuration too, which dnf refuses. The host does not know of it."},
		{Name: columnMayRemove, Type: modules.TypeTexts, Local: true, Unordered: true, EmptyIsNull: true,
			Doc: "The names of packages that may be removed besides when this one is installed, changed or removed. " +
				"The host does not know of it."},
	},
})

func packages(h *hosts.Hosts) modules.Resource {
	return &hosts.Writer[runner.Package]{Reader: hosts.Reader[runner.Package]{Hosts: h, Of: table, Row: row,
		Thing: thing, Kind: hosts.Kind[runner.Package]{Name: runner.KindPackage, Scope: hosts.KindPackage,
			Key: func(p *runner.Package) string { return p.Name }}}}
}

func row(p *runner.Package) modules.Row {
	r := modules.Row{columnName: modules.Text(p.Name), columnArchitecture: modules.NonEmpty(p.Architecture),
		columnVersion: modules.NonEmpty(p.Version), columnEssential: modules.Bool(p.Essential)}
	if p.Latest != nil {
		r[columnLatest] = modules.NonEmpty(*p.Latest)
	}
	for column, is := range map[string]*bool{columnHeld: p.Held, columnAutomatic: p.Automatic,
		columnConfigured: p.Configured} {
		if is != nil {
			r[column] = modules.Bool(*is)
		}
	}
	return r
}

func thing(r modules.Row, columns []string) *runner.Package {
	given := hosts.Given{Row: r, Columns: columns}
	p := &runner.Package{Name: r[columnName].String(), Held: given.Bool(columnHeld),
		Automatic: given.Bool(columnAutomatic), Configured: given.Bool(columnConfigured),
		Purge: r[columnPurge].Bool(), MayRemove: r[columnMayRemove].Strings()}
	if version := given.Chosen(columnVersion); version != nil {
		p.Version = *version
	}
	return p
}
