// Package hostfacts is the module host_facts: what is read of hosts and cannot be written, as far as a scope of kind
// facts names it (tables host_system, host_process, host_port, host_disk,
// host_address). It has nothing that changes all the time,
// so that a quiet host writes nothing.
package hostfacts

import (
	"embed"
	"time"

	"iasql/internal/hosts"
	"iasql/internal/hosts/runner"
	"iasql/internal/modules"
)

// Module returns the module host_facts, which asks h.
func Module(h *hosts.Hosts) *modules.Module {
	return hosts.Module(sql, 2, modules.Module{
		Name:      "host_facts",
		Version:   2,
		Doc:       "What is read of hosts: operating systems, processes, ports, disks, addresses.",
		Resources: []modules.Resource{addresses(h), disks(h), ports(h), processes(h), systems(h)},
	})
}

//go:embed sql
var sql embed.FS

// The columns.
const (
	columnPID, columnName, columnExecutable, columnUser = "pid", "name", "executable", "user_name"
	columnStarted, columnProtocol, columnAddress        = "started", "protocol", "address"
	columnPort, columnProcess, columnMountPoint         = "port", "process", "mount_point"
	columnDevice, columnFileSystem, columnReadOnly      = "device", "file_system", "read_only"
	columnSize, columnUsed, columnInterface             = "size", "used_percent", "interface"
	columnScope, columnBootID, columnHostName           = "scope", "boot_id", "host_name"
	columnOS, columnOSVersion, columnOSName             = "os", "os_version", "os_name"
	columnKernel, columnArchitecture, columnBooted      = "kernel", "architecture", "booted"
	columnProcessors, columnMemory                      = "processors", "memory"
)

// read describes a table of what is read.
func read(name, doc string, columns ...modules.Column) *modules.Table {
	t := &modules.Table{Name: name, Doc: doc, Provider: hosts.Provider, Reach: modules.PerAccount,
		Creation: modules.ByName, Columns: []modules.Column{hosts.AccountColumn()}}
	for _, c := range columns {
		c.Computed = true
		t.Columns = append(t.Columns, c)
	}
	return t
}

// reader makes the resource of a kind whose things a row names by its identity.
func reader[T any](h *hosts.Hosts, of *modules.Table, kind hosts.Kind[T], row func(*T) modules.Row,
	thing func(modules.Row) *T) modules.Resource {
	kind.Scope, kind.Prefix, kind.Passing = hosts.KindFacts, kind.Name+":", true
	return &hosts.Reader[T]{Hosts: h, Of: of, Kind: kind, Row: row,
		Thing: func(r modules.Row, _ []string) *T { return thing(r) }}
}

// sameTime: a machine whose clock is set sees its processes start a little earlier or later.
func sameTime(a, b string) bool {
	x, err := time.Parse(time.RFC3339Nano, a)
	y, err2 := time.Parse(time.RFC3339Nano, b)
	return err == nil && err2 == nil && x.Sub(y).Abs() <= time.Minute
}

func processes(h *hosts.Hosts) modules.Resource {
	table := read("host_process", "The processes that have run for a minute at least and that a row of host_scope of "+
		"kind facts names, such as process:nginx*. Threads of the kernel are left out. So are arguments, which may "+
		"have secrets, and what changes all the time, such as memory and time of the processor.",
		modules.Column{Name: columnPID, Type: modules.TypeBigint, Identity: true, Doc: "Its number."},
		modules.Column{Name: columnName, Type: modules.TypeText, Doc: "Its name, of up to 15 characters."},
		modules.Column{Name: columnExecutable, Type: modules.TypeText, Doc: "The path of the program; NULL if the " +
			"login may not know."},
		modules.Column{Name: columnUser, Type: modules.TypeText, Doc: "Whom it runs as: a name, or else a number."},
		modules.Column{Name: columnStarted, Type: modules.TypeTime, Equal: sameTime, Doc: "When it was started."})
	return reader(h, table, hosts.Kind[runner.Process]{Name: runner.KindProcess, Key: (*runner.Process).Key,
		Scoped: (*runner.Process).Scoped},
		func(p *runner.Process) modules.Row {
			return modules.Row{columnPID: modules.Int(p.PID), columnName: modules.Text(p.Name),
				columnExecutable: modules.NonEmpty(p.Executable), columnUser: modules.NonEmpty(p.User),
				columnStarted: modules.TimePtr(&p.Started)}
		}, func(r modules.Row) *runner.Process {
			return &runner.Process{PID: r[columnPID].Int(), Name: r[columnName].String()}
		})
}

