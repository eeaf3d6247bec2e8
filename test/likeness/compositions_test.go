package likeness

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"iasql/internal/test/harness"
	"iasql/internal/test/likeness"
)

// The compositions that the engine brings come up in two regions each, in an account with all regions, with nothing for a person to
// do, are changed, and go. What is there afterwards is what was there before.
func TestCompositions(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	l := likeness.Start(t, w.AWS.Endpoint, likeness.AWS(w.AWS.Endpoint, speed)...)
	w.Endpoint = l.URL
	w.Serve()
	w.PSQL(`SELECT * FROM iasql_install('network', 'database', 'web_service')`)
	w.PSQL(`UPDATE aws_account SET account_id = '` + w.AWS.ID + `'`)
	w.PSQL(fmt.Sprintf(`UPDATE iasql_settings SET value = '%d milliseconds' WHERE name = 'consistency_window'`, likeness.Window(speed).Milliseconds()))
	w.Admin(`UPDATE iasql_settings SET value = '1' WHERE name = 'max_delete_ratio'`)
	w.PSQL(`INSERT INTO hosted_zone (domain_name) VALUES ('shop.test')`)
	w.Settled()
	w.PSQL(`SELECT iasql_sync_now()`)
	before := w.Admin(there)
	begun := time.Now()
	run(t, w, `
		BEGIN;
		INSERT INTO network (region, name, cidr_block, nat, endpoints)
		VALUES ('us-east-1', 'shop', '10.60.0.0/16', 'one', '{s3}'), ('eu-west-1', 'shop', '10.61.0.0/16', 'each', '{}');
		INSERT INTO web_service (region, name, domain, max_number, target_memory, image, port, public_subnets, task_subnets, environment, tags)
		SELECT n.region, 'web', CASE n.region WHEN 'eu-west-1' THEN 'www.shop.test' END, CASE n.region WHEN 'us-east-1' THEN 6 END, 80, 'nginx:1', 80, array_agg(p.record_id ORDER BY p.key) FILTER (WHERE p.part = 'public_subnet'),
			array_agg(p.record_id ORDER BY p.key) FILTER (WHERE p.part = 'private_subnet'), '{"LEVEL": "info"}', '{"of": "shop"}'
		FROM network n JOIN iasql_parts p ON p.composition = 'network' AND p.instance = n.id GROUP BY n.region;
		INSERT INTO database (region, name, subnets, clients, final_snapshot, multi_az)
		SELECT w.region, 'shop', w.task_subnets, ARRAY(SELECT p.record_id FROM iasql_parts p WHERE p.composition = 'web_service' AND p.instance = w.id AND p.part = 'task_group'),
			false, w.region = 'us-east-1'
		FROM web_service w;
		COMMIT;
		SELECT iasql_wait_for_all(300);`)
	settles(t, w, "everything to be there")
	t.Logf("up in %s: %s", time.Since(begun).Round(time.Second), w.PSQL(`SELECT string_agg(composition || ' ' || n, ', ' ORDER BY composition) FROM (SELECT composition, count(*) AS n FROM iasql_parts GROUP BY 1) p`))
	if got := w.PSQL(`SELECT string_agg(concat_ws(' ', s.region, s.status, b.dns_name <> '', r.endpoint_addr <> ''), ', ' ORDER BY s.region)
		FROM service s JOIN load_balancer b USING (region) JOIN rds r USING (region)`); got != "eu-west-1 ACTIVE t t, us-east-1 ACTIVE t t" {
		t.Errorf("there is %s", got)
	}
	if got := w.PSQL(`SELECT string_agg(concat_ws(' ', composition, part, key, edited), ', ') FROM iasql_parts WHERE edited <> '{}'`); got != "" {
		t.Errorf("edited by nobody: %s", got)
	}
	const names = `SELECT string_agg(concat_ws(' ', r.record_type, r.name, b.region), ', ') FROM resource_record_set r
		JOIN load_balancer b ON b.dns_name = r.alias_dns_name AND b.canonical_hosted_zone_id = r.alias_hosted_zone_id`
	if got := w.PSQL(names); got != "A www.shop.test. eu-west-1" {
		t.Errorf("the names are %s", got)
	}
	const listeners = `SELECT string_agg(concat_ws(' ', region, port, action_type, certificate_id IS NOT NULL), ', ' ORDER BY region, port) FROM listener`
	if got := w.PSQL(listeners); got != "eu-west-1 80 redirect f, eu-west-1 443 forward t, us-east-1 80 forward f" {
		t.Errorf("the listeners are %s", got)
	}
	// What scales the service has the say over how many tasks there are.
	scaled := func(want string) {
		t.Helper()
		if got := w.PSQL(`SELECT string_agg(concat_ws(' ', s.region, s.desired_count, t.min_capacity, t.max_capacity,
				(SELECT string_agg(concat_ws(' ', p.policy_name, p.target_tracking_scaling_policy_configuration ->> 'TargetValue'), ' ' ORDER BY p.policy_name)
				 FROM service_scaling_policy p WHERE p.service_scaling_target_id = t.id)), ', ' ORDER BY s.region)
			FROM service s LEFT JOIN service_scaling_target t ON t.service_id = s.id`); got != want {
			t.Errorf("scaled are %s, want %s", got, want)
		}
		if got := w.PSQL(`SELECT string_agg(concat_ws(' ', composition, part, key, edited), ', ') FROM iasql_parts WHERE edited <> '{}'`); got != "" {
			t.Errorf("edited by nobody: %s", got)
		}
	}
	scaled("eu-west-1 2, us-east-1 2 2 6 web-cpu 60 web-memory 80")
	w.CLI("--region", "us-east-1", "ecs", "update-service", "--cluster", "web", "--service", "web", "--desired-count", "4")
	w.PSQL(`SELECT iasql_sync_now()`)
	scaled("eu-west-1 2, us-east-1 4 2 6 web-cpu 60 web-memory 80")
	run(t, w, `
		UPDATE web_service SET domain = 'www2.shop.test' WHERE region = 'eu-west-1';
		UPDATE web_service SET image = 'nginx:2', number = 1;
		UPDATE database SET storage = 30, clients = '{}' WHERE region = 'eu-west-1';
		UPDATE network SET nat = 'one' WHERE region = 'eu-west-1';
		SELECT iasql_wait_for_all(300);`)
	settles(t, w, "the changes")
	if got := w.PSQL(`SELECT string_agg(concat_ws(' ', r.region, r.allocated_storage, (SELECT count(*) FROM nat_gateway g WHERE g.region = r.region),
			(SELECT t.container_definitions -> 0 ->> 'image' FROM service s JOIN task_definition t ON t.id = s.task_definition_id WHERE s.region = r.region)), ', ' ORDER BY r.region) FROM rds r`); got !=
		"eu-west-1 30 1 nginx:2, us-east-1 20 1 nginx:2" {
		t.Errorf("after the changes there is %s", got)
	}
	scaled("eu-west-1 1, us-east-1 4 1 6 web-cpu 60 web-memory 80")
	run(t, w, `UPDATE web_service SET max_number = CASE WHEN region = 'eu-west-1' THEN 3 END, target_cpu = 50, target_memory = NULL; SELECT iasql_wait_for_all(300);`)
	settles(t, w, "others to scale")
	scaled("eu-west-1 1 1 3 web-cpu 50, us-east-1 1")
	if got := w.PSQL(names); got != "A www2.shop.test. eu-west-1" {
		t.Errorf("the names are then %s", got)
	}
	if got := w.PSQL(`SELECT string_agg(domain_name, ' ') FROM certificate`); got != "www2.shop.test" {
		t.Errorf("the certificates are %s", got)
	}
	begun = time.Now()
	run(t, w, `BEGIN; DELETE FROM database; DELETE FROM web_service; DELETE FROM network; COMMIT; SELECT iasql_wait_for_all(300);`)
	gone(t, w, before, begun)
	if got := w.PSQL(`SELECT string_agg(module_name, ' ' ORDER BY module_name) FROM iasql_uninstall('network', 'database', 'web_service')`); strings.Count(got, " ") != 2 {
		t.Errorf("uninstalled %s", got)
	}
}

