package hostcontainers

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"iasql/internal/modules"
)

// mark is the label of what was made here. It says what the row said, so that this is told apart from what an image
// says, and which variables are secret: all that has to be known of a container is on its host.
const mark = "iasql.given"

// given is what the label says.
type given struct {
	Columns     []string `json:"columns,omitempty"`
	Environment []string `json:"environment,omitempty"`
	Secrets     []string `json:"secrets,omitempty"`
	Labels      []string `json:"labels,omitempty"`
	Options     []string `json:"options,omitempty"`
	Job         bool     `json:"job,omitempty"`
}

func (g *given) has(column string) bool { return g != nil && slices.Contains(g.Columns, column) }

// marked returns what the label says; nil without one.
func marked(labels map[string]string) *given {
	g := &given{}
	if text, is := labels[mark]; !is || json.Unmarshal([]byte(text), g) != nil {
		return nil
	}
	return g
}

// made returns the labels of what is made here.
func made(labels map[string]string) map[string]string {
	labels = maps.Clone(labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[mark] = "{}"
	return labels
}

// Other settings, as Docker's API calls them: of the host's part of a container, and of its own.
var (
	hostOptions = []string{"CapAdd", "CapDrop", "CpuShares", "CpusetCpus", "DeviceRequests", "Devices", "Dns",
		"DnsOptions",
		"DnsSearch", "ExtraHosts", "GroupAdd", "Init", "IpcMode", "LogConfig", "MemoryReservation", "OomScoreAdj",
		"PidMode",
		"PidsLimit", "ReadonlyRootfs", "Runtime", "SecurityOpt", "ShmSize", "StorageOpt", "Sysctls", "UTSMode",
		"Ulimits",
		"UsernsMode", "VolumesFrom"}
	ownOptions  = []string{"Domainname", "Hostname", "OpenStdin", "StopSignal", "StopTimeout", "Tty"}
	optionNames = slices.Sorted(slices.Values(append(slices.Clone(hostOptions), ownOptions...)))
)

// specified returns what a container is made by, and the networks that it joins after that.
func specified(host string, want modules.Row) (options client.ContainerCreateOptions, more []string, err error) {
	name := want[columnName].String()
	bad := func(column string, err error) (client.ContainerCreateOptions, []string, error) {
		return client.ContainerCreateOptions{}, nil, invalid(host, "container %s: %s: %v", name, column, err)
	}
	g := &given{Job: want[columnJob].Bool()}
	for _, column := range []string{columnCommand, columnEntrypoint, columnUser, columnWorkingDir, columnHealthcheck} {
		if !want[column].IsNull() {
			g.Columns = append(g.Columns, column)
		}
	}
	config := &container.Config{Image: want[columnImage].String(), Cmd: want[columnCommand].Strings(),
		Entrypoint: want[columnEntrypoint].Strings(), User: want[columnUser].String(),
		WorkingDir: want[columnWorkingDir].String(), Labels: map[string]string{}}
	its := &container.HostConfig{RestartPolicy: restartPolicy(want[columnRestart].String()),
		Privileged: want[columnPrivileged].Bool()}
	its.Memory, its.NanoCPUs = want[columnMemory].Int(), nanos(want[columnCPUs])
	if text := want[columnOptions].String(); text != "" {
		var said map[string]json.RawMessage
		if err := json.Unmarshal([]byte(text), &said); err != nil {
			return bad(columnOptions, err)
		}
		g.Options = slices.Sorted(maps.Keys(said))
		if err := json.Unmarshal([]byte(text), its); err != nil {
			return bad(columnOptions, err)
		}
		if err := json.Unmarshal([]byte(text), config); err != nil {
			return bad(columnOptions, err)
		}
	}
	for key, value := range want[columnLabels].StringMap() {
		config.Labels[key] = value
		g.Labels = append(g.Labels, key)
	}
	environment := want[columnEnvironment].StringMap()
	g.Environment = slices.Sorted(maps.Keys(environment))
	for _, key := range g.Environment {
		config.Env = append(config.Env, key+"="+environment[key])
	}
	for line := range strings.Lines(want[columnSecrets].String()) {
		if key, _, is := strings.Cut(line, "="); is {
			config.Env = append(config.Env, strings.TrimSuffix(line, "\n"))
			g.Secrets = append(g.Secrets, key)
		}
	}
	if config.Healthcheck, err = healthcheck(want[columnHealthcheck].String()); err != nil {
		return bad(columnHealthcheck, err)
	}
	if config.ExposedPorts, its.PortBindings, err = ports(want[columnPorts].Strings()); err != nil {
		return bad(columnPorts, err)
	}
	if err := mounts(want[columnMounts].String(), its); err != nil {
		return bad(columnMounts, err)
	}
	slices.Sort(g.Labels)
	slices.Sort(g.Secrets)
	text, err := json.Marshal(g)
	if err != nil {
		return bad(columnLabels, err)
	}
	config.Labels[mark] = string(text)
	options = client.ContainerCreateOptions{Name: name, Config: config, HostConfig: its}
	if in := slices.Sorted(slices.Values(want[columnNetworks].Strings())); len(in) > 0 {
		its.NetworkMode = container.NetworkMode(in[0])
		if !lone(in[0]) && in[0] != "bridge" {
			options.NetworkingConfig = &network.NetworkingConfig{
				EndpointsConfig: map[string]*network.EndpointSettings{in[0]: {}}}
		}
		more = in[1:]
	}
	return options, more, nil
}

func restartPolicy(text string) container.RestartPolicy {
	name, most, _ := strings.Cut(text, ":")
	n, _ := strconv.Atoi(most)
	return container.RestartPolicy{Name: container.RestartPolicyMode(name), MaximumRetryCount: n}
}

// nanos returns CPUs as the API counts them.
func nanos(v modules.Value) int64 {
	if cpus := v.Float64Ptr(); cpus != nil {
		return int64(math.Round(*cpus * 1e9))
	}
	return 0
}

// lone reports whether a container that is in a network of that name is in no other.
func lone(name string) bool {
	return name == "host" || name == "none" || strings.HasPrefix(name, "container:")
}

// otherNetworking reports whether networks cannot be joined and left in place.
func otherNetworking(from, to string) bool {
	return slices.ContainsFunc(append(modules.Text(from).Strings(), modules.Text(to).Strings()...), lone)
}

// check is a healthcheck, in seconds.
type check struct {
	Test        []string `json:"test,omitempty"`
	Interval    float64  `json:"interval,omitempty"`
	Timeout     float64  `json:"timeout,omitempty"`
	StartPeriod float64  `json:"start_period,omitempty"`
	Retries     int      `json:"retries,omitempty"`
}

func healthcheck(text string) (*container.HealthConfig, error) {
	if text == "" || text == "{}" {
		return nil, nil
	}
	var c check
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return nil, err
	}
	if len(c.Test) > 0 && !slices.Contains([]string{"CMD", "CMD-SHELL", "NONE"}, c.Test[0]) {
		return nil, fmt.Errorf("its test begins with %q, and should with CMD, CMD-SHELL or NONE", c.Test[0])
	}
	long := func(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }
	return &container.HealthConfig{Test: c.Test, Interval: long(c.Interval), Timeout: long(c.Timeout),
		StartPeriod: long(c.StartPeriod), Retries: c.Retries}, nil
}

