package events

import (
	"strings"
	"time"
)

// Event is a record of one call.
type Event struct {
	ID       string    `json:"id"` // of the record: doubles have the same
	Time     time.Time `json:"time"`
	Account  string    `json:"account"` // twelve digits: the account whose objects the call was about
	Region   string    `json:"region"`
	Source   string    `json:"source"` // ec2.amazonaws.com
	Name     string    `json:"name"`   // RunInstances
	ReadOnly bool      `json:"read_only,omitempty"`
	// Error is the code of the error that the call was answered with; "" is none.
	Error string `json:"error,omitempty"`
	// RequestID is what AWS has called the request, which its answer told the caller.
	RequestID string `json:"request_id,omitempty"`
	// SharedID is the same in the records that several accounts get of one call.
	SharedID string `json:"shared_id,omitempty"`
	Actor    Actor  `json:"actor"`
	// Request, Response, Details and Resources are what the record says of the call. The
	// values of members that are called like secrets are left out, long texts are cut.
	Request   map[string]any `json:"request,omitempty"`
	Response  map[string]any `json:"response,omitempty"`
	Details   map[string]any `json:"details,omitempty"`
	Resources []any          `json:"resources,omitempty"`
}

// Actor is who made a call, as the record says.
type Actor struct {
	// Type is IAMUser, AssumedRole, Root, FederatedUser, AWSService, AWSAccount,
	// IdentityCenterUser and others (CloudTrail User Guide, "userIdentity element").
	Type string `json:"type,omitempty"`
	ARN  string `json:"arn,omitempty"`
	// Name is the user's or the role's.
	Name string `json:"name,omitempty"`
	// Session is the name of the role's session: with IAM Identity Center, of the user.
	Session string `json:"session,omitempty"`
	Account string `json:"account,omitempty"`
	// InvokedBy is the service that made the call for somebody, or by itself.
	InvokedBy string `json:"invoked_by,omitempty"`
	// Address is the IP address of the caller, or the name of a service.
	Address   string `json:"address,omitempty"`
	UserAgent string `json:"user_agent,omitempty"`
}

// String returns the ARN, or else what is known of the actor.
func (a Actor) String() string {
	for _, s := range []string{a.ARN, a.Name, a.InvokedBy, a.Address, a.Type} {
		if s != "" {
			return s
		}
	}
	return ""
}

// Person returns the name by which people know the actor: of the role's session or, of who
// has assumed no role, of the user; "" if he has none, as services have.
func (a Actor) Person() string {
	if a.Session == "" && a.Type == "IAMUser" {
		return a.Name
	}
	return a.Session
}

// Failed reports whether the call has changed nothing, because AWS refused it. Where the
// error was the service's own, nobody knows.
func (e *Event) Failed() bool {
	if e.Error == "" {
		return false
	}
	for _, own := range []string{"Server.", "Internal", "ServiceUnavailable", "Unavailable", "RequestTimeout",
		"ServiceFailure"} {
		if strings.HasPrefix(e.Error, own) {
			return false
		}
	}
	return true
}
