package batches

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"iasql/internal/test/harness"
)

// tfResource is a resource of a state as Terraform writes it (version 4).
type tfResource struct {
	Mode      string       `json:"mode"`
	Type      string       `json:"type"`
	Name      string       `json:"name"`
	Provider  string       `json:"provider"`
	Instances []tfInstance `json:"instances"`
}

type tfInstance struct {
	IndexKey   any               `json:"index_key,omitempty"`
	Attributes map[string]string `json:"attributes"`
}

// TestImportState: a state of 500 resources becomes a configuration; nothing is written, what is not there is listed, and
// the configuration prunes like any other. There is no provider of Terraform's for AWS on a machine without the internet,
// so that the state is written here, in the documented form, of what the emulator has.
func TestImportState(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, []string{"us-east-1", "us-west-2"}, "aws_sqs", "aws_ssm", "aws_vpc", "aws_security_group")
	w.PSQL(`INSERT INTO queue (name, region) SELECT 'q-' || i, (ARRAY['us-east-1', 'us-west-2'])[i % 2 + 1] FROM generate_series(1, 200) i`,
		// The same name in both regions: the ARN tells them apart.
		`INSERT INTO queue (name, region) VALUES ('q-1', 'us-east-1'), ('q-2', 'us-west-2'), ('twice', 'us-east-1'), ('twice', 'us-west-2')`,
		`INSERT INTO ssm_parameter (name, type, value) SELECT '/p/' || i, 'String', 'x' FROM generate_series(1, 100) i`,
		`INSERT INTO vpc (cidr_block, tags) SELECT ('10.' || i || '.0.0/16')::cidr, '{"made": "here"}' FROM generate_series(30, 39) i`,
		`INSERT INTO subnet (vpc_id, cidr_block, availability_zone)
		 SELECT v.id, set_masklen(set_masklen(network(v.cidr_block)::inet, 24) + i * 256, 24)::cidr, 'us-east-1a' FROM vpc v, generate_series(0, 5) i WHERE v.tags ->> 'made' = 'here'`,
		`INSERT INTO security_group (group_name, description, vpc_id) SELECT 'g' || i, 'g', v.id FROM vpc v, generate_series(1, 4) i WHERE v.tags ->> 'made' = 'here'`,
		`INSERT INTO security_group_rule (security_group_id, is_egress, ip_protocol, from_port, to_port, cidr_ipv4)
		 SELECT id, false, 'tcp', 443, 443, '0.0.0.0/0' FROM security_group WHERE group_name LIKE 'g_'`)
	w.Settled()
	var state struct {
		Version   int          `json:"version"`
		Serial    int          `json:"serial"`
		Resources []tfResource `json:"resources"`
	}
	state.Version = 4
	add := func(typeName, query string) (n int) {
		t.Helper()
		r := tfResource{Mode: "managed", Type: typeName, Name: "all", Provider: `provider["registry.terraform.io/hashicorp/aws"]`}
		for i, line := range strings.Fields(w.PSQL(query)) {
			attributes := map[string]string{}
			if err := json.Unmarshal([]byte(line), &attributes); err != nil {
				t.Fatal(line, err)
			}
			r.Instances = append(r.Instances, tfInstance{i, attributes})
		}
		state.Resources = append(state.Resources, r)
		return len(r.Instances)
	}
	total := 0
	// (The emulator's URLs of queues have no region in them. AWS's have, so that none of two queues is the same.)
	for _, q := range []struct{ typeName, query string }{
		{"aws_sqs_queue", `SELECT replace(json_build_object('id', url, 'arn', arn, 'name', name)::text, ' ', '') FROM queue WHERE name LIKE 'q-%' ORDER BY id LIMIT 200`},
		{"aws_sqs_queue_policy", `SELECT replace(json_build_object('id', url, 'queue_url', url, 'region', region)::text, ' ', '') FROM queue WHERE name LIKE 'q-%' ORDER BY id LIMIT 50`},
		{"aws_ssm_parameter", `SELECT replace(json_build_object('id', name, 'name', name, 'region', region)::text, ' ', '') FROM ssm_parameter WHERE name LIKE '/p/%'`},
		{"aws_vpc", `SELECT replace(json_build_object('id', vpc_id)::text, ' ', '') FROM vpc WHERE tags ->> 'made' = 'here'`},
		{"aws_subnet", `SELECT replace(json_build_object('id', s.subnet_id)::text, ' ', '') FROM subnet s JOIN vpc v ON v.id = s.vpc_id WHERE v.tags ->> 'made' = 'here'`},
		{"aws_security_group", `SELECT replace(json_build_object('id', group_id)::text, ' ', '') FROM security_group WHERE group_name LIKE 'g_'`},
		{"aws_vpc_security_group_ingress_rule", `SELECT replace(json_build_object('security_group_rule_id', security_group_rule_id)::text, ' ', '') FROM security_group_rule WHERE from_port = 443`},
	} {
		total += add(q.typeName, q.query)
	}
	if total != 500 {
		t.Fatalf("the state has %d resources", total)
	}
	left := map[string]string{}
	for _, lost := range []struct{ typeName, attributes, why string }{
		{"random_id", `{"id": "abc"}`, "no resource of AWS"},
		{"aws_connect_queue", `{"id": "abc"}`, "no table is known for aws_connect_queue"},
		{"aws_s3_bucket", `{"id": "b", "bucket": "b"}`, "iasql_install('aws_s3')"},
		{"aws_vpc", `{"id": "vpc-gone"}`, "no such record of vpc"},
		{"aws_sqs_queue", `{"name": "q"}`, "does not say"},
		{"aws_sqs_queue_policy", `{"queue_url": "https://nowhere/q"}`, "no such record of queue"},
	} {
		attributes := map[string]string{}
		if err := json.Unmarshal([]byte(lost.attributes), &attributes); err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("lost%d", len(left))
		state.Resources = append(state.Resources, tfResource{"managed", lost.typeName, name, "", []tfInstance{{nil, attributes}}})
		left[lost.typeName+"."+name] = lost.why
	}
	text, err := json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "terraform.tfstate")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	before := w.PSQL(`SELECT (SELECT count(*) FROM iasql_audit_log WHERE change_type <> 'ERROR' AND table_name IS NOT NULL), (SELECT count(*) FROM iasql_operations)`)
	out, problem, code := command(t, w, "import-state", file, "--name", "old", "--json")
	var got struct {
		Resources, Records int
		Outcome            string
		Left               []struct{ Address, Why string }
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 {
		t.Fatalf("%d: %s%s", code, out, problem)
	}
	if got.Resources != 506 || got.Records != 450 || got.Outcome != "committed" || len(got.Left) != len(left) {
		t.Errorf("%+v", got)
	}
	for _, l := range got.Left {
		if want := left[l.Address]; want == "" || !strings.Contains(l.Why, want) {
			t.Errorf("%s: %s, want %s", l.Address, l.Why, want)
		}
	}
	if now := w.PSQL(`SELECT (SELECT count(*) FROM iasql_audit_log WHERE change_type <> 'ERROR' AND table_name IS NOT NULL), (SELECT count(*) FROM iasql_operations)`); now != before {
		t.Errorf("it wrote: audit rows and operations %s, before %s", now, before)
	}
	if got := w.PSQL(`SELECT count(*) FROM iasql_mentions WHERE configuration = 'old'`); got != "450" {
		t.Errorf("%s mentions", got)
	}
	// Again is the same; a smaller state would delete, and does not.
	if out, problem, code := command(t, w, "import-state", file, "--name", "old"); code != 0 || !strings.Contains(out, "450 records of 506") {
		t.Errorf("again: %d %s%s", code, out, problem)
	}
	state.Resources = state.Resources[:1]
	text, err = json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, problem, code := command(t, w, "import-state", file, "--name", "old"); code != 2 || !strings.Contains(problem, "250 records") {
		t.Errorf("a smaller one: %d %s%s", code, out, problem)
	}
	if got := w.PSQL(`SELECT count(*) FROM iasql_mentions WHERE configuration = 'old'`,
		`SELECT count(*) FROM iasql_batches WHERE outcome IS NULL`); got != "450\n0" {
		t.Errorf("after it: %s", got)
	}
}
