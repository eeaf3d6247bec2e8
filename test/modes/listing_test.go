package modes

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"iasql/internal/test/faultproxy"
	"iasql/internal/test/harness"
)

// What users change does not wait for the end of a listing, wherever the cycle
// runs; and what the listing read before does not undo it.
func TestChangesDuringListing(t *testing.T) {
	t.Parallel()
	for _, engines := range []int{1, 2} {
		t.Run(fmt.Sprint(engines), func(t *testing.T) {
			t.Parallel()
			w := harness.NewWorld(t)
			proxy := faultproxy.Start(t, w.AWS.Endpoint)
			w.Endpoint = proxy.URL
			for range engines {
				w.Serve()
			}
			w.Install(east, "aws_vpc")
			w.PSQL(`INSERT INTO vpc (cidr_block) VALUES ('10.1.0.0/16'), ('10.2.0.0/16')`)
			w.Settled()
			edited := w.PSQL(`SELECT vpc_id FROM vpc WHERE cidr_block = '10.1.0.0/16'`)
			deleted := w.PSQL(`SELECT vpc_id FROM vpc WHERE cidr_block = '10.2.0.0/16'`)

			reached, release := make(chan struct{}), make(chan struct{})
			var once sync.Once
			letGo := sync.OnceFunc(func() { close(release) })
			defer letGo()
			proxy.Set(func(c faultproxy.Call) faultproxy.Fault {
				if c.Action != "DescribeVpcs" || strings.Contains(c.Body, "VpcId") ||
					strings.Contains(c.Body, "Filter") {
					return faultproxy.Fault{}
				}
				// The listing has been answered, and the answer is on its way.
				return faultproxy.Fault{After: func() {
					once.Do(func() { close(reached) })
					<-release
				}}
			})
			listed := make(chan error, 1)
			go func() {
				_, err := w.TryPSQL(w.UserURL, `SELECT iasql_sync_now()`)
				listed <- err
			}()
			<-reached
			w.PSQL(`UPDATE vpc SET tags = '{"a": "b"}' WHERE vpc_id = '` + edited + `'`)
			w.PSQL(`INSERT INTO vpc (cidr_block) VALUES ('10.3.0.0/16')`)
			w.PSQL(`DELETE FROM vpc WHERE vpc_id = '` + deleted + `'`)
			w.Eventually(10*time.Second, "the changes in the cloud", func() bool {
				vpcs := fmt.Sprint(w.CLI("ec2", "describe-vpcs")["Vpcs"])
				return strings.Contains(vpcs, "Key:a Value:b") && strings.Contains(vpcs, "10.3.0.0/16") &&
					!strings.Contains(vpcs, deleted)
			})
			w.Settled()
			select {
			case err := <-listed:
				t.Fatalf("the listing has ended: %v", err)
			default:
			}
			letGo()
			if err := <-listed; err != nil {
				t.Error(err)
			}
			w.Settled()
			if got := w.PSQL(`SELECT string_agg(format('%s %s', cidr_block, tags), ', ' ORDER BY cidr_block) FROM vpc WHERE cidr_block <<= '10.0.0.0/8'`); got != `10.1.0.0/16 {"a": "b"}, 10.3.0.0/16` {
				t.Errorf("the records are %s", got)
			}
			proxy.Set(func(faultproxy.Call) faultproxy.Fault { return faultproxy.Fault{} })
			before := proxy.Count("CreateVpc") + proxy.Count("DeleteVpc") + proxy.Count("CreateTags") + proxy.Count(
				"DeleteTags")
			w.PSQL(`SELECT iasql_sync_now()`)
			w.Settled()
			if after := proxy.Count("CreateVpc") + proxy.Count("DeleteVpc") + proxy.Count("CreateTags") + proxy.Count(
				"DeleteTags"); after != before {
				t.Errorf("a quiet cycle made %d calls", after-before)
			}
		})
	}
}

// Who waits for a preview, a commit or the undoing of a batch does not wait for the end of a
// listing (R22).
func TestBatchDuringListing(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	proxy := faultproxy.Start(t, w.AWS.Endpoint)
	w.Endpoint = proxy.URL
	w.Serve()
	w.Install(east, "aws_vpc", "aws_sqs")
	w.PSQL(`INSERT INTO vpc (cidr_block) VALUES ('10.1.0.0/16')`)
	w.Settled()
	listed, letGo := heldListing(w, proxy)
	begun := time.Now()
	preview := w.PSQL(`CALL iasql_begin()`, `UPDATE vpc SET tags = '{"a": "b"}' WHERE NOT is_default`,
		`INSERT INTO queue (name) VALUES ('meanwhile')`,
		`SELECT string_agg(action || ' ' || table_name, ', ' ORDER BY action) FROM iasql_preview()`,
		`CALL iasql_commit()`)
	if !strings.Contains(preview, "create queue, update vpc") {
		t.Errorf("the preview shows %s", preview)
	}
	if vpcs := fmt.Sprint(w.CLI("ec2", "describe-vpcs")["Vpcs"]); !strings.Contains(vpcs, "Key:a Value:b") {
		t.Errorf("the commit has left %s", vpcs)
	}
	w.PSQL(`CALL iasql_begin()`, `DELETE FROM vpc WHERE NOT is_default`, `CALL iasql_rollback()`)
	select {
	case err := <-listed:
		t.Fatalf("the listing has ended: %v", err)
	default:
		t.Logf("previewed, committed and rolled back in %s, while a listing went on", time.Since(begun))
	}
	letGo()
	if err := <-listed; err != nil {
		t.Error(err)
	}
	w.Settled()
	if got := w.PSQL(`SELECT count(*) FILTER (WHERE tags = '{"a": "b"}') || ' ' || (SELECT count(*) FROM queue WHERE arn IS NOT NULL) FROM vpc`); got != "1 1" {
		t.Errorf("afterwards there are %s", got)
	}
	if vpcs := fmt.Sprint(w.CLI("ec2", "describe-vpcs")["Vpcs"]); strings.Count(vpcs, "10.1.0.0/16") == 0 {
		t.Errorf("the VPC is gone: %s", vpcs)
	}
}

