package console

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
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"iasql/internal/test/faultproxy"
	"iasql/internal/test/harness"
)

// Two batches are open. Somebody approves of the other's plan, which is then
// committed; the page shows how far that is, and afterwards what it was. The other
// batch is rolled back.
func testReview(b *browser, w *harness.World, cloud *faultproxy.Proxy) {
	b.signIn(w.UserURL)
	owner := w.Login("owner", "iasql_user")
	do := func(statements ...string) {
		b.Helper()
		if _, err := w.TryPSQL(owner, statements...); err != nil {
			b.Fatal(err)
		}
	}
	w.Admin(`UPDATE iasql_settings SET value = '1' WHERE name = 'required_approvals'`)
	defer w.Admin(`UPDATE iasql_settings SET value = '0' WHERE name = 'required_approvals'`)
	do(`CALL iasql_begin('approve me')`, `INSERT INTO queue (name, tags) VALUES ('approved', '{"team": "web"}')`)
	do(`CALL iasql_begin('never mind')`, `UPDATE queue SET delay_seconds = 9 WHERE name = 'orders'`)
	path := "/batches/" + w.PSQL(`SELECT id FROM iasql_batches WHERE name = 'approve me'`)
	b.open("/")
	b.says("Batch approve me")
	b.says("Batch never mind")
	b.open("/records/queue/" + w.PSQL(`SELECT id FROM queue WHERE name = 'orders'`))
	b.says("Staged in batch")

	b.open(path)
	b.says("Destroys nothing in the cloud")
	b.click("form.commit button")
	b.says("0 of 1 approvals")
	b.accessible("a commit that lacks an approval")
	b.says("Decide") // the preview is made anew
	b.click(`form:has(input[value="approve"]) button`)
	b.says("iasql_approve = 1")
	b.says("Decide")
	cloud.Set(func(c faultproxy.Call) faultproxy.Fault { // so that it takes a while
		if strings.Contains(c.Action+c.Body, "CreateQueue") {
			return faultproxy.Fault{Status: http.StatusServiceUnavailable, Code: "ServiceUnavailable",
				Message: "wait a moment"}
		}
		return faultproxy.Fault{}
	})
	b.click("form.commit button")
	w.Becomes(patience, "committing", `SELECT phase FROM iasql_batches WHERE name = 'approve me'`)
	b.open("/batches")
	b.says("committing 0 of 1")
	b.open(path)
	b.says("0 of 1 done")
	b.accessible("a batch that is being committed")
	cloud.Set(func(faultproxy.Call) faultproxy.Fault { return faultproxy.Fault{} })
	b.says("as the audit log has it") // the page has found out by itself
	b.says("committed")
	b.says("END COMMIT")
	if name := w.PSQL(`SELECT count(*) FROM queue WHERE name = 'approved' AND arn IS NOT NULL`); name != "1" {
		b.Errorf("it made %s queues", name)
	}

	b.open("/batches/never%20mind")
	b.says("delay_seconds")
	b.click(`form:has(input[value="force rollback"]) button`)
	w.Becomes(patience, "rolled back", `SELECT outcome FROM iasql_batches WHERE name = 'never mind'`)
	if delay := w.PSQL(`SELECT delay_seconds FROM queue WHERE name = 'orders'`); delay != "0" {
		b.Errorf("after the rollback the delay is %s", delay)
	}
}

// A column that changed on both sides: the page shows all three values, and a
// button decides.
func testResolve(b *browser, w *harness.World) {
	b.signIn(w.UserURL)
	w.PSQL(`UPDATE iasql_settings SET value = 'hold' WHERE name = 'conflict_policy'`)
	defer w.PSQL(`UPDATE iasql_settings SET value = 'push' WHERE name = 'conflict_policy'`)
	w.CLI("sqs", "set-queue-attributes", "--queue-url", w.PSQL(`SELECT url FROM queue WHERE name = 'orders'`),
		"--attributes", "MaximumMessageSize=4096")
	w.PSQL(`UPDATE queue SET maximum_message_size = 8192 WHERE name = 'orders'`)
	w.Becomes(patience, "1", `SELECT count(*) FROM iasql_conflicts WHERE resolved IS NULL AND column_name = 'maximum_message_size'`)
	b.open("/")
	b.says("Columns that moved on both sides")
	b.open("/records/queue/" + w.PSQL(`SELECT id FROM queue WHERE name = 'orders'`))
	b.says("Changed on both sides")
	b.says("4096")
	b.says("8192")
	b.accessible("a column that changed on both sides")
	b.click(`form:has(input[value="resolve cloud"]) button`)
	b.says("Done")
	w.Becomes(patience, "4096", `SELECT maximum_message_size FROM queue WHERE name = 'orders'`)
	w.PSQL(`SELECT iasql_wait_for_all(120)`)
	b.accessible("what has been done")
	b.open("/activity?show=conflicts")
	b.says("Resolved: cloud")
}

// Over TLS the session's cookie is sent over nothing else.
func testTLS(t *testing.T, chromium context.Context, world *harness.World) {
	there := *world
	w := &there
	w.T = t
	certificate, key := selfSigned(t)
	w.Args = []string{"--http", "127.0.0.1:0", "--http-cert", certificate, "--http-key", key}
	engine := w.Serve()
	defer engine.Stop()
	base := ""
	w.Eventually(patience, "the console is served", func() bool {
		if m := served.FindStringSubmatch(engine.Log()); m != nil {
			base = m[1]
		}
		return base != ""
	})
	if !strings.HasPrefix(base, "https://") {
		t.Fatalf("the console is at %s", base)
	}
	b := newBrowser(t, chromium, base)
	b.signIn(w.UserURL)
	b.says("Overview")
	var cookies []*network.Cookie
	b.do("look at the cookies", chromedp.ActionFunc(func(ctx context.Context) (err error) {
		cookies, err = network.GetCookies().WithURLs([]string{base}).Do(ctx)
		return err
	}))
	if len(cookies) != 1 || !cookies[0].Secure || !cookies[0].HTTPOnly ||
		cookies[0].SameSite != network.CookieSameSiteStrict {
		t.Errorf("cookies: %+v", cookies)
	}
	v := newVisitor(t, base)
	if _, _, answer := v.send(http.MethodGet, "/signin", nil); !strings.Contains(answer.Header.Get("Strict-Transport-Security"), "max-age=") {
		t.Errorf("no Strict-Transport-Security: %v", answer.Header)
	}
	answer, err := v.client.Get("http://" + strings.TrimPrefix(base, "https://") + "/signin")
	if err == nil {
		answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			t.Error("the console answers without TLS, too")
		}
	}
}

// selfSigned makes a certificate of 127.0.0.1.
func selfSigned(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "console"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:   time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	made, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, kind string, bytes []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("cert.pem", "CERTIFICATE", made), write("key.pem", "PRIVATE KEY", secret)
}
