// Package awscodepipeline is the module aws_codepipeline: pipelines that release
// software.
//
// It promises what the contract in package modules asks of its table. A
// pipeline's name is its identity and unique in the account and region.
//
// It is long because a transition between stages is a call of its own, and one column here.
package awscodepipeline

import (
	"cmp"
	"context"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/codepipeline"
	cptypes "github.com/aws/aws-sdk-go-v2/service/codepipeline/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// pageSize is the most pipelines ListPipelines gives a page.
const pageSize = 1000

// Module returns the module aws_codepipeline, whose calls go through c.
func Module(c *aws.Clients) *modules.Module {
	return &modules.Module{
		Name: "aws_codepipeline", Version: 3, Doc: "Pipelines that release software (CodePipeline).",
		Dependencies: []string{"aws_iam"}, Resources: []modules.Resource{newPipeline(c)},
	}
}

// newPipeline declares the table pipeline_declaration. UpdatePipeline replaces the
// whole declaration, and so every member of it has a column (page
// PipelineDeclaration of the CodePipeline API Reference).
func newPipeline(c *aws.Clients) *declare.Resource {
	role := declare.Heals("AssumeRole") // a role that has just been made
	list := func(name, member, doc string) declare.Column {
		return declare.JSON(name, member, doc).Check("jsonb_typeof(" + name + ") = 'array'").EmptyIsNull()
	}
	return declare.New(c, declare.Table[codepipeline.GetPipelineOutput]{
		Name: "pipeline_declaration",
		Doc: "Pipelines that release software. A new pipeline runs at once. AWS shows the OAuthToken of an action as " +
			"****, and a change of a pipeline sends what its row has: " +
			"let actions use connections instead, since everybody who reads the row reads the token.",
		Service: declare.Service(codepipeline.NewFromConfig),
		Columns: []declare.Column{
			declare.Name("name", "Pipeline.Name",
				"The pipeline's name: up to 100 letters, digits and .@_-").In("Pipeline.Name",
				"Name").Matches(`^[A-Za-z0-9.@_-]{1,100}$`),
			declare.JSON("artifact_store", "Pipeline.ArtifactStore",
				`The bucket that stages pass their output on in: {"Type": "S3", "Location": "bucket"}. Either this or artifact_stores. (IaSQL's members began in lower case, which is accepted.)`).
				Same(declare.Alike[cptypes.ArtifactStore](nil)),
			declare.JSON("artifact_stores", "Pipeline.ArtifactStores",
				`For actions in several regions, the bucket in each: {"us-east-1": {"Type": "S3", "Location": "bucket"}}.`).
				Same(declare.Alike[map[string]cptypes.ArtifactStore](nil)),
			list("stages", "Pipeline.Stages",
				`At least two stages and their actions: [{"Name": "Source", "Actions": [{"Name": "Source", "ActionTypeId": {"Category": "Source", "Owner": "AWS", "Provider": "S3", "Version": "1"}, …}]}, …].`).
				Same(declare.Alike(inOrder)),
			declare.Role("service_role_name", "Pipeline.RoleArn",
				"The role as which it works, which codepipeline.amazonaws.com may assume. Needed to create a "+
					"pipeline.").OptionalComputed().WithARN(2),
			declare.Text("pipeline_type", "Pipeline.PipelineType",
				"V1 or V2, which are charged differently; AWS chooses by what is in the pipeline if left out.").
				OptionalComputed().OneOf("V1", "V2"),
			declare.Text("execution_mode", "Pipeline.ExecutionMode",
				"What becomes of an execution when the next one comes: SUPERSEDED, the default, QUEUED or PARALLEL.").
				Default("'SUPERSEDED'").OneOf("SUPERSEDED", "QUEUED", "PARALLEL").Usual(modules.Text("SUPERSEDED")),
			list("triggers", "Pipeline.Triggers",
				"What starts a pipeline of type V2, in the words of the API.").Same(
				declare.Alike[[]cptypes.PipelineTriggerDeclaration](nil)),
			list("variables", "Pipeline.Variables",
				`Variables of a pipeline of type V2: [{"Name": "STAGE", "DefaultValue": "test"}].`).Same(
				declare.Alike[[]cptypes.PipelineVariableDeclaration](nil)),
			list("disable_inbound_stage_transitions", "StageStates",
				`Stages that no execution may enter, and why: [{"StageName": "Production", "Reason": "it is December"}].`).
				As(disabled).Unordered().Born(modules.Null).Since(3).
				From(declare.Call((*codepipeline.Client).GetPipelineState, declare.IfAllowed(), declare.Rarely())),
			declare.Integer("version", "Pipeline.Version", "How often it has been changed, counted from 1.").Computed(),
			declare.ARN("arn", "Metadata.PipelineArn"),
			declare.Tags("Tags", (*codepipeline.Client).TagResource,
				(*codepipeline.Client).UntagResource).From(declare.Call((*codepipeline.Client).ListTagsForResource)),
		},
		Checks: []string{"num_nonnulls(artifact_store, artifact_stores) <= 1"},
		Published: declare.Published{Type: "AWS::CodePipeline::Pipeline", Since: 3,
			Columns: map[string]string{"RoleArn": "service_role_name"},
			Without: map[string]string{"RestartExecutionOnUpdate": declare.Deed +
				": CloudFormation starts the pipeline again"}},
		EventMappings: modules.EventMappings("codepipeline.amazonaws.com",
			modules.Request("pipelineName", "EnableStageTransition", "DisableStageTransition")),
		DestroyBeforeCreate: true,

		List: declare.Pages(codepipeline.NewListPipelinesPaginator, "Pipelines", declare.PageSize(pageSize)).
			Names("name", "Name"),
		Get:    declare.One(declare.Call((*codepipeline.Client).GetPipeline), ""),
		Create: declare.Call((*codepipeline.Client).CreatePipeline, role),
		// A stage has to be there before it is closed.
		Updates: []declare.Update{declare.Replace(declare.Call((*codepipeline.Client).UpdatePipeline, role)),
			declare.By(setTransitions, "disable_inbound_stage_transitions")},
		Delete: declare.Call((*codepipeline.Client).DeletePipeline),
	})
}

// inOrder fills in which of a stage's actions come first, and hides tokens, as
// AWS does.
func inOrder(stages *[]cptypes.StageDeclaration) {
	for _, stage := range *stages {
		for i := range stage.Actions {
			action := &stage.Actions[i]
			if action.RunOrder == nil {
				action.RunOrder = awssdk.Int32(1)
			}
			if _, ok := action.Configuration["OAuthToken"]; ok {
				action.Configuration["OAuthToken"] = "****"
			}
		}
	}
}

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
	have, want, err := declare.Both(s, column, func(list *[]transition) {
		slices.SortFunc(*list, func(a, b transition) int { return cmp.Compare(a.StageName, b.StageName) })
	})
	if err != nil {
		return err
	}
	return declare.Parts(have, want, func(t transition) string { return t.StageName },
		func(a, b transition) bool { return a == b },
		func(t transition, _ *transition) error {
			_, err := client.DisableStageTransition(ctx, &codepipeline.DisableStageTransitionInput{PipelineName: name,
				StageName: &t.StageName, Reason: &t.Reason, TransitionType: cptypes.StageTransitionTypeInbound})
			return err
		}, func(t transition) error {
			_, err := client.EnableStageTransition(ctx, &codepipeline.EnableStageTransitionInput{PipelineName: name,
				StageName: &t.StageName, TransitionType: cptypes.StageTransitionTypeInbound})
			if aws.HasCode(err, "StageNotFoundException") {
				return nil
			}
			return err
		})
}
