// Package awsssm is the module aws_ssm: parameters of Systems Manager.
//
// It is long because a parameter's value is read by another call than what describes it, many at a time, and
// PutParameter replaces what it is not told.
package awsssm

import (
	"context"
	"encoding/json"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// The most that calls give and take: DescribeParameters a page and in a filter,
// GetParameters names.
const (
	pageSize   = 50
	mostValues = 10
)

const secure = string(ssmtypes.ParameterTypeSecureString)

// Module returns the module aws_ssm, whose calls go through c.
func Module(c *aws.Clients) *modules.Module {
	return &modules.Module{
		Name: "aws_ssm", Version: 2, Doc: "Parameters of Systems Manager's Parameter Store (SSM).",
		Dependencies: []string{"aws_account"}, Resources: []modules.Resource{newParameter(c)},
	}
}

// newParameter declares the table ssm_parameter. The limits are those of the page
// PutParameter of the Systems Manager API Reference.
func newParameter(c *aws.Clients) *declare.Resource {
	of := ssmtypes.ResourceTypeForTaggingParameter
	return declare.New(c, declare.Table[ssmtypes.ParameterMetadata]{
		Name: "ssm_parameter",
		Doc: "Parameters: values that programs look up by name. The value of a SecureString is a secret: it is " +
			"written to secure_value, passed on, and never read, so that nothing here shows it, " +
			"nor notices that somebody has changed it by other means (version and last_modified_date do). " +
			"A deleted parameter's versions are gone, and its name can be used again after 30 seconds.",
		Service: declare.Service(ssm.NewFromConfig),
		Columns: []declare.Column{
			declare.Name("name", "Name", "The parameter's name, such as /app/url: up to 1011 letters, digits and "+
				"_.-/, of which its ARN takes some. It cannot begin with aws or ssm.").
				In("Name", "ResourceId").Matches(`^[A-Za-z0-9_./-]+$`).Length(1, 1011),
			declare.Text("type", "Type", "String, StringList (a list with commas between its members) or "+
				"SecureString (encrypted). Default String.").
				Default("'String'").CreateOnly().OneOf("String", "StringList", secure),
			declare.Text("value", "", "The value, up to 4096 bytes, or 8192 of an advanced parameter; NULL for a "+
				"SecureString.").In("Value").Length(1, 8192).Unset(modules.Null),
			declare.Text("secure_value", "",
				"A new value of a SecureString. It is passed on and then NULL again; NULL changes nothing.").In(
				"Value").WriteOnly().Length(1, 8192),
			declare.Text("key_id", "KeyId",
				"The id, ARN or alias of the KMS key that encrypts a SecureString; alias/aws/ssm, which is AWS's, if "+
					"left out.").OptionalComputed().Length(1, 256),
			declare.Text("description", "Description", "What it is for, up to 1024 characters.").Length(1,
				1024).Unset(modules.Text("")),
			declare.Text("allowed_pattern", "AllowedPattern",
				"A regular expression that values have to match, such as ^[0-9]+$.").Length(1,
				1024).Unset(modules.Text("")),
			declare.Text("data_type", "DataType",
				"What a String is, which AWS then checks. Default text.").Default("'text'").OneOf("text",
				"aws:ec2:image", "aws:ssm:integration"),
			declare.Text("tier", "Tier", "Standard or Advanced, which costs; Intelligent-Tiering lets AWS decide "+
				"between the two. Left out, it is the region's default. An advanced parameter never becomes a "+
				"standard one again.").
				OptionalComputed().OneOf("Standard", "Advanced", tiering).Same(func(a, b string) bool {
				return a == tiering || b == tiering
			}),
			declare.JSON("policies", "Policies", "What becomes of an advanced parameter with time, in any order: "+
				`[{"Type": "Expiration", "Version": "1.0", "Attributes": {"Timestamp": "2030-01-01T00:00:00.000Z"}}]; `+
				"also ExpirationNotification and NoChangeNotification.").
				EmptyIsNull().Same(samePolicies).As(policies).Check("jsonb_typeof(policies) = 'array'").Since(2),
			declare.Bigint("version", "Version", "The number of its version, which changes with it.").Computed(),
			declare.ARN("arn", "ARN"),
			declare.Time("last_modified_date", "LastModifiedDate", "When it was last changed."),
			declare.TagsBy("TagList", declare.Call((*ssm.Client).AddTagsToResource,
				declare.With(&ssm.AddTagsToResourceInput{ResourceType: of})),
				declare.Call((*ssm.Client).RemoveTagsFromResource,
					declare.With(&ssm.RemoveTagsFromResourceInput{ResourceType: of}))).
				From(declare.Call((*ssm.Client).ListTagsForResource,
					declare.With(&ssm.ListTagsForResourceInput{ResourceType: of}), declare.Failed(untagged),
					declare.Proves())),
		},
		Checks: []string{
			`(type = '` + secure + `') = (value IS NULL)`,
			`type = '` + secure + `' OR secure_value IS NULL AND key_id IS NULL`,
		},
		Published:           declare.Published{Type: "AWS::SSM::Parameter", Since: 2},
		DestroyBeforeCreate: true, // one name is one parameter

		EventMappings: modules.EventMappings("ssm.amazonaws.com",
			modules.Request("names", "DeleteParameters"),
			modules.Request("resourceId", "AddTagsToResource", "RemoveTagsFromResource"),
		),
		List:   declare.Pages(ssm.NewDescribeParametersPaginator, "Parameters", declare.PageSize(pageSize)),
		Get:    declare.GetBy(get),
		Rows:   values,
		Create: declare.Call((*ssm.Client).PutParameter),
		Updates: []declare.Update{declare.Replace(declare.Call((*ssm.Client).PutParameter,
			declare.With(&ssm.PutParameterInput{Overwrite: awssdk.Bool(true)}), declare.Edit(whole),
			declare.Edit(keepPolicies)))},
		Delete:    declare.Call((*ssm.Client).DeleteParameter),
		HoldsData: true, // a SecureString's value, which nothing here knows
	})
}

const tiering = string(ssmtypes.ParameterTierIntelligentTiering)

// get reads parameters of these names. A name that is not there is no error.
func get(ctx context.Context, s *declare.Step, identities []modules.Row) ([]ssmtypes.ParameterMetadata, error) {
	var all []ssmtypes.ParameterMetadata
	for names := range slices.Chunk(aws.Column(identities, "name"), pageSize) {
		p := ssm.NewDescribeParametersPaginator(declare.ClientOf[*ssm.Client](s), &ssm.DescribeParametersInput{
			MaxResults:       awssdk.Int32(pageSize),
			ParameterFilters: []ssmtypes.ParameterStringFilter{{Key: awssdk.String("Name"), Values: names}},
		})
		if err := aws.Pages(ctx, p, func(out *ssm.DescribeParametersOutput) error {
			all = append(all, out.Parameters...)
			return nil
		}); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// values reads the values that are no secrets. Of those AWS is not even asked for
// the encrypted form.
func values(ctx context.Context, s *declare.Step, _ []*ssmtypes.ParameterMetadata, rows []modules.Row) error {
	at := map[string]int{}
	var names []string
	for i, row := range rows {
		if row["value"] = modules.Null; row["type"].String() != secure {
			at[row["name"].String()] = i
			names = append(names, row["name"].String())
		}
	}
	for some := range slices.Chunk(names, mostValues) {
		out, err := declare.ClientOf[*ssm.Client](s).GetParameters(ctx, &ssm.GetParametersInput{Names: some})
		if err != nil {
			return err
		}
		for _, p := range out.Parameters {
			if i, ok := at[awssdk.ToString(p.Name)]; ok && p.Type != ssmtypes.ParameterTypeSecureString {
				rows[i]["value"] = modules.TextPtr(p.Value)
				delete(at, *p.Name)
			}
		}
	}
	for _, i := range at { // gone since
		rows[i] = nil
	}
	return nil
}

// none are policies in whose stead there are none ("Assigning parameter policies in Parameter Store", Systems Manager
// User Guide): an empty policy. Left out, those that there are stay (page PutParameter, Policies).
const none = "[{}]"

// policies are parameter policies, of which DescribeParameters tells the text of each.
var policies = declare.Reads(func(member any) (modules.Value, error) {
	var list []json.RawMessage
	for _, p := range member.([]ssmtypes.ParameterInlinePolicy) {
		if text := awssdk.ToString(p.PolicyText); json.Valid([]byte(text)) {
			list = append(list, json.RawMessage(text))
		}
	}
	if len(list) == 0 {
		return modules.Null, nil
	}
	return modules.JSON(list)
})

// samePolicies reports whether two lists have the same policies, whose order means nothing.
var samePolicies = declare.Equal(func(text string) ([]string, error) {
	var list []any
	err := json.Unmarshal([]byte(text), &list)
	texts := make([]string, len(list))
	for i, policy := range list {
		one, _ := json.Marshal(policy) // it has been parsed
		texts[i] = string(one)
	}
	slices.Sort(texts)
	return texts, err
}, func(x, y []string) bool { return slices.Equal(x, y) })

// keepPolicies has a change of something else leave the policies alone.
func keepPolicies(_ context.Context, s *declare.Step, in *ssm.PutParameterInput) error {
	switch {
	case !s.Changes("policies"):
		in.Policies = nil
	case s.Want["policies"].IsNull():
		in.Policies = awssdk.String(none)
	}
	return nil
}

// whole refuses to change a SecureString without its value, which PutParameter
// demands, and which nobody reads here.
func whole(_ context.Context, _ *declare.Step, in *ssm.PutParameterInput) error {
	if in.Value == nil {
		return &modules.Error{Class: modules.Invalid, Code: "ValueRequired",
			Message: "AWS changes a SecureString only together with its value: set secure_value, too"}
	}
	return nil
}

// untagged looks at the error of reading tags: AWS calls the name of a parameter
// that has gone since an invalid one (page ListTagsForResource, Errors).
func untagged(_ context.Context, _ *declare.Step, err error) error {
	if !aws.HasCode(err, "InvalidResourceId") {
		return err
	}
	return &modules.Error{Class: modules.NotFound, Code: "InvalidResourceId", Message: err.Error(), Err: err}
}
