package awscloudwatch

import (
	"context"
	"slices"
	"strings"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	logstypes "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// logsPageSize is the most log groups DescribeLogGroups gives a page.
const logsPageSize = 50

// logGroup is the table log_group.
type logGroup struct {
	clients     *aws.Clients
	description *modules.Table
}

func newLogGroup(c *aws.Clients) *logGroup {
	return &logGroup{clients: c, description: describeLogGroup()}
}

func describeLogGroup() *modules.Table {
	return &modules.Table{
		Name:     "log_group",
		Doc:      "Log groups, which hold what programs log. Deleting one deletes its logs.",
		Provider: aws.Provider,
		Reach:    modules.PerRegion,
		Creation: modules.ByName,
		Columns: aws.Regional(
			modules.Column{Name: "log_group_name", Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true,
				Check: `log_group_name ~ '^[A-Za-z0-9_/.#-]+$' AND length(log_group_name) <= 512`,
				Doc:   "The log group's name, up to 512 letters, digits and _-/.#"},
			modules.Column{Name: "retention_in_days", Type: modules.TypeInteger,
				// Page PutRetentionPolicy: retentionInDays.
				Check: "retention_in_days IN (1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653)",
				Doc:   "For how many days logs are kept: 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365 or one of the larger numbers AWS has. NULL: for ever."},
			// Changed in place, so that the logs stay (page AssociateKmsKey).
			modules.Column{Name: "kms_key_id", Type: modules.TypeText, Check: `kms_key_id LIKE 'arn:%'`,
				Doc: "The ARN of the KMS key that encrypts what is logged from now on. NULL: AWS's own does. What was logged before stays as it was encrypted, and is read with the old key."},
			modules.Column{Name: "log_group_arn", Type: modules.TypeText, Assigned: true,
				Doc: "Its Amazon Resource Name (ARN), without the :* at the end that some policies need."},
			modules.Column{Name: "creation_time", Type: modules.TypeTime, Assigned: true, Doc: "When it was created."},
			aws.TagsColumn(),
		),
		DestroyBeforeCreate: true,
	}
}

func (r *logGroup) client(ctx context.Context, scope modules.Scope) (*cloudwatchlogs.Client, error) {
	return aws.Client(ctx, r.clients, scope, func(cfg awssdk.Config) *cloudwatchlogs.Client { return cloudwatchlogs.NewFromConfig(cfg) })
}

// Table returns the description.
func (r *logGroup) Table() *modules.Table { return r.description }

// List gives every log group of the scope to page.
func (r *logGroup) List(ctx context.Context, scope modules.Scope, page func([]modules.Row) error) error {
	return r.list(ctx, scope, nil, func(string) bool { return true }, page)
}

// list gives the log groups whose names begin with prefix and are wanted to
// page.
func (r *logGroup) list(ctx context.Context, scope modules.Scope, prefix *string, wanted func(name string) bool, page func([]modules.Row) error) error {
	client, err := r.client(ctx, scope)
	if err != nil {
		return err
	}
	return aws.Pages(ctx, cloudwatchlogs.NewDescribeLogGroupsPaginator(client, &cloudwatchlogs.DescribeLogGroupsInput{
		LogGroupNamePrefix: prefix, Limit: awssdk.Int32(logsPageSize),
	}), func(out *cloudwatchlogs.DescribeLogGroupsOutput) error {
		groups := slices.DeleteFunc(out.LogGroups, func(g logstypes.LogGroup) bool { return !wanted(awssdk.ToString(g.LogGroupName)) })
		rows, err := aws.Read(ctx, groups, func(ctx context.Context, g logstypes.LogGroup) (modules.Row, error) {
			row := logGroupRow(g)
			tags, err := client.ListTagsForResource(ctx, &cloudwatchlogs.ListTagsForResourceInput{ResourceArn: row["log_group_arn"].Ptr()})
			if err != nil {
				return nil, err
			}
			row["tags"] = aws.TagValue(tags.Tags)
			return row, nil
		})
		if err != nil {
			return err
		}
		return page(rows)
	})
}

func logGroupRow(g logstypes.LogGroup) modules.Row {
	row := modules.Row{
		"log_group_name":    modules.TextPtr(g.LogGroupName),
		"retention_in_days": modules.IntPtr(g.RetentionInDays),
		"kms_key_id":        modules.TextPtr(g.KmsKeyId),
		// Older answers have only the ARN with :* (page LogGroup).
		"log_group_arn": modules.Text(strings.TrimSuffix(awssdk.ToString(g.Arn), ":*")),
		"creation_time": modules.Null,
	}
	if g.CreationTime != nil {
		at := time.UnixMilli(*g.CreationTime)
		row["creation_time"] = modules.TimePtr(&at)
	}
	return row
}

// Get reads the log groups with these names: by one listing of what begins with
// each, since names alone cannot be asked for.
func (r *logGroup) Get(ctx context.Context, scope modules.Scope, identities []modules.Row) ([]modules.Row, error) {
	collect, rows := aws.Collector()
	err := aws.Each(ctx, aws.Breadth, aws.Column(identities, "log_group_name"), func(ctx context.Context, name string) error {
		return r.list(ctx, scope, &name, func(found string) bool { return found == name }, collect)
	})
	return rows(), err
}

// Create creates a log group. Its retention, which CreateLogGroup does not take,
// is left to Update.
func (r *logGroup) Create(ctx context.Context, scope modules.Scope, want modules.Row, _ string) (modules.Row, error) {
	client, err := r.client(ctx, scope)
	if err != nil {
		return nil, err
	}
	in := &cloudwatchlogs.CreateLogGroupInput{LogGroupName: want["log_group_name"].Ptr(), KmsKeyId: want["kms_key_id"].Ptr()}
	if tags := aws.TagsOf(want, ""); len(tags) > 0 { // an empty map is refused (page CreateLogGroup)
		in.Tags = tags
	}
	if _, err := client.CreateLogGroup(ctx, in); err != nil {
		return nil, err
	}
	return modules.Row{"log_group_name": want["log_group_name"]}, nil
}

// Update changes retention, key and tags.
func (r *logGroup) Update(ctx context.Context, scope modules.Scope, have, want modules.Row, columns []string) error {
	client, err := r.client(ctx, scope)
	if err != nil {
		return err
	}
	name := have["log_group_name"].Ptr()
	if slices.Contains(columns, "retention_in_days") {
		if days := want["retention_in_days"]; days.IsNull() {
			_, err = client.DeleteRetentionPolicy(ctx, &cloudwatchlogs.DeleteRetentionPolicyInput{LogGroupName: name})
		} else {
			_, err = client.PutRetentionPolicy(ctx, &cloudwatchlogs.PutRetentionPolicyInput{LogGroupName: name, RetentionInDays: days.Int32Ptr()})
		}
		if err != nil {
			return err
		}
	}
	if slices.Contains(columns, "kms_key_id") {
		if key := want["kms_key_id"]; key.IsNull() {
			_, err = client.DisassociateKmsKey(ctx, &cloudwatchlogs.DisassociateKmsKeyInput{LogGroupName: name})
		} else {
			_, err = client.AssociateKmsKey(ctx, &cloudwatchlogs.AssociateKmsKeyInput{LogGroupName: name, KmsKeyId: key.Ptr()})
		}
		if err != nil {
			return err
		}
	}
	if !slices.Contains(columns, modules.ColumnTags) {
		return nil
	}
	arn := have["log_group_arn"].Ptr()
	return aws.UpdateTags(ctx, have, want,
		func(ctx context.Context, tags map[string]string) error {
			_, err := client.TagResource(ctx, &cloudwatchlogs.TagResourceInput{ResourceArn: arn, Tags: tags})
			return err
		},
		func(ctx context.Context, keys []string) error {
			_, err := client.UntagResource(ctx, &cloudwatchlogs.UntagResourceInput{ResourceArn: arn, TagKeys: keys})
			return err
		})
}

// Delete deletes a log group with its logs.
func (r *logGroup) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	client, err := r.client(ctx, scope)
	if err != nil {
		return err
	}
	_, err = client.DeleteLogGroup(ctx, &cloudwatchlogs.DeleteLogGroupInput{LogGroupName: have["log_group_name"].Ptr()})
	return aws.IfExists(err)
}
