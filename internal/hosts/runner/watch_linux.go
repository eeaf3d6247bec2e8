package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/godbus/dbus/v5"
	"golang.org/x/sys/unix"
)

// watcher watches what parts of a request name.
type watcher struct {
	tree    *tree
	parts   []Part
	news    *news
	working sync.WaitGroup
}

// begin begins to watch, until ctx ends. It fails if nothing can be watched at all.
func (w *watcher) begin(ctx context.Context) error {
	if len(w.rules()) > 0 {
		p, err := w.openPlaces()
		if err != nil {
			return err
		}
		w.working.Go(func() { w.followPlaces(ctx, p) })
	}
	routing, filtering := map[string]bool{}, false
	for i := range w.parts {
		switch p := &w.parts[i]; p.Kind {
		case KindUnit:
			w.working.Go(func() { w.followUnits(ctx, p) })
		case KindInterface, KindRoute, kindFacts:
			routing[p.Kind] = true
		case KindFirewall:
			filtering = true
		}
	}
	if w.tree.networked() != nil { // a directory has no network of its own
		return nil
	}
	if len(routing) > 0 {
		groups := uint32(unix.RTMGRP_LINK | unix.RTMGRP_IPV4_IFADDR | unix.RTMGRP_IPV6_IFADDR |
			unix.RTMGRP_IPV4_ROUTE | unix.RTMGRP_IPV6_ROUTE)
		all := []string{KindInterface, KindRoute, KindAddress}
		w.followKernel(ctx, unix.NETLINK_ROUTE, groups, all, changedRouting)
	}
	if filtering {
		w.followKernel(ctx, unix.NETLINK_NETFILTER, 1<<(unix.NFNLGRP_NFTABLES-1), []string{KindFirewall},
			func(syscall.NetlinkMessage) []Changed { return []Changed{{Kind: KindFirewall}} })
	}
	return nil
}

// followKernel tells what groups of netlink(7) say has changed. Where messages were lost, all of the kinds may have.
func (w *watcher) followKernel(ctx context.Context, protocol int, groups uint32, kinds []string,
	changed func(syscall.NetlinkMessage) []Changed) {
	lack := func(err error) {
		for _, kind := range kinds {
			w.news.lack(kind, failure("watch", kind, err))
		}
	}
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, protocol)
	if err != nil {
		lack(err)
		return
	}
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: groups}); err != nil {
		_ = unix.Close(fd)
		lack(err)
		return
	}
	messages := os.NewFile(uintptr(fd), "netlink")
	w.working.Go(func() {
		defer messages.Close()
		stop := context.AfterFunc(ctx, func() { _ = messages.SetReadDeadline(time.Unix(1, 0)) })
		defer stop()
		buffer := make([]byte, 64<<10)
		for {
			n, err := messages.Read(buffer)
			switch {
			case ctx.Err() != nil:
				return
			case errors.Is(err, unix.ENOBUFS):
				for _, kind := range kinds {
					w.news.add(Changed{Kind: kind})
				}
				continue
			case err != nil:
				lack(err)
				return
			}
			all, err := syscall.ParseNetlinkMessage(buffer[:n])
			if err != nil {
				continue
			}
			for _, m := range all {
				for _, c := range changed(m) {
					w.news.add(c)
				}
			}
		}
	})
}

// changedRouting returns what has changed as a message of rtnetlink(7) says.
func changedRouting(m syscall.NetlinkMessage) []Changed {
	switch m.Header.Type {
	case unix.RTM_NEWROUTE, unix.RTM_DELROUTE:
		return []Changed{{Kind: KindRoute}}
	case unix.RTM_NEWADDR, unix.RTM_DELADDR:
		return []Changed{{Kind: KindInterface}, {Kind: KindAddress}}
	case unix.RTM_NEWLINK, unix.RTM_DELLINK:
		attributes, err := syscall.ParseNetlinkRouteAttr(&m)
		if err != nil {
			return []Changed{{Kind: KindInterface}}
		}
		for _, a := range attributes {
			if a.Attr.Type == unix.IFLA_IFNAME {
				return []Changed{{KindInterface, strings.TrimRight(string(a.Value), "\x00")}}
			}
		}
		return []Changed{{Kind: KindInterface}}
	}
	return nil
}

