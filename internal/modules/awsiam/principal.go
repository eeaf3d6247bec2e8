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
	"iasql/internal/modules"
)

// pageSize is the most results that IAM's listings give a page.
const pageSize = 1000

// iamTags are the tags of IAM's objects.
var iamTags = aws.TagType[iamtypes.Tag]{
	Split: func(t iamtypes.Tag) (key, value *string) { return t.Key, t.Value },
	Join:  func(key, value *string) iamtypes.Tag { return iamtypes.Tag{Key: key, Value: value} },
}

// The columns that roles and users have in common.

func pathColumn() modules.Column {
	return modules.Column{Name: "path", Type: modules.TypeText, Required: true, Default: "'/'",
		Check: `path ~ '^/([!-~]+/)?$' AND length(path) <= 512`,
		Doc:   "The path in its ARN, which begins and ends with a slash. Default /."}
}

func attachedColumn() modules.Column {
	return modules.Column{Name: "attached_policies_arns", Type: modules.TypeTexts, Unordered: true, EmptyIsNull: true,
		Doc: "The ARNs of the managed policies attached to it, in any order."}
}

func inlineColumn() modules.Column {
	return modules.Column{Name: "inline_policies", Type: modules.TypeJSON, EmptyIsNull: true, Equal: samePolicies,
		Check: `jsonb_typeof(inline_policies) = 'object'`,
		Doc:   "Its inline policies: a JSON object of policy documents by name."}
}

func createDateColumn() modules.Column {
	return modules.Column{Name: "create_date", Type: modules.TypeTime, Assigned: true, Doc: "When it was created."}
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

// inlineValue returns the value of the column inline_policies.
func inlineValue(policies []iamtypes.PolicyDetail) (modules.Value, error) {
	if len(policies) == 0 {
		return modules.Null, nil
	}
	all := make(map[string]json.RawMessage, len(policies))
	for _, p := range policies {
		if v := policyValue(p.PolicyDocument); !v.IsNull() {
			all[awssdk.ToString(p.PolicyName)] = json.RawMessage(v.String())
		}
	}
	return modules.JSON(all)
}

func attachedValue(policies []iamtypes.AttachedPolicy) modules.Value {
	if len(policies) == 0 {
		return modules.Null
	}
	arns := make([]string, len(policies))
	for i, p := range policies {
		arns[i] = awssdk.ToString(p.PolicyArn)
	}
	slices.Sort(arns)
	return modules.Strings(arns)
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
	return maps.EqualFunc(documents(a), documents(b), func(x, y json.RawMessage) bool { return aws.SamePolicy(string(x), string(y)) })
}

// policies are the calls that change the policies of a role or a user, which
// differ in their names alone.
type policies struct {
	attach, detach func(ctx context.Context, arn string) error
	put            func(ctx context.Context, name, document string) error
	remove         func(ctx context.Context, name string) error
}

// update makes the policies have what they hold in want. It adds before it
// removes, so that a policy that takes another's place leaves no gap.
func (p policies) update(ctx context.Context, have, want modules.Row, columns []string) error {
	if slices.Contains(columns, "attached_policies_arns") {
		old, wanted := have["attached_policies_arns"].Strings(), want["attached_policies_arns"].Strings()
		for _, arn := range wanted {
			if !slices.Contains(old, arn) {
				if err := p.attach(ctx, arn); err != nil {
					return err
				}
			}
		}
		for _, arn := range old {
			if !slices.Contains(wanted, arn) {
				if err := aws.IfExists(p.detach(ctx, arn)); err != nil {
					return err
				}
			}
		}
	}
	if slices.Contains(columns, "inline_policies") {
		old, wanted := documents(have["inline_policies"].String()), documents(want["inline_policies"].String())
		for _, name := range slices.Sorted(maps.Keys(wanted)) {
			if had, ok := old[name]; !ok || !aws.SamePolicy(string(had), string(wanted[name])) {
				if err := p.put(ctx, name, string(wanted[name])); err != nil {
					return err
				}
			}
		}
		for _, name := range slices.Sorted(maps.Keys(old)) {
			if _, keep := wanted[name]; !keep {
				if err := aws.IfExists(p.remove(ctx, name)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// clear removes all policies, which IAM asks for before a role or a user can be
// deleted (pages DeleteRole and DeleteUser).
func (p policies) clear(ctx context.Context, have modules.Row) error {
	return p.update(ctx, have, modules.Row{}, []string{"attached_policies_arns", "inline_policies"})
}
