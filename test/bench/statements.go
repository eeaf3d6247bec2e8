package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/url"
	"sync/atomic"
)

// statements counts what a client asks of PostgreSQL. The server's own counters
// will not do: they have the work of autovacuum and of other sessions in them,
// and are up to 10 seconds late for a session that has gone idle.
type statements struct {
	URL      string // connects through the counter
	n        atomic.Int64
	listener net.Listener
}

// countStatements listens for connections that are to go to the database.
func countStatements(database string) (*statements, error) {
	u, err := url.Parse(database)
	if err != nil {
		return nil, err
	}
	s := &statements{}
	if s.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	server := u.Host
	u.Host = s.listener.Addr().String()
	s.URL = u.String()
	go func() {
		for {
			client, err := s.listener.Accept()
			if err != nil {
				return
			}
			go s.serve(client, server)
		}
	}()
	return s, nil
}

func (s *statements) serve(client net.Conn, server string) {
	defer client.Close()
	database, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	defer database.Close()
	go func() {
		_, _ = io.Copy(client, database)
		_ = client.Close()
	}()
	_ = s.forward(database, bufio.NewReader(client))
}

// forward hands messages on and counts those that have the server execute
// something: Query and Execute (manual, section 55.7). The first message of a
// connection has no type.
func (s *statements) forward(to io.Writer, from *bufio.Reader) error {
	for header := 4; ; header = 5 {
		head, err := from.Peek(header)
		if err != nil {
			return err
		}
		if header == 5 && (head[0] == 'Q' || head[0] == 'E') {
			s.n.Add(1)
		}
		length := binary.BigEndian.Uint32(head[header-4:])
		if length < 4 {
			return fmt.Errorf("a message of %d bytes", length)
		}
		if _, err := io.CopyN(to, from, int64(length)+int64(header)-4); err != nil {
			return err
		}
	}
}

func (s *statements) count() int64 { return s.n.Load() }
func (s *statements) stop()        { _ = s.listener.Close() }