// askAgain is how long it is until systemd is asked again that could not be, or has ended the connection.
const askAgain = 30 * time.Second

// followUnits tells what systemd says of units, as long as there is one.
func (w *watcher) followUnits(ctx context.Context, p *Part) {
	for begun := false; ctx.Err() == nil; begun = true {
		if begun {
			select {
			case <-ctx.Done():
				return
			case <-time.After(askAgain):
			}
		}
		if err := w.followBus(ctx, p, begun); err != nil && ctx.Err() == nil {
			w.news.lack(KindUnit, failure("watch", KindUnit, err))
		}
	}
}

// followBus tells what systemd says of units until the connection ends. missed: some may have changed before.
//
// That a unit is loaded or unloaded is not told: reading one does that.
func (w *watcher) followBus(ctx context.Context, p *Part, missed bool) error {
	b, err := w.tree.openBus()
	if err != nil {
		return err
	}
	defer b.close()
	signals := make(chan *dbus.Signal, 1024)
	b.conn.Signal(signals)
	if b.shared {
		for _, match := range [][]dbus.MatchOption{
			{dbus.WithMatchInterface(systemd + ".Manager")},
			{dbus.WithMatchInterface(properties), dbus.WithMatchPathNamespace(unitsPath)}} {
			if err := b.conn.AddMatchSignal(match...); err != nil {
				return err
			}
		}
	}
	if err := b.ask("Subscribe", nil); err != nil {
		return err
	}
	if missed {
		w.news.add(Changed{Kind: KindUnit})
		w.news.lack(KindUnit, nil)
	}
	s := &unitStates{of: selected(p), last: map[string]string{}}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-b.conn.Context().Done():
			return errors.New("systemd has ended the connection")
		case signal, open := <-signals:
			if !open {
				return errors.New("systemd has ended the connection")
			}
			if c, is := s.changed(signal); is {
				w.news.add(c)
			}
		}
	}
}

// Where the bus says something of units.
const (
	unitsPath  = managerPath + "/unit"
	properties = "org.freedesktop.DBus.Properties"
)

// unitStates are those of units, as systemd has told of them last: it tells of much besides.
type unitStates struct {
	of   *selection
	last map[string]string
}

// maxStates bounds them; beyond it a unit may be told of that has not changed.
const maxStates = 4000

// changed returns what has changed as a signal says.
func (s *unitStates) changed(signal *dbus.Signal) (Changed, bool) {
	switch signal.Name {
	case manager + "UnitFilesChanged", manager + "Reloading":
		return Changed{Kind: KindUnit}, true
	case manager + jobRemoved:
		if len(signal.Body) > 2 {
			name, _ := signal.Body[2].(string)
			return Changed{KindUnit, name}, s.of.has(name, name) && unitName.MatchString(name)
		}
	case properties + ".PropertiesChanged":
		if len(signal.Body) < 2 {
			break
		}
		name := unitOfPath(signal.Path)
		of, _ := signal.Body[0].(string)
		values, _ := signal.Body[1].(map[string]dbus.Variant)
		if of != systemd+".Unit" || !s.of.has(name, name) || !unitName.MatchString(name) {
			break
		}
		state := fmt.Sprint(values["ActiveState"], values["SubState"], values["UnitFileState"],
			values["NeedDaemonReload"], values["InvocationID"])
		if s.last[name] == state {
			break
		}
		if len(s.last) >= maxStates {
			clear(s.last)
		}
		s.last[name] = state
		return Changed{KindUnit, name}, true
	}
	return Changed{}, false
}

// unitOfPath returns the unit of an object of systemd's: what is no letter and no digit is spelt _ and two hexadecimal
// digits (sd_bus_path_encode(3)).
func unitOfPath(at dbus.ObjectPath) string {
	text, below := strings.CutPrefix(string(at), string(unitsPath)+"/")
	if !below {
		return ""
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '_' && i+2 < len(text) {
			var c byte
			if _, err := fmt.Sscanf(text[i+1:i+3], "%02x", &c); err == nil {
				b.WriteByte(c)
				i += 2
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
