package hostcontainers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"iasql/internal/hosts"
	"iasql/internal/modules"
)

// answering returns hosts of which web has a daemon that answers so, and whose names are all looked at.
func answering(t *testing.T, answer http.HandlerFunc) *hosts.Hosts {
	t.Helper()
	root, err := os.MkdirTemp("", "h") // a path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	if err := os.MkdirAll(root+"/run/podman", 0o755); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", root+"/run/podman/podman.sock")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/_ping") {
			w.Header().Set("Api-Version", "1.41")
			return
		}
		answer(w, r)
	}), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { server.Close() })
	settings := hosts.Settings{Name: "web", Root: root}
	for _, kind := range []string{hosts.KindContainer, hosts.KindImage, hosts.KindVolume, hosts.KindContained} {
		settings.Scopes = append(settings.Scopes, hosts.Scope{Kind: kind, Pattern: "*"})
	}
	h := hosts.New(hosts.Options{Load: func(context.Context, string) (hosts.Settings, error) { return settings, nil },
		Roots: []string{root}})
	t.Cleanup(h.Close)
	if _, err := h.Identify(t.Context(), modules.Scope{Account: "web"}, true); err != nil {
		t.Fatal(err)
	}
	return h
}

func list(t *testing.T, r modules.Resource) ([]modules.Observation, error) {
	t.Helper()
	var all []modules.Observation
	limit, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	err := r.List(limit, modules.ListRequest{Scope: modules.Scope{Account: "web"}}, func(some []modules.Observation) error {
		all = append(all, some...)
		return nil
	})
	return all, err
}

// TestHostileDaemon: whatever a daemon answers, a listing ends with an error that names the host, within bounds.
func TestHostileDaemon(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"an answer without an end": {func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"Volumes":[{"Name":"`)
			for block := []byte(strings.Repeat("x", 1<<20)); ; {
				if _, err := w.Write(block); err != nil {
					return
				}
			}
		}, "longer than 32 MiB"},
		"headers without an end": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X", strings.Repeat("x", 1<<20))
		}, "headers exceeded"},
		"no JSON":   {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }, "invalid character"},
		"a refusal": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, `{"message":"no\u001b[31m red"}`, 500) }, `\u001b[31m red`},
		"another place": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://127.0.0.1:1/")
			w.WriteHeader(http.StatusFound)
		}, "web"},
		"volumes of one name": {func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"Volumes":[{"Name":"a","Driver":"local"},{"Name":"a","Driver":"local"}]}`)
		}, "several volume called a"},
		"a long one": {func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"Volumes":[{"Name":"a","Driver":"local","Labels":{"x":%q}}]}`, strings.Repeat("x", maxThing))
		}, "longer than 256 KiB"},
		"too many": {func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"Volumes":[{"Name":"a","Driver":"local"}`)
			for i := range maxThings {
				fmt.Fprintf(w, `,{"Name":"a%d","Driver":"local"}`, i)
			}
			fmt.Fprint(w, `]}`)
		}, "more than 10000"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			_, err := list(t, volumes(answering(t, c.answer)))
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.ContainsRune(err.Error(), 0x1b) ||
				len(err.Error()) > 4000 {
				t.Errorf("it says %v", err)
			}
		})
	}
	// Names that are none, and those of others, are left out; NULs are replaced.
	all, err := list(t, volumes(answering(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"Volumes":[{"Name":"../a","Driver":"local"},{"Name":"a\u001b","Driver":"local"},{"Name":"","Driver":""},
			{"Name":"b","Driver":"lo\u0000cal"},{"Name":"shop_data","Driver":"local","Labels":{"com.docker.compose.project":"shop"}}]}`)
	})))
	if err != nil || len(all) != 1 || all[0].Row[columnDriver].String() != "lo\uFFFDcal" {
		t.Errorf("there is %v: %v", all, err)
	}
	// Containers that say nothing.
	_, err = list(t, containers(answering(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/containers/json") {
			fmt.Fprint(w, `[{"Id":"1","Names":["/a"]},{"Id":"2","Names":[]},{"Id":"3","Names":null}]`)
			return
		}
		fmt.Fprint(w, `{"Id":"1"}`)
	})))
	if unread := new(modules.Unread); !errors.As(err, &unread) || len(unread.Objects) != 1 {
		t.Errorf("it says %v", err)
	}
}

