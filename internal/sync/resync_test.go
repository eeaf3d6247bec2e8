package sync

import (
	"context"
	"fmt"
	"testing"
	"time"

	"iasql/internal/modules"
	"iasql/internal/store"
)

func TestDue(t *testing.T) {
	const never = -time.Second
	limit := 10 * time.Minute
	for what, c := range map[string]struct {
		listing store.Listing
		rest    time.Duration
		want    bool
	}{
		"changed a moment ago":               {store.Listing{Age: time.Minute, Quiet: time.Minute}, 0, true},
		"has not changed for four minutes":   {store.Listing{Age: time.Minute, Quiet: 4 * time.Minute}, 0, false},
		"the same, two minutes later":        {store.Listing{Age: 3 * time.Minute, Quiet: 6 * time.Minute}, 0, true},
		"has not changed for a day":          {store.Listing{Age: 7 * time.Minute, Quiet: 24 * time.Hour}, 0, false},
		"the bound holds":                    {store.Listing{Age: limit, Quiet: 24 * time.Hour}, 0, true},
		"has always been empty":              {store.Listing{Age: 7 * time.Minute, Quiet: never}, 0, false},
		"has always been empty, a while ago": {store.Listing{Age: limit, Quiet: never}, 0, true},
		"other rules hold":                   {store.Listing{Age: time.Second, Quiet: never, Rules: "older"}, 0, true},
		"the clock was put back":             {store.Listing{Age: -time.Hour, Quiet: 0}, 0, true},
		"is denied":                          {store.Listing{Age: time.Minute, Quiet: 0, Denied: "no"}, 0, false},
		"is denied in part": {store.Listing{Age: time.Minute, Quiet: 0, Denied: "no", Partly: true}, 0,
			true},
		"is denied, and was a while ago": {store.Listing{Age: limit, Quiet: 0, Denied: "no"}, 0, true},
		"after a long cycle": {store.Listing{Age: 3 * time.Minute, Quiet: time.Minute},
			2 * time.Minute, false},
		"after a long cycle, bound":      {store.Listing{Age: limit, Quiet: time.Minute}, 2 * time.Minute, true},
		"after a very long cycle":        {store.Listing{Age: limit, Quiet: time.Minute}, limit, false},
		"after a very long cycle, later": {store.Listing{Age: 2 * limit, Quiet: time.Minute}, limit, true},
		"after a long cycle, other rules": {store.Listing{Age: time.Second, Quiet: never, Rules: "older"},
			limit, true},
	} {
		if got := due(&c.listing, "", limit, c.rest); got != c.want {
			t.Errorf("%s: due %v, want %v", what, got, c.want)
		}
		if c.listing.Denied = "no"; c.listing.Age >= 0 && c.rest == 0 && !due(&c.listing, "", 0, 0) {
			t.Errorf("%s: not due where everything is", what)
		}
	}
	// Regions take turns.
	turns := map[bool]int{}
	for _, region := range []string{"us-east-1", "us-east-2", "us-west-1", "us-west-2", "eu-west-1", "eu-west-2",
		"eu-central-1", "ap-south-1"} {
		turns[due(&store.Listing{Scope: modules.Scope{Region: region}, Age: 9 * time.Minute, Quiet: never}, "",
			limit, 0)]++
	}
	if turns[true] == 0 || turns[false] == 0 {
		t.Errorf("after nine minutes of ten: %v", turns)
	}
}

