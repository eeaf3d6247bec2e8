package runner

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

func init() {
	kinds[KindProcess] = facts(KindProcess, (*Process).Key, (*Process).Scoped, readProcesses)
	kinds[KindPort] = facts(KindPort, (*Port).Key, (*Port).Scoped, readPorts)
	kinds[KindDisk] = facts(KindDisk, (*Disk).Key, (*Disk).Scoped, readDisks)
	kinds[KindSystem] = facts(KindSystem, (*System).Key, (*System).Scoped, readSystem)
	kinds[KindAddress] = facts(KindAddress, (*Address).Key, (*Address).Scoped, readAddresses)
}

// facts is a kind of what is read of the machine.
func facts[T any](what string, key, scoped func(*T) string,
	read func(*tree, *selection, func(T), func(string, error)) error) kind {
	return &things[T]{what: what, key: key, scoped: scoped, difference: func(_, _ *T) string { return "" },
		read: func(t *tree, of *selection, tell func(T), unread func(string, error)) error {
			if t.root != "/" {
				return &Failure{Refused, fmt.Sprintf("%s is a directory, and systems, processes, ports, disks and "+
					"addresses are those of a machine: delete the rows of host_scope of kind facts", t.root)}
			}
			return read(t, of, tell, unread)
		}}
}

// Bounds of what is read of /proc.
const (
	maxProc      = 4 << 20          // of a file
	maxProcesses = 100_000          // that are looked at
	maxOpen      = 500_000          // open files that are looked at
	runsFor      = 60 * time.Second // a process that is told of
	ticks        = 100              // of a second, USER_HZ in proc(5): the same on all machines that Go knows
)

// proc reads a file of /proc, which has no size.
func proc(name string) (string, error) {
	f, err := os.Open("/proc/" + name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxProc+1))
	if len(text) > maxProc {
		return "", &Failure{TooLarge, fmt.Sprintf("/proc/%s is longer than %d MiB", name, maxProc>>20)}
	}
	return strings.ToValidUTF8(string(text), "\uFFFD"), err
}

// shown is a text of a machine's without control characters.
func shown(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			return '?'
		}
		return r
	}, text)
}

// numbers returns the process ids that there are.
func numbers() ([]int64, error) {
	folder, err := os.Open("/proc")
	if err != nil {
		return nil, failure("read", "/proc", err)
	}
	defer folder.Close()
	names, err := folder.Readdirnames(maxProcesses)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, failure("read", "/proc", err)
	}
	var all []int64
	for _, name := range names {
		if pid, err := strconv.ParseInt(name, 10, 32); err == nil {
			all = append(all, pid)
		}
	}
	slices.Sort(all)
	return all, nil
}

// process reads what a process is; nil if there is none any more, or it is a thread of the kernel or a zombie.
func process(pid int64, users map[uint32]string) (p *Process, ticksAtStart int64) {
	at := strconv.FormatInt(pid, 10)
	status, err := proc(at + "/status")
	if err != nil || !strings.Contains(status, "\nVmSize:") {
		return nil, 0
	}
	stat, err := proc(at + "/stat")
	if err != nil {
		return nil, 0
	}
	// The name stands in parentheses, and may have some itself.
	end := strings.LastIndexByte(stat, ')')
	begin := strings.IndexByte(stat, '(')
	if begin < 0 || end < begin {
		return nil, 0
	}
	rest := strings.Fields(stat[end+1:])
	if len(rest) < 20 {
		return nil, 0
	}
	started, err := strconv.ParseInt(rest[19], 10, 64)
	if err != nil {
		return nil, 0
	}
	p = &Process{PID: pid, Name: shown(stat[begin+1 : end])}
	_, after, _ := strings.Cut(status, "\nUid:")
	if fields := strings.Fields(after); len(fields) >= 2 {
		if uid, err := strconv.ParseUint(fields[1], 10, 32); err == nil {
			p.User = named(users, uint32(uid))
		}
	}
	if executable, err := os.Readlink("/proc/" + at + "/exe"); err == nil {
		p.Executable = shown(strings.TrimSuffix(executable, " (deleted)"))
	}
	return p, started
}

// booted returns when the machine was started.
func booted() (time.Time, error) {
	stat, err := proc("stat")
	if err != nil {
		return time.Time{}, failure("read", "/proc/stat", err)
	}
	_, after, _ := strings.Cut(stat, "\nbtime ")
	line, _, _ := strings.Cut(after, "\n")
	at, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
	if err != nil {
		return time.Time{}, &Failure{Refused, "/proc/stat does not say when the machine was started"}
	}
	return time.Unix(at, 0).UTC(), nil
}

