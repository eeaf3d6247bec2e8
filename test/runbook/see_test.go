package runbook

import (
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"iasql/internal/test/faultproxy"
)

const patience = time.Minute

var served = regexp.MustCompile(`metrics=(\S+)`)

// metric returns the greatest value of a metric whose name and labels begin so; -1 if there is none.
func (n *night) metric(of string) float64 {
	n.Helper()
	var m []string
	n.Eventually(patience, "metrics are served", func() bool {
		m = served.FindStringSubmatch(n.engine.Log())
		return m != nil
	})
	answer, err := http.Get(m[1])
	if err != nil {
		return -1
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return -1
	}
	greatest := -1.0
	for line := range strings.Lines(string(text)) {
		name, number, ok := cutLast(strings.TrimSpace(line))
		if !ok || !strings.HasPrefix(name, of) {
			continue
		}
		if value, err := strconv.ParseFloat(number, 64); err == nil && value > greatest {
			greatest = value
		}
	}
	return greatest
}

func cutLast(line string) (before, after string, ok bool) {
	i := strings.LastIndexByte(line, ' ')
	if i < 0 {
		return "", "", false
	}
	return line[:i], line[i+1:], true
}

// shows waits until a metric has at least a value: what an alert of it needs.
func (n *night) shows(metric string, least float64) {
	n.Helper()
	n.Eventually(patience, metric, func() bool { return n.metric(metric) >= least })
}

// showsNot waits until a metric is gone, or 0.
func (n *night) showsNot(metric string) {
	n.Helper()
	n.Eventually(patience, "no "+metric, func() bool { return n.metric(metric) <= 0 })
}

// breaks has the cloud answer the calls of services so; all but STS's where none is named.
func (n *night) breaks(fault faultproxy.Fault, services ...string) {
	n.cloud.Set(func(c faultproxy.Call) faultproxy.Fault {
		if len(services) == 0 && c.Service != "sts" {
			return fault
		}
		for _, s := range services {
			if s == c.Service || s == c.Service+"."+c.Action {
				return fault
			}
		}
		return faultproxy.Fault{}
	})
}

// mends has the cloud answer as ever.
func (n *night) mends() {
	n.cloud.Set(func(faultproxy.Call) faultproxy.Fault { return faultproxy.Fault{} })
}

// asks has everything listed, whether that works or not.
func (n *night) asks() { _, _ = n.TryPSQL(n.UserURL, `SELECT iasql_sync_now()`) }

var denied = faultproxy.Fault{Status: 403, Code: "AccessDenied",
	Message: "User is not authorized to perform this action with an explicit deny in a service control policy"}
