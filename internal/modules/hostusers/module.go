// Package hostusers is the module host_users: the users and groups of hosts, and the keys that let users in by SSH, as
// far as a scope names them (tables host_user, host_group, host_authorized_key). Nothing of a password is read.
package hostusers

import (
	"embed"
	"fmt"
	"slices"

	"iasql/internal/hosts"
	"iasql/internal/hosts/runner"
	"iasql/internal/modules"
)

// Module returns the module host_users, which asks h.
func Module(h *hosts.Hosts) *modules.Module {
	return hosts.Module(sql, 1, modules.Module{
		Name:      "host_users",
		Version:   1,
		Doc:       "Users and groups of hosts, and the keys that let users in by SSH.",
		Resources: []modules.Resource{groups(h), users(h), keys(h)},
	})
}

//go:embed sql
var sql embed.FS

// The columns.
const (
	columnName, columnSystem                           = "name", "system"
	columnUID, columnGroup, columnHome, columnShell    = "uid", "grp", "home", "shell"
	columnGecos, columnLocked                          = "gecos", "locked"
	columnGID, columnMembers                           = "gid", "members"
	columnUser, columnKey, columnComment, columnOption = "user_name", "key", "comment", "options"
)

var userTable = hosts.NamedTable(modules.Table{
	Name: "host_user",
	Doc: "The users that a row of host_scope names. Passwords are neither read nor set: users get in by keys, in " +
		"host_authorized_key. root, and the user by which the engine gets in, are shown and not changed.",
	Columns: []modules.Column{
		{Name: columnName, Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true,
			Check: "name ~ '" + runner.AccountName + "'", Doc: "What the user logs in as."},
		{Name: columnUID, Type: modules.TypeBigint, OptionalComputed: true, Check: "uid BETWEEN 0 AND 4294967294",
			Doc: "The user's number. NULL: the next that is free. To change it gives the files in the home to the " +
				"new number, and no others."},
		{Name: columnGroup, Type: modules.TypeText, OptionalComputed: true, Check: "grp <> ''",
			Doc: "The primary group, by name, or else its number. NULL: one of the user's own, of the same name, " +
				"unless the host says otherwise."},
		{Name: columnHome, Type: modules.TypeText, OptionalComputed: true, Check: `home ~ '^/[^:[:cntrl:]]*$'`,
			Doc: "The home. NULL: below /home. It is made for a new user that is not the system's. To change it " +
				"moves nothing, and a DELETE leaves it."},
		{Name: columnShell, Type: modules.TypeText, OptionalComputed: true, Check: `shell ~ '^[^:[:cntrl:]]*$'`,
			Doc: "The login shell. NULL: the host's default."},
		{Name: columnGecos, Type: modules.TypeText, Check: `gecos ~ '^[^:[:cntrl:]]+$'`,
			Doc: "The comment, such as the full name."},
		{Name: columnLocked, Type: modules.TypeBool, Required: true, Default: "false",
			Doc: "Whether the account has expired, so that nobody gets in by it, neither by a password nor by a key."},
		{Name: columnSystem, Type: modules.TypeBool, OptionalComputed: true, CreateOnly: true,
			Doc: "Whether the number is one of the system's, below UID_MIN of /etc/login.defs. Such a user gets no " +
				"home. NULL: as the number is, else false."},
	},
})

var groupTable = hosts.NamedTable(modules.Table{
	Name: "host_group",
	Doc:  "The groups of users that a row of host_scope names.",
	Columns: []modules.Column{
		{Name: columnName, Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true,
			Check: "name ~ '" + runner.AccountName + "'", Doc: "Its name."},
		{Name: columnGID, Type: modules.TypeBigint, OptionalComputed: true, Check: "gid BETWEEN 0 AND 4294967294",
			Doc: "Its number. NULL: the next that is free. Files keep the old number when it changes."},
		{Name: columnMembers, Type: modules.TypeTexts, Unordered: true, EmptyIsNull: true,
			Doc: "The names of its users, but for those whose primary group it is."},
		{Name: columnSystem, Type: modules.TypeBool, OptionalComputed: true, CreateOnly: true,
			Doc: "Whether the number is one of the system's, below GID_MIN of /etc/login.defs. NULL: as the number " +
				"is, else false."},
	},
})

var keyTable = hosts.NamedTable(modules.Table{ // two lines with one key are one to sshd
	Name: "host_authorized_key",
	Doc: "The keys in .ssh/authorized_keys of the users that a row of host_scope of kind user names. The lines of " +
		"the file that are no keys stay as they are. The key by which the engine gets in is shown and not changed.",
	Columns: []modules.Column{
		{Name: columnUser, Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true,
			Check: "user_name ~ '" + runner.AccountName + "'", Doc: "The user that it lets in."},
		{Name: columnKey, Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true,
			Check: `key ~ '^[a-z0-9@.-]{1,60} [A-Za-z0-9+/]{20,}={0,3}$' AND octet_length(key) <= 2400`,
			Doc:   "The public key, as a file such as id_ed25519.pub has it, without the comment: ssh-ed25519 AAAA…"},
		{Name: columnComment, Type: modules.TypeText, Check: `comment ~ '^[^[:space:][:cntrl:]]([^[:cntrl:]]*[^[:space:][:cntrl:]])?$'`,
			Doc: "What stands behind the key, such as anna@laptop."},
		{Name: columnOption, Type: modules.TypeText, Check: `options ~ '^[^[:cntrl:]]+$'`,
			Doc: "What the key may do, as sshd(8) has it: restrict,command=\"/usr/bin/backup\"."},
	},
})

