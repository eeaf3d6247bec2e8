package likeness

import (
	"slices"
	"time"

	"iasql/internal/test/faultproxy"
)

// LogGroups are those of CloudWatch Logs (pages of its API Reference).
//
//   - The key of a log group is changed in place (AssociateKmsKey, DisassociateKmsKey),
//     which the emulator cannot.
//   - Changes of one log group at the same time are refused (PutRetentionPolicy and others:
//     OperationAbortedException, "Multiple concurrent requests to update the same resource
//     were in conflict").
type LogGroups struct {
	// Working is how long it works on a change.
	Working time.Duration
	memory
}

// Apply implements [Rule].
func (r *LogGroups) Apply(c Call) faultproxy.Fault {
	if c.Service != "logs" {
		return faultproxy.Fault{}
	}
	name := c.said("logGroupName")
	key := c.Region + " " + name
	switch c.Action {
	case "DescribeLogGroups":
		return objects("logGroups", func(group map[string]any) bool {
			name, _ := group["logGroupName"].(string)
			switch arn := r.get("key " + c.Region + " " + name); arn {
			case "":
			case "none":
				delete(group, "kmsKeyId")
			default:
				group["kmsKeyId"] = arn
			}
			return true
		})
	case "CreateLogGroup":
		return learn(func(string) {
			r.restart("working " + key)
			r.forget("key " + key)
		})
	}
	if !slices.Contains([]string{"AssociateKmsKey", "DisassociateKmsKey", "PutRetentionPolicy", "DeleteRetentionPolicy", "DeleteLogGroup"}, c.Action) {
		return faultproxy.Fault{}
	}
	if r.young("working "+key, r.Working) {
		return refusal(400, "OperationAbortedException", "A conflicting operation is currently in progress against this resource. Please try again.")
	}
	if c.Action == "AssociateKmsKey" || c.Action == "DisassociateKmsKey" {
		arn := c.said("kmsKeyId")
		if arn == "" {
			arn = "none"
		}
		return faultproxy.Fault{Instead: c.become("DescribeLogGroups", map[string]any{"logGroupNamePrefix": name}), Rewrite: func([]byte) []byte {
			r.restart("working " + key)
			r.set("key "+key, arn)
			return []byte("{}")
		}}
	}
	return learn(func(string) { r.restart("working " + key) })
}
