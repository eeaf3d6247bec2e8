// Package awsec2 is the module aws_ec2: instances (virtual machines), their
// volumes and key pairs.
//
// It promises what the contract in package modules asks of its tables.
// Instances and volumes take their time to come, change and go: what has been
// asked of one and is under way counts as what it has, and an instance that is
// being deleted is listed until it is gone. Both are created with a tag that
// holds the creation's token, by which a creation whose answer was lost is found
// again, and with the token as ClientToken, so that AWS itself makes no second
// one.
//
// It is long because an instance is changed by many calls, for some of which it is stopped and started again by a step
// that survives its engine; its profile is two objects of IAM; and volumes and addresses are shared with what AWS makes
// along with it.
package awsec2

import (
	"iasql/internal/aws"
	"iasql/internal/modules"
)

// Module returns the module aws_ec2, whose calls go through c.
func Module(c *aws.Clients) *modules.Module {
	return &modules.Module{
		Name:         "aws_ec2",
		Version:      8,
		Doc:          "Instances (EC2), virtual machines: with their security groups, volumes and key pairs.",
		Dependencies: []string{"aws_elb", "aws_iam", "aws_security_group", "aws_vpc"},
		Resources: []modules.Resource{
			newKeyPair(c), newInstance(c), newInstanceGroups(c), newVolume(c), newMapping(c), newRegistered(c),
			newAddressAssociation(c),
		},
		Functions:  []*modules.Function{requestKeyPair(c)},
		Migrations: map[int]string{1: after, 7: addressTarget},
		Drop:       drop,
	}
}
