package hostcontainers

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"iasql/internal/hosts"
	"iasql/internal/modules"
)

const (
	columnImage, columnImageRecord              = "image", "image_record"
	columnCommand, columnEntrypoint             = "command", "entrypoint"
	columnEnvironment, columnSecrets            = "environment", "secret_environment"
	columnSecretNames                           = "secret_names"
	columnPorts, columnMounts                   = "ports", "mounts"
	columnVolumes, columnVolumeRecords          = "volumes", "volumes_records"
	columnNetworks, columnNetworkRecords        = "networks", "networks_records"
	columnRestart, columnUser                   = "restart_policy", "user_name"
	columnWorkingDir, columnPrivileged          = "working_dir", "privileged"
	columnMemory, columnCPUs, columnHealthcheck = "memory", "cpus", "healthcheck"
	columnState, columnJob                      = "state", "job"
	columnContainerID, columnStatus             = "container_id", "status"
	columnHealth, columnExitCode                = "health", "exit_code"
	columnRestarts                              = "restarts"
)

// The states that one asks for.
const stateRunning, stateStopped = "running", "stopped"

var containerTable = hosts.NamedTable(modules.Table{
	Name: "host_container",
	Doc: "The containers that Docker or Podman has on a host, and that a row of host_scope of the kind container " +
		"names. " +
		"The memory, the CPUs, the restart policy, the networks and the state change in place; any other change " +
		"replaces the container: the old one is stopped and removed first. NULL leaves to the image what that says.",
	Columns: []modules.Column{
		{Name: columnName, Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true,
			Check: `name ~ '` + objectName + `'`, Doc: "Its name, such as web."},
		{Name: columnImage, Type: modules.TypeText, Required: true, CreateOnly: true,
			Check: `image ~ '` + imageName + `' AND image !~ '^((index[.])?docker[.]io/|library/)'`,
			Doc: "The image that it is made of, by its name in host_image, with a tag or a digest: nginx:1.27. It " +
				"has to " +
				"be on the host: nothing is pulled for a container."},
		{Name: columnImageRecord, Type: modules.TypeBigint, CreateOnly: true,
			References: &modules.Reference{Table: "host_image", Key: columnName, NameColumn: columnImage},
			Doc:        "The record of the image; NULL if it has none."},
		{Name: columnCommand, Type: modules.TypeTexts, CreateOnly: true, EmptyIsNull: true,
			Doc: "What is run, a word an element, or the arguments of the entrypoint. NULL: what the image says."},
		{Name: columnEntrypoint, Type: modules.TypeTexts, CreateOnly: true, EmptyIsNull: true,
			Doc: "The program to which the command is given. NULL: what the image says."},
		{Name: columnEnvironment, Type: modules.TypeJSON, CreateOnly: true, EmptyIsNull: true,
			Check: "jsonb_typeof(environment) = 'object'",
			Doc: `The environment, as texts: {"LOG_LEVEL": "info"}. What the image sets is left out, and so is ` +
				"secret_environment."},
		{Name: columnSecrets, Type: modules.TypeText, WriteOnly: true, CreateOnly: true,
			Check: `secret_environment ~ '^([A-Za-z_][A-Za-z0-9_]*=[^\n]*\n?)+$'`,
			Doc: "Variables whose values nobody is to read here, a line each: PASSWORD=… . Whoever may use Docker " +
				"on the " +
				"host can read them. Shown as asterisks until the container is made, then NULL."},
		{Name: columnSecretNames, Type: modules.TypeTexts, Computed: true, Unordered: true, EmptyIsNull: true,
			Doc: "The names of the variables of secret_environment, which the container's label says."},
		{Name: columnPorts, Type: modules.TypeTexts, CreateOnly: true, Unordered: true, EmptyIsNull: true,
			Equal: samePorts,
			Check: `array_to_string(ports, ' ', '?') ~ '^((([0-9.]+|\[[0-9a-f:]+\]):)?[0-9]{1,5}:[0-9]{1,5}(/(tcp|udp|sctp))?( |$))*$'`,
			Doc: "The ports of the host that lead to it: 8080:80, 127.0.0.1:5432:5432, 53:53/udp. First the host's, " +
				"then " +
				"its own. Without an address: on all of the host's."},
		{Name: columnMounts, Type: modules.TypeJSON, CreateOnly: true, EmptyIsNull: true, Equal: sameMounts,
			Check: `jsonb_typeof(mounts) = 'object'`,
			Doc: `What is mounted where: {"/data": {"volume": "pgdata"}, "/etc/app": {"bind": "/srv/app", "read_only": ` +
				`true}, "/tmp": {"tmpfs": "size=64m"}}; "options" are those of docker run -v, such as ["z"]. A directory ` +
				"of the host has to be there."},
		{Name: columnVolumes, Type: modules.TypeTexts, CreateOnly: true, Unordered: true, EmptyIsNull: true,
			Doc: "The names of the volumes in mounts, which sets this."},
		{Name: columnVolumeRecords, Type: modules.TypeIDs, Local: true, Unordered: true, EmptyIsNull: true,
			Records: &modules.Reference{Table: "host_volume", Key: columnName, NameColumn: columnVolumes},
			Doc:     "The records of volumes."},
		{Name: columnNetworks, Type: modules.TypeTexts, OptionalComputed: true, Unordered: true, EmptyIsNull: true,
			RequiresReplacement: otherNetworking,
			Doc: "The networks that it is in, by their names in host_container_network; or one of: bridge, host, " +
				"none. " +
				"NULL: the default one."},
		{Name: columnNetworkRecords, Type: modules.TypeIDs, Local: true, Unordered: true, EmptyIsNull: true,
			Records: &modules.Reference{Table: "host_container_network", Key: columnName, NameColumn: columnNetworks},
			Doc:     "The records of networks."},
		{Name: columnRestart, Type: modules.TypeText, Required: true, Default: "'no'",
			Check: `restart_policy ~ '^(no|always|unless-stopped|on-failure(:[1-9][0-9]{0,5})?)$'`,
			Doc: "When it is started again once it has ended: no, always, unless-stopped, on-failure, or " +
				"on-failure:3 for " +
				"three times at most."},
		{Name: columnUser, Type: modules.TypeText, CreateOnly: true, Check: "user_name <> ''",
			Doc: "As whom it runs: a user or a number, and a group behind a colon. NULL: as the image says."},
		{Name: columnWorkingDir, Type: modules.TypeText, CreateOnly: true, Check: "working_dir ~ '^/'",
			Doc: "The directory in which the command is run. NULL: what the image says."},
		{Name: columnLabels, Type: modules.TypeJSON, CreateOnly: true, EmptyIsNull: true,
			Check: "jsonb_typeof(labels) = 'object'", Doc: "Its labels, as texts, but for those that the image has."},
		{Name: columnPrivileged, Type: modules.TypeBool, Required: true, CreateOnly: true, Default: "false",
			Doc: "Whether it may do on the host what root may."},
		{Name: columnMemory, Type: modules.TypeBigint, FixedKind: true, Check: "memory >= 6291456",
			Doc: "The most memory that it may use, in bytes; swap may be as much again. NULL: any."},
		{Name: columnCPUs, Type: modules.TypeDouble, FixedKind: true, Check: "cpus > 0",
			Doc: "How many CPUs it may use, such as 0.5. NULL: all."},
		{Name: columnHealthcheck, Type: modules.TypeJSON, CreateOnly: true, EmptyIsNull: true, Equal: sameHealthcheck,
			Check: `jsonb_typeof(healthcheck) = 'object' AND healthcheck - '{test,interval,timeout,start_period,retries}'::text[] = '{}'`,
			Doc: `How it is found out whether it is well: {"test": ["CMD", "curl", "-f", "http://localhost/"], "interval": ` +
				`30, "timeout": 5, "start_period": 10, "retries": 3}, in seconds; {"test": ["NONE"]} for not at all. NULL: ` +
				"as the image says."},
		{Name: columnOptions, Type: modules.TypeJSON, CreateOnly: true, EmptyIsNull: true, Equal: sameOptions,
			Check: `jsonb_typeof(options) = 'object' AND options - '{` + strings.Join(optionNames, ",") + `}'::text[] = '{}'`,
			Doc: "Any other settings, as Docker's API calls them: " +
				`{"CapAdd": ["NET_ADMIN"], "ExtraHosts": ["db:192.0.2.7"], "Hostname": "web"}. There are: ` +
				strings.Join(optionNames, ", ") + "."},
		{Name: columnJob, Type: modules.TypeBool, Required: true, CreateOnly: true, Default: "false",
			Doc: "Whether it runs to its end and is done then: that it has ended with the code 0 is not taken for " +
				"stopped."},
		// What an INSERT does not say is taken from a container that is there, such as one of which the engine has not
		// heard any more that it is made. This it says always, which a default that is spelt otherwise means.
		{Name: columnState, Type: modules.TypeText, Required: true, Default: "('" + stateRunning + "')",
			Enum: []string{stateRunning, stateStopped},
			Doc: "Whether it is to run: running or stopped. One that has ended with the code 0, or by a signal that " +
				"ends " +
				"it, is stopped. One that has failed is not: its status and exit_code say so, and its restart " +
				"policy says " +
				"whether it is started again."},
		{Name: columnContainerID, Type: modules.TypeText, Computed: true, Incarnation: true, Doc: "Its id."},
		{Name: columnImageID, Type: modules.TypeText, Computed: true,
			Doc: "The id of the image that it was made of. It is not that of host_image if the tag has been moved " +
				"since."},
		{Name: columnStatus, Type: modules.TypeText, Computed: true,
			Doc: "What Docker says: created, running, paused, restarting, exited, dead."},
		{Name: columnHealth, Type: modules.TypeText, Computed: true,
			Doc: "starting, healthy or unhealthy; NULL without a healthcheck."},
		{Name: columnExitCode, Type: modules.TypeInteger, Computed: true,
			Doc: "The code with which it has ended; NULL while it runs, or has never run."},
		{Name: columnRestarts, Type: modules.TypeInteger, Computed: true,
			Doc: "How often its restart policy has started it again."},
	},
})

