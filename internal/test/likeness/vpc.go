package likeness

import (
	"encoding/xml"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"iasql/internal/test/faultproxy"
)

// Network is what EC2 asks of the parts of a VPC, one for all:
//
//   - A route leads to an internet gateway only if it is attached to the route table's
//     VPC (CreateRoute: InvalidParameterValue; "Route table options" in the Amazon VPC
//     User Guide).
//   - A public NAT gateway in a VPC without an attached internet gateway is pending for
//     a while, and then failed: Gateway.NotAttached ("Troubleshoot NAT gateways" in
//     the Amazon VPC User Guide). One that is deleted is deleting for a while, in which
//     it keeps its address and network interface (page DeleteNatGateway); the address is
//     refused with AuthFailure (github.com/kubernetes/kops, issue 938).
//   - An interface endpoint gets private DNS names only in a VPC with DNS support and
//     DNS host names (CreateVpcEndpoint: InvalidParameter; page CreateVpcEndpoint of
//     the Amazon EC2 API Reference, PrivateDnsEnabled).
//   - Rules of a security group that one call makes are all in its answer (page
//     AuthorizeSecurityGroupIngress, securityGroupRuleSet); the emulator's has the last.
type Network struct {
	// Pending and Deleting are how long NAT gateways are that.
	Pending, Deleting time.Duration
	// Endpoint is the emulator's, which knows what there is.
	Endpoint string
	memory
}

// Apply implements [Rule].
func (n *Network) Apply(c Call) faultproxy.Fault {
	if c.Service != "ec2" {
		return faultproxy.Fault{}
	}
	p, e := c.Params, emulator(n.Endpoint)
	switch c.Action {
	case "CreateRoute":
		gateway, table := p.Get("GatewayId"), p.Get("RouteTableId")
		if strings.HasPrefix(gateway, "igw-") && vpcOfGateway(e, c, gateway) != vpcOfTable(e, c, table) {
			return refused("InvalidParameterValue",
				fmt.Sprintf("route table %s and network gateway %s belong to different networks", table, gateway))
		}
	case "CreateVpcEndpoint":
		if p.Get("PrivateDnsEnabled") == "true" && !resolves(e, c, p.Get("VpcId")) {
			return refused("InvalidParameter",
				"Enabling private DNS requires both enableDnsSupport and enableDnsHostnames VPC attributes set to "+
					"true for "+p.Get("VpcId"))
		}
	case "CreateNatGateway":
		return n.createNATGateway(c)
	case "DeleteNatGateway":
		return n.deleteNATGateway(c)
	case "ReleaseAddress":
		if n.young("deleting "+n.get("holder of "+p.Get("AllocationId")), n.Deleting) {
			return refused("AuthFailure", "You do not have permission to access the specified resource.")
		}
	case "AuthorizeSecurityGroupIngress", "AuthorizeSecurityGroupEgress":
		return authorized(e, c)
	case "DescribeNatGateways":
		return faultproxy.Fault{Rewrite: n.natGateways}
	}
	return faultproxy.Fault{}
}

// authorized has the answer to a call that makes rules have all of them.
func authorized(e emulator, c Call) faultproxy.Fault {
	const set, id = "securityGroupRuleSet", "securityGroupRuleId"
	rules := func() string { return e.filter(c, "DescribeSecurityGroupRules", "group-id", c.Params.Get("GroupId")) }
	was := items(rules(), set, id)
	egress := strconv.FormatBool(strings.HasSuffix(c.Action, "Egress"))
	return rewrite(func(answer string) string {
		var all struct {
			Rules []struct {
				Inner string `xml:",innerxml"`
			} `xml:"securityGroupRuleSet>item"`
		}
		if err := xml.Unmarshal([]byte(rules()), &all); err != nil {
			return answer
		}
		var made strings.Builder
		for _, rule := range all.Rules {
			if member(rule.Inner, "isEgress") == egress && !slices.Contains(was, member(rule.Inner, id)) {
				fmt.Fprintf(&made, "<item>%s</item>", rule.Inner)
			}
		}
		return put(answer, set, made.String())
	})
}

