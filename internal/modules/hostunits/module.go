// Package hostunits is the module host_units: the units of systemd of hosts, as far as a scope names them (table
// host_unit).
package hostunits

import (
	"context"
	"embed"
	"encoding/json"
	"slices"
	"strings"

	"iasql/internal/hosts"
	"iasql/internal/hosts/runner"
	"iasql/internal/modules"
)

// Module returns the module host_units, which asks h.
func Module(h *hosts.Hosts) *modules.Module {
	return hosts.Module(sql, 1, modules.Module{
		Name:      "host_units",
		Version:   1,
		Doc:       "Services, timers and other units of hosts, by systemd.",
		Resources: []modules.Resource{newUnits(h)},
	})
}

//go:embed sql
var sql embed.FS

// The columns of host_unit.
const (
	columnName, columnEnabled, columnActive              = "name", "enabled", "active"
	columnUnitFile, columnDropIns                        = "unit_file", "drop_ins"
	columnRestartOn, columnReloadOn, columnRestartDue    = "restart_on", "reload_on", "restart_due"
	columnDescription, columnActiveState, columnSubState = "description", "active_state", "sub_state"
	columnResult, columnNeedsReload                      = "result", "needs_reload"
	running, stopped                                     = "running", "stopped"
	tableFile, tablePackage, columnPath, columnPackage   = "host_file", "host_package", "path", "name"
)

// triggerDoc says what restart_on and reload_on may have.
const triggerDoc = "absolute paths, as patterns of host_scope (/etc/myapp/**), and package:NAME, in which * stands " +
	"for any characters. "

var table = hosts.NamedTable(modules.Table{
	Name: "host_unit",
	Doc: "The units of systemd that a row of host_scope of kind unit names: services, sockets, timers, paths, " +
		"mounts, targets and slices, templates among them. Those that a host cannot be without while it runs " +
		"(systemd-*, dbus, -.mount) are shown and not changed; a change of one by which one gets in, such as " +
		"ssh.service, is undone by the host unless the engine comes in anew.",
	After: after,
	Columns: []modules.Column{
		{Name: columnName, Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true,
			Check: "name ~ '" + runner.UnitName + "'",
			Doc: "Its name with its kind, such as myapp.service. An instance of a template has what is behind the @: " +
				"myapp@1.service."},
		{Name: columnEnabled, Type: modules.TypeText, OptionalComputed: true,
			Enum: []string{runner.Enabled, runner.Disabled, runner.Masked, runner.Static},
			Doc: "Whether it is started at a boot: enabled, disabled, masked (it cannot be started at all), or " +
				"static: its file does not say when, and others start it. NULL: as it is."},
		{Name: columnActive, Type: modules.TypeText, OptionalComputed: true, Enum: []string{running, stopped},
			Doc: "running or stopped. One that has failed is stopped, and active_state says so. NULL: as it is, and " +
				"of a template, which is neither."},
		{Name: columnUnitFile, Type: modules.TypeText,
			Check: "unit_file <> '' AND octet_length(unit_file) <= 65536",
			Doc: "The text of its own file, /etc/systemd/system/NAME. NULL: there is none, and the unit is as its " +
				"package brings it."},
		{Name: columnDropIns, Type: modules.TypeJSON, EmptyIsNull: true,
			Check: `jsonb_typeof(drop_ins) = 'object' AND octet_length(drop_ins::text) <= 65536 AND ` +
				`NOT jsonb_path_exists(drop_ins, '$.keyvalue() ? (@.value.type() != "string" || ` +
				`!(@.key like_regex "^[A-Za-z0-9_][A-Za-z0-9_.@-]{0,100}[.]conf$"))')`,
			Doc: "The texts of its own drop-ins in /etc/systemd/system/NAME.d by the names of their files: " +
				`{"limits.conf": "[Service]\nLimitNOFILE=65536\n"}. Drop-ins elsewhere are left alone.`},
		{Name: columnRestartOn, Type: modules.TypeTexts, Unordered: true, EmptyIsNull: true,
			Check: triggerCheck("restart_on"),
			Doc: "What has it stopped and started: " + triggerDoc + "Of many changes it is started anew once, after " +
				"the last of them. The host keeps this, and what the unit was started with."},
		{Name: columnReloadOn, Type: modules.TypeTexts, Unordered: true, EmptyIsNull: true,
			Check: triggerCheck("reload_on"),
			Doc: "What has it reload, if it can, and else start anew: " + triggerDoc + "What restart_on names " +
				"besides has it start anew."},
		{Name: columnRestartDue, Type: modules.TypeTexts, Computed: true, Asks: true, Unordered: true,
			EmptyIsNull: true,
			Doc: "What of restart_on and reload_on has changed since it was started. It is started anew for that, " +
				"and then this is NULL."},
		{Name: columnDescription, Type: modules.TypeText, Computed: true, Doc: "What its file says it is."},
		{Name: columnActiveState, Type: modules.TypeText, Computed: true,
			Doc: "What systemd says of it: active, inactive, failed, activating and so on."},
		{Name: columnSubState, Type: modules.TypeText, Computed: true,
			Doc: "The same in the words of its kind: a service is running, exited or dead, a timer waiting."},
		{Name: columnResult, Type: modules.TypeText, Computed: true,
			Doc: "Why it has failed, such as exit-code or timeout; NULL if it has not."},
		{Name: columnNeedsReload, Type: modules.TypeBool, Computed: true,
			Doc: "Whether its files have changed since systemd has read them. The engine has systemd read them anew " +
				"after its own changes only."},
	},
	Checks: []string{"enabled <> 'masked' OR unit_file IS NULL"},
})

