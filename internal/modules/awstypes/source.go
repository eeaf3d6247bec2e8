package awstypes

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"iasql/internal/aws"
	"iasql/internal/aws/cfn"
	"iasql/internal/modules"
)

// Source finds resource types in an account's registry, and makes modules of them. It
// implements [modules.Source].
type Source struct {
	Clients *aws.Clients
	// Learn keeps that columns of a type's table are fixed at creation, which its schema
	// does not say; nil does not.
	Learn func(ctx context.Context, typeName string, columns []string) error
}

// named is what names of types and patterns of such look like.
var named = regexp.MustCompile(`^[A-Za-z0-9*?%]+::[A-Za-z0-9*?%]+(::[A-Za-z0-9*?%]+)?$`)

// Names implements [modules.Source].
func (s *Source) Names(pattern string) bool { return named.MatchString(pattern) }

// searched is what parts of such look like.
var searched = regexp.MustCompile(`^[A-Za-z0-9_*?%:]+$`)

// Provider implements [modules.Source].
func (s *Source) Provider() string { return aws.Provider }

// Examples implements [modules.Source].
func (s *Source) Examples() modules.Examples { return aws.Examples }

// Searches implements [modules.Source].
func (s *Source) Searches(pattern string) bool { return searched.MatchString(pattern) }

// Matches reports whether a type is meant by a pattern: AWS::SES is every type of SES, and
// what has no :: is looked for anywhere in the name, in those that its table can have, and in
// what people call its objects. Upper and lower case are the same, and % is the same as *.
func Matches(pattern, typeName string) bool {
	pattern = strings.ToLower(strings.ReplaceAll(pattern, "%", "*"))
	if !strings.Contains(pattern, "::") {
		pattern = "*" + pattern + "*"
		called := strings.ToLower(strings.ReplaceAll(cfn.Sentence(typeName), "/", " "))
		if slices.ContainsFunc(append(cfn.TableNames(typeName), called), func(text string) bool {
			ok, err := path.Match(pattern, text)
			return ok && err == nil
		}) {
			return true
		}
	} else if strings.Count(pattern, "::") == 1 {
		pattern += "::*"
	}
	ok, err := path.Match(pattern, strings.ToLower(typeName))
	return ok && err == nil
}

// Find implements [modules.Source].
func (s *Source) Find(ctx context.Context, scope modules.Scope, pattern string) ([]modules.Offer, error) {
	client, err := s.client(ctx, scope)
	if err != nil {
		return nil, err
	}
	prefix := ""
	if strings.Contains(pattern, "::") {
		prefix = pattern[:strings.IndexAny(pattern+"*", "*?%")]
	}
	out, err := find(ctx, client, pattern, prefix)
	if err == nil && len(out) == 0 && prefix != "" { // the registry tells upper from lower case
		out, err = find(ctx, client, pattern, "")
	}
	return out, err
}

// shelf is a part of the registry that is listed by itself: without a ProvisioningType
// only types that can be updated are (ListTypes, AWS CloudFormation API Reference).
type shelf struct {
	visibility   types.Visibility
	provisioning types.ProvisioningType
}

var shelves = []shelf{
	{types.VisibilityPublic, types.ProvisioningTypeFullyMutable},
	{types.VisibilityPublic, types.ProvisioningTypeImmutable},
	{types.VisibilityPublic, types.ProvisioningTypeNonProvisionable},
	{types.VisibilityPrivate, types.ProvisioningTypeFullyMutable},
	{types.VisibilityPrivate, types.ProvisioningTypeImmutable},
}

