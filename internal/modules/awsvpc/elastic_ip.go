package awsvpc

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// newElasticIP declares the table elastic_ip.
func newElasticIP(c *aws.Clients) *declare.Resource {
	return declare.New(c, declare.Table[ec2types.Address]{
		Name:     "elastic_ip",
		Doc:      "Elastic IP addresses: public IPv4 addresses that stay the account's until they are released.",
		Service:  declare.Service(ec2.NewFromConfig),
		Creation: modules.ByTag,
		Columns: []declare.Column{
			declare.ID("allocation_id", "AllocationId",
				"The allocation's id, such as eipalloc-0a1b2c3d; NULL until it is allocated."),
			declare.Text("public_ipv4_pool", "PublicIpv4Pool",
				"The pool of one's own addresses that it is of; Amazon's if left out.").
				CreateOnly().OptionalComputed().As(unlessAmazon).Since(6),
			declare.Text("transfer_address", "",
				"The address that another account offers and that is accepted, rather than allocated. It matters "+
					"when the row is inserted, and never again.").
				Along().In("Address").Since(6),
			declare.Text("public_ip", "PublicIp", "The address.").Computed(),
			declare.Text("association_id", "AssociationId",
				"The id of its association with what uses it; NULL while nothing does.").Computed(),
			declare.Text("instance_id", "InstanceId", "The instance that uses it.").Computed(),
			declare.Text("network_interface_id", "NetworkInterfaceId",
				"The network interface that uses it.").Computed(),
			declare.EC2Tags(ec2types.ResourceTypeElasticIp),
		},
		Published: declare.Published{Type: "AWS::EC2::EIP", Since: 6,
			Columns: map[string]string{"InstanceId": "elastic_ip_association.instance_id"},
			Fixed:   []string{"Domain"},
			Along:   []string{"Address", "IpamPoolId"},
			Docs: map[string]string{
				"Address": "The address of one's own pool that is allocated, or one that has been " +
					"released and may be got back. It matters when the row is inserted, and never again.",
				"Domain": "vpc: AWS has no others any more.",
				"IpamPoolId": "The IPAM pool that it is of. It matters when the row is inserted, and " +
					"never again.",
				"NetworkBorderGroup": "From where AWS announces it: the region, or a Local Zone.",
			},
		},
		EventMappings: modules.EventMappings("ec2.amazonaws.com",
			modules.Request("allocationId", "AssociateAddress", "CreateNatGateway", "ModifyAddressAttribute",
				"ResetAddressAttribute"),
			modules.Request("associationId", "DisassociateAddress").In("association_id"),
			modules.Unnamed("DeleteNatGateway", "AssociateNatGatewayAddress", "DisassociateNatGatewayAddress",
				"TerminateInstances", "AcceptAddressTransfer"),
		),
		List: declare.Once(declare.Call((*ec2.Client).DescribeAddresses), "Addresses"),
		Get:  declare.EC2Filter("allocation-id"),
		Gone: func(a *ec2types.Address) bool { return a.AllocationId == nil }, // of EC2-Classic
		Create: declare.Call((*ec2.Client).AllocateAddress,
			declare.With(&ec2.AllocateAddressInput{Domain: ec2types.DomainTypeVpc})),
		CreateFrom: []declare.Origin{{Column: "transfer_address",
			Create: declare.Call((*ec2.Client).AcceptAddressTransfer, declare.Answer("AddressTransfer"))}},
		Delete: declare.Call((*ec2.Client).ReleaseAddress, declare.Failed(inUse)),
	})
}

// unlessAmazon reads Amazon's pool as none.
var unlessAmazon = declare.UnlessIs("amazon")

// inUse looks at the refusal to release an address. While a NAT gateway that is
// being deleted still has it AWS answers AuthFailure, for which the page
// ReleaseAddress gives another reason (github.com/kubernetes/kops, issue 938);
// that heals by itself.
func inUse(_ context.Context, s *declare.Step, err error) error {
	var e *modules.Error
	if errors.As(err, &e) && e.Code == "AuthFailure" && !s.Have["association_id"].IsNull() {
		return &modules.Error{Class: modules.Dependency, Code: e.Code, Message: "the address is still in use: " +
			e.Message, Err: err}
	}
	return err
}
