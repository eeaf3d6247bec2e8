package awsroute53

import (
	"context"
	"errors"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	route53types "github.com/aws/aws-sdk-go-v2/service/route53/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// logGroup returns the ARN of a log group as Route 53 takes it: CloudWatch Logs ends it with :*.
func logGroup(arn string) string { return strings.TrimSuffix(arn, ":*") }

func sameLogGroup(a, b string) bool { return logGroup(a) == logGroup(b) }

// logging returns where the queries of zones are logged, which one call tells of a hundred (page
// ListQueryLoggingConfigs). A zone has one configuration at most.
func logging(ctx context.Context, s *declare.Step) ([]route53types.QueryLoggingConfig, error) {
	var all []route53types.QueryLoggingConfig
	pages := route53.NewListQueryLoggingConfigsPaginator(declare.ClientOf[*route53.Client](s),
		&route53.ListQueryLoggingConfigsInput{})
	err := aws.Pages(ctx, pages, func(out *route53.ListQueryLoggingConfigsOutput) error {
		all = append(all, out.QueryLoggingConfigs...)
		return nil
	})
	return all, err
}

// readLogging reads where the queries of zones are logged. Where that may not be read it is unknown.
func readLogging(ctx context.Context, s *declare.Step, _ []*route53.GetHostedZoneOutput, rows []modules.Row) error {
	for _, row := range rows {
		delete(row, "query_log_group_arn")
	}
	all, err := logging(ctx, s)
	if modules.NotPermitted(err) {
		return nil
	}
	if err != nil {
		return err
	}
	groups := map[string]string{}
	for _, config := range all {
		groups[zoneID(config.HostedZoneId)] = awssdk.ToString(config.CloudWatchLogsLogGroupArn)
	}
	for _, row := range rows {
		row["query_log_group_arn"] = modules.NonEmpty(groups[row["hosted_zone_id"].String()])
	}
	return nil
}

// setLogging has a zone's queries logged elsewhere, or no more. A zone has one configuration, which nothing changes
// (page CreateQueryLoggingConfig, QueryLoggingConfigAlreadyExists): the old one makes room, and comes back where the
// new one is refused.
func setLogging(ctx context.Context, s *declare.Step) error {
	client, id := declare.ClientOf[*route53.Client](s), s.Have["hosted_zone_id"].Ptr()
	all, err := logging(ctx, s)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(config route53types.QueryLoggingConfig) bool {
		return zoneID(config.HostedZoneId) != *id
	})
	for _, config := range all {
		if _, err := client.DeleteQueryLoggingConfig(ctx,
			&route53.DeleteQueryLoggingConfigInput{Id: config.Id}); aws.IfExists(err) != nil {
			return err
		}
	}
	want := s.Want["query_log_group_arn"]
	if want.IsNull() {
		return nil
	}
	create := func(arn string) error {
		_, err := client.CreateQueryLoggingConfig(ctx, &route53.CreateQueryLoggingConfigInput{HostedZoneId: id,
			CloudWatchLogsLogGroupArn: awssdk.String(logGroup(arn))})
		return err
	}
	err = create(want.String())
	if err != nil && len(all) > 0 {
		err = errors.Join(err, create(awssdk.ToString(all[0].CloudWatchLogsLogGroupArn)))
	}
	return err
}