// deleteNATGateway has one be deleting for a while. The emulator keeps its interface.
func (n *Network) deleteNATGateway(c Call) faultproxy.Fault {
	e, id := emulator(n.Endpoint), c.Params.Get("NatGatewayId")
	is := e.query(c, "ec2", "DescribeNatGateways", "NatGatewayId.1", id)
	return learn(func(string) {
		n.begin("deleting " + id)
		n.set("holder of "+member(is, "allocationId"), id)
		time.AfterFunc(n.Deleting, func() {
			e.query(c, "ec2", "DeleteNetworkInterface", "NetworkInterfaceId", member(is, "networkInterfaceId"))
		})
	})
}

// createNATGateway makes one that will fail as a private one: it does not get the
// address, which the emulator would keep for it.
func (n *Network) createNATGateway(c Call) faultproxy.Fault {
	e, instead := emulator(n.Endpoint), ""
	fails := c.Params.Get("ConnectivityType") != "private" &&
		gatewayOf(e, c, vpcOfSubnet(e, c, c.Params.Get("SubnetId"))) == ""
	if fails {
		private := maps.Clone(c.Params)
		private.Set("ConnectivityType", "private")
		private.Del("AllocationId")
		instead = private.Encode()
	}
	return faultproxy.Fault{Instead: instead, Rewrite: func(body []byte) []byte {
		id := member(string(body), "natGatewayId")
		n.begin("pending " + id)
		if fails {
			n.set("failed "+id, "yes")
		}
		return []byte(put(string(body), "state", "pending"))
	}}
}

// natGateways gives each NAT gateway of an answer the state that it is in.
func (n *Network) natGateways(body []byte) []byte {
	parts := strings.Split(string(body), "<natGatewayId>")
	for i, part := range parts[1:] {
		id, _, _ := strings.Cut(part, "</natGatewayId>")
		since, known := n.since("pending " + id)
		if n.get("failed "+id) != "" {
			part = put(part, "connectivityType", "public")
		}
		switch {
		case member(part, "state") == "deleted" && n.young("deleting "+id, n.Deleting):
			part = put(part, "state", "deleting")
		case !known || member(part, "state") != "available":
		case since < n.Pending:
			part = put(part, "state", "pending")
		case n.get("failed "+id) != "":
			part = strings.Replace(put(part, "state", "failed"), "</state>",
				"</state><failureCode>Gateway.NotAttached</failureCode><failureMessage>Network vpc has no Internet "+
					"gateway attached</failureMessage>", 1)
		}
		parts[i+1] = part
	}
	return []byte(strings.Join(parts, "<natGatewayId>"))
}

// vpcOfSubnet returns a subnet's VPC.
func vpcOfSubnet(e emulator, c Call, subnet string) string {
	return member(e.query(c, "ec2", "DescribeSubnets", "SubnetId.1", subnet), "vpcId")
}

// vpcOfTable returns a route table's VPC.
func vpcOfTable(e emulator, c Call, table string) string {
	return member(e.query(c, "ec2", "DescribeRouteTables", "RouteTableId.1", table), "vpcId")
}

// vpcOfGateway returns the VPC that an internet gateway is attached to.
func vpcOfGateway(e emulator, c Call, gateway string) string {
	return member(e.query(c, "ec2", "DescribeInternetGateways", "InternetGatewayId.1", gateway), "vpcId")
}

// gatewayOf returns the internet gateway that is attached to a VPC.
func gatewayOf(e emulator, c Call, vpc string) string {
	return member(e.filter(c, "DescribeInternetGateways", "attachment.vpc-id", vpc), "internetGatewayId")
}

// resolves reports whether a VPC has DNS support and DNS host names.
func resolves(e emulator, c Call, vpc string) bool {
	for _, attribute := range []string{"enableDnsSupport", "enableDnsHostnames"} {
		if member(e.query(c, "ec2", "DescribeVpcAttribute", "VpcId", vpc, "Attribute", attribute), "value") != "true" {
			return false
		}
	}
	return true
}

