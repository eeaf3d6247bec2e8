// Package hostcontainers is the module host_containers: what Docker or Podman has on hosts, as far as a scope names it
// (tables host_image, host_container_network, host_volume and host_container), and what is done about containers that
// fail again and again (host_recovery).
//
// Both have one API, which the engine speaks over the host's connection: see package hosts. Whatever identifies what
// was
// made here lies on the host, in the label [mark].
package hostcontainers

import (
	"context"
	"embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/moby/moby/client"

	"iasql/internal/hosts"
	"iasql/internal/modules"
)

// Module returns the module host_containers, which asks h.
func Module(h *hosts.Hosts) *modules.Module {
	return hosts.Module(sql, 1, modules.Module{
		Name:      "host_containers",
		Version:   2,
		Doc:       "Containers of hosts by Docker or Podman, and their images, volumes and networks.",
		Settings:  []*modules.Table{recoveryTable},
		Resources: []modules.Resource{images(h), networks(h), volumes(h), containers(h)},
	})
}

//go:embed sql
var sql embed.FS

// The columns that several tables have.
const (
	columnName, columnDriver, columnOptions, columnLabels = "name", "driver", "options", "labels"
	columnImageID                                         = "image_id"
)

// objectName is what Docker lets people call containers, volumes and networks.
const objectName = `^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,254}$`

var validName = regexp.MustCompile(objectName)

// Bounds of what a host answers.
const (
	maxThings  = 10_000
	maxThing   = 256 << 10
	readWithin = 30 * time.Second
)

// thing is what there is of a name.
type thing struct {
	name  string
	owner string // others who look after it, such as a project of Docker Compose; "": nobody
	row   modules.Row
	err   error // why it could not be read
}

// wanted reports whether a thing is to be read.
type wanted func(name, owner string) bool

// resource is a table of what Docker or Podman has.
type resource struct {
	hosts *hosts.Hosts
	of    *modules.Table
	kind  string // of the scopes
	// read gives each thing that is wanted.
	read func(ctx context.Context, host string, c *client.Client, want wanted, each func(thing) error) error
}

// Table implements [modules.Resource].
func (r *resource) Table() *modules.Table { return r.of }

// things reads what there is, and returns what was and what was not.
func (r *resource) things(ctx context.Context, host string, scopes []hosts.Scope, want wanted,
	found func(modules.Observation) error) error {
	limit, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	c, err := r.hosts.Containers(limit, host)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	var missed []modules.UnreadObject
	err = r.read(limit, host, c, want, func(t thing) error {
		switch {
		case len(seen) >= maxThings:
			return hosts.Failure(modules.Transient, "BadAnswer", host, "it has more than %d of kind %s", maxThings,
				r.kind)
		case seen[t.name]:
			t.err = hosts.Failure(modules.Transient, "Ambiguous", host, "there are several %s called %s", r.kind,
				t.name)
		case t.err == nil && size(t.row) > maxThing:
			t.err = hosts.Failure(modules.Transient, "BadAnswer", host, "what it says of %s %s is longer than %d KiB",
				r.kind, t.name, maxThing>>10)
		}
		seen[t.name] = true
		if t.err != nil {
			missed = append(missed, modules.UnreadObject{Identity: modules.Row{columnName: modules.Text(t.name)},
				Err: hosts.Answered(host, false, t.err)})
			return nil
		}
		o := modules.Observation{Row: t.row}
		if !hosts.PrunedName(scopes, t.name) || t.owner != "" {
			o.Manager = hosts.Others
		}
		return found(o)
	})
	if err != nil {
		return hosts.Answered(host, false, err)
	}
	if len(missed) > 0 {
		return &modules.Unread{Objects: missed}
	}
	return nil
}

// size returns how many bytes the texts of a row have.
func size(row modules.Row) int {
	n := 0
	for _, v := range row {
		n += len(v.String())
	}
	return n
}

// List implements [modules.Resource].
func (r *resource) List(ctx context.Context, q modules.ListRequest, page func([]modules.Observation) error) error {
	host := q.Scope.Account
	scopes, err := r.hosts.ScopesOf(ctx, host, r.kind, true)
	if err != nil || len(scopes) == 0 {
		return err
	}
	var found []modules.Observation
	want := func(name, owner string) bool {
		return hosts.NamedFor(scopes, name, owner) && (!strings.Contains(name, "@") ||
			q.IsRecorded(modules.Row{columnName: modules.Text(name)}))
	}
	unread := r.things(ctx, host, scopes, want, func(o modules.Observation) error {
		found = append(found, o)
		return nil
	})
	if unread != nil && !isUnread(unread) {
		return unread
	}
	for some := range slices.Chunk(found, 1000) {
		if err := page(some); err != nil {
			return err
		}
	}
	return unread
}

