// Package awselb is the module aws_elb: load balancers, what they listen for,
// and the groups of targets that they send it to.
//
// It promises what the contract in package modules asks of its tables. Objects
// are named by their ARNs and created with a tag that holds the creation's
// token. The names of load balancers and target groups, and the ports of
// listeners, AWS allows once: what bears one already is taken over.
package awselb

import (
	"context"
	"maps"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

const (
	// mostNames is how many names or ARNs a Describe operation takes (page
	// DescribeLoadBalancers of the Elastic Load Balancing API Reference, and
	// page DescribeTags).
	mostNames = 20
	// pageSize is the most results a page has (likewise).
	pageSize = 400
)

// Module returns the module aws_elb, whose calls go through c.
func Module(c *aws.Clients) *modules.Module {
	return &modules.Module{
		Name:         "aws_elb",
		Version:      1,
		Doc:          "Elastic Load Balancing: application, network and gateway load balancers, their listeners and target groups.",
		Dependencies: []string{"aws_acm", "aws_security_group", "aws_vpc"},
		Resources:    []modules.Resource{newTargetGroup(c), newLoadBalancer(c), newSecurityGroups(c), newListener(c)},
	}
}

func client(ctx context.Context, c *aws.Clients, scope modules.Scope) (*elb.Client, error) {
	return aws.Client(ctx, c, scope, func(cfg awssdk.Config) *elb.Client { return elb.NewFromConfig(cfg) })
}

var elbTags = aws.TagType[elbtypes.Tag]{
	Split: func(t elbtypes.Tag) (key, value *string) { return t.Key, t.Value },
	Join:  func(key, value *string) elbtypes.Tag { return elbtypes.Tag{Key: key, Value: value} },
}

// tagged reads the rows of objects, and their tags, of as many as one call
// tells. What has gone since it was listed is left out.
func tagged[T any](ctx context.Context, client *elb.Client, objects []T, arn func(T) *string, read func(context.Context, T) (modules.Row, error)) ([]modules.Row, error) {
	return aws.InBatches(ctx, mostNames, objects, func(ctx context.Context, some []T) ([]modules.Row, error) {
		tags, err := tagsOf(ctx, client, some, arn)
		if err != nil {
			return nil, err
		}
		return aws.Read(ctx, some, func(ctx context.Context, object T) (modules.Row, error) {
			row, err := read(ctx, object)
			if err != nil {
				return nil, err
			}
			row[modules.ColumnTags] = elbTags.Value(tags[*arn(object)])
			return row, nil
		})
	})
}

// tagsOf reads the tags of at most [mostNames] objects, by ARN.
func tagsOf[T any](ctx context.Context, client *elb.Client, objects []T, arn func(T) *string) (map[string][]elbtypes.Tag, error) {
	in := &elb.DescribeTagsInput{}
	for _, object := range objects {
		in.ResourceArns = append(in.ResourceArns, *arn(object))
	}
	tags := map[string][]elbtypes.Tag{}
	if len(in.ResourceArns) == 0 {
		return tags, nil
	}
	out, err := client.DescribeTags(ctx, in)
	if err != nil {
		return nil, err
	}
	for _, d := range out.TagDescriptions {
		tags[awssdk.ToString(d.ResourceArn)] = d.Tags
	}
	return tags, nil
}

// find returns, by token, the identities of the objects among arns that carry one
// of the tokens.
func find(ctx context.Context, client *elb.Client, identity string, arns, tokens []string) (map[string]modules.Row, error) {
	rows, err := aws.InBatches(ctx, mostNames, arns, func(ctx context.Context, some []string) ([]modules.Row, error) {
		tags, err := tagsOf(ctx, client, some, func(arn string) *string { return &arn })
		var rows []modules.Row
		for arn, list := range tags {
			if token := elbTags.Map(list)[aws.TokenTag]; slices.Contains(tokens, token) {
				rows = append(rows, modules.Row{identity: modules.Text(arn), aws.TokenTag: modules.Text(token)})
			}
		}
		return rows, err
	})
	found := map[string]modules.Row{}
	for _, row := range rows {
		found[row[aws.TokenTag].String()] = modules.Row{identity: row[identity]}
	}
	return found, err
}

// tagList returns the tags of a new object, its token among them.
func tagList(want modules.Row, token string) []elbtypes.Tag {
	return elbTags.List(aws.TagsOf(want, token))
}

func updateTags(ctx context.Context, client *elb.Client, arn string, have, want modules.Row) error {
	return aws.UpdateTags(ctx, have, want,
		func(ctx context.Context, tags map[string]string) error {
			_, err := client.AddTags(ctx, &elb.AddTagsInput{ResourceArns: []string{arn}, Tags: elbTags.List(tags)})
			return err
		},
		func(ctx context.Context, keys []string) error {
			_, err := client.RemoveTags(ctx, &elb.RemoveTagsInput{ResourceArns: []string{arn}, TagKeys: keys})
			return err
		})
}

// attributesColumn describes the column attributes: the API's own keys, of
// which AWS adds new ones every year. AWS returns all of them, users say some.
func attributesColumn(doc string) modules.Column {
	return modules.Column{Name: "attributes", Type: modules.TypeJSON, Chosen: true, EmptyIsNull: true, Equal: sameShared,
		Check: `jsonb_typeof(attributes) = 'object' AND NOT jsonb_path_exists(attributes, 'strict $.* ? (@.type() != "string")', '{}', true)`,
		Doc:   doc + " Attributes that are left out stay as they are."}
}

// sameShared reports whether one map says what the other says of all its keys.
func sameShared(a, b string) bool {
	x, errX := modules.JSONText(a)
	y, errY := modules.JSONText(b)
	if errX != nil || errY != nil {
		return false
	}
	small, large := x.StringMap(), y.StringMap()
	if len(small) > len(large) {
		small, large = large, small
	}
	for key, value := range small {
		if other, ok := large[key]; !ok || other != value {
			return false
		}
	}
	return true
}

// changes returns the attributes that differ from those that there are, sorted.
func changes(have, want modules.Value) (keys []string, values map[string]string) {
	old := have.StringMap()
	values = want.StringMap()
	maps.DeleteFunc(values, func(key, value string) bool {
		had, ok := old[key]
		return ok && had == value
	})
	return slices.Sorted(maps.Keys(values)), values
}
