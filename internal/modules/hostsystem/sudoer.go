package hostsystem

import (
	"iasql/internal/hosts"
	"iasql/internal/hosts/runner"
	"iasql/internal/modules"
)

// The columns of host_sudoer.
const columnContent, columnWho, columnNoPassword = "content", "who", "nopasswd"

var sudoerTable = table("host_sudoer",
	"The files of /etc/sudoers.d that sudo reads and that a row of host_scope of the kind sudoer names. A new content "+
		"takes the place of the old one if visudo accepts it, and the host undoes the change unless the engine gets "+
		"in and becomes root as before. /etc/sudoers itself is not touched.",
	modules.Column{Name: columnName, Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true,
		Check: "name ~ '" + runner.SudoerName + "'",
		Doc:   "The name of the file. sudo reads no file with a dot in its name."},
	modules.Column{Name: columnContent, Type: modules.TypeText, Required: true,
		Check: `octet_length(content) <= 32768`,
		Doc:   "Its text, as sudoers(5) has it: anna ALL=(root) NOPASSWD: /usr/bin/systemctl restart app"},
	modules.Column{Name: columnWho, Type: modules.TypeTexts, Computed: true,
		Doc: "The users, groups (%ops) and aliases to whom its rules give something."},
	modules.Column{Name: columnNoPassword, Type: modules.TypeBool, Computed: true,
		Doc: "Whether a rule of it asks for no password."})

func sudoers(h *hosts.Hosts) modules.Resource {
	return &hosts.Writer[runner.Sudoer]{Reader: hosts.Reader[runner.Sudoer]{Hosts: h, Of: sudoerTable,
		Kind: hosts.Kind[runner.Sudoer]{Name: runner.KindSudoer, Scope: runner.KindSudoer,
			Key: func(s *runner.Sudoer) string { return s.Name },
			WayIn: func(want, have *runner.Sudoer) *hosts.WayIn {
				file := runner.SudoerFile(runner.Either(want, have).Name)
				return &hosts.WayIn{What: "a change of " + file, Reason: "who may become root", Files: []string{file},
					Checks: [][]string{{"visudo", "-c"}}}
			}},
		Row: func(s *runner.Sudoer) modules.Row {
			r := modules.Row{columnName: modules.Text(s.Name), columnContent: modules.TextPtr(s.Content),
				columnWho: modules.Null, columnNoPassword: modules.Bool(s.NoPassword)}
			if len(s.Who) > 0 {
				r[columnWho] = modules.Strings(s.Who)
			}
			return r
		},
		Thing: func(r modules.Row, columns []string) *runner.Sudoer {
			return &runner.Sudoer{Name: r[columnName].String(),
				Content: hosts.Given{Row: r, Columns: columns}.Text(columnContent)}
		}}}
}
