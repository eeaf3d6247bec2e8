package likeness

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"time"

	"iasql/internal/test/faultproxy"
)

// Functions are Lambda's functions in time ("Lambda function states" in the Lambda
// Developer Guide): Pending, then Active; after a change LastUpdateStatus is InProgress
// for a while, and in both the next change is refused (pages UpdateFunctionConfiguration
// and UpdateFunctionCode of the API Reference: ResourceConflictException). Lambda can take
// on a role a while after it was made ("The role defined for the function cannot be
// assumed by Lambda": "Troubleshoot invocation issues", with IAM's propagation in [Roles]),
// and makes network interfaces with the role's rights ("Giving Lambda functions access to
// resources in an Amazon VPC": required IAM permissions). Those stay a while after the
// function ("it can take up to 20 minutes").
type Functions struct {
	Pending, Updating, Lingering time.Duration
	Roles                        *Roles
	Interfaces                   *Interfaces
	memory
}

// functionPath is a function's address, and which part of it a call is about.
var functionPath = regexp.MustCompile(`^([A-Z]+) /2015-03-31/functions/?([^/?]*)/?([a-z]*)`)

// Apply implements [Rule].
func (r *Functions) Apply(c Call) faultproxy.Fault {
	path := functionPath.FindStringSubmatch(c.Action)
	if c.Service != "lambda" || path == nil {
		return faultproxy.Fault{}
	}
	method, name, part := path[1], path[2], path[3]
	if arn, err := url.PathUnescape(name); err == nil {
		name = lastPart(arn)
	}
	key := c.Region + " " + name
	switch {
	case method == http.MethodPost && name == "":
		return r.create(c)
	case method == http.MethodPut && (part == "configuration" || part == "code"):
		return r.update(c, key, part)
	case method == http.MethodDelete && part == "":
		return learn(func(string) {
			r.forget("pending " + key)
			r.forget("updating " + key)
			r.set("dead letters "+key, "")
			r.Interfaces.release("function "+key, r.Lingering)
		})
	case method == http.MethodGet && name == "":
		return faultproxy.Fault{Rewrite: document(func(answer map[string]any) {
			functions, _ := answer["Functions"].([]any)
			for _, function := range functions {
				if configuration, ok := function.(map[string]any); ok {
					r.recall(c, configuration)
				}
			}
		})}
	case method == http.MethodGet && part == "":
		return faultproxy.Fault{Rewrite: document(func(answer map[string]any) {
			if configuration, ok := answer["Configuration"].(map[string]any); ok {
				r.show(c, configuration)
			}
		})}
	case method == http.MethodGet && part == "configuration":
		return faultproxy.Fault{Rewrite: document(func(answer map[string]any) { r.show(c, answer) })}
	}
	return faultproxy.Fault{}
}

// networking is where a function is put.
type networking struct {
	FunctionName, Role string
	VpcConfig          struct{ SubnetIds, SecurityGroupIds []string }
	DeadLetterConfig   *deadLetters
}

// deadLetters is where events go that a function could not be called with. The emulator forgets it.
type deadLetters struct{ TargetArn string }

func (r *Functions) create(c Call) faultproxy.Fault {
	var in networking
	if json.Unmarshal([]byte(c.Body), &in) != nil {
		return faultproxy.Fault{}
	}
	if !r.Roles.assumable(in.Role) {
		return refused("InvalidParameterValueException",
			"The role defined for the function cannot be assumed by Lambda.")
	}
	if len(in.VpcConfig.SubnetIds) > 0 && !r.Roles.connects(in.Role) {
		return refused("InvalidParameterValueException",
			"The provided execution role does not have permissions to call CreateNetworkInterface on EC2")
	}
	key := c.Region + " " + in.FunctionName
	return faultproxy.Fault{Rewrite: document(func(answer map[string]any) {
		r.forget("pending " + key)
		r.forget("updating " + key)
		r.begin("pending " + key)
		r.place(key, in)
		r.keep(key, in)
		r.show(c, answer)
	})}
}

// keep remembers what the emulator forgets of a function; what is left out stays as it was
// (UpdateFunctionConfiguration, AWS Lambda API Reference).
func (r *Functions) keep(key string, in networking) {
	if in.DeadLetterConfig != nil {
		r.set("dead letters "+key, in.DeadLetterConfig.TargetArn)
	}
}

// recall adds to a function's configuration what the emulator forgets.
func (r *Functions) recall(c Call, configuration map[string]any) {
	if target := r.get("dead letters " + c.Region + " " + fmt.Sprint(configuration["FunctionName"])); target != "" {
		configuration["DeadLetterConfig"] = map[string]any{"TargetArn": target}
	}
}

func (r *Functions) update(c Call, key, part string) faultproxy.Fault {
	const now = "The operation cannot be performed at this time. "
	since, pending := r.since("pending " + key)
	after, updating := r.since("updating " + key)
	message := ""
	switch {
	case pending && since < r.Pending:
		message = now + "The function is currently in the following state: Pending"
	case updating && after < r.Updating:
		message = now + "An update is in progress for resource: " + key
	}
	if message != "" {
		return faultproxy.Fault{Status: http.StatusConflict, Code: "ResourceConflictException", Message: message}
	}
	var in networking
	if part == "configuration" {
		_ = json.Unmarshal([]byte(c.Body), &in)
	}
	return faultproxy.Fault{Rewrite: document(func(answer map[string]any) {
		r.restart("updating " + key)
		if len(in.VpcConfig.SubnetIds) > 0 {
			r.place(key, in)
		}
		r.keep(key, in)
		r.show(c, answer)
	})}
}

// place has a function hold its network interfaces.
func (r *Functions) place(key string, in networking) {
	if len(in.VpcConfig.SubnetIds) > 0 {
		r.Interfaces.hold("function "+key,
			interfaces{subnets: in.VpcConfig.SubnetIds, groups: in.VpcConfig.SecurityGroupIds})
	}
}

// show gives a function's configuration the state that it is in.
func (r *Functions) show(c Call, configuration map[string]any) {
	r.recall(c, configuration)
	key := c.Region + " " + fmt.Sprint(configuration["FunctionName"])
	since, pending := r.since("pending " + key)
	after, updating := r.since("updating " + key)
	switch {
	case pending && since < r.Pending:
		configuration["State"], configuration["StateReasonCode"], configuration["StateReason"] = "Pending", "Creating",
			"The function is being created."
	case updating && after < r.Updating:
		configuration["LastUpdateStatus"] = "InProgress"
	}
}
