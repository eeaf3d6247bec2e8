package awscloudwatch

import (
	"testing"

	"iasql/internal/aws/awstest"
	"iasql/internal/modules"
	"iasql/internal/testaws"
)

func TestMain(m *testing.M) { testaws.Main(m) }

func TestLogGroupLifecycle(t *testing.T) {
	t.Parallel()
	resource := newLogGroup(awstest.Clients(t))
	scope := awstest.Scope("us-west-2")
	// One whose name begins like the other's is another.
	ctx := modules.WithMutations(t.Context(), &awstest.Journal{})
	if _, err := resource.Create(ctx, scope, modules.Row{"log_group_name": modules.Text("/app/web-old")}, ""); err != nil {
		t.Fatal(err)
	}
	awstest.Lifecycle(t, awstest.Case{
		Resource: resource,
		Scope:    scope,
		Want: modules.Row{
			"log_group_name": modules.Text("/app/web"), "retention_in_days": modules.Int(7), "kms_key_id": modules.Null,
			"tags": modules.StringMap(map[string]string{"env": "test"}),
		},
		Changes: map[string][]modules.Value{
			"retention_in_days": {modules.Int(30), modules.Null},
			"tags":              {modules.StringMap(map[string]string{"a": "1", "b": ""}), modules.Null},
		},
		Calls: map[string]int{"tags": 2},
	})
	if _, err := resource.Create(ctx, scope, modules.Row{"log_group_name": modules.Text("/app/web-old")}, ""); err == nil || modules.ClassOf(err) != modules.Exists {
		t.Errorf("create what there is: got %v, want class %s", err, modules.Exists)
	}
}
