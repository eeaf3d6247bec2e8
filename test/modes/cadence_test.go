package modes

import (
	"strings"
	"testing"
	"time"

	"iasql/internal/test/faultproxy"
	"iasql/internal/test/harness"
)

const (
	us1  = "us-east-1"
	west = "us-west-2"
)

// Where nothing changes a table is listed seldom, and what a user waits for is listed at
// once.
func TestCadence(t *testing.T) {
	t.Parallel()
	w, proxy := harness.StartBehindProxy(t, east, "aws_sqs", "aws_vpc")
	w.PSQL(`UPDATE aws_regions SET is_enabled = region IN ('` + us1 + `', '` + west + `')`)
	w.PSQL(`INSERT INTO queue (name, region) VALUES ('q', '` + us1 + `')`)
	w.Settled()
	w.PSQL(`SELECT iasql_sync_now()`)
	// As if that had been half an hour ago, but for the last listing.
	quiet := `UPDATE iasql_internal.listing SET changed = changed - interval '30 minutes', tried = now(), listed = now()`
	w.Admin(quiet)
	cycle := func() {
		t.Helper()
		before := w.PSQL(`SELECT max(id) FROM iasql_cycles WHERE kind = 'full'`)
		w.Admin(`SELECT iasql_internal.enqueue_sync()`)
		w.Becomes(20*time.Second, "t",
			`SELECT bool_and(ended IS NOT NULL) FROM iasql_cycles WHERE kind = 'full' AND id > `+before)
	}
	listed := func() int { return proxy.Count("ListQueues") + proxy.Count("DescribeVpcs") }

	before := listed()
	cycle()
	if n := listed() - before; n != 0 {
		t.Errorf("a quiet cycle listed %d times", n)
	}
	// What is due is listed with what it refers to, and that alone.
	w.Admin(`UPDATE iasql_internal.listing SET tried = now() - interval '10 minutes' WHERE table_name = 'subnet' AND region = '` + west + `'`)
	since := w.PSQL(`SELECT now()`)
	cycle()
	if got := w.PSQL(`SELECT string_agg(concat_ws(' ', table_name, region), ', ' ORDER BY table_name) FROM iasql_listings WHERE last_seen > '` + since + `'`); got != "aws_regions, dhcp_options us-west-2, network_acl us-west-2, subnet us-west-2, vpc us-west-2" {
		t.Errorf("a cycle with one table due listed %s", got)
	}
	// One table, and all.
	w.Admin(quiet)
	queues, vpcs := proxy.Count("ListQueues"), proxy.Count("DescribeVpcs")
	w.PSQL(`SELECT iasql_sync_now('queue')`)
	if q, v := proxy.Count("ListQueues")-queues, proxy.Count("DescribeVpcs")-vpcs; q != 2 || v != 0 {
		t.Errorf("iasql_sync_now('queue') listed queues %d and VPCs %d times", q, v)
	}
	w.CLI("sqs", "create-queue", "--queue-name", "found")
	w.PSQL(`SELECT iasql_sync_now()`)
	if got := w.PSQL(`SELECT count(*) FROM queue WHERE name = 'found'`); got != "1" {
		t.Errorf("iasql_sync_now() found %s of 1 queues", got)
	}
	// What has changed is looked at again before long.
	w.Admin(`UPDATE iasql_internal.listing SET tried = tried - interval '15 seconds', changed = changed - interval '15 seconds'`)
	before = proxy.Count("ListQueues")
	cycle()
	if n := proxy.Count("ListQueues") - before; n != 1 {
		t.Errorf("after a change, %d of 1 regions were listed", n)
	}
	// After a cycle that took longer than its interval, the account has rest for as long.
	w.Admin(`UPDATE iasql_internal.listing SET tried = tried - interval '15 seconds', changed = now() - interval '15 seconds'`,
		`INSERT INTO iasql_cycles (account, kind, engine, started, ended) SELECT account, 'full', engine, now() - interval '3 minutes', now() FROM iasql_cycles ORDER BY id DESC LIMIT 1`)
	before = listed()
	cycle()
	if n := listed() - before; n != 0 {
		t.Errorf("after a long cycle another one listed %d times", n)
	}
	// A new rule is for everything.
	w.Admin(quiet)
	before = listed()
	w.PSQL(`INSERT INTO iasql_mode (table_name, mode) VALUES ('queue', 'ENFORCE')`)
	w.Eventually(20*time.Second, "a listing of everything", func() bool { return listed()-before >= 4 })
	if got := w.PSQL(`SELECT string_agg("table", ' ') FROM iasql_tables WHERE last_seen < now() - interval '5 minutes' OR last_seen IS NULL AND "table" NOT IN ('aws_account', 'aws_event_source')`); got != "" {
		t.Errorf("not seen were %s", got)
	}
	if _, err := w.TryPSQL(w.UserURL, `SELECT iasql_sync_now('queues')`); err == nil ||
		!strings.Contains(err.Error(), "Did you mean 'queue'?") {
		t.Errorf("a table that is not there: %v", err)
	}
}

