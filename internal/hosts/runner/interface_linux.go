package runner

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// networking is held while the network is changed.
var networking sync.Mutex

func init() {
	kinds[KindInterface] = &things[Interface]{what: "interface", turn: &networking,
		key: func(i *Interface) string { return i.Name }, read: readInterfaces, difference: interfaceDifference,
		change: changeInterface}
	kinds[KindRoute] = &things[Route]{what: "route", turn: &networking, key: (*Route).Key,
		scoped: func(r *Route) string { return r.Destination }, read: readRoutes, difference: routeDifference,
		change: changeRoute}
	kinds[KindFirewall] = &things[Rule]{what: "firewall rule", turn: &networking,
		key: func(r *Rule) string { return r.Name }, read: readRules, difference: ruleDifference, change: changeRule}
}

// networked fails if a tree is no host's: a directory has no network.
func (t *tree) networked() error {
	if t.root != "/" {
		return &Failure{Refused, fmt.Sprintf("%q is a directory, and has no network of its own: delete its "+
			"host_scope of "+
			"the kinds interface, route and firewall", t.root)}
	}
	return nil
}

// netFailure says in words why the network is not as it is wanted.
func netFailure(what, name string, err error) error {
	var missing netlink.LinkNotFoundError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &missing):
		return &Failure{Gone, fmt.Sprintf("%s %q: %v", what, name, err)}
	case errors.Is(err, unix.ENETUNREACH), errors.Is(err, unix.EHOSTUNREACH):
		return &Failure{NoParent, fmt.Sprintf("%s %q: no address or route leads to its gateway", what, name)}
	case errors.Is(err, unix.ENETDOWN):
		return &Failure{NoParent, fmt.Sprintf("%s %q: its interface is down", what, name)}
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ERANGE), errors.Is(err, unix.EOPNOTSUPP),
		errors.Is(err, unix.EADDRNOTAVAIL), errors.Is(err, unix.EBUSY), errors.Is(err, unix.ELOOP):
		return &Failure{Invalid, fmt.Sprintf("%s %q: the kernel refuses it: %v", what, name, err)}
	}
	return failure(what, name, err)
}

// kindOfLink is what a kind of interface is called.
func kindOfLink(l netlink.Link) string {
	switch {
	case l.Attrs().Flags&net.FlagLoopback != 0:
		return "loopback"
	case l.Type() == "device":
		return "physical"
	}
	return l.Type()
}

// network is what there is of interfaces, by one look at all.
type network struct {
	links   map[string]netlink.Link
	byIndex map[int]netlink.Link
}

func readNetwork() (*network, error) {
	var links []netlink.Link
	err := again(func() (err error) { links, err = netlink.LinkList(); return err })
	if err != nil {
		return nil, netFailure("read", "interfaces", err)
	}
	n := &network{map[string]netlink.Link{}, map[int]netlink.Link{}}
	for _, l := range links {
		n.links[l.Attrs().Name], n.byIndex[l.Attrs().Index] = l, l
	}
	return n, nil
}

// describe returns an interface, and all addresses of it.
func (n *network) describe(l netlink.Link) (Interface, []netlink.Addr, error) {
	at := l.Attrs()
	up, mtu, master := at.Flags&net.FlagUp != 0, int64(at.MTU), ""
	if m := n.byIndex[at.MasterIndex]; m != nil {
		master = m.Attrs().Name
	}
	i := Interface{Name: at.Name, Kind: kindOfLink(l), Up: &up, MTU: &mtu, Master: &master,
		MAC: at.HardwareAddr.String()}
	if peer := n.byIndex[at.ParentIndex]; i.Kind == "veth" && peer != nil && peer.Type() == "veth" &&
		peer.Attrs().ParentIndex == at.Index {
		i.Peer = peer.Attrs().Name
	}
	var addresses []netlink.Addr
	err := again(func() (err error) { addresses, err = netlink.AddrList(l, netlink.FAMILY_ALL); return err })
	if err != nil {
		return i, nil, netFailure("read the addresses of interface", at.Name, err)
	}
	has := []string{}
	kept := addresses[:0]
	for _, a := range addresses {
		p, ok := prefixOf(a.IPNet)
		if !ok || p.Addr().Is6() && p.Addr().IsLinkLocalUnicast() { // of the kernel's own making
			continue
		}
		kept = append(kept, a)
		if a.Flags&unix.IFA_F_PERMANENT != 0 {
			has = append(has, p.String())
		}
	}
	slices.Sort(has)
	i.Has = &has
	return i, kept, nil
}

