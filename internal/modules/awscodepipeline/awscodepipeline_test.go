package awscodepipeline

import (
	"fmt"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"iasql/internal/aws/declare"
	"iasql/internal/modules"
	"iasql/internal/test/awstest"
	"iasql/internal/test/testaws"
)

func TestMain(m *testing.M) { testaws.Main(m) }

func document(t *testing.T, text string) modules.Value {
	t.Helper()
	v, err := modules.JSONText(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func stages(t *testing.T, key string) modules.Value {
	return document(t, fmt.Sprintf(
		`[{"Name":"Source","Actions":[{"Name":"Source","ActionTypeId":{"Category":"Source","Owner":"AWS","Provider":"S3","Version":"1"},
		"Configuration":{"S3Bucket":"b","S3ObjectKey":%q},"OutputArtifacts":[{"Name":"source"}]}]},
		{"Name":"Approval","Actions":[{"Name":"Approval","ActionTypeId":{"Category":"Approval","Owner":"AWS","Provider":"Manual","Version":"1"}}]}]`, key))
}

func TestPipelineLifecycle(t *testing.T) {
	t.Parallel()
	clients, scope := awstest.Clients(t), awstest.Scope("us-east-1")
	ctx, permit := t.Context(), awstest.Permit()
	roles, err := declare.Client(ctx, clients.Permitted(permit), scope, iam.NewFromConfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"releaser", "other"} {
		if _, err := roles.CreateRole(ctx,
			&iam.CreateRoleInput{RoleName: &name, Path: awssdk.String("/service/"),
				AssumeRolePolicyDocument: awssdk.String(
					`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"codepipeline.amazonaws.com"},"Action":"sts:AssumeRole"}]}`)}); err != nil {
			t.Fatal(err)
		}
	}
	store := document(t, `{"location":"artifacts","type":"S3"}`) // as IaSQL had it
	awstest.Lifecycle(t, awstest.Case{
		Resource: newPipeline(clients),
		Scope:    scope,
		Want: modules.Row{
			"name": modules.Text("release"), "artifact_store": store, "stages": stages(t, "app.zip"),
			"service_role_name": modules.Text("releaser"),
			"pipeline_type":     modules.Text("V2"), "execution_mode": modules.Text("SUPERSEDED"),
			"tags": modules.StringMap(map[string]string{"env": "test"}),
		},
		Elsewhere: []string{"disable_inbound_stage_transitions"}, // moto has no DisableStageTransition: TestTransitions
		Changes: map[string][]modules.Value{
			"artifact_store":  {document(t, `{"Location":"others","Type":"S3"}`), modules.Null},
			"artifact_stores": {document(t, `{"us-east-1":{"Location":"others","Type":"S3"}}`)},
			"stages":          {stages(t, "other.zip")}, "service_role_name": {modules.Text("other")},
			"triggers":  {document(t, `[{"ProviderType":"CodeStarSourceConnection","GitConfiguration":{"SourceActionName":"Source","Push":[{"Tags":{"Includes":["v*"]}}]}}]`), modules.Null},
			"variables": {document(t, `[{"Name":"STAGE","DefaultValue":"test"}]`), modules.Null},
		},
	})
	// moto has no PipelineNameInUseException.
	if _, err := awstest.Create(ctx, newPipeline(clients), permit, scope,
		modules.Row{"name": modules.Text("x"), "artifact_store": store, "stages": stages(t, "x"),
			"service_role_name": modules.Text("none")}, ""); err == nil || modules.ClassOf(err) != modules.Dependency {
		t.Errorf("without a role: got %v, want class %s", err, modules.Dependency)
	}
}

// What AWS fills in, and hides, is no difference.
func TestSameStages(t *testing.T) {
	same := newPipeline(nil).Table().Column("stages").Same
	have := document(t, `[{"Name":"S","Actions":[{"Name":"A","RunOrder":1,"InputArtifacts":[],"Configuration":{"Repo":"r","OAuthToken":"****"}}]}]`)
	if !same(have, document(t, `[{"name":"S","actions":[{"name":"A","configuration":{"OAuthToken":"secret","Repo":"r"}}]}]`)) {
		t.Error("tells the same stages apart")
	}
	if same(have, document(t, `[{"Name":"S","Actions":[{"Name":"A","Configuration":{"Repo":"other","OAuthToken":"****"}}]}]`)) {
		t.Error("takes stages for others")
	}
}
