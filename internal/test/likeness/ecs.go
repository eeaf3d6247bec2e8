package likeness

import (
	"encoding/json"
	"fmt"
	"time"

	"iasql/internal/test/faultproxy"
)

// Services are ECS's in time. The first service of an account is refused until the
// service-linked role is there that ECS makes for it (Amazon ECS Developer Guide, "Using
// service-linked roles for Amazon ECS"; InvalidParameterException). Its target group must
// have a load balancer (page CreateService of the API Reference: InvalidParameterException).
// A deleted service is DRAINING while its last tasks stop, and there can be no other of its
// name meanwhile (page DeleteService). A cluster with services, or whose tasks still run,
// is not deleted (page DeleteCluster: ClusterContainsServicesException and
// ClusterContainsTasksException). Revisions of one family are registered one after the
// other (page RegisterTaskDefinition: ClientException).
type Services struct {
	ServiceRole, Draining, Registering time.Duration
	// Endpoint is the emulator's, which knows what there is.
	Endpoint   string
	Interfaces *Interfaces
	memory
}

// serviceRequest is what the calls about services have in common.
type serviceRequest struct {
	Cluster, Service, ServiceName, Family string
	DesiredCount                          int
	LoadBalancers                         []struct{ TargetGroupArn string }
	NetworkConfiguration                  struct {
		AwsvpcConfiguration struct{ Subnets, SecurityGroups []string }
	}
}

// Apply implements [Rule].
func (r *Services) Apply(c Call) faultproxy.Fault {
	var in serviceRequest
	if c.Service != "ecs" || json.Unmarshal([]byte(c.Body), &in) != nil {
		return faultproxy.Fault{}
	}
	in.Cluster, in.Service = lastPart(in.Cluster), lastPart(in.Service)
	switch c.Action {
	case "RegisterTaskDefinition":
		return r.register(c, in)
	case "CreateService":
		return r.create(c, in)
	case "UpdateService":
		return learn(func(string) { r.place(c, in.Cluster, in.Service, in) })
	case "DeleteService":
		key := serviceKey(c, in.Cluster, in.Service)
		return faultproxy.Fault{Rewrite: document(func(answer map[string]any) {
			if service, ok := answer["service"].(map[string]any); ok {
				r.begin("draining " + key)
				r.Interfaces.release("service "+key, r.Draining)
				r.show(c, service)
			}
		})}
	case "DescribeServices":
		return faultproxy.Fault{Rewrite: document(func(answer map[string]any) {
			services, _ := answer["services"].([]any)
			for _, service := range services {
				if service, ok := service.(map[string]any); ok {
					r.show(c, service)
				}
			}
		})}
	case "DeleteCluster":
		return r.deleteCluster(c, in)
	}
	return faultproxy.Fault{}
}

func serviceKey(c Call, cluster, service string) string {
	return c.Region + " " + cluster + "/" + service
}

// register takes one revision of a family after the other.
func (r *Services) register(c Call, in serviceRequest) faultproxy.Fault {
	key := "registering " + c.Region + " " + in.Family
	if since, begun := r.since(key); begun && since < r.Registering {
		return refused("ClientException",
			"Too many concurrent attempts to create a new revision of the specified family.")
	}
	r.restart(key)
	return faultproxy.Fault{}
}

func (r *Services) create(c Call, in serviceRequest) faultproxy.Fault {
	key, e := serviceKey(c, in.Cluster, in.ServiceName), emulator(r.Endpoint)
	if _, made := r.since("role"); !made {
		r.begin("role")
		e.query(c, "iam", "CreateServiceLinkedRole", "AWSServiceName", "ecs.amazonaws.com")
	}
	if since, _ := r.since("role"); since < r.ServiceRole {
		return refused("InvalidParameterException",
			"Unable to assume the service linked role. Please verify that the ECS service linked role exists.")
	}
	if since, draining := r.since("draining " + key); draining && since < r.Draining {
		return refused("InvalidParameterException", "Unable to Start a service that is still Draining.")
	}
	for _, b := range in.LoadBalancers {
		if b.TargetGroupArn != "" && !balanced(e, c, b.TargetGroupArn) {
			return refused("InvalidParameterException",
				fmt.Sprintf("The target group with targetGroupArn %s does not have an associated load balancer.",
					b.TargetGroupArn))
		}
	}
	return learn(func(string) {
		r.forget("draining " + key)
		r.place(c, in.Cluster, in.ServiceName, in)
	})
}

// place has a service's tasks hold their network interfaces.
func (r *Services) place(c Call, cluster, service string, in serviceRequest) {
	if of := in.NetworkConfiguration.AwsvpcConfiguration; len(of.Subnets) > 0 {
		r.Interfaces.hold("service "+serviceKey(c, cluster, service),
			interfaces{subnets: of.Subnets, groups: of.SecurityGroups})
	}
}

// show gives a service the status that it has.
func (r *Services) show(c Call, service map[string]any) {
	key := serviceKey(c, lastPart(fmt.Sprint(service["clusterArn"])), fmt.Sprint(service["serviceName"]))
	if since, draining := r.since("draining " + key); draining && since < r.Draining {
		service["status"] = "DRAINING"
	}
}

// deleteCluster refuses while there are services, or their last tasks run.
func (r *Services) deleteCluster(c Call, in serviceRequest) faultproxy.Fault {
	e := emulator(r.Endpoint)
	var listed struct{ ServiceArns []string }
	cluster, _ := json.Marshal(map[string]any{"cluster": in.Cluster})
	if json.Unmarshal([]byte(e.target(c, "ListServices", string(cluster))), &listed) != nil ||
		len(listed.ServiceArns) == 0 {
		return faultproxy.Fault{}
	}
	for _, arn := range listed.ServiceArns {
		key := serviceKey(c, in.Cluster, lastPart(arn))
		since, draining := r.since("draining " + key)
		switch {
		case !draining:
			return refused("ClusterContainsServicesException",
				"The Cluster cannot be deleted while Services are active.")
		case since < r.Draining:
			return refused("ClusterContainsTasksException", "The Cluster cannot be deleted while Tasks are active.")
		}
	}
	return faultproxy.Fault{}
}
