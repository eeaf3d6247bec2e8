package awscodepipeline

import (
	"context"
	"maps"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/codepipeline"
	cptypes "github.com/aws/aws-sdk-go-v2/service/codepipeline/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// transition is a member of the column disable_inbound_stage_transitions.
type transition struct{ StageName, Reason string }

// disabled reads which stages are closed, of all stages' states.
var disabled = declare.Codec{Decode: func(member any) (modules.Value, error) {
	var closed []transition
	for _, stage := range member.([]cptypes.StageState) {
		if in := stage.InboundTransitionState; in != nil && !in.Enabled {
			closed = append(closed, transition{awssdk.ToString(stage.StageName), awssdk.ToString(in.DisabledReason)})
		}
	}
	if len(closed) == 0 {
		return modules.Null, nil
	}
	return aws.Document(closed)
}}

// setTransitions closes stages, then opens those that are no longer to be closed. One that is gone needs no opening.
func setTransitions(ctx context.Context, s *declare.Step) error {
	const column = "disable_inbound_stage_transitions"
	client, name := declare.ClientOf[*codepipeline.Client](s), s.Have["name"].Ptr()
	reasons := func(v modules.Value) (map[string]string, error) {
		var list []transition
		err := aws.ParseDocument(column, v, &list)
		all := map[string]string{}
		for _, t := range list {
			all[t.StageName] = t.Reason
		}
		return all, err
	}
	have, err := reasons(s.Have[column])
	if err != nil {
		return err
	}
	want, err := reasons(s.Want[column])
	if err != nil {
		return err
	}
	for _, stage := range slices.Sorted(maps.Keys(want)) {
		reason := want[stage]
		if had, closed := have[stage]; closed && had == reason {
			continue
		}
		if _, err := client.DisableStageTransition(ctx, &codepipeline.DisableStageTransitionInput{PipelineName: name,
			StageName: &stage, Reason: &reason, TransitionType: cptypes.StageTransitionTypeInbound}); err != nil {
			return err
		}
	}
	for _, stage := range slices.Sorted(maps.Keys(have)) {
		if _, stays := want[stage]; stays {
			continue
		}
		_, err := client.EnableStageTransition(ctx, &codepipeline.EnableStageTransitionInput{PipelineName: name,
			StageName: &stage, TransitionType: cptypes.StageTransitionTypeInbound})
		if aws.IfExists(err) != nil && !aws.HasCode(err, "StageNotFoundException") {
			return err
		}
	}
	return nil
}
