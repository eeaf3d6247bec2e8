package likeness

import (
	"strings"
	"testing"
	"time"

	"iasql/internal/test/likeness"
)

// A static site with its certificate and names comes up from one transaction, with nothing
// for a person to do, and goes by another.
func TestSite(t *testing.T) {
	t.Parallel()
	w, _ := start(t, func(string) []likeness.Rule {
		return []likeness.Rule{
			&likeness.Buckets{Deleting: 5 * time.Second, Listing: 2 * time.Second},
			&likeness.Certificates{Telling: 3 * time.Second, Validating: 4 * time.Second},
			&likeness.DNS{Working: 300 * time.Millisecond}, &likeness.Distributions{Deploying: 5 * time.Second},
		}
	}, "aws_s3", "aws_acm", "aws_route53", "aws_cloudfront")
	w.PSQL(`BEGIN`,
		`INSERT INTO bucket (name, policy) VALUES ('site-`+w.AWS.ID+
			`', '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"AWS": ["`+w.AWS.ID+
			`", "arn:aws:iam::999999999999:root"]}, "Action": "s3:GetObject", "Resource": "arn:aws:s3:::site-`+
			w.AWS.ID+`/*"}]}')`,
		`INSERT INTO public_access_block (bucket_name, block_public_policy, restrict_public_buckets) VALUES ('site-`+
			w.AWS.ID+`', false, false)`,
		`INSERT INTO bucket_website (bucket_name, index_document) VALUES ('site-`+w.AWS.ID+`', 'index.html')`,
		`INSERT INTO hosted_zone (domain_name) VALUES ('site.test')`,
		`INSERT INTO certificate (domain_name, subject_alternative_names, dns_records) VALUES ('www.site.test', '{site.test}', true)`,
		`INSERT INTO distribution (comment, alternate_domain_names, custom_ssl_certificate_id, default_root_object, dns_records, origins, default_cache_behavior)
			SELECT 'the site', '{www.site.test,site.test}', id, 'index.html', true,
				'[{"Id": "site", "DomainName": "site-`+w.AWS.ID+
			`.s3-website-us-east-1.amazonaws.com", "CustomOriginConfig": {"OriginProtocolPolicy": "http-only"}}]',
				'{"TargetOriginId": "site", "ViewerProtocolPolicy": "redirect-to-https", "Compress": true, "CachePolicyId": "658327ea-f89d-4fab-a63d-7e88639e58f6"}' FROM certificate`,
		`COMMIT`)
	up := func() bool {
		return w.PSQL(`SELECT count(*) FROM iasql_audit_log WHERE NOT settled`) == "0" && w.PSQL(unsettled) == "" &&
			w.PSQL(`SELECT count(*) FROM resource_record_set WHERE alias_dns_name LIKE '%.cloudfront.net'`) != "0"
	}
	w.Eventually(80*time.Second, "the site to come up", up)
	w.PSQL(`SELECT iasql_sync_now()`)
	w.Settled()
	if got := w.PSQL(`SELECT status FROM certificate`); got != "ISSUED" {
		t.Errorf("the certificate is %s", got)
	}
	if got := w.PSQL(`SELECT count(*) FILTER (WHERE record_type = 'CNAME'), count(*) FILTER (WHERE record_type = 'A') FROM resource_record_set`); got != "2|2" {
		t.Errorf("the records are %s", w.PSQL(`SELECT name, record_type FROM resource_record_set`))
	}
	if got := w.PSQL(`SELECT string_agg(table_name || ' ' || kind || ' ' || n, ', ' ORDER BY 1) FROM (SELECT table_name, kind, count(*) AS n FROM iasql_operations WHERE result = 'ok' AND kind IN ('create', 'delete') GROUP BY 1, 2) o WHERE kind = 'delete'`); got != "" {
		t.Errorf("deleted on the way up: %s", got)
	}
	w.Admin(`UPDATE iasql_settings SET value = '1' WHERE name = 'max_delete_ratio'`)
	w.PSQL(`BEGIN`, `SET LOCAL iasql.with_contents = 'on'`, `DELETE FROM distribution`, `DELETE FROM certificate`,
		`DELETE FROM hosted_zone`,
		`DELETE FROM bucket_website`, `DELETE FROM public_access_block`, `DELETE FROM bucket`, `COMMIT`)
	w.Eventually(80*time.Second, "the site to go", func() bool {
		return w.PSQL(`SELECT count(*) FROM iasql_audit_log WHERE NOT settled`) == "0" && w.PSQL(unsettled) == ""
	})
	w.PSQL(`SELECT iasql_sync_now()`)
	if got := w.PSQL(`SELECT (SELECT count(*) FROM distribution), (SELECT count(*) FROM certificate), (SELECT count(*) FROM hosted_zone), (SELECT count(*) FROM bucket), (SELECT count(*) FROM resource_record_set)`); got != "0|0|0|0|0" {
		t.Errorf("left are %s", got)
	}
}

