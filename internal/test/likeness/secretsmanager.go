package likeness

import (
	"strings"
	"sync/atomic"
	"time"

	"iasql/internal/test/faultproxy"
)

// Secrets are those of Secrets Manager in time (pages of its API Reference).
//
//   - ListSecrets may be up to five minutes late (ListSecrets: "ListSecrets is eventually
//     consistent, however, and might not reflect changes from the last five minutes").
//   - A secret that is scheduled for deletion keeps its name (CreateSecret:
//     InvalidRequestException), and is not changed (UpdateSecret, TagResource: likewise).
//   - One whose name begins with the name of a service and an exclamation mark is managed
//     by that service, which alone changes it (OwningService; TagResource, UpdateSecret and
//     DeleteSecret: InvalidRequestException, "The secret is managed by another service").
type Secrets struct {
	// Listing is how late listings are.
	Listing time.Duration
	late    atomic.Bool
	memory
}

// Late has listings stay as they are from now on, for the five minutes at most that they
// may be late; or be up to date again.
func (r *Secrets) Late(late bool) { r.late.Store(late) }

// Apply implements [Rule].
func (r *Secrets) Apply(c Call) faultproxy.Fault {
	if c.Service != "secretsmanager" {
		return faultproxy.Fault{}
	}
	name := c.said("SecretId")
	if strings.HasPrefix(name, "arn:") { // a name, a hyphen and six random characters
		name = lastPart(name)
		name = name[:max(0, len(name)-7)]
	}
	key := "deleted " + c.Region + " " + name
	switch c.Action {
	case "ListSecrets":
		stale := r.Listing
		if r.late.Load() {
			stale = 5 * time.Minute
		}
		return faultproxy.Fault{Stale: stale, Rewrite: document(func(answer map[string]any) {
			all, _ := answer["SecretList"].([]any)
			for _, one := range all {
				owned(one)
			}
		})}
	case "DescribeSecret":
		return faultproxy.Fault{Rewrite: document(func(answer map[string]any) { owned(answer) })}
	case "CreateSecret":
		if r.get("deleted "+c.Region+" "+c.said("Name")) != "" {
			return refusal(400, "InvalidRequestException",
				"You can't create this secret because a secret with this name is already scheduled for deletion.")
		}
	case "RestoreSecret":
		return learn(func(string) { r.forget(key) })
	case "DeleteSecret", "UpdateSecret", "TagResource", "UntagResource", "PutSecretValue":
		switch {
		case strings.Contains(name, "!"):
			return refusal(400, "InvalidRequestException",
				"The secret is managed by another service, and you must use that service to update it.")
		case r.get(key) != "":
			return refusal(400, "InvalidRequestException",
				"You can't perform this operation on the secret because it was marked for deletion.")
		case c.Action == "DeleteSecret" && c.input()["ForceDeleteWithoutRecovery"] != true:
			return learn(func(string) { r.set(key, "yes") })
		}
	}
	return faultproxy.Fault{}
}

// owned says which service manages a secret.
func owned(secret any) {
	if members, ok := secret.(map[string]any); ok {
		name, _ := members["Name"].(string)
		if service, _, managed := strings.Cut(name, "!"); managed {
			members["OwningService"] = service
		}
	}
}
