package hosts

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"

	"iasql/internal/hosts/runner"
	"iasql/internal/modules"
)

// Finding is one thing that was looked at of a host.
type Finding struct {
	Name    string // such as "key"; the same thing has always the same
	Message string // one line, without addresses, logins and keys
	Advice  string // what to do; "" if nothing is to be done
}

// need is what a module needs of a host on which a scope has it look at things.
type need struct {
	module string
	kinds  []string // of scopes
	what   string
	anyOf  []string // paths, one of which has to be there
	advice string
}

var needs = []need{
	{"host_packages", []string{KindPackage, runner.KindRepository}, "apt or dnf",
		[]string{"/usr/bin/apt-get", "/usr/bin/dnf"},
		"packages and repositories are those of apt, and packages those of dnf: delete the scopes of these kinds, as " +
			"this host has none"},
	{"host_units", []string{KindUnit}, "systemd", []string{"/run/systemd/system"},
		"units are those of systemd: delete the scopes of this kind, as this host does not run it"},
	{"host_users", []string{KindUser, KindGroup}, "useradd", []string{"/usr/sbin/useradd"},
		"install the package passwd (Debian) or shadow-utils"},
	{"host_system", []string{runner.KindSudoer}, "visudo", []string{"/usr/sbin/visudo"},
		"install sudo, or delete the scopes of the kind sudoer"},
	{"host_containers", []string{KindContainer, KindImage, KindVolume, KindContained}, "Docker or Podman",
		sockets, "start Docker or Podman (systemctl enable --now podman.socket), or say where its socket is: " +
			"UPDATE host SET container_socket = '…'"},
}

// asRoot are the modules whose changes take the rights of root.
var asRoot = []string{"host_packages", "host_users", "host_units", "host_system", "host_network"}

// noticed are what a host is said to have or to lack, whether something needs it or not.
var noticed = []struct {
	what  string
	anyOf []string
}{
	{"apt", []string{"/usr/bin/apt-get"}}, {"dnf", []string{"/usr/bin/dnf"}},
	{"systemd", []string{"/run/systemd/system"}},
	{"Docker", []string{"/var/run/docker.sock"}}, {"Podman", []string{"/run/podman/podman.sock"}},
	{"nft", []string{"/usr/sbin/nft", "/sbin/nft", "/usr/bin/nft"}},
}

const (
	mostOff   = 30 * time.Second // that clocks may be apart
	leastFree = 64 << 20         // bytes where the runner lies: an engine of another version puts its own beside it
)

// Examine looks at a host before an engine works with it, by the modules that are installed. It logs in, puts the
// runner there if it is missing, and changes nothing else. What is not looked at, because what comes before it is
// not as it has to be, is left out.
func (h *Hosts) Examine(ctx context.Context, name string, installed []string) []Finding {
	k := h.host(name)
	release, err := k.take(ctx)
	if err != nil {
		return []Finding{{"reached", "the time is up", "give it more: --deadline"}}
	}
	defer release()
	if err := h.load(ctx, k, true); err != nil {
		return []Finding{{"reached", "its row cannot be read", "is the login a member of iasql_engine?"}}
	}
	k.lock.Lock()
	settings := k.settings
	k.lock.Unlock()
	if settings.Root != "" {
		return []Finding{{"reached", "it is a directory of the engine's machine, and is not looked at from here", ""}}
	}
	s, err := h.connect(ctx, k)
	if err != nil {
		return notReached(&settings, err)
	}
	found := []Finding{reached(&settings), key(&settings, s.who())}
	asked := time.Now()
	var machine *runner.Machine
	request := &runner.Request{Verb: runner.Look, Paths: asksFor(&settings)}
	if err := s.do(ctx, request, func(a runner.Answer) error {
		if a.Machine != nil {
			machine = a.Machine
		}
		return nil
	}); err != nil || machine == nil {
		return append(found, Finding{"runner", "the runner does not answer", "run this again; if it stays so, report " +
			"it to the project"})
	}
	took := time.Since(asked)
	found = append(found, rights(&settings, machine, installed), clock(machine.Clock.Sub(asked.Add(took/2)), took),
		space(machine.Free), noticedOf(machine))
	return append(found, missing(&settings, machine, installed)...)
}

func reached(settings *Settings) Finding {
	if settings.JumpHost != "" {
		return Finding{"reached", "it lets the engine in, by way of " + settings.JumpHost, ""}
	}
	return Finding{"reached", "it lets the engine in", ""}
}

// notReached says why nothing can be looked at.
func notReached(settings *Settings, err error) []Finding {
	var known *modules.Error
	if !errors.As(err, &known) {
		return []Finding{{"reached", "the time is up", "give it more: --deadline"}}
	}
	switch known.Code {
	case CodeBecome:
		return []Finding{reached(settings), {"become",
			"the login is let in, and may not become root without a password",
			"on the host, let it: visudo -f /etc/sudoers.d/iasql, with the line LOGIN ALL=(root) NOPASSWD: ALL. Or " +
				"have the engine do without: UPDATE host SET become = false"}}
	case CodeHostKey:
		return []Finding{{"reached", "it answers, and its host certificate is not believed",
			"SELECT held FROM iasql_worlds says why. Give it a certificate of the authority of cert_authority that " +
				"names its address and has not expired, as ssh-keygen -L -f prints it"}}
	case "JumpHost":
		return []Finding{{"reached", "its jump host " + settings.JumpHost + " is in the way",
			"mend that first: what is found of it says how"}}
	case "Login":
		return []Finding{{"reached", "it answers, and the engine does not get in",
			"SELECT held FROM iasql_worlds says what the host says: the key, the login or the place of the runner"}}
	}
	return []Finding{{"reached", "it does not answer: " + whyNot(err), "is it up, are address and port in its row of " +
		"host right, and does a firewall let the engine's machine through?"}}
}