// Names come back with escape codes, an alias needs its target, and a zone takes one change
// at a time: records and aliases of one transaction come up, and mean no change (finding B16).
func TestNames(t *testing.T) {
	t.Parallel()
	w, l := start(t, of(&likeness.DNS{Working: 200 * time.Millisecond}), "aws_route53")
	w.PSQL(`BEGIN`, `INSERT INTO hosted_zone (domain_name, tags) VALUES ('names.test', '{"a": "b"}')`,
		`INSERT INTO resource_record_set (parent_hosted_zone_id, name, record_type, record, ttl)
			SELECT id, n, 'A', '192.0.2.1', 60 FROM hosted_zone, unnest('{*.names.test,a/b.names.test,a@b.names.test,"a''b.names.test",to.names.test}'::text[]) n`,
		`INSERT INTO resource_record_set (parent_hosted_zone_id, name, record_type, alias_dns_name) SELECT id, 'alias.names.test', 'A', 'to.names.test' FROM hosted_zone`,
		`COMMIT`)
	settles(t, w, "the zone to come up")
	w.PSQL(`SELECT iasql_sync_now()`)
	w.Settled()
	if got := w.PSQL(`SELECT string_agg(name, ' ' ORDER BY name COLLATE "C") FROM resource_record_set WHERE record_type = 'A'`); got != `*.names.test. a'b.names.test. a/b.names.test. a@b.names.test. alias.names.test. to.names.test.` {
		t.Errorf("the records are %s", got)
	}
	calls := l.Proxy.Count("POST /2013-04-01/hostedzone/" + w.PSQL(`SELECT hosted_zone_id FROM hosted_zone`) + "/rrset")
	w.PSQL(`SELECT iasql_sync_now()`)
	if again := l.Proxy.Count("POST /2013-04-01/hostedzone/" + w.PSQL(`SELECT hosted_zone_id FROM hosted_zone`) +
		"/rrset"); again != calls {
		t.Errorf("%d changes of what means the same", again-calls)
	}
	w.Admin(`UPDATE iasql_settings SET value = '1' WHERE name = 'max_delete_ratio'`)
	w.PSQL(`DELETE FROM resource_record_set WHERE NOT is_default`, `DELETE FROM hosted_zone`)
	settles(t, w, "the zone to go")
}

// A bucket whose name is not free yet, and whose policy comes back otherwise than it was sent,
// takes its time and no person.
func TestBucketAgain(t *testing.T) {
	t.Parallel()
	w, _ := start(t, of(&likeness.Buckets{Deleting: 4 * time.Second, Listing: 2 * time.Second}), "aws_s3")
	name := "again-" + w.AWS.ID
	insert := `INSERT INTO bucket (name, policy) VALUES ('` + name +
		`', '{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Principal": {"AWS": ["111111111111", "` +
		w.AWS.ID + `", "222222222222"]}, "Action": ["s3:GetObject"], "Resource": "arn:aws:s3:::` + name + `/*"}}')`
	w.PSQL(insert)
	settles(t, w, "the bucket to be made")
	w.PSQL(`SELECT iasql_sync_now()`)
	w.PSQL(`DELETE FROM bucket`)
	w.Settled()
	w.PSQL(`SELECT iasql_sync_now()`) // the listing still has it
	if got := w.PSQL(`SELECT count(*) FROM bucket`); got != "0" {
		t.Errorf("%s buckets are back from the dead", got)
	}
	w.PSQL(insert)
	settles(t, w, "the bucket to be made again")
	w.PSQL(`SELECT iasql_sync_now()`)
	w.Settled()
	if n := w.PSQL(`SELECT count(*) FROM iasql_operations WHERE action = 'PutBucketPolicy'`); n != "2" {
		t.Errorf("the policy was put %s times, want twice", n)
	}
}

// Who may not write DNS records cannot have them made by a certificate or a distribution.
func TestRecordsTakeARight(t *testing.T) {
	t.Parallel()
	w, _ := start(t, of(&likeness.Certificates{}), "aws_acm", "aws_route53")
	w.Admin(`REVOKE INSERT ON resource_record_set FROM iasql_user`)
	const insert = `INSERT INTO certificate (domain_name, dns_records) VALUES ('www.site.test', `
	if got := w.Refused(insert + `true)`); !strings.Contains(got, "42501") ||
		!strings.Contains(got, "resource_record_set") {
		t.Errorf("without the right: %s", got)
	}
	w.Admin(`GRANT INSERT ON resource_record_set TO iasql_user`)
	w.PSQL(insert + `true)`)
	if got := w.PSQL(`SELECT count(*) FROM certificate WHERE dns_records`); got != "1" {
		t.Errorf("with the right there are %s", got)
	}
}
