package runner

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"github.com/google/nftables/userdata"
	"golang.org/x/sys/unix"
)

// own is the table that is ours; no other is looked at.
var own = &nftables.Table{Name: "iasql", Family: nftables.TableFamilyINet}

// hooks are where the chains of the table stand.
var hooks = map[string]*nftables.ChainHook{"input": nftables.ChainHookInput, "forward": nftables.ChainHookForward,
	"output": nftables.ChainHookOutput}

// protocols are those of a rule, by their numbers.
var protocols = map[string]byte{"tcp": unix.IPPROTO_TCP, "udp": unix.IPPROTO_UDP, "icmp": unix.IPPROTO_ICMP,
	"icmpv6": unix.IPPROTO_ICMPV6}

// states are those of connections, by their bits.
var states = map[string]uint32{"new": expr.CtStateBitNEW, "established": expr.CtStateBitESTABLISHED,
	"related": expr.CtStateBitRELATED, "invalid": expr.CtStateBitINVALID}

// rejected is the answer to what is rejected: that nobody listens.
var rejected = &expr.Reject{Type: unix.NFT_REJECT_ICMPX_UNREACH, Code: unix.NFT_REJECT_ICMPX_PORT_UNREACH}

// found is a rule of the table as it is there.
type found struct {
	Rule
	handle uint64
	err    error // why it cannot be shown
}

// foundRules reads the rules that have a name, chain by chain, in the order in which they are asked.
func foundRules(c *nftables.Conn) (map[string][]found, error) {
	tables, err := c.ListTablesOfFamily(own.Family)
	if err != nil {
		return nil, netFailure("read", "nftables", err)
	}
	all := map[string][]found{}
	if !slices.ContainsFunc(tables, func(t *nftables.Table) bool { return t.Name == own.Name }) {
		return all, nil
	}
	chains, err := c.ListChainsOfTableFamily(own.Family)
	if err != nil {
		return nil, netFailure("read", "nftables", err)
	}
	for _, chain := range chains {
		if chain.Table.Name != own.Name || hooks[chain.Name] == nil {
			continue
		}
		rules, err := c.GetRules(own, chain)
		if err != nil {
			return nil, netFailure("read", "nftables", err)
		}
		for _, r := range rules {
			f := found{handle: r.Handle}
			comment, ok := userdata.GetString(r.UserData, userdata.TypeComment)
			if !ok || !f.named(comment) {
				continue
			}
			name := chain.Name
			f.Chain = &name
			f.err = f.decode(r.Exprs)
			all[name] = append(all[name], f)
		}
	}
	return all, nil
}

func readRules(t *tree, _ *selection, tell func(Rule), unread func(string, error)) error {
	if err := t.networked(); err != nil {
		return err
	}
	c, err := nftables.New()
	if err != nil {
		return netFailure("open", "nftables", err)
	}
	all, err := foundRules(c)
	if err != nil {
		return err
	}
	told := map[string]bool{}
	for _, rules := range all {
		for _, f := range rules {
			switch {
			case told[f.Name]:
				unread(f.Name, &Failure{Refused, fmt.Sprintf("there are several rules %q in the table inet iasql",
					f.Name)})
			case f.err != nil:
				unread(f.Name, f.err)
			default:
				tell(f.Rule)
			}
			told[f.Name] = true
		}
	}
	return nil
}

// ownRules returns the rules that can be shown.
func ownRules() ([]Rule, error) {
	c, err := nftables.New()
	if err != nil {
		return nil, netFailure("open", "nftables", err)
	}
	all, err := foundRules(c)
	var rules []Rule
	for _, some := range all {
		for _, f := range some {
			if f.err == nil {
				rules = append(rules, f.Rule)
			}
		}
	}
	return rules, err
}

func changeRule(_ *tree, now, want *Rule) error {
	c, err := nftables.New()
	if err != nil {
		return netFailure("open", "nftables", err)
	}
	all, err := foundRules(c)
	if err != nil {
		return err
	}
	name := ""
	if now != nil {
		name = now.Name
		remove(c, all, func(f *found) bool { return f.Name == name })
	}
	if want != nil {
		name = want.Name
		merged := *want
		if now != nil {
			merged = Rule{want.Name, said(now.Chain, want.Chain), said(now.Position, want.Position),
				said(now.Interface, want.Interface), said(now.States, want.States), said(now.Source, want.Source),
				said(now.Destination, want.Destination), said(now.Protocol, want.Protocol), said(now.Port, want.Port),
				said(now.Action, want.Action)}
		}
		if err := insert(c, all, &merged); err != nil {
			return err
		}
	}
	// The kernel takes all of it, or nothing.
	return netFailure("change the firewall rule", name, c.Flush())
}

