package runner

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// KindSudoer is the kind of the files that say who may become root.
const KindSudoer = "sudoer"

// sudoersDir is where they are. What sudo(8) leaves out there is no thing of the kind: sudoers(5), on @includedir.
const sudoersDir = "/etc/sudoers.d"

// SudoerName is what the names of those files match.
const SudoerName = `^[A-Za-z0-9_+@-]+$`

var sudoerName = regexp.MustCompile(SudoerName)

// Sudoer is a file of /etc/sudoers.d. What is nil is not said.
type Sudoer struct {
	Name    string  `json:"name"`
	Content *string `json:"content,omitempty"`
	// Who are the users and groups to whom its rules give something, each once.
	Who []string `json:"who,omitempty"`
	// NoPassword reports whether a rule of it asks for no password.
	NoPassword bool `json:"nopasswd,omitempty"`
}

// SudoerFile is where the file of that name is.
func SudoerFile(name string) string { return path.Join(sudoersDir, name) }

func init() {
	kinds[KindSudoer] = &things[Sudoer]{what: "file of sudoers", turn: &sync.Mutex{},
		key: func(s *Sudoer) string { return s.Name }, read: readSudoers, change: changeSudoer,
		difference: func(now, said *Sudoer) string {
			if differs(now.Content, said.Content) {
				return "content"
			}
			return ""
		}}
}

// sudoersWord is what a user, a group or an alias is spelt by.
const sudoersWord = `(?:"[^"]*"|\\.|[^\s,"\\])+`

func readSudoers(t *tree, of *selection, tell func(Sudoer), unread func(string, error)) error {
	names, err := t.filesOf(sudoersDir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !sudoerName.MatchString(name) || !of.has(name, name) {
			continue
		}
		now, err := t.reader().at(SudoerFile(name))
		switch {
		case err != nil:
			unread(name, err)
			continue
		case now == nil:
			continue
		case now.Content == nil || len(*now.Content) > maxSystem:
			unread(name, &Failure{Refused, fmt.Sprintf("%s is no file of text of at most %d KiB", now.Path,
				maxSystem>>10)})
			continue
		}
		s := Sudoer{Name: name, Content: now.Content}
		s.Who, s.NoPassword = parseSudoers(*now.Content)
		tell(s)
	}
	return nil
}

var (
	// sudoersOther begins the lines of sudoers(5) that are no rules.
	sudoersOther = regexp.MustCompile(`^(Defaults|(User|Runas|Host|Cmnd|Cmd)_Alias\b|[@#]include(dir)?\b)`)
	// sudoersRule is a rule: users, hosts and what they may.
	sudoersRule = regexp.MustCompile(`^(` + sudoersWord + `(?:\s*,\s*` + sudoersWord + `)*)\s+[^=]*=(.*)$`)
	// sudoersUser is one of the users of a rule.
	sudoersUser = regexp.MustCompile(sudoersWord)
	noPassword  = regexp.MustCompile(`\bNOPASSWD\s*:`)
	byNumber    = regexp.MustCompile(`^#[0-9]`)
)

// parseSudoers says to whom the rules of a file of sudoers(5) give something, and whether one asks for no password.
func parseSudoers(content string) (who []string, without bool) {
	for line := range strings.Lines(strings.ReplaceAll(content, "\\\n", " ")) {
		line = strings.TrimSpace(line)
		switch {
		case line == "", line[0] == '#' && !byNumber.MatchString(line), sudoersOther.MatchString(line):
			continue
		}
		rule := sudoersRule.FindStringSubmatch(line)
		if rule == nil {
			continue
		}
		for _, user := range sudoersUser.FindAllString(rule[1], -1) {
			if user = strings.Trim(user, `"`); !slices.Contains(who, user) {
				who = append(who, user)
			}
		}
		without = without || noPassword.MatchString(rule[2])
	}
	return who, without
}

func changeSudoer(t *tree, have, want *Sudoer) error {
	of := Either(want, have)
	if !sudoerName.MatchString(of.Name) {
		return &Failure{Refused, fmt.Sprintf("%.60q names no file of %s that sudo reads: letters, digits, _ and -, "+
			"and no dot", of.Name, sudoersDir)}
	}
	if err := mustBeRoot("a change of sudoers"); err != nil {
		return err
	}
	return t.edit(SudoerFile(of.Name), Entry{Mode: "0440"}, func(string) (*string, error) {
		if want == nil {
			return nil, nil
		}
		content := want.Content
		if content == nil {
			return nil, &Failure{Refused, fmt.Sprintf("file %s of sudoers is to have a content", of.Name)}
		}
		return content, nil
	}, func(file string) error {
		p := t.run(validateWithin, "/usr/sbin/visudo", "-c", "-f", file)
		if p.err == nil {
			return nil
		}
		if codeOf(p.err) != Unspecified {
			return p.err
		}
		return &Failure{Invalid, fmt.Sprintf("visudo does not accept the new content of %s: %s", SudoerFile(of.Name),
			strings.ReplaceAll(p.gist(), file, SudoerFile(of.Name)))}
	})
}
