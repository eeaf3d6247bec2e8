package aws

import (
	"context"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/modules"
)

// filterValues is how many values a filter may have ("List and filter using the
// CLI and API", EC2 User Guide).
const filterValues = 200

// PageSize is the most results a page of EC2's Describe operations may have.
const PageSize = 1000

// EC2Objects lists, reads and finds again the objects of one of EC2's Describe
// operations. Embedded in a resource it leaves to it what is particular: how to
// create, change and delete.
type EC2Objects[T any] struct {
	Clients     *Clients
	Description *modules.Table
	// IDFilter is the filter that selects by the identity: "vpc-id". A filter,
	// unlike a list of ids, does not fail as a whole when one does not exist. ""
	// where there is none: all are read then.
	IDFilter string
	// Describe gives every object that meets the filters to page.
	Describe func(ctx context.Context, client *ec2.Client, filters []ec2types.Filter, page func([]T) error) error
	// Rows returns the objects in cloud terms; ones that have gone meanwhile
	// are left out.
	Rows func(ctx context.Context, client *ec2.Client, objects []T) ([]modules.Row, error)
	// Complete adds to rows what another service knows of the objects; nil if
	// there is no such thing.
	Complete func(ctx context.Context, scope modules.Scope, rows []modules.Row) error
	// Tags returns an object's tags.
	Tags func(T) []ec2types.Tag
	// TagID is the column with the id that tags are set by; "" where that is the
	// identity.
	TagID string
}

// Table returns the description.
func (o *EC2Objects[T]) Table() *modules.Table { return o.Description }

// List gives every object of the scope to page.
func (o *EC2Objects[T]) List(ctx context.Context, scope modules.Scope, page func([]modules.Row) error) error {
	client, err := o.Clients.EC2(ctx, scope)
	if err != nil {
		return err
	}
	return o.describe(ctx, client, scope, nil, page)
}

// Get reads the objects with these identities.
func (o *EC2Objects[T]) Get(ctx context.Context, scope modules.Scope, identities []modules.Row) ([]modules.Row, error) {
	client, err := o.Clients.EC2(ctx, scope)
	if err != nil {
		return nil, err
	}
	page, rows := Collector()
	identity := o.Description.Identity()[0]
	all := Column(identities, identity)
	for ids := range slices.Chunk(all, filterValues) {
		var filters []ec2types.Filter
		if o.IDFilter != "" {
			filters = []ec2types.Filter{EC2Filter(o.IDFilter, ids...)}
		}
		if err := o.describe(ctx, client, scope, filters, page); err != nil {
			return nil, err
		}
		if o.IDFilter == "" {
			break
		}
	}
	// What has not been asked for is left out, whatever a filter let through.
	return slices.DeleteFunc(rows(), func(row modules.Row) bool { return !slices.Contains(all, row[identity].String()) }), nil
}

