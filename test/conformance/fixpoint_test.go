package conformance

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"iasql/internal/aws"
	"iasql/internal/test/faultproxy"
	"iasql/internal/test/harness"
)

// fixpoint checks that a further full cycle writes nothing on either side (R12).
func (s *suite) fixpoint() {
	s.t.Helper()
	if s.alike {
		s.calm()
	}
	calls, rows := s.calls.count(), s.versions()
	s.sync()
	if made := s.calls.since(calls); len(made) > 0 {
		s.t.Errorf("a further cycle made the calls %v", made)
	}
	for record, version := range s.versions() {
		if rows[record] != version {
			s.t.Errorf("a further cycle wrote the record %s: %s", record, s.sql(fmt.Sprintf(
				`SELECT change FROM iasql_audit_log WHERE table_name || ' ' || record_id = '%s' ORDER BY id DESC LIMIT 1`, record)))
		}
		delete(rows, record)
	}
	if len(rows) > 0 {
		s.t.Errorf("a further cycle removed the records %v", slices.Collect(maps.Keys(rows)))
	}
	if got := s.sql(`SELECT calls, pushes, pulls, errors FROM iasql_cycles WHERE kind = 'full' ORDER BY id DESC LIMIT 1`); got != "0|0|0|"+s.sql(`SELECT count(*) FROM iasql_get_errors()`) {
		s.t.Errorf("a further cycle's calls, pushes, pulls and errors: %s: %s", got,
			s.sql(`SELECT * FROM iasql_get_errors()`))
	}
	if got := strings.Fields(s.sql(`SELECT DISTINCT table_name FROM iasql_get_errors() ORDER BY 1`)); !slices.Equal(got, s.missing()) {
		s.t.Errorf("there are errors of %v, want %v", got, s.missing())
	}
	if left := s.sql(`SELECT table_name, record_id, state, message FROM iasql_status WHERE state <> 'Present'`); left != "" {
		s.t.Errorf("not settled: %s", left)
	}
}

// missing returns the names of the tables that the emulator has nothing of,
// sorted.
func (s *suite) missing() []string {
	var names []string
	for _, table := range s.Tables {
		if table.Missing != "" {
			names = append(names, table.Name)
		}
	}
	slices.Sort(names)
	return names
}

// versions returns the version of every row of every managed table.
func (s *suite) versions() map[string]string {
	s.t.Helper()
	var parts []string
	for _, table := range strings.Fields(s.sql(`SELECT "table" FROM iasql_tables ORDER BY 1`)) {
		parts = append(parts, fmt.Sprintf(`SELECT '%s ' || id, xmin::text FROM %s`, table, table))
	}
	found := map[string]string{}
	for _, line := range strings.Split(s.admin(strings.Join(parts, " UNION ALL ")), "\n") {
		record, version, _ := strings.Cut(line, "|")
		found[record] = version
	}
	return found
}

// calls are the mutating calls that the engine has made.
type calls struct {
	lock sync.Mutex
	made []string
	lies faultproxy.Wrong // how reads are answered; "": by the truth
	liar faultproxy.Liar
	loss *faultproxy.Fault // what becomes of the first answer to each mutating call
	gone map[string]bool   // those that were lost
}

// lose has the first answer to each mutating call from now on be lost in this way.
func (c *calls) lose(f *faultproxy.Fault) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.loss, c.gone = f, map[string]bool{}
}

// lost returns the calls to which an answer was lost.
func (c *calls) lost() []string {
	c.lock.Lock()
	defer c.lock.Unlock()
	return slices.Sorted(maps.Keys(c.gone))
}

// of returns what becomes of a mutating call.
func (c *calls) of(call faultproxy.Call) faultproxy.Fault {
	c.lock.Lock()
	defer c.lock.Unlock()
	// REST names the object in the path.
	name := call.Service + ":" + objectName.ReplaceAllString(call.Action, "$1")
	c.made = append(c.made, call.Service+":"+call.Action)
	if c.loss == nil || c.gone[name] {
		return faultproxy.Fault{}
	}
	c.gone[name] = true
	return *c.loss
}

// objectName finds the names of objects in what a REST request asks for, of which the
// number of parts and the query are what tells operations apart.
var objectName = regexp.MustCompile(`(/)[^/?]*(?:sql|arn|%3A)[^/?]*`)

// lie has all reads answered wrong from now on, until it is told "".
func (c *calls) lie(w faultproxy.Wrong) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.lies = w
}

// reading are the requests that are reads where an API has methods. Some reads
// are a POST: Route 53's ListTagsForResources, OpenSearch's DescribeDomains, and
// those of Resource Groups.
var reading = regexp.MustCompile(
	`^(GET|HEAD) |^POST /2013-04-01/tags/\w+$|^POST /2021-01-01/opensearch/domain-info$|^POST /(groups-list|get-group|get-group-query)$`)

// watch puts a proxy between the world's engines and the cloud, which counts
// what is no read: by the operation's name as package aws does, and by the
// request where that does not name the operation.
func watch(t *testing.T, w *harness.World) *calls {
	proxy, c := faultproxy.Start(t, w.Endpoint), &calls{}
	proxy.Set(func(call faultproxy.Call) faultproxy.Fault {
		if !aws.IsRead(call.Action) && !reading.MatchString(call.Action) && call.Region != watchRegion {
			return c.of(call)
		}
		c.lock.Lock()
		lies := c.lies
		c.lock.Unlock()
		// No permissions are needed to ask who one is, and none can be taken
		// (https://docs.aws.amazon.com/STS/latest/APIReference/API_GetCallerIdentity.html).
		if lies == faultproxy.Denied && call.Action == "GetCallerIdentity" {
			return faultproxy.Fault{}
		}
		if lies != "" && call.Region != watchRegion {
			return c.liar.Fault(lies, call)
		}
		return faultproxy.Fault{}
	})
	w.Endpoint = proxy.URL
	return c
}

func (c *calls) count() int {
	c.lock.Lock()
	defer c.lock.Unlock()
	return len(c.made)
}

func (c *calls) since(n int) []string {
	c.lock.Lock()
	defer c.lock.Unlock()
	return slices.Clone(c.made[n:])
}
