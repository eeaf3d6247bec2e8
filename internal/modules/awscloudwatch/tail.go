package awscloudwatch

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	logstypes "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// tail is the function log_group_tail.
func tail(c *aws.Clients) *modules.Function {
	return &modules.Function{
		Name:   "log_group_tail",
		Doc:    "The newest lines of a log group, oldest first.",
		Sample: `SELECT event_timestamp, message FROM log_group_tail('/aws/lambda/greet', filter_pattern => 'ERROR')`,
		Given:  `INSERT INTO log_group (log_group_name) VALUES ('/aws/lambda/greet')`,
		Table:  "log_group",
		Right:  "SELECT",
		Parameters: []modules.Parameter{
			{Name: "log_group_name", Type: modules.TypeText, Names: "log_group_name", Doc: "The log group."},
			{Name: modules.ColumnRegion, Type: modules.TypeText, Default: "public.default_aws_region()",
				Names: modules.ColumnRegion, Doc: "The region; the default one if left out."},
			{Name: "since", Type: modules.TypeTime, Default: "now() - interval '1 hour'",
				Doc: "Lines from this time on; NULL: all, which may take long. (IaSQL returned the oldest.)"},
			{Name: "filter_pattern", Type: modules.TypeText, Default: "NULL",
				Doc: "Only lines that match, such as ERROR (CloudWatch Logs User Guide, \"Filter pattern syntax\")."},
			{Name: "most", Type: modules.TypeInteger, Default: "1000", Doc: "How many lines at most."},
		},
		Returns: []modules.Result{
			{Name: "event_id", Type: modules.TypeText, Doc: "The line's id."},
			{Name: "log_stream_name", Type: modules.TypeText, Doc: "The log stream it is in."},
			{Name: "event_timestamp", Type: modules.TypeTime, Doc: "When it was logged."},
			{Name: "message", Type: modules.TypeText, Doc: "What was logged."},
		},
		Call: func(ctx context.Context, i modules.Invocation) ([]modules.Row, error) {
			c, scope, args := c.Permitted(i.Permit), i.Scope, i.Arguments
			client, err := declare.Client(ctx, c, scope, cloudwatchlogs.NewFromConfig)
			if err != nil {
				return nil, err
			}
			in := &cloudwatchlogs.FilterLogEventsInput{LogGroupName: args["log_group_name"].Ptr(),
				FilterPattern: args["filter_pattern"].Ptr()}
			if since := args["since"]; !since.IsNull() {
				at, err := time.Parse(time.RFC3339Nano, since.String())
				if err != nil {
					return nil, &modules.Error{Class: modules.Invalid, Code: "since", Message: err.Error()}
				}
				ms := at.UnixMilli()
				in.StartTime = &ms
			}
			most := max(1, int(args["most"].Int()))
			var newest []logstypes.FilteredLogEvent
			err = aws.Pages(ctx, cloudwatchlogs.NewFilterLogEventsPaginator(client, in),
				func(out *cloudwatchlogs.FilterLogEventsOutput) error {
					newest = append(newest, out.Events...)
					newest = newest[max(0, len(newest)-most):]
					return nil
				})
			if err != nil {
				return nil, err
			}
			rows := make([]modules.Row, len(newest))
			for i, e := range newest {
				rows[i] = modules.Row{
					"event_id": modules.TextPtr(e.EventId), "log_stream_name": modules.TextPtr(e.LogStreamName),
					"message":         modules.TextPtr(e.Message),
					"event_timestamp": modules.Null,
				}
				if e.Timestamp != nil {
					at := time.UnixMilli(*e.Timestamp)
					rows[i]["event_timestamp"] = modules.TimePtr(&at)
				}
			}
			return rows, nil
		},
	}
}
