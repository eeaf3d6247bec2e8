package support

import (
	"regexp"
	"strings"
)

var (
	label = regexp.MustCompile(`([a-z_]+)="((?:[^"\\]|\\.)*)"`)
	kinds = map[string]Kind{"account": Account, "table": Table, "source": Name}
)

// metrics takes the names that people have given out of metrics in Prometheus' text format.
func (s *scrubber) metrics(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			line = label.ReplaceAllStringFunc(line, func(one string) string {
				m := label.FindStringSubmatch(one)
				return m[1] + `="` + s.scrub(kinds[m[1]], m[2]) + `"`
			})
		}
		b.WriteString(line)
	}
	return b.String()
}
