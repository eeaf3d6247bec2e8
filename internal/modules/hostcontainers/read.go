package hostcontainers

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"iasql/internal/hosts"
	"iasql/internal/modules"
)

// defaults are what an image says of containers that are made of it.
type defaults struct {
	command, entrypoint []string
	environment         map[string]string
	labels              map[string]string
	user, workingDir    string
	stopSignal          string
	healthcheck         string // as JSON
}

// maxImages bounds the images whose defaults are known.
const maxImages = 500

// imageDefaults are those of images by host and id: what an id stands for does not change.
type imageDefaults struct {
	lock  sync.Mutex
	known map[string]defaults
}

// of returns what an image says. Of one that is gone it says nothing.
func (d *imageDefaults) of(ctx context.Context, host string, c *client.Client, id string) (defaults, error) {
	key := host + "\x00" + id
	d.lock.Lock()
	found, is := d.known[key]
	d.lock.Unlock()
	if is {
		return found, nil
	}
	image, err := c.ImageInspect(ctx, id)
	if errdefs.IsNotFound(err) {
		return defaults{}, nil
	}
	if err != nil {
		return defaults{}, err
	}
	if config := image.Config; config != nil {
		found = defaults{command: config.Cmd, entrypoint: config.Entrypoint, environment: variables(config.Env),
			labels: config.Labels, user: config.User, workingDir: config.WorkingDir, stopSignal: config.StopSignal}
		if config.Healthcheck != nil {
			text, err := json.Marshal(config.Healthcheck)
			if err != nil {
				return defaults{}, err
			}
			found.healthcheck = string(text)
		}
	}
	d.lock.Lock()
	defer d.lock.Unlock()
	if len(d.known) >= maxImages {
		clear(d.known)
	}
	d.known[key] = found
	return found, nil
}

func variables(list []string) map[string]string {
	all := map[string]string{}
	for _, text := range list {
		name, value, _ := strings.Cut(text, "=")
		all[name] = value
	}
	return all
}

// nameOf returns the name of a container among those by which it and links to it are called.
func nameOf(names []string) string {
	for _, name := range names {
		if name = strings.TrimPrefix(name, "/"); !strings.Contains(name, "/") {
			return name
		}
	}
	return ""
}

// atOnce is how many containers are looked at at once.
const atOnce = 3

