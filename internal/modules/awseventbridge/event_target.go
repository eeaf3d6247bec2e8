package awseventbridge

import (
	"context"
	"slices"
	"strings"
	"sync"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	ebtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// target is a target and the rule that it is of.
type target struct {
	ebtypes.Target
	RuleARN *string
}

// newTarget declares the table event_target. The limits are those of the page
// Target of the EventBridge API Reference. What PutTargets leaves out of a target
// is not as it was.
func newTarget(c *aws.Clients) *declare.Resource {
	in := func(c declare.Column) declare.Column { return c.In("Targets[0]." + c.Member()) }
	parameters := func(name, member, doc string, same func(a, b string) bool) declare.Column {
		return in(declare.JSON(name, member, doc+", in the API's words.").Check("jsonb_typeof(" + name +
			") = 'object'").Same(same))
	}
	put := declare.Call((*eventbridge.Client).PutTargets, declare.Edit(ofRule),
		declare.Checked(func(out *eventbridge.PutTargetsOutput) error {
			if len(out.FailedEntries) == 0 {
				return nil
			}
			return aws.ErrorOf(awssdk.ToString(out.FailedEntries[0].ErrorCode),
				awssdk.ToString(out.FailedEntries[0].ErrorMessage))
		}))
	return declare.New(c, declare.Table[target]{
		Name:    "event_target",
		Doc:     "What rules send events to: up to five targets a rule.",
		Service: declare.Service(eventbridge.NewFromConfig),
		Columns: []declare.Column{
			declare.Ref("rule_id", "RuleARN", "event_rule", "arn", "The rule that it is of.").Part(modules.PartFirst,
				"").Required().Identity().CreateOnly(),
			in(declare.Name("target_id", "Id",
				"What it is called, up to 64 letters, digits and _.-; unique in its rule.").Matches(
				`^[A-Za-z0-9_.-]+$`).Length(1, 64)),
			in(declare.Text("arn", "Arn",
				"The ARN of the function, queue, topic, stream, state machine or whatever it is.").Required().Length(1,
				1600)),
			in(declare.Role("role_name", "RoleArn",
				"The role by which events are sent, which has to trust events.amazonaws.com; needed for streams, "+
					"state machines and others that have no policy of their own.").WithARN(2)),
			in(declare.Text("input", "Input",
				"What is sent in place of the event: a JSON text, up to 8192 characters.").Length(1, 8192)),
			in(declare.Text("input_path", "InputPath", "Which part of the event is sent, such as $.detail.").Length(1,
				256)),
			parameters("input_transformer", "InputTransformer",
				`What is sent, made from parts of the event: {"InputPathsMap": {"id": "$.detail.id"}, "InputTemplate": "<id>"}`, declare.Alike[ebtypes.InputTransformer](nil)),
			in(declare.Text("dead_letter_arn", "DeadLetterConfig.Arn",
				"The ARN of the SQS queue that gets the events that cannot be delivered.").Length(1, 1600)),
			in(declare.Integer("maximum_retry_attempts", "RetryPolicy.MaximumRetryAttempts",
				"How often sending is tried again, from 0 to 185. NULL: 185.").Between(0, 185)),
			in(declare.Integer("maximum_event_age_in_seconds", "RetryPolicy.MaximumEventAgeInSeconds",
				"For how many seconds sending is tried again, from 60 to 86400. NULL: 86400.").Between(60, 86400)),
			in(declare.Text("message_group_id", "SqsParameters.MessageGroupId",
				"The message group, of a FIFO queue.").Length(1, 100)),
			in(declare.Text("partition_key_path", "KinesisParameters.PartitionKeyPath",
				"Which part of the event is the partition key, of a stream. NULL: the event's id.").Length(1, 256)),
			parameters("ecs_parameters", "EcsParameters", "Which task is run how, of an ECS cluster",
				declare.Alike[ebtypes.EcsParameters](nil)),
			parameters("batch_parameters", "BatchParameters", "Which job is submitted how, of a Batch job queue",
				declare.Alike[ebtypes.BatchParameters](nil)),
			parameters("http_parameters", "HttpParameters", "The headers and parameters, of an API",
				declare.Alike[ebtypes.HttpParameters](nil)),
			parameters("run_command_parameters", "RunCommandParameters",
				"On which instances it runs, of a command of Systems Manager",
				declare.Alike[ebtypes.RunCommandParameters](nil)),
			parameters("redshift_data_parameters", "RedshiftDataParameters",
				"Which statement is run, of a Redshift cluster", declare.Alike[ebtypes.RedshiftDataParameters](nil)),
			parameters("sage_maker_pipeline_parameters", "SageMakerPipelineParameters",
				"The parameters, of a SageMaker pipeline", declare.Alike[ebtypes.SageMakerPipelineParameters](nil)),
			parameters("app_sync_parameters", "AppSyncParameters", "The operation, of an AppSync API",
				declare.Alike[ebtypes.AppSyncParameters](nil)),
		},
		Checks:              []string{`num_nonnulls(input, input_path, input_transformer) <= 1`},
		DestroyBeforeCreate: true,

		EventMappings: modules.EventMappings("events.amazonaws.com",
			modules.Request("targets.id", "PutTargets").In("target_id"),
			modules.Request("ids", "RemoveTargets").In("target_id"),
		),
		List: declare.ListBy(func(ctx context.Context, s *declare.Step, page func([]target) error) error {
			return declare.Walk(ctx, s, rules(), func(some []ebtypes.Rule) error {
				arns := make([]string, len(some))
				for i := range some {
					arns[i] = awssdk.ToString(some[i].Arn)
				}
				targets, err := targetsOf(ctx, s, arns)
				if err != nil {
					return err
				}
				return page(targets)
			})
		}),
		Get: declare.GetBy(func(ctx context.Context, s *declare.Step, identities []modules.Row) ([]target, error) {
			return targetsOf(ctx, s, slices.Compact(slices.Sorted(slices.Values(aws.Column(identities, "rule_id")))))
		}),
		Create:   put,
		Updates:  []declare.Update{declare.Replace(put)},
		DeleteBy: remove,
	})
}

// split returns the names in a rule's ARN, arn:aws:events:us-east-1:123456789012:rule/
// and the bus's, unless that is the default one, and the rule's.
func split(arn string) (bus, rule *string) {
	_, path, _ := strings.Cut(arn, ":rule/")
	if at := strings.LastIndex(path, "/"); at >= 0 {
		return awssdk.String(path[:at]), awssdk.String(path[at+1:])
	}
	return awssdk.String("default"), &path
}

func ofRule(_ context.Context, s *declare.Step, in *eventbridge.PutTargetsInput) error {
	in.EventBusName, in.Rule = split(s.Want["rule_id"].String())
	return nil
}

// targetsOf reads the targets of rules, which takes a call for each. A rule that
// has gone has none.
func targetsOf(ctx context.Context, s *declare.Step, rules []string) ([]target, error) {
	var (
		one sync.Mutex
		all []target
	)
	err := aws.Each(ctx, aws.Breadth, rules, func(ctx context.Context, arn string) error {
		bus, rule := split(arn)
		found, err := declare.All[ebtypes.Target](ctx, s,
			declare.Follow(declare.Call((*eventbridge.Client).ListTargetsByRule,
				declare.With(&eventbridge.ListTargetsByRuleInput{EventBusName: bus, Rule: rule})), "Targets"))
		one.Lock()
		defer one.Unlock()
		for _, t := range found {
			all = append(all, target{t, &arn})
		}
		return aws.IfExists(err)
	})
	return all, err
}

// remove removes a target. What fails is told in an answer that is a success.
func remove(ctx context.Context, s *declare.Step) error {
	bus, rule := split(s.Have["rule_id"].String())
	out, err := declare.ClientOf[*eventbridge.Client](s).RemoveTargets(ctx,
		&eventbridge.RemoveTargetsInput{EventBusName: bus, Rule: rule, Ids: []string{s.Have["target_id"].String()}})
	if err != nil || len(out.FailedEntries) == 0 {
		return err
	}
	return aws.ErrorOf(awssdk.ToString(out.FailedEntries[0].ErrorCode),
		awssdk.ToString(out.FailedEntries[0].ErrorMessage))
}