// Static sites, one with a domain, come up in two regions with nothing for a person to do, change their names, and go with all that
// was made for them.
func TestCompositionsOfSites(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	l := likeness.Start(t, w.AWS.Endpoint, likeness.AWS(w.AWS.Endpoint, speed)...)
	w.Endpoint = l.URL
	w.Serve()
	w.PSQL(`SELECT * FROM iasql_install('static_site')`)
	if got := w.Refused(`INSERT INTO static_site (name) VALUES ('docs')`); !strings.Contains(got, "account_id of default in aws_account is NULL") {
		t.Errorf("without the account's number: %s", got)
	}
	w.PSQL(`UPDATE aws_account SET account_id = '` + w.AWS.ID + `'`)
	w.PSQL(fmt.Sprintf(`UPDATE iasql_settings SET value = '%d milliseconds' WHERE name = 'consistency_window'`, likeness.Window(speed).Milliseconds()))
	w.Admin(`UPDATE iasql_settings SET value = '1' WHERE name = 'max_delete_ratio'`)
	w.PSQL(`INSERT INTO hosted_zone (domain_name) VALUES ('site.test'), ('other.test')`)
	w.Settled()
	w.PSQL(`SELECT iasql_sync_now()`)
	before := w.Admin(there)
	begun := time.Now()
	run(t, w, `
		INSERT INTO static_site (region, name, domain, further_domains, error_document, tags)
		VALUES ('us-east-1', 'docs', NULL, '{}', NULL, '{"of": "docs"}'), ('eu-west-1', 'shop', 'www.site.test', '{site.test}', '404.html', '{}');
		SELECT iasql_wait_for_all(300);`)
	settles(t, w, "the sites to be there")
	w.PSQL(`SELECT iasql_sync_now()`)
	settles(t, w, "nothing to change")
	t.Logf("up in %s", time.Since(begun).Round(time.Second))
	const parts = `SELECT string_agg(concat_ws(' ', s.name, p.part, p.n), ', ' ORDER BY s.name, p.part)
		FROM static_site s JOIN (SELECT instance, part, count(*) AS n FROM iasql_parts GROUP BY 1, 2) p ON p.instance = s.id`
	if got := w.PSQL(parts); got != "docs access 1, docs block 1, docs bucket 1, docs distribution 1, shop access 1, shop block 1, shop bucket 1, shop certificate 1, "+
		"shop certificate resource_record_set 2, shop distribution 1, shop distribution resource_record_set 4" {
		t.Errorf("there is %s", got)
	}
	if got := w.PSQL(`SELECT string_agg(concat_ws(' ', part, key, edited), ', ') FROM iasql_parts WHERE edited <> '{}'`); got != "" {
		t.Errorf("edited by nobody: %s", got)
	}
	// The bucket lets the account's distributions in, and the distribution signs what it asks of the bucket.
	for name, region := range map[string]string{"docs": "us-east-1", "shop": "eu-west-1"} {
		bucket := name + "-" + w.AWS.ID + "-" + region
		policy := w.CLI("s3api", "get-bucket-policy", "--bucket", bucket)["Policy"].(string)
		if !strings.Contains(policy, "arn:aws:cloudfront::"+w.AWS.ID+":distribution/*") {
			t.Errorf("the policy of %s is %s", bucket, policy)
		}
		id := w.PSQL(`SELECT d.distribution_id FROM distribution d WHERE d.comment LIKE '` + name + ` %'`)
		control := w.PSQL(`SELECT origin_access_control_id FROM origin_access_control WHERE name = '` + name + `-` + region + `'`)
		origins := w.CLI("cloudfront", "get-distribution", "--id", id, "--query", "Distribution.DistributionConfig.Origins")["Items"].([]any)
		origin := origins[0].(map[string]any)
		if origin["OriginAccessControlId"] != control || control == "" || origin["DomainName"] != bucket+".s3."+region+".amazonaws.com" {
			t.Errorf("%s is signed by %s and delivered from %v", name, control, origin)
		}
	}
	const names = `SELECT string_agg(concat_ws(' ', record_type, name), ', ' ORDER BY name, record_type) FROM resource_record_set
		WHERE alias_dns_name IN (SELECT domain_name FROM distribution)`
	if got := w.PSQL(names); got != "A site.test., AAAA site.test., A www.site.test., AAAA www.site.test." {
		t.Errorf("the names are %s", got)
	}
	run(t, w, `
		UPDATE static_site SET domain = 'new.other.test', further_domains = '{site.test}' WHERE name = 'shop';
		UPDATE static_site SET price_class = 'PriceClass_All', index_document = 'start.html' WHERE name = 'docs';
		SELECT iasql_wait_for_all(300);`)
	settles(t, w, "the changes")
	if got := w.PSQL(names); got != "A new.other.test., AAAA new.other.test., A site.test., AAAA site.test." {
		t.Errorf("the names are then %s", got)
	}
	if got := w.PSQL(`SELECT count(*), count(*) FILTER (WHERE name LIKE '%www.site.test.') FROM resource_record_set WHERE record_type = 'CNAME'`); got != "2|0" {
		t.Errorf("the records that validate are %s", w.PSQL(`SELECT name FROM resource_record_set WHERE record_type = 'CNAME'`))
	}
	if got := w.PSQL(`SELECT string_agg(concat_ws(' ', price_class, default_root_object), ', ' ORDER BY comment) FROM distribution`); got != "PriceClass_All start.html, PriceClass_100 index.html" {
		t.Errorf("the distributions are %s", got)
	}
	run(t, w, `UPDATE static_site SET domain = NULL, further_domains = '{}'; SELECT iasql_wait_for_all(300);`)
	settles(t, w, "no domain")
	if got := w.PSQL(names) + w.PSQL(`SELECT count(*) FROM certificate`); got != "0" {
		t.Errorf("left of the domain are %s", got)
	}
	run(t, w, `UPDATE static_site SET domain = 'www.site.test' WHERE name = 'docs'; SELECT iasql_wait_for_all(300);`)
	settles(t, w, "a domain that comes later")
	if got := w.PSQL(names); got != "A www.site.test., AAAA www.site.test." {
		t.Errorf("the names are at last %s", got)
	}
	begun = time.Now()
	run(t, w, `DELETE FROM static_site; SELECT iasql_wait_for_all(300);`)
	gone(t, w, before, begun)
	if got := w.PSQL(`SELECT module_name FROM iasql_uninstall('static_site')`); got != "static_site" {
		t.Errorf("uninstalled %s", got)
	}
}
