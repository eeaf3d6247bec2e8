package likeness

import (
	"slices"
	"strings"

	"iasql/internal/test/faultproxy"
)

// Keys are KMS's keys: one whose deletion is scheduled takes no change any more ("Key
// states of AWS KMS keys" in the AWS KMS Developer Guide: KMSInvalidStateException).
type Keys struct{ memory }

// changing are the operations that a key refuses while it waits for its deletion.
var changing = []string{"CreateAlias", "DisableKey", "DisableKeyRotation", "EnableKey", "EnableKeyRotation",
	"ScheduleKeyDeletion", "TagResource",
	"UntagResource", "UpdateKeyDescription"}

// Apply implements [Rule].
func (r *Keys) Apply(c Call) faultproxy.Fault {
	if c.Service != "kms" {
		return faultproxy.Fault{}
	}
	key := c.said("KeyId")
	if key == "" {
		key = c.said("TargetKeyId")
	}
	id := "deleted " + lastPart(key)
	switch {
	case c.Action == "CancelKeyDeletion":
		return learn(func(string) { r.forget(id) })
	case slices.Contains(changing, c.Action) && r.get(id) != "":
		return refusal(400, "KMSInvalidStateException", "%s is pending deletion.", r.get(id))
	case c.Action == "ScheduleKeyDeletion":
		return faultproxy.Fault{Rewrite: document(func(answer map[string]any) {
			arn, _ := answer["KeyId"].(string)
			if !strings.HasPrefix(arn, "arn:") {
				arn = "arn:aws:kms:" + c.Region + ":123456789012:key/" + arn
			}
			r.set(id, arn)
		})}
	}
	return faultproxy.Fault{}
}

// lastPart is what stands behind the last / or : of an ARN.
func lastPart(arn string) string { return arn[strings.LastIndexAny(arn, "/:")+1:] }