// whyNot says why a connection could not be made, without where to.
func whyNot(err error) string {
	var number syscall.Errno
	var name *net.DNSError
	var timeout net.Error
	switch {
	case errors.As(err, &number):
		return number.Error()
	case errors.As(err, &name):
		return "its name is not known"
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return "nothing comes back"
	}
	return "what answers does not speak SSH to its end"
}

func key(settings *Settings, said string) Finding {
	switch {
	case settings.CertAuthority != "" && (settings.Confirmed == "" || settings.Confirmed == said):
		return Finding{"key", "its host certificate is of the authority that its row names, and names its address", ""}
	case settings.Confirmed == said:
		return Finding{"key", "its host key and machine id are those that were confirmed", ""}
	case settings.Confirmed == "":
		return Finding{"key", "nobody has confirmed its host key", fmt.Sprintf("compare says_it_is in iasql_worlds "+
			"with what ssh-keygen -lf prints on the host, then SELECT iasql_confirm('identity', '%s')", settings.Name)}
	}
	return Finding{"key", "it is another than was confirmed: its host key or machine id has changed", fmt.Sprintf(
		"find out why. If it was set up anew, SELECT iasql_confirm('identity', '%s')", settings.Name)}
}

// rights says by which rights the runner works, and whether that is enough for the modules.
func rights(settings *Settings, machine *runner.Machine, installed []string) Finding {
	if machine.User == 0 {
		if settings.Become {
			return Finding{"become", "it works as root, by sudo without a password", ""}
		}
		return Finding{"become", "it works as root", ""}
	}
	var of []string
	for _, module := range asRoot {
		if slices.Contains(installed, module) {
			of = append(of, module)
		}
	}
	if len(of) == 0 {
		return Finding{"become", "it works by the rights of the login", ""}
	}
	return Finding{"become", "it works by the rights of the login: changes of " + strings.Join(of, ", ") +
		" take root's", "UPDATE host SET become = true, and let the login use sudo without a password"}
}

// clock judges how far the host's clock is ahead of this machine's; the answer took so long.
func clock(ahead, took time.Duration) Finding {
	off := max(ahead.Abs()-took/2, 0)
	if off <= mostOff {
		return Finding{"clock", fmt.Sprintf("its clock agrees with this machine's to %.0f s",
			max(off.Seconds(), 1)), ""}
	}
	way := "ahead of"
	if ahead < 0 {
		way = "behind"
	}
	return Finding{"clock", fmt.Sprintf("its clock is %s %s this machine's", off.Round(time.Second), way),
		"set both by NTP: times in the host's log do not fit those of the audit log"}
}

func space(free int64) Finding {
	switch {
	case free < 0:
		return Finding{"disk", "it does not say what is free where the runner lies", ""}
	case free < leastFree:
		return Finding{"disk", fmt.Sprintf("%d MiB are free where the runner lies", free>>20),
			fmt.Sprintf("make room in the login's home: an engine of another version puts its runner beside this one, "+
				"and %d MiB are enough", leastFree>>20)}
	}
	return Finding{"disk", fmt.Sprintf("%d MiB are free where the runner lies", free>>20), ""}
}

// asksFor are the paths that it matters whether they are there.
func asksFor(settings *Settings) []string {
	var paths []string
	if settings.Socket != "" {
		paths = append(paths, settings.Socket)
	}
	for _, n := range needs {
		paths = append(paths, n.anyOf...)
	}
	for _, n := range noticed {
		paths = append(paths, n.anyOf...)
	}
	return paths
}

func hasAny(machine *runner.Machine, paths []string) bool {
	return slices.ContainsFunc(paths, func(path string) bool { return slices.Contains(machine.There, path) })
}

func noticedOf(machine *runner.Machine) Finding {
	var has, lacks []string
	for _, n := range noticed {
		if hasAny(machine, n.anyOf) {
			has = append(has, n.what)
		} else {
			lacks = append(lacks, n.what)
		}
	}
	text := "it has " + strings.Join(has, ", ")
	if len(has) == 0 {
		text = "it has nothing of what modules use"
	}
	if len(has) > 0 && len(lacks) > 0 {
		text += "; not " + strings.Join(lacks, ", ")
	}
	return Finding{"has", text, ""}
}

// missing are what the installed modules need and the host does not have, as far as scopes have them look at it.
func missing(settings *Settings, machine *runner.Machine, installed []string) []Finding {
	if len(settings.Scopes) == 0 {
		return []Finding{{"scopes", "no row of host_scope names anything on it, so that nothing is looked at",
			fmt.Sprintf("INSERT INTO host_scope (account, kind, pattern) VALUES ('%s', …)", settings.Name)}}
	}
	var found []Finding
	for _, n := range needs {
		paths := n.anyOf
		if n.module == "host_containers" && settings.Socket != "" {
			paths = []string{settings.Socket}
		}
		looked := slices.ContainsFunc(n.kinds, func(kind string) bool { return len(settings.Of(kind)) > 0 })
		if looked && slices.Contains(installed, n.module) && !hasAny(machine, paths) {
			found = append(found, Finding{n.module, n.what + " is missing, which the module needs", n.advice})
		}
	}
	return found
}
