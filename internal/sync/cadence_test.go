package sync

import (
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
		"is denied in part":                  {store.Listing{Age: time.Minute, Quiet: 0, Denied: "no", Partly: true}, 0, true},
		"is denied, and was a while ago":     {store.Listing{Age: limit, Quiet: 0, Denied: "no"}, 0, true},
		"after a long cycle":                 {store.Listing{Age: 3 * time.Minute, Quiet: time.Minute}, 2 * time.Minute, false},
		"after a long cycle, bound":          {store.Listing{Age: limit, Quiet: time.Minute}, 2 * time.Minute, true},
		"after a very long cycle":            {store.Listing{Age: limit, Quiet: time.Minute}, limit, false},
		"after a very long cycle, later":     {store.Listing{Age: 2 * limit, Quiet: time.Minute}, limit, true},
		"after a long cycle, other rules":    {store.Listing{Age: time.Second, Quiet: never, Rules: "older"}, limit, true},
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
	for _, region := range []string{"us-east-1", "us-east-2", "us-west-1", "us-west-2", "eu-west-1", "eu-west-2", "eu-central-1", "ap-south-1"} {
		turns[due(&store.Listing{Scope: modules.Scope{Region: region}, Age: 9 * time.Minute, Quiet: never}, "", limit, 0)]++
	}
	if turns[true] == 0 || turns[false] == 0 {
		t.Errorf("after nine minutes of ten: %v", turns)
	}
}