// sameHealthcheck compares healthchecks as JSON has them.
func sameHealthcheck(a, b string) bool {
	var x, y check
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil &&
		slices.Equal(x.Test, y.Test) && x.Interval == y.Interval && x.Timeout == y.Timeout &&
		x.StartPeriod == y.StartPeriod && x.Retries == y.Retries
}

// port is one of the host's that leads to one of the container's.
type port struct {
	address netip.Addr // the zero value: all of the host's
	outside string
	inside  network.Port
}

func parsePort(text string) (port, error) {
	bad := fmt.Errorf("%q is no port: it should be like 8080:80, 127.0.0.1:5432:5432 or 53:53/udp", text)
	at := strings.LastIndex(text, ":")
	if at < 0 {
		return port{}, bad
	}
	p := port{outside: text[:at]}
	inside, err := network.ParsePort(text[at+1:])
	if err != nil {
		return port{}, bad
	}
	p.inside = inside
	if at := strings.LastIndex(p.outside, ":"); at >= 0 {
		address := strings.Trim(p.outside[:at], "[]")
		if p.address, err = netip.ParseAddr(address); err != nil {
			return port{}, bad
		}
		p.outside = p.outside[at+1:]
	}
	if n, err := strconv.ParseUint(p.outside, 10, 16); err != nil || n == 0 {
		return port{}, bad
	}
	return p, nil
}

// String spells it as rows do.
func (p port) String() string {
	inside := strings.TrimSuffix(p.inside.String(), "/tcp")
	switch {
	case !p.address.IsValid():
		return p.outside + ":" + inside
	case p.address.Is6():
		return "[" + p.address.String() + "]:" + p.outside + ":" + inside
	}
	return p.address.String() + ":" + p.outside + ":" + inside
}

func ports(list []string) (network.PortSet, network.PortMap, error) {
	if len(list) == 0 {
		return nil, nil, nil
	}
	exposed, bound := network.PortSet{}, network.PortMap{}
	for _, text := range list {
		p, err := parsePort(text)
		if err != nil {
			return nil, nil, err
		}
		exposed[p.inside] = struct{}{}
		bound[p.inside] = append(bound[p.inside], network.PortBinding{HostIP: p.address, HostPort: p.outside})
	}
	return exposed, bound, nil
}

