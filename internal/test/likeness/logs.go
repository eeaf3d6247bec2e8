package likeness

import (
	"encoding/json"
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
//   - Up to fifty log groups are asked for by their names (DescribeLogGroups,
//     logGroupIdentifiers), and by nothing else then. The emulator does not know that, and
//     answers all.
type LogGroups struct {
	// Working is how long it works on a change.
	Working time.Duration
	// Endpoint is the emulator's, which knows what there is.
	Endpoint string
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
		in := c.input()
		names, named := in["logGroupIdentifiers"].([]any)
		if named && (in["logGroupNamePrefix"] != nil || in["logGroupNamePattern"] != nil || len(names) == 0 ||
			len(names) > 50) {
			return refusal(400, "InvalidParameterException",
				"1 to 50 logGroupIdentifiers can be specified, and no other filter than includeLinkedAccounts "+
					"with them.")
		}
		return faultproxy.Fault{Rewrite: document(func(answer map[string]any) {
			if named {
				answer["logGroups"] = r.named(c, names)
				delete(answer, "nextToken")
			}
			groups, _ := answer["logGroups"].([]any)
			for _, one := range groups {
				group, _ := one.(map[string]any)
				name, _ := group["logGroupName"].(string)
				switch arn := r.get("key " + c.Region + " " + name); arn {
				case "":
				case "none":
					delete(group, "kmsKeyId")
				default:
					group["kmsKeyId"] = arn
				}
			}
		})}
	case "CreateLogGroup":
		return learn(func(string) {
			r.restart("working " + key)
			r.forget("key " + key)
		})
	}
	if !slices.Contains([]string{"AssociateKmsKey", "DisassociateKmsKey", "PutRetentionPolicy", "DeleteRetentionPolicy",
		"DeleteLogGroup"}, c.Action) {
		return faultproxy.Fault{}
	}
	if r.young("working "+key, r.Working) {
		return refusal(400, "OperationAbortedException",
			"A conflicting operation is currently in progress against this resource. Please try again.")
	}
	if c.Action == "AssociateKmsKey" || c.Action == "DisassociateKmsKey" {
		arn := c.said("kmsKeyId")
		if arn == "" {
			arn = "none"
		}
		return faultproxy.Fault{Instead: c.become("DescribeLogGroups", map[string]any{"logGroupNamePrefix": name}),
			Rewrite: func([]byte) []byte {
				r.restart("working " + key)
				r.set("key "+key, arn)
				return []byte("{}")
			}}
	}
	return learn(func(string) { r.restart("working " + key) })
}

// named returns the log groups that have one of these names.
func (r *LogGroups) named(c Call, names []any) []any {
	found := []any{}
	for _, name := range names {
		input, _ := json.Marshal(map[string]any{"logGroupNamePrefix": name}) // of texts
		var answer struct{ LogGroups []any }
		_ = json.Unmarshal([]byte(emulator(r.Endpoint).target(c, "DescribeLogGroups", string(input))), &answer)
		for _, one := range answer.LogGroups {
			if group, _ := one.(map[string]any); group["logGroupName"] == name {
				found = append(found, group)
			}
		}
	}
	return found
}
