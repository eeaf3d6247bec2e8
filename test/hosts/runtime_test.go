package hosts

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"iasql/internal/test/harness"
)

// waiter is a program for containers: it waits until it is told to end, or ends at once with the code that it is given.
const waiter = `package main

import (
	"os"
	"os/signal"
	"strconv"
	"syscall"
)

func main() {
	if len(os.Args) > 1 {
		if code, err := strconv.Atoi(os.Args[1]); err == nil {
			os.Exit(code)
		}
	}
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM)
	<-told
}
`

// builtWaiter is the waiter, built once.
var builtWaiter = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "waiter")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(dir+"/main.go", []byte(waiter), 0o600); err != nil {
		return nil, err
	}
	command := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", dir+"/wait", dir+"/main.go")
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := command.CombinedOutput(); err != nil {
		return nil, errors.New(string(out))
	}
	return os.ReadFile(dir + "/wait")
})

// registry serves one image, app:1, of which each container waits. It returns its address.
func serveImages(t *testing.T) string {
	t.Helper()
	program, err := builtWaiter()
	if err != nil {
		t.Fatal(err)
	}
	var layer bytes.Buffer
	packed := tar.NewWriter(&layer)
	if err := packed.WriteHeader(&tar.Header{Name: "wait", Mode: 0o755, Size: int64(len(program))}); err != nil {
		t.Fatal(err)
	}
	if _, err := packed.Write(program); err != nil {
		t.Fatal(err)
	}
	packed.Close()
	var zipped bytes.Buffer
	zip := gzip.NewWriter(&zipped)
	_, _ = zip.Write(layer.Bytes())
	zip.Close()
	digest := func(b []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(b)) }
	text := func(v any) []byte {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	type m = map[string]any
	config := text(m{"architecture": "amd64", "os": "linux",
		"config": m{"Entrypoint": []string{"/wait"}, "Env": []string{"FROM_IMAGE=yes"}, "Labels": m{"of": "image"}},
		"rootfs": m{"type": "layers", "diff_ids": []string{digest(layer.Bytes())}}})
	manifest := text(m{"schemaVersion": 2, "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
		"config": m{"mediaType": "application/vnd.docker.container.image.v1+json", "size": len(config), "digest": digest(config)},
		"layers": []m{{"mediaType": "application/vnd.docker.image.rootfs.diff.tar.gzip", "size": zipped.Len(),
			"digest": digest(zipped.Bytes())}}})
	blobs := map[string][]byte{digest(config): config, digest(zipped.Bytes()): zipped.Bytes()}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, last, _ := strings.Cut(r.URL.Path, "/v2/app/")
		kind, name, _ := strings.Cut(last, "/")
		body := blobs[name]
		if kind == "manifests" && (name == "1" || name == "2" || name == digest(manifest)) {
			body = manifest
			w.Header().Set("Content-Type", "application/vnd.docker.distribution.manifest.v2+json")
			w.Header().Set("Docker-Content-Digest", digest(manifest))
		}
		switch {
		case r.URL.Path == "/v2/":
		case body == nil:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}`))
		default:
			w.Header().Set("Content-Length", fmt.Sprint(len(body)))
			_, _ = w.Write(body)
		}
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// daemon is a real Docker or Podman of the test's own.
type daemon struct {
	t      *testing.T
	podman bool
	socket string
	*client.Client
}

// run starts what serves on a socket of a folder, and ends it with what it has.
func runDaemon(t *testing.T, podman bool, images string) *daemon {
	t.Helper()
	program := "dockerd"
	if podman {
		program = "podman"
	}
	at, err := exec.LookPath(program)
	if err != nil {
		harness.Lacking(t, program)
	}
	if os.Getuid() != 0 {
		harness.Lacking(t, "the right to run containers (root)")
	}
	dir, err := os.MkdirTemp("", "run") // a path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	d := &daemon{t: t, podman: podman, socket: dir + "/sock"}
	log := &harness.Buffer{}
	command := exec.Command(at, "--data-root", dir+"/data", "--exec-root", dir+"/exec", "--pidfile", dir+"/pid", "-H",
		"unix://"+d.socket, "--bridge=none", "--iptables=false", "--ip6tables=false", "--config-file", dir+"/none",
		"--containerd-namespace", filepath.Base(dir), "--containerd-plugins-namespace", filepath.Base(dir)+"-plugins")
	if podman {
		for name, text := range map[string]string{
			// The kernel's limits may be lower than Podman's own, and crun does not know every layout of control groups. Other
			// locks are shared with any other Podman of the machine.
			"containers.conf": "[containers]\ndefault_ulimits = [\"nofile=1024:1024\",\"nproc=1024:1024\"]\n[engine]\n" +
				"cgroup_manager = \"cgroupfs\"\nruntime = \"runc\"\nevents_logger = \"file\"\nlock_type = \"file\"\n[network]\nnetwork_config_dir = \"" + dir + "/net\"\n",
			"registries.conf": "[[registry]]\nlocation = \"" + images + "\"\ninsecure = true\n",
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		command = exec.Command(at, "--root", dir+"/data", "--runroot", dir+"/exec", "--tmpdir", dir+"/tmp", "system", "service",
			"--time=0", "unix://"+d.socket)
		command.Env = append(os.Environ(), "CONTAINERS_CONF="+dir+"/containers.conf",
			"CONTAINERS_REGISTRIES_CONF="+dir+"/registries.conf")
	} else if err := os.WriteFile(dir+"/none", []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	d.Client, err = client.New(client.WithHost("unix://" + d.socket))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		d.clear()
		_ = command.Process.Signal(syscall.SIGTERM)
		hung := time.AfterFunc(shortly, func() { _ = command.Process.Kill() })
		_ = command.Wait()
		hung.Stop()
		_ = exec.Command("umount", dir+"/data/overlay").Run() // which Podman leaves
		if err := os.RemoveAll(dir); err != nil {
			t.Log(err)
		}
		if t.Failed() {
			text := log.String()
			t.Logf("%s said:\n%s", program, text[max(0, len(text)-4000):])
		}
	})
	for until := time.Now().Add(shortly); ; time.Sleep(50 * time.Millisecond) {
		if _, err := d.Ping(t.Context(), client.PingOptions{}); err == nil {
			return d
		}
		if time.Now().After(until) {
			t.Fatalf("%s does not answer: %s", program, log)
		}
	}
}

// clear removes all containers, and the networks that the test makes.
func (d *daemon) clear() {
	ctx, cancel := context.WithTimeout(context.Background(), shortly)
	defer cancel()
	all, err := d.ContainerList(ctx, client.ContainerListOptions{All: true})
	if err != nil {
		d.t.Log(err)
	}
	for i := range all.Items {
		if _, err := d.ContainerRemove(ctx, all.Items[i].ID, client.ContainerRemoveOptions{Force: true}); err != nil {
			d.t.Log(err)
		}
	}
	for _, name := range []string{"app-net", "app-found"} {
		_, _ = d.NetworkRemove(ctx, name, client.NetworkRemoveOptions{})
	}
}

// between serves on a socket what a daemon answers, and cuts the connection where it is told to.
type between struct {
	socket string
	// before and after are asked whether a request is not handed on, or its answer not.
	before, after atomic.Pointer[func(*http.Request) bool]
}

func (d *daemon) between() *between {
	d.t.Helper()
	b := &between{socket: d.socket + "-between"}
	l, err := net.Listen("unix", b.socket)
	if err != nil {
		d.t.Fatal(err)
	}
	to := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: "daemon"})
	}, ModifyResponse: func(r *http.Response) error {
		if cut := b.after.Load(); cut != nil && (*cut)(r.Request) {
			panic(http.ErrAbortHandler)
		}
		return nil
	}, Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", d.socket)
	}}}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if cut := b.before.Load(); cut != nil && (*cut)(r) {
			panic(http.ErrAbortHandler)
		}
		to.ServeHTTP(w, r)
	}), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(l) }()
	d.t.Cleanup(func() { server.Close() })
	return b
}

// once returns a function that is true of the first request that ends like that.
func once(method, suffix string) *func(*http.Request) bool {
	var done atomic.Bool
	f := func(r *http.Request) bool {
		return r.Method == method && strings.HasSuffix(r.URL.Path, suffix) && done.CompareAndSwap(false, true)
	}
	return &f
}
