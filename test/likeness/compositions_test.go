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
	w.PSQL(`SELECT iasql_sync_now()`)
	before := w.Admin(there)
	begun := time.Now()
	run(t, w, `
		BEGIN;
		INSERT INTO network (region, name, cidr_block, nat, endpoints)
		VALUES ('us-east-1', 'shop', '10.60.0.0/16', 'one', '{s3}'), ('eu-west-1', 'shop', '10.61.0.0/16', 'each', '{}');
		INSERT INTO web_service (region, name, image, port, public_subnets, task_subnets, environment, tags)
		SELECT n.region, 'web', 'nginx:1', 80, array_agg(p.record_id ORDER BY p.key) FILTER (WHERE p.part = 'public_subnet'),
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
	run(t, w, `
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
	begun = time.Now()
	run(t, w, `BEGIN; DELETE FROM database; DELETE FROM web_service; DELETE FROM network; COMMIT; SELECT iasql_wait_for_all(300);`)
	settles(t, w, "nothing to be left")
	w.PSQL(`SELECT iasql_sync_now()`)
	settles(t, w, "nothing to come back")
	if kept := w.PSQL(kept); kept != "" {
		t.Errorf("what was made and is still there: %s", kept)
	}
	if after := w.Admin(there); after != before {
		t.Errorf("there was %s and is %s", before, after)
	}
	t.Logf("down in %s", time.Since(begun).Round(time.Second))
	if got := w.PSQL(`SELECT string_agg(module_name, ' ' ORDER BY module_name) FROM iasql_uninstall('network', 'database', 'web_service')`); strings.Count(got, " ") != 2 {
		t.Errorf("uninstalled %s", got)
	}
}
