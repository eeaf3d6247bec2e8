package economy

import (
	"strings"
	"testing"
	"time"

	"iasql/internal/test/faultproxy"
)

// objectCalls returns how often the objects of buckets were listed, and looked at one by
// one.
func objectCalls(proxy *faultproxy.Proxy) (listings, looks int) {
	for action, n := range proxy.Counts() {
		switch {
		case strings.HasPrefix(action, "GET /") && strings.Contains(action, "list-type"):
			listings += n
		case strings.HasPrefix(action, "HEAD /") && strings.HasSuffix(action, "/file"):
			looks += n
		}
	}
	return listings, looks
}

// The objects of a bucket are listed if somebody has named it, by one call; those of all
// other buckets cost none. What is in a bucket that is not named any more is not known, and
// stays as it was.
func TestNamedBuckets(t *testing.T) {
	t.Parallel()
	w, proxy := world(t)
	id := strings.ToLower(w.AWS.ID)
	for _, name := range []string{"first", "second", "third"} {
		w.CLI("s3api", "create-bucket", "--bucket", name+"-"+id)
		w.CLI("s3api", "put-object", "--bucket", name+"-"+id, "--key", "file")
	}
	w.Serve()
	w.PSQL(`UPDATE iasql_settings SET value = '1 hour' WHERE name = 'sync_interval'`)
	w.Install([]string{"us-east-1"}, "aws_s3")
	check := func(what string, listings int, objects string, do func()) {
		t.Helper()
		before, looked := objectCalls(proxy)
		do()
		n, looks := objectCalls(proxy)
		if n-before != listings || looks != looked {
			t.Errorf("%s costs %d listings and %d looks, not %d", what, n-before, looks-looked, listings)
		}
		if got := w.PSQL(`SELECT string_agg(split_part(bucket_name, '-', 1), ' ' ORDER BY bucket_name) FROM bucket_object`); got != objects {
			t.Errorf("%s shows objects in %s, not in %s", what, got, objects)
		}
	}
	all := func() { w.PSQL(`SELECT iasql_sync_now()`) }
	check("a cycle without named buckets", 0, "", all)
	check("a bucket that is named", 1, "first", func() {
		w.PSQL(`UPDATE bucket SET list_objects = true WHERE name LIKE 'first-%'`,
			`SELECT iasql_sync_now('bucket_object')`)
	})
	// By a cycle that nobody waits for, however seldom the table is listed.
	w.Admin(`UPDATE iasql_internal.listing SET changed = changed - interval '1 day'`)
	check("another", 2, "first second", func() {
		w.PSQL(`UPDATE bucket SET list_objects = true WHERE name LIKE 'second-%'`)
		w.Admin(`SELECT iasql_internal.enqueue_sync()`)
		w.Eventually(20*time.Second, "the objects to be seen", func() bool {
			return w.PSQL(`SELECT count(*) FROM bucket_object`) == "2"
		})
	})
	check("a cycle with two", 2, "first second", all)
	w.CLI("s3api", "delete-object", "--bucket", "first-"+id, "--key", "file")
	check("one that is not named any more", 1, "first second", func() {
		w.PSQL(`UPDATE bucket SET list_objects = false WHERE name LIKE 'first-%'`)
		all()
	})
	// The objects of a bucket that has gone have gone with it, named or not.
	w.CLI("s3api", "delete-bucket", "--bucket", "first-"+id)
	w.PSQL(`UPDATE iasql_settings SET value = '0 seconds' WHERE name = 'consistency_window'`)
	all()
	w.Becomes(20*time.Second, "second|second third",
		`SELECT (SELECT string_agg(split_part(bucket_name, '-', 1), ' ') FROM bucket_object), (SELECT string_agg(split_part(name, '-', 1), ' ' ORDER BY name) FROM bucket)`)
	if got := w.PSQL(`SELECT * FROM iasql_get_errors()`); got != "" {
		t.Errorf("errors: %s", got)
	}
}
