package awscodepipeline

import (
	"fmt"
	"slices"
	"testing"

	"iasql/internal/modules"
	"iasql/internal/test/awstest"
)

// Stages are closed and opened one by one, and what nobody changes stays closed.
func TestTransitions(t *testing.T) {
	t.Parallel()
	var calls []string
	states := []any{
		map[string]any{"stageName": "Source"},
		map[string]any{"stageName": "Test", "inboundTransitionState": map[string]any{"enabled": true}},
		map[string]any{"stageName": "Beta", "inboundTransitionState": map[string]any{"enabled": false, "disabledReason": "broken"}},
		map[string]any{"stageName": "Production", "inboundTransitionState": map[string]any{"enabled": false, "disabledReason": "December"}},
	}
	r := newPipeline(awstest.FakeJSON(t, map[string]func(awstest.Input) (any, error){
		"GetPipeline": func(awstest.Input) (any, error) {
			return map[string]any{"metadata": map[string]any{"pipelineArn": "arn:aws:codepipeline:us-east-1:123456789012:p"},
				"pipeline": map[string]any{"name": "p", "roleArn": "arn:aws:iam::123456789012:role/r", "stages": []any{}, "version": 1}}, nil
		},
		"ListTagsForResource": func(awstest.Input) (any, error) { return map[string]any{"tags": []any{}}, nil },
		"GetPipelineState": func(awstest.Input) (any, error) {
			return map[string]any{"pipelineName": "p", "stageStates": states}, nil
		},
		"DisableStageTransition": func(in awstest.Input) (any, error) {
			calls = append(calls, fmt.Sprintf("close %s %s %s: %s", in["pipelineName"], in["transitionType"], in["stageName"], in["reason"]))
			return struct{}{}, nil
		},
		"EnableStageTransition": func(in awstest.Input) (any, error) {
			calls = append(calls, fmt.Sprintf("open %s %s %s", in["pipelineName"], in["transitionType"], in["stageName"]))
			if in["stageName"] == "Gone" {
				return nil, awstest.Fault{Code: "StageNotFoundException", Message: "there is no stage Gone"}
			}
			return struct{}{}, nil
		},
	}))
	const column = "disable_inbound_stage_transitions"
	read := func() modules.Row {
		rows, err := awstest.Get(t.Context(), r, awstest.Scope("us-east-1"), []modules.Row{{"name": modules.Text("p")}})
		if err != nil || len(rows) != 1 {
			t.Fatal(rows, err)
		}
		return rows[0]
	}
	have := read()
	if want := document(t, `[{"StageName":"Production","Reason":"December"},{"StageName":"Beta","Reason":"broken"}]`); !r.Table().Column(column).Same(have[column], want) {
		t.Errorf("got %s, want %s", have[column], want)
	}
	for _, c := range []struct {
		have, want modules.Value
		calls      []string
	}{
		{have[column], document(t, `[{"StageName":"Production","Reason":"December"},{"StageName":"Test","Reason":"slow"}]`),
			[]string{"close p Inbound Test: slow", "open p Inbound Beta"}},
		{have[column], document(t, `[{"StageName":"Beta","Reason":"broken"},{"StageName":"Production","Reason":"January"}]`),
			[]string{"close p Inbound Production: January"}},
		{have[column], modules.Null, []string{"open p Inbound Beta", "open p Inbound Production"}},
		{document(t, `[{"StageName":"Gone","Reason":"old"}]`), modules.Null, []string{"open p Inbound Gone"}},
	} {
		calls = nil
		had, want := have.Clone(), have.Clone()
		had[column], want[column] = c.have, c.want
		if err := awstest.Update(t.Context(), r, awstest.Permit(), awstest.Scope("us-east-1"), had, want,
			[]string{column}); err != nil || !slices.Equal(calls, c.calls) {
			t.Errorf("%s: %v, and the calls %q, want %q", c.want, err, calls, c.calls)
		}
	}
	states = states[:2]
	if v := read()[column]; !v.IsNull() {
		t.Errorf("all are open, and it is %s", v)
	}
}
