package likeness

import (
	"fmt"
	"strings"
	"time"

	"iasql/internal/test/faultproxy"
)

// Instances are EC2's instances in time ("Amazon EC2 instance state changes" in the
// Amazon EC2 User Guide): pending, running, stopping, stopped, shutting-down, and
// terminated, in which the emulator shows them from then on. Their network interfaces go
// when they have terminated. What is not running yet takes no volume (page AttachVolume;
// IncorrectState), cannot be stopped (page StopInstances; IncorrectInstanceState) and is
// no target (page RegisterTargets of the Elastic Load Balancing API Reference:
// InvalidTarget); the codes are in "Error codes for the Amazon EC2 API".
type Instances struct {
	Pending, Stopping, ShuttingDown time.Duration
	// Endpoint is the emulator's, to which terminations go in the end.
	Endpoint string
	memory
}

// Apply implements [Rule].
func (r *Instances) Apply(c Call) faultproxy.Fault {
	if c.Service == "elasticloadbalancing" && c.Action == "RegisterTargets" {
		for _, id := range numbered(c.Params, "Targets.member.") {
			if r.young("pending "+id, r.Pending) {
				return refused("InvalidTarget",
					fmt.Sprintf("The following targets are not in a running state and cannot be registered: '%s'", id))
			}
		}
	}
	if c.Service != "ec2" {
		return faultproxy.Fault{}
	}
	ids := numbered(c.Params, "InstanceId")
	switch c.Action {
	case "RunInstances":
		return faultproxy.Fault{Rewrite: func(body []byte) []byte {
			for _, id := range members(string(body), "instanceId") {
				r.begin("pending " + id)
			}
			return r.show(body)
		}}
	case "DescribeInstances":
		return faultproxy.Fault{Rewrite: r.show}
	case "TerminateInstances":
		return r.terminate(c, ids)
	}
	for _, id := range ids {
		if refused := r.refuse(c, id); refused.Status != 0 {
			return refused
		}
	}
	if mark := map[string]string{"StartInstances": "pending ", "StopInstances": "stopping "}[c.Action]; mark != "" {
		return learn(func(string) {
			for _, id := range ids {
				r.restart(mark + id)
			}
		})
	}
	return faultproxy.Fault{}
}

// refuse refuses what an instance's state does not allow.
func (r *Instances) refuse(c Call, id string) faultproxy.Fault {
	pending, stopping := r.young("pending "+id, r.Pending), r.young("stopping "+id, r.Stopping)
	switch {
	case c.Action == "AttachVolume" && pending:
		return refused("IncorrectState", fmt.Sprintf("Instance '%s' is not 'running'.", id))
	case c.Action == "StopInstances" && pending:
		return refused("IncorrectInstanceState",
			fmt.Sprintf("The instance '%s' is not in a state from which it can be stopped.", id))
	case c.Action == "StartInstances" && stopping:
		return refused("IncorrectInstanceState",
			fmt.Sprintf("The instance '%s' is not in a state from which it can be started.", id))
	case c.Action == "ModifyInstanceAttribute" && c.Params.Get("InstanceType.Value") != "" && stopping:
		return refused("IncorrectInstanceState", fmt.Sprintf("The instance '%s' is not in the 'stopped' state.", id))
	}
	return faultproxy.Fault{}
}

// terminate has instances shut down for a while, and then go.
func (r *Instances) terminate(c Call, ids []string) faultproxy.Fault {
	describe := "Action=DescribeInstances&Version=" + versions["ec2"]
	for i, id := range ids {
		describe += fmt.Sprintf("&InstanceId.%d=%s", i+1, id)
	}
	return faultproxy.Fault{Instead: describe, Rewrite: func(body []byte) []byte {
		var answer strings.Builder
		answer.WriteString(`<TerminateInstancesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>0</requestId><instancesSet>`)
		for _, id := range ids {
			r.begin("shutting-down " + id)
			fmt.Fprintf(&answer, `<item><instanceId>%s</instanceId><currentState><code>32</code><name>shutting-down</name></currentState><previousState><code>16</code><name>running</name></previousState></item>`, id)
		}
		answer.WriteString(`</instancesSet></TerminateInstancesResponse>`)
		e, own := emulator(r.Endpoint), members(string(body), "networkInterfaceId")
		e.later(c, r.ShuttingDown, func() { // the emulator keeps what was made with them
			for _, id := range own {
				e.query(c, "ec2", "DeleteNetworkInterface", "NetworkInterfaceId", id)
			}
		})
		return []byte(answer.String())
	}}
}

