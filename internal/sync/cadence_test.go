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
		want    bool
	}{
		"changed a moment ago":               {store.Listing{Age: time.Minute, Quiet: time.Minute}, true},
		"has not changed for four minutes":   {store.Listing{Age: time.Minute, Quiet: 4 * time.Minute}, false},
		"the same, two minutes later":        {store.Listing{Age: 3 * time.Minute, Quiet: 6 * time.Minute}, true},
		"has not changed for a day":          {store.Listing{Age: 7 * time.Minute, Quiet: 24 * time.Hour}, false},
		"the bound holds":                    {store.Listing{Age: limit, Quiet: 24 * time.Hour}, true},
		"has always been empty":              {store.Listing{Age: 7 * time.Minute, Quiet: never}, false},
		"has always been empty, a while ago": {store.Listing{Age: limit, Quiet: never}, true},
		"other rules hold":                   {store.Listing{Age: time.Second, Quiet: never, Rules: "older"}, true},
		"the clock was put back":             {store.Listing{Age: -time.Hour, Quiet: 0}, true},
		"is denied":                          {store.Listing{Age: time.Minute, Quiet: 0, Denied: "no"}, false},
		"is denied in part":                  {store.Listing{Age: time.Minute, Quiet: 0, Denied: "no", Partly: true}, true},
		"is denied, and was a while ago":     {store.Listing{Age: limit, Quiet: 0, Denied: "no"}, true},
	} {
		if got := due(&c.listing, "", limit); got != c.want {
			t.Errorf("%s: due %v, want %v", what, got, c.want)
		}
		if c.listing.Denied = "no"; c.listing.Age >= 0 && !due(&c.listing, "", 0) {
			t.Errorf("%s: not due where everything is", what)
		}
	}
	// Regions take turns.
	turns := map[bool]int{}
	for _, region := range []string{"us-east-1", "us-east-2", "us-west-1", "us-west-2", "eu-west-1", "eu-west-2", "eu-central-1", "ap-south-1"} {
		turns[due(&store.Listing{Scope: modules.Scope{Region: region}, Age: 9 * time.Minute, Quiet: never}, "", limit)]++
	}
	if turns[true] == 0 || turns[false] == 0 {
		t.Errorf("after nine minutes of ten: %v", turns)
	}
}