func ports(h *hosts.Hosts) modules.Resource {
	table := read("host_port", "The ports that somebody listens on and that a row of host_scope of kind facts "+
		"names, such as port:tcp:*. UDP ports that the kernel hands out by itself are left out.",
		modules.Column{Name: columnProtocol, Type: modules.TypeText, Identity: true, Doc: "tcp, tcp6, udp or udp6."},
		modules.Column{Name: columnAddress, Type: modules.TypeText, Identity: true, Doc: "The address that it " +
			"listens on: 0.0.0.0 or :: stand for all."},
		modules.Column{Name: columnPort, Type: modules.TypeInteger, Identity: true, Doc: "The port."},
		modules.Column{Name: columnUser, Type: modules.TypeText, Doc: "Whose the socket is: a name, or else a number."},
		modules.Column{Name: columnProcess, Type: modules.TypeText, Doc: "The name of the process that listens, of " +
			"several the first; NULL if the login may not know."},
		modules.Column{Name: columnPID, Type: modules.TypeBigint, Doc: "Its number, as in host_process."})
	return reader(h, table, hosts.Kind[runner.Port]{Name: runner.KindPort, Key: (*runner.Port).Key,
		Scoped: (*runner.Port).Scoped},
		func(p *runner.Port) modules.Row {
			r := modules.Row{columnProtocol: modules.Text(p.Protocol), columnAddress: modules.Text(p.Address),
				columnPort: modules.Int(p.Port), columnUser: modules.NonEmpty(p.User),
				columnProcess: modules.NonEmpty(p.Process), columnPID: modules.Null}
			if p.PID != 0 {
				r[columnPID] = modules.Int(p.PID)
			}
			return r
		}, func(r modules.Row) *runner.Port {
			return &runner.Port{Protocol: r[columnProtocol].String(), Address: r[columnAddress].String(),
				Port: r[columnPort].Int()}
		})
}

func disks(h *hosts.Hosts) modules.Resource {
	table := read("host_disk", "The file systems of block devices that are mounted and that a row of host_scope of "+
		"kind facts names, such as disk:*. Those of a network are left out.",
		modules.Column{Name: columnMountPoint, Type: modules.TypeText, Identity: true, Doc: "Where it is mounted."},
		modules.Column{Name: columnDevice, Type: modules.TypeText, Doc: "The device, such as /dev/sda1."},
		modules.Column{Name: columnFileSystem, Type: modules.TypeText, Doc: "Its kind, such as ext4."},
		modules.Column{Name: columnReadOnly, Type: modules.TypeBool, Doc: "Whether nothing can be written to it."},
		modules.Column{Name: columnSize, Type: modules.TypeBigint, Doc: "How many bytes it has."},
		modules.Column{Name: columnUsed, Type: modules.TypeInteger, Doc: "How full it is, in per cent down to the " +
			"next ten: so it changes seldom."})
	return reader(h, table, hosts.Kind[runner.Disk]{Name: runner.KindDisk, Key: (*runner.Disk).Key,
		Scoped: (*runner.Disk).Scoped},
		func(d *runner.Disk) modules.Row {
			return modules.Row{columnMountPoint: modules.Text(d.MountPoint), columnDevice: modules.NonEmpty(d.Device),
				columnFileSystem: modules.NonEmpty(d.FileSystem), columnReadOnly: modules.Bool(d.ReadOnly),
				columnSize: modules.Int(d.Size), columnUsed: modules.Int(d.Used)}
		}, func(r modules.Row) *runner.Disk { return &runner.Disk{MountPoint: r[columnMountPoint].String()} })
}