func (d *imageDefaults) readContainers(ctx context.Context, host string, c *client.Client, want wanted,
	each func(thing) error) error {
	all, err := c.ContainerList(ctx, client.ContainerListOptions{All: true})
	if err != nil {
		return err
	}
	var found []thing
	var ids []string
	for i := range all.Items {
		one := &all.Items[i]
		name, owner := nameOf(one.Names), ownerOf(one.Labels)
		if !validName.MatchString(name) || !want(name, owner) {
			continue
		}
		if len(found) >= maxThings {
			return hosts.Failure(modules.Transient, "BadAnswer", host, "it has more than %d containers", maxThings)
		}
		found, ids = append(found, thing{name: name, owner: owner}), append(ids, one.ID)
	}
	gone := make([]bool, len(found))
	var work sync.WaitGroup
	next := make(chan int)
	for range min(atOnce, len(found)) {
		work.Go(func() {
			for i := range next {
				t := &found[i]
				one, err := c.ContainerInspect(ctx, ids[i], client.ContainerInspectOptions{})
				if gone[i] = errdefs.IsNotFound(err); err == nil {
					t.row, err = d.row(ctx, host, c, t.name, &one.Container)
				}
				t.err = err
			}
		})
	}
	for i := range found {
		next <- i
	}
	close(next)
	work.Wait()
	for i, t := range found {
		if gone[i] { // meanwhile
			continue
		}
		if client.IsErrConnectionFailed(t.err) {
			return t.err
		}
		if err := each(t); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// stopping are the codes with which a container ends that is stopped: 0, or 128 and a signal, SIGTERM or SIGKILL.
var stopping = []int{0, 128 + 15, 128 + 9}

// row returns a container as a row.
func (d *imageDefaults) row(ctx context.Context, host string, c *client.Client, name string,
	one *container.InspectResponse) (modules.Row, error) {
	if one.Config == nil || one.HostConfig == nil || one.State == nil {
		return nil, hosts.Failure(modules.Transient, "BadAnswer", host,
			"it says nothing of what container %s is like", name)
	}
	image, err := d.of(ctx, host, c, one.Image)
	if err != nil {
		return nil, err
	}
	config, its, state := one.Config, one.HostConfig, one.State
	said := marked(config.Labels)
	row := modules.Row{columnName: modules.Text(name), columnImage: modules.Text(imageOf(one)),
		columnImageID: modules.NonEmpty(one.Image), columnContainerID: modules.NonEmpty(one.ID),
		columnCommand:     words(config.Cmd, image.command, said.has(columnCommand)),
		columnEntrypoint:  words(config.Entrypoint, image.entrypoint, said.has(columnEntrypoint)),
		columnUser:        text(config.User, said.has(columnUser), image.user),
		columnWorkingDir:  text(config.WorkingDir, said.has(columnWorkingDir), image.workingDir, "/"),
		columnRestart:     modules.Text(restartText(its.RestartPolicy)),
		columnPrivileged:  modules.Bool(its.Privileged),
		columnEnvironment: environment(config, image.environment, said),
		columnLabels:      labelsOf(config.Labels, image.labels, said),
		columnSecretNames: modules.Null, columnMemory: modules.Null, columnCPUs: modules.Null,
		columnHealthcheck: modules.Null, columnHealth: modules.Null, columnExitCode: modules.Null,
		columnJob: modules.Bool(said != nil && said.Job), columnState: modules.Text(stateStopped),
		columnStatus: modules.Text(string(state.Status)), columnRestarts: modules.Int(one.RestartCount)}
	row[columnImageRecord] = row[columnImage]
	if said != nil && len(said.Secrets) > 0 {
		row[columnSecretNames] = modules.Strings(said.Secrets)
	}
	if its.Memory > 0 {
		row[columnMemory] = modules.Int(its.Memory)
	}
	row[columnCPUs] = cpus(its)
	ended := state.Status == container.StateExited || state.Status == container.StateDead
	if ended {
		row[columnExitCode] = modules.Int(state.ExitCode)
	}
	failed := ended && !slices.Contains(stopping, state.ExitCode)
	done := ended && state.ExitCode == 0 && said != nil && said.Job
	if state.Running || state.Restarting || state.Paused || failed || done {
		row[columnState] = modules.Text(stateRunning)
	}
	if state.Health != nil && state.Health.Status != container.NoHealthcheck {
		row[columnHealth] = modules.NonEmpty(string(state.Health.Status))
	}
	var used []string
	if row[columnMounts], used, err = mountsOf(its); err != nil {
		return nil, err
	}
	row[columnVolumes] = orNull(used)
	row[columnNetworks] = orNull(networksOf(one))
	row[columnPorts] = orNull(portsOf(its))
	row[columnHealthcheck], err = healthcheckOf(config.Healthcheck, image.healthcheck, said.has(columnHealthcheck))
	if err != nil {
		return nil, err
	}
	row[columnOptions], err = options(one, &image, said)
	return row, err
}

func orNull(list []string) modules.Value {
	if len(list) == 0 {
		return modules.Null
	}
	slices.Sort(list)
	return modules.Strings(slices.Compact(list))
}

// imageOf returns the name of the image that a container was made of, as host_image has it.
func imageOf(one *container.InspectResponse) string {
	name := one.Config.Image
	if id := strings.TrimPrefix(one.Image, "sha256:"); strings.HasPrefix(id, strings.TrimPrefix(name, "sha256:")) {
		return name // it was named by its id
	}
	if shown := familiar(name); shown != "" {
		return shown
	}
	return name
}

// words returns a list unless it is what the image says.
func words(list, image []string, said bool) modules.Value {
	if len(list) == 0 || !said && slices.Equal(list, image) {
		return modules.Null
	}
	return modules.Strings(list)
}

// text returns a text unless it is what nobody has said.
func text(is string, said bool, but ...string) modules.Value {
	if !said && slices.Contains(but, is) {
		return modules.Null
	}
	return modules.NonEmpty(is)
}

// environment returns the variables that somebody has set, but for secret ones.
func environment(config *container.Config, image map[string]string, said *given) modules.Value {
	all := variables(config.Env)
	// Podman sets these of each container.
	podman := all["container"] == "podman" || all["container"] == "oci"
	shown := map[string]string{}
	for name, value := range all {
		own, known := image[name]
		switch {
		case said != nil && slices.Contains(said.Secrets, name):
		case said != nil && slices.Contains(said.Environment, name):
			shown[name] = value
		case known && own == value:
		case podman && slices.Contains([]string{"container", "TERM", "HOSTNAME", "HOME", "PATH"}, name):
		default:
			shown[name] = value
		}
	}
	return modules.StringMap(shown)
}

func labelsOf(all, image map[string]string, said *given) modules.Value {
	shown := map[string]string{}
	for name, value := range all {
		if own, is := image[name]; name != mark &&
			(!is || own != value || said != nil && slices.Contains(said.Labels, name)) {
			shown[name] = value
		}
	}
	return modules.StringMap(shown)
}

func restartText(policy container.RestartPolicy) string {
	switch {
	case policy.Name == "":
		return "no"
	case policy.MaximumRetryCount > 0:
		return string(policy.Name) + ":" + strconv.Itoa(policy.MaximumRetryCount)
	}
	return string(policy.Name)
}

func cpus(its *container.HostConfig) modules.Value {
	n := float64(its.NanoCPUs) / 1e9
	if n == 0 && its.CPUQuota > 0 && its.CPUPeriod > 0 {
		n = float64(its.CPUQuota) / float64(its.CPUPeriod)
	}
	if n == 0 {
		return modules.Null
	}
	return modules.FloatPtr(&n)
}

// plainOptions are options of a mount that say nothing: those that Docker and Podman take if nobody says any.
var plainOptions = []string{"rw", "rprivate", "rbind", "bind", "nosuid", "nodev", ""}

// mountsOf returns what a container mounts, and the names of the volumes among it. Volumes that nobody has named are
// left out.
func mountsOf(its *container.HostConfig) (modules.Value, []string, error) {
	all := map[string]mounted{}
	var used []string
	put := func(target, source string, volume, readOnly bool, options []string) {
		m := mounted{ReadOnly: readOnly, Options: options}
		if volume {
			if anonymous.MatchString(source) || source == "" {
				return
			}
			m.Volume, used = source, append(used, source)
		} else {
			m.Bind = source
		}
		all[target] = m
	}
	for _, bind := range its.Binds {
		parts := strings.SplitN(bind, ":", 3)
		if len(parts) < 2 {
			continue
		}
		readOnly := false
		var rest []string
		if len(parts) == 3 {
			for option := range strings.SplitSeq(parts[2], ",") {
				switch {
				case option == "ro":
					readOnly = true
				case !slices.Contains(plainOptions, option):
					rest = append(rest, option)
				}
			}
		}
		put(parts[1], parts[0], !strings.HasPrefix(parts[0], "/"), readOnly, rest)
	}
	for i := range its.Mounts {
		m := &its.Mounts[i]
		switch m.Type {
		case mount.TypeVolume, mount.TypeBind:
			put(m.Target, m.Source, m.Type == mount.TypeVolume, m.ReadOnly, nil)
		case mount.TypeTmpfs:
			size := ""
			if m.TmpfsOptions != nil && m.TmpfsOptions.SizeBytes > 0 {
				size = "size=" + strconv.FormatInt(m.TmpfsOptions.SizeBytes, 10)
			}
			all[m.Target] = mounted{Tmpfs: &size, ReadOnly: m.ReadOnly}
		}
	}
	for target, options := range its.Tmpfs {
		all[target] = mounted{Tmpfs: &options}
	}
	if len(all) == 0 {
		return modules.Null, nil, nil
	}
	value, err := modules.JSON(all)
	return value, used, err
}

func networksOf(one *container.InspectResponse) []string {
	var all []string
	if one.NetworkSettings != nil {
		all = slices.Collect(maps.Keys(one.NetworkSettings.Networks))
	}
	if mode := string(one.HostConfig.NetworkMode); len(all) == 0 && lone(mode) {
		all = []string{mode}
	}
	for i, name := range all {
		if name == "podman" { // as it is called in the API
			all[i] = "bridge"
		}
	}
	return all
}

func portsOf(its *container.HostConfig) []string {
	var all []string
	for inside, bindings := range its.PortBindings {
		for _, binding := range bindings {
			p := port{address: binding.HostIP, outside: binding.HostPort, inside: inside}
			if binding.HostPort == "" {
				p.outside = "0"
			}
			all = append(all, p.String())
		}
	}
	return all
}

func healthcheckOf(config *container.HealthConfig, image string, said bool) (modules.Value, error) {
	if config == nil {
		return modules.Null, nil
	}
	text, err := json.Marshal(config)
	if err != nil || !said && string(text) == image {
		return modules.Null, err
	}
	return modules.JSON(check{Test: config.Test, Interval: config.Interval.Seconds(), Timeout: config.Timeout.Seconds(),
		StartPeriod: config.StartPeriod.Seconds(), Retries: config.Retries})
}

// usual are what Docker and Podman say of a container of which nobody has said it.
var usual = map[string][]string{"IpcMode": {`"private"`, `"shareable"`}, "PidMode": {`"private"`},
	"UTSMode": {`"private"`}, "ShmSize": {"67108864", "65536000"}, "PidsLimit": {"2048"}, "StopTimeout": {"10"},
	"StopSignal": {`"SIGTERM"`, `"15"`}, "SecurityOpt": {`["label=disable"]`}}

// options returns the other settings that somebody has said.
func options(one *container.InspectResponse, image *defaults, said *given) (modules.Value, error) {
	all, err := optionsOf(one.HostConfig, one.Config)
	if err != nil {
		return modules.Null, err
	}
	maps.DeleteFunc(all, func(name string, value json.RawMessage) bool {
		switch {
		case said != nil:
			return !slices.Contains(said.Options, name)
		case zero(value), slices.Contains(usual[name], string(value)), name == "LogConfig", name == "Runtime":
			return true
		case name == "Hostname":
			return strings.HasPrefix(one.ID, one.Config.Hostname) || one.HostConfig.NetworkMode == "host"
		case name == "StopSignal":
			return one.Config.StopSignal == image.stopSignal
		case name == "Ulimits": // Podman's own
			return strings.Contains(string(value), "RLIMIT_")
		}
		return false
	})
	if len(all) == 0 {
		return modules.Null, nil
	}
	return modules.JSON(all)
}