func readProcesses(t *tree, of *selection, tell func(Process), _ func(string, error)) error {
	boot, err := booted()
	if err != nil {
		return err
	}
	pids, err := numbers()
	if err != nil {
		return err
	}
	users, err := t.names(passwdFile)
	if err != nil {
		return err
	}
	now := time.Now()
	for _, pid := range pids {
		p, started := process(pid, users)
		if p == nil {
			continue
		}
		p.Started = boot.Add(time.Duration(started/ticks) * time.Second)
		if now.Sub(p.Started) >= runsFor {
			tell(*p)
		}
	}
	return nil
}

// socket is one that somebody listens on.
type socket struct {
	Port
	inode string
}

// sockets reads a table of /proc/net: those that listen.
func sockets(protocol string, users map[uint32]string) ([]socket, error) {
	text, err := proc("self/net/" + protocol)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // without IPv6
	}
	if err != nil {
		return nil, failure("read", "/proc/net/"+protocol, err)
	}
	listens := "0A"
	udp := strings.HasPrefix(protocol, "udp")
	if udp {
		listens = "07"
	}
	lowest, highest := ephemeral()
	var all []socket
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 10 || f[3] != listens {
			continue
		}
		at, ok := address(f[1])
		from, ok2 := address(f[2])
		if !ok || !ok2 || from.Port() != 0 || udp && int64(at.Port()) >= lowest && int64(at.Port()) <= highest {
			continue // connected, or waiting for an answer alone
		}
		s := socket{Port{Protocol: protocol, Address: at.Addr().String(), Port: int64(at.Port())}, f[9]}
		if uid, err := strconv.ParseUint(f[7], 10, 32); err == nil {
			s.User = named(users, uint32(uid))
		}
		all = append(all, s)
	}
	return all, nil
}

// ephemeral returns the ports that the kernel hands out by itself.
func ephemeral() (lowest, highest int64) {
	text, err := proc("sys/net/ipv4/ip_local_port_range")
	if _, err2 := fmt.Sscan(text, &lowest, &highest); err != nil || err2 != nil {
		return 32768, 60999
	}
	return lowest, highest
}

// address reads an address as /proc/net has it: words of the machine's order of bytes, in hexadecimal digits.
func address(text string) (netip.AddrPort, bool) {
	host, port, _ := strings.Cut(text, ":")
	b, err := hex.DecodeString(host)
	n, err2 := strconv.ParseUint(port, 16, 16)
	if err != nil || err2 != nil || len(b)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for i := 0; i < len(b); i += 4 {
		binary.BigEndian.PutUint32(b[i:], binary.NativeEndian.Uint32(b[i:]))
	}
	addr, ok := netip.AddrFromSlice(b)
	return netip.AddrPortFrom(addr, uint16(n)), ok
}

func readPorts(t *tree, of *selection, tell func(Port), _ func(string, error)) error {
	users, err := t.names(passwdFile)
	if err != nil {
		return err
	}
	var all []socket
	for _, protocol := range []string{"tcp", "tcp6", "udp", "udp6"} {
		some, err := sockets(protocol, users)
		if err != nil {
			return err
		}
		all = append(all, some...)
	}
	owners, err := owners(all)
	if err != nil {
		return err
	}
	seen := map[string]bool{} // several may listen on one port, by SO_REUSEPORT
	slices.SortFunc(all, func(a, b socket) int { return cmp.Compare(owners[a.inode].pid, owners[b.inode].pid) })
	for _, s := range all {
		if seen[s.Key()] {
			continue
		}
		seen[s.Key()] = true
		s.PID, s.Process = owners[s.inode].pid, owners[s.inode].name
		tell(s.Port)
	}
	return nil
}

type owner struct {
	pid  int64
	name string
}

// owners returns who has the sockets open: of several the first.
func owners(sockets []socket) (map[string]owner, error) {
	wanted := make(map[string]bool, len(sockets))
	for _, s := range sockets {
		wanted[s.inode] = true
	}
	pids, err := numbers()
	if err != nil {
		return nil, err
	}
	found := map[string]owner{}
	looked := 0
	for _, pid := range pids {
		at := fmt.Sprintf("/proc/%d/fd", pid)
		folder, err := os.Open(at)
		if err != nil {
			continue
		}
		names, _ := folder.Readdirnames(maxOpen - looked)
		_ = folder.Close()
		looked += len(names)
		for _, name := range names {
			link, err := os.Readlink(at + "/" + name)
			inode, is := strings.CutPrefix(link, "socket:[")
			if inode = strings.TrimSuffix(inode, "]"); err != nil || !is || !wanted[inode] || found[inode].pid != 0 {
				continue
			}
			comm, _ := proc(strconv.FormatInt(pid, 10) + "/comm")
			found[inode] = owner{pid, shown(strings.TrimSuffix(comm, "\n"))}
		}
		if looked >= maxOpen {
			break
		}
	}
	return found, nil
}

