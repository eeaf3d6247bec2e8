// Package awsstepfunctions is the module aws_step_functions: state machines.
//
// It is long because a state machine is named by an ARN that is made of its name, and UpdateStateMachine takes a role
// or a definition along with whatever else changes.
package awsstepfunctions

import (
	"context"
	"errors"
	"fmt"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// pageSize is the most state machines that ListStateMachines gives a page.
const pageSize = 1000

// Module returns the module aws_step_functions, whose calls go through c.
func Module(c *aws.Clients) *modules.Module {
	return &modules.Module{
		Name: "aws_step_functions", Version: 3, Doc: "State machines of Step Functions.",
		Dependencies: []string{"aws_account", "aws_iam"}, Resources: []modules.Resource{newStateMachine(c)},
	}
}

// newStateMachine declares the table state_machine. The limits are those of the
// page CreateStateMachine of the Step Functions API Reference.
func newStateMachine(c *aws.Clients) *declare.Resource {
	return declare.New(c, declare.Table[sfn.DescribeStateMachineOutput]{
		Name: "state_machine",
		Doc: "State machines, which are workflows. Deleting one, or replacing it, ends its executions at their " +
			"next step. Its versions and aliases are not shown; deleting it deletes them.",
		Service: declare.Service(sfn.NewFromConfig),
		Columns: []declare.Column{
			declare.Name("name", "Name", "The state machine's name, up to 80 characters; with logging, letters, "+
				"digits and _- alone.").
				Length(1, 80).Matches("^[^[:space:]<>{}?*\"#%^|~`$&,;:/\\\\\\[\\]]+$"),
			declare.Text("type", "Type", "STANDARD (the default: an execution takes up to a year, and happens once) "+
				"or EXPRESS (up to five minutes, at least once).").
				Default("'STANDARD'").CreateOnly().OneOf("STANDARD", "EXPRESS"),
			declare.JSON("definition", "Definition",
				`What it does, in the Amazon States Language: {"StartAt": "Done", "States": {"Done": {"Type": "Succeed"}}}.`).
				Required().Check("jsonb_typeof(definition) = 'object'"),
			declare.Role("role_name", "RoleArn",
				"The role that it runs as, which has to trust states.amazonaws.com.").Required().WithARN(2),
			declare.Text("log_level", "LoggingConfiguration.Level",
				"Which events of executions are logged: ALL, ERROR, FATAL or, the default, none (OFF).").
				Default("'OFF'").OneOf(declare.Values(sfntypes.LogLevel("").Values())...).Usual(modules.Text("OFF")),
			declare.Text("log_group_arn", "LoggingConfiguration.Destinations[0].CloudWatchLogsLogGroup.LogGroupArn",
				"The ARN of the log group that they are logged to, with :* at its end.").
				Check(`log_group_arn LIKE 'arn:%:*'`).Length(1, 256),
			declare.Bool("include_execution_data", "LoggingConfiguration.IncludeExecutionData",
				"Whether what executions work with is logged, too.").Default("false"),
			declare.Bool("tracing_enabled", "TracingConfiguration.Enabled",
				"Whether executions are traced with X-Ray.").Default("false"),
			declare.Text("kms_key_id", "EncryptionConfiguration.KmsKeyId",
				"The id, ARN or alias of the KMS key that encrypts its definition and executions. NULL: AWS's "+
					"own does.").Length(1, 2048),
			declare.Integer("kms_data_key_reuse_period_seconds", "EncryptionConfiguration.KmsDataKeyReusePeriodSeconds",
				"For how many seconds a data key of kms_key_id is used, from 60 to 900; 300 if left out.").
				OptionalComputed().Between(60, 900),
			declare.Text("status", "Status", "ACTIVE or DELETING.").Computed(),
			declare.ARN("arn", "StateMachineArn"),
			declare.Time("creation_date", "CreationDate", "When it was created.").Incarnation(),
			declare.Tags("Tags", (*sfn.Client).TagResource,
				(*sfn.Client).UntagResource).From(declare.Call((*sfn.Client).ListTagsForResource)),
		},
		Published: declare.Published{Type: "AWS::StepFunctions::StateMachine", Since: 3,
			Columns: map[string]string{"Definition": "definition", "DefinitionString": "definition",
				"StateMachineName": "name", "StateMachineType": "type"},
			Without: map[string]string{
				"DefinitionS3Location": declare.Deed +
					": CloudFormation reads from there what the column definition holds",
				"DefinitionSubstitutions": declare.Deed +
					": CloudFormation puts them into what the column definition holds"},
		},
		Checks: []string{
			`log_level = 'OFF' OR log_group_arn IS NOT NULL`,
			`kms_data_key_reuse_period_seconds IS NULL OR kms_key_id IS NOT NULL`,
		},
		DestroyBeforeCreate: true,

		List: declare.Pages(sfn.NewListStateMachinesPaginator, "StateMachines",
			declare.With(&sfn.ListStateMachinesInput{MaxResults: pageSize})).
			Names("name", "Name").Names("arn", "StateMachineArn"),
		Get: declare.One(declare.Call((*sfn.Client).DescribeStateMachine, declare.Edit(byName)), ""),
		Create: declare.Call((*sfn.Client).CreateStateMachine, declare.Failed(soon),
			declare.Fill(func(_ *declare.Step, in *sfn.CreateStateMachineInput) {
				in.EncryptionConfiguration = encryption(in.EncryptionConfiguration)
			})),
		// What a structure leaves out is not as it was, so that each is sent whole, and
		// what nobody changes not at all: the definition's text is its author's.
		Updates: []declare.Update{declare.Replace(declare.Call((*sfn.Client).UpdateStateMachine, declare.Failed(soon),
			declare.Edit(changed)))},
		Delete: declare.Call((*sfn.Client).DeleteStateMachine),
		// Until its last execution has ended; its name is taken so long (page
		// CreateStateMachine, StateMachineDeleting).
		Going: declare.In("status", string(sfntypes.StateMachineStatusDeleting)),
	})
}

// changed leaves out of an update what does not change. AWS wants a definition or a role in each (page
// UpdateStateMachine, MissingRequiredParameter): the role stands in for a change of neither.
func changed(_ context.Context, s *declare.Step, in *sfn.UpdateStateMachineInput) error {
	in.EncryptionConfiguration = encryption(in.EncryptionConfiguration)
	if !s.Changes("definition") {
		in.Definition = nil
	}
	if s.Changes("definition") && !s.Changes("role_name") {
		in.RoleArn = nil
	}
	if !s.Changes("log_level", "log_group_arn", "include_execution_data") {
		in.LoggingConfiguration = nil
	}
	if !s.Changes("tracing_enabled") {
		in.TracingConfiguration = nil
	}
	if !s.Changes("kms_key_id", "kms_data_key_reuse_period_seconds") {
		in.EncryptionConfiguration = nil
	}
	return nil
}

// encryption says whose key it is that encrypts.
func encryption(e *sfntypes.EncryptionConfiguration) *sfntypes.EncryptionConfiguration {
	if e == nil || e.KmsKeyId == nil {
		return &sfntypes.EncryptionConfiguration{Type: sfntypes.EncryptionTypeAwsOwnedKey}
	}
	e.Type = sfntypes.EncryptionTypeCustomerManagedKmsKey
	return e
}

// byName names the state machine by its ARN where only its name is known.
func byName(ctx context.Context, s *declare.Step, in *sfn.DescribeStateMachineInput) error {
	if in.StateMachineArn != nil {
		return nil
	}
	account, err := s.Clients.AccountID(ctx, s.Scope)
	if err != nil {
		return err
	}
	partition := "aws"
	switch {
	case strings.HasPrefix(s.Scope.Region, "cn-"):
		partition = "aws-cn"
	case strings.HasPrefix(s.Scope.Region, "us-gov-"):
		partition = "aws-us-gov"
	}
	in.StateMachineArn = awssdk.String(fmt.Sprintf("arn:%s:states:%s:%s:stateMachine:%s", partition, s.Scope.Region,
		account, s.Have["name"]))
	return nil
}

// soon tells what a wait heals: the deletion of an old one of that name, and that
// a new role is not yet known everywhere.
func soon(_ context.Context, _ *declare.Step, err error) error {
	var e *modules.Error
	if errors.As(err, &e) && (e.Code == "StateMachineDeleting" || e.Code == "AccessDeniedException" &&
		strings.Contains(e.Message, "authorized to assume the provided role")) {
		return &modules.Error{Class: modules.Dependency, Code: e.Code, Message: e.Message,
			RetryAfter: e.RetryAfter, Err: err}
	}
	return err
}
