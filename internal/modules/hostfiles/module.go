// Package hostfiles is the module host_files: the files, directories and symbolic links of hosts, as far as a scope of
// theirs names them (table host_file), and marked parts of files (table host_file_block).
package hostfiles

import (
	"context"
	"embed"
	"slices"
	"strconv"

	"iasql/internal/hosts"
	"iasql/internal/hosts/runner"
	"iasql/internal/modules"
)

// Module returns the module host_files, which asks h.
func Module(h *hosts.Hosts) *modules.Module {
	return hosts.Module(sql, 5, modules.Module{
		Name:      "host_files",
		Version:   5,
		Doc:       "Files, directories and symbolic links of hosts, and marked parts of files.",
		Resources: []modules.Resource{&files{h}, blocks(h)},
	})
}

//go:embed sql
var sql embed.FS

// The columns of host_file.
const (
	columnPath, columnKind, columnTarget   = "path", "kind", "target"
	columnContent, columnBytes             = "content", "bytes"
	columnMode, columnOwner, columnGroup   = "mode", "owner", "grp"
	columnSize, columnSHA256, columnSource = "size", "sha256", "source"
	columnXattrs                           = "xattrs"
	columnSecret, columnVersion            = "secret_content", "content_version"
)

var table = hosts.NamedTable(modules.Table{ // two cannot have one path
	Name: "host_file",
	Doc: "The files, directories and symbolic links that a row of host_scope names. Devices, pipes and sockets are " +
		"left out.",
	Columns: []modules.Column{
		{Name: columnPath, Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true,
			Check: `path ~ '^(/[^/]+)+$' AND path !~ '/\.\.?(/|$)' AND octet_length(path) <= 4096`,
			Doc:   "Its absolute path. No directory on the way may be a symbolic link."},
		{Name: columnKind, Type: modules.TypeText, Required: true, CreateOnly: true, Incarnation: true,
			Default: "'file'", Enum: []string{runner.File, runner.Directory, runner.Link},
			Doc: "What it is: file, directory or link, which is symbolic."},
		{Name: columnContent, Type: modules.TypeText, OptionalComputed: true,
			Check: "octet_length(content) <= " + strconv.Itoa(runner.MaxContent),
			Doc: "The text of a file; NULL of one that is no text of UTF-8 (bytes), is longer than 256 KiB, or is " +
				"secret. NULL leaves the content as it is."},
		{Name: columnBytes, Type: modules.TypeBytes, OptionalComputed: true, Since: 5,
			Check: "octet_length(bytes) <= " + strconv.Itoa(runner.MaxBytes),
			Doc: "The content of a file that is no text: it has a NUL byte or is not UTF-8. NULL of one that is " +
				"text (content), is longer than 64 KiB, or is secret. NULL leaves the content as it is."},
		{Name: columnSecret, Type: modules.TypeText, WriteOnly: true, Since: 4,
			Doc: "The text of a file whose content is secret, as a row of host_scope says; up to 256 KiB. It is kept " +
				"where the engine alone reads it, and content_version stands for it. Always NULL to who reads it; " +
				"NULL changes nothing."},
		{Name: columnVersion, Type: modules.TypeText, OptionalComputed: true, Since: 4,
			Doc: "Which content a file has whose content is secret, without telling it: a new version for each " +
				"secret_content, and hmac:… of what others have written. An earlier version of secret_content " +
				"brings that back: the last ten of a file are kept. NULL leaves the content as it is."},
		{Name: columnTarget, Type: modules.TypeText, Check: "target <> '' AND octet_length(target) <= 4096",
			Doc: "Where a link leads to."},
		{Name: columnMode, Type: modules.TypeText, OptionalComputed: true, Check: "mode ~ '^[0-7]{3,4}$'",
			Equal: sameMode,
			Doc: "Its permissions in octal digits, such as 0644. NULL: 0644 for a new file, 0600 if its content is " +
				"secret, 0755 for a new directory. A link has none."},
		{Name: columnOwner, Type: modules.TypeText, OptionalComputed: true, Check: "owner <> ''",
			Doc: "Its owner, by the name in the host's /etc/passwd, or else the number. NULL: whoever makes it."},
		{Name: columnGroup, Type: modules.TypeText, OptionalComputed: true, Check: "grp <> ''",
			Doc: "Its group, by the name in the host's /etc/group, or else the number. NULL: that of whoever " +
				"makes it."},
		{Name: columnSize, Type: modules.TypeBigint, Computed: true,
			Doc: "How many bytes a file has; NULL if its content is secret."},
		{Name: columnSource, Type: modules.TypeText, Local: true, Since: 5,
			Check: `source ~ '^[^/]+(/[^/]+)+$' AND source !~ '(^|/)\.\.?(/|$)' AND octet_length(source) <= 4096`,
			Doc: "Where the engine gets the content with that sha256, if the row does not have it: NAME/PATH of a " +
				"file of up to 64 MiB, where the engine was started with --file-source NAME=DIRECTORY."},
		{Name: columnSHA256, Type: modules.TypeText, OptionalComputed: true, Check: "sha256 ~ '^[0-9a-f]{64}$'",
			Observed: func(r modules.Row) bool {
				return r[columnContent].IsNull() && r[columnBytes].IsNull() && r[columnSource].IsNull()
			},
			Doc: "The SHA-256 of a file's content in hexadecimal digits; with source, of the content that it is to " +
				"have. NULL of one that is larger than 64 MiB or secret. NULL leaves the content as it is."},
		{Name: columnXattrs, Type: modules.TypeJSON, Computed: true, Since: 5,
			Doc: "Its extended attributes of user.*, security.capability, security.selinux and system.posix_acl_*, " +
				"up to 64, by name: a text as it is, anything else in base64 after 0s, as getfattr writes them. null " +
				"is a value beyond 4 KiB, or beyond 16 KiB of all. A file that is written anew keeps them. NULL: it " +
				"has none."},
	},
	Checks: []string{
		"(kind = 'link') = (target IS NOT NULL)",
		"kind = 'file' OR num_nonnulls(content, bytes, content_version, source, sha256) = 0",
		"kind <> 'link' OR mode IS NULL",
		"num_nonnulls(content, bytes) <= 1",
	},
})