// A region that is denied (a service control policy) is found once and shown. It is no
// error of any cycle, keeps nothing else from being installed, and when it is permitted,
// ENFORCE deletes nothing that was there before.
func TestDeniedRegion(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	proxy := faultproxy.Start(t, w.AWS.Endpoint)
	w.Endpoint = proxy.URL
	deny := func(c faultproxy.Call) faultproxy.Fault {
		if c.Region == west && c.Service != "sts" {
			return faultproxy.Fault{Status: 403, Code: "AccessDenied",
				Message: "User is not authorized to perform this action with an explicit deny in a service control policy"}
		}
		return faultproxy.Fault{}
	}
	w.Serve()
	w.Install(east, "aws_account")
	w.PSQL(`UPDATE aws_regions SET is_enabled = region IN ('` + us1 + `', '` + west + `')`)
	w.CLI("sqs", "create-queue", "--queue-name", "theirs", "--region", west)
	proxy.Set(deny)
	w.PSQL(`SELECT * FROM iasql_install('aws_sqs')`)
	w.PSQL(`SELECT * FROM iasql_install('aws_sns')`)
	if got := w.PSQL(`SELECT DISTINCT region FROM iasql_listings WHERE denied LIKE '%service control policy%'`); got != west {
		t.Errorf("denied are %q", got)
	}
	w.PSQL(`SELECT iasql_sync_now()`)
	if got := w.PSQL(`SELECT * FROM iasql_get_errors()`); got != "" {
		t.Errorf("the second cycle has the errors %s", got)
	}
	// Elsewhere all goes on.
	w.PSQL(`INSERT INTO queue (name, region) VALUES ('ours', '` + us1 + `')`)
	w.Settled()
	w.PSQL(`INSERT INTO iasql_mode (table_name, mode) VALUES ('queue', 'ENFORCE')`)
	w.CLI("sqs", "create-queue", "--queue-name", "stray", "--region", us1)
	w.PSQL(`SELECT iasql_sync_now()`)
	w.Settled()
	if got := w.PSQL(`SELECT string_agg(name, ' ') FROM queue`); got != "ours" {
		t.Errorf("the queues are %s", got)
	}
	if list := w.CLI("sqs", "list-queues", "--region", us1); len(list["QueueUrls"].([]any)) != 1 {
		t.Errorf("ENFORCE left %v", list)
	}
	proxy.Set(func(faultproxy.Call) faultproxy.Fault { return faultproxy.Fault{} })
	w.PSQL(`SELECT iasql_sync_now()`)
	if got := w.PSQL(`SELECT string_agg(name, ' ' ORDER BY name) FROM queue`); got != "ours theirs" {
		t.Errorf("with the region permitted the queues are %s", got)
	}
	if got := proxy.Count("DeleteQueue"); got != 1 {
		t.Errorf("%d queues were deleted, want the stray one", got)
	}
	// Where nothing may be read at all, that is an error.
	proxy.Set(func(c faultproxy.Call) faultproxy.Fault {
		if c.Service == "sns" {
			return faultproxy.Fault{Status: 403, Code: "AuthorizationError", Message: "no"}
		}
		return faultproxy.Fault{}
	})
	w.Admin(`DELETE FROM iasql_internal.listing WHERE table_name LIKE 'topic%'`)
	if _, err := w.TryPSQL(w.UserURL, `SELECT iasql_sync_now('topic')`); err == nil ||
		!strings.Contains(err.Error(), "table topic could not be read") {
		t.Errorf("what may be read nowhere: %v", err)
	}
}