// triggerCheck is what restart_on and reload_on have to meet, without a subquery: each element ends in a line break
// then, which none of them has.
func triggerCheck(column string) string {
	return column + ` IS NULL OR cardinality(` + column + `) <= 100 AND array_position(` + column +
		`, NULL) IS NULL AND array_to_string(` + column +
		`, E'\n') || E'\n' ~ '^((package:[A-Za-z0-9+.:*?-]{1,200}|(/[^/[:cntrl:]]+)+)\n)*$'`
}

// after: a unit is changed after the files and packages that it is started anew for.
func after(row modules.Row, other string, of modules.Row) bool {
	what := ""
	switch other {
	case tableFile:
		what = of[columnPath].String()
	case tablePackage:
		what = "package:" + of[columnPackage].String()
	default:
		return false
	}
	for _, column := range []string{columnRestartOn, columnReloadOn} {
		if slices.ContainsFunc(row[column].Strings(), func(one string) bool { return runner.Triggers(one, what) }) {
			return true
		}
	}
	return false
}

// ways are the units by which one gets into a host.
var ways = []struct{ patterns, reason string }{
	{"ssh.* ssh@* sshd* sshd@* dropbear*", "it lets one in"},
	{"networking.* network* ifup* NetworkManager* systemd-networkd* connman* wicked* netplan* wpa_supplicant* " +
		"dhcpcd* dhclient* openvpn* wg-quick@* tailscaled* zerotier* strongswan*", "one gets in by the network"},
	{"nftables.* iptables* ip6tables* netfilter-persistent.* ufw.* firewalld.* fail2ban.*",
		"it says who is let in from where"},
	{"systemd-resolved* nscd* nslcd* sssd* winbind*", "names and logins are looked up by it"},
	{"*.mount *.automount", "what a login needs may lie there"},
}

func wayIn(want, have *runner.Unit) *hosts.WayIn {
	of := want
	if of == nil {
		of = have
	}
	for _, way := range ways {
		for pattern := range strings.FieldsSeq(way.patterns) {
			if runner.MatchesName(pattern, of.Name) {
				return &hosts.WayIn{What: "a change of unit " + of.Name, Reason: way.reason}
			}
		}
	}
	return nil
}

// units are the resource.
type units struct{ hosts.Writer[runner.Unit] }

func newUnits(h *hosts.Hosts) modules.Resource {
	return &units{hosts.Writer[runner.Unit]{Reader: hosts.Reader[runner.Unit]{Hosts: h, Of: table, Row: row,
		Thing: thing, Kind: hosts.Kind[runner.Unit]{Name: runner.KindUnit, Scope: hosts.KindUnit,
			Key: func(u *runner.Unit) string { return u.Name }, WayIn: wayIn}}}}
}

// Create implements [modules.Creator]. A unit that has a file of its own is made by that, and started by the update
// after it: what fails to start is there all the same.
func (u *units) Create(ctx context.Context, m modules.Mutation) (modules.Row, error) {
	if !m.Want[columnUnitFile].IsNull() {
		m.Want = m.Want.Clone()
		for _, column := range []string{columnEnabled, columnActive, columnRestartOn, columnReloadOn} {
			m.Want[column] = modules.Null
		}
	}
	return u.Writer.Create(ctx, m)
}

func row(u *runner.Unit) modules.Row {
	r := modules.Row{columnName: modules.Text(u.Name), columnDescription: modules.NonEmpty(u.Description),
		columnEnabled: modules.TextPtr(u.Enabled), columnActive: modules.Null,
		columnActiveState: modules.NonEmpty(u.ActiveState), columnSubState: modules.NonEmpty(u.SubState),
		columnResult: modules.NonEmpty(u.Result), columnNeedsReload: modules.Null, columnDropIns: modules.Null,
		columnUnitFile: modules.Null, columnRestartDue: modules.Null}
	if u.Running != nil {
		r[columnActive] = modules.Text(stopped)
		if *u.Running {
			r[columnActive] = modules.Text(running)
		}
	}
	if u.NeedsReload != nil {
		r[columnNeedsReload] = modules.Bool(*u.NeedsReload)
	}
	if u.UnitFile != nil {
		r[columnUnitFile] = modules.NonEmpty(*u.UnitFile)
	}
	if u.DropIns != nil && len(*u.DropIns) > 0 {
		if value, err := modules.JSON(*u.DropIns); err == nil {
			r[columnDropIns] = value
		}
	}
	if len(u.Due) > 0 {
		r[columnRestartDue] = modules.Strings(u.Due)
	}
	for column, list := range map[string]*[]string{columnRestartOn: u.RestartOn, columnReloadOn: u.ReloadOn} {
		if list == nil { // the login may not know
			continue
		}
		r[column] = modules.Null
		if len(*list) > 0 {
			r[column] = modules.Strings(*list)
		}
	}
	return r
}

func thing(r modules.Row, columns []string) *runner.Unit {
	given := hosts.Given{Row: r, Columns: columns}
	u := &runner.Unit{Name: r[columnName].String(), Enabled: given.Chosen(columnEnabled),
		UnitFile: given.Text(columnUnitFile)}
	if active := given.Chosen(columnActive); active != nil {
		is := *active == running
		u.Running = &is
	}
	if given.Text(columnDropIns) != nil {
		all := map[string]string{}
		if !r[columnDropIns].IsNull() {
			_ = json.Unmarshal([]byte(r[columnDropIns].String()), &all) // as the table's check has it
		}
		u.DropIns = &all
	}
	list := func(column string) *[]string {
		if given.Text(column) == nil {
			return nil
		}
		all := append([]string{}, r[column].Strings()...) // nil would say nothing
		return &all
	}
	u.RestartOn, u.ReloadOn = list(columnRestartOn), list(columnReloadOn)
	u.Restart = columns != nil && slices.Contains(columns, columnRestartDue)
	return u
}
