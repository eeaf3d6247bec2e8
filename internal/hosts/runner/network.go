package runner

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// The kinds of what a host's network is made of.
const (
	KindInterface = "interface"
	KindRoute     = "route"
	KindFirewall  = "firewall"
)

// Interface is a network interface. What is nil is not said.
type Interface struct {
	Name string `json:"name"`
	Kind string `json:"kind,omitempty"` // physical, or what ip-link(8) calls the type
	// Peer is the other end of a veth, if that is in the same namespace.
	Peer   string    `json:"peer,omitempty"`
	Up     *bool     `json:"up,omitempty"`
	MTU    *int64    `json:"mtu,omitempty"`
	Master *string   `json:"master,omitempty"` // the bridge that it is joined to; "": none
	MAC    string    `json:"mac,omitempty"`
	Has    *[]string `json:"addresses,omitempty"` // those that were not assigned by the network
}

// Route is a unicast route of the main table that is not of the kernel's own making. What is nil is not said.
type Route struct {
	Metric      int64   `json:"metric"`
	Destination string  `json:"destination"`
	Gateway     *string `json:"gateway,omitempty"` // "": none
	Interface   *string `json:"interface,omitempty"`
}

// Key names a route.
func (r *Route) Key() string { return strconv.FormatInt(r.Metric, 10) + "/" + r.Destination }

// Rule is a rule of the table inet iasql of nftables, which no others are looked at beside. What is nil is not said,
// and what is empty is not asked of a packet.
type Rule struct {
	Name        string    `json:"name"`
	Chain       *string   `json:"chain,omitempty"` // input, forward or output
	Position    *int64    `json:"position,omitempty"`
	Interface   *string   `json:"interface,omitempty"` // by which it comes; in the chain output: goes
	States      *[]string `json:"states,omitempty"`
	Source      *string   `json:"source,omitempty"`
	Destination *string   `json:"destination,omitempty"`
	Protocol    *string   `json:"protocol,omitempty"`
	Port        *string   `json:"port,omitempty"`
	Action      *string   `json:"action,omitempty"`
}

// SameAddresses reports whether two lists have the same addresses, however they are spelt.
func SameAddresses(a, b []string) bool {
	return slices.Equal(spelt(a), spelt(b))
}

func spelt(list []string) []string {
	all := make([]string, len(list))
	for i, text := range list {
		all[i] = text
		if p, err := netip.ParsePrefix(text); err == nil {
			all[i] = p.String()
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// differs reports whether what is said is not so.
func differs[T comparable](now, said *T) bool { return said != nil && (now == nil || *now != *said) }

// said returns the new value if there is one, else the old.
func said[T any](now, want *T) *T {
	if want != nil {
		return want
	}
	return now
}

func interfaceDifference(now, said *Interface) string {
	switch {
	case said.Kind != "" && now.Kind != said.Kind:
		return "kind"
	case said.Peer != "" && now.Peer != said.Peer:
		return "peer"
	case differs(now.Up, said.Up):
		return "up"
	case differs(now.MTU, said.MTU):
		return "mtu"
	case differs(now.Master, said.Master):
		return "master"
	case said.Has != nil && (now.Has == nil || !SameAddresses(*now.Has, *said.Has)):
		return "addresses"
	}
	return ""
}

func routeDifference(now, said *Route) string {
	switch {
	case differs(now.Gateway, said.Gateway):
		return "gateway"
	case differs(now.Interface, said.Interface):
		return "interface"
	}
	return ""
}

func ruleDifference(now, said *Rule) string {
	for _, c := range []struct {
		what      string
		now, said *string
	}{{"chain", now.Chain, said.Chain}, {"interface", now.Interface, said.Interface}, {"source", now.Source,
		said.Source},
		{"destination", now.Destination, said.Destination}, {"protocol", now.Protocol, said.Protocol},
		{"port", now.Port, said.Port}, {"action", now.Action, said.Action}} {
		if differs(c.now, c.said) {
			return c.what
		}
	}
	switch {
	case differs(now.Position, said.Position):
		return "position"
	case said.States != nil && (now.States == nil || !sameSet(*now.States, *said.States)):
		return "states"
	}
	return ""
}

func sameSet(a, b []string) bool {
	return slices.Equal(slices.Compact(slices.Sorted(slices.Values(a))),
		slices.Compact(slices.Sorted(slices.Values(b))))
}

// comment is that of a rule, by which it is known: its position and its name.
func (r *Rule) comment() string { return strconv.FormatInt(*r.Position, 10) + " " + r.Name }

// named reads a rule's name and position from its comment, and reports whether they are there.
func (r *Rule) named(comment string) bool {
	position, name, ok := strings.Cut(comment, " ")
	n, err := strconv.ParseInt(position, 10, 32)
	if !ok || err != nil || name == "" {
		return false
	}
	r.Position, r.Name = &n, name
	return true
}
