package awseventbridge

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	ebtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// newRule declares the table event_rule. The limits are those of the page PutRule
// of the EventBridge API Reference. What that call leaves out becomes NULL.
func newRule(c *aws.Clients) *declare.Resource {
	put := declare.Call((*eventbridge.Client).PutRule)
	return declare.New(c, declare.Table[ebtypes.Rule]{
		Name: "event_rule",
		Doc: "Rules of event buses: which events, or which times, they send to their targets. Deleting one " +
			"removes its targets first. Those that AWS services have made for themselves are not deleted from here.",
		Service: declare.Service(eventbridge.NewFromConfig),
		Columns: []declare.Column{
			declare.Ref("event_bus_name", "EventBusName", "event_bus", "name",
				"The bus that it is of. Default default.").
				ByKey().Part(modules.PartFirst, "").Default("'default'").Identity().CreateOnly(),
			declare.Name("name", "Name", "The rule's name, up to 64 letters, digits and _.-; unique in its bus.").Matches(`^[A-Za-z0-9_.-]+$`).Length(1, 64),
			declare.Text("description", "Description", "What it is for, up to 512 characters.").Length(1, 512),
			declare.JSON("event_pattern", "EventPattern",
				`Which events it is about: {"source": ["aws.ec2"]}.`).Check(`jsonb_typeof(event_pattern) = 'object'`),
			declare.Text("schedule_expression", "ScheduleExpression",
				"When it sends an event of its own, such as rate(5 minutes) or cron(0 20 * * ? *).").Length(1, 256),
			declare.Text("state", "State",
				"Whether it is ENABLED (the default) or DISABLED.").Default("'ENABLED'").OneOf(
				declare.Values(ebtypes.RuleState("").Values())...),
			declare.Role("role_name", "RoleArn",
				"The role by which it sends events to targets, where they have none of their own.").WithARN(2),
			declare.Text("managed_by", "ManagedBy", "The AWS service that made it; NULL if none did.").Computed(),
			declare.ARN("arn", "Arn"),
			declare.Tags("Tags", (*eventbridge.Client).TagResource,
				(*eventbridge.Client).UntagResource).From(declare.Call((*eventbridge.Client).ListTagsForResource)),
		},
		Checks: []string{
			`event_pattern IS NOT NULL OR schedule_expression IS NOT NULL`,
			`schedule_expression IS NULL OR event_bus_name = 'default'`,
		},
		Published: declare.Published{Type: "AWS::Events::Rule", Since: 3,
			Columns: map[string]string{"Targets": "event_target"}},
		Uniques:             [][]string{{"account", "region", "arn"}}, // by which targets name it
		DestroyBeforeCreate: true,

		Kind: "rule/",
		EventMappings: modules.EventMappings("events.amazonaws.com",
			modules.Response("ruleArn", "PutRule").In("arn"),
			modules.Request("name", "PutRule", "DeleteRule", "EnableRule", "DisableRule").In("name"),
		),
		List: rules(),
		Get: declare.One(declare.Call((*eventbridge.Client).DescribeRule,
			declare.Convert(func(r eventbridge.DescribeRuleOutput) ebtypes.Rule {
				return ebtypes.Rule{
					Arn: r.Arn, Description: r.Description, EventBusName: r.EventBusName, EventPattern: r.EventPattern,
					ManagedBy: r.ManagedBy,
					Name:      r.Name, RoleArn: r.RoleArn, ScheduleExpression: r.ScheduleExpression, State: r.State,
				}
			})), ""),
		Create: put,
		Updates: []declare.Update{declare.Replace(declare.Call((*eventbridge.Client).PutRule,
			declare.Edit(keepPattern)))},
		Delete:    declare.Call((*eventbridge.Client).DeleteRule),
		Protected: keepManaged,
	})
}

// keepPattern sends a pattern that nobody changes as its author wrote it: PutRule replaces the whole rule, and
// the column has the pattern's meaning alone.
func keepPattern(ctx context.Context, s *declare.Step, in *eventbridge.PutRuleInput) error {
	if in.EventPattern == nil || s.Changes("event_pattern") {
		return nil
	}
	was, err := declare.ClientOf[*eventbridge.Client](s).DescribeRule(ctx,
		&eventbridge.DescribeRuleInput{Name: in.Name, EventBusName: in.EventBusName})
	if err != nil {
		return err
	}
	if was.EventPattern != nil {
		in.EventPattern = was.EventPattern
	}
	return nil
}
