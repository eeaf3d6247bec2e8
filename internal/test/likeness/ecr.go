package likeness

import (
	"cmp"
	"encoding/json"
	"slices"

	"iasql/internal/test/faultproxy"
)

// Repositories are ECR's: a lifecycle policy comes back with its rules in the order of
// their priorities, whatever order they were sent in (aws_ecr_lifecycle_policy of the
// Terraform AWS provider: "The AWS ECR API seems to reorder rules based on rulePriority").
type Repositories struct{}

// Apply implements [Rule].
func (Repositories) Apply(c Call) faultproxy.Fault {
	if c.Service != "ecr" || c.Action != "GetLifecyclePolicy" && c.Action != "PutLifecyclePolicy" {
		return faultproxy.Fault{}
	}
	return faultproxy.Fault{Rewrite: document(func(answer map[string]any) {
		var policy struct {
			Rules []map[string]any `json:"rules"`
		}
		text, _ := answer["lifecyclePolicyText"].(string)
		if json.Unmarshal([]byte(text), &policy) != nil {
			return
		}
		slices.SortStableFunc(policy.Rules, func(a, b map[string]any) int {
			x, _ := a["rulePriority"].(float64)
			y, _ := b["rulePriority"].(float64)
			return cmp.Compare(x, y)
		})
		if sorted, err := json.Marshal(policy); err == nil {
			answer["lifecyclePolicyText"] = string(sorted)
		}
	})}
}
