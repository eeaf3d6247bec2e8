package likeness

import (
	"strings"
	"time"

	"iasql/internal/test/faultproxy"
)

// Distributions are CloudFront's distributions in time.
//
//   - A new or changed one is InProgress for minutes, and then Deployed (Distribution,
//     Status).
//   - It is deleted only when it has been disabled everywhere (DeleteDistribution:
//     DistributionNotDisabled).
//   - An alternate domain name is one distribution's alone (CreateDistribution:
//     CNAMEAlreadyExists).
//   - An origin access control that a distribution uses is not deleted
//     (DeleteOriginAccessControl: OriginAccessControlInUse).
type Distributions struct {
	// Deploying is how long a change takes.
	Deploying time.Duration
	memory
}

// distributions is where the API has distributions.
const distributions = "/2020-05-31/distribution/"

// distributionConfig is what a distribution is to be.
type distributionConfig struct {
	Enabled string
	Aliases []string `xml:"Aliases>Items>CNAME"`
	Origins []string `xml:"Origins>Items>Origin>OriginAccessControlId"`
}

// Apply implements [Rule].
func (r *Distributions) Apply(c Call) faultproxy.Fault {
	if c.Service != "cloudfront" {
		return faultproxy.Fault{}
	}
	method, path, query := c.rest()
	if control := tail(path, "/2020-05-31/origin-access-control/"); control != "" && method == "DELETE" &&
		r.uses("access ", control, "") {
		return refusal(409, "OriginAccessControlInUse",
			"Cannot delete the origin access control because it's in use by one or more distributions.")
	}
	if !strings.HasPrefix(path, strings.TrimSuffix(distributions, "/")) {
		return faultproxy.Fault{}
	}
	id := tail(path, distributions)
	switch method {
	case "GET":
		if id == "" {
			return faultproxy.Fault{Rewrite: element("DistributionSummary", r.show)}
		}
		return rewrite(r.show)
	case "DELETE":
		if r.get("enabled "+id) == "true" || r.young("deploying "+id, r.Deploying) {
			return refusal(409, "DistributionNotDisabled",
				"The distribution you are trying to delete has not been disabled.")
		}
		return learn(func(string) {
			for _, what := range []string{"enabled ", "names ", "access "} {
				r.forget(what + id)
			}
		})
	}
	config := parsed[distributionConfig](c)
	if query.Has("WithTags") {
		config = parsed[struct {
			Config distributionConfig `xml:"DistributionConfig"`
		}](c).Config
	}
	for _, name := range config.Aliases {
		if r.uses("names ", name, id) {
			return refusal(409, "CNAMEAlreadyExists",
				"One or more of the CNAMEs you provided are already associated with a different resource.")
		}
	}
	return rewrite(func(answer string) string {
		id := member(answer, "Id")
		r.restart("deploying " + id)
		r.set("enabled "+id, config.Enabled)
		r.set("names "+id, " "+strings.Join(config.Aliases, " ")+" ")
		r.set("access "+id, " "+strings.Join(config.Origins, " ")+" ")
		return r.show(answer)
	})
}

// uses reports whether a distribution other than one uses something.
func (r *Distributions) uses(what, name, other string) bool {
	r.lock.Lock()
	defer r.lock.Unlock()
	for key, text := range r.texts {
		if strings.HasPrefix(key, what) && key != what+other && strings.Contains(text, " "+name+" ") {
			return true
		}
	}
	return false
}

// show is what a distribution says of itself now.
func (r *Distributions) show(text string) string {
	if r.young("deploying "+member(text, "Id"), r.Deploying) {
		return put(text, "Status", "InProgress")
	}
	return put(text, "Status", "Deployed")
}