// setRules makes the rules that can be shown those that are given, at once.
func setRules(rules []Rule) error {
	c, err := nftables.New()
	if err != nil {
		return netFailure("open", "nftables", err)
	}
	all, err := foundRules(c)
	if err != nil {
		return err
	}
	remove(c, all, func(f *found) bool { return f.err == nil })
	slices.SortFunc(rules, func(a, b Rule) int { return order(&a, &b) })
	var failed []error
	for i := range rules {
		failed = append(failed, insert(c, all, &rules[i]))
	}
	return errors.Join(append(failed, netFailure("restore", "the firewall", c.Flush()))...)
}

// remove deletes those rules, of which nothing is known afterwards.
func remove(c *nftables.Conn, all map[string][]found, which func(*found) bool) {
	for name, rules := range all {
		kept := rules[:0:0]
		for i := range rules {
			if !which(&rules[i]) {
				kept = append(kept, rules[i])
				continue
			}
			// It fails if there is no such rule, and that is told when all of it is sent.
			_ = c.DelRule(&nftables.Rule{Table: own, Chain: &nftables.Chain{Name: name, Table: own},
				Handle: rules[i].handle})
		}
		all[name] = kept
	}
}

// order is that of rules in a chain.
func order(a, b *Rule) int {
	return cmp.Or(cmp.Compare(*a.Position, *b.Position), strings.Compare(a.Name, b.Name))
}

// insert puts a rule before the first that comes after it.
func insert(c *nftables.Conn, all map[string][]found, r *Rule) error {
	if r.Chain == nil || r.Position == nil || r.Action == nil || hooks[*r.Chain] == nil {
		return &Failure{Refused, fmt.Sprintf("firewall rule %q has to say its chain (input, forward or output), its "+
			"position and its action", r.Name)}
	}
	if len(r.comment()) > 120 {
		return &Failure{Refused, fmt.Sprintf("the name of firewall rule %q is too long", r.Name)}
	}
	exprs, err := r.encode()
	if err != nil {
		return err
	}
	accept := nftables.ChainPolicyAccept
	chain := &nftables.Chain{Name: *r.Chain, Table: own, Type: nftables.ChainTypeFilter, Hooknum: hooks[*r.Chain],
		Priority: nftables.ChainPriorityFilter, Policy: &accept}
	if len(all[*r.Chain]) == 0 {
		c.AddTable(own)
		c.AddChain(chain)
	}
	rule := &nftables.Rule{Table: own, Chain: chain, Exprs: exprs,
		UserData: userdata.AppendString(nil, userdata.TypeComment, r.comment())}
	for _, f := range all[*r.Chain] {
		if order(&f.Rule, r) > 0 {
			rule.Position = f.handle
			c.InsertRule(rule)
			return nil
		}
	}
	c.AddRule(rule)
	return nil
}

