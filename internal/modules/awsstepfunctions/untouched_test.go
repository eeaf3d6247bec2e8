package awsstepfunctions

import (
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"iasql/internal/aws/declare"
)

// An edit of one thing sends nothing else (R35): the definition's text is its author's, 1.0 in it is no 1.
// But for the role, without which, or a definition, AWS refuses it.
func TestUntouchedDefinition(t *testing.T) {
	t.Parallel()
	update := func(columns ...string) *sfn.UpdateStateMachineInput {
		in := &sfn.UpdateStateMachineInput{
			Definition: awssdk.String(`{"TimeoutSeconds":1}`), RoleArn: awssdk.String("arn"),
			LoggingConfiguration: &sfntypes.LoggingConfiguration{},
			TracingConfiguration: &sfntypes.TracingConfiguration{Enabled: true},
		}
		if err := changed(t.Context(), &declare.Step{Columns: columns}, in); err != nil {
			t.Fatal(err)
		}
		return in
	}
	if in := update("tracing_enabled"); in.Definition != nil || in.RoleArn == nil || in.LoggingConfiguration != nil ||
		in.EncryptionConfiguration != nil || in.TracingConfiguration == nil {
		t.Errorf("an edit of tracing sends %+v", in)
	}
	if in := update("definition"); in.Definition == nil || in.RoleArn != nil || in.TracingConfiguration != nil {
		t.Errorf("an edit of the definition sends %+v", in)
	}
	if in := update("kms_key_id"); in.EncryptionConfiguration == nil ||
		in.EncryptionConfiguration.Type != sfntypes.EncryptionTypeAwsOwnedKey || in.Definition != nil {
		t.Errorf("an edit of the key sends %+v", in)
	}
}
