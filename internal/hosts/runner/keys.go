package runner

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// KindAuthorizedKey is the kind of keys that let users in.
const KindAuthorizedKey = "authorized_key"

// AuthorizedKey is a line of the file .ssh/authorized_keys of a user, sshd(8).
type AuthorizedKey struct {
	User    string  `json:"user"`
	Key     string  `json:"key"` // its kind and its text, such as ssh-ed25519 AAAA...
	Comment *string `json:"comment,omitempty"`
	Options *string `json:"options,omitempty"`
}

// Name is what the key is asked for by.
func (k *AuthorizedKey) Name() string { return k.User + "/" + k.Key }

func init() {
	kinds[KindAuthorizedKey] = &things[AuthorizedKey]{what: "authorized key", turn: accountsTurn,
		key: (*AuthorizedKey).Name, scoped: func(k *AuthorizedKey) string { return k.User },
		read: readKeys, difference: keyDifference, change: changeKey}
}

var publicKey = regexp.MustCompile(`^[a-z0-9@.-]{1,60} [A-Za-z0-9+/]{20,}={0,3}$`)

func keyDifference(now, said *AuthorizedKey) string {
	switch {
	case other(now.Comment, said.Comment):
		return "comment"
	case other(now.Options, said.Options):
		return "options"
	}
	return ""
}

// parseKey returns the key of a line of authorized_keys, nil if it has none.
func parseKey(user, line string) *AuthorizedKey {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' {
		return nil
	}
	options := ""
	if fields := strings.Fields(line); len(fields) < 2 || !publicKey.MatchString(fields[0]+" "+fields[1]) {
		// Options come first. They end at the first space that is in no quotes.
		quoted, end := false, -1
		for i := 0; i < len(line) && end < 0; i++ {
			switch {
			case line[i] == '\\' && i+1 < len(line) && line[i+1] == '"':
				i++
			case line[i] == '"':
				quoted = !quoted
			case (line[i] == ' ' || line[i] == '\t') && !quoted:
				end = i
			}
		}
		if end < 0 {
			return nil
		}
		options, line = line[:end], strings.TrimSpace(line[end:])
	}
	fields := strings.Fields(line)
	if len(fields) < 2 || !publicKey.MatchString(fields[0]+" "+fields[1]) {
		return nil
	}
	_, rest, _ := strings.Cut(line, fields[0])
	_, rest, _ = strings.Cut(rest, fields[1])
	comment := strings.TrimSpace(rest)
	return &AuthorizedKey{User: user, Key: fields[0] + " " + fields[1], Comment: &comment, Options: &options}
}

// line spells a key as the file has it.
func (k *AuthorizedKey) line() string {
	var parts []string
	if k.Options != nil && *k.Options != "" {
		parts = append(parts, *k.Options)
	}
	parts = append(parts, k.Key)
	if k.Comment != nil && *k.Comment != "" {
		parts = append(parts, *k.Comment)
	}
	return strings.Join(parts, " ")
}

// keysOf returns where the keys of a user are; "" if it has no home of its own.
func keysOf(home string) string {
	if CheckPath(home) != nil || home == "/nonexistent" {
		return ""
	}
	return path.Join(home, ".ssh/authorized_keys")
}

func readKeys(t *tree, of *selection, tell func(AuthorizedKey), unread func(string, error)) error {
	all, err := t.accounts(passwdFile)
	if err != nil {
		return err
	}
	first := t.first("UID_MIN")
	asked := map[string]bool{}
	for name := range of.names {
		user, _, _ := strings.Cut(name, "/")
		asked[user] = true
	}
	for user, why := range t.halves(passwdFile, all) {
		if asked[user] || of.has("", user) {
			unread(user, why)
		}
	}
	seen := map[string]bool{}
	for _, f := range all {
		user, file := f[0], keysOf(f[5])
		if file == "" || seen[user] || !asked[user] && !of.has("", user) {
			continue
		}
		seen[user] = true
		text, err := t.text(file, MaxContent)
		if uid, _ := strconv.ParseInt(f[2], 10, 64); codeOf(err) == Refused && uid != 0 && uid < first {
			continue // a user such as bin, whose home is no home
		}
		if err == nil && text == "" && asked[user] {
			err = t.atHome(user, f[5])
		}
		if codeOf(err) == Unmounted {
			unread(user, err) // all keys of the user
			continue
		}
		if err != nil {
			// What keys of the user's there are is unknown then, and not only one.
			return err
		}
		keys := map[string]bool{}
		for line := range strings.Lines(text) {
			if k := parseKey(user, line); k != nil && !keys[k.Key] && plainLine(k.line()) {
				keys[k.Key] = true
				tell(*k)
			}
		}
	}
	return nil
}