func prefixOf(n *net.IPNet) (netip.Prefix, bool) {
	if n == nil {
		return netip.Prefix{}, false
	}
	a, ok := netip.AddrFromSlice(n.IP)
	bits, _ := n.Mask.Size()
	return netip.PrefixFrom(a.Unmap(), bits), ok
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

func readInterfaces(t *tree, of *selection, tell func(Interface), unread func(string, error)) error {
	if err := t.networked(); err != nil {
		return err
	}
	n, err := readNetwork()
	if err != nil {
		return err
	}
	for name, l := range n.links {
		if !of.has(name, name) {
			continue
		}
		i, _, err := n.describe(l)
		if err != nil {
			unread(name, err)
			continue
		}
		tell(i)
	}
	return nil
}

func changeInterface(t *tree, now, want *Interface) error {
	n, err := readNetwork()
	if err != nil {
		return err
	}
	if want == nil {
		switch now.Kind {
		case "physical", "loopback":
			return &Failure{Refused, fmt.Sprintf("interface %q is %s, and cannot be deleted: let go of its record by "+
				"iasql_forget, or set up to false", now.Name, now.Kind)}
		}
		return netFailure("delete interface", now.Name, netlink.LinkDel(n.links[now.Name]))
	}
	created := now == nil
	if created {
		if now, err = makeInterface(n, want); err != nil {
			return err
		}
	}
	l, err := netlink.LinkByName(want.Name)
	if err == nil {
		err = fitInterface(l, now, want, n)
	}
	if err != nil && created { // half made it would be taken for somebody's own
		if l != nil {
			_ = netlink.LinkDel(l)
		}
	}
	return netFailure("change interface", want.Name, err)
}

// makeInterface makes an interface that is as the kernel makes it.
func makeInterface(n *network, want *Interface) (*Interface, error) {
	if want.Master != nil && *want.Master != "" && n.links[*want.Master] == nil {
		return nil, noBridge(want)
	}
	attributes := netlink.NewLinkAttrs()
	attributes.Name = want.Name
	var l netlink.Link
	switch want.Kind {
	case "bridge":
		l = &netlink.Bridge{LinkAttrs: attributes}
	case "veth":
		if want.Peer == "" {
			return nil, &Failure{Refused, fmt.Sprintf("veth %q has no peer: a veth has two ends", want.Name)}
		}
		if n.links[want.Peer] != nil {
			return nil, &Failure{Invalid, fmt.Sprintf("the peer %q of veth %q is there already: it comes with the veth",
				want.Peer, want.Name)}
		}
		l = &netlink.Veth{LinkAttrs: attributes, PeerName: want.Peer}
	default:
		return nil, &Failure{Refused, fmt.Sprintf("an interface of kind %q cannot be made: bridge and veth can",
			want.Kind)}
	}
	if err := netlink.LinkAdd(l); err != nil {
		return nil, netFailure("create interface", want.Name, err)
	}
	made, err := readNetwork()
	if err != nil {
		return nil, err
	}
	there := made.links[want.Name]
	if there == nil {
		return nil, &Failure{Gone, fmt.Sprintf("interface %q is gone as soon as it is made", want.Name)}
	}
	now, _, err := made.describe(there)
	return &now, err
}

func noBridge(want *Interface) error {
	return &Failure{NoParent, fmt.Sprintf("interface %q waits for its master %q, which is not there", want.Name,
		*want.Master)}
}

// fitInterface changes what is not as it is wanted.
func fitInterface(l netlink.Link, now, want *Interface, n *network) error {
	if want.MTU != nil && differs(now.MTU, want.MTU) {
		if err := netlink.LinkSetMTU(l, int(*want.MTU)); err != nil {
			return err
		}
	}
	if want.Master != nil && differs(now.Master, want.Master) {
		if *want.Master == "" {
			if err := netlink.LinkSetNoMaster(l); err != nil {
				return err
			}
		} else {
			master := n.links[*want.Master]
			if master == nil {
				return noBridge(want)
			}
			if err := netlink.LinkSetMaster(l, master); err != nil {
				return err
			}
		}
	}
	if want.Has != nil {
		if err := fitAddresses(l, *now.Has, *want.Has); err != nil {
			return err
		}
	}
	if want.Up != nil && differs(now.Up, want.Up) {
		if *want.Up {
			return netlink.LinkSetUp(l)
		}
		return netlink.LinkSetDown(l)
	}
	return nil
}

// fitAddresses adds what is missing before it removes what is too much: the interface has always some.
func fitAddresses(l netlink.Link, now, want []string) error {
	now, want = spelt(now), spelt(want)
	for _, text := range want {
		if slices.Contains(now, text) {
			continue
		}
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return &Failure{Refused, fmt.Sprintf("%q is no address with the length of its network, such as "+
				"192.0.2.7/24",
				text)}
		}
		if err := netlink.AddrAdd(l, &netlink.Addr{IPNet: ipNet(p)}); err != nil && !errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("address %s: %w", text, err)
		}
	}
	for _, text := range now {
		if slices.Contains(want, text) {
			continue
		}
		p, err := netip.ParsePrefix(text)
		if err == nil {
			err = netlink.AddrDel(l, &netlink.Addr{IPNet: ipNet(p)})
		}
		// One that goes may have others of its network go along.
		if err != nil && !errors.Is(err, unix.EADDRNOTAVAIL) {
			return fmt.Errorf("address %s: %w", text, err)
		}
	}
	// So all are added again.
	for _, text := range want {
		if p, err := netip.ParsePrefix(text); err == nil {
			if err := netlink.AddrAdd(l, &netlink.Addr{IPNet: ipNet(p)}); err != nil && !errors.Is(err, unix.EEXIST) {
				return fmt.Errorf("address %s: %w", text, err)
			}
		}
	}
	return nil
}