func sameMode(a, b string) bool {
	x, err := strconv.ParseUint(a, 8, 32)
	y, err2 := strconv.ParseUint(b, 8, 32)
	return err == nil && err2 == nil && x == y
}

// files are the resource.
type files struct{ hosts *hosts.Hosts }

// Table implements [modules.Resource].
func (f *files) Table() *modules.Table { return table }

// List implements [modules.Resource]. All files of a host are read by one request.
func (f *files) List(ctx context.Context, r modules.ListRequest, page func([]modules.Observation) error) error {
	all, scopes, err := f.hosts.ListFiles(ctx, r.Scope.Account)
	if err != nil {
		return err
	}
	found, unread := observed(r.Scope.Account, all, scopes)
	for some := range slices.Chunk(found, 1000) {
		if err := page(some); err != nil {
			return err
		}
	}
	return unread
}

// Get implements [modules.Resource].
func (f *files) Get(ctx context.Context, r modules.GetRequest) ([]modules.Observation, error) {
	if len(r.Identities) == 0 {
		return nil, nil
	}
	paths := make([]string, len(r.Identities))
	for i, identity := range r.Identities {
		paths[i] = identity[columnPath].String()
	}
	all, scopes, err := f.hosts.GetFiles(ctx, r.Scope.Account, paths)
	if err != nil {
		return nil, err
	}
	found, unread := observed(r.Scope.Account, all, scopes)
	return found, unread
}

// observed returns what was read, and an [*modules.Unread] of what was not.
func observed(host string, all []hosts.File, scopes []hosts.Scope) (found []modules.Observation, unread error) {
	var missed []modules.UnreadObject
	for i := range all {
		e := &all[i]
		if e.Error != nil {
			missed = append(missed, modules.UnreadObject{Identity: modules.Row{columnPath: modules.Text(e.Path)},
				Err: hosts.Failed(host, e.Error)})
			continue
		}
		o := modules.Observation{Row: row(e)}
		if !hosts.Pruned(scopes, e.Path) {
			o.Manager = hosts.Others
		}
		found = append(found, o)
	}
	if len(missed) > 0 {
		return found, &modules.Unread{Objects: missed}
	}
	return found, nil
}

