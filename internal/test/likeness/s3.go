package likeness

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
	"time"

	"iasql/internal/test/faultproxy"
)

// Buckets are S3's buckets in time.
//
//   - The name of a bucket is not free at once after its deletion (CreateBucket:
//     OperationAborted, "Error responses" in the Amazon S3 API Reference; "Deleting a
//     general purpose bucket" in the Amazon S3 User Guide).
//   - The listing of buckets lags behind: a deleted bucket is in it for a while ("Amazon
//     S3 data consistency model" in the User Guide: bucket configurations have an
//     eventual consistency model).
//   - A policy comes back otherwise than it was sent: an account's number is the ARN of
//     its root ("AWS JSON policy elements: Principal" in the IAM User Guide), and
//     principals are in an order of S3's.
type Buckets struct {
	// Deleting is how long a name is taken after a deletion, Listing how long listings lag.
	Deleting, Listing time.Duration
	memory
}

// bucketOf returns the bucket that a call of S3 names in its path; key is what follows.
func bucketOf(path string) (bucket, key string) {
	bucket, key, _ = strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return bucket, key
}

// Apply implements [Rule].
func (r *Buckets) Apply(c Call) faultproxy.Fault {
	if c.Service != "s3" {
		return faultproxy.Fault{}
	}
	method, path, query := c.rest()
	query.Del("x-id")
	bucket, key := bucketOf(path)
	switch {
	case key != "":
	case method == "GET" && bucket == "":
		return rewrite(func(answer string) string { return r.listing(answer, query.Get("prefix")) })
	case method == "PUT" && len(query) == 0 && r.young("deleted "+bucket, r.Deleting):
		return refusal(409, "OperationAborted",
			"A conflicting conditional operation is currently in progress against this resource. Please try again.")
	case method == "PUT" && len(query) == 0:
		return learn(func(string) { r.forget("deleted " + bucket) })
	case method == "DELETE" && len(query) == 0:
		return learn(func(string) { r.restart("deleted " + bucket) })
	case method == "GET" && query.Has("policy"):
		return rewrite(normalPolicy)
	}
	return faultproxy.Fault{}
}

// listing adds the buckets that have just been deleted.
func (r *Buckets) listing(answer, prefix string) string {
	r.lock.Lock()
	defer r.lock.Unlock()
	for key, at := range r.times {
		name := strings.TrimPrefix(key, "deleted ")
		if time.Since(at) < r.Listing && strings.HasPrefix(name, prefix) &&
			!strings.Contains(answer, "<Name>"+name+"</Name>") {
			answer = strings.Replace(answer, "</Buckets>", fmt.Sprintf(
				"<Bucket><Name>%s</Name><CreationDate>2025-01-01T00:00:00.000Z</CreationDate></Bucket></Buckets>",
				name), 1)
		}
	}
	return answer
}

// normalPolicy is a policy as AWS keeps it.
func normalPolicy(text string) string {
	var policy map[string]any
	if json.Unmarshal([]byte(text), &policy) != nil {
		return text
	}
	statements, ok := policy["Statement"].([]any)
	if !ok {
		statements = []any{policy["Statement"]}
	}
	for _, one := range statements {
		statement, _ := one.(map[string]any)
		principal, ok := statement["Principal"].(map[string]any)
		if !ok {
			continue
		}
		for kind, who := range principal {
			principal[kind] = normalPrincipals(kind, who)
		}
	}
	policy["Statement"] = statements
	changed, err := json.Marshal(policy)
	if err != nil {
		return text
	}
	return string(changed)
}

// normalPrincipals are principals of one kind as AWS keeps them.
func normalPrincipals(kind string, who any) any {
	list, ok := who.([]any)
	if !ok {
		list = []any{who}
	}
	var names []string
	for _, one := range list {
		name, _ := one.(string)
		if kind == "AWS" && len(name) == 12 && strings.Trim(name, "0123456789") == "" {
			name = "arn:aws:iam::" + name + ":root"
		}
		names = append(names, name)
	}
	if len(names) == 1 {
		return names[0]
	}
	slices.Sort(names)
	slices.Reverse(names) // any order but that in which they were sent
	return names
}

// escaped is a text as it stands in XML.
func escaped(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text))
	return b.String()
}
