package types

import (
	"os/exec"
	"testing"

	"iasql/internal/test/cloudcontrol"
)

// TestExamples runs the examples of ten types.
func TestExamples(t *testing.T) {
	t.Parallel()
	w := start(t, cloudcontrol.Options{Schemas: cloudcontrol.AWS(t, "../..")})
	out, err := exec.CommandContext(t.Context(), "psql", "-X", "-At", "-v", "ON_ERROR_STOP=1", w.UserURL, "-f",
		"../../examples/resource_types.sql").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	w.Settled()
	for _, name := range []string{"AWS::SES::Template", "AWS::WAFv2::WebACL", "AWS::Glue::Job",
		"AWS::Cognito::UserPool", "AWS::Backup::BackupPlan",
		"AWS::SSM::Document", "AWS::Logs::MetricFilter", "AWS::CloudTrail::Trail", "AWS::Athena::WorkGroup",
		"AWS::Bedrock::Guardrail"} {
		w.only(name)
	}
	w.holds("AWS::Athena::WorkGroup", `{"Tags": [{"Key": "team", "Value": "data"}]}`)
}
