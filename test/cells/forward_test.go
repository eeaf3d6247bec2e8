package cells

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
)

// How a forwarder treats who connects, and those that are connected.
type treatment int

const (
	open   treatment = iota
	silent           // takes connections, and says nothing
	closed           // ends each connection
)

// forwarder is a way to a server that can be cut.
type forwarder struct {
	port   string
	target string

	mu    sync.Mutex
	how   treatment
	conns map[net.Conn]bool
}

// forward starts a forwarder to the server of a URL.
func forward(t *testing.T, server string) *forwarder {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	f := &forwarder{port: port, target: u.Host, conns: map[net.Conn]bool{}}
	t.Cleanup(func() {
		listener.Close()
		f.set(closed)
	})
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go f.serve(conn)
		}
	}()
	return f
}

// set ends what is connected.
func (f *forwarder) set(how treatment) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.how = how
	for conn := range f.conns {
		conn.Close()
	}
	clear(f.conns)
}

func (f *forwarder) serve(conn net.Conn) {
	f.mu.Lock()
	how := f.how
	f.conns[conn] = true
	f.mu.Unlock()
	switch how {
	case closed:
		conn.Close()
		return
	case silent:
		return
	}
	server, err := net.Dial("tcp", f.target)
	if err != nil {
		conn.Close()
		return
	}
	go func() {
		_, _ = io.Copy(server, conn)
		server.Close()
	}()
	_, _ = io.Copy(conn, server)
	conn.Close()
	server.Close()
}