// keptNetwork is what an armed change of the network leaves to put back: all that it may have taken along.
type keptNetwork struct {
	Links  []keptLink      `json:"links"`
	Routes []netlink.Route `json:"routes"`
	Rules  []Rule          `json:"rules"`
	Names  map[int]string  `json:"names"` // of interfaces, by their numbers
	// What is changed: its kind, and its name or key.
	Kind    string `json:"kind"`
	Changed string `json:"changed"`
	Peer    string `json:"peer,omitempty"`
}

type keptLink struct {
	Interface
	Addresses []keptAddress `json:"all,omitempty"`
}

type keptAddress struct {
	Prefix           string
	Label, Broadcast string
	Flags, Scope     int
	Valid, Preferred int
}

// keepNetwork returns what a change of a kind may take along; nil of other kinds.
func keepNetwork(t *tree, c *Change) (*keptNetwork, error) {
	kept := &keptNetwork{Kind: c.Kind}
	item := c.Want
	if item == nil {
		item = c.Have
	}
	switch c.Kind {
	case KindInterface:
		i, err := decoded[Interface](item)
		if err != nil || i == nil {
			return nil, err
		}
		kept.Changed, kept.Peer = i.Name, i.Peer
	case KindRoute:
		r, err := decoded[Route](item)
		if err != nil || r == nil {
			return nil, err
		}
		kept.Changed = r.Key()
	case KindFirewall:
	default:
		return nil, nil
	}
	if err := t.networked(); err != nil {
		return nil, err
	}
	var err error
	if kept.Kind == KindFirewall {
		kept.Rules, err = ownRules()
		return kept, err
	}
	n, err := readNetwork()
	if err != nil {
		return nil, err
	}
	kept.Names = map[int]string{}
	for _, l := range n.links {
		kept.Names[l.Attrs().Index] = l.Attrs().Name
		i, addresses, err := n.describe(l)
		if err != nil {
			return nil, err
		}
		kept.Links = append(kept.Links, keptLink{i, keepAddresses(addresses)})
	}
	kept.Routes, err = mainRoutes()
	return kept, err
}

