package awsec2

import (
	"context"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// newInstanceGroups makes the table instance_security_groups: the groups of an
// instance's primary network interface.
func newInstanceGroups(c *aws.Clients) *aws.Memberships {
	return &aws.Memberships{
		Clients: c,
		Description: aws.DescribeGroups("instance_security_groups",
			"The security groups of instances. An instance has one at least: the VPC's default group when there is "+
				"no other, and until the first is given.",
			modules.Column{Name: "instance_id", References: &modules.Reference{Table: "instance", Key: "instance_id"},
				Doc: "The instance."},
			modules.EventMappings("ec2.amazonaws.com",
				modules.Request("instanceId", "ModifyInstanceAttribute"),
				modules.Unnamed("ModifyNetworkInterfaceAttribute", "AttachNetworkInterface",
					"DetachNetworkInterface"))...),
		Owner:  "instance_id",
		Member: aws.GroupColumn,
		Lists: func(ctx context.Context, asked aws.MembersRequest, page func([]aws.MemberList) error) error {
			client, err := c.Waited(asked.Waited).EC2(ctx, asked.Scope)
			if err != nil {
				return err
			}
			filter := ""
			if asked.Owners != nil {
				filter = "instance-id"
			}
			all, err := declare.Find[ec2types.Instance](ctx, declare.Source{Client: client, Memo: asked.Memo},
				instances(), filter, asked.Owners...)
			if err != nil {
				return err
			}
			lists := make([]aws.MemberList, len(all))
			for i, instance := range all {
				lists[i] = aws.MemberList{Owner: awssdk.ToString(instance.InstanceId),
					VPC: awssdk.ToString(instance.VpcId)}
				for _, g := range instance.SecurityGroups {
					lists[i].Members = append(lists[i].Members, awssdk.ToString(g.GroupId))
				}
			}
			return page(lists)
		},
		Set: func(ctx context.Context, c *aws.Clients, scope modules.Scope, have aws.MemberList, want []string) error {
			client, err := c.EC2(ctx, scope)
			if err != nil {
				return err
			}
			_, err = client.ModifyInstanceAttribute(ctx,
				&ec2.ModifyInstanceAttributeInput{InstanceId: &have.Owner, Groups: want})
			return ofPrimary(ctx, client, err, &have.Owner, &ec2.ModifyNetworkInterfaceAttributeInput{Groups: want})
		},
		Standard: func(ctx context.Context, scope modules.Scope, list aws.MemberList) (string, error) {
			return c.DefaultGroup(ctx, scope, list.VPC)
		},
	}
}

// ofPrimary makes a change of an instance that has several network interfaces, which
// EC2 has refused for that, of its primary one ("Change the security groups for your
// Amazon EC2 instance" and ModifyInstanceAttribute: an instance with several is changed
// by ModifyNetworkInterfaceAttribute). The instance's own answers speak of that one.
func ofPrimary(ctx context.Context, client *ec2.Client, refused error, instance *string,
	in *ec2.ModifyNetworkInterfaceAttributeInput) error {
	if !aws.HasCode(refused, "InvalidInstanceID") || !strings.Contains(refused.Error(), "multiple interfaces") {
		return refused
	}
	found, err := declare.Find[ec2types.Instance](ctx, declare.Source{Client: client}, instances(),
		"instance-id", *instance)
	if err != nil {
		return err
	}
	for _, one := range found {
		for _, n := range one.NetworkInterfaces {
			if n.Attachment != nil && awssdk.ToInt32(n.Attachment.DeviceIndex) == 0 &&
				awssdk.ToInt32(n.Attachment.NetworkCardIndex) == 0 {
				in.NetworkInterfaceId = n.NetworkInterfaceId
				_, err := client.ModifyNetworkInterfaceAttribute(ctx, in)
				return err
			}
		}
	}
	return refused
}