// show gives each instance of an answer the state that it is in.
func (r *Instances) show(body []byte) []byte {
	return states(body, "instanceId", "instanceState", func(id, state string) (string, bool) {
		name := member(state, "name")
		_, ending := r.since("shutting-down " + id)
		switch {
		case name == "terminated":
		case ending:
			return "<code>32</code><name>shutting-down</name>", true
		case (name == "running" || name == "pending") && r.young("pending "+id, r.Pending):
			return "<code>0</code><name>pending</name>", true
		case name == "stopped" && r.young("stopping "+id, r.Stopping):
			return "<code>64</code><name>stopping</name>", true
		}
		return "", false
	})
}

// made is which member of a creation's answer names what was made.
var made = map[string]string{
	"AllocateAddress": "allocationId", "CreateInternetGateway": "internetGatewayId", "CreateRouteTable": "routeTableId",
	"CreateSecurityGroup": "groupId", "CreateSubnet": "subnetId", "CreateVolume": "volumeId", "CreateVpc": "vpcId",
	"CreateVpcPeeringConnection": "vpcPeeringConnectionId", "RunInstances": "instanceId",
}

// unseen are the errors of ids that EC2 does not know, by how they begin ("Error codes
// for the Amazon EC2 API").
var unseen = []struct{ prefix, code, message string }{
	{"eipalloc-", "InvalidAllocationID.NotFound", "The allocation ID '%s' does not exist"},
	{"i-", "InvalidInstanceID.NotFound", "The instance ID '%s' does not exist"},
	{"igw-", "InvalidInternetGatewayID.NotFound", "The internetGateway ID '%s' does not exist"},
	{"pcx-", "InvalidVpcPeeringConnectionID.NotFound", "The vpcPeeringConnection ID '%s' does not exist"},
	{"rtb-", "InvalidRouteTableID.NotFound", "The routeTable ID '%s' does not exist"},
	{"sg-", "InvalidGroup.NotFound", "The security group '%s' does not exist"},
	{"subnet-", "InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist"},
	{"vol-", "InvalidVolume.NotFound", "The volume '%s' does not exist."},
	{"vpc-", "InvalidVpcID.NotFound", "The vpc ID '%s' does not exist"},
}

// Visibility is that EC2 does not know everywhere at once what it has just made: the
// next calls may answer that it does not exist, and reads leave it out ("Eventual
// consistency in the Amazon EC2 API" in the Amazon EC2 Developer Guide).
type Visibility struct {
	// Hidden is for how long.
	Hidden time.Duration
	memory
}

// Apply implements [Rule].
func (v *Visibility) Apply(c Call) faultproxy.Fault {
	if c.Service != "ec2" {
		return faultproxy.Fault{}
	}
	for _, values := range c.Params {
		for _, id := range values {
			since, known := v.since(id)
			switch {
			case !known || since >= v.Hidden:
			case strings.HasPrefix(c.Action, "Describe"):
				prefix, _, _ := strings.Cut(id, "-")
				return faultproxy.Fault{Instead: strings.ReplaceAll(c.Body, id, prefix+"-00000000000000000")}
			default:
				return notFound(id)
			}
		}
	}
	if name := made[c.Action]; name != "" {
		return learn(func(answer string) { v.begin(member(answer, name)) })
	}
	return faultproxy.Fault{}
}

// notFound is how EC2 says that it does not know an id.
func notFound(id string) faultproxy.Fault {
	for _, u := range unseen {
		if strings.HasPrefix(id, u.prefix) {
			return refused(u.code, fmt.Sprintf(u.message, id))
		}
	}
	return faultproxy.Fault{}
}

// Refusals answer calls of one action with an error a few times: what is under way
// elsewhere, what a service has no capacity for, or what there is not.
type Refusals struct {
	Service, Action string
	// Naming is in the body of the calls that it is about; all if it is empty.
	Naming        string
	Code, Message string
	Status        int // 400 if 0
	// Times is how many of the calls are refused; all if it is negative.
	Times int
	memory
}

// Apply implements [Rule].
func (r *Refusals) Apply(c Call) faultproxy.Fault {
	if c.Service != r.Service || c.Action != r.Action || !strings.Contains(c.Body, r.Naming) {
		return faultproxy.Fault{}
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.Times == 0 {
		return faultproxy.Fault{}
	}
	r.Times--
	fault := refused(r.Code, r.Message)
	if r.Status != 0 {
		fault.Status = r.Status
	}
	return fault
}
