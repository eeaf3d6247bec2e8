package awsvpc

import (
	"context"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

func newGatewayEndpoint(c *aws.Clients) *declare.Resource {
	return newEndpoint(c, ec2types.VpcEndpointTypeGateway, "endpoint_gateway",
		"Gateway endpoints, through which a VPC reaches S3 or DynamoDB by routes that AWS adds to its route tables.",
		declare.Texts("route_table_ids", "RouteTableIds",
			"The ids (rtb-…) of the route tables that get a route to the service.").Unordered().EmptyIsNull().
			Records("route_table", "route_table_id", 7))
}

func newInterfaceEndpoint(c *aws.Clients) *declare.Resource {
	return newEndpoint(c, ec2types.VpcEndpointTypeInterface, "endpoint_interface",
		"Interface endpoints, through which a VPC reaches a service by network interfaces in its subnets, which are "+
			"in endpoint_interface_subnets.",
		// left out, it is true
		declare.Bool("private_dns_enabled", "PrivateDnsEnabled",
			"Whether the service's usual name leads to the endpoint inside the VPC.").Default("false"),
		declare.Texts("security_group_ids", "Groups[].GroupId",
			"The ids of the security groups of its network interfaces, such as sg-0a1b2c3d; the VPC's default one if "+
				"left out.").
			In("SecurityGroupIds").OptionalComputed().Unordered().EmptyIsNull().Since(6),
		declare.Text("dns_name_record_type", "DnsOptions.DnsRecordIpType",
			"The kind of DNS records it gets; ipv4 if left out.").
			OptionalComputed().OneOf("dualstack", "ipv4", "ipv6", "service-defined").As(unlessUnspecified))
}

// unlessUnspecified reads as NULL what AWS tells of an endpoint for which nobody
// has chosen, and takes from nobody (AWS::EC2::VPCEndpoint, DnsRecordIpType).
var unlessUnspecified = declare.UnlessIs("not-specified")

// newEndpoint declares one of the tables endpoint_gateway and endpoint_interface.
func newEndpoint(c *aws.Clients, kind ec2types.VpcEndpointType, name, doc string,
	particular ...declare.Column) *declare.Resource {
	changeable := []string{"policy"}
	for _, column := range particular {
		changeable = append(changeable, column.Name)
	}
	const other = "endpoints of other types, which have such members, are in another table: AWS::EC2::VPCEndpoint"
	published := declare.Published{Type: "AWS::EC2::VPCEndpoint", Since: 6,
		Columns: map[string]string{"ServiceName": "service", "VpcEndpointType": name,
			"RouteTableIds":     "endpoint_gateway.route_table_ids",
			"DnsOptions":        "endpoint_interface.dns_name_record_type",
			"IpAddressType":     "endpoint_interface.ip_address_type",
			"PrivateDnsEnabled": "endpoint_interface.private_dns_enabled",
			"SecurityGroupIds":  "endpoint_interface.security_group_ids",
			"SubnetIds":         "endpoint_interface_subnets.subnet_id",
		},
		Docs: map[string]string{
			"IpAddressType": "Which addresses its network interfaces have: ipv4, dualstack or ipv6.",
			"ServiceRegion": "The region that the service is in, if it is another."},
		Without: map[string]string{"ResourceConfigurationArn": other, "ServiceNetworkArn": other}}
	if kind == ec2types.VpcEndpointTypeInterface {
		delete(published.Columns, "DnsOptions")
		delete(published.Columns, "IpAddressType")
		delete(published.Columns, "PrivateDnsEnabled")
		delete(published.Columns, "SecurityGroupIds")
		changeable = append(changeable, "ip_address_type")
	}
	return declare.New(c, declare.Table[ec2types.VpcEndpoint]{
		Name:     name,
		Doc:      doc,
		Service:  declare.Service(ec2.NewFromConfig),
		Creation: modules.ByToken,
		Columns: append([]declare.Column{
			declare.ID("vpc_endpoint_id", "VpcEndpointId",
				"The endpoint's id, such as vpce-0a1b2c3d; NULL until it is created."),
			declare.Ref("vpc_id", "VpcId", "vpc", "vpc_id", "The VPC it is of.").Required().CreateOnly(),
			declare.Text("service", "ServiceName",
				"The service: AWS's own by the end of their names, such as s3 or ecr.api, others by their full names.").
				Required().CreateOnly(),
			declare.Policy("PolicyDocument",
				"Who may do what through the endpoint: an endpoint policy document. Everybody everything if left out.").
				OptionalComputed(),
			declare.Text("state", "", "pendingacceptance, pending, available, deleting, rejected, failed or expired.").
				Computed(),
			declare.Text("failure_message", "LastError.Message",
				"The last thing that went wrong with it, such as why it failed.").Computed().Since(4),
			declare.EC2Tags(ec2types.ResourceTypeVpcEndpoint),
		}, particular...),
		Published: published,
		EventMappings: modules.EventMappings("ec2.amazonaws.com",
			modules.Request("vpcEndpointId", "DeleteVpcEndpoints").Or("requestParameters.vpcEndpointIds"),
		),
		List: endpoints(kind),
		Get:  declare.Search(), // by no filter for ids: there are few, and moto has none
		Row: func(_ context.Context, s *declare.Step, e *ec2types.VpcEndpoint, row modules.Row) error {
			row["service"] = modules.Text(strings.TrimPrefix(awssdk.ToString(e.ServiceName),
				"com.amazonaws."+s.Scope.Region+"."))
			row["state"] = modules.NonEmpty(strings.ToLower(string(e.State)))
			return nil
		},
		Create: declare.Call((*ec2.Client).CreateVpcEndpoint,
			declare.With(&ec2.CreateVpcEndpointInput{VpcEndpointType: kind}), declare.Answer("VpcEndpoint"),
			declare.Fill(func(s *declare.Step, in *ec2.CreateVpcEndpointInput) {
				in.ServiceName = awssdk.String(serviceName(s.Scope.Region, s.Want["service"].String()))
			})),
		Updates: []declare.Update{declare.Modify(declare.Call((*ec2.Client).ModifyVpcEndpoint,
			declare.Fill(func(s *declare.Step, in *ec2.ModifyVpcEndpointInput) {
				if s.Changes("route_table_ids") {
					in.AddRouteTableIds, in.RemoveRouteTableIds = s.Added("route_table_ids")
				}
				if s.Changes("security_group_ids") {
					in.AddSecurityGroupIds, in.RemoveSecurityGroupIds = s.Added("security_group_ids")
				}
			})), changeable...)},
		DeleteBy: deleteEndpoint,
		Going:    declare.In("state", "deleting"),
		// pendingacceptance waits for the owner of the service, who may reject it or let
		// it expire (AWS PrivateLink Guide, "Interface endpoint states").
		Forming: declare.In("state", "pending"),
		Failed:  declare.In("state", "failed").Because("failure_message"),
	})
}

// endpoints lists the endpoints of a kind, without those that are listed after
// their deletion. It asks for those of all kinds: the tables share one listing.
func endpoints(kind ec2types.VpcEndpointType) *declare.Listing {
	return declare.Pages(ec2.NewDescribeVpcEndpointsPaginator, "VpcEndpoints",
		declare.PageSize(aws.PageSize), declare.Expand(func(e ec2types.VpcEndpoint) []ec2types.VpcEndpoint {
			if e.VpcEndpointType != kind || strings.EqualFold(string(e.State), "deleted") {
				return nil
			}
			return []ec2types.VpcEndpoint{e}
		}))
}

// serviceName returns the full name of a service of AWS's own.
func serviceName(region, service string) string {
	if strings.HasPrefix(service, "com.amazonaws.") || strings.HasPrefix(service, "aws.") ||
		strings.HasPrefix(service, "cn.com.") {
		return service
	}
	return "com.amazonaws." + region + "." + service
}

// deleteEndpoint deletes an endpoint. DeleteVpcEndpoints succeeds as a whole and
// says of each endpoint why it was not deleted.
func deleteEndpoint(ctx context.Context, s *declare.Step) error {
	out, err := declare.ClientOf[*ec2.Client](s).DeleteVpcEndpoints(ctx,
		&ec2.DeleteVpcEndpointsInput{VpcEndpointIds: []string{s.Have["vpc_endpoint_id"].String()}})
	if err != nil {
		return err
	}
	for _, u := range out.Unsuccessful {
		if u.Error != nil {
			return aws.ErrorOf(awssdk.ToString(u.Error.Code), awssdk.ToString(u.Error.Message))
		}
	}
	return nil
}

// newEndpointSubnets makes the table endpoint_interface_subnets.
func newEndpointSubnets(c *aws.Clients) *aws.Memberships {
	return &aws.Memberships{
		Clients: c,
		Description: &modules.Table{
			Name: "endpoint_interface_subnets",
			Doc: "The subnets in which interface endpoints have a network interface, one for each availability " +
				"zone at most.",
			Provider: aws.Provider,
			Reach:    modules.PerRegion,
			Creation: modules.ByName,
			Columns: aws.Regional(
				modules.Column{Name: "endpoint_interface_id", Type: modules.TypeBigint, Required: true, Identity: true,
					CreateOnly: true,
					References: &modules.Reference{Table: "endpoint_interface", Key: "vpc_endpoint_id",
						Part: modules.PartAlong},
					Doc: "The endpoint."},
				modules.Column{Name: "subnet_id", Type: modules.TypeBigint, Required: true, Identity: true,
					CreateOnly: true,
					References: &modules.Reference{Table: "subnet", Key: "subnet_id"},
					Doc:        "The subnet."},
			),
			EventMappings: modules.EventMappings("ec2.amazonaws.com",
				modules.Request("vpcEndpointId", "ModifyVpcEndpoint")),
		},
		Owner:  "endpoint_interface_id",
		Member: "subnet_id",
		Lists: func(ctx context.Context, asked aws.MembersRequest, page func([]aws.MemberList) error) error {
			client, err := c.Waited(asked.Waited).EC2(ctx, asked.Scope)
			if err != nil {
				return err
			}
			all, err := declare.Find[ec2types.VpcEndpoint](ctx, declare.Source{Client: client, Memo: asked.Memo},
				endpoints(ec2types.VpcEndpointTypeInterface), "")
			if err != nil {
				return err
			}
			var lists []aws.MemberList
			for _, e := range all {
				if id := awssdk.ToString(e.VpcEndpointId); asked.Owners == nil || slices.Contains(asked.Owners, id) {
					lists = append(lists, aws.MemberList{Owner: id, Members: e.SubnetIds})
				}
			}
			return page(lists)
		},
		Set: func(ctx context.Context, c *aws.Clients, scope modules.Scope, have aws.MemberList, want []string) error {
			client, err := c.EC2(ctx, scope)
			if err != nil {
				return err
			}
			_, err = client.ModifyVpcEndpoint(ctx, &ec2.ModifyVpcEndpointInput{
				VpcEndpointId: &have.Owner, AddSubnetIds: declare.Without(want, have.Members),
				RemoveSubnetIds: declare.Without(have.Members, want),
			})
			return err
		},
	}
}
