package awsaccount

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

func describeAccount() *modules.Table {
	return &modules.Table{
		Name: "aws_account",
		Doc: "The AWS accounts that are managed, and how the engine logs in to them. An account without " +
			"credentials uses those of the engine's environment.",
		Provider:        aws.Provider,
		DefinesAccounts: true,
		Columns: []modules.Column{
			{Name: "name", Type: modules.TypeText, Required: true, Identity: true, Check: "name <> ''",
				Doc: "What the other tables call the account, such as default or production."},
			{Name: "account_id", Type: modules.TypeText, Check: `account_id ~ '^[0-9]{12}$'`,
				Doc: "The account's twelve digits. If they are given, credentials of any other account are not used."},
			{Name: "is_default", Type: modules.TypeBool, Required: true, Default: "false",
				Doc: "Whether rows that name no account belong to this one. The first account is; setting it here " +
					"unsets it elsewhere."},
			{Name: "access_key_id", Type: modules.TypeText,
				Doc: "The access key's id. NULL: the engine's environment, profile or instance role says."},
			{Name: "secret_access_key", Type: modules.TypeText, WriteOnly: true,
				Doc: "The access key's secret. Shown as asterisks once it is set; set it to NULL to remove it."},
			{Name: "session_token", Type: modules.TypeText, WriteOnly: true,
				Doc: "The session's token, of temporary credentials. Shown as asterisks once it is set; set it to " +
					"NULL to remove it."},
			{Name: "role_arn", Type: modules.TypeText, Check: `role_arn ~ '^arn:aws[a-z-]*:iam::[0-9]{12}:role/.+$'`,
				Doc: "The ARN of a role to assume, with the credentials above or those of the engine's environment."},
			{Name: "external_id", Type: modules.TypeText,
				Doc: "The external id that the role's trust policy asks for."},
			{Name: "profile", Type: modules.TypeText,
				Doc: "A profile of the shared configuration files on the engine's machine."},
		},
	}
}

// describeEventSource describes the table aws_event_source.
func describeEventSource() *modules.Table {
	return &modules.Table{
		Name: "aws_event_source",
		Doc: "Where the engine reads what others change in an account, and who they are: a queue of " +
			"CloudTrail's events, or the bucket of a trail. Without one everything works, by listings alone.",
		Provider: aws.Provider,
		Columns: []modules.Column{
			aws.AccountColumn(),
			{Name: "name", Type: modules.TypeText, Required: true, Identity: true, Default: "'default'",
				Check: "name <> ''",
				Doc:   "What the source is called."},
			{Name: "region", Type: modules.TypeText, Check: "region ~ '^[a-z]{2}(-[a-z]+)+-[0-9]+$'",
				Doc: "The region whose events it has. NULL: those of all regions, which send theirs there."},
			{Name: "queue", Type: modules.TypeText,
				Check: "queue ~ " +
					"'^(https?://[^[:space:]]+/[0-9]+/|arn:aws[a-z-]*:sqs:[a-z0-9-]+:[0-9]{12}:)[A-Za-z0-9_-]{1,80}(\\.fifo)?$'",
				Doc: "The queue of Amazon SQS that a rule of EventBridge sends to, by its URL or ARN. The engine " +
					"deletes what it has read from it."},
			{Name: "bucket", Type: modules.TypeText, Check: "bucket ~ '^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$'",
				Doc: "The bucket that a trail of CloudTrail delivers its files to: complete, and minutes late."},
			{Name: "prefix", Type: modules.TypeText, Required: true, Default: "''",
				Doc: "What the names of the trail's files begin with, before AWSLogs/."},
			{Name: "all_accounts", Type: modules.TypeBool, Required: true, Default: "false",
				Doc: "Whether it has the events of other accounts in aws_account as well, as an organization's has. " +
					"Else theirs are dropped."},
			{Name: "is_enabled", Type: modules.TypeBool, Required: true, Default: "true",
				Doc: "Whether the engine reads it."},
		},
		Checks: []string{"num_nonnulls(queue, bucket) = 1"},
	}
}

// Querier is what [LoadCredentials] needs of a pool or a connection.
type Querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// LoadCredentials returns the credentials of accounts as the table aws_account
// has them. The connection's role must be allowed to read the secrets, as is
// iasql_engine.
func LoadCredentials(db Querier) aws.Accounts {
	return func(ctx context.Context, account string) (aws.Credentials, error) {
		var c aws.Credentials
		err := db.QueryRow(ctx, `
			SELECT coalesce(a.access_key_id, ''), coalesce(k.value, ''), coalesce(t.value, ''),
				coalesce(a.role_arn, ''), coalesce(a.external_id, ''), coalesce(a.profile, ''),
				coalesce(a.account_id, '')
			FROM public.aws_account AS a
			LEFT JOIN iasql_internal.account_secret AS k
				ON k.table_name = 'aws_account' AND k.account = a.name AND k.column_name = 'secret_access_key'
			LEFT JOIN iasql_internal.account_secret AS t
				ON t.table_name = 'aws_account' AND t.account = a.name AND t.column_name = 'session_token'
			WHERE a.name = $1`, account,
		).Scan(&c.AccessKeyID, &c.SecretAccessKey, &c.SessionToken, &c.RoleARN, &c.ExternalID, &c.Profile, &c.AccountID)
		if errors.Is(err, pgx.ErrNoRows) {
			return aws.Credentials{}, &modules.Error{Class: modules.Denied, Code: "Credentials", Err: err,
				Message: "there is no such account: insert it into aws_account"}
		}
		if err != nil {
			return aws.Credentials{}, fmt.Errorf("load credentials: %w", err)
		}
		return c, nil
	}
}

// LoadReadShares returns a function that reads the settings read_share and
// read_share_waited.
func LoadReadShares(db Querier) func(context.Context) (aws.ReadShares, error) {
	return func(ctx context.Context) (s aws.ReadShares, err error) {
		err = db.QueryRow(ctx, `SELECT max(value::double precision) FILTER (WHERE name = 'read_share'), max(value::double precision)
			FROM public.iasql_settings WHERE name IN ('read_share', 'read_share_waited')`).Scan(&s.Patient, &s.Waited)
		return s, err
	}
}
