package likeness

import (
	"regexp"
	"strings"
	"time"

	"iasql/internal/test/faultproxy"
)

// Identities are IAM's roles and users in time.
//
//   - A new role or user is listed, and known to other services and to IAM's own policies,
//     after a while ("Changes that I make are not always immediately visible" in the IAM
//     User Guide). A policy that names it is refused until then, in each service's own words.
//   - Roles of services are theirs: nobody else makes or changes one ("Create a
//     service-linked role" in the IAM User Guide; DeleteRole: UnmodifiableEntity).
type Identities struct {
	// Spreading is how long it takes until others know a new one, Listing until it is listed.
	Spreading, Listing time.Duration
	memory
}

// principal finds the roles and users that a policy names.
var principal = regexp.MustCompile(`arn:aws[a-z-]*:iam::\d{12}:(?:role|user)/([\w+=,.@/-]+)`)

// unknown is how a service refuses a policy with a principal that it does not know.
type unknown struct {
	actions []string
	code    string
	message string
}

// refusing are the services that look at the principals of policies: pages of the
// operations, and what the Terraform AWS provider waits for.
var refusing = map[string]unknown{
	"iam": {[]string{"CreateRole", "UpdateAssumeRolePolicy"}, "MalformedPolicyDocument",
		`Invalid principal in policy: "AWS":"%s"`},
	"s3": {[]string{"?policy"}, "MalformedPolicy", "Invalid principal in policy"},
	"sns": {[]string{"SetTopicAttributes", "CreateTopic"}, "InvalidParameter",
		"Invalid parameter: Policy Error: PrincipalNotFound"},
	"sqs": {[]string{"SetQueueAttributes", "CreateQueue"}, "InvalidAttributeValue",
		"Invalid value for the parameter Policy."},
	"kms": {[]string{"PutKeyPolicy", "CreateKey"}, "MalformedPolicyDocumentException",
		"Policy contains a statement with one or more invalid principals."},
	"ecr": {[]string{"SetRepositoryPolicy"}, "InvalidParameterException",
		"Invalid parameter at 'PolicyText' failed to satisfy constraint: 'Principal not found'"},
}

// Apply implements [Rule].
func (r *Identities) Apply(c Call) faultproxy.Fault {
	if fault, refused := r.unknown(c); refused {
		return fault
	}
	if c.Service != "iam" {
		return faultproxy.Fault{}
	}
	name := c.Params.Get("RoleName") + c.Params.Get("UserName")
	switch c.Action {
	case "CreateRole", "CreateUser":
		if strings.HasPrefix(c.Params.Get("Path"), "/aws-service-role/") {
			return refusal(403, "AccessDenied",
				"Cannot create roles in the path /aws-service-role/: use CreateServiceLinkedRole")
		}
		return learn(func(string) { r.restart("made " + name) })
	case "DeleteRole", "DeleteUser":
		if strings.HasPrefix(name, "AWSServiceRoleFor") {
			return refusal(400, "UnmodifiableEntity",
				"Cannot perform the operation on the protected role '%s' - this role is only modifiable by AWS", name)
		}
		return learn(func(string) { r.forget("made " + name) })
	case "UpdateRole", "UpdateRoleDescription", "UpdateAssumeRolePolicy", "AttachRolePolicy", "DetachRolePolicy",
		"PutRolePolicy", "TagRole", "UntagRole":
		if strings.HasPrefix(name, "AWSServiceRoleFor") && !strings.Contains(c.Action, "Tag") &&
			c.Action != "UpdateRoleDescription" {
			return refusal(400, "UnmodifiableEntity",
				"Cannot perform the operation on the protected role '%s' - this role is only modifiable by AWS", name)
		}
	case "ListRoles", "ListUsers":
		return faultproxy.Fault{Rewrite: element("member", func(text string) string {
			if r.young("made "+member(text, "RoleName")+member(text, "UserName"), r.Listing) {
				return ""
			}
			return text
		})}
	}
	return faultproxy.Fault{}
}

// unknown refuses a policy that names a principal which the service does not know yet.
func (r *Identities) unknown(c Call) (faultproxy.Fault, bool) {
	says, ok := refusing[c.Service]
	if !ok {
		return faultproxy.Fault{}, false
	}
	looks := false
	for _, action := range says.actions {
		looks = looks || c.Action == action || strings.HasPrefix(action, "?") && strings.HasPrefix(c.Action, "PUT ") &&
			strings.Contains(c.Action, action)
	}
	if !looks {
		return faultproxy.Fault{}, false
	}
	text := strings.ReplaceAll(c.Body, `\/`, "/")
	if c.Params.Get("Action") != "" {
		var all []string
		for _, values := range c.Params {
			all = append(all, values...)
		}
		text = strings.Join(all, " ")
	}
	for _, found := range principal.FindAllStringSubmatch(text, -1) {
		if r.young("made "+lastPart(found[1]), r.Spreading) {
			return faultproxy.Fault{Status: 400, Code: says.code,
				Message: strings.ReplaceAll(says.message, "%s", found[0])}, true
		}
	}
	return faultproxy.Fault{}, false
}