// heldListing has a full cycle wait in the middle of its listing, after it has listed queues, until letGo is called;
// listed gets what became of it.
func heldListing(w *harness.World, proxy *faultproxy.Proxy) (listed <-chan error, letGo func()) {
	reached, release := make(chan struct{}), make(chan struct{})
	reach := sync.OnceFunc(func() { close(reached) })
	letGo = sync.OnceFunc(func() { close(release) })
	w.Cleanup(letGo)
	proxy.Set(func(c faultproxy.Call) faultproxy.Fault {
		if c.Action != "ListQueues" {
			return faultproxy.Fault{}
		}
		return faultproxy.Fault{After: func() {
			reach()
			<-release
		}}
	})
	ended := make(chan error, 1)
	go func() {
		_, err := w.TryPSQL(w.UserURL, `SELECT iasql_sync_now()`)
		ended <- err
	}()
	<-reached
	return ended, letGo
}

// What holds an account back while a listing is under way, found by the commit that runs between two of its pages, ends
// both: nothing is called, and the commit is told why (R30).
func TestHeldDuringListing(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	proxy := faultproxy.Start(t, w.AWS.Endpoint)
	w.Endpoint = proxy.URL
	w.Serve()
	w.Install(east, "aws_sqs")
	listed, letGo := heldListing(w, proxy)
	w.Admin(`UPDATE iasql_internal.server_seen SET restored_at = now(), restored_why = 'it was said to have gone back', restored_audit = 0`)
	_, err := w.TryPSQL(w.UserURL, `CALL iasql_begin()`, `INSERT INTO queue (name) VALUES ('meanwhile')`,
		`CALL iasql_commit()`)
	if err == nil || !strings.Contains(err.Error(), "it was said to have gone back") {
		t.Errorf("the commit ended in %v", err)
	}
	letGo()
	if err := <-listed; err != nil {
		t.Logf("the listing ended in %v", err)
	}
	if n := proxy.Count("CreateQueue"); n != 0 {
		t.Errorf("%d queues were created", n)
	}
	w.Admin(`SELECT iasql_confirm('restored')`)
	w.PSQL(`SELECT iasql_sync_now()`)
}

// A rule holds from its COMMIT on: what a running cycle has listed before is not
// pulled by the older ones (R19).
func TestRuleDuringListing(t *testing.T) {
	t.Parallel()
	w, proxy := harness.StartBehindProxy(t, east, "aws_sqs")
	w.PSQL(`UPDATE iasql_settings SET value = '0 seconds' WHERE name = 'consistency_window'`,
		`UPDATE iasql_settings SET value = '1 hour' WHERE name = 'sync_interval'`)
	w.PSQL(`INSERT INTO queue (name, delay_seconds) VALUES ('drifts', 1)`)
	w.Settled()
	w.PSQL(`SELECT iasql_sync_now()`)
	url := w.PSQL(`SELECT url FROM queue`)
	w.CLI("sqs", "set-queue-attributes", "--queue-url", url, "--attributes", "DelaySeconds=100")
	w.CLI("sqs", "create-queue", "--queue-name", "uninvited")
	var once sync.Once
	proxy.Set(func(c faultproxy.Call) faultproxy.Fault {
		if c.Action != "GetQueueAttributes" {
			return faultproxy.Fault{}
		}
		return faultproxy.Fault{After: func() { // the answer is on its way
			once.Do(func() { w.PSQL(`INSERT INTO iasql_mode (mode) VALUES ('ENFORCE')`) })
		}}
	})
	w.PSQL(`SELECT iasql_sync_now()`)
	w.Settled()
	if got := w.PSQL(`SELECT string_agg(name || ' ' || delay_seconds, ', ') FROM queue`); got != "drifts 1" {
		t.Errorf("the records are %s", got)
	}
	if got := w.PSQL(`SELECT count(*) FROM iasql_audit_log WHERE table_name = 'queue' AND origin = 'engine' AND (change_type = 'INSERT' OR change -> 'change' ->> 'delay_seconds' = '100')`); got != "0" {
		t.Errorf("%s pulls of what ENFORCE does not want", got)
	}
	w.Eventually(20*time.Second, "the cloud to be as the tables are", func() bool {
		list := fmt.Sprint(w.CLI("sqs", "list-queues")["QueueUrls"])
		attributes := w.CLI("sqs", "get-queue-attributes", "--queue-url", url, "--attribute-names",
			"DelaySeconds")["Attributes"].(map[string]any)
		return attributes["DelaySeconds"] == "1" && !strings.Contains(list, "uninvited")
	})
}