func addresses(h *hosts.Hosts) modules.Resource {
	table := read("host_address", "The IP addresses of interfaces that a row of host_scope of kind facts names, "+
		"such as address:eth*. Temporary ones of IPv6 are left out.",
		modules.Column{Name: columnInterface, Type: modules.TypeText, Identity: true, Doc: "The interface, such as " +
			"eth0."},
		modules.Column{Name: columnAddress, Type: modules.TypeInet, Identity: true, Doc: "The address, with the " +
			"length of its network's prefix."},
		modules.Column{Name: columnScope, Type: modules.TypeText, Doc: "How far it is valid: global, site, link or " +
			"host."})
	return reader(h, table, hosts.Kind[runner.Address]{Name: runner.KindAddress, Key: (*runner.Address).Key,
		Scoped: (*runner.Address).Scoped},
		func(a *runner.Address) modules.Row {
			return modules.Row{columnInterface: modules.Text(a.Interface), columnAddress: modules.Text(a.Address),
				columnScope: modules.NonEmpty(a.Scope)}
		}, func(r modules.Row) *runner.Address {
			return &runner.Address{Interface: r[columnInterface].String(), Address: r[columnAddress].String()}
		})
}

func systems(h *hosts.Hosts) modules.Resource {
	table := read("host_system", "The operating system that runs on a host, if a row of host_scope of kind facts "+
		"names it by the host's name of itself, such as system:*. After a boot it is another record.",
		modules.Column{Name: columnBootID, Type: modules.TypeText, Identity: true, Doc: "What tells one boot of the " +
			"machine from another."},
		modules.Column{Name: columnHostName, Type: modules.TypeText, Doc: "What the machine calls itself."},
		modules.Column{Name: columnOS, Type: modules.TypeText, Doc: "The distribution, as ID of os-release(5) has " +
			"it, such as debian; NULL if the machine does not say."},
		modules.Column{Name: columnOSVersion, Type: modules.TypeText, Doc: "Its version, such as 12; NULL of one " +
			"that has none."},
		modules.Column{Name: columnOSName, Type: modules.TypeText, Doc: "Its name for people, such as Debian " +
			"GNU/Linux 12 (bookworm)."},
		modules.Column{Name: columnKernel, Type: modules.TypeText, Doc: "The release of the kernel that runs."},
		modules.Column{Name: columnArchitecture, Type: modules.TypeText, Doc: "What uname -m says, such as x86_64."},
		modules.Column{Name: columnBooted, Type: modules.TypeTime, Equal: sameTime, Doc: "When it was started."},
		modules.Column{Name: columnProcessors, Type: modules.TypeInteger, Doc: "How many processors it may use."},
		modules.Column{Name: columnMemory, Type: modules.TypeBigint, Doc: "How many bytes of memory it has."})
	return reader(h, table, hosts.Kind[runner.System]{Name: runner.KindSystem, Key: (*runner.System).Key,
		Scoped: (*runner.System).Scoped},
		func(s *runner.System) modules.Row {
			return modules.Row{columnBootID: modules.Text(s.BootID), columnHostName: modules.NonEmpty(s.HostName),
				columnOS: modules.NonEmpty(s.OS), columnOSVersion: modules.NonEmpty(s.OSVersion),
				columnOSName: modules.NonEmpty(s.OSName), columnKernel: modules.NonEmpty(s.Kernel),
				columnArchitecture: modules.NonEmpty(s.Architecture), columnBooted: modules.TimePtr(&s.Booted),
				columnProcessors: modules.Int(s.Processors), columnMemory: modules.Int(s.Memory)}
		}, func(r modules.Row) *runner.System {
			return &runner.System{BootID: r[columnBootID].String(), HostName: r[columnHostName].String()}
		})
}