// A bucket whose policy keeps the engine out hides nothing of others, is not shown as if it
// had been read, and nothing of it is taken for gone.
func TestDeniedBucket(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	proxy := faultproxy.Start(t, w.AWS.Endpoint)
	w.Endpoint = proxy.URL
	shut := func(name string) func(faultproxy.Call) faultproxy.Fault {
		return func(c faultproxy.Call) faultproxy.Fault {
			// (In AWS the listing says where buckets are, and nobody asks them.)
			if c.Service == "s3" && strings.Contains(c.Action, " /"+name) && !strings.Contains(c.Action, "location") {
				return faultproxy.Fault{Status: 403, Code: "AccessDenied",
					Message: "User is not authorized to perform this action with an explicit deny in a " +
						"resource-based policy"}
			}
			return faultproxy.Fault{}
		}
	}
	for _, name := range []string{"open", "shut", "third"} {
		w.CLI("s3api", "create-bucket", "--bucket", name+"-bucket")
		w.CLI("s3api", "put-bucket-versioning", "--bucket", name+"-bucket", "--versioning-configuration",
			"Status=Enabled")
		w.CLI("s3api", "put-public-access-block", "--bucket", name+"-bucket", "--public-access-block-configuration",
			"BlockPublicAcls=true")
		w.CLI("s3api", "put-bucket-website", "--bucket", name+"-bucket", "--website-configuration",
			`{"IndexDocument": {"Suffix": "index.html"}}`)
		w.CLI("s3api", "put-object", "--bucket", name+"-bucket", "--key", "a")
	}
	proxy.Set(shut("shut-bucket"))
	w.Serve()
	w.Install(east, "aws_s3")
	w.PSQL(`UPDATE bucket SET list_objects = true`)
	w.PSQL(`SELECT * FROM iasql_install('aws_sqs')`)
	w.PSQL(`SELECT iasql_sync_now()`)
	const all = `SELECT (SELECT string_agg(concat_ws(' ', name, versioning_enabled, tags), ', ' ORDER BY name) FROM bucket),
		(SELECT string_agg(bucket_name, ' ' ORDER BY bucket_name) FROM public_access_block), (SELECT string_agg(bucket_name, ' ' ORDER BY bucket_name) FROM bucket_website),
		(SELECT string_agg(bucket_name, ' ' ORDER BY bucket_name) FROM bucket_object)`
	if got := w.PSQL(all); got != "open-bucket t, shut-bucket, third-bucket t|open-bucket third-bucket|open-bucket "+
		"third-bucket|open-bucket third-bucket" {
		t.Errorf("the tables are %s", got)
	}
	if got := w.PSQL(`SELECT string_agg(table_name, ' ' ORDER BY table_name) FROM iasql_listings WHERE denied LIKE '%shut-bucket%explicit deny%' AND denied NOT LIKE '%open%'`); got != "bucket bucket_object bucket_website public_access_block" {
		t.Errorf("denied are %s", got)
	}
	w.PSQL(`SELECT iasql_sync_now()`)
	if got := w.PSQL(`SELECT * FROM iasql_get_errors()`); got != "" {
		t.Errorf("the second cycle has the errors %s", got)
	}
	// Now another, which has records, and what goes elsewhere is seen to go.
	proxy.Set(shut("third-bucket"))
	w.CLI("s3api", "delete-bucket-website", "--bucket", "open-bucket")
	w.CLI("s3api", "delete-object", "--bucket", "open-bucket", "--key", "a")
	w.PSQL(`SELECT iasql_sync_now()`)
	if got := w.PSQL(all); got != "open-bucket t, shut-bucket t, third-bucket t|open-bucket shut-bucket "+
		"third-bucket|shut-bucket third-bucket|shut-bucket third-bucket" {
		t.Errorf("with another bucket denied the tables are %s", got)
	}
	proxy.Set(func(faultproxy.Call) faultproxy.Fault { return faultproxy.Fault{} })
	w.PSQL(`SELECT iasql_sync_now()`)
	w.Settled()
	if got := w.PSQL(`SELECT count(*) FROM iasql_listings WHERE denied IS NOT NULL`); got != "0" {
		t.Errorf("%s listings are denied still", got)
	}
}
