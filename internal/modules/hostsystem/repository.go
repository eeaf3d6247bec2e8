package hostsystem

import (
	"iasql/internal/hosts"
	"iasql/internal/hosts/runner"
	"iasql/internal/modules"
)

// The columns of host_repository.
const (
	columnTypes, columnURIs, columnSuites      = "types", "uris", "suites"
	columnComponents, columnArchitectures      = "components", "architectures"
	columnSignedBy, columnKey, columnIsEnabled = "signed_by", "key", "enabled"
)

// words is the Check of a list of words.
func words(column string) string {
	return "array_position(" + column + ", NULL) IS NULL AND array_to_string(" + column +
		", ' ') ~ '^([!-~]+( [!-~]+)*)?$'"
}

// someWords is that of a list that is not empty.
func someWords(column string) string { return words(column) + " AND cardinality(" + column + ") > 0" }

var repositoryTable = func() *modules.Table {
	t := table("host_repository",
		"Where apt gets packages from: the entries of the files NAME.sources in /etc/apt/sources.list.d that a row of "+
			"host_scope of the kind repository names. Other fields and comments of a file stay as they are. Entries "+
			"of files NAME.list, of one-line style, are shown and not changed. The lists of packages are read anew "+
			"when host_package needs that.",
		modules.Column{Name: columnName, Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true,
			Check: "name ~ '" + runner.RepositoryName + "'",
			Doc: "The name of the file, such as docker.sources. The second entry of a file has :2 behind it, and so " +
				"on."},
		modules.Column{Name: columnTypes, Type: modules.TypeTexts, Required: true, Default: "'{deb}'",
			Check: someWords(columnTypes), Doc: "deb for packages, deb-src for their sources."},
		modules.Column{Name: columnURIs, Type: modules.TypeTexts, Required: true, Check: someWords(columnURIs),
			Doc: "Where it is, such as https://download.docker.com/linux/debian; several are the same."},
		modules.Column{Name: columnSuites, Type: modules.TypeTexts, Required: true, Check: someWords(columnSuites),
			Doc: "The suites, such as bookworm, or a path that ends with a slash."},
		modules.Column{Name: columnComponents, Type: modules.TypeTexts, EmptyIsNull: true,
			Check: words(columnComponents), Doc: "Such as main. NULL of a suite that is a path."},
		modules.Column{Name: columnArchitectures, Type: modules.TypeTexts, EmptyIsNull: true,
			Check: words(columnArchitectures), Doc: "The architectures that are looked at. NULL: those of the host."},
		modules.Column{Name: columnSignedBy, Type: modules.TypeText, Check: `signed_by ~ '^[!-~]+( [!-~]+)*$'`,
			Doc: "The files with the keys that are trusted, such as /usr/share/keyrings/docker.gpg, or fingerprints. " +
				"NULL: key, or else all that the host trusts."},
		modules.Column{Name: columnKey, Type: modules.TypeText,
			Check: `key ~ '^-----BEGIN PGP PUBLIC KEY BLOCK-----\n.*\n-----END PGP PUBLIC KEY BLOCK-----\n$'`,
			Doc:   "The text of the one key that is trusted, armored, which stands in the file itself then."},
		modules.Column{Name: columnIsEnabled, Type: modules.TypeBool, Required: true, Default: "true",
			Doc: "Whether apt looks at it."})
	t.Checks = []string{"num_nonnulls(signed_by, key) <= 1"}
	return t
}()

func repositories(h *hosts.Hosts) modules.Resource {
	return &hosts.Writer[runner.Repository]{Reader: hosts.Reader[runner.Repository]{Hosts: h, Of: repositoryTable,
		Kind: hosts.Kind[runner.Repository]{Name: runner.KindRepository, Scope: runner.KindRepository,
			Key: func(r *runner.Repository) string { return r.Name }},
		Row: func(r *runner.Repository) modules.Row {
			row := modules.Row{columnName: modules.Text(r.Name), columnTypes: listed(r.Types),
				columnURIs:   listed(r.URIs),
				columnSuites: listed(r.Suites), columnComponents: listed(r.Components),
				columnArchitectures: listed(r.Architectures), columnSignedBy: modules.Null, columnKey: modules.Null}
			if r.SignedBy != nil {
				row[columnSignedBy] = modules.NonEmpty(*r.SignedBy)
			}
			if r.Key != nil {
				row[columnKey] = modules.NonEmpty(*r.Key)
			}
			set(row, columnIsEnabled, r.Enabled)
			return row
		},
		Thing: func(r modules.Row, columns []string) *runner.Repository {
			given := hosts.Given{Row: r, Columns: columns}
			list := func(column string) *[]string {
				if given.Text(column) == nil {
					return nil
				}
				list := append([]string{}, r[column].Strings()...) // nil would say nothing
				return &list
			}
			return &runner.Repository{Name: r[columnName].String(), Types: list(columnTypes), URIs: list(columnURIs),
				Suites: list(columnSuites), Components: list(columnComponents),
				Architectures: list(columnArchitectures), SignedBy: given.Text(columnSignedBy),
				Key: given.Text(columnKey), Enabled: given.Bool(columnIsEnabled)}
		}}}
}

// listed is a list as a value; NULL if there is nothing in it.
func listed(list *[]string) modules.Value {
	if list == nil || len(*list) == 0 {
		return modules.Null
	}
	return modules.Strings(*list)
}
