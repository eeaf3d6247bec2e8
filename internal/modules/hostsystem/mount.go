package hostsystem

import (
	"iasql/internal/hosts"
	"iasql/internal/hosts/runner"
	"iasql/internal/modules"
)

// The columns of host_mount.
const (
	columnMountPoint, columnDevice, columnFileSystem = "mount_point", "device", "file_system"
	columnOptions, columnDump, columnPass            = "options", "dump", "pass"
	columnMounted                                    = "mounted"
)

var mountTable = table("host_mount",
	"The lines of /etc/fstab about the mount points that a row of host_scope of the kind mount names. Other lines "+
		"stay as they are. It is mounted before the line is written: what cannot be mounted gets no line. What a host "+
		"is none without, such as / and what is at or below /boot and /usr, is shown and not changed.",
	modules.Column{Name: columnMountPoint, Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true,
		Check: `mount_point ~ '^(/[^/[:cntrl:]]+)+$' AND mount_point !~ '/\.\.?(/|$)'`,
		Doc: "Where it is mounted, such as /srv/data: a directory that is there, and above which nobody but root may " +
			"write."},
	modules.Column{Name: columnDevice, Type: modules.TypeText, Required: true, Check: `device ~ '^[^[:cntrl:]]+$'`,
		Doc: "What is mounted: a device, LABEL=data, UUID=…, server:/path, or for example tmpfs. Another one takes " +
			"the place of what is mounted, if nothing uses that."},
	modules.Column{Name: columnFileSystem, Type: modules.TypeText, Required: true, Default: "'auto'",
		Check: `file_system ~ '^[^[:space:][:cntrl:]]+$' AND file_system <> 'swap'`, Doc: "Its kind, such as ext4."},
	modules.Column{Name: columnOptions, Type: modules.TypeText, Required: true, Default: "'defaults'",
		Check: `options ~ '^[^[:space:][:cntrl:]]+$'`,
		Doc:   "The options of mount(8), with commas between. What is mounted gets others at once (remount)."},
	modules.Column{Name: columnDump, Type: modules.TypeInteger, Required: true, Default: "0",
		Check: `dump >= 0`, Doc: "Whether dump(8) takes it: 0 or 1."},
	modules.Column{Name: columnPass, Type: modules.TypeInteger, Required: true, Default: "0",
		Check: `pass >= 0`, Doc: "In which order fsck(8) checks it when the host starts; 0: it does not."},
	// As of host_sysctl.applied.
	modules.Column{Name: columnMounted, Type: modules.TypeBool, Required: true, Default: "(NOT false)",
		Doc: "Whether something is mounted there now. What is in use is not unmounted. Whether it is mounted when " +
			"the host starts the options say: noauto. Below a root directory that is not the machine's nothing is " +
			"mounted."})

func mounts(h *hosts.Hosts) modules.Resource {
	return &hosts.Writer[runner.Mount]{Reader: hosts.Reader[runner.Mount]{Hosts: h, Of: mountTable,
		Kind: hosts.Kind[runner.Mount]{Name: runner.KindMount, Scope: runner.KindMount,
			Key: func(m *runner.Mount) string { return m.Point },
			WayIn: func(want, have *runner.Mount) *hosts.WayIn {
				return &hosts.WayIn{What: "a change of what is mounted at " + runner.Either(want, have).Point,
					Reason: "what is mounted hides what was there", Files: []string{runner.FstabFile}}
			}},
		Row: func(m *runner.Mount) modules.Row {
			r := modules.Row{columnMountPoint: modules.Text(m.Point), columnDevice: modules.TextPtr(m.Device),
				columnFileSystem: modules.TextPtr(m.Type), columnOptions: modules.TextPtr(m.Options),
				columnDump: modules.IntPtr(m.Dump), columnPass: modules.IntPtr(m.Pass)}
			set(r, columnMounted, m.Mounted)
			return r
		},
		Thing: func(r modules.Row, columns []string) *runner.Mount {
			given := hosts.Given{Row: r, Columns: columns}
			return &runner.Mount{Point: r[columnMountPoint].String(), Device: given.Chosen(columnDevice),
				Type: given.Chosen(columnFileSystem), Options: given.Chosen(columnOptions),
				Dump: given.Int(columnDump), Pass: given.Int(columnPass), Mounted: given.Bool(columnMounted)}
		}}}
}
