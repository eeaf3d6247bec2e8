package runner

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// KindRepository is the kind of where apt(8) gets packages from.
const KindRepository = "repository"

// repositoryDir is where the files are, sources.list(5).
const repositoryDir = "/etc/apt/sources.list.d"

// RepositoryName is what repositories are called: by the file, and of a file with several the number behind a colon.
const RepositoryName = `^[A-Za-z0-9_.-]+\.(sources|list)(:[1-9][0-9]*)?$`

var (
	repositoryName = regexp.MustCompile(RepositoryName)
	repositoryFile = regexp.MustCompile(`^[A-Za-z0-9_.-]+\.(sources|list)$`)
)

// Repository is an entry of sources.list(5). What is nil is not said.
type Repository struct {
	Name       string    `json:"name"`
	Types      *[]string `json:"types,omitempty"`
	URIs       *[]string `json:"uris,omitempty"`
	Suites     *[]string `json:"suites,omitempty"`
	Components *[]string `json:"components,omitempty"`
	// Architectures are those that are looked at; none: the host's.
	Architectures *[]string `json:"architectures,omitempty"`
	// SignedBy are the files or the fingerprints of the keys that are trusted, and Key is one that stands in the entry.
	SignedBy *string `json:"signed_by,omitempty"`
	Key      *string `json:"key,omitempty"`
	Enabled  *bool   `json:"enabled,omitempty"`
}

func init() {
	kinds[KindRepository] = &things[Repository]{what: KindRepository, turn: &sync.Mutex{},
		key: func(r *Repository) string { return r.Name }, read: readRepositories, difference: repositoryDifference,
		change: changeRepository}
}

// lists returns the fields that are lists, by their names in deb822(5).
func (r *Repository) lists() map[string]**[]string {
	return map[string]**[]string{"Types": &r.Types, "URIs": &r.URIs, "Suites": &r.Suites,
		"Components": &r.Components, "Architectures": &r.Architectures}
}

func repositoryDifference(now, said *Repository) string {
	theirs := said.lists()
	for field, list := range now.lists() {
		if want := *theirs[field]; want != nil && (*list == nil || !slices.Equal(**list, *want)) {
			return strings.ToLower(field)
		}
	}
	switch {
	case differs(now.SignedBy, said.SignedBy), differs(now.Key, said.Key):
		return "key"
	case differs(now.Enabled, said.Enabled):
		return "state"
	}
	return ""
}

// stanza is an entry of a file of deb822(5), line by line.
type stanza struct{ fields []stanzaField }

// stanzaField is a field with its lines, or lines that are comments.
type stanzaField struct{ name, text string }

// parseStanzas reads a file of deb822(5). What stands between two entries belongs to the one before. It fails if a line
// is nothing of that form.
func parseStanzas(file, text string) (before string, all []stanza, err error) {
	var now *stanza
	ended := true
	for line := range strings.Lines(text) {
		name, _, isField := strings.Cut(line, ":")
		switch {
		case strings.TrimSpace(line) == "":
			ended = true
			fallthrough
		case line[0] == '#':
			if now == nil {
				before += line
			} else {
				now.fields = append(now.fields, stanzaField{"", line})
			}
		case line[0] == ' ' || line[0] == '\t':
			last := -1
			if now != nil && !ended {
				last = slices.IndexFunc(now.fields, func(f stanzaField) bool { return f.name != "" })
				for i := range now.fields { // comments may stand within a field
					if now.fields[i].name != "" {
						last = i
					}
				}
			}
			if last < 0 {
				return "", nil, noStanza(file, line)
			}
			for i := last + 1; i < len(now.fields); i++ {
				now.fields[last].text += now.fields[i].text
			}
			now.fields = now.fields[:last+1]
			now.fields[last].text += line
		case !isField || name == "" || strings.ContainsAny(name, " \t"):
			return "", nil, noStanza(file, line)
		default:
			if ended {
				all = append(all, stanza{})
				now, ended = &all[len(all)-1], false
			}
			now.fields = append(now.fields, stanzaField{name, line})
		}
	}
	return before, all, nil
}

func noStanza(file, line string) error {
	return &Failure{Refused, fmt.Sprintf("%s has a line that is none of a file of sources, and is left alone: %.200q",
		path.Join(repositoryDir, file), strings.TrimSpace(line))}
}

// value returns the value of a field, "" if there is none. Comments in it are left out.
func (s *stanza) value(field string) string {
	value := ""
	for _, f := range s.fields {
		if !strings.EqualFold(f.name, field) {
			continue
		}
		lines := slices.DeleteFunc(strings.Split(f.text, "\n"),
			func(line string) bool { return strings.HasPrefix(line, "#") })
		_, value, _ = strings.Cut(strings.Join(lines, "\n"), ":")
	}
	return strings.TrimSpace(value)
}

