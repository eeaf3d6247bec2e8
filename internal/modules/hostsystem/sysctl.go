package hostsystem

import (
	"iasql/internal/hosts"
	"iasql/internal/hosts/runner"
	"iasql/internal/modules"
)

// The columns of host_sysctl.
const (
	columnValue, columnRunning, columnApplied, columnFile = "value", "running", "applied", "file"
)

var sysctlTable = table("host_sysctl",
	"The settings of the kernel that a file of sysctl.d makes and that a row of host_scope of the kind sysctl names. "+
		"What is written here goes into "+runner.SysctlFile+", which has the last word, and into the kernel at once. "+
		"Other files are left alone: a setting of theirs shows here, and has a line in that file while it has another "+
		"value here.",
	modules.Column{Name: columnName, Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true,
		Check: `name ~ '^[^[:space:][:cntrl:]./=*?\[#;-][^[:space:][:cntrl:]=*?\[]*$'`,
		Doc: "Its key, with dots between the parts and a slash for a dot within one: net.ipv4.ip_forward, " +
			"net.ipv4.conf.eth0/1.rp_filter."},
	modules.Column{Name: columnValue, Type: modules.TypeText, Required: true,
		Check: `value ~ '^([^[:space:][:cntrl:]]([^[:cntrl:]]*[^[:space:][:cntrl:]])?)?$'`,
		Doc: "What the files say that it is to be. It is refused if the kernel does not take it, or makes " +
			"something else of it."},
	// An INSERT says it always, which a default that is spelt otherwise than the value means: whoever writes a setting
	// that is there already wants it in the kernel, too.
	modules.Column{Name: columnApplied, Type: modules.TypeBool, Required: true, Default: "(NOT false)",
		Doc: "Whether the kernel has that value. false if somebody has given it another one since: set it to true to " +
			"have it applied again. A root directory that is not the machine's has no kernel."},
	modules.Column{Name: columnRunning, Type: modules.TypeText, Computed: true,
		Doc: "What the kernel has now; NULL if it has no such setting."},
	modules.Column{Name: columnFile, Type: modules.TypeText, Computed: true,
		Doc: "The file that has the last word. A DELETE is refused while a file that is not the engine's makes the " +
			"setting. The kernel goes on with the value then until the host is started anew."})

func sysctls(h *hosts.Hosts) modules.Resource {
	return &hosts.Writer[runner.Sysctl]{Reader: hosts.Reader[runner.Sysctl]{Hosts: h, Of: sysctlTable,
		Kind: hosts.Kind[runner.Sysctl]{Name: runner.KindSysctl, Scope: runner.KindSysctl,
			Key: func(s *runner.Sysctl) string { return s.Name },
			WayIn: func(want, have *runner.Sysctl) *hosts.WayIn {
				return &hosts.WayIn{What: "a change of the kernel's setting " + runner.Either(want, have).Name,
					Reason: "without the kernel nobody gets in", Files: []string{runner.SysctlFile}}
			}},
		Row: func(s *runner.Sysctl) modules.Row {
			r := modules.Row{columnName: modules.Text(s.Name), columnValue: modules.TextPtr(s.Value),
				columnRunning: modules.TextPtr(s.Running), columnFile: modules.NonEmpty(s.File)}
			set(r, columnApplied, s.Applied)
			return r
		},
		Thing: func(r modules.Row, columns []string) *runner.Sysctl {
			given := hosts.Given{Row: r, Columns: columns}
			s := &runner.Sysctl{Name: r[columnName].String(), Value: given.Text(columnValue),
				Applied: given.Bool(columnApplied)}
			if columns == nil {
				s.File = r[columnFile].String()
			}
			return s
		}}}
}
