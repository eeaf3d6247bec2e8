package likeness

import (
	"net/http"
	"strings"

	"iasql/internal/test/faultproxy"
)

// Creations are EC2's, of which the answer may be lost: a call that is repeated with its
// client token is answered as it was the first time ("Ensuring idempotency in Amazon EC2
// API requests" in the Amazon EC2 Developer Guide), and a set of DHCP options has the tags
// that it is created with (page CreateDhcpOptions). The emulator knows neither.
type Creations struct {
	// Endpoint is the emulator's.
	Endpoint string
	memory
}

// Apply implements [Rule].
func (r *Creations) Apply(c Call) faultproxy.Fault {
	token := c.Params.Get("ClientToken")
	switch {
	case c.Service != "ec2":
		return faultproxy.Fault{}
	case c.Action == "CreateDhcpOptions":
		return learn(func(answer string) { r.tag(c, member(answer, "dhcpOptionsId")) })
	case token == "":
		return faultproxy.Fault{}
	}
	key := c.Region + " " + c.Action + " " + token
	if body := r.get(key); body != "" {
		again := faultproxy.Answer{Status: http.StatusOK, Header: http.Header{"Content-Type": {"text/xml"}},
			Body: []byte(body)}
		return faultproxy.Fault{Answer: &again}
	}
	return learn(func(answer string) { r.set(key, answer) })
}

// tag gives an object the tags that its creation asks for.
func (r *Creations) tag(c Call, id string) {
	of := []string{"ResourceId.1", id}
	const within = "TagSpecification.1."
	for name := range c.Params {
		if tag, ok := strings.CutPrefix(name, within); ok && strings.HasPrefix(tag, "Tag.") {
			of = append(of, tag, c.Params.Get(name))
		}
	}
	if len(of) > 2 {
		emulator(r.Endpoint).query(c, "ec2", "CreateTags", of...)
	}
}