// atHome fails if the home of a user is not there: whether there are keys in it is unknown then. (Many users of the
// system never have one. So this is asked of those alone of whom a key is asked for.)
func (t *tree) atHome(user, home string) error {
	if _, err := t.stat(home); codeOf(err) == NoParent || errors.Is(err, unix.ENOENT) {
		return &Failure{Unmounted, fmt.Sprintf("user %s has no home %s: which keys it has is unknown, and nothing is "+
			"changed of them. Mount it or make it, or take away the user", user, home)}
	}
	return nil
}

// plainLine reports whether a line has no control characters.
func plainLine(line string) bool {
	return !strings.ContainsFunc(line, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

func changeKey(t *tree, have, want *AuthorizedKey) error {
	of := want
	if of == nil {
		of = have
	}
	if err := checkName(KindUser, of.User); err != nil {
		return err
	}
	if !publicKey.MatchString(of.Key) {
		return &Failure{Refused, fmt.Sprintf("%.60q is no public key: it is two words, such as ssh-ed25519 "+
			"AAAA…", of.Key)}
	}
	all, err := t.accounts(passwdFile)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(f []string) bool { return f[0] == of.User })
	if i < 0 {
		if want == nil {
			return nil
		}
		return &Failure{NoParent, fmt.Sprintf("there is no user %s", of.User)}
	}
	home := all[i][5]
	file := keysOf(home)
	if file == "" {
		return &Failure{Refused, fmt.Sprintf("user %s has no home to keep keys in: %q", of.User, home)}
	}
	owner, group := all[i][2], all[i][3]
	now, err := t.reader().at(file)
	if codeOf(err) == NoParent && want != nil {
		// sshd wants the folder to be the user's alone.
		if err := t.apply(&Request{Want: &Entry{Path: path.Dir(file), Kind: Directory, Mode: "0700", Owner: owner,
			Group: group}}); err != nil {
			if codeOf(err) == NoParent {
				return &Failure{NoParent, fmt.Sprintf("user %s has no home %s", of.User, home)}
			}
			return err
		}
		now, err = nil, nil
	}
	if codeOf(err) == NoParent {
		return nil
	}
	if err != nil {
		return err
	}
	if now != nil && (now.Kind != File || now.Content == nil) {
		return &Failure{Refused, fmt.Sprintf("%s is no file of text of at most %d KiB", file, MaxContent>>10)}
	}
	return t.rewriteKeys(file, now, owner, group, of.Key, want, of.User)
}

// rewriteKeys writes the file of keys anew, in which nothing but the lines of one key differs.
func (t *tree) rewriteKeys(file string, now *Entry, owner, group, key string, want *AuthorizedKey, user string) error {
	var text strings.Builder
	line := ""
	if want != nil {
		line = want.line()
	}
	rest := ""
	if now != nil {
		rest = *now.Content
	}
	written := want == nil
	for old := range strings.Lines(rest) {
		k := parseKey(user, old)
		if k == nil || k.Key != key {
			text.WriteString(strings.TrimSuffix(old, "\n") + "\n")
			continue
		}
		if written {
			continue
		}
		written = true
		// What is not said stays.
		if want.Comment != nil {
			k.Comment = want.Comment
		}
		if want.Options != nil {
			k.Options = want.Options
		}
		line = k.line()
		text.WriteString(line + "\n")
	}
	if !written {
		text.WriteString(line + "\n")
	}
	if want != nil {
		if k := parseKey(user, line); !plainLine(line) || k == nil || k.Key != key || k.line() != line {
			return &Failure{Refused, fmt.Sprintf("%.200q is no line of authorized_keys: options have commas between "+
				"them, and no space but in quotes; a comment has no control characters", line)}
		}
	}
	content := text.String()
	entry := &Entry{Path: file, Kind: File, Content: &content}
	if now == nil {
		entry.Mode, entry.Owner, entry.Group = "0600", owner, group
		return t.apply(&Request{Want: entry})
	}
	return t.apply(&Request{Want: entry, Have: &Entry{Path: file, Kind: File, SHA256: now.SHA256}})
}
