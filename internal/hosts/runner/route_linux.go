package runner

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// mainRoutes reads the unicast routes of the main table, those that the kernel makes of addresses left out.
func mainRoutes() ([]netlink.Route, error) {
	var all []netlink.Route
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		var some []netlink.Route
		err := again(func() (err error) {
			some, err = netlink.RouteListFiltered(family, &netlink.Route{Table: unix.RT_TABLE_MAIN},
				netlink.RT_FILTER_TABLE)
			return err
		})
		if err != nil {
			return nil, netFailure("read", "routes", err)
		}
		for _, r := range some {
			switch r.Protocol {
			case unix.RTPROT_KERNEL, unix.RTPROT_RA, unix.RTPROT_REDIRECT:
				continue
			}
			if r.Type != unix.RTN_UNICAST {
				continue
			}
			if r.Dst == nil {
				zero := "0.0.0.0/0"
				if family == netlink.FAMILY_V6 {
					zero = "::/0"
				}
				_, r.Dst, _ = net.ParseCIDR(zero)
			}
			all = append(all, r)
		}
	}
	return all, nil
}

func keyOfRoute(r *netlink.Route) string {
	p, _ := prefixOf(r.Dst)
	return strconv.Itoa(r.Priority) + "/" + p.String()
}

func readRoutes(t *tree, _ *selection, tell func(Route), unread func(string, error)) error {
	if err := t.networked(); err != nil {
		return err
	}
	n, err := readNetwork()
	if err != nil {
		return err
	}
	all, err := mainRoutes()
	if err != nil {
		return err
	}
	count := map[string]int{}
	for i := range all {
		count[keyOfRoute(&all[i])]++
	}
	told := map[string]bool{}
	for i := range all {
		r := &all[i]
		key := keyOfRoute(r)
		if told[key] {
			continue
		}
		told[key] = true
		if count[key] > 1 || len(r.MultiPath) > 0 {
			unread(key, &Failure{Refused, fmt.Sprintf("the route to %s of metric %d has several next hops", r.Dst,
				r.Priority)})
			continue
		}
		p, _ := prefixOf(r.Dst)
		gateway, through := "", ""
		if r.Gw != nil {
			gateway = r.Gw.String()
		}
		if l := n.byIndex[r.LinkIndex]; l != nil {
			through = l.Attrs().Name
		}
		tell(Route{int64(r.Priority), p.String(), &gateway, &through})
	}
	return nil
}

func changeRoute(_ *tree, now, want *Route) error {
	n, err := readNetwork()
	if err != nil {
		return err
	}
	merged := now
	if want != nil {
		merged = want
		if now != nil {
			merged = &Route{want.Metric, want.Destination, said(now.Gateway, want.Gateway),
				said(now.Interface, want.Interface)}
		}
	}
	p, err := netip.ParsePrefix(merged.Destination)
	if err != nil || p != p.Masked() {
		return &Failure{Refused, fmt.Sprintf("%q is no destination of a route, such as 10.0.0.0/8 or 0.0.0.0/0",
			merged.Destination)}
	}
	r := &netlink.Route{Dst: ipNet(p), Priority: int(merged.Metric), Table: unix.RT_TABLE_MAIN,
		Protocol: unix.RTPROT_STATIC,
		Family:   netlink.FAMILY_V4}
	if p.Addr().Is6() {
		r.Family = netlink.FAMILY_V6
	}
	if merged.Gateway != nil && *merged.Gateway != "" {
		gateway, err := netip.ParseAddr(*merged.Gateway)
		if err != nil {
			return &Failure{Refused, fmt.Sprintf("%q is no address of a gateway", *merged.Gateway)}
		}
		r.Gw = gateway.AsSlice()
	}
	if merged.Interface != nil && *merged.Interface != "" {
		l := n.links[*merged.Interface]
		if l == nil {
			return &Failure{NoParent, fmt.Sprintf("the route to %s waits for interface %q, which is not there",
				merged.Destination, *merged.Interface)}
		}
		r.LinkIndex = l.Attrs().Index
		if r.Gw == nil {
			r.Scope = netlink.SCOPE_LINK
		}
	} else if r.Gw == nil {
		return &Failure{Refused, fmt.Sprintf("the route to %s has neither a gateway nor an interface",
			merged.Destination)}
	}
	switch {
	case want == nil:
		r.Protocol = 0
		if err = netlink.RouteDel(r); errors.Is(err, unix.ESRCH) {
			err = nil
		}
	case now == nil:
		err = netlink.RouteAdd(r)
	case differs(now.Interface, merged.Interface) && p.Addr().Is6():
		// Of IPv6 one that leads through another interface is another route.
		if err = netlink.RouteAppend(r); err == nil {
			old, _ := routeOf(now, n)
			err = netlink.RouteDel(old)
		}
	default:
		err = netlink.RouteReplace(r)
	}
	return netFailure("route to", merged.Destination, err)
}

// routeOf returns a route as the kernel has it.
func routeOf(now *Route, n *network) (*netlink.Route, error) {
	p, err := netip.ParsePrefix(now.Destination)
	if err != nil {
		return nil, err
	}
	r := &netlink.Route{Dst: ipNet(p), Priority: int(now.Metric), Table: unix.RT_TABLE_MAIN}
	if l := n.links[*now.Interface]; l != nil {
		r.LinkIndex = l.Attrs().Index
	}
	return r, nil
}

// restoreRoutes puts back the routes that are missing, and the one that was changed.
func (k *keptNetwork) restoreRoutes() error {
	now, err := mainRoutes()
	if err != nil {
		return err
	}
	n, err := readNetwork()
	if err != nil {
		return err
	}
	// An interface that was made again has another number.
	for i := range k.Routes {
		if name, known := k.Names[k.Routes[i].LinkIndex]; known && n.links[name] != nil {
			k.Routes[i].LinkIndex = n.links[name].Attrs().Index
		}
	}
	var failed []error
	have, had := map[string]bool{}, map[string]bool{}
	for i := range k.Routes {
		had[spellRoute(&k.Routes[i])] = true
	}
	for i := range now {
		have[spellRoute(&now[i])] = true
		if k.Kind == KindRoute && keyOfRoute(&now[i]) == k.Changed && !had[spellRoute(&now[i])] {
			if err := netlink.RouteDel(&now[i]); err != nil && !errors.Is(err, unix.ESRCH) {
				failed = append(failed, err)
			}
		}
	}
	// Those without a gateway first: they may lead to the others' gateways.
	for _, direct := range []bool{true, false} {
		for i := range k.Routes {
			r := &k.Routes[i]
			if (r.Gw == nil) != direct || have[spellRoute(r)] {
				continue
			}
			r.Flags &^= unix.RTNH_F_DEAD | unix.RTNH_F_LINKDOWN
			if err := netlink.RouteAppend(r); err != nil && !errors.Is(err, unix.EEXIST) {
				failed = append(failed, fmt.Errorf("route to %s: %w", r.Dst, err))
			}
		}
	}
	return errors.Join(failed...)
}

// spellRoute tells routes apart.
func spellRoute(r *netlink.Route) string {
	return fmt.Sprintf("%s via %s dev %d %v", keyOfRoute(r), r.Gw, r.LinkIndex, r.MultiPath)
}