func keepAddresses(addresses []netlink.Addr) (all []keptAddress) {
	for _, a := range addresses {
		p, _ := prefixOf(a.IPNet)
		k := keptAddress{Prefix: p.String(), Label: a.Label, Flags: a.Flags, Scope: a.Scope, Valid: a.ValidLft,
			Preferred: a.PreferedLft}
		if a.Broadcast != nil {
			k.Broadcast = a.Broadcast.String()
		}
		all = append(all, k)
	}
	return all
}

// restore puts back what the change, and what it took along, have changed, and leaves all else alone.
func (k *keptNetwork) restore() error {
	networking.Lock()
	defer networking.Unlock()
	if k.Kind == KindFirewall {
		return setRules(k.Rules)
	}
	n, err := readNetwork()
	if err != nil {
		return err
	}
	var failed []error
	if k.Kind == KindInterface {
		failed = append(failed, k.restoreLinks(n))
	}
	failed = append(failed, k.restoreRoutes())
	return errors.Join(failed...)
}

func (k *keptNetwork) restoreLinks(n *network) error {
	var failed []error
	was := map[string]*keptLink{}
	for i := range k.Links {
		was[k.Links[i].Name] = &k.Links[i]
	}
	// What the change has made goes, and what it has deleted comes back.
	if l := n.links[k.Changed]; l != nil && was[k.Changed] == nil {
		failed = append(failed, netlink.LinkDel(l))
	}
	if w := was[k.Changed]; w != nil && n.links[k.Changed] == nil {
		attributes := netlink.NewLinkAttrs()
		attributes.Name = w.Name
		attributes.HardwareAddr, _ = net.ParseMAC(w.MAC)
		switch {
		case w.Kind == "bridge":
			failed = append(failed, netlink.LinkAdd(&netlink.Bridge{LinkAttrs: attributes}))
		case w.Kind == "veth" && w.Peer != "":
			failed = append(failed, netlink.LinkAdd(&netlink.Veth{LinkAttrs: attributes, PeerName: w.Peer}))
		default:
			failed = append(failed, fmt.Errorf("interface %s of kind %s cannot be made again", w.Name, w.Kind))
		}
	}
	n, err := readNetwork()
	if err != nil {
		return errors.Join(append(failed, err)...)
	}
	peer := k.Peer
	if w := was[k.Changed]; w != nil {
		peer = w.Peer
	}
	for _, w := range k.Links {
		l := n.links[w.Name]
		if l == nil || w.Name != k.Changed && w.Name != peer && *w.Master != k.Changed {
			continue
		}
		now, addresses, err := n.describe(l)
		if err == nil {
			err = w.restore(l, &now, addresses, n)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("interface %s: %w", w.Name, err))
		}
	}
	return errors.Join(failed...)
}

func (w *keptLink) restore(l netlink.Link, now *Interface, addresses []netlink.Addr, n *network) error {
	want := Interface{Name: w.Name, MTU: w.MTU, Master: w.Master, Up: w.Up}
	failed := []error{fitInterface(l, now, &want, n)}
	had := map[string]bool{}
	for _, a := range w.Addresses {
		had[a.Prefix] = true
	}
	for i := range addresses {
		if p, _ := prefixOf(addresses[i].IPNet); !had[p.String()] {
			if err := netlink.AddrDel(l, &addresses[i]); err != nil && !errors.Is(err, unix.EADDRNOTAVAIL) {
				failed = append(failed, err)
			}
		}
	}
	for _, a := range w.Addresses {
		p, err := netip.ParsePrefix(a.Prefix)
		if err != nil {
			continue
		}
		address := &netlink.Addr{IPNet: ipNet(p), Label: a.Label, Scope: a.Scope, ValidLft: a.Valid,
			PreferedLft: a.Preferred, Flags: a.Flags &^ (unix.IFA_F_PERMANENT | unix.IFA_F_TENTATIVE)}
		if strings.TrimPrefix(a.Label, w.Name) == a.Label {
			address.Label = ""
		}
		if a.Flags&unix.IFA_F_PERMANENT != 0 {
			address.ValidLft, address.PreferedLft = 0, 0
		}
		if b := net.ParseIP(a.Broadcast); b != nil {
			address.Broadcast = b
		}
		if err := netlink.AddrReplace(l, address); err != nil {
			failed = append(failed, fmt.Errorf("address %s: %w", a.Prefix, err))
		}
	}
	return errors.Join(failed...)
}
