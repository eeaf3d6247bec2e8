package hosts

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// agentSocket returns the socket of an agent that each connection is served by.
func agentSocket(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "agent") // a socket's name is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
			go serve(conn)
		}
	}()
	return filepath.Join(dir, "s")
}

func newKey(t *testing.T) (ed25519.PrivateKey, ssh.Signer) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return private, signer
}

// TestKeysOfAgent: the ways in are all keys that the engine offers, and the authorities of their certificates; and an
// agent that is silent is not waited for.
func TestKeysOfAgent(t *testing.T) {
	t.Parallel()
	_, authority := newKey(t)
	plain, plainSigner := newKey(t)
	certified, certifiedSigner := newKey(t)
	certificate := &ssh.Certificate{Key: certifiedSigner.PublicKey(), CertType: ssh.UserCert,
		ValidPrincipals: []string{"iasql"}, ValidBefore: ssh.CertTimeInfinity}
	if err := certificate.SignCert(rand.Reader, authority); err != nil {
		t.Fatal(err)
	}
	keyring := agent.NewKeyring()
	for _, key := range []agent.AddedKey{{PrivateKey: plain}, {PrivateKey: certified, Certificate: certificate}} {
		if err := keyring.Add(key); err != nil {
			t.Fatal(err)
		}
	}
	settings := &Settings{IdentityAgent: true}
	socket := agentSocket(t, func(conn net.Conn) { _ = agent.ServeAgent(keyring, conn) })
	s, err := newSignIn(t.Context(), settings, socket)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	for _, signer := range []ssh.Signer{authority, plainSigner, certifiedSigner} {
		if key := authorized(signer.PublicKey()); !slices.Contains(s.keys(), key) {
			t.Errorf("%s is none of %v", key, s.keys())
		}
	}
	limit, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	silent := agentSocket(t, func(net.Conn) {})
	if _, err := newSignIn(limit, settings, silent); err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("of an agent that is silent it says %v", err)
	}
}
