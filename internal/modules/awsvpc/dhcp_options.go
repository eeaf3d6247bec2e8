package awsvpc

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// dhcpOptions is the table dhcp_options.
type dhcpOptions struct {
	aws.EC2Objects[ec2types.DhcpOptions]
}

func newDHCPOptions(c *aws.Clients) *dhcpOptions {
	return &dhcpOptions{aws.EC2Objects[ec2types.DhcpOptions]{
		Clients: c,
		Description: &modules.Table{
			Name:     "dhcp_options",
			Doc:      "Sets of DHCP options: what instances are told of name servers, domain and time. A VPC uses one (vpc.dhcp_options_id).",
			Provider: aws.Provider,
			Reach:    modules.PerRegion,
			Creation: modules.ByTag,
			Columns: aws.Regional(
				modules.Column{Name: "dhcp_options_id", Type: modules.TypeText, Identity: true, Assigned: true,
					Doc: "The set's id, such as dopt-0a1b2c3d; NULL until it is created."},
				modules.Column{Name: "dhcp_configurations", Type: modules.TypeJSON, Required: true, CreateOnly: true, Equal: sameDHCP,
					Check: "jsonb_typeof(dhcp_configurations) = 'array'",
					Doc:   `The options, such as [{"Key": "domain-name-servers", "Values": [{"Value": "10.2.5.1"}, {"Value": "10.2.5.2"}]}].`},
				modules.Column{Name: "is_default", Type: modules.TypeBool, Assigned: true,
					Doc: "Whether it is the set that AWS has given the region's default VPC."},
				aws.TagsColumn(),
			),
		},
		IDFilter: "dhcp-options-id",
		Describe: func(ctx context.Context, client *ec2.Client, filters []ec2types.Filter, page func([]ec2types.DhcpOptions) error) error {
			return aws.Pages(ctx, ec2.NewDescribeDhcpOptionsPaginator(client, &ec2.DescribeDhcpOptionsInput{
				Filters: filters, MaxResults: awssdk.Int32(aws.PageSize),
			}), func(out *ec2.DescribeDhcpOptionsOutput) error { return page(out.DhcpOptions) })
		},
		Rows: func(ctx context.Context, client *ec2.Client, sets []ec2types.DhcpOptions) ([]modules.Row, error) {
			standard, err := defaultVPC(ctx, client, len(sets) > 0)
			if err != nil {
				return nil, err
			}
			rows := make([]modules.Row, len(sets))
			for i, set := range sets {
				options := make([]dhcpOption, len(set.DhcpConfigurations))
				for j, o := range set.DhcpConfigurations {
					options[j].Key = awssdk.ToString(o.Key)
					for _, v := range o.Values {
						options[j].Values = append(options[j].Values, dhcpValue{awssdk.ToString(v.Value)})
					}
				}
				configurations, err := modules.JSON(options)
				if err != nil {
					return nil, err
				}
				id := awssdk.ToString(set.DhcpOptionsId)
				rows[i] = modules.Row{
					"dhcp_options_id":     modules.Text(id),
					"dhcp_configurations": configurations,
					"is_default":          modules.Bool(id == standard.dhcpOptions),
					"tags":                aws.EC2Tags.Value(set.Tags),
				}
			}
			return rows, nil
		},
		Tags: func(o ec2types.DhcpOptions) []ec2types.Tag { return o.Tags },
	}}
}

// dhcpOption is an option as the column has it.
type dhcpOption struct {
	Key    string
	Values []dhcpValue
}

type dhcpValue struct{ Value string }

func dhcpOf(text string) ([]dhcpOption, error) {
	var options []dhcpOption
	if err := json.Unmarshal([]byte(text), &options); err != nil {
		return nil, &modules.Error{Class: modules.Invalid, Code: "dhcp_configurations", Message: err.Error(), Err: err}
	}
	slices.SortFunc(options, func(a, b dhcpOption) int { return cmp.Compare(a.Key, b.Key) })
	return options, nil
}

// sameDHCP reports whether two sets are the same: the order of the values
// means something, that of the options nothing.
func sameDHCP(a, b string) bool {
	x, errX := dhcpOf(a)
	y, errY := dhcpOf(b)
	return errX == nil && errY == nil && slices.EqualFunc(x, y, func(x, y dhcpOption) bool {
		return x.Key == y.Key && slices.Equal(x.Values, y.Values)
	})
}

// Create creates a set.
func (r *dhcpOptions) Create(ctx context.Context, scope modules.Scope, want modules.Row, token string) (modules.Row, error) {
	client, err := r.Clients.EC2(ctx, scope)
	if err != nil {
		return nil, err
	}
	options, err := dhcpOf(want["dhcp_configurations"].String())
	if err != nil {
		return nil, err
	}
	in := &ec2.CreateDhcpOptionsInput{TagSpecifications: aws.EC2TagSpecification(ec2types.ResourceTypeDhcpOptions, want, token)}
	for _, o := range options {
		c := ec2types.NewDhcpConfiguration{Key: awssdk.String(o.Key)}
		for _, v := range o.Values {
			c.Values = append(c.Values, v.Value)
		}
		in.DhcpConfigurations = append(in.DhcpConfigurations, c)
	}
	out, err := client.CreateDhcpOptions(ctx, in)
	if err != nil {
		return nil, err
	}
	return modules.Row{"dhcp_options_id": modules.TextPtr(out.DhcpOptions.DhcpOptionsId)}, nil
}

// Delete deletes a set.
func (r *dhcpOptions) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	return r.Remove(ctx, scope, r.Protected(have), func(client *ec2.Client) error {
		_, err := client.DeleteDhcpOptions(ctx, &ec2.DeleteDhcpOptionsInput{DhcpOptionsId: have["dhcp_options_id"].Ptr()})
		return err
	})
}

// Protected keeps the default VPC's set.
func (r *dhcpOptions) Protected(have modules.Row) string {
	if have["is_default"].Bool() {
		return "the region's default VPC uses it, and new VPCs get it"
	}
	return ""
}
