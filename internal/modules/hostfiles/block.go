package hostfiles

import (
	"maps"
	"slices"
	"strings"

	"iasql/internal/hosts"
	"iasql/internal/hosts/runner"
	"iasql/internal/modules"
)

// The columns of host_file_block that host_file has not.
const columnName, columnComment = "name", "comment"

// blockTable comes apart from host_file: whoever owns a part of a file may neither read nor write the rest of it.
var blockTable = hosts.NamedTable(modules.Table{
	Name: "host_file_block",
	Doc: "Marked parts of files, in files that a row of host_scope of the kind block names. A block is what is " +
		"between two lines of comment, BEGIN and END IASQL MANAGED BLOCK and its name. What is outside of them is " +
		"anybody's: it is neither read into a table nor changed. A new block is the last of its file; one that is " +
		"moved to another place of it stays there.",
	Columns: []modules.Column{
		{Name: columnName, Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true,
			Check: "name ~ '" + runner.BlockName + "'",
			Doc:   "Its name in the lines that mark it. A file may have several blocks."},
		{Name: columnPath, Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true,
			Check: `path ~ '^(/[^/]+)+$' AND path !~ '/\.\.?(/|$)' AND octet_length(path) <= 4096`,
			Doc: "The absolute path of the file, which has to be there. No directory on the way may be a symbolic " +
				"link."},
		{Name: columnContent, Type: modules.TypeText, Required: true,
			Check: `octet_length(content) <= 32768 AND content !~ ' (BEGIN|END) IASQL MANAGED BLOCK '`,
			Equal: func(a, b string) bool { return strings.TrimSuffix(a, "\n") == strings.TrimSuffix(b, "\n") },
			Doc:   "What is between the two lines. Its last line ends where it does not."},
		{Name: columnComment, Type: modules.TypeText, Required: true, Default: "'#'",
			Enum: slices.Sorted(maps.Keys(runner.Comments)),
			Doc:  "What begins a comment in the file."},
	},
})

func blocks(h *hosts.Hosts) modules.Resource {
	return &hosts.Writer[runner.Block]{Reader: hosts.Reader[runner.Block]{Hosts: h, Of: blockTable,
		Kind: hosts.Kind[runner.Block]{Name: runner.KindBlock, Scope: runner.KindBlock, Key: (*runner.Block).Key,
			Scoped: func(b *runner.Block) string { return b.Path },
			File:   func(b *runner.Block) string { return b.Path }},
		Row: func(b *runner.Block) modules.Row {
			return modules.Row{columnName: modules.Text(b.Name), columnPath: modules.Text(b.Path),
				columnContent: modules.TextPtr(b.Content), columnComment: modules.TextPtr(b.Comment)}
		},
		Thing: func(r modules.Row, columns []string) *runner.Block {
			given := hosts.Given{Row: r, Columns: columns}
			return &runner.Block{Path: r[columnPath].String(), Name: r[columnName].String(),
				Comment: given.Text(columnComment), Content: given.Text(columnContent)}
		}}}
}