func readDisks(t *tree, of *selection, tell func(Disk), unread func(string, error)) error {
	text, err := proc("self/mountinfo")
	if err != nil {
		return failure("read", "/proc/self/mountinfo", err)
	}
	disks := map[string]Disk{} // what is mounted on a mount point last hides what was before
	for line := range strings.Lines(text) {
		before, after, found := strings.Cut(line, " - ")
		f, g := strings.Fields(before), strings.Fields(after)
		if !found || len(f) < 6 || len(g) < 3 {
			continue
		}
		d := Disk{MountPoint: unescaped(f[4]), FileSystem: g[0], Device: shown(unescaped(g[1])),
			ReadOnly: slices.Contains(strings.Split(f[5]+","+g[2], ","), "ro")}
		delete(disks, d.MountPoint)
		// A bind mount shows a part of another; a network's file system may not answer.
		whole := f[3] == "/" || d.FileSystem == "btrfs" || d.MountPoint == "/"
		local := strings.HasPrefix(d.Device, "/dev/") || d.FileSystem == "zfs" || d.MountPoint == "/"
		if whole && local && shown(d.MountPoint) == d.MountPoint && path.IsAbs(d.MountPoint) {
			disks[d.MountPoint] = d
		}
	}
	for _, d := range disks {
		if !of.has(d.MountPoint, KindDisk+":"+d.MountPoint) {
			continue
		}
		var st unix.Statfs_t
		if err := again(func() error { return unix.Statfs(d.MountPoint, &st) }); err != nil {
			unread(d.MountPoint, err)
			continue
		}
		d.Size = int64(st.Blocks) * st.Bsize
		if usable := st.Blocks - st.Bfree + st.Bavail; usable > 0 {
			d.Used = int64((st.Blocks-st.Bfree)*100/usable) / 10 * 10
		}
		tell(d)
	}
	return nil
}

// messages returns what the kernel says of its interfaces or their addresses, rtnetlink(7).
func messages(of int) ([]syscall.NetlinkMessage, error) {
	text, err := syscall.NetlinkRIB(of, syscall.AF_UNSPEC)
	if err != nil {
		return nil, failure("read", "the addresses", err)
	}
	all, err := syscall.ParseNetlinkMessage(text)
	if err != nil {
		return nil, failure("read", "the addresses", err)
	}
	return all, nil
}

func readAddresses(t *tree, of *selection, tell func(Address), _ func(string, error)) error {
	links, err := messages(syscall.RTM_GETLINK)
	if err != nil {
		return err
	}
	names := map[uint32]string{}
	for i := range links {
		m := &links[i]
		attributes, err := syscall.ParseNetlinkRouteAttr(m)
		if m.Header.Type != syscall.RTM_NEWLINK || err != nil || len(m.Data) < syscall.SizeofIfInfomsg {
			continue
		}
		for _, a := range attributes {
			if a.Attr.Type == syscall.IFLA_IFNAME {
				names[binary.NativeEndian.Uint32(m.Data[4:])] = shown(string(bytes.TrimRight(a.Value, "\x00")))
			}
		}
	}
	addresses, err := messages(syscall.RTM_GETADDR)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for i := range addresses {
		m := &addresses[i]
		attributes, err := syscall.ParseNetlinkRouteAttr(m)
		if m.Header.Type != syscall.RTM_NEWADDR || err != nil || len(m.Data) < syscall.SizeofIfAddrmsg {
			continue
		}
		prefix, flags, scope, index := m.Data[1], m.Data[2], m.Data[3], binary.NativeEndian.Uint32(m.Data[4:])
		if m.Data[0] == syscall.AF_INET6 && flags&unix.IFA_F_TEMPORARY != 0 {
			continue // the machine makes it anew every day
		}
		var own, peer netip.Addr
		for _, a := range attributes {
			switch a.Attr.Type {
			case syscall.IFA_LOCAL:
				own, _ = netip.AddrFromSlice(a.Value)
			case syscall.IFA_ADDRESS:
				peer, _ = netip.AddrFromSlice(a.Value)
			}
		}
		if !own.IsValid() {
			own = peer
		}
		it := Address{Interface: names[index], Address: fmt.Sprintf("%s/%d", own, prefix), Scope: scopes[scope]}
		if own.IsValid() && it.Interface != "" && !seen[it.Key()] {
			seen[it.Key()] = true
			tell(it)
		}
	}
	return nil
}

// scopes are those of addresses, rtnetlink(7).
var scopes = map[byte]string{unix.RT_SCOPE_UNIVERSE: "global", unix.RT_SCOPE_SITE: "site", unix.RT_SCOPE_LINK: "link",
	unix.RT_SCOPE_HOST: "host"}
