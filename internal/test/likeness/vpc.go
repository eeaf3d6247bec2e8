package likeness

import (
	"fmt"
	"maps"
	"strings"
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
//     the Amazon VPC User Guide).
//   - An interface endpoint gets private DNS names only in a VPC with DNS support and
//     DNS host names (CreateVpcEndpoint: InvalidParameter; page CreateVpcEndpoint of
//     the Amazon EC2 API Reference, PrivateDnsEnabled).
type Network struct {
	// Pending is how long NAT gateways are pending.
	Pending time.Duration
	memory
}

// Apply implements [Rule].
func (n *Network) Apply(c Call) faultproxy.Fault {
	if c.Service != "ec2" {
		return faultproxy.Fault{}
	}
	p := c.Params
	switch c.Action {
	case "AttachInternetGateway":
		n.set("vpc of "+p.Get("InternetGatewayId"), p.Get("VpcId"))
		n.set("gateway of "+p.Get("VpcId"), p.Get("InternetGatewayId"))
	case "DetachInternetGateway":
		n.forget("vpc of " + p.Get("InternetGatewayId"))
		n.forget("gateway of " + p.Get("VpcId"))
	case "ModifyVpcAttribute":
		if v := p.Get("EnableDnsHostnames.Value"); v != "" {
			n.set("names of "+p.Get("VpcId"), v)
		}
	case "CreateSubnet":
		return faultproxy.Fault{Rewrite: func(body []byte) []byte {
			n.set("vpc of "+member(string(body), "subnetId"), p.Get("VpcId"))
			return body
		}}
	case "CreateRoute":
		if gateway := p.Get("GatewayId"); strings.HasPrefix(gateway, "igw-") && n.get("vpc of "+gateway) == "" {
			return faultproxy.Fault{Status: 400, Code: "InvalidParameterValue",
				Message: fmt.Sprintf("route table %s and network gateway %s belong to different networks", p.Get("RouteTableId"), gateway)}
		}
	case "CreateVpcEndpoint":
		if p.Get("PrivateDnsEnabled") == "true" && n.get("names of "+p.Get("VpcId")) != "true" {
			return faultproxy.Fault{Status: 400, Code: "InvalidParameter",
				Message: "Enabling private DNS requires both enableDnsSupport and enableDnsHostnames VPC attributes set to true for " + p.Get("VpcId")}
		}
	case "CreateNatGateway":
		fails := p.Get("ConnectivityType") != "private" && n.get("gateway of "+n.get("vpc of "+p.Get("SubnetId"))) == ""
		instead := ""
		if fails { // it does not get the address, which the emulator would keep for it
			private := maps.Clone(p)
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
	case "DescribeNatGateways":
		return faultproxy.Fault{Rewrite: n.natGateways}
	}
	return faultproxy.Fault{}
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
		case !known || member(part, "state") != "available":
		case since < n.Pending:
			part = put(part, "state", "pending")
		case n.get("failed "+id) != "":
			part = strings.Replace(put(part, "state", "failed"), "</state>",
				"</state><failureCode>Gateway.NotAttached</failureCode><failureMessage>Network vpc has no Internet gateway attached</failureMessage>", 1)
		}
		parts[i+1] = part
	}
	return []byte(strings.Join(parts, "<natGatewayId>"))
}