// encode spells a rule as nft(8) does.
func (r *Rule) encode() ([]expr.Any, error) {
	var all []expr.Any
	is := func(p *string) bool { return p != nil && *p != "" }
	refuse := func(what, value string) error {
		return &Failure{Refused, fmt.Sprintf("firewall rule %q: %q is no %s", r.Name, value, what)}
	}
	equals := func(data []byte) *expr.Cmp { return &expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: data} }
	if is(r.Interface) {
		if len(*r.Interface) >= unix.IFNAMSIZ {
			return nil, refuse("interface", *r.Interface)
		}
		key := expr.MetaKeyIIFNAME
		if *r.Chain == "output" {
			key = expr.MetaKeyOIFNAME
		}
		name := make([]byte, unix.IFNAMSIZ)
		copy(name, *r.Interface)
		all = append(all, &expr.Meta{Key: key, Register: 1}, equals(name))
	}
	if r.States != nil && len(*r.States) > 0 {
		var bits uint32
		for _, state := range *r.States {
			if states[state] == 0 {
				return nil, refuse("state of connections: new, established, related, invalid", state)
			}
			bits |= states[state]
		}
		all = append(all, &expr.Ct{Key: expr.CtKeySTATE, Register: 1},
			&expr.Bitwise{SourceRegister: 1, DestRegister: 1, Len: 4, Mask: binaryutil.NativeEndian.PutUint32(bits),
				Xor: make([]byte, 4)},
			&expr.Cmp{Op: expr.CmpOpNeq, Register: 1, Data: make([]byte, 4)})
	}
	family := byte(0)
	for _, side := range []struct {
		value  *string
		v4, v6 uint32 // where it is in the header
	}{{r.Source, 12, 8}, {r.Destination, 16, 24}} {
		if !is(side.value) {
			continue
		}
		p, err := netip.ParsePrefix(*side.value)
		if err != nil || p != p.Masked() {
			return nil, refuse("network, such as 10.0.0.0/8", *side.value)
		}
		proto, offset := byte(unix.NFPROTO_IPV4), side.v4
		if p.Addr().Is6() {
			proto, offset = unix.NFPROTO_IPV6, side.v6
		}
		if family != 0 && family != proto {
			return nil, &Failure{Refused, fmt.Sprintf("firewall rule %q: source and destination are of different "+
				"families",
				r.Name)}
		}
		if family == 0 {
			all = append(all, &expr.Meta{Key: expr.MetaKeyNFPROTO, Register: 1}, equals([]byte{proto}))
		}
		family = proto
		address := p.Addr().AsSlice()
		size := uint32(len(address)) // #nosec G115 -- 4 or 16
		all = append(all, &expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: offset,
			Len: size})
		if p.Bits() < p.Addr().BitLen() {
			all = append(all, &expr.Bitwise{SourceRegister: 1, DestRegister: 1, Len: size, Mask: ipNet(p).Mask,
				Xor: make([]byte, size)})
		}
		all = append(all, equals(address))
	}
	if is(r.Protocol) {
		number, known := protocols[*r.Protocol]
		if !known {
			return nil, refuse("protocol: tcp, udp, icmp, icmpv6", *r.Protocol)
		}
		all = append(all, &expr.Meta{Key: expr.MetaKeyL4PROTO, Register: 1}, equals([]byte{number}))
	}
	if is(r.Port) {
		if !is(r.Protocol) || *r.Protocol != "tcp" && *r.Protocol != "udp" {
			return nil, &Failure{Refused, fmt.Sprintf("firewall rule %q has a port, and its protocol is not tcp or udp",
				r.Name)}
		}
		first, last, ranged := strings.Cut(*r.Port, "-")
		from, err := strconv.ParseUint(first, 10, 16)
		to := from
		if ranged {
			var err2 error
			to, err2 = strconv.ParseUint(last, 10, 16)
			err = errors.Join(err, err2)
		}
		if err != nil || to < from {
			return nil, refuse("port, such as 22 or 8000-8100", *r.Port)
		}
		all = append(all, &expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: 2, Len: 2})
		low, high := binary.BigEndian.AppendUint16(nil, uint16(from)), binary.BigEndian.AppendUint16(nil, uint16(to))
		if from == to {
			all = append(all, equals(low))
		} else {
			all = append(all, &expr.Cmp{Op: expr.CmpOpGte, Register: 1, Data: low},
				&expr.Cmp{Op: expr.CmpOpLte, Register: 1, Data: high})
		}
	}
	switch *r.Action {
	case "accept":
		return append(all, &expr.Verdict{Kind: expr.VerdictAccept}), nil
	case "drop":
		return append(all, &expr.Verdict{Kind: expr.VerdictDrop}), nil
	case "reject":
		return append(all, rejected), nil
	}
	return nil, refuse("action: accept, drop, reject", *r.Action)
}

// decoder reads a rule's expressions in their order.
type decoder struct {
	rest []expr.Any
	rule *Rule
}

// next returns the next expression if it is of that type.
func next[T expr.Any](d *decoder) (e T, ok bool) {
	if len(d.rest) > 0 {
		if e, ok = d.rest[0].(T); ok {
			d.rest = d.rest[1:]
		}
	}
	return e, ok
}

// compared returns what the next expression compares with, nil if it does not.
func (d *decoder) compared(op expr.CmpOp) []byte {
	c, ok := next[*expr.Cmp](d)
	if !ok || c.Op != op || c.Register != 1 {
		return nil
	}
	return c.Data
}

