package likeness

import (
	"fmt"
	"strings"
	"time"

	"iasql/internal/test/faultproxy"
)

// LoadBalancers are those of Elastic Load Balancing in time. One is provisioning, then
// active (page LoadBalancerState of the API Reference). Its network interfaces stay a
// while after its deletion, and meanwhile neither its subnets nor its security groups can
// be deleted (page DeleteLoadBalancer answers at once; the interfaces are
// requester-managed, see [Interfaces]). One that faces the Internet is refused in a VPC
// without an attached internet gateway (page CreateLoadBalancer, Errors: InvalidSubnet).
// The emulator itself refuses to delete a target group that a listener uses (page
// DeleteTargetGroup: ResourceInUse).
type LoadBalancers struct {
	Provisioning, Lingering time.Duration
	// Endpoint is the emulator's, which knows what there is.
	Endpoint   string
	Interfaces *Interfaces
	memory
}

// Apply implements [Rule].
func (r *LoadBalancers) Apply(c Call) faultproxy.Fault {
	if c.Service != "elasticloadbalancing" {
		return faultproxy.Fault{}
	}
	arn := c.Params.Get("LoadBalancerArn")
	switch c.Action {
	case "CreateLoadBalancer":
		if vpc := r.cutOff(c); vpc != "" {
			return refused("InvalidSubnet", fmt.Sprintf("VPC %s has no internet gateway", vpc))
		}
		return faultproxy.Fault{Rewrite: func(body []byte) []byte {
			made := member(string(body), "LoadBalancerArn")
			r.begin("provisioning " + made)
			r.Interfaces.hold(made, r.interfaces(c, made))
			return r.show(body)
		}}
	case "DescribeLoadBalancers":
		return faultproxy.Fault{Rewrite: r.show}
	case "SetSecurityGroups", "SetSubnets":
		return learn(func(string) { r.Interfaces.hold(arn, r.interfaces(c, arn)) })
	case "DeleteLoadBalancer":
		return learn(func(string) { r.Interfaces.release(arn, r.Lingering) })
	}
	return faultproxy.Fault{}
}

// cutOff returns the VPC that a new load balancer has no way out of, and needs one.
func (r *LoadBalancers) cutOff(c Call) string {
	subnets := numbered(c.Params, "Subnets.member.")
	if c.Params.Get("Scheme") == "internal" || len(subnets) == 0 {
		return ""
	}
	e := emulator(r.Endpoint)
	vpc := vpcOfSubnet(e, c, subnets[0])
	if gatewayOf(e, c, vpc) != "" {
		return ""
	}
	return vpc
}

// interfaces are those of a load balancer as it is now.
func (r *LoadBalancers) interfaces(c Call, arn string) interfaces {
	answer := emulator(r.Endpoint).query(c, "elasticloadbalancing", "DescribeLoadBalancers",
		"LoadBalancerArns.member.1", arn)
	of := interfaces{subnets: members(answer, "SubnetId"), groups: members(member(answer, "SecurityGroups"), "member")}
	if member(answer, "Scheme") != "internal" {
		of.vpc = member(answer, "VpcId")
	}
	return of
}

// show gives each load balancer of an answer the state that it is in.
func (r *LoadBalancers) show(body []byte) []byte {
	return states(body, "LoadBalancerArn", "State", func(arn, state string) (string, bool) {
		since, begun := r.since("provisioning " + arn)
		return put(state, "Code", "provisioning"), begun && since < r.Provisioning
	})
}

// balanced reports whether a target group has a load balancer.
func balanced(e emulator, c Call, arn string) bool {
	answer := e.query(c, "elasticloadbalancing", "DescribeTargetGroups", "TargetGroupArns.member.1", arn)
	return strings.Contains(member(answer, "LoadBalancerArns"), "<member>")
}
