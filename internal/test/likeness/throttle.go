package likeness

import (
	"maps"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/time/rate"

	"iasql/internal/aws"
	"iasql/internal/test/faultproxy"
)

// Rates are the token buckets by which AWS throttles, as its pages have them.
type Rates struct {
	lock    sync.Mutex
	buckets map[string]*rate.Limiter
	calls   atomic.Int64
	refused map[string]int
}

// quota is a bucket's refill a second and its size, and who shares it.
type quota struct {
	perSecond float64
	size      int
	shared    string // "": the operation has a bucket of its own
}

// quotas are the documented rates of operations: "Quotas" of the ACM User Guide, "Amazon SNS
// endpoints and quotas", "AWS KMS request quotas", "Quotas" of Lambda, "CloudWatch Logs
// quotas", and the pages of the operations.
var quotas = map[string]map[string]quota{
	"acm": {
		"RequestCertificate": {5, 5, ""}, "DescribeCertificate": {10, 10, ""}, "ListCertificates": {8, 8, ""},
		"ListTagsForCertificate": {10, 10, ""},
		"AddTagsToCertificate":   {5, 5, ""}, "RemoveTagsFromCertificate": {5, 5, ""},
		"DeleteCertificate": {10, 10, ""},
	},
	"sns": {
		"ListTagsForResource": {10, 10, ""}, "TagResource": {10, 10, ""}, "UntagResource": {10, 10, ""},
		"ListTopics":        {30, 30, ""},
		"ListSubscriptions": {30, 30, ""}, "ListSubscriptionsByTopic": {30, 30, ""}, "Subscribe": {100, 100, ""},
		"Unsubscribe": {100, 100, ""},
	},
	"kms": {
		"CreateKey": {5, 5, ""}, "CreateAlias": {5, 5, ""}, "DeleteAlias": {15, 15, ""},
		"ScheduleKeyDeletion": {15, 15, ""}, "TagResource": {10, 10, ""},
		"UntagResource": {5, 5, ""}, "PutKeyPolicy": {15, 15, ""}, "EnableKeyRotation": {15, 15, ""},
		"UpdateKeyDescription": {5, 5, ""},
	},
	"dynamodb": {"TagResource": {5, 5, ""}, "UntagResource": {5, 5, ""}, "ListTagsOfResource": {10, 10, ""},
		"DescribeContinuousBackups": {10, 10, ""}},
	"logs": {
		"DescribeLogGroups": {10, 10, ""}, "CreateLogGroup": {10, 10, ""}, "PutRetentionPolicy": {10, 10, ""},
		"DeleteLogGroup":  {10, 10, ""},
		"AssociateKmsKey": {10, 10, ""}, "DisassociateKmsKey": {10, 10, ""}, "ListTagsForResource": {10, 10, ""},
	},
}

// quotaOf returns the bucket that a call takes from; false if no rate is documented.
func quotaOf(c Call) (quota, bool) {
	switch c.Service {
	case "route53": // "Quotas" of the Route 53 Developer Guide: five requests a second an account
		return quota{5, 5, "all"}, true
	case "ec2":
		return ec2Quota(c), true
	case "lambda": // "Lambda quotas", API requests: each GetFunction and GetPolicy, and the rest together
		switch _, path, _ := c.rest(); {
		case strings.HasPrefix(c.Action, "GET ") && strings.HasSuffix(path, "/policy"):
			return quota{15, 15, "GetPolicy"}, true
		case strings.HasPrefix(c.Action, "GET ") && strings.Count(strings.Trim(path, "/"), "/") == 2:
			return quota{100, 100, "GetFunction"}, true
		}
		return quota{15, 15, "control plane"}, true
	}
	q, known := quotas[c.Service][c.Action]
	return q, known
}

// ec2Quota is the bucket of an operation of EC2 ("Request throttling for the Amazon EC2 API":
// request token bucket sizes and refill rates by category). What tells an attribute of one
// object can neither be filtered nor paginated, and is none of the unfiltered ones.
func ec2Quota(c Call) quota {
	switch {
	case !aws.IsRead(c.Action):
		return quota{5, 50, ""}
	case !strings.HasSuffix(c.Action, "Attribute") && !strings.Contains(c.Body, "Filter.") &&
		c.Params.Get("MaxResults") == "" && !strings.Contains(c.Body, "Id.1="):
		return quota{10, 50, "unfiltered " + c.Action}
	}
	return quota{20, 100, ""}
}

// Apply implements [Rule].
func (r *Rates) Apply(c Call) faultproxy.Fault {
	r.calls.Add(1)
	q, known := quotaOf(c)
	if !known {
		return faultproxy.Fault{}
	}
	what := q.shared
	if what == "" {
		what = c.Action
	}
	key := c.Service + " " + c.Region + " " + what
	r.lock.Lock()
	if r.buckets == nil {
		r.buckets = map[string]*rate.Limiter{}
	}
	bucket := r.buckets[key]
	if bucket == nil {
		bucket = rate.NewLimiter(rate.Limit(q.perSecond), q.size)
		r.buckets[key] = bucket
	}
	r.lock.Unlock()
	if bucket.Allow() {
		return faultproxy.Fault{}
	}
	r.refuse(key)
	switch {
	case c.Service == "ec2":
		return refusal(503, "RequestLimitExceeded", "Request limit exceeded.")
	case c.Header.Get("X-Amz-Target") != "":
		return refusal(400, "ThrottlingException", "Rate exceeded")
	case c.Service == "lambda":
		return refusal(429, "TooManyRequestsException", "Rate exceeded")
	}
	return refusal(400, "Throttling", "Rate exceeded")
}

func (r *Rates) refuse(key string) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.refused == nil {
		r.refused = map[string]int{}
	}
	r.refused[key]++
}

// Refused returns how many calls each bucket refused.
func (r *Rates) Refused() map[string]int {
	r.lock.Lock()
	defer r.lock.Unlock()
	return maps.Clone(r.refused)
}

// Share returns how many calls there were, and which share of them was refused.
func (r *Rates) Share() (calls int64, refused float64) {
	calls = r.calls.Load()
	sum := 0
	for _, n := range r.Refused() {
		sum += n
	}
	return calls, float64(sum) / float64(max(1, calls))
}