// Interfaces are the network interfaces that services make in their customers' subnets,
// and that stay a while after what they were made for: until they have gone, subnets
// and security groups cannot be deleted, nor can an internet gateway be detached that
// they have public addresses by ("Requester-managed network interfaces" in the Amazon
// EC2 User Guide).
type Interfaces struct {
	lock sync.Mutex
	held map[string]interfaces
}

// interfaces are those of one owner.
type interfaces struct {
	subnets, groups []string
	vpc             string    // whose internet gateway they have public addresses by; none if empty
	until           time.Time // when they have gone; zero: they stay
}

// hold notes the interfaces that an owner has from now on.
func (n *Interfaces) hold(owner string, of interfaces) {
	if n == nil {
		return
	}
	n.lock.Lock()
	defer n.lock.Unlock()
	if n.held == nil {
		n.held = map[string]interfaces{}
	}
	n.held[owner] = of
}

// release has the interfaces of an owner go after a while.
func (n *Interfaces) release(owner string, after time.Duration) {
	if n == nil {
		return
	}
	n.lock.Lock()
	defer n.lock.Unlock()
	if of, held := n.held[owner]; held && of.until.IsZero() {
		of.until = time.Now().Add(after)
		n.held[owner] = of
	}
}

// any reports whether there are interfaces such as these.
func (n *Interfaces) any(such func(interfaces) bool) bool {
	if n == nil {
		return false
	}
	n.lock.Lock()
	defer n.lock.Unlock()
	for _, of := range n.held {
		if (of.until.IsZero() || time.Now().Before(of.until)) && such(of) {
			return true
		}
	}
	return false
}

// Dependencies are what EC2 does not delete, because something else uses it
// (DependencyViolation; "Error codes for the Amazon EC2 API" in the Amazon EC2
// Developer Guide): a security group that a network interface has or that a rule of
// another group names (page DeleteSecurityGroup of the API Reference), a subnet with
// network interfaces (page DeleteSubnet: "You must terminate all running instances in
// the subnet"), a VPC with an internet gateway or a group of its own (page DeleteVpc).
// An internet gateway stays attached while something has a public address by it (page
// DetachInternetGateway).
type Dependencies struct {
	// Endpoint is the emulator's, which knows what there is.
	Endpoint   string
	Interfaces *Interfaces
}

// Apply implements [Rule].
func (d *Dependencies) Apply(c Call) faultproxy.Fault {
	if c.Service != "ec2" {
		return faultproxy.Fault{}
	}
	var (
		message string
		inUse   bool
	)
	switch p := c.Params; c.Action {
	case "DeleteSecurityGroup":
		message, inUse = fmt.Sprintf("resource %s has a dependent object", p.Get("GroupId")),
			d.group(c, p.Get("GroupId"))
	case "DeleteSubnet":
		message, inUse = fmt.Sprintf("The subnet '%s' has dependencies and cannot be deleted.", p.Get("SubnetId")),
			d.subnet(c, p.Get("SubnetId"))
	case "DeleteVpc":
		message, inUse = fmt.Sprintf("The vpc '%s' has dependencies and cannot be deleted.", p.Get("VpcId")),
			d.vpc(c, p.Get("VpcId"))
	case "DetachInternetGateway":
		message = fmt.Sprintf("Network %s has some mapped public address(es). Please unmap those public address(es) "+
			"before detaching the gateway.", p.Get("VpcId"))
		inUse = d.addresses(c, p.Get("VpcId"))
	}
	if !inUse {
		return faultproxy.Fault{}
	}
	return refused("DependencyViolation", message)
}

// group reports whether something has a security group, or a rule of another names it.
func (d *Dependencies) group(c Call, id string) bool {
	e := emulator(d.Endpoint)
	if d.Interfaces.any(func(of interfaces) bool { return slices.Contains(of.groups, id) }) ||
		strings.Contains(e.filter(c, "DescribeNetworkInterfaces", "group-id", id), "<networkInterfaceId>") {
		return true
	}
	for _, filter := range []string{"ip-permission.group-id", "egress.ip-permission.group-id"} {
		for _, other := range items(e.filter(c, "DescribeSecurityGroups", filter, id), "securityGroupInfo", "groupId") {
			if other != id {
				return true
			}
		}
	}
	return false
}