// one reads what belongs together, and reports whether a row can say it.
func (d *decoder) one() bool {
	r := d.rule
	if *r.Action != "" {
		return false
	}
	switch e := d.rest[0].(type) {
	case *expr.Verdict:
		d.rest = d.rest[1:]
		switch e.Kind {
		case expr.VerdictAccept:
			*r.Action = "accept"
		case expr.VerdictDrop:
			*r.Action = "drop"
		}
		return *r.Action != ""
	case *expr.Reject:
		d.rest = d.rest[1:]
		*r.Action = "reject"
		return *e == *rejected
	case *expr.Meta:
		d.rest = d.rest[1:]
		data := d.compared(expr.CmpOpEq)
		switch own := *r.Chain == "output"; {
		case data == nil || e.SourceRegister:
			return false
		case e.Key == expr.MetaKeyIIFNAME && !own, e.Key == expr.MetaKeyOIFNAME && own:
			name, _, whole := bytes.Cut(data, []byte{0})
			*r.Interface = string(name)
			return whole // else it is the beginning of names
		case e.Key == expr.MetaKeyNFPROTO:
			return true // the address that follows says it too
		case e.Key == expr.MetaKeyL4PROTO:
			for name, number := range protocols {
				if data[0] == number {
					*r.Protocol = name
				}
			}
			return *r.Protocol != ""
		}
	case *expr.Ct:
		d.rest = d.rest[1:]
		mask, ok := next[*expr.Bitwise](d)
		if zero := d.compared(expr.CmpOpNeq); e.Key != expr.CtKeySTATE || !ok || len(mask.Mask) != 4 || zero == nil ||
			strings.Trim(string(zero), "\x00") != "" {
			return false
		}
		bits := binaryutil.NativeEndian.Uint32(mask.Mask)
		for name, bit := range states {
			if bits&bit != 0 {
				*r.States = append(*r.States, name)
			}
			bits &^= bit
		}
		slices.Sort(*r.States)
		return bits == 0
	case *expr.Payload:
		d.rest = d.rest[1:]
		return e.Base == expr.PayloadBaseNetworkHeader && d.address(e) ||
			e.Base == expr.PayloadBaseTransportHeader && e.Offset == 2 && e.Len == 2 && d.port()
	}
	return false
}

func (d *decoder) address(e *expr.Payload) bool {
	var to *string
	width := uint32(4)
	switch e.Offset {
	case 12:
		to = d.rule.Source
	case 16:
		to = d.rule.Destination
	case 8:
		to, width = d.rule.Source, 16
	case 24:
		to, width = d.rule.Destination, 16
	default:
		return false
	}
	bits := int(e.Len) * 8
	mask, masked := next[*expr.Bitwise](d)
	data := d.compared(expr.CmpOpEq)
	if masked {
		var total int
		if bits, total = net.IPMask(mask.Mask).Size(); total == 0 {
			return false
		}
	}
	// nft(8) compares the first bytes alone where the length of the prefix is one of whole bytes.
	if e.Len > width || data == nil || len(data) != int(e.Len) {
		return false
	}
	address, ok := netip.AddrFromSlice(append(slices.Clone(data), make([]byte, width-e.Len)...))
	*to = netip.PrefixFrom(address, bits).String()
	return ok
}

func (d *decoder) port() bool {
	text := func(b []byte) string { return strconv.Itoa(int(binary.BigEndian.Uint16(b))) }
	if r, ok := next[*expr.Range](d); ok {
		if r.Op != expr.CmpOpEq || len(r.FromData) != 2 || len(r.ToData) != 2 {
			return false
		}
		*d.rule.Port = text(r.FromData) + "-" + text(r.ToData)
		return true
	}
	c, ok := next[*expr.Cmp](d)
	if !ok || len(c.Data) != 2 {
		return false
	}
	switch c.Op {
	case expr.CmpOpEq:
		*d.rule.Port = text(c.Data)
		return true
	case expr.CmpOpGte:
		to := d.compared(expr.CmpOpLte)
		if len(to) != 2 {
			return false
		}
		*d.rule.Port = text(c.Data) + "-" + text(to)
		return true
	}
	return false
}

// decode reads what a rule asks of a packet. It fails if that is more than a row can say.
func (r *Rule) decode(exprs []expr.Any) error {
	empty := func() *string { return new(string) }
	r.Interface, r.States, r.Source, r.Destination = empty(), &[]string{}, empty(), empty()
	r.Protocol, r.Port, r.Action = empty(), empty(), empty()
	d := &decoder{rule: r}
	for _, e := range exprs {
		if _, counts := e.(*expr.Counter); !counts { // what it has counted is no part of it
			d.rest = append(d.rest, e)
		}
	}
	for len(d.rest) > 0 {
		if !d.one() {
			return &Failure{Refused, fmt.Sprintf("firewall rule %q asks for more than a row can say: change it with "+
				"nft(8), "+
				"or let go of its record by iasql_forget", r.Name)}
		}
	}
	if *r.Action == "" {
		return &Failure{Refused, fmt.Sprintf("firewall rule %q neither accepts, drops nor rejects", r.Name)}
	}
	return nil
}
