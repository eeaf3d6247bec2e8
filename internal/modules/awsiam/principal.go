package awsiam

import (
	"context"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// pageSize is the most results that IAM's listings give a page.
const pageSize = 1000

// The columns that roles and users have in common.

func pathColumn() declare.Column {
	return declare.Text("path", "Path",
		"The path in its ARN, which begins and ends with a slash. Default /.").In("Path", "NewPath").
		Default("'/'").Check(`path ~ '^/([!-~]+/)?$' AND length(path) <= 512`)
}

func arnColumn() declare.Column {
	return declare.ARN("arn", "Arn").Doc("Its Amazon Resource Name (ARN); NULL until it is created.")
}

func attachedColumn() declare.Column {
	return declare.Texts("attached_policies_arns", "",
		"The ARNs of the managed policies attached to it, in any order.").Unordered().EmptyIsNull()
}

func inlineColumn() declare.Column {
	return declare.JSON("inline_policies", "", "Its inline policies: a JSON object of policy documents by name.").
		EmptyIsNull().Same(samePolicies).Check(`jsonb_typeof(inline_policies) = 'object'`)
}

func boundaryColumn() declare.Column {
	return declare.Text("permissions_boundary", "PermissionsBoundary.PermissionsBoundaryArn",
		"The ARN of the managed policy that bounds what its other policies can grant.").In("PermissionsBoundary")
}

func createDateColumn() declare.Column {
	return declare.Time("create_date", "CreateDate", "When it was created.").Incarnation()
}

// policyValue returns the value of a policy document, which IAM sends
// URL-encoded "compliant with RFC 3986" (page GetAccountAuthorizationDetails).
func policyValue(encoded *string) modules.Value {
	text := awssdk.ToString(encoded)
	if strings.HasPrefix(text, "{") {
		return aws.Policy(&text) // some emulators do not encode
	}
	decoded, err := url.PathUnescape(text)
	if err != nil {
		return aws.Policy(&text)
	}
	return aws.Policy(&decoded)
}

// hold fills in the columns of policies.
func hold(row modules.Row, attached []iamtypes.AttachedPolicy, inline []iamtypes.PolicyDetail) (err error) {
	row["attached_policies_arns"], row["inline_policies"] = modules.Null, modules.Null
	if len(attached) > 0 {
		arns := make([]string, len(attached))
		for i, p := range attached {
			arns[i] = awssdk.ToString(p.PolicyArn)
		}
		slices.Sort(arns)
		row["attached_policies_arns"] = modules.Strings(arns)
	}
	if len(inline) > 0 {
		all := make(map[string]json.RawMessage, len(inline))
		for _, p := range inline {
			if v := policyValue(p.PolicyDocument); !v.IsNull() {
				all[awssdk.ToString(p.PolicyName)] = json.RawMessage(v.String())
			}
		}
		row["inline_policies"], err = modules.JSON(all)
	}
	return err
}

// documents returns the inline policies that a value holds, by name.
func documents(v string) map[string]json.RawMessage {
	var all map[string]json.RawMessage
	_ = json.Unmarshal([]byte(v), &all) // "" is none; all else the column's CHECK has seen
	return all
}

// samePolicies reports whether two objects hold the same policies by the same
// names.
func samePolicies(a, b string) bool {
	return maps.EqualFunc(documents(a), documents(b), func(x, y json.RawMessage) bool {
		return aws.SamePolicy(string(x), string(y))
	})
}

// policies are the calls about the policies of a role or a user, which differ in
// their names alone.
type policies struct {
	attached, names             *declare.Listing
	document                    *declare.Op
	attach, detach, put, remove *declare.Op
}

// read fills in the columns of policies where no listing has told them.
func (p policies) read(ctx context.Context, s *declare.Step, row modules.Row) error {
	var (
		attached []iamtypes.AttachedPolicy
		inline   []iamtypes.PolicyDetail
	)
	err := aws.Together(ctx,
		func(ctx context.Context) (err error) {
			attached, err = declare.All[iamtypes.AttachedPolicy](ctx, s, p.attached)
			return err
		},
		func(ctx context.Context) error {
			names, err := declare.All[string](ctx, s, p.names)
			for _, name := range names {
				document, err := s.Ask(ctx, p.document, map[string]string{"PolicyName": name})
				if aws.IsNotFound(err) {
					continue
				}
				if err != nil {
					return err
				}
				text, _ := document.(*string)
				inline = append(inline, iamtypes.PolicyDetail{PolicyName: &name, PolicyDocument: text})
			}
			return err
		})
	if err != nil {
		return err
	}
	return hold(row, attached, inline)
}

// changes are the updates of the columns of policies.
func (p policies) changes() []declare.Update {
	return []declare.Update{
		declare.Members("attached_policies_arns", p.attach, p.detach, "PolicyArn", ""),
		declare.Members("inline_policies", p.put, p.remove, "PolicyName", "PolicyDocument"),
	}
}

// clearPolicies removes all policies, which IAM asks for before a role or a user can be
// deleted (pages DeleteRole and DeleteUser).
func clearPolicies(ctx context.Context, s *declare.Step) error {
	return s.Clear(ctx, "attached_policies_arns", "inline_policies")
}
