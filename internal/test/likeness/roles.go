package likeness

import (
	"fmt"
	"strings"
	"time"

	"iasql/internal/test/faultproxy"
)

// Roles are IAM's roles and instance profiles on their way to the services: a change
// "might not be immediately visible" everywhere (IAM User Guide, "Troubleshoot IAM":
// changes that I make are not always immediately visible). EC2 says so of an instance
// profile with InvalidParameterValue; what Lambda says is with [Functions].
type Roles struct {
	// Propagation is how long it takes.
	Propagation time.Duration
	memory
}

// Apply implements [Rule].
func (r *Roles) Apply(c Call) faultproxy.Fault {
	switch c.Service {
	case "iam":
		return r.changed(c)
	case "ec2":
		if name := profile(c); name != "" && r.young("profile "+name, r.Propagation) {
			return refused("InvalidParameterValue",
				fmt.Sprintf("Value (%s) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance "+
					"Profile name", name))
		}
	}
	return faultproxy.Fault{}
}

// profile returns the instance profile that a call names.
func profile(c Call) string {
	switch c.Action {
	case "RunInstances", "AssociateIamInstanceProfile", "ReplaceIamInstanceProfileAssociation":
		return c.Params.Get("IamInstanceProfile.Name")
	}
	return ""
}

// changed notes what is on its way from now on.
func (r *Roles) changed(c Call) faultproxy.Fault {
	role, profile := "role "+c.Params.Get("RoleName"), "profile "+c.Params.Get("InstanceProfileName")
	policy := c.Params.Get("PolicyArn") + c.Params.Get("PolicyDocument")
	switch c.Action {
	case "CreateRole":
		return learn(func(string) { r.restart(role) })
	case "DeleteRole":
		return learn(func(string) {
			r.forget(role)
			r.forget("network of " + role)
		})
	case "CreateInstanceProfile":
		return learn(func(string) { r.restart(profile) })
	case "AttachRolePolicy", "PutRolePolicy":
		if networks(policy) {
			return learn(func(string) { r.begin("network of " + role) })
		}
	case "DetachRolePolicy":
		if networks(policy) {
			return learn(func(string) { r.forget("network of " + role) })
		}
	}
	return faultproxy.Fault{}
}

// networks reports whether a policy, by its ARN or as a document, lets Lambda make
// network interfaces (AWS Managed Policy Reference).
func networks(policy string) bool {
	for _, may := range []string{"AWSLambdaVPCAccessExecutionRole", "AdministratorAccess", "ec2:CreateNetworkInterface",
		`"ec2:*"`} {
		if strings.Contains(policy, may) {
			return true
		}
	}
	return false
}

// assumable reports whether a service may take on a role, by its ARN or name.
func (r *Roles) assumable(role string) bool {
	return r == nil || !r.young("role "+lastPart(role), r.Propagation)
}

// connects reports whether a role lets Lambda make network interfaces. A role that was
// there before the rule does.
func (r *Roles) connects(role string) bool {
	if r == nil {
		return true
	}
	key := "role " + lastPart(role)
	_, seen := r.since(key)
	since, granted := r.since("network of " + key)
	return !seen || granted && since >= r.Propagation
}
