package conformance

import (
	"strings"

	"iasql/internal/test/testaws"
)

// cli is the aws command in one account, and in another for commands that begin
// with "stranger ".
type cli struct{ account, stranger testaws.Account }

// run runs a command and returns what it prints.
func (c *cli) run(command string) (string, error) {
	account := c.account
	if of, ok := strings.CutPrefix(command, "stranger "); ok {
		account, command = c.stranger, of
	}
	out, err := account.TryCLI(split(command)...)
	return strings.TrimSpace(out), err
}

// split splits a command at spaces outside of single quotes. A quote itself is
// written \\'.
func split(command string) []string {
	var (
		args   []string
		arg    strings.Builder
		quoted bool
		some   bool
		taken  bool // as it is: it follows a backslash
	)
	for _, r := range command + " " {
		switch {
		case r == '\\' && !quoted:
			taken = true
			continue
		case r == '\'' && !taken:
			quoted, some = !quoted, true
		case !quoted && (r == ' ' || r == '\n' || r == '\t'):
			if some {
				args = append(args, arg.String())
			}
			arg.Reset()
			some = false
		default:
			arg.WriteRune(r)
			some = true
		}
		taken = false
	}
	return args
}
