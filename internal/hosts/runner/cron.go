package runner

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// KindCron is the kind of what cron(8) runs.
const KindCron = "cron"

// cronDir is where the files are. Debian's cron leaves out those whose names have anything but letters, digits, _ and
// -, cron(8).
const cronDir = "/etc/cron.d"

// CronName is what the names of those files match.
const CronName = `^[A-Za-z0-9_-]+$`

var cronName = regexp.MustCompile(CronName)

// Cron is an entry of a file of /etc/cron.d, crontab(5). What is nil is not said.
type Cron struct {
	File     string  `json:"file"`
	Command  string  `json:"command"` // of a file no two entries have one
	Schedule *string `json:"schedule,omitempty"`
	User     *string `json:"user,omitempty"`
	// Environment is what the lines before the entry set.
	Environment *map[string]string `json:"environment,omitempty"`
}

// Name is what the entry is asked for by.
func (c *Cron) Name() string { return c.File + "/" + c.Command }

func init() {
	kinds[KindCron] = &things[Cron]{what: "entry of cron", turn: &sync.Mutex{}, key: (*Cron).Name,
		scoped: func(c *Cron) string { return c.File }, read: readCron, difference: cronDifference, change: changeCron}
}

func cronDifference(now, said *Cron) string {
	switch {
	case differs(now.Schedule, said.Schedule):
		return "schedule"
	case differs(now.User, said.User):
		return "user"
	case said.Environment != nil && (now.Environment == nil || !maps.Equal(*now.Environment, *said.Environment)):
		return "environment"
	}
	return ""
}

// cronLine is a line of a file of cron: an entry, a setting of the environment, or neither.
type cronLine struct {
	text        string // with its end
	entry       *Cron
	name, value string // of a setting
	comment     bool
}

var (
	cronSetting = regexp.MustCompile(`^(?:"([^"]*)"|'([^']*)'|([^\s="']+))\s*=\s*(.*)$`)
	cronEntry   = regexp.MustCompile(`^(@[a-z]+|[^\s@]\S*(?:\s+\S+){4})\s+(\S+)\s+(\S.*)$`)
)

// parseCron reads a file of cron. It fails if the file has what rows do not say: a line that is nothing of crontab(5),
// or two entries with one command. The entries that it has understood it returns nevertheless.
func parseCron(file, text string) (lines []cronLine, err error) {
	environment := map[string]string{}
	seen := map[string]bool{}
	for line := range strings.Lines(text) {
		l := cronLine{text: line}
		trimmed := strings.TrimSpace(line)
		setting := cronSetting.FindStringSubmatch(trimmed)
		entry := cronEntry.FindStringSubmatch(trimmed)
		switch {
		case trimmed == "":
		case trimmed[0] == '#':
			l.comment = true
		case setting != nil && setting[1]+setting[2]+setting[3] != "":
			l.name, l.value = setting[1]+setting[2]+setting[3], setting[4]
			if n := len(l.value); n > 1 && (l.value[0] == '"' || l.value[0] == '\'') && l.value[n-1] == l.value[0] {
				l.value = l.value[1 : n-1]
			}
			environment[l.name] = l.value
		case entry == nil || !validSchedule(strings.Join(strings.Fields(entry[1]), " ")) || !plainLine(trimmed):
			if err == nil {
				err = &Failure{Refused, fmt.Sprintf("%s has a line that rows do not say, and is left alone: %.200q",
					path.Join(cronDir, file), trimmed)}
			}
		case seen[entry[3]]:
			if err == nil {
				err = &Failure{Refused, fmt.Sprintf("%s has two entries with one command, which rows do not tell "+
					"apart, and is left alone: %.200q", path.Join(cronDir, file), entry[3])}
			}
		default:
			seen[entry[3]] = true
			schedule, set := strings.Join(strings.Fields(entry[1]), " "), maps.Clone(environment)
			l.entry = &Cron{File: file, Command: entry[3], Schedule: &schedule, User: &entry[2], Environment: &set}
		}
		lines = append(lines, l)
	}
	if err == nil && text != "" && !strings.HasSuffix(text, "\n") {
		err = &Failure{Refused, fmt.Sprintf("%s has no end of line at its end, so that cron does not read it, and is "+
			"left alone", path.Join(cronDir, file))}
	}
	return lines, err
}