// TestPacedObjects: within the time in which everything is to be looked at, each object has
// its turn, and hardly more, however often is listed. So has, in many times that time, what seldom changes.
func TestPacedObjects(t *testing.T) {
	t.Parallel()
	const limit, objects = 10 * time.Minute, 2000
	table := &modules.Table{Name: "thing", Doc: "Things.", Provider: "aws", Columns: []modules.Column{
		{Name: "account", Type: modules.TypeText, Doc: "Account.", Identity: true},
		{Name: "name", Type: modules.TypeText, Doc: "Name.", Identity: true, Required: true, CreateOnly: true}}}
	at := place{"thing", modules.Scope{Account: "a"}}
	registry, err := modules.NewRegistry(&modules.Module{Name: "m", Version: 1, Doc: "Things.",
		Resources: []modules.Resource{paced{table: table}}})
	if err != nil {
		t.Fatal(err)
	}
	c := &cycle{Reconciler: &Reconciler{Registry: registry}}
	c.resync.settings.MaxStaleness = limit
	c.resync.due = map[place]bool{at: true}
	turns, rare := make([]int, objects), make([]int, objects)
	now := time.Unix(1_700_000_000, 0)
	for passed := time.Duration(0); passed < rarely*limit; {
		age := min(time.Duration(20+(passed%limit).Seconds()/10)*time.Second, limit-passed%limit)
		passed, now = passed+age, now.Add(age)
		c.resync.known = map[place]store.Listing{at: {Table: "thing", Age: age, Complete: true, Objects: objects}}
		due, rarelyDue := c.turns(table, at.scope, now)
		most := 0
		for i := range turns {
			if due(fmt.Sprint(i)) {
				turns[i]++
				most++
			}
			if rarelyDue(fmt.Sprint(i)) {
				rare[i]++
			}
		}
		if share := objects * int(age) / int(limit); most > 2*share+20 {
			t.Errorf("%d objects have their turn at once, where %d would be their share", most, share)
		}
	}
	for i, n := range turns {
		if n < rarely || n > 2*rarely {
			t.Errorf("object %d has its turn %d times", i, n)
		}
		if rare[i] < 1 || rare[i] > 2 {
			t.Errorf("what seldom changes of object %d has its turn %d times", i, rare[i])
		}
	}
	if got := c.interval(at); got != limit/rounds {
		t.Errorf("what has turns is listed every %s", got)
	}
	c.hinted = map[place][]*hint{at: {{}}}
	if due, rarelyDue := c.turns(table, at.scope, now); due != nil || rarelyDue != nil {
		t.Error("an event tells of a change that nobody knows the place of, and not everything is read")
	}
	c.hinted, c.resync.due = nil, nil
	if due, rarelyDue := c.turns(table, at.scope, now); due != nil || rarelyDue != nil {
		t.Error("somebody waits, and not everything is read")
	}
	c.resync.due = map[place]bool{at: true}
	c.resync.known[at] = store.Listing{Table: "thing", Age: time.Minute, Complete: true, Objects: readAlways}
	if due, rarelyDue := c.turns(table, at.scope, now); due != nil || rarelyDue != nil || c.interval(at) != limit {
		t.Error("a few objects have turns")
	}
}

// paced is a resource whose objects have turns.
type paced struct {
	modules.Resource
	table *modules.Table
}

func (r paced) Table() *modules.Table { return r.table }
func (paced) IsPaced() bool           { return true }

// A listing leaves parents whose turn it is not, unless nothing is known within them, and what
// is within those it has left is not missing.
func TestLater(t *testing.T) {
	t.Parallel()
	table := &modules.Table{Name: "file"}
	for what, known := range map[string]*laterKnown{
		"by key": {within: map[string]bool{"a": true, "b": true}},
		"by record": {within: map[string]bool{"1": true, "2": true},
			records: map[string]string{"a": "1", "b": "2", "empty": "3"}},
	} {
		l := &later{left: map[string]bool{}, known: func(context.Context) *laterKnown { return known }}
		postponed := l.unless(t.Context(), func(parent string) bool { return parent == "b" })
		for parent, want := range map[string]bool{"a": true, "b": false, "new": false, "empty": false} {
			if got := postponed(parent); got != want {
				t.Errorf("%s: %q is left: %t", what, parent, got)
			}
		}
		first, _ := known.of("a")
		second, _ := known.of("b")
		for key, want := range map[string]bool{first + "\x1fk": true, second + "\x1fk": false, "gone\x1fk": false} {
			if got := l.hides(table, key); got != want {
				t.Errorf("%s: %q is hidden: %t", what, key, got)
			}
		}
	}
}
