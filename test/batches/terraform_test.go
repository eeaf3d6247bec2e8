package batches

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"iasql/internal/test/harness"
)

// providerEnv names a folder with the binary of Terraform's provider hashicorp/aws.
const providerEnv = "IASQL_TEST_TERRAFORM_PROVIDER"

// TestImportStateOfTerraform: Terraform makes an account of 500 resources, and its state becomes a configuration,
// without a call that writes and without a change; Terraform finds what it found before. What no table has is
// counted.
func TestImportStateOfTerraform(t *testing.T) {
	t.Parallel()
	provider := os.Getenv(providerEnv)
	if provider == "" {
		t.Skip(providerEnv + " names no folder with Terraform's provider for AWS, which cannot be downloaded everywhere; " +
			"TestImportState has a state that is written by hand")
	}
	w := harness.Start(t, []string{"us-east-1", "us-west-2"})
	dir := t.TempDir()
	configuration, err := os.ReadFile(filepath.Join("testdata", "terraform", "main.tf"))
	if err != nil {
		t.Fatal(err)
	}
	// Terraform manual, "CLI configuration: development overrides": nothing is downloaded, without terraform init.
	rc := filepath.Join(dir, "terraformrc")
	for file, text := range map[string]string{"main.tf": string(configuration),
		"terraformrc": fmt.Sprintf("provider_installation {\n  dev_overrides {\n    \"hashicorp/aws\" = %q\n  }\n}\n", provider)} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	terraform := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "terraform", append(args, "-no-color", "-input=false", "-parallelism=20",
			"-var", "endpoint="+w.AWS.Endpoint)...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+rc, "CHECKPOINT_DISABLE=1",
			"AWS_ACCESS_KEY_ID="+w.AWS.AccessKeyID, "AWS_SECRET_ACCESS_KEY="+w.AWS.SecretAccessKey)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("terraform %s: %v\n%s", args[0], err, out[max(0, len(out)-6000):])
		}
		return string(out)
	}
	terraform("apply", "-auto-approve")
	// The emulator spells some JSON otherwise than it was sent, which Terraform would send again.
	planned := regexp.MustCompile(`(?m)^(Plan: .*|No changes.*)$`)
	plan := planned.FindString(terraform("plan"))
	w.PSQL(`SELECT * FROM iasql_install('aws_acm', 'aws_autoscaling', 'aws_cloudwatch', 'aws_dynamo', 'aws_ec2', 'aws_ecr', 'aws_ecs_fargate',
		'aws_efs', 'aws_eventbridge', 'aws_kinesis', 'aws_kms', 'aws_rds', 'aws_route53', 'aws_s3', 'aws_secrets_manager', 'aws_sns', 'aws_sqs', 'aws_ssm')`)
	w.Settled()
	const wrote = `SELECT (SELECT count(*) FROM iasql_audit_log WHERE change_type <> 'ERROR' AND table_name IS NOT NULL), (SELECT count(*) FROM iasql_operations)`
	before := w.PSQL(wrote)
	out, problem, code := command(t, w, "import-state", filepath.Join(dir, "terraform.tfstate"), "--name", "terraform", "--json")
	var got struct {
		Resources, Records int
		Outcome            string
		Left               []struct{ Address, Why string }
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 {
		t.Fatalf("%d: %s%s", code, out, problem)
	}
	lost := map[string]int{}
	for _, l := range got.Left {
		kind, _, _ := strings.Cut(l.Address, ".")
		lost[kind]++
		if lost[kind] == 1 {
			if kind != "aws_s3_object" && !strings.Contains(l.Why, "SELECT * FROM iasql_install(") {
				t.Errorf("%s does not say what to do", l.Address)
			}
			t.Logf("left: %s: %s", l.Address, l.Why)
		}
	}
	t.Logf("%d resources are %d records; left: %v", got.Resources, got.Records, lost)
	// Three are tables of their own that are not installed: the emulator has no Cloud Control API. And objects are
	// listed in buckets alone that say so.
	want := map[string]int{"aws_iam_policy": 6, "aws_iam_group": 2, "aws_lb_listener_rule": 1, "aws_s3_object": 3}
	if fmt.Sprint(lost) != fmt.Sprint(want) || got.Resources != 500 || got.Outcome != "committed" {
		t.Errorf("%d resources, left %v, want %v; %s", got.Resources, lost, want, got.Outcome)
	}
	if now := w.PSQL(wrote); now != before {
		t.Errorf("it wrote: audit rows and operations %s, before %s", now, before)
	}
	if got := w.PSQL(`SELECT count(*) FROM iasql_audit_log WHERE change::text ~ 'nobody is to see|seen by anybody'`); got != "0" {
		t.Errorf("%s rows of the log have a secret", got)
	}
	if now := planned.FindString(terraform("plan")); now != plan || plan == "" {
		t.Errorf("Terraform finds %q, before the import %q", now, plan)
	}
}