// stopWithin bounds how long a container takes to end.
const stopWithin = 5 * time.Minute

// usualStop is how many seconds a container has to end before it is killed, unless it says another number.
var usualStop = 10

type containerResource struct{ exclusive }

func containers(h *hosts.Hosts) modules.Resource {
	known := &imageDefaults{known: map[string]defaults{}}
	return &containerResource{exclusive{resource: resource{hosts: h, of: containerTable, kind: hosts.KindContainer,
		read: known.readContainers}, noun: containerNoun, create: createContainer,
		remove: func(ctx context.Context, host string, c *client.Client, have modules.Row) error {
			id, err := idOf(ctx, host, c, have)
			if err != nil || id == "" {
				return err
			}
			if err := stop(ctx, c, id); err != nil && !errdefs.IsNotFound(err) {
				return err
			}
			_, err = c.ContainerRemove(ctx, id, client.ContainerRemoveOptions{})
			switch {
			case errdefs.IsNotFound(err):
				return nil
			case errdefs.IsConflict(err): // it was started again meanwhile, or is being removed
				return hosts.Failure(modules.Transient, "Busy", host, "container %s: %s", have[columnName],
					hosts.Words(err))
			}
			return err
		}}}
}

// idOf returns the id of a container, by which alone no other is meant; "" if there is none. It refuses the one in
// which
// the engine runs.
func idOf(ctx context.Context, host string, c *client.Client, have modules.Row) (string, error) {
	id, name := have[columnContainerID].String(), have[columnName].String()
	if id == "" {
		all, err := c.ContainerList(ctx, client.ContainerListOptions{All: true})
		if err != nil {
			return "", err
		}
		for i := range all.Items {
			if nameOf(all.Items[i].Names) == name {
				id = all.Items[i].ID
			}
		}
	}
	if own := hosts.OwnContainer(); own != "" && own == id {
		return "", invalid(host, "container %s is the one in which the engine itself runs: it is neither changed nor "+
			"deleted from here", name)
	}
	return id, nil
}