func row(e *hosts.File) modules.Row {
	r := modules.Row{columnPath: modules.Text(e.Path), columnKind: modules.Text(e.Kind),
		columnContent: modules.TextPtr(e.Content), columnBytes: modules.Null, columnXattrs: modules.Null,
		columnTarget: modules.NonEmpty(e.Target),
		columnMode:   modules.NonEmpty(e.Mode), columnOwner: modules.NonEmpty(e.Owner),
		columnGroup: modules.NonEmpty(e.Group), columnSize: modules.Null, columnSHA256: modules.NonEmpty(e.SHA256),
		columnVersion: modules.NonEmpty(e.Version)}
	if all := e.Attributes(); len(all) > 0 {
		r[columnXattrs], _ = modules.JSON(all) // texts and nulls always marshal
	}
	if e.Bytes != nil {
		r[columnBytes] = modules.Bytes(e.Bytes)
	}
	if e.Kind == runner.File && !e.Secret {
		r[columnSize] = modules.Int(e.Size)
	}
	return r
}

// entry returns a row as the runner has it: only those columns, if there are any.
func entry(r modules.Row, columns []string) *runner.Entry {
	e := &runner.Entry{Path: r[columnPath].String(), Kind: r[columnKind].String()}
	is := func(name string) bool { return columns == nil || slices.Contains(columns, name) }
	if is(columnContent) {
		e.Content = r[columnContent].Ptr()
	}
	if is(columnBytes) && e.Content == nil {
		e.Bytes = r[columnBytes].Bytes()
	}
	if is(columnTarget) {
		e.Target = r[columnTarget].String()
	}
	if is(columnMode) {
		e.Mode = r[columnMode].String()
	}
	if is(columnOwner) {
		e.Owner = r[columnOwner].String()
	}
	if is(columnGroup) {
		e.Group = r[columnGroup].String()
	}
	return e
}

// seen returns what was last read of an object, as the runner compares it with what is there.
func seen(r modules.Row) *runner.Entry {
	e := entry(r, nil)
	e.Content, e.Bytes, e.SHA256 = nil, nil, r[columnSHA256].String() // which says more, and is shorter
	return e
}

// Create implements [modules.Creator]. It overwrites nothing.
func (f *files) Create(ctx context.Context, m modules.Mutation) (modules.Row, error) {
	c := hosts.FileChange{Want: entry(m.Want, nil), Version: m.Want[columnVersion].String()}
	c.Source = source(c.Want, m.Want)
	if c.Source == nil && c.Want.Content == nil && c.Want.Bytes == nil && m.Want[columnSize].Int() > 0 {
		return nil, hosts.Failure(modules.Invalid, "NotKept", m.Scope.Account, "%s had %d bytes, which are not in the "+
			"row: set content to what it is to have", m.Want[columnPath], m.Want[columnSize].Int())
	}
	return modules.Row{columnPath: m.Want[columnPath]}, f.apply(ctx, m, "CreateFile", c)
}

// Update implements [modules.Updater]. It changes nothing that is not what it was when it was read.
func (f *files) Update(ctx context.Context, m modules.Mutation) error {
	c := hosts.FileChange{Want: entry(m.Want, m.Columns), Have: seen(m.Have), Seen: m.Have[columnVersion].String()}
	c.Want.Path, c.Want.Kind = m.Have[columnPath].String(), m.Have[columnKind].String()
	if slices.Contains(m.Columns, columnVersion) {
		c.Version = m.Want[columnVersion].String()
	}
	if slices.Contains(m.Columns, columnSHA256) {
		c.Source = source(c.Want, m.Want)
	}
	return f.apply(ctx, m, "ChangeFile", c)
}

// source returns where the content comes from that a row asks for and want does not have; nil if there is none.
func source(want *runner.Entry, r modules.Row) *hosts.Source {
	if want.Content != nil || want.Bytes != nil || r[columnSHA256].IsNull() {
		return nil
	}
	return &hosts.Source{Name: r[columnSource].String(), SHA256: r[columnSHA256].String()}
}

// Delete implements [modules.Deleter]. A directory has to be empty.
func (f *files) Delete(ctx context.Context, m modules.Mutation) error {
	return f.apply(ctx, m, "DeleteFile", hosts.FileChange{Have: seen(m.Have), Seen: m.Have[columnVersion].String()})
}

func (f *files) apply(ctx context.Context, m modules.Mutation, action string, c hosts.FileChange) error {
	if c.Source != nil && m.Permit != nil {
		if err := f.hosts.Upload(ctx, m.Scope.Account, &c); err != nil {
			return err
		}
	}
	return m.Permit.Do(ctx, modules.Call{Service: hosts.Provider, Action: action}, func(call modules.Entry) error {
		return f.hosts.ApplyFile(ctx, m.Scope.Account, call, &c)
	})
}