// cronTimes are the fields of a schedule: the least and the greatest number, and names for the numbers from the least
// on.
var cronTimes = []struct {
	least, most int
	names       []string
}{
	{0, 59, nil}, {0, 23, nil}, {1, 31, nil},
	{1, 12, []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{0, 7, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

// cronWords are the schedules that have a name.
var cronWords = []string{"@reboot", "@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}

// validSchedule reports whether crontab(5) has such a schedule: a word, or five fields of lists of ranges and steps.
func validSchedule(schedule string) bool {
	if strings.HasPrefix(schedule, "@") {
		return slices.Contains(cronWords, schedule)
	}
	fields := strings.Split(schedule, " ")
	if len(fields) != len(cronTimes) {
		return false
	}
	for i, field := range fields {
		of := &cronTimes[i]
		number := func(text string) (int, bool) {
			if at := slices.Index(of.names, strings.ToLower(text)); at >= 0 {
				return of.least + at, true
			}
			n, err := strconv.ParseUint(text, 10, 8)
			return int(n), err == nil && int(n) >= of.least && int(n) <= of.most
		}
		for part := range strings.SplitSeq(field, ",") {
			part, step, stepped := strings.Cut(part, "/")
			if n, err := strconv.ParseUint(step, 10, 8); stepped && (err != nil || n == 0) {
				return false
			}
			if part == "*" {
				continue
			}
			from, to, ranged := strings.Cut(part, "-")
			first, ok := number(from)
			last, ok2 := first, ok
			if ranged {
				last, ok2 = number(to)
			}
			if !ok || !ok2 || last < first || stepped && !ranged {
				return false
			}
		}
	}
	return true
}

func readCron(t *tree, of *selection, tell func(Cron), unread func(string, error)) error {
	names, err := t.filesOf(cronDir)
	if err != nil {
		return err
	}
	asked := of.byFile("/")
	for _, name := range names {
		if !cronName.MatchString(name) || asked[name] == nil && !of.has("", name) {
			continue
		}
		text, err := t.text(path.Join(cronDir, name), maxSystem)
		var lines []cronLine
		if err == nil {
			lines, err = parseCron(name, text)
		}
		if err == nil {
			for _, l := range lines {
				if l.entry != nil {
					tell(*l.entry)
				}
			}
			continue
		}
		// None of its entries is known then, neither those that were asked for nor any other.
		for _, key := range asked[name] {
			unread(key, err)
		}
		if of.has("", name) {
			unread(name+"/", err)
			for _, l := range lines {
				if l.entry != nil {
					unread(l.entry.Name(), err)
				}
			}
		}
	}
	return nil
}

// line spells an entry as the file has it.
func (c *Cron) line() string { return *c.Schedule + " " + *c.User + " " + c.Command + "\n" }

// settings spells the settings of an environment that another does not have.
func cronSettings(environment, but map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(environment)) {
		value := environment[name]
		if was, ok := but[name]; ok && was == value {
			continue
		}
		if value == "" || value != strings.TrimSpace(value) || strings.ContainsAny(value[:1], `"'`) {
			quote := `"`
			if strings.Contains(value, quote) {
				quote = "'"
			}
			value = quote + value + quote
		}
		b.WriteString(name + "=" + value + "\n")
	}
	return b.String()
}

func changeCron(t *tree, have, want *Cron) error {
	of := Either(want, have)
	if !cronName.MatchString(of.File) {
		return &Failure{Refused, fmt.Sprintf("%.60q names no file of %s that cron reads: letters, digits, _ and -",
			of.File, cronDir)}
	}
	if want != nil {
		now := *want
		if have != nil {
			now.Schedule, now.User = said(have.Schedule, want.Schedule), said(have.User, want.User)
			now.Environment = said(have.Environment, want.Environment)
		}
		if now.Schedule == nil || now.User == nil || now.Environment == nil {
			return &Failure{Refused, "an entry of cron has a schedule, a user and an environment"}
		}
		if !validSchedule(*now.Schedule) {
			return &Failure{Refused, fmt.Sprintf("%.200q is no schedule of crontab(5): five fields such as 5 4 * * "+
				"mon-fri, or one of %s", *now.Schedule, strings.Join(cronWords, ", "))}
		}
		all, err := t.entries("/etc/passwd", 7)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(all, func(f []string) bool { return f[0] == *now.User }) {
			return &Failure{NoParent, fmt.Sprintf("there is no user %s, whom %s is to run as", *now.User, of.Command)}
		}
		want = &now
	}
	return t.edit(path.Join(cronDir, of.File), Entry{Mode: "0644"}, func(text string) (*string, error) {
		lines, err := parseCron(of.File, text)
		if err != nil {
			return nil, err
		}
		content, err := rewriteCron(lines, of.File, of.Command, have, want)
		if err != nil || want == nil {
			return content, err
		}
		// What is written is read again as it was meant.
		written, err := parseCron(of.File, *content)
		i := slices.IndexFunc(written, func(l cronLine) bool { return l.entry != nil && l.entry.Name() == want.Name() })
		if err != nil || i < 0 || cronDifference(written[i].entry, want) != "" {
			return nil, &Failure{Refused, fmt.Sprintf("%.200q with the environment %v is spelt as no file of cron can "+
				"have it", strings.TrimSpace(want.line()), *want.Environment)}
		}
		return content, nil
	}, nil)
}

// rewriteCron returns the file with an entry as it is wanted, nil if nothing is left of it. Other lines stay as they
// are.
func rewriteCron(lines []cronLine, file, command string, have, want *Cron) (*string, error) {
	entries, comments := 0, 0
	end := map[string]string{} // what is set at the end
	for _, l := range lines {
		switch {
		case l.entry != nil:
			entries++
		case l.comment:
			comments++
		case l.name != "":
			end[l.name] = l.value
		}
	}
	if want == nil && entries <= 1 && comments == 0 {
		return nil, nil
	}
	anew := want != nil && have != nil && !maps.Equal(*want.Environment, *have.Environment)
	if anew && entries > 1 {
		return nil, &Failure{Refused, fmt.Sprintf("%s has other entries besides, whose environment would change, too: "+
			"put this one into a file of its own", path.Join(cronDir, file))}
	}
	var b strings.Builder
	for _, l := range lines {
		switch {
		case l.entry == nil || l.entry.Command != command:
			if l.name == "" || !anew {
				b.WriteString(l.text)
			}
		case want == nil:
		case anew:
			b.WriteString(cronSettings(*want.Environment, nil) + want.line())
		case *l.entry.Schedule == *want.Schedule && *l.entry.User == *want.User:
			b.WriteString(l.text)
		default:
			b.WriteString(want.line())
		}
	}
	if have == nil {
		for name := range end {
			if _, ok := (*want.Environment)[name]; !ok {
				return nil, &Failure{Refused, fmt.Sprintf("%s sets %v for what comes at its end: give this entry an "+
					"environment that has these, too, or put it into a file of its own", path.Join(cronDir, file), end)}
			}
		}
		b.WriteString(cronSettings(*want.Environment, end) + want.line())
	}
	content := b.String()
	return &content, nil
}
