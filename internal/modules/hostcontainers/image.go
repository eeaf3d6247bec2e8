package hostcontainers

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/distribution/reference"
	"github.com/moby/moby/client"

	"iasql/internal/hosts"
	"iasql/internal/modules"
)

const (
	columnDigest, columnSize = "digest", "size"
	// imageName is how Docker shows the name of an image, with its tag or its digest.
	imageName = `^[a-z0-9][a-zA-Z0-9_.:/-]{0,200}(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}|@sha256:[0-9a-f]{64})$`
)

var imageTable = hosts.NamedTable(modules.Table{
	Name: "host_image",
	Doc: "The images that Docker or Podman has on a host, and that a row of host_scope of the kind image names. An " +
		"INSERT pulls one; a DELETE removes its name, and the image once it has no other name. An image that a " +
		"container uses is not removed.",
	Columns: []modules.Column{
		{Name: columnName, Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true,
			Check: `name ~ '` + imageName + `' AND name !~ '^((index[.])?docker[.]io/|library/)'`,
			Doc: "Its name with a tag or a digest, as docker images shows it: nginx:1.27, ghcr.io/me/app:2, " +
				"nginx@sha256:… . One of Docker Hub begins with neither docker.io/ nor library/."},
		{Name: columnImageID, Type: modules.TypeText, Computed: true, Doc: "Its id, such as sha256:… ."},
		{Name: columnDigest, Type: modules.TypeText, Computed: true,
			Doc: "The digest by which its registry knows it; NULL of one that has never been in any."},
		{Name: columnSize, Type: modules.TypeBigint, Computed: true, Doc: "How many bytes it has."},
	},
})

// Bounds of a pull.
const (
	answerWithin = 20 * time.Second // then the record waits, and the pull goes on
	pullWithin   = time.Hour
)

// pulls are those that are under way.
type pulls struct {
	lock sync.Mutex
	all  map[string]*pull
}

// pull is one.
type pull struct {
	done chan struct{}
	err  error

	lock sync.Mutex
	said string // by the registry, last
}

func images(h *hosts.Hosts) modules.Resource {
	under := &pulls{all: map[string]*pull{}}
	return &exclusive{resource: resource{hosts: h, of: imageTable, kind: hosts.KindImage, read: readImages},
		noun: "Image",
		create: func(ctx context.Context, host string, c *client.Client, want modules.Row) error {
			name := want[columnName].String()
			auth, err := h.RegistryAuth(ctx, host, name)
			if err != nil {
				return err
			}
			return under.pull(ctx, host, c, name, auth)
		},
		remove: func(ctx context.Context, host string, c *client.Client, have modules.Row) error {
			name := have[columnName].String()
			_, err := c.ImageRemove(ctx, name, client.ImageRemoveOptions{PruneChildren: true})
			switch {
			case errdefs.IsNotFound(err):
				return nil
			case errdefs.IsConflict(err), err != nil && strings.Contains(err.Error(), "in use"):
				return inUse(host, "image", name, err)
			}
			return err
		}}
}

// familiar returns the name of an image as Docker shows it, with its tag or its digest; "" if it is none.
func familiar(name string) string {
	named, err := reference.ParseNormalizedNamed(name)
	if err != nil {
		return ""
	}
	return reference.FamiliarString(reference.TagNameOnly(named))
}

func readImages(ctx context.Context, _ string, c *client.Client, want wanted, each func(thing) error) error {
	all, err := c.ImageList(ctx, client.ImageListOptions{})
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for i := range all.Items {
		image := &all.Items[i]
		for _, said := range append(image.RepoTags, image.RepoDigests...) {
			name := familiar(said)
			if name == "" || strings.Contains(said, "<none>") || seen[name] || !want(name, "") {
				continue
			}
			seen[name] = true
			row := modules.Row{columnName: modules.Text(name), columnImageID: modules.NonEmpty(image.ID),
				columnDigest: modules.Null, columnSize: modules.Int(image.Size)}
			for _, digested := range image.RepoDigests {
				if repository, digest, ok := strings.Cut(digested, "@"); ok && sameRepository(repository, name) {
					row[columnDigest] = modules.NonEmpty(digest)
				}
			}
			if err := each(thing{name: name, row: row}); err != nil {
				return err
			}
		}
	}
	return nil
}

// sameRepository reports whether an image's name is of a repository.
func sameRepository(repository, name string) bool {
	a, err := reference.ParseNormalizedNamed(repository)
	b, err2 := reference.ParseNormalizedNamed(name)
	return err == nil && err2 == nil && a.Name() == b.Name()
}

// pull pulls an image, with auth if its registry asks for that. A pull that takes long goes on, and who asks for it
// again is told how far it is.
func (p *pulls) pull(ctx context.Context, host string, c *client.Client, name, auth string) error {
	key := host + "\x00" + name
	p.lock.Lock()
	one := p.all[key]
	if one == nil {
		one = &pull{done: make(chan struct{})}
		p.all[key] = one
		go func() {
			limit, cancel := context.WithTimeout(context.Background(), pullWithin)
			defer cancel()
			one.err = one.run(limit, c, name, auth)
			close(one.done)
			time.AfterFunc(answerWithin, func() { p.forget(key, one) }) // nobody has asked how it ended
		}()
	}
	p.lock.Unlock()
	select {
	case <-one.done:
		p.forget(key, one)
		if one.err != nil {
			return hosts.Failure(modules.Transient, "Pull", host, "image %s cannot be pulled: %s", name,
				hosts.Words(one.err))
		}
		return nil
	case <-time.After(answerWithin):
		return hosts.Failure(modules.Transient, "Pulling", host, "image %s is being pulled: %s", name, one.last())
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *pulls) forget(key string, one *pull) {
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.all[key] == one {
		delete(p.all, key)
	}
}

func (p *pull) last() string {
	p.lock.Lock()
	defer p.lock.Unlock()
	return p.said
}

// run pulls to the end.
func (p *pull) run(ctx context.Context, c *client.Client, name, auth string) error {
	response, err := c.ImagePull(ctx, name, client.ImagePullOptions{RegistryAuth: auth})
	if err != nil {
		return err
	}
	defer response.Close()
	for message, err := range response.JSONMessages(ctx) {
		switch {
		case err != nil:
			return err
		case message.Error != nil:
			return errors.New(message.Error.Message)
		}
		p.lock.Lock()
		p.said = message.Status
		p.lock.Unlock()
	}
	return ctx.Err()
}
