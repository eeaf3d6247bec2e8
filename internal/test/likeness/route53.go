package likeness

import (
	"fmt"
	"html"
	"strings"
	"time"

	"iasql/internal/test/faultproxy"
)

// DNS is Route 53 in time.
//
//   - A change of records is PENDING before it is INSYNC (ChangeInfo).
//   - While it works on a change of a zone it refuses others of that zone
//     (ChangeResourceRecordSets: PriorRequestNotComplete).
//   - Names come back with escape codes for all but a to z, 0 to 9, - . and _ ("DNS
//     domain name format" in the Route 53 Developer Guide): \052 for *, \057 for /.
//   - An alias needs its target: a record of the zone that it names, or a distribution
//     (ChangeResourceRecordSets: InvalidChangeBatch, "…, but that target was not found").
//
// It knows the records and the distributions that went through the same likeness.
type DNS struct {
	// Working is how long it works on a change.
	Working time.Duration
	memory
}

// cloudFrontZone is the zone of all distributions (AliasTarget, HostedZoneId).
const cloudFrontZone = "Z2FDTNDATAQYW2"

// recordChange is a change of records on its way.
type recordChange struct {
	Action string
	Set    struct {
		Name, Type  string
		AliasTarget *struct{ HostedZoneId, DNSName string }
	} `xml:"ResourceRecordSet"`
}

// changesOf reads what a call changes.
func changesOf(c Call) []recordChange {
	return parsed[struct {
		Changes []recordChange `xml:"ChangeBatch>Changes>Change"`
	}](c).Changes
}

// normalName is a DNS name without escape codes, in lower case, with a dot at the end.
func normalName(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		var code int
		if name[i] == '\\' && i+3 < len(name) {
			if _, err := fmt.Sscanf(name[i+1:i+4], "%03o", &code); err == nil {
				b.WriteByte(byte(code))
				i += 3
				continue
			}
		}
		b.WriteByte(name[i])
	}
	return strings.TrimSuffix(strings.ToLower(b.String()), ".") + "."
}

// escapedName is a DNS name as Route 53 answers it.
func escapedName(name string) string {
	var b strings.Builder
	for _, c := range []byte(normalName(name)) {
		if strings.IndexByte("abcdefghijklmnopqrstuvwxyz0123456789-._", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, `\%03o`, c)
		}
	}
	return b.String()
}

// Apply implements [Rule].
func (r *DNS) Apply(c Call) faultproxy.Fault {
	method, path, _ := c.rest()
	switch {
	case c.Service == "cloudfront" && strings.HasPrefix(path, strings.TrimSuffix(distributions, "/")):
		return learn(func(answer string) {
			if name := member(answer, "DomainName"); method == "POST" && name != "" {
				r.set("target "+cloudFrontZone+" "+normalName(name), "yes")
			}
		})
	case c.Service != "route53":
		return faultproxy.Fault{}
	}
	zone := tail(path, "/2013-04-01/hostedzone/")
	if !strings.HasSuffix(strings.TrimSuffix(path, "/"), "/rrset") {
		return faultproxy.Fault{}
	}
	if method == "GET" {
		return faultproxy.Fault{Rewrite: element("ResourceRecordSet", func(set string) string {
			return put(set, "Name", escaped(escapedName(member(set, "Name"))))
		})}
	}
	if r.young("working "+zone, r.Working) {
		return refusal(400, "PriorRequestNotComplete",
			"The request was rejected because Route 53 was still processing a prior request.")
	}
	changes := changesOf(c)
	for _, change := range changes {
		if missing := r.missing(zone, change); missing != "" {
			return refusal(400, "InvalidChangeBatch", "%s", missing)
		}
	}
	fault := rewrite(func(answer string) string {
		r.restart("working " + zone)
		r.changed(zone, changes)
		return put(answer, "Status", "PENDING")
	})
	if strings.Contains(c.Body, `\`) { // the emulator knows no escape codes
		fault.Instead = string(element("Name", func(name string) string {
			return put(name, "Name", escaped(normalName(html.UnescapeString(member(name, "Name")))))
		})([]byte(c.Body)))
	}
	return fault
}

// changed remembers which records there are.
func (r *DNS) changed(zone string, changes []recordChange) {
	for _, change := range changes {
		key := "target " + zone + " " + normalName(change.Set.Name)
		if change.Action == "DELETE" {
			r.forget(key)
		} else {
			r.set(key, "yes")
		}
	}
}

// missing says that the target of an alias is missing. Of targets in the zones of other
// services it knows distributions alone.
func (r *DNS) missing(zone string, change recordChange) string {
	alias := change.Set.AliasTarget
	if alias == nil || change.Action == "DELETE" || alias.HostedZoneId != zone &&
		alias.HostedZoneId != cloudFrontZone ||
		r.get("target "+alias.HostedZoneId+" "+normalName(alias.DNSName)) != "" {
		return ""
	}
	return fmt.Sprintf("[Tried to create an alias that targets %s, type %s in zone %s, but that target was not found]",
		normalName(alias.DNSName), change.Set.Type, alias.HostedZoneId)
}
