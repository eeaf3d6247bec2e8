package awsrds

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	rdstypes "github.com/aws/aws-sdk-go-v2/service/rds/types"

	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// replicated says why no column replicates backups.
const replicated = "a replicated backup is an object of the other region, which another record may have made"

// managed declares whether RDS keeps the first user's password in a secret of Secrets Manager: whether there is one
// says it (page DBInstance of the Amazon RDS API Reference, MasterUserSecret).
func managed() declare.Column {
	return declare.Bool("manage_master_user_password", "MasterUserSecret.SecretArn",
		"Whether RDS makes the first user's password and keeps it in a secret of Secrets Manager, which it rotates; "+
			"not if left out. master_user_password is NULL then.").
		As(declare.Reads(func(any) (modules.Value, error) { return modules.Bool(true), nil })).
		In("ManageMasterUserPassword").OptionalComputed().Absent(modules.Bool(false))
}

func managedKey() declare.Column {
	return declare.Text("master_user_secret_kms_key_id", "MasterUserSecret.KmsKeyId",
		"The id or ARN of the KMS key of that secret; AWS's own if left out.").
		In("MasterUserSecretKmsKeyId").OptionalComputed().Same(declare.SameKey)
}

func managedSecret() declare.Column {
	return declare.Text("master_user_secret_arn", "MasterUserSecret.SecretArn",
		"The ARN of that secret; NULL if there is none.").Computed()
}

// optionGroup declares the group of options. AWS's own, which each version of an engine has, counts as none: another
// version has another.
func optionGroup(member string) declare.Column {
	return declare.Text("option_group_name", member,
		"The option group, by its name; NULL for AWS's own of its engine.").
		As(declare.Unless(func(name string) bool { return strings.HasPrefix(name, "default:") })).
		In("OptionGroupName").OptionalComputed()
}

// exports declares which logs go to CloudWatch Logs. A change names what begins and what ends: see exported.
func exports() declare.Column {
	return declare.Texts("enable_cloudwatch_logs_exports", "EnabledCloudwatchLogsExports",
		"Which logs of the engine go to CloudWatch Logs, such as postgresql, upgrade, error or slowquery; none if "+
			"left out.").
		In("EnableCloudwatchLogsExports", "CloudwatchLogsExportConfiguration.EnableLogTypes").
		OptionalComputed().Unordered().EmptyIsNull()
}

func exported(s *declare.Step) *rdstypes.CloudwatchLogsExportConfiguration {
	added, gone := s.Added("enable_cloudwatch_logs_exports")
	return &rdstypes.CloudwatchLogsExportConfiguration{EnableLogTypes: added, DisableLogTypes: gone}
}

// role is what instances and clusters have alike of a role that they work under.
type role struct {
	FeatureName, RoleArn *string
}

func (r role) key() [2]string {
	var key [2]string
	if r.FeatureName != nil {
		key[0] = *r.FeatureName
	}
	if r.RoleArn != nil {
		key[1] = *r.RoleArn
	}
	return key
}

// roles declares the roles that the database works under. Their state, which AWS adds, is left out.
func roles() declare.Column {
	return declare.JSON("associated_roles", "AssociatedRoles",
		"The roles by which the engine uses other services, each with the feature that it is for: "+
			`[{"RoleArn": "arn:…", "FeatureName": "s3Import"}].`).
		As(declare.Codec{
			Decode: func(member any) (modules.Value, error) {
				text, err := json.Marshal(member)
				if err != nil {
					return modules.Null, err
				}
				var list []role
				if err := json.Unmarshal(text, &list); err != nil || len(list) == 0 {
					return modules.Null, err
				}
				return rolesOf(list)
			},
		}).Unordered().EmptyIsNull()
}

// rolesOf returns roles as the column has them.
func rolesOf(list []role) (modules.Value, error) {
	members := make([]map[string]string, len(list))
	for i, r := range list {
		members[i] = map[string]string{"RoleArn": r.key()[1]}
		if r.FeatureName != nil && *r.FeatureName != "" {
			members[i]["FeatureName"] = *r.FeatureName
		}
	}
	return modules.JSON(members)
}

// changeRoles adds and removes the roles that a step is to change.
func changeRoles(ctx context.Context, s *declare.Step, add, remove *declare.Op) error {
	read := func(v modules.Value) (list []role, err error) {
		if !v.IsNull() {
			err = json.Unmarshal([]byte(v.String()), &list)
		}
		return list, err
	}
	have, err := read(s.Have["associated_roles"])
	if err != nil {
		return err
	}
	want, err := read(s.Want["associated_roles"])
	if err != nil {
		return &modules.Error{Class: modules.Invalid, Code: "InvalidJSON", Message: "associated_roles: " + err.Error(),
			Err: err}
	}
	has := func(list []role, r role) bool {
		return slices.ContainsFunc(list, func(other role) bool { return other.key() == r.key() })
	}
	call := func(op *declare.Op, roles, others []role) error {
		for _, r := range roles {
			if has(others, r) {
				continue
			}
			members := map[string]string{}
			for name, text := range map[string]*string{"RoleArn": r.RoleArn, "FeatureName": r.FeatureName} {
				if text != nil {
					members[name] = *text
				}
			}
			if _, err := s.Ask(ctx, op, members); err != nil {
				return err
			}
		}
		return nil
	}
	if err := call(remove, have, want); err != nil {
		return err
	}
	return call(add, want, have)
}
