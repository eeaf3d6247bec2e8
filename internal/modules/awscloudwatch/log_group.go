package awscloudwatch

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	logstypes "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// newLogGroup declares the table log_group.
func newLogGroup(c *aws.Clients) *declare.Resource {
	return declare.New(c, declare.Table[logstypes.LogGroup]{
		Name:    "log_group",
		Doc:     "Log groups, which hold what programs log. Deleting one deletes its logs.",
		Service: declare.Service(cloudwatchlogs.NewFromConfig),
		Columns: []declare.Column{
			declare.Name("log_group_name", "LogGroupName", "The log group's name, up to 512 letters, digits and _-/.#").
				Check(`log_group_name ~ '^[A-Za-z0-9_/.#-]+$' AND length(log_group_name) <= 512`),
			declare.Integer("retention_in_days", "RetentionInDays",
				"For how many days logs are kept: 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365 or one of the "+
					"larger numbers AWS has. NULL: for ever.").
				// Page PutRetentionPolicy: retentionInDays.
				Check("retention_in_days IN (1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, " +
					"1827, 2192, 2557, 2922, 3288, 3653)"),
			declare.Text("kms_key_id", "KmsKeyId",
				"The ARN of the KMS key that encrypts what is logged from now on. NULL: AWS's own does. What was "+
									"logged before stays as it was encrypted, and is read with the old key.").
				Check(`kms_key_id LIKE 'arn:%'`), // changed in place, so that the logs stay (page AssociateKmsKey)
			declare.JSON("data_protection_policy", "PolicyDocument",
				"Which secrets are masked in its logs, and told: a data protection policy. NULL: none.").
				EmptyIsNull().Born(modules.Null).Since(3).Check("jsonb_typeof(data_protection_policy) = 'object'").
				From(declare.Call((*cloudwatchlogs.Client).GetDataProtectionPolicy,
					declare.From("LogGroupIdentifier", "log_group_name"), declare.None("ResourceNotFoundException"),
					declare.Only(
						func(row modules.Row) bool { return row["data_protection_status"].String() == activated }))),
			declare.Text("data_protection_status", "DataProtectionStatus",
				"Whether it has a data protection policy: ACTIVATED, DELETED, ARCHIVED or DISABLED; NULL if it "+
					"never had.").
				Computed().Since(3),
			declare.ARN("log_group_arn", "Arn").As(declare.Trimmed("",
				":*")).Doc("Its Amazon Resource Name (ARN), without the :* at the end that some policies need."),
			declare.Time("creation_time", "CreationTime", "When it was created.").As(declare.Millis).Incarnation(),
			declare.Tags("Tags", (*cloudwatchlogs.Client).TagResource, (*cloudwatchlogs.Client).UntagResource).
				From(declare.Call((*cloudwatchlogs.Client).ListTagsForResource)).Together("logs", "log_group_arn"),
		},
		Published: declare.Published{Type: "AWS::Logs::LogGroup", Since: 3, Fixed: []string{"LogGroupClass"},
			Docs: map[string]string{"LogGroupClass": "STANDARD, if left out, INFREQUENT_ACCESS, which costs less " +
				"and can do less, or DELIVERY."},
		},
		DestroyBeforeCreate: true,

		EventMappings: modules.EventMappings("logs.amazonaws.com",
			modules.Request("logGroupName", "TagLogGroup", "UntagLogGroup"),
		),
		List: declare.Pages(cloudwatchlogs.NewDescribeLogGroupsPaginator, "LogGroups", declare.PageSize(50)),
		// "You can specify only log group names in the same account", and ARNs in a monitoring account (page
		// DescribeLogGroups).
		Get: declare.Named("LogGroupIdentifiers", 50).OrPrefix("LogGroupNamePrefix"),
		Row: func(_ context.Context, _ *declare.Step, _ *logstypes.LogGroup, row modules.Row) error {
			if row["data_protection_status"].String() != activated {
				row["data_protection_policy"] = modules.Null
			}
			return nil
		},
		Create: declare.Call((*cloudwatchlogs.Client).CreateLogGroup),
		Updates: []declare.Update{
			declare.Put("data_protection_policy", declare.Call((*cloudwatchlogs.Client).PutDataProtectionPolicy,
				declare.From("LogGroupIdentifier", "log_group_name"), declare.From("PolicyDocument",
					"data_protection_policy")),
				declare.Call((*cloudwatchlogs.Client).DeleteDataProtectionPolicy,
					declare.From("LogGroupIdentifier", "log_group_name"))),
			declare.Put("retention_in_days", declare.Call((*cloudwatchlogs.Client).PutRetentionPolicy),
				declare.Call((*cloudwatchlogs.Client).DeleteRetentionPolicy)),
			declare.Put("kms_key_id", declare.Call((*cloudwatchlogs.Client).AssociateKmsKey),
				declare.Call((*cloudwatchlogs.Client).DisassociateKmsKey)),
		},
		Delete:    declare.Call((*cloudwatchlogs.Client).DeleteLogGroup),
		HoldsData: true,
	})
}

// activated is the state of a log group that has a data protection policy.
const activated = string(logstypes.DataProtectionStatusActivated)