func stop(ctx context.Context, c *client.Client, id string) error {
	limit, cancel := context.WithTimeout(ctx, stopWithin)
	defer cancel()
	one, err := c.ContainerInspect(limit, id, client.ContainerInspectOptions{})
	if err != nil {
		return err
	}
	options := client.ContainerStopOptions{}
	// Podman would take nothing for not at all, and kill it.
	if config := one.Container.Config; config != nil && (config.StopTimeout == nil || *config.StopTimeout == 0) {
		options.Timeout = &usualStop
	}
	_, err = c.ContainerStop(limit, id, options)
	return err
}

// start starts a container.
func start(ctx context.Context, host string, c *client.Client, id, name string) error {
	if _, err := c.ContainerStart(ctx, id, client.ContainerStartOptions{}); err != nil {
		if client.IsErrConnectionFailed(err) {
			return err
		}
		return hosts.Failure(modules.Transient, hosts.CodeStart, host, "container %s cannot be started: %s", name,
			hosts.Words(err))
	}
	return nil
}

// createContainer makes a container, and starts it unless it is to be stopped. One that cannot be started has never
// run, and is removed again. If the connection is lost in between, the next cycle finds it by its name, and starts it.
func createContainer(ctx context.Context, host string, c *client.Client, want modules.Row) error {
	name := want[columnName].String()
	options, more, err := specified(host, want)
	if err != nil {
		return err
	}
	// Docker would make them, with nobody's options.
	for _, volume := range want[columnVolumes].Strings() {
		if _, err := c.VolumeInspect(ctx, volume, client.VolumeInspectOptions{}); errdefs.IsNotFound(err) {
			return hosts.Failure(modules.Dependency, "NoVolume", host, "container %s: there is no volume %s yet: "+
				"INSERT INTO "+
				"host_volume (account, name) VALUES ('%s', '%s')", name, volume, host, volume)
		} else if err != nil {
			return err
		}
	}
	made, err := c.ContainerCreate(ctx, options)
	switch {
	case errdefs.IsNotFound(err) && strings.Contains(err.Error(), "etwork"):
		return hosts.Failure(modules.Dependency, "NoNetwork", host, "container %s: %s", name, hosts.Words(err))
	case errdefs.IsNotFound(err):
		return hosts.Failure(modules.Dependency, "NoImage", host, "container %s: there is no image %s yet: INSERT "+
			"INTO "+
			"host_image (account, name) VALUES ('%s', '%s')", name, want[columnImage], host, want[columnImage])
	case errdefs.IsConflict(err):
		return hosts.Failure(modules.Exists, "Exists", host, "container %s: %s", name, hosts.Words(err))
	case err != nil:
		return err
	}
	for _, network := range more {
		if err == nil {
			err = connect(ctx, host, c, made.ID, name, network)
		}
	}
	if err == nil && want[columnState].String() == stateRunning {
		err = start(ctx, host, c, made.ID, name)
	}
	if err != nil && !client.IsErrConnectionFailed(err) && ctx.Err() == nil {
		_, _ = c.ContainerRemove(ctx, made.ID, client.ContainerRemoveOptions{})
	}
	return err
}

