package acceptance

import (
	"strings"
	"testing"
	"time"

	"iasql/internal/test/harness"
)

// An instance with a volume and a security group of its own: what is done to it
// in the cloud shows, what is not asked for does not happen, and what replaces
// it takes over what was attached to it.
func TestInstances(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, []string{"us-east-1"}, "aws_ec2")
	quiet := func() {
		t.Helper()
		w.Settled()
		w.PSQL(`SELECT iasql_sync_now()`)
		w.PSQL(`SELECT iasql_sync_now()`)
		const writes = `SELECT count(*) FROM iasql_operations UNION ALL SELECT count(*) FROM iasql_audit_log`
		before := w.PSQL(writes)
		w.PSQL(`SELECT iasql_sync_now()`)
		if after := w.PSQL(writes); after != before {
			t.Errorf("a quiet world: %s operations and changes, then %s", before, after)
		}
		if got := w.PSQL(`SELECT table_name, state, message FROM iasql_status WHERE state <> 'Present'`); got != "" {
			t.Errorf("not present: %s", got)
		}
	}
	is := func(what, query, want string) {
		t.Helper()
		if got := w.PSQL(query); got != want {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
	w.PSQL(`BEGIN`,
		`INSERT INTO key_pair (name, public_key)
			SELECT n, 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPcXVGCQmBKFHkGfbkPlmdPXo0rTAd6hhsbYuMLF+uI8' FROM unnest('{one,two}'::text[]) n`,
		`INSERT INTO security_group (group_name, description) VALUES ('web', 'of a test')`,
		`INSERT INTO instance (ami, instance_type, key_pair_name) VALUES ('ami-1e749f67', 't3.micro', 'one')`,
		`INSERT INTO instance_security_groups (instance_id, security_group_id) SELECT i.id, g.id FROM instance i, security_group g WHERE group_name = 'web'`,
		`INSERT INTO general_purpose_volume (availability_zone, tags) VALUES ('us-east-1a', '{"Name": "data"}')`,
		`INSERT INTO instance_block_device_mapping (instance_id, volume_id, device_name) SELECT i.id, v.id, '/dev/sdf' FROM instance i, general_purpose_volume v`,
		`COMMIT`)
	quiet()
	const (
		devices = `SELECT string_agg(concat_ws(' ', device_name, m.delete_on_termination, m.is_root_device, v.tags ->> 'Name', v.state, v.is_root_device, v.instance_id = i.instance_id), ', ' ORDER BY device_name)
			FROM instance i JOIN instance_block_device_mapping m ON m.instance_id = i.id LEFT JOIN general_purpose_volume v ON v.id = m.volume_id`
		wantDevices = "/dev/sda1 t t in-use t t, /dev/sdf t f data in-use f t"
		groups      = `SELECT string_agg(group_name, ',') FROM instance_security_groups ig JOIN instance i ON i.id = ig.instance_id JOIN security_group g ON g.id = ig.security_group_id`
	)
	is("devices", devices, wantDevices)
	is("groups", groups, "web")

	id := w.PSQL(`SELECT instance_id FROM instance`)
	w.CLI("ec2", "stop-instances", "--instance-ids", id)
	w.PSQL(`SELECT iasql_sync_now()`)
	is("stopped by the command", `SELECT state, status FROM instance`, "stopped|stopped")
	w.PSQL(`UPDATE instance SET instance_type = 't3.small', tags = '{"Name": "web"}'`)
	quiet()
	is("changed while stopped", `SELECT state, instance_type FROM instance`, "stopped|t3.small")
	w.PSQL(`UPDATE instance SET state = 'running'`)
	quiet()
	is("started", `SELECT state, status FROM instance`, "running|running")

	// The root device and the default group's place are not given up.
	w.PSQL(`DELETE FROM instance_block_device_mapping WHERE is_root_device`, `SELECT iasql_sync_now()`)
	if got := w.PSQL(`SELECT state, message FROM iasql_status WHERE state <> 'Present'`); !strings.HasPrefix(got, "RemovingFailed|is not deleted from here: it is the root device") {
		t.Errorf("root device: %s", got)
	}
	w.PSQL(`INSERT INTO iasql_mode (table_name, mode) VALUES ('instance_block_device_mapping', 'TRACK')`)
	w.PSQL(`SELECT iasql_sync_now()`, `DELETE FROM iasql_mode`)
	is("devices", devices, wantDevices)

	// The key pair is fixed at creation: another instance takes the place of this
	// one, and the volume moves.
	w.PSQL(`UPDATE instance SET key_pair_name = 'two'`)
	w.Becomes(time.Minute, "t", `SELECT instance_id <> '`+id+`' FROM instance`)
	quiet()
	is("devices", devices, wantDevices)
	is("groups", groups, "web")
	is("volumes", `SELECT count(*) FROM general_purpose_volume`, "2")

	// One that others make and delete comes and goes with all that belongs to it.
	// which moto does not give by itself
	made := w.CLI("ec2", "run-instances", "--image-id", "ami-1e749f67", "--instance-type", "t3.micro", "--key-name",
		"two", "--security-groups", "default")
	other := made["Instances"].([]any)[0].(map[string]any)["InstanceId"].(string)
	counts := `SELECT count(*), count(m.device_name), count(v.volume_id) FILTER (WHERE v.is_root_device), count(g.group_name) FROM instance i
		LEFT JOIN instance_block_device_mapping m ON m.instance_id = i.id LEFT JOIN general_purpose_volume v ON v.id = m.volume_id
		LEFT JOIN instance_security_groups ig ON ig.instance_id = i.id LEFT JOIN security_group g ON g.id = ig.security_group_id WHERE i.instance_id = '` + other + `'`
	quiet()
	is("made by the command", counts, "1|1|1|1")
	w.CLI("ec2", "terminate-instances", "--instance-ids", other)
	quiet()
	is("terminated by the command", counts, "0|0|0|0")
	is("devices", devices, wantDevices)
}
