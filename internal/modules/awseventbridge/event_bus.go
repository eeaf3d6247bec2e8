package awseventbridge

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/eventbridge"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// newBus declares the table event_bus. The limits are those of the page
// CreateEventBus of the EventBridge API Reference.
func newBus(c *aws.Clients) *declare.Resource {
	return declare.New(c, declare.Table[eventbridge.DescribeEventBusOutput]{
		Name: "event_bus",
		Doc: "Event buses, which receive events. A region has one called default, to which AWS services send theirs, " +
			"and which cannot be deleted. " +
			"Deleting a row deletes the bus's rules first.",
		Service: declare.Service(eventbridge.NewFromConfig),
		Columns: []declare.Column{
			declare.Name("name", "Name", "The bus's name, up to 256 letters, digits and _.-; that of a partner's bus "+
				"is its event source's, such as aws.partner/example.com/orders.").
				In("Name", "EventBusName").Matches(`^[A-Za-z0-9_./-]+$`).Length(1, 256),
			declare.Text("description", "Description", "What it is for, up to 512 characters.").Length(1,
				512).Unset(modules.Text("")),
			declare.Policy("Policy", "Who may send events to it, or make rules: an access policy document. NULL: the "+
				"account alone."),
			declare.Text("kms_key_identifier", "KmsKeyIdentifier",
				"The id, ARN or alias of the KMS key that encrypts its events. NULL: AWS's own does.").Length(1, 2048),
			declare.Text("dead_letter_arn", "DeadLetterConfig.Arn",
				"The ARN of the SQS queue that gets the events that cannot be delivered.").Length(1, 1600),
			declare.Text("log_level", "LogConfig.Level",
				"What is logged: nothing (OFF, the default), ERROR, INFO or TRACE.").Default("'OFF'").OneOf("OFF",
				"ERROR", "INFO", "TRACE").Usual(modules.Text("OFF")),
			declare.Text("log_include_detail", "LogConfig.IncludeDetail",
				"Whether the log has the events' details (FULL) or not (NONE, the default).").Default("'NONE'").OneOf(
				"NONE", "FULL").Usual(modules.Text("NONE")),
			declare.Text("managed_by", "ManagedBy", "The AWS service that made it; NULL if none did.").Computed(),
			declare.ARN("arn", "Arn"),
			declare.Time("creation_time", "CreationTime", "When it was created.").Incarnation(),
			declare.Tags("Tags", (*eventbridge.Client).TagResource,
				(*eventbridge.Client).UntagResource).From(declare.Call((*eventbridge.Client).ListTagsForResource)),
		},
		Published: declare.Published{Type: "AWS::Events::EventBus", Since: 3,
			Columns: map[string]string{"EventSourceName": "name"}},
		DestroyBeforeCreate: true,

		Kind: "event-bus/",
		List: buses().Names("name", "Name"),
		Get:  declare.One(declare.Call((*eventbridge.Client).DescribeEventBus), ""),
		Create: declare.Call((*eventbridge.Client).CreateEventBus,
			declare.Fill(func(s *declare.Step, in *eventbridge.CreateEventBusInput) {
				if strings.HasPrefix(s.Want["name"].String(), "aws.partner/") {
					in.EventSourceName = s.Want["name"].Ptr()
				}
			})),
		Updates: []declare.Update{
			declare.Put("policy", declare.Call((*eventbridge.Client).PutPermission),
				declare.Call((*eventbridge.Client).RemovePermission,
					declare.With(&eventbridge.RemovePermissionInput{RemoveAllPermissions: true}))),
			declare.Replace(declare.Call((*eventbridge.Client).UpdateEventBus)),
		},
		Delete: declare.Call((*eventbridge.Client).DeleteEventBus),
		Protected: func(have modules.Row) string {
			if have["name"].String() == "default" {
				return "it is the region's default event bus, to which AWS services send their events"
			}
			return keepManaged(have)
		},
	})
}