// set gives a field a value; "" takes it out. A field that is new comes after the others.
func (s *stanza) set(field, value string) {
	text := field + ": " + value + "\n"
	if strings.HasPrefix(value, "\n") {
		text = field + ":" + value + "\n"
	}
	last, written := 0, value == ""
	s.fields = slices.DeleteFunc(s.fields, func(f stanzaField) bool {
		return strings.EqualFold(f.name, field) && value == ""
	})
	for i, f := range s.fields {
		if f.name != "" {
			last = i + 1
			s.fields[i].text = lined(f.text)
		}
		if strings.EqualFold(f.name, field) {
			s.fields[i].text, written = text, true
		}
	}
	if !written {
		s.fields = slices.Insert(s.fields, last, stanzaField{field, text})
	}
}

// repository reads an entry.
func (s *stanza) repository(name string) *Repository {
	r := &Repository{Name: name}
	for field, list := range r.lists() {
		words := append([]string{}, strings.Fields(s.value(field))...)
		*list = &words
	}
	signed, key := s.value("Signed-By"), ""
	if strings.HasPrefix(signed, "-----BEGIN") {
		// An empty line within is spelt as a dot, and every line is indented: deb822(5).
		var lines []string
		for line := range strings.Lines(signed) {
			if line = strings.TrimSpace(line); line == "." {
				line = ""
			}
			lines = append(lines, line)
		}
		signed, key = "", strings.Join(lines, "\n")+"\n"
	}
	signed = strings.Join(strings.Fields(signed), " ")
	// Of these words apt says no: apt's StringToBool.
	enabled := !slices.Contains([]string{"no", "false", "without", "off", "disable", "0"},
		strings.ToLower(s.value("Enabled")))
	r.SignedBy, r.Key, r.Enabled = &signed, &key, &enabled
	return r
}

var (
	oneLine      = regexp.MustCompile(`^(deb|deb-src)\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)((?:\s+\S+)*)$`)
	trailComment = regexp.MustCompile(`\s*#.*$`)
	armoredKey   = regexp.MustCompile("^-----BEGIN PGP PUBLIC KEY BLOCK-----\n(?:[!-~ ]*\n)+" +
		"-----END PGP PUBLIC KEY BLOCK-----\n$")
	wordOfSources = regexp.MustCompile(`^[!-~]+$`)
)

// parseOneLine reads a line of a file of one-line style; nil if it has no entry.
func parseOneLine(name, line string) *Repository {
	m := oneLine.FindStringSubmatch(strings.TrimSpace(trailComment.ReplaceAllString(strings.TrimSpace(line), "")))
	if m == nil {
		return nil
	}
	components, architectures, signed, key, enabled := strings.Fields(m[5]), []string{}, "", "", true
	for _, option := range strings.Fields(m[2]) {
		name, value, _ := strings.Cut(option, "=")
		switch strings.ToLower(name) {
		case "arch":
			architectures = strings.Split(value, ",")
		case "signed-by":
			signed = value
		}
	}
	if components == nil {
		components = []string{}
	}
	return &Repository{Name: name, Types: &[]string{m[1]}, URIs: &[]string{m[3]}, Suites: &[]string{m[4]},
		Components: &components, Architectures: &architectures, SignedBy: &signed, Key: &key, Enabled: &enabled}
}

// numbered is the name of an entry of a file, by its place: the first has the file's own.
func numbered(file string, at int) string {
	if at == 0 {
		return file
	}
	return file + ":" + strconv.Itoa(at+1)
}

func readRepositories(t *tree, of *selection, tell func(Repository), unread func(string, error)) error {
	names, err := t.filesOf(repositoryDir)
	if err != nil {
		return err
	}
	asked := of.byFile(":")
	for _, file := range names {
		// A file that is asked for by none but its first entry's name may have others that a pattern names.
		if !repositoryFile.MatchString(file) || asked[file] == nil && len(of.patterns) == 0 {
			continue
		}
		text, err := t.text(path.Join(repositoryDir, file), 4*maxSystem)
		var all []stanza
		if err == nil && strings.HasSuffix(file, ".sources") {
			_, all, err = parseStanzas(file, text)
		}
		if err != nil {
			for _, name := range asked[file] {
				unread(name, err)
			}
			if of.has("", file) {
				unread(file, err)
			}
			continue
		}
		for i := range all {
			if r := all[i].repository(numbered(file, i)); of.has(r.Name, r.Name) {
				tell(*r)
			}
		}
		if strings.HasSuffix(file, ".list") {
			at := 0
			for line := range strings.Lines(text) {
				if r := parseOneLine(numbered(file, at), line); r != nil {
					at++
					tell(*r)
				}
			}
		}
	}
	return nil
}

