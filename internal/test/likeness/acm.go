package likeness

import (
	"strings"
	"time"

	"iasql/internal/test/faultproxy"
)

// Certificates are ACM's certificates in time.
//
//   - Some seconds after a request the answers do not tell the records by which it is
//     validated (RequestCertificate: "there is a delay of several seconds before you can
//     retrieve information about the new certificate").
//   - A certificate is PENDING_VALIDATION until the CNAME record of each of its domains
//     has been in Route 53 for a while ("DNS validation" in the ACM User Guide); it has
//     no dates until it is ISSUED (CertificateDetail).
//   - CloudFront refuses one that is not issued (CreateDistribution:
//     InvalidViewerCertificate).
//   - One that a distribution or a listener uses is not deleted (DeleteCertificate:
//     ResourceInUseException).
//
// It sees the validation records that go through the same likeness.
type Certificates struct {
	// Telling is how long the records are not told, Validating how long validation takes.
	Telling, Validating time.Duration
	// Elsewhere is a domain whose DNS is not the account's, and where somebody puts the
	// records at once.
	Elsewhere string
	memory
}

// Apply implements [Rule].
func (r *Certificates) Apply(c Call) faultproxy.Fault {
	switch c.Service {
	case "acm":
		return r.acm(c)
	case "route53":
		if _, path, _ := c.rest(); strings.HasSuffix(strings.TrimSuffix(path, "/"), "/rrset") {
			return learn(func(string) { r.records(changesOf(c)) })
		}
	case "cloudfront":
		return r.distribution(c)
	case "elasticloadbalancing":
		return r.listener(c)
	}
	return faultproxy.Fault{}
}

func (r *Certificates) acm(c Call) faultproxy.Fault {
	arn := c.said("CertificateArn")
	switch c.Action {
	case "RequestCertificate":
		return faultproxy.Fault{Rewrite: document(func(answer map[string]any) {
			made, _ := answer["CertificateArn"].(string)
			r.begin("requested " + made)
		})}
	case "DescribeCertificate":
		return faultproxy.Fault{Rewrite: document(func(answer map[string]any) {
			if certificate, ok := answer["Certificate"].(map[string]any); ok {
				r.show(arn, certificate)
			}
		})}
	case "DeleteCertificate":
		if user := r.get("used " + arn); user != "" {
			return refusal(400, "ResourceInUseException", "Certificate %s is in use.", arn)
		}
	}
	return faultproxy.Fault{}
}

// records notes when validation records came and went.
func (r *Certificates) records(changes []recordChange) {
	for _, change := range changes {
		if change.Set.Type != "CNAME" {
			continue
		}
		key := "record " + normalName(change.Set.Name)
		if change.Action == "DELETE" {
			r.forget(key)
		} else {
			r.begin(key)
		}
	}
}

// show is what a certificate says of itself now. One that was imported says what it said.
func (r *Certificates) show(arn string, certificate map[string]any) {
	if certificate["Type"] == "IMPORTED" {
		return
	}
	domains, _ := certificate["DomainValidationOptions"].([]any)
	issued := true
	for _, one := range domains {
		domain, _ := one.(map[string]any)
		record, _ := domain["ResourceRecord"].(map[string]any)
		name, _ := record["Name"].(string)
		since, there := r.since("record " + normalName(name))
		valid := there && since >= r.Validating || r.Elsewhere != "" &&
			strings.HasSuffix(normalName(name), "."+r.Elsewhere+".") && !r.young("requested "+arn, r.Validating)
		domain["ValidationStatus"] = "PENDING_VALIDATION"
		if valid {
			domain["ValidationStatus"] = "SUCCESS"
		}
		issued = issued && valid
		if r.young("requested "+arn, r.Telling) {
			delete(domain, "ResourceRecord")
		}
	}
	if issued || r.get("issued "+arn) != "" {
		r.set("issued "+arn, "yes")
		certificate["Status"] = "ISSUED"
	} else {
		certificate["Status"] = "PENDING_VALIDATION"
		for _, member := range []string{"NotBefore", "NotAfter", "IssuedAt", "Serial"} {
			delete(certificate, member)
		}
	}
	certificate["InUseBy"] = []string{}
	if user := r.get("used " + arn); user != "" {
		certificate["InUseBy"] = []string{user}
	}
}

// distribution looks at the certificates of distributions.
func (r *Certificates) distribution(c Call) faultproxy.Fault {
	method, path, _ := c.rest()
	id := tail(path, distributions)
	arn := member(c.Body, "ACMCertificateArn")
	switch {
	case method == "DELETE" && id != "":
		return learn(func(string) { r.unuse(id) })
	case method != "POST" && method != "PUT" || !strings.HasPrefix(path, strings.TrimSuffix(distributions, "/")):
	case arn != "" && r.get("issued "+arn) == "" && r.known(arn):
		return refusal(400, "InvalidViewerCertificate",
			"The specified SSL certificate doesn't exist, isn't in us-east-1 region, isn't valid, or doesn't include "+
				"a valid certificate chain.")
	default:
		return learn(func(answer string) {
			id := member(answer, "Id")
			r.unuse(id)
			if arn != "" {
				r.set("used "+arn, "arn:aws:cloudfront::"+id)
			}
		})
	}
	return faultproxy.Fault{}
}

// known reports whether a certificate was requested here.
func (r *Certificates) known(arn string) bool {
	_, requested := r.since("requested " + arn)
	return requested
}

// unuse notes that something uses no certificate any more.
func (r *Certificates) unuse(user string) {
	r.lock.Lock()
	defer r.lock.Unlock()
	for key, by := range r.texts {
		if strings.HasPrefix(key, "used ") && user != "" && strings.Contains(by, user) {
			delete(r.texts, key)
		}
	}
}

// listener looks at the certificates of listeners.
func (r *Certificates) listener(c Call) faultproxy.Fault {
	arn := c.Params.Get("Certificates.member.1.CertificateArn")
	switch c.Action {
	case "CreateListener", "ModifyListener":
		if arn != "" && r.get("issued "+arn) == "" && r.known(arn) {
			return refusal(400, "UnsupportedCertificate",
				"The certificate '%s' must have a fully-qualified domain name, a supported signature, and a "+
					"supported RSA key size.", arn)
		}
		return learn(func(answer string) {
			listener := member(answer, "ListenerArn")
			r.unuse(listener)
			if arn != "" {
				r.set("used "+arn, listener)
			}
		})
	case "DeleteListener":
		return learn(func(string) { r.unuse(c.Params.Get("ListenerArn")) })
	case "DeleteLoadBalancer": // with its listeners
		_, balancer, _ := strings.Cut(c.Params.Get("LoadBalancerArn"), ":loadbalancer/")
		return learn(func(string) { r.unuse(":listener/" + balancer + "/") })
	}
	return faultproxy.Fault{}
}
