package awsec2

import (
	"context"
	_ "embed"
	"errors"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

//go:embed sql/elastic_ip_association.sql
var addressTarget string

// mostInFilter is how many values a filter of EC2's takes (page Filter).
const mostInFilter = 200

// newAddressAssociation declares the table elastic_ip_association. An address has one association at most, whose id
// changes with what it is associated with: it is the address that tells which one it is.
//
// Services associate addresses, too: a NAT gateway and a network load balancer have those that they were made with.
// Such an association is the service's, goes with it, and is none of this table's: nobody here can end it.
func newAddressAssociation(c *aws.Clients) *declare.Resource {
	return declare.New(c, declare.Table[ec2types.Address]{
		Name: "elastic_ip_association",
		Doc: "Which instance, or network interface, has which Elastic IP address. The address of a NAT gateway " +
			"or of a load balancer is not listed: it is theirs. An instance has one address for each of its private " +
			"ones: AWS takes another that it has away from it.",
		Service: declare.Service(ec2.NewFromConfig),
		Columns: []declare.Column{
			declare.Ref("elastic_ip_id", "AllocationId", "elastic_ip", "allocation_id", "The Elastic IP address.").
				Required().Identity().CreateOnly().Part(modules.PartFirst, ""),
			declare.Ref("instance_id", "InstanceId", "instance", "instance_id",
				"The instance that has it, which must have one network interface. NULL where "+
					"network_interface_id says it, and of an interface that no instance has.").
				OptionalComputed().Part(modules.PartFirst, ""),
			declare.Text("network_interface_id", "NetworkInterfaceId",
				"The network interface that has it. NULL: the first one of instance_id.").OptionalComputed(),
			declare.Text("private_ip_address", "PrivateIpAddress",
				"The private address of the interface that stands behind it. NULL: the first one.").
				OptionalComputed(),
			declare.Text("association_id", "AssociationId",
				"The association's id, such as eipassoc-0a1b2c3d; another after every change.").Computed().Key(),
		},
		Published: declare.Published{Type: "AWS::EC2::EIPAssociation", Since: 7,
			Without: map[string]string{"EIP": declare.Deprecated + ": it names the address by itself, elastic_ip_id " +
				"by its allocation"}},
		Checks: []string{"num_nonnulls(instance_id, network_interface_id) > 0"},
		// To the address that a successor is to have, the old object is in the way.
		DestroyBeforeCreate: true,

		EventMappings: modules.EventMappings("ec2.amazonaws.com",
			modules.Unnamed("TerminateInstances", "DetachNetworkInterface", "DeleteNetworkInterface"),
		),
		List: declare.Once(declare.Call((*ec2.Client).DescribeAddresses), "Addresses"),
		Get:  declare.EC2Filter("allocation-id"),
		Gone: func(a *ec2types.Address) bool {
			return a.AllocationId == nil || a.AssociationId == nil || a.ServiceManaged != ""
		},
		Rows: usersOwn,
		Create: declare.Call((*ec2.Client).AssociateAddress, declare.Failed(notYet),
			declare.Edit(func(ctx context.Context, s *declare.Step, in *ec2.AssociateAddressInput) error {
				in.AllowReassociation = awssdk.Bool(false) // what has the address keeps it
				return oneOfBoth(ctx, s, in)
			})),
		Updates: []declare.Update{declare.Modify(declare.Call((*ec2.Client).AssociateAddress, declare.Failed(notYet),
			declare.Edit(func(ctx context.Context, s *declare.Step, in *ec2.AssociateAddressInput) error {
				in.AllowReassociation = awssdk.Bool(true)
				if in.InstanceId == nil { // which says more than an interface that it may no longer have
					in.InstanceId = s.Want["instance_id"].Ptr()
				}
				if in.InstanceId == nil && in.NetworkInterfaceId == nil { // another private address
					in.NetworkInterfaceId = s.Want["network_interface_id"].Ptr()
				}
				return oneOfBoth(ctx, s, in)
			})))},
		Delete: declare.Call((*ec2.Client).DisassociateAddress),
	})
}

// oneOfBoth names the interface alone where a record has both: the call takes one of them (page AssociateAddress).
// Where the instance no longer has that interface, because it is another one that has taken the place of the first, it
// names the instance, and leaves the private address to AWS.
func oneOfBoth(ctx context.Context, s *declare.Step, in *ec2.AssociateAddressInput) error {
	if in.NetworkInterfaceId == nil || in.InstanceId == nil {
		return nil
	}
	has := false
	err := interfaces(ctx, s, []string{*in.NetworkInterfaceId}, func(n ec2types.NetworkInterface) {
		has = n.Attachment != nil && awssdk.ToString(n.Attachment.InstanceId) == *in.InstanceId
	})
	if has {
		in.InstanceId = nil
	} else {
		in.NetworkInterfaceId, in.PrivateIpAddress = nil, nil
	}
	return err
}

// notYet has the association wait for an instance that is being started: "The pending instance 'i-…' is not in a valid
// state for this operation."
func notYet(_ context.Context, _ *declare.Step, err error) error {
	var e *modules.Error
	if errors.As(err, &e) && e.Code == "InvalidInstanceID" && strings.Contains(e.Message, "pending") {
		return &modules.Error{Class: modules.Dependency, Code: e.Code, Message: "waits until the instance is running",
			Err: err}
	}
	return err
}

// usersOwn leaves out the associations of services, which are with network interfaces that the services have made:
// requester-managed ones (page NetworkInterface; Amazon EC2 User Guide, "Requester-managed network interfaces"). An
// instance is always the user's.
//
// What follows from the instance is not said of an association: that it is with the first interface, and with the first
// private address. A record that names the instance alone would else hold on to the interface of the instance that had
// the address before. The table elastic_ip shows the interface.
func usersOwn(ctx context.Context, s *declare.Step, addresses []*ec2types.Address, rows []modules.Row) error {
	var ids []string
	for _, a := range addresses {
		if a.NetworkInterfaceId != nil {
			ids = append(ids, *a.NetworkInterfaceId)
		}
	}
	found := map[string]ec2types.NetworkInterface{}
	if err := interfaces(ctx, s, ids, func(n ec2types.NetworkInterface) {
		found[awssdk.ToString(n.NetworkInterfaceId)] = n
	}); err != nil {
		return err
	}
	for i, a := range addresses {
		n, known := found[awssdk.ToString(a.NetworkInterfaceId)]
		instance := awssdk.ToString(a.InstanceId) != ""
		if !instance && (!known || awssdk.ToBool(n.RequesterManaged)) {
			rows[i] = nil
			continue
		}
		if instance && (n.Attachment == nil || awssdk.ToInt32(n.Attachment.DeviceIndex) == 0) {
			delete(rows[i], "network_interface_id")
		}
		if n.PrivateIpAddress == nil || awssdk.ToString(n.PrivateIpAddress) == awssdk.ToString(a.PrivateIpAddress) {
			delete(rows[i], "private_ip_address")
		}
	}
	return nil
}

// interfaces reads network interfaces. One that there is not, or that is another account's, is left out.
func interfaces(ctx context.Context, s *declare.Step, ids []string, found func(ec2types.NetworkInterface)) error {
	client := declare.ClientOf[*ec2.Client](s)
	for some := range slices.Chunk(ids, mostInFilter) {
		err := aws.Pages(ctx, ec2.NewDescribeNetworkInterfacesPaginator(client, &ec2.DescribeNetworkInterfacesInput{
			Filters: []ec2types.Filter{aws.EC2Filter("network-interface-id", some...)}}),
			func(out *ec2.DescribeNetworkInterfacesOutput) error {
				for _, n := range out.NetworkInterfaces {
					found(n)
				}
				return nil
			})
		if err != nil {
			return err
		}
	}
	return nil
}