// TestOthersOwn: what belongs to a project of others is looked at only if a scope begins with the project's name.
func TestOthersOwn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, name, owner string
		want                 bool
	}{
		{"*", "web", "", true}, {"*", "shop-web-1", "shop", false}, {"s*", "shop-web-1", "shop", false},
		{"shop*", "shop-web-1", "shop", true}, {"shop-web-1", "shop-web-1", "shop", true}, {"shop-?eb-1", "shop-web-1", "shop", true},
		{"shop*", "other", "shop", false},
	} {
		if is := hosts.NamedFor([]hosts.Scope{{Pattern: c.pattern}}, c.name, c.owner); is != c.want {
			t.Errorf("%+v: %v", c, is)
		}
	}
	if owner := ownerOf(map[string]string{"com.docker.compose.project": "shop"}); owner != "shop" {
		t.Errorf("it is %s", owner)
	}
}

// TestSpelling: what is spelt otherwise and means the same is no difference.
func TestSpelling(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		same func(a, b string) bool
		a, b string
		want bool
	}{
		{samePorts, `["8080:80/tcp","53:53/udp"]`, `["53:53/udp","8080:80"]`, true},
		{samePorts, `["127.0.0.1:8080:80"]`, `["8080:80"]`, false},
		{samePorts, `["[::1]:8080:80"]`, `["[0:0::1]:8080:80/tcp"]`, true},
		{sameMounts, `{"/a":{"volume":"v"}}`, `{"/a":{"volume":"v","read_only":false,"options":[]}}`, true},
		{sameMounts, `{"/a":{"volume":"v"}}`, `{"/a":{"bind":"/v"}}`, false},
		{sameMounts, `{"/a":{"bind":"/v","options":["z","rshared"]}}`, `{"/a":{"bind":"/v","options":["rshared","z"]}}`, true},
		{sameHealthcheck, `{"test":["NONE"],"interval":30}`, `{"test":["NONE"],"interval":30.0,"retries":0}`, true},
		{sameHealthcheck, `{"test":["NONE"]}`, `{"test":["CMD","x"]}`, false},
		{sameOptions, `{"CapAdd":["net_admin","SYS_TIME"]}`, `{"CapAdd":["CAP_SYS_TIME","CAP_NET_ADMIN"]}`, true},
		{sameOptions, `{"ReadonlyRootfs":true}`, `{"ReadonlyRootfs":true,"Tty":false}`, true},
		{sameOptions, `{"Ulimits":[{"Name":"nofile","Hard":5,"Soft":5}]}`, `{"Ulimits":[{"Name":"RLIMIT_NOFILE","Hard":5,"Soft":5}]}`, true},
		{sameOptions, `{"ExtraHosts":["db:192.0.2.7"]}`, `{"ExtraHosts":["db:192.0.2.8"]}`, false},
	} {
		if is := c.same(c.a, c.b); is != c.want {
			t.Errorf("%s and %s: %v", c.a, c.b, is)
		}
	}
	for _, bad := range []string{"80", "x:80", "0:80", "1.2.3:1:1", "99999:1", "1:1/icmpx:"} {
		if p, err := parsePort(bad); err == nil {
			t.Errorf("%s is taken for %v", bad, p)
		}
	}
	for name, want := range map[string]string{"nginx": "nginx:latest", "docker.io/library/nginx:1": "nginx:1",
		"ghcr.io/me/app:2": "ghcr.io/me/app:2", "localhost/x:1": "localhost/x:1", "<none>:<none>": ""} {
		if got := familiar(name); got != want {
			t.Errorf("%s is %s", name, got)
		}
	}
}
