package awsvpc

import (
	"cmp"
	"context"
	"encoding/json"
	"reflect"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// newDHCPOptions declares the table dhcp_options.
func newDHCPOptions(c *aws.Clients) *declare.Resource {
	return declare.New(c, declare.Table[ec2types.DhcpOptions]{
		Name: "dhcp_options",
		Doc: "Sets of DHCP options: what instances are told of name servers, domain and time. A VPC uses one " +
			"(vpc.dhcp_options_id).",
		Service:  declare.Service(ec2.NewFromConfig),
		Creation: modules.ByTag,
		Columns: []declare.Column{
			declare.ID("dhcp_options_id", "DhcpOptionsId",
				"The set's id, such as dopt-0a1b2c3d; NULL until it is created."),
			declare.JSON("dhcp_configurations", "DhcpConfigurations",
				`The options, such as [{"Key": "domain-name-servers", "Values": [{"Value": "10.2.5.1"}, {"Value": "10.2.5.2"}]}].`).
				Required().CreateOnly().Same(sameDHCP).Check("jsonb_typeof(dhcp_configurations) = 'array'").
				Usual(modules.Text("[]")).As(declare.Codec{Encode: newDHCP}),
			declare.Bool("is_default", "",
				"Whether it is the set that AWS has given the region's default VPC.").Computed(),
			declare.EC2Tags(ec2types.ResourceTypeDhcpOptions),
		},
		Published: declare.Published{Type: "AWS::EC2::DHCPOptions", Since: 6,
			Columns: map[string]string{
				"DomainName": "dhcp_configurations", "DomainNameServers": "dhcp_configurations",
				"Ipv6AddressPreferredLeaseTime": "dhcp_configurations", "NetbiosNameServers": "dhcp_configurations",
				"NetbiosNodeType": "dhcp_configurations", "NtpServers": "dhcp_configurations",
			},
		},
		EventMappings: modules.EventMappings("ec2.amazonaws.com",
			modules.Unnamed("CreateDefaultVpc"),
		),
		List: declare.Pages(ec2.NewDescribeDhcpOptionsPaginator, "DhcpOptions", declare.PageSize(aws.PageSize)),
		Get:  declare.EC2Filter("dhcp-options-id"),
		Rows: func(ctx context.Context, s *declare.Step, _ []*ec2types.DhcpOptions, rows []modules.Row) error {
			standard, err := defaultVPC(ctx, s)
			for _, row := range rows {
				row["is_default"] = modules.Bool(row["dhcp_options_id"].String() == standard.dhcpOptions)
			}
			return err
		},
		Create:    declare.Call((*ec2.Client).CreateDhcpOptions, declare.Answer("DhcpOptions")),
		Delete:    declare.Call((*ec2.Client).DeleteDhcpOptions),
		Made:      "is_default",
		Protected: declare.IfTrue("is_default", "the region's default VPC uses it, and new VPCs get it"),
	})
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
var sameDHCP = declare.Equal(dhcpOf, func(x, y []dhcpOption) bool { return reflect.DeepEqual(x, y) })

// newDHCP returns options as a creation takes them: in other words than AWS
// answers.
func newDHCP(v modules.Value) (any, error) {
	options, err := dhcpOf(v.String())
	configurations := make([]ec2types.NewDhcpConfiguration, len(options))
	for i, o := range options {
		configurations[i].Key = &o.Key
		for _, v := range o.Values {
			configurations[i].Values = append(configurations[i].Values, v.Value)
		}
	}
	return configurations, err
}