// find lists the types that a pattern means, of those whose names begin with a prefix.
func find(ctx context.Context, client *cloudformation.Client, pattern, prefix string) ([]modules.Offer, error) {
	offers := map[string]modules.Offer{}
	for _, from := range shelves {
		in := &cloudformation.ListTypesInput{Type: types.RegistryTypeResource, Visibility: from.visibility,
			ProvisioningType: from.provisioning, MaxResults: awssdk.Int32(100)}
		if from.visibility == types.VisibilityPublic {
			// What others publish is of use only where it is activated, and is private then.
			in.Filters = &types.TypeFilters{Category: types.CategoryAwsTypes}
			if prefix != "" {
				in.Filters.TypeNamePrefix = &prefix
			}
		}
		err := aws.Pages(ctx, cloudformation.NewListTypesPaginator(client, in),
			func(out *cloudformation.ListTypesOutput) error {
				for _, t := range out.TypeSummaries {
					name := awssdk.ToString(t.TypeName)
					if !Matches(pattern, name) || strings.HasSuffix(name, "::MODULE") ||
						strings.Count(name, "::") != 2 {
						continue
					}
					offers[name] = modules.Offer{Name: name,
						Doc:   cmp.Or(cfn.Sentence(name), awssdk.ToString(t.Description)),
						Table: cfn.TableName(name), Native: Native(name),
						Publisher: publisher(t, from.visibility), Global: cfn.Global(name)}
				}
				return nil
			})
		if err != nil {
			return nil, err
		}
	}
	out := make([]modules.Offer, 0, len(offers))
	for _, o := range offers {
		out = append(out, o)
	}
	slices.SortFunc(out, func(a, b modules.Offer) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

func publisher(t types.TypeSummary, visibility types.Visibility) string {
	switch {
	case visibility == types.VisibilityPrivate && t.PublisherId == nil:
		return "the account"
	case awssdk.ToString(t.PublisherName) != "":
		return *t.PublisherName
	case awssdk.ToString(t.PublisherId) != "":
		return *t.PublisherId
	}
	return "AWS"
}

// client returns the registry of an account; a type is looked up where it is reached.
func (s *Source) client(ctx context.Context, scope modules.Scope) (*cloudformation.Client, error) {
	return aws.Client(ctx, s.Clients, scope, func(cfg awssdk.Config) *cloudformation.Client {
		return cloudformation.NewFromConfig(cfg)
	})
}

// Describe implements [modules.Source].
func (s *Source) Describe(ctx context.Context, scope modules.Scope, name string) (modules.Description, error) {
	d := modules.Description{Name: name}
	client, err := s.client(ctx, scope)
	if err != nil {
		return d, err
	}
	out, err := client.DescribeType(ctx,
		&cloudformation.DescribeTypeInput{Type: types.RegistryTypeResource, TypeName: &name})
	if aws.HasCode(err, "TypeNotFoundException") {
		return d, &modules.Error{Class: modules.Invalid, Code: "TypeNotFoundException", Err: err,
			Message: fmt.Sprintf("the account has no resource type %s", name)}
	}
	if err != nil {
		return d, err
	}
	if d.Schema = awssdk.ToString(out.Schema); d.Schema == "" {
		return d, fmt.Errorf("the registry has no schema of %s", name)
	}
	if out.ProvisioningType == types.ProvisioningTypeNonProvisionable {
		return d, fmt.Errorf("%s has no handlers: Cloud Control does not reach it", name)
	}
	sum := sha256.Sum256([]byte(d.Schema))
	d.Version = strings.TrimSpace(awssdk.ToString(out.PublicVersionNumber) + " " + hex.EncodeToString(sum[:8]))
	return d, nil
}

// Lay implements [modules.Source].
func (s *Source) Lay(d *modules.Description, taken func(table string) bool,
	installed func(name string) modules.Resource) error {
	schema, err := parse(d)
	if err != nil {
		return err
	}
	var earlier cfn.Layout
	if len(d.Layout) > 0 {
		if err := json.Unmarshal(d.Layout, &earlier); err != nil {
			return fmt.Errorf("%s: its layout: %w", d.Name, err)
		}
	}
	layout, err := cfn.Lay(schema, earlier, d.Revision, cfn.Around{Taken: taken, Refer: refer(installed)})
	if err != nil {
		return fmt.Errorf("%s: %w", d.Name, err)
	}
	d.Layout, err = json.Marshal(layout)
	return err
}

func parse(d *modules.Description) (*cfn.Schema, error) {
	schema, err := cfn.Parse([]byte(d.Schema))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", d.Name, err)
	case schema.Name != d.Name:
		return nil, fmt.Errorf("%s: its schema is that of %s", d.Name, schema.Name)
	case !schema.Can("read") || !schema.Can("create") && !schema.Can("list"):
		return nil, fmt.Errorf("%s: it has no handlers by which its objects can be read", d.Name)
	}
	return schema, nil
}

// Module implements [modules.Source].
func (s *Source) Module(d *modules.Description) (*modules.Module, error) {
	schema, err := parse(d)
	if err != nil {
		return nil, err
	}
	var layout cfn.Layout
	if err := json.Unmarshal(d.Layout, &layout); err != nil {
		return nil, fmt.Errorf("%s: its layout: %w", d.Name, err)
	}
	t, err := cfn.New(schema, layout, d.Learnt)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.Name, err)
	}
	return &modules.Module{
		Name: d.Name, Version: d.Revision, Doc: t.Table.Doc, Dependencies: []string{"aws_account"},
		Migrations: t.Migrations(), Resources: []modules.Resource{&resource{clients: s.Clients, t: t, learn: s.Learn}},
	}, nil
}

// Permissions returns what the handlers of a type need, by operation.
func (s *Source) Permissions(ctx context.Context, scope modules.Scope, name string) (map[string][]string, error) {
	d, err := s.Describe(ctx, scope, name)
	if err != nil {
		return nil, err
	}
	schema, err := parse(&d)
	if err != nil {
		return nil, err
	}
	return schema.Handlers, nil
}