// samePorts compares lists of ports as JSON has them.
func samePorts(a, b string) bool {
	spell := func(text string) []string {
		var all []string
		for _, one := range modules.Text(text).Strings() {
			if p, err := parsePort(one); err == nil {
				one = p.String()
			}
			all = append(all, one)
		}
		slices.Sort(all)
		return slices.Compact(all)
	}
	return slices.Equal(spell(a), spell(b))
}

// mounted is what is mounted at a place.
type mounted struct {
	Volume   string   `json:"volume,omitempty"`
	Bind     string   `json:"bind,omitempty"`
	Tmpfs    *string  `json:"tmpfs,omitempty"`
	ReadOnly bool     `json:"read_only,omitempty"`
	Options  []string `json:"options,omitempty"`
}

// mounts puts what is mounted into what a container is made by.
func mounts(text string, its *container.HostConfig) error {
	if text == "" {
		return nil
	}
	var all map[string]mounted
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return err
	}
	for _, target := range slices.Sorted(maps.Keys(all)) {
		m := all[target]
		source, kind := m.Volume, mount.TypeVolume
		if m.Bind != "" {
			source, kind = m.Bind, mount.TypeBind
			if !path.IsAbs(source) {
				return fmt.Errorf("%s is no absolute path", source)
			}
		}
		switch {
		case m.Tmpfs != nil:
			if its.Tmpfs == nil {
				its.Tmpfs = map[string]string{}
			}
			its.Tmpfs[target] = *m.Tmpfs
		case source == "":
			return fmt.Errorf("nothing is said to be mounted at %s", target)
		case len(m.Options) > 0: // which the newer form does not have
			options := slices.Clone(m.Options)
			if m.ReadOnly {
				options = append(options, "ro")
			}
			its.Binds = append(its.Binds, source+":"+target+":"+strings.Join(options, ","))
		default:
			its.Mounts = append(its.Mounts, mount.Mount{Type: kind, Source: source, Target: target,
				ReadOnly: m.ReadOnly})
		}
	}
	return nil
}

// sameMounts compares what is mounted as JSON has it.
func sameMounts(a, b string) bool {
	var x, y map[string]mounted
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return false
	}
	return maps.EqualFunc(x, y, func(m, n mounted) bool {
		slices.Sort(m.Options)
		slices.Sort(n.Options)
		return m.Volume == n.Volume && m.Bind == n.Bind && (m.Tmpfs == nil) == (n.Tmpfs == nil) &&
			(m.Tmpfs == nil || *m.Tmpfs == *n.Tmpfs) && m.ReadOnly == n.ReadOnly && slices.Equal(m.Options, n.Options)
	})
}

// sameOptions compares settings as JSON has them: what the API fills in and spells out makes no difference.
func sameOptions(a, b string) bool {
	spell := func(text string) string {
		its, config := &container.HostConfig{}, &container.Config{}
		if json.Unmarshal([]byte(text), its) != nil || json.Unmarshal([]byte(text), config) != nil {
			return text
		}
		its.CapAdd, its.CapDrop = capabilities(its.CapAdd), capabilities(its.CapDrop)
		for _, limit := range its.Ulimits {
			limit.Name = strings.ToLower(strings.TrimPrefix(limit.Name, "RLIMIT_"))
		}
		all, err := optionsOf(its, config)
		if err != nil {
			return text
		}
		maps.DeleteFunc(all, func(_ string, value json.RawMessage) bool { return zero(value) })
		spelled, err := json.Marshal(all)
		if err != nil {
			return text
		}
		return string(spelled)
	}
	return spell(a) == spell(b)
}

func capabilities(list []string) []string {
	all := make([]string, len(list))
	for i, name := range list {
		if name = strings.ToUpper(name); name != "ALL" && !strings.HasPrefix(name, "CAP_") {
			name = "CAP_" + name
		}
		all[i] = name
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// optionsOf returns all settings that the column options may have.
func optionsOf(its *container.HostConfig, config *container.Config) (map[string]json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	for _, part := range []struct {
		of    any
		names []string
	}{{its, hostOptions}, {config, ownOptions}} {
		text, err := json.Marshal(part.of)
		if err != nil {
			return nil, err
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(text, &fields); err != nil {
			return nil, err
		}
		for _, name := range part.names {
			if value, is := fields[name]; is {
				all[name] = value
			}
		}
	}
	return all, nil
}

// zero reports whether a setting says nothing.
func zero(value json.RawMessage) bool {
	return slices.Contains([]string{"null", `""`, "0", "false", "[]", "{}", `{"Type":"","Config":null}`}, string(value))
}
