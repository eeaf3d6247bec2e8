package edges

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"iasql/internal/devenv"
	"iasql/internal/test/harness"
	"iasql/internal/test/testaws"
)

// What sslmode says holds for every connection of the engine, in a database
// whose name needs quoting wherever it is put.
func TestTLS(t *testing.T) {
	t.Parallel()
	dir := harness.Temporary(t)
	certificate(t, dir, "server")
	certificate(t, dir, "other")
	data := filepath.Join(dir, "cluster")
	if err := cluster(t, data).Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	hba := filepath.Join(data, "pgdata", "pg_hba.conf")
	st, err := os.Stat(hba)
	if err != nil {
		t.Fatal(err)
	}
	owner := st.Sys().(*syscall.Stat_t)
	if err := os.Chown(filepath.Join(dir, "server.key"), int(owner.Uid), int(owner.Gid)); err != nil {
		t.Fatal(err)
	}
	// Without TLS only from the socket; devenv itself looks whether it is ready without.
	pg, err := devenv.StartPostgres(context.Background(),
		devenv.PostgresOptions{DataDir: data, FastUnsafe: true, Settings: map[string]string{
			"ssl": "on", "ssl_cert_file": filepath.Join(dir, "server.crt"),
			"ssl_key_file": filepath.Join(dir, "server.key")}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pg.Stop(context.Background()) })

	const name = `o'dd "name" = \7 %s`
	w := &world{World: &harness.World{T: t, AdminURL: pg.AdminURL(), AWS: testaws.NewAccount(t)}}
	w.Admin(`CREATE DATABASE "`+strings.ReplaceAll(name, `"`, `""`)+`"`, `CREATE ROLE alice LOGIN PASSWORD 'secret'`)
	if err := os.WriteFile(hba, []byte("hostssl all all 127.0.0.1/32 scram-sha-256\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.Admin(`SELECT pg_reload_conf()`)
	address := func(query string) string {
		u, err := url.Parse(pg.AdminURL())
		if err != nil {
			t.Fatal(err)
		}
		u.Path, u.RawQuery = "/"+name, query
		return u.String()
	}
	verified := "sslmode=verify-full&sslrootcert=" + filepath.Join(dir, "server.crt")
	run := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), harness.Engine(), args...)
		out, err := cmd.CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	eventually(t, func() bool {
		_, err := w.TryPSQL(address("sslmode=disable"), `DO $$ BEGIN END $$`)
		return err != nil
	})

	for _, c := range []struct{ query, says string }{
		{"sslmode=verify-full&sslrootcert=" + filepath.Join(dir, "other.crt"),
			"certificate signed by unknown authority (check sslmode and sslrootcert in DATABASE_URL)"},
		{"sslmode=verify-ca&sslrootcert=" + filepath.Join(dir, "other.crt"),
			"certificate signed by unknown authority (check sslmode and sslrootcert in DATABASE_URL)"},
		{"sslmode=disable", "(the server wants TLS: say sslmode=require, or verify-full, in DATABASE_URL)"},
	} {
		for _, command := range [][]string{{"migrate"}, {"serve"}, {"serve", "--no-migrate"}, {"status"}} {
			out, err := run(append(command, "--database-url", address(c.query))...)
			if err == nil || !strings.Contains(out, c.says) || strings.Contains(out, "\n") {
				t.Errorf("engine %s with %s: %v: %s", strings.Join(command, " "), c.query, err, out)
			}
		}
	}
	for _, query := range []string{verified, "sslmode=require", "sslmode=verify-ca&sslrootcert=" +
		filepath.Join(dir, "server.crt")} {
		if out, err := run("migrate", "--database-url", address(query)); err != nil {
			t.Errorf("engine migrate with %s: %v: %s", query, err, out)
		}
	}
	w.AdminURL = address(verified)
	user, err := url.Parse(w.AdminURL)
	if err != nil {
		t.Fatal(err)
	}
	user.User = url.UserPassword("alice", "secret")
	w.UserURL = user.String()
	w.Admin(`GRANT iasql_user TO alice`)
	t.Cleanup(func() {
		if t.Failed() {
			log, _ := os.ReadFile(pg.LogFile())
			t.Logf("PostgreSQL said:\n%s", log[max(0, len(log)-3000):])
		}
	})
	w.begin()
	w.sync() // the database's connection to itself, too
	w.unharmed()
	if got := w.Admin(`SELECT count(*) > 0, bool_and(s.ssl) FROM pg_stat_activity a JOIN pg_stat_ssl s USING (pid) WHERE a.client_addr IS NOT NULL`); got != "t|t" {
		t.Errorf("connections, all with TLS: %s", got)
	}
}

// eventually waits for something that nobody announces.
func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not happen")
		}
	}
}

// certificate makes a certificate for 127.0.0.1 that is signed by itself.
func certificate(t *testing.T, dir, name string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	public, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{name + ".crt": {Type: "CERTIFICATE", Bytes: public},
		name + ".key": {Type: "PRIVATE KEY", Bytes: private}} {
		mode := os.FileMode(0o644)
		if block.Type == "PRIVATE KEY" {
			mode = 0o600
		}
		if err := os.WriteFile(filepath.Join(dir, file), pem.EncodeToMemory(block), mode); err != nil {
			t.Fatal(err)
		}
	}
}
