package doctor

import (
	"fmt"
	"io"
	"strings"
)

// WriteText prints the report for people.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "iasql doctor: engine %s, %s, took %.1f s\n", r.Version,
		r.Started.UTC().Format("2006-01-02 15:04 UTC"), r.Seconds)
	last := ""
	for _, c := range r.Checks {
		if group := c.group(); group != last {
			fmt.Fprintf(&b, "\n%s\n", group)
			last = group
		}
		fmt.Fprintf(&b, "  %-8s %s: %s\n", c.Status, strings.TrimPrefix(c.ID, last+"."), c.Message)
		for _, detail := range c.Details {
			fmt.Fprintf(&b, "           - %s\n", detail)
		}
		if c.Advice != "" {
			fmt.Fprintf(&b, "           To do: %s\n", c.Advice)
		}
	}
	fmt.Fprintf(&b, "\n%s\n", r.Verdict())
	_, err := io.WriteString(w, b.String())
	return err
}

// Verdict says in one line whether to go on.
func (r *Report) Verdict() string {
	if r.GoOn {
		return "Go on: no failures, " + count(r.Warnings, "warning") + "."
	}
	return "Mend first: " + count(r.Failures, "failure") + ", " + count(r.Warnings, "warning") + "."
}

// count returns "1 call" or "2 calls".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// list joins names, the first few of them.
func list(names []string) string {
	const most = 6
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