// validRepository says what is wrong with an entry, as sources.list(5) has it.
func validRepository(r *Repository) error {
	bad := func(what string) error {
		return &Failure{Refused, fmt.Sprintf("repository %s: %s", r.Name, what)}
	}
	for field, list := range r.lists() {
		if *list == nil {
			return bad("a request says nothing of " + field)
		}
		for _, word := range **list {
			if !wordOfSources.MatchString(word) || word[0] == '#' {
				return bad(fmt.Sprintf("%.100q is no word of %s", word, field))
			}
		}
	}
	for _, kind := range *r.Types {
		if kind != "deb" && kind != "deb-src" {
			return bad(fmt.Sprintf("%.100q is no type: deb or deb-src", kind))
		}
	}
	for _, uri := range *r.URIs {
		if scheme, _, ok := strings.Cut(uri, ":"); !ok || strings.Contains(scheme, "/") {
			return bad(fmt.Sprintf("%.100q is no URI, such as https://deb.debian.org/debian", uri))
		}
	}
	if len(*r.Types) == 0 || len(*r.URIs) == 0 || len(*r.Suites) == 0 {
		return bad("it has types, uris and suites")
	}
	for _, suite := range *r.Suites {
		if strings.HasSuffix(suite, "/") != (len(*r.Components) == 0) {
			return bad(fmt.Sprintf("suite %.100q: one that ends with / has no components, and any other has some",
				suite))
		}
	}
	if *r.SignedBy != "" && *r.Key != "" {
		return bad("of signed_by and key one is given")
	}
	if *r.Key != "" && !armoredKey.MatchString(*r.Key) {
		return bad("the key is an armored one, from -----BEGIN PGP PUBLIC KEY BLOCK----- to the end of the line of " +
			"its end")
	}
	return nil
}

func changeRepository(t *tree, have, want *Repository) error {
	of := Either(want, have)
	file, number, _ := strings.Cut(of.Name, ":")
	at := 0
	if number != "" {
		n, err := strconv.Atoi(number)
		if err != nil || n < 2 {
			return &Failure{Refused, fmt.Sprintf("%.100q names no repository", of.Name)}
		}
		at = n - 1
	}
	if !repositoryName.MatchString(of.Name) || !strings.HasSuffix(file, ".sources") {
		return &Failure{Refused, fmt.Sprintf("repository %.100q is none of a file NAME.sources: files of one-line "+
			"style are shown and not changed. DELETE the file in host_file, and INSERT the repository as one of a "+
			".sources",
			of.Name)}
	}
	return t.edit(path.Join(repositoryDir, file), Entry{Mode: "0644"}, func(text string) (*string, error) {
		before, all, err := parseStanzas(file, text)
		if err != nil {
			return nil, err
		}
		switch {
		case have == nil && at != len(all):
			return nil, &Failure{Refused, fmt.Sprintf("repository %s: %s has %d entries, and the next one is called %s",
				of.Name, file, len(all), numbered(file, len(all)))}
		case want == nil && at != len(all)-1:
			return nil, &Failure{Refused, fmt.Sprintf("repository %s: the entries of %s after it would be called "+
				"otherwise then: set enabled to false, or delete the last one first", of.Name, file)}
		case want == nil && at == 0:
			return nil, nil
		case want == nil:
			all = all[:at]
		case have == nil:
			if at > 0 {
				last := &all[at-1]
				last.fields = append(last.fields, stanzaField{"", "\n"})
			}
			all = append(all, stanza{})
			fallthrough
		default:
			if err := all[at].become(want); err != nil {
				return nil, err
			}
		}
		var b strings.Builder
		b.WriteString(before)
		for _, s := range all {
			for _, f := range s.fields {
				b.WriteString(lined(f.text))
			}
		}
		content := b.String()
		if want != nil {
			if _, written, err := parseStanzas(file, content); err != nil || len(written) != len(all) ||
				repositoryDifference(written[at].repository(want.Name), want) != "" {
				return nil, &Failure{Refused, fmt.Sprintf("repository %s is spelt as no file of sources can have it",
					want.Name)}
			}
		}
		return &content, nil
	}, nil)
}

// become makes an entry say what is wanted. What is not said, and other fields, stay as they are.
func (s *stanza) become(want *Repository) error {
	now := s.repository(want.Name)
	next := *now
	said := want.lists()
	for field, list := range next.lists() {
		if *said[field] != nil {
			*list = *said[field]
		}
	}
	if want.SignedBy != nil {
		next.SignedBy = want.SignedBy
	}
	if want.Key != nil {
		next.Key = want.Key
	}
	if want.Enabled != nil {
		next.Enabled = want.Enabled
	}
	if err := validRepository(&next); err != nil {
		return err
	}
	for _, field := range []string{"Types", "URIs", "Suites", "Components", "Architectures"} {
		if list := **next.lists()[field]; !slices.Equal(list, **now.lists()[field]) {
			s.set(field, strings.Join(list, " "))
		}
	}
	if *next.Key != *now.Key || *next.SignedBy != *now.SignedBy {
		value := *next.SignedBy
		for line := range strings.Lines(*next.Key) {
			if line = strings.TrimSpace(line); line == "" {
				line = "."
			}
			value += "\n " + line
		}
		s.set("Signed-By", value)
	}
	switch {
	case *next.Enabled == *now.Enabled:
	case *next.Enabled:
		s.set("Enabled", "yes")
	default:
		s.set("Enabled", "no")
	}
	return nil
}