// subnet reports whether there are network interfaces in a subnet.
func (d *Dependencies) subnet(c Call, id string) bool {
	return d.Interfaces.any(func(of interfaces) bool { return slices.Contains(of.subnets, id) }) ||
		strings.Contains(emulator(d.Endpoint).filter(c, "DescribeNetworkInterfaces", "subnet-id", id),
			"<networkInterfaceId>")
}

// vpc reports whether a VPC has an internet gateway, or a group that did not come with
// it. The emulator itself looks for subnets and route tables.
func (d *Dependencies) vpc(c Call, id string) bool {
	e := emulator(d.Endpoint)
	return gatewayOf(e, c, id) != "" ||
		len(items(e.filter(c, "DescribeSecurityGroups", "vpc-id", id), "securityGroupInfo", "groupId")) > 1
}

// addresses reports whether there are public addresses in a VPC.
func (d *Dependencies) addresses(c Call, vpc string) bool {
	return d.Interfaces.any(func(of interfaces) bool { return of.vpc == vpc }) ||
		member(emulator(d.Endpoint).filter(c, "DescribeNetworkInterfaces", "vpc-id", vpc), "publicIp") != ""
}

// Peerings are VPC peering connections in time ("VPC peering connection lifecycle" in
// the Amazon VPC Peering Guide): initiating-request, pending-acceptance, and once they
// are accepted provisioning, then active; deleting, then deleted. What is not pending
// cannot be accepted (AcceptVpcPeeringConnection: InvalidStateTransition), and in the
// accepter's region the connection appears a while later ("Eventual consistency" in the
// Amazon EC2 Developer Guide).
type Peerings struct {
	Initiating, Provisioning, Deleting time.Duration
	// Lagging is how much longer it takes in the accepter's region: for half of it
	// the connection is not there.
	Lagging time.Duration
	memory
}

// Apply implements [Rule].
func (r *Peerings) Apply(c Call) faultproxy.Fault {
	if c.Service != "ec2" {
		return faultproxy.Fault{}
	}
	id := c.Params.Get("VpcPeeringConnectionId")
	switch c.Action {
	case "CreateVpcPeeringConnection":
		return learn(func(answer string) {
			made := member(answer, "vpcPeeringConnectionId")
			r.begin("initiating " + made)
			r.set("region of "+made, c.Region)
		})
	case "AcceptVpcPeeringConnection":
		since, known := r.since("initiating " + id)
		switch {
		case known && c.Region != r.get("region of "+id) && since < r.Initiating+r.Lagging/2:
			return refused("InvalidVpcPeeringConnectionID.NotFound",
				fmt.Sprintf("The vpcPeeringConnection ID '%s' does not exist", id))
		case known && since < r.Initiating+r.Lagging:
			return refused("InvalidStateTransition",
				fmt.Sprintf("Invalid state transition for %s, attempted to transition from initiating-request to "+
					"provisioning", id))
		}
		return faultproxy.Fault{Rewrite: func(body []byte) []byte {
			r.begin("provisioning " + id)
			return r.show(body)
		}}
	case "DeleteVpcPeeringConnection":
		return learn(func(string) { r.begin("deleting " + id) })
	case "DescribeVpcPeeringConnections":
		return faultproxy.Fault{Rewrite: r.show}
	}
	return faultproxy.Fault{}
}

// show gives each connection of an answer the state that it is in.
func (r *Peerings) show(body []byte) []byte {
	return states(body, "vpcPeeringConnectionId", "status", func(id, status string) (string, bool) {
		for _, s := range []struct {
			from, mark, now string
			takes           time.Duration
		}{
			{"pending-acceptance", "initiating", "initiating-request", r.Initiating},
			{"active", "provisioning", "provisioning", r.Provisioning},
			{"deleted", "deleting", "deleting", r.Deleting},
		} {
			if since, begun := r.since(s.mark + " " + id); begun && since < s.takes &&
				member(status, "code") == s.from {
				return put(status, "code", s.now), true
			}
		}
		return "", false
	})
}