func users(h *hosts.Hosts) modules.Resource {
	return &hosts.Writer[runner.User]{Reader: hosts.Reader[runner.User]{Hosts: h, Of: userTable, Row: userRow,
		Thing: user, Kind: hosts.Kind[runner.User]{Name: runner.KindUser, Scope: hosts.KindUser,
			Key: func(u *runner.User) string { return u.Name },
			Guard: func(s *hosts.Settings, _, have *runner.User) error {
				if have == nil || have.Name != s.User || s.Address == "" {
					return nil
				}
				return &modules.Error{Class: modules.Invalid, Code: "WayIn", Message: fmt.Sprintf("host %s: user %s "+
					"is the one by which the engine gets in: it is neither changed nor deleted", s.Name, have.Name)}
			}}}}
}

func userRow(u *runner.User) modules.Row {
	r := modules.Row{columnName: modules.Text(u.Name), columnUID: modules.IntPtr(u.UID),
		columnGroup: modules.TextPtr(u.Group), columnHome: modules.TextPtr(u.Home),
		columnShell: modules.TextPtr(u.Shell),
		columnGecos: modules.Null, columnSystem: modules.Bool(u.System != nil && *u.System)}
	if u.Gecos != nil {
		r[columnGecos] = modules.NonEmpty(*u.Gecos)
	}
	if u.Locked != nil { // else the login may not know
		r[columnLocked] = modules.Bool(*u.Locked)
	}
	return r
}

func user(r modules.Row, columns []string) *runner.User {
	given := hosts.Given{Row: r, Columns: columns}
	return &runner.User{Name: r[columnName].String(), UID: given.Int(columnUID), Group: given.Chosen(columnGroup),
		Home: given.Chosen(columnHome), Shell: given.Chosen(columnShell), Gecos: given.Text(columnGecos),
		Locked: given.Bool(columnLocked), System: given.Bool(columnSystem)}
}

func groups(h *hosts.Hosts) modules.Resource {
	return &hosts.Writer[runner.Group]{Reader: hosts.Reader[runner.Group]{Hosts: h, Of: groupTable, Row: groupRow,
		Thing: group, Kind: hosts.Kind[runner.Group]{Name: runner.KindGroup, Scope: hosts.KindGroup,
			Key: func(g *runner.Group) string { return g.Name }}}}
}

func groupRow(g *runner.Group) modules.Row {
	r := modules.Row{columnName: modules.Text(g.Name), columnGID: modules.IntPtr(g.GID), columnMembers: modules.Null,
		columnSystem: modules.Bool(g.System != nil && *g.System)}
	if g.Members != nil && len(*g.Members) > 0 {
		r[columnMembers] = modules.Strings(*g.Members)
	}
	return r
}

func group(r modules.Row, columns []string) *runner.Group {
	given := hosts.Given{Row: r, Columns: columns}
	g := &runner.Group{Name: r[columnName].String(), GID: given.Int(columnGID), System: given.Bool(columnSystem)}
	if given.Text(columnMembers) != nil {
		members := append([]string{}, r[columnMembers].Strings()...) // nil would say nothing
		g.Members = &members
	}
	return g
}

func keys(h *hosts.Hosts) modules.Resource {
	return &hosts.Writer[runner.AuthorizedKey]{Reader: hosts.Reader[runner.AuthorizedKey]{Hosts: h, Of: keyTable,
		Row: keyRow, Thing: key, Kind: hosts.Kind[runner.AuthorizedKey]{Name: runner.KindAuthorizedKey,
			Scope: hosts.KindUser, Key: (*runner.AuthorizedKey).Name,
			Scoped: func(k *runner.AuthorizedKey) string { return k.User },
			Guard: func(s *hosts.Settings, _, have *runner.AuthorizedKey) error {
				if have == nil || !slices.Contains(s.Keys, have.Key) {
					return nil
				}
				return &modules.Error{Class: modules.Invalid, Code: "WayIn", Message: fmt.Sprintf("host %s: the key "+
					"of %s is one by which the engine gets in: it is neither changed nor deleted. Have the engine "+
					"sign in with another first (private_key, identity_agent or certificate of host)", s.Name,
					have.User)}
			}}}}
}

func keyRow(k *runner.AuthorizedKey) modules.Row {
	r := modules.Row{columnUser: modules.Text(k.User), columnKey: modules.Text(k.Key), columnComment: modules.Null,
		columnOption: modules.Null}
	if k.Comment != nil {
		r[columnComment] = modules.NonEmpty(*k.Comment)
	}
	if k.Options != nil {
		r[columnOption] = modules.NonEmpty(*k.Options)
	}
	return r
}

func key(r modules.Row, columns []string) *runner.AuthorizedKey {
	given := hosts.Given{Row: r, Columns: columns}
	return &runner.AuthorizedKey{User: r[columnUser].String(), Key: r[columnKey].String(),
		Comment: given.Text(columnComment), Options: given.Text(columnOption)}
}