func connect(ctx context.Context, host string, c *client.Client, id, name, network string) error {
	_, err := c.NetworkConnect(ctx, network, client.NetworkConnectOptions{Container: id})
	switch {
	case errdefs.IsNotFound(err):
		return hosts.Failure(modules.Dependency, "NoNetwork", host, "container %s: %s", name, hosts.Words(err))
	case err != nil && strings.Contains(err.Error(), "already exists in network"):
		return nil
	}
	return err
}

// Create implements [modules.Creator]. It takes over nothing that is there already.
func (r *containerResource) Create(ctx context.Context, m modules.Mutation) (modules.Row, error) {
	made, err := r.exclusive.Create(ctx, m)
	return made, r.recovered(ctx, &m, m.Want[columnName].String(), err)
}

// Update implements [modules.Updater]: what can be changed in place.
func (r *containerResource) Update(ctx context.Context, m modules.Mutation) error {
	name := m.Have[columnName].String()
	err := r.hosts.Change(ctx, &m, r.kind, actionChange, name, func(c *client.Client) error {
		id, err := idOf(ctx, m.Scope.Account, c, m.Have)
		if err != nil {
			return err
		}
		if id == "" {
			return hosts.Failure(modules.NotFound, "NotFound", m.Scope.Account, "there is no container %s any more",
				name)
		}
		return change(ctx, m.Scope.Account, c, id, name, &m)
	})
	return r.recovered(ctx, &m, name, err)
}

func change(ctx context.Context, host string, c *client.Client, id, name string, m *modules.Mutation) error {
	limits, restarts := client.ContainerUpdateOptions{}, false
	for _, column := range m.Columns {
		want := m.Want[column]
		switch column {
		case columnMemory:
			limits.Resources = orNew(limits.Resources)
			limits.Resources.Memory, limits.Resources.MemorySwap = want.Int(), 2*want.Int()
		case columnCPUs:
			limits.Resources = orNew(limits.Resources)
			limits.Resources.NanoCPUs = nanos(want)
		case columnRestart:
			policy := restartPolicy(want.String())
			limits.RestartPolicy, restarts = &policy, true
		case columnNetworks:
			if err := join(ctx, host, c, id, name, m.Have[column].Strings(), want.Strings()); err != nil {
				return err
			}
		}
	}
	if limits.Resources != nil || restarts {
		_, err := c.ContainerUpdate(ctx, id, limits)
		if errdefs.IsNotFound(err) && !strings.Contains(strings.ToLower(err.Error()), "container") {
			return invalid(host, "container %s: this Podman changes neither limits nor the restart policy of a "+
				"container: "+
				"change something that replaces it as well, or delete and insert it", name)
		}
		if err != nil {
			return err
		}
	}
	for _, column := range m.Columns {
		switch {
		case column != columnState:
		case m.Want[column].String() == stateRunning:
			return start(ctx, host, c, id, name)
		default:
			return stop(ctx, c, id)
		}
	}
	return nil
}

func orNew(r *container.Resources) *container.Resources {
	if r == nil {
		return &container.Resources{}
	}
	return r
}

// join has a container join networks and leave others.
func join(ctx context.Context, host string, c *client.Client, id, name string, have, want []string) error {
	is := map[string]bool{}
	for _, network := range have {
		is[network] = true
	}
	for _, network := range want {
		if is[network] {
			delete(is, network)
			continue
		}
		if err := connect(ctx, host, c, id, name, network); err != nil {
			return err
		}
	}
	for network := range is {
		if _, err := c.NetworkDisconnect(ctx, network, client.NetworkDisconnectOptions{Container: id}); err != nil &&
			!strings.Contains(err.Error(), "is not connected") {
			return fmt.Errorf("network %s: %w", network, err)
		}
	}
	return nil
}