func isUnread(err error) bool {
	_, is := err.(*modules.Unread) //nolint:errorlint // things returns it as it is
	return is
}

// Get implements [modules.Resource]. What no scope names is not read, and says so.
func (r *resource) Get(ctx context.Context, q modules.GetRequest) ([]modules.Observation, error) {
	host := q.Scope.Account
	scopes, err := r.hosts.ScopesOf(ctx, host, r.kind, false)
	if err != nil {
		return nil, err
	}
	asked, others := map[string]bool{}, map[string]string{}
	var missed []modules.UnreadObject
	for _, identity := range q.Identities {
		name := identity[columnName].String()
		if !hosts.NamedFor(scopes, name, "") {
			missed = append(missed, modules.UnreadObject{Identity: identity, Err: hosts.Beyond(host, r.kind, name)})
			continue
		}
		asked[name] = true
	}
	var found []modules.Observation
	if len(asked) > 0 {
		want := func(name, owner string) bool {
			if asked[name] && !hosts.NamedFor(scopes, name, owner) {
				others[name] = owner
				return false
			}
			return asked[name]
		}
		err := r.things(ctx, host, scopes, want, func(o modules.Observation) error {
			found = append(found, o)
			return nil
		})
		if unread, is := err.(*modules.Unread); is { //nolint:errorlint // things returns it as it is
			missed = append(missed, unread.Objects...)
		} else if err != nil {
			return nil, err
		}
	}
	for name, owner := range others {
		missed = append(missed, modules.UnreadObject{Identity: modules.Row{columnName: modules.Text(name)},
			Err: hosts.OthersOwn(host, r.kind, name, owner)})
	}
	if len(missed) > 0 {
		return found, &modules.Unread{Objects: missed}
	}
	return found, nil
}

// ownerOf returns who looks after what has labels; "" if nobody has said so.
func ownerOf(labels map[string]string) string {
	for _, label := range []string{"com.docker.compose.project", "io.podman.compose.project",
		"com.docker.stack.namespace", "com.docker.swarm.service.name"} {
		if owner := labels[label]; owner != "" {
			return owner
		}
	}
	if labels["io.kubernetes.pod.name"] != "" {
		return "k8s_"
	}
	return ""
}

// exclusive is a table whose objects are made and deleted, and never changed in place. Two cannot have one name.
type exclusive struct {
	resource
	noun   string // of what is done: CreateVolume
	create func(ctx context.Context, host string, c *client.Client, want modules.Row) error
	remove func(ctx context.Context, host string, c *client.Client, have modules.Row) error
}

// Create implements [modules.Creator]. It takes over nothing that is there already.
func (e *exclusive) Create(ctx context.Context, m modules.Mutation) (modules.Row, error) {
	name := m.Want[columnName]
	return modules.Row{columnName: name}, e.hosts.Change(ctx, &m, e.kind, "Create"+e.noun, name.String(),
		func(c *client.Client) error { return e.create(ctx, m.Scope.Account, c, m.Want) })
}

// Delete implements [modules.Deleter]. What is used is not deleted.
func (e *exclusive) Delete(ctx context.Context, m modules.Mutation) error {
	return e.hosts.Change(ctx, &m, e.kind, "Delete"+e.noun, m.Have[columnName].String(),
		func(c *client.Client) error { return e.remove(ctx, m.Scope.Account, c, m.Have) })
}

// inUse is the error of what is not deleted because something uses it.
func inUse(host, what, name string, err error) error {
	return hosts.Failure(modules.Dependency, "InUse", host, "%s %s is in use, and is not deleted meanwhile: %s",
		what, name,
		hosts.Words(err))
}

// jsonMap returns the value of a column of type jsonb with texts.
func jsonMap(m map[string]string, but ...string) modules.Value {
	shown := map[string]string{}
	for key, value := range m {
		if !slices.Contains(but, key) {
			shown[key] = value
		}
	}
	return modules.StringMap(shown)
}

func invalid(host, format string, args ...any) error {
	return hosts.Failure(modules.Invalid, "Invalid", host, "%s", fmt.Sprintf(format, args...))
}