// FindCreated returns, by token, the objects that were created with one of the
// tokens.
func (o *EC2Objects[T]) FindCreated(ctx context.Context, scope modules.Scope, tokens []string) (map[string]modules.Row, error) {
	client, err := o.Clients.EC2(ctx, scope)
	if err != nil {
		return nil, err
	}
	found := map[string]modules.Row{}
	for some := range slices.Chunk(tokens, filterValues) {
		err := o.Describe(ctx, client, []ec2types.Filter{EC2Filter("tag:"+TokenTag, some...)}, func(objects []T) error {
			for _, object := range objects {
				token := EC2Tags.Map(o.Tags(object))[TokenTag]
				if !slices.Contains(some, token) {
					continue
				}
				rows, err := o.rows(ctx, client, scope, []T{object})
				if err != nil {
					return err
				}
				if len(rows) == 1 {
					found[token] = rows[0]
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

func (o *EC2Objects[T]) rows(ctx context.Context, client *ec2.Client, scope modules.Scope, objects []T) ([]modules.Row, error) {
	rows, err := o.Rows(ctx, client, objects)
	if err != nil || o.Complete == nil {
		return rows, err
	}
	return rows, o.Complete(ctx, scope, rows)
}

func (o *EC2Objects[T]) describe(ctx context.Context, client *ec2.Client, scope modules.Scope, filters []ec2types.Filter, page func([]modules.Row) error) error {
	return o.Describe(ctx, client, filters, func(objects []T) error {
		rows, err := o.rows(ctx, client, scope, objects)
		if err != nil {
			return err
		}
		return page(rows)
	})
}

// Update changes tags; resources of which more can be changed have their own.
func (o *EC2Objects[T]) Update(ctx context.Context, scope modules.Scope, have, want modules.Row, columns []string) error {
	if !slices.Contains(columns, modules.ColumnTags) {
		return nil
	}
	client, err := o.Clients.EC2(ctx, scope)
	if err != nil {
		return err
	}
	return o.UpdateTags(ctx, client, have, want)
}

// Remove deletes an object by call, unless why says that it must stay, as
// [Keep] has it. One that is gone is no error.
func (o *EC2Objects[T]) Remove(ctx context.Context, scope modules.Scope, why string, call func(client *ec2.Client) error) error {
	if err := Keep(why); err != nil {
		return err
	}
	client, err := o.Clients.EC2(ctx, scope)
	if err != nil {
		return err
	}
	return IfExists(call(client))
}

// UpdateTags makes an object's tags those of want.
func (o *EC2Objects[T]) UpdateTags(ctx context.Context, client *ec2.Client, have, want modules.Row) error {
	column := o.TagID
	if column == "" {
		column = o.Description.Identity()[0]
	}
	id := []string{have[column].String()}
	return UpdateTags(ctx, have, want,
		func(ctx context.Context, tags map[string]string) error {
			_, err := client.CreateTags(ctx, &ec2.CreateTagsInput{Resources: id, Tags: EC2Tags.List(tags)})
			return err
		},
		func(ctx context.Context, keys []string) error {
			tags := make([]ec2types.Tag, len(keys))
			for i := range keys {
				tags[i].Key = &keys[i] // without a value: whatever the value is
			}
			_, err := client.DeleteTags(ctx, &ec2.DeleteTagsInput{Resources: id, Tags: tags})
			return err
		})
}

// EC2Filter returns a filter on any of the values.
func EC2Filter(name string, values ...string) ec2types.Filter {
	return ec2types.Filter{Name: awssdk.String(name), Values: values}
}

// VPCOf returns the id of the VPC that a subnet is in.
func (c *Clients) VPCOf(ctx context.Context, scope modules.Scope, subnet string) (string, error) {
	client, err := c.EC2(ctx, scope)
	if err != nil {
		return "", err
	}
	out, err := client.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{SubnetIds: []string{subnet}})
	switch {
	case err != nil:
		return "", err
	case len(out.Subnets) == 0:
		return "", &modules.Error{Class: modules.NotFound, Code: "InvalidSubnetID.NotFound", Message: "the subnet " + subnet + " does not exist"}
	}
	return awssdk.ToString(out.Subnets[0].VpcId), nil
}

// DefaultGroup returns the id of a VPC's default security group.
func (c *Clients) DefaultGroup(ctx context.Context, scope modules.Scope, vpc string) (string, error) {
	client, err := c.EC2(ctx, scope)
	if err != nil {
		return "", err
	}
	out, err := client.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{
		Filters: []ec2types.Filter{EC2Filter("vpc-id", vpc), EC2Filter("group-name", "default")},
	})
	switch {
	case err != nil:
		return "", err
	case len(out.SecurityGroups) == 0:
		return "", &modules.Error{Class: modules.NotFound, Code: "DefaultGroup", Message: "the VPC " + vpc + " has no default security group"}
	}
	return awssdk.ToString(out.SecurityGroups[0].GroupId), nil
}

// EC2TagSpecification returns the tags a new object of the kind carries from its
// first instant: those of the row, and the token.
func EC2TagSpecification(kind ec2types.ResourceType, want modules.Row, token string) []ec2types.TagSpecification {
	tags := EC2Tags.List(TagsOf(want, token))
	if len(tags) == 0 {
		return nil
	}
	return []ec2types.TagSpecification{{ResourceType: kind, Tags: tags}}
}

// EC2Chunks calls read with a filter on the values, as many times as it takes
// for the number of values a filter may have.
func EC2Chunks(values []string, filter string, read func([]ec2types.Filter) error) error {
	values = slices.Compact(slices.Sorted(slices.Values(values)))
	for some := range slices.Chunk(values, filterValues) {
		if err := read([]ec2types.Filter{EC2Filter(filter, some...)}); err != nil {
			return err
		}
	}
	return nil
}

// DefaultGroupLike returns the id of the default security group of the VPC that
// another group is of, for services that do not tell the VPC of what has it.
func (c *Clients) DefaultGroupLike(ctx context.Context, scope modules.Scope, group string) (string, error) {
	client, err := c.EC2(ctx, scope)
	if err != nil {
		return "", err
	}
	out, err := client.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: []string{group}})
	if err != nil {
		return "", err
	}
	if len(out.SecurityGroups) == 0 {
		return "", &modules.Error{Class: modules.NotFound, Code: "InvalidGroup.NotFound", Message: "there is no security group " + group}
	}
	return c.DefaultGroup(ctx, scope, awssdk.ToString(out.SecurityGroups[0].VpcId))
}
