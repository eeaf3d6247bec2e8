package acceptance

import (
	"bytes"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"iasql/internal/test/faultproxy"
	"iasql/internal/test/harness"
)

// A deleted distribution is disabled in one cycle and deleted in a later one, and
// what it used goes after it. moto has it disabled everywhere at once, and lets go
// of what is used.
func TestDisabledFirst(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	proxy := faultproxy.Start(t, w.AWS.Endpoint)
	w.Endpoint = proxy.URL
	var carried, puts, deletes atomic.Int32 // whether a change is everywhere; calls of the distribution
	proxy.Set(func(c faultproxy.Call) faultproxy.Fault {
		switch method, path, _ := strings.Cut(c.Action, " "); {
		case c.Service != "cloudfront":
		case strings.Contains(path, "/distribution/") && method == "PUT":
			puts.Add(1)
		case strings.Contains(path, "/distribution/") && method == "DELETE":
			deletes.Add(1)
		case strings.Contains(path, "/origin-access-control/") && method == "DELETE" && deletes.Load() == 0:
			return faultproxy.Fault{Status: 409, Code: "OriginAccessControlInUse",
				Message: "The specified origin access control is in use."}
		}
		return faultproxy.Fault{Rewrite: func(body []byte) []byte {
			if c.Service == "cloudfront" && carried.Load() == 0 {
				return bytes.ReplaceAll(body, []byte("<Status>Deployed</Status>"),
					[]byte("<Status>InProgress</Status>"))
			}
			return body
		}}
	})
	w.Serve()
	w.Install([]string{"us-east-1"}, "aws_cloudfront")
	w.PSQL(`INSERT INTO origin_access_control (name) VALUES ('files')`,
		`INSERT INTO distribution (origins, default_cache_behavior) VALUES ('[{"Id": "a", "DomainName": "a.example.com", "CustomOriginConfig": {"OriginProtocolPolicy": "https-only"}}]',
			'{"TargetOriginId": "a", "ViewerProtocolPolicy": "allow-all", "Compress": true, "CachePolicyId": "658327ea-f89d-4fab-a63d-7e88639e58f6"}')`)
	w.Settled()
	w.PSQL(`DELETE FROM distribution`, `DELETE FROM origin_access_control`)
	w.Becomes(time.Minute, "Removing|InProgress: waits until CloudFront has disabled it everywhere, which takes minutes",
		`SELECT state || '|' || message FROM iasql_status WHERE table_name = 'distribution'`)
	w.PSQL(`SELECT iasql_sync_now()`)
	if puts.Load() != 1 || deletes.Load() != 0 {
		t.Errorf("disabled by %d calls, deleted by %d", puts.Load(), deletes.Load())
	}
	carried.Store(1)
	w.Settled()
	if puts.Load() != 1 || deletes.Load() != 1 {
		t.Errorf("disabled by %d calls, deleted by %d", puts.Load(), deletes.Load())
	}
}
