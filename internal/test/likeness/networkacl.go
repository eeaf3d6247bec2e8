package likeness

import (
	"regexp"
	"time"

	"iasql/internal/test/faultproxy"
)

// NetworkACLs are the network ACLs of subnets as listings show them: every subnet is
// associated with one ("Network ACL basics" in the Amazon VPC User Guide), and that of a new
// subnet is seen later than the subnet ("Eventual consistency in the Amazon EC2 API").
type NetworkACLs struct {
	Unseen time.Duration
	memory
}

// association is that of a subnet, in the answer of DescribeNetworkAcls.
var association = regexp.MustCompile(`(?s)<item>\s*<networkAclAssociationId>.*?</item>`)

// Apply implements [Rule].
func (r *NetworkACLs) Apply(c Call) faultproxy.Fault {
	switch {
	case c.Service != "ec2":
	case c.Action == "CreateSubnet":
		return learn(func(answer string) { r.begin(member(answer, "subnetId")) })
	case c.Action == "DescribeNetworkAcls":
		return faultproxy.Fault{Rewrite: func(body []byte) []byte {
			return association.ReplaceAllFunc(body, func(found []byte) []byte {
				if r.young(member(string(found), "subnetId"), r.Unseen) {
					return nil
				}
				return found
			})
		}}
	case c.Action == "ReplaceNetworkAclAssociation" && c.Params.Get("AssociationId") == "":
		return refused("MissingParameter", "The request must contain the parameter associationId")
	}
	return faultproxy.Fault{}
}
