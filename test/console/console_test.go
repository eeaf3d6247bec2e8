package console

import (
	"context"
	"crypto/tls"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"iasql/internal/test/faultproxy"
	"iasql/internal/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

var served = regexp.MustCompile(`the console is served" .*?url=(\S+)`)

// start makes a world whose engine serves a console, and returns its address. The
// engine reaches the cloud through a proxy.
func start(t *testing.T, modules ...string) (w *harness.World, engine *harness.Process, cloud *faultproxy.Proxy,
	base string) {
	t.Helper()
	w = harness.NewWorld(t)
	cloud = faultproxy.Start(t, w.AWS.Endpoint)
	w.Endpoint = cloud.URL
	tokens := w.Login("console")
	u, err := url.Parse(w.UserURL)
	if err != nil {
		t.Fatal(err)
	}
	w.Admin(`ALTER ROLE `+login(t, tokens)+` NOINHERIT`, `GRANT `+u.User.Username()+` TO `+login(t, tokens))
	w.Args = []string{"--http", "127.0.0.1:0", "--http-token-url", tokens}
	engine = w.Serve()
	w.Eventually(patience, "the console is served", func() bool {
		if m := served.FindStringSubmatch(engine.Log()); m != nil {
			base = m[1]
		}
		return base != ""
	})
	w.Install([]string{"us-east-1"}, modules...)
	return w, engine, cloud, base
}

// login returns the role of a database's URL.
func login(t *testing.T, database string) string {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	return u.User.Username()
}

// visitor is who asks without a browser.
type visitor struct {
	*testing.T
	base   string
	client *http.Client
}

func newVisitor(t *testing.T, base string) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &visitor{t, base, &http.Client{Jar: jar, Timeout: patience,
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// send asks, and again where it was too often.
func (v *visitor) send(method, path string, form url.Values, header ...string) (status int, body string,
	answer *http.Response) {
	v.Helper()
	for deadline := time.Now().Add(patience); ; {
		r, err := http.NewRequestWithContext(context.Background(), method, v.base+path,
			strings.NewReader(form.Encode()))
		if err != nil {
			v.Fatal(err)
		}
		if form != nil {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		for i := 0; i+1 < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
			if header[i] == "Host" {
				r.Host = header[i+1]
			}
		}
		answer, err := v.client.Do(r)
		if err != nil {
			v.Fatalf("%s %s: %v", method, path, err)
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil {
			v.Fatalf("%s %s: %v", method, path, err)
		}
		if answer.StatusCode == http.StatusTooManyRequests && time.Now().Before(deadline) &&
			(!strings.HasPrefix(path, "/signin") || strings.HasPrefix(string(text), "Too many requests")) {
			time.Sleep(200 * time.Millisecond) // as Retry-After asks, if shorter
			continue
		}
		return answer.StatusCode, string(text), answer
	}
}

func (v *visitor) get(path string) string {
	v.Helper()
	status, body, _ := v.send(http.MethodGet, path, nil)
	if status != http.StatusOK {
		v.Errorf("GET %s: %d\n%s", path, status, body)
	}
	return body
}

// signIn signs in as the role of a database's URL, and returns the status.
func (v *visitor) signIn(database string) int {
	v.Helper()
	u, err := url.Parse(database)
	if err != nil {
		v.Fatal(err)
	}
	password, _ := u.User.Password()
	status, _, _ := v.send(http.MethodPost, "/signin", url.Values{"name": {u.User.Username()}, "password": {password}})
	return status
}

var pages = []string{"/", "/records", "/records/queue", "/records/queue/1", "/batches", "/batches/1",
	"/batches/pending", "/map", "/map?tables", "/map.svg", "/map/queue/1", "/map/queue/1?deletes", "/activity", "/activity?show=changes",
	"/activity?show=drift", "/activity?show=cycles", "/activity?show=pending", "/activity?show=failed",
	"/activity?show=conflicts", "/changes", "/changes?hours=168&table=queue&by=user&account=default&kind=edit",
	"/changes?between=1", "/sql", "/sql/names", "/sql?ask=expiring", "/modules", "/as-of?table=queue",
	"/as-of?table=queue&whole=1", "/task/x", "/search?q=shop", "/records/queue/new", "/records/queue/1/edit",
	"/records/queue/1/duplicate", "/records/subnet/new", "/pick/subnet/vpc_id", "/events"}

// TestConsole goes through the console in one world, since that takes long to
// make; what is limited by the number of requests comes last.
func TestConsole(t *testing.T) {
	w, engine, cloud, base := start(t, "aws_vpc", "aws_sqs")
	// Names as nobody should give them: tags hold any text.
	w.PSQL(`INSERT INTO queue (name, tags) VALUES ('orders', '{"Name": "shop orders", "team": "web"}'), ('salaries', '{"Name": "top-secret-payroll", "team": "data"}')`)
	w.PSQL(fmt.Sprintf(`INSERT INTO queue (name, tags) VALUES ('hostile', jsonb_build_object('Name', %s, 'team', 'web'))`, "$q$"+hostile+"$q$"))
	w.PSQL(`INSERT INTO vpc (cidr_block, tags) VALUES ('10.9.0.0/16', '{"Name": "shop"}')`)
	w.PSQL(`INSERT INTO subnet (vpc_id, cidr_block) SELECT id, '10.9.1.0/24' FROM vpc WHERE cidr_block = '10.9.0.0/16'`)
	w.PSQL(`SELECT iasql_wait_for_all(120)`)

	t.Run("nobody", func(t *testing.T) { testNobody(t, w, base) })
	t.Run("search", func(t *testing.T) { testSearch(t, newBrowser(t, newChromium(t), base), w, base) })
	t.Run("browser", func(t *testing.T) { testBrowser(newBrowser(t, newChromium(t), base), w) })
	t.Run("review", func(t *testing.T) { testReview(newBrowser(t, newChromium(t), base), w, cloud) })
	t.Run("resolve", func(t *testing.T) { testResolve(newBrowser(t, newChromium(t), base), w) })
	t.Run("accessible", func(t *testing.T) { testAccessible(newBrowser(t, newChromium(t), base), w) })
	t.Run("keyboard", func(t *testing.T) { testKeyboard(newBrowser(t, newChromium(t), base), w) })
	t.Run("theme", func(t *testing.T) { testTheme(newBrowser(t, newChromium(t), base), w) })
	t.Run("zone", func(t *testing.T) { testZone(newBrowser(t, newChromium(t), base), w) })
	t.Run("changes", func(t *testing.T) { testChanges(t, w, base) })
	t.Run("tls", func(t *testing.T) { testTLS(t, newChromium(t), w) })
	t.Run("hidden", func(t *testing.T) { testHidden(t, w, base) })
	t.Run("token", func(t *testing.T) { testToken(t, w, base) })
	t.Run("forged", func(t *testing.T) { testForged(t, w, base) })
	t.Run("every table", func(t *testing.T) { testEveryTable(t, w, base) })
	t.Run("big table", func(t *testing.T) { testBigTable(t, w, base) })
	t.Run("many", func(t *testing.T) { testMany(t, w, base) })
	t.Run("prometheus", func(t *testing.T) { testPrometheus(t, w, engine, cloud, base) }) // ends the engine
}

const hostile = `"><script>window.hostile=1</script><img src=x onerror=window.hostile=1>'--`

// Without a session nothing is shown and nothing is done.
func testNobody(t *testing.T, w *harness.World, base string) {
	v := newVisitor(t, base)
	for _, path := range pages {
		status, body, answer := v.send(http.MethodGet, path, nil)
		if path == "/events" {
			if status != http.StatusUnauthorized {
				t.Errorf("GET %s: %d", path, status)
			}
		} else if status != http.StatusSeeOther || !strings.HasPrefix(answer.Header.Get("Location"), "/signin") {
			t.Errorf("GET %s: %d to %s", path, status, answer.Header.Get("Location"))
		}
		if strings.Contains(body, "orders") || strings.Contains(body, "aws_sqs") {
			t.Errorf("GET %s shows something: %s", path, body)
		}
		if policy := answer.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") ||
			strings.Contains(policy, "unsafe") {
			t.Errorf("GET %s: policy %q", path, policy)
		}
	}
	if status, _, _ := v.send(http.MethodPost, "/do", url.Values{"do": {"retry"}, "table": {"queue"}, "id": {"1"}}); status != http.StatusSeeOther {
		t.Errorf("POST /do: %d", status)
	}
	if status, _, _ := v.send(http.MethodGet, "/", nil, "Host", "evil.example.com"); status != http.StatusMisdirectedRequest {
		t.Errorf("by another name: %d", status)
	}
	// A link in a pull request leads where it should, once the browser shows its cookie.
	if status, body, _ := v.send(http.MethodGet, "/batches/1", nil, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode",
		"navigate"); status != http.StatusOK || !strings.Contains(body, `content="0;url=/batches/1"`) {
		t.Errorf("from another site: %d %s", status, body)
	}
	// No role, wrong password, no password, no grant, and one that leads elsewhere.
	stranger := w.Login("stranger")
	name := strings.Split(strings.TrimPrefix(w.UserURL, "postgres://"), ":")[0]
	for _, form := range []url.Values{
		{"name": {"nobody_at_all"}, "password": {"x"}}, {"name": {name}, "password": {"wrong"}},
		{"name": {name}, "password": {""}}, {"name": {""}, "password": {""}},
	} {
		status, body, answer := newVisitor(t, base).send(http.MethodPost, "/signin", form)
		if status == http.StatusSeeOther || answer.Header.Get("Set-Cookie") != "" {
			t.Errorf("%v was signed in: %d", form, status)
		}
		if strings.Contains(body, "does not exist") {
			t.Errorf("%v tells which roles there are: %s", form, body)
		}
	}
	if status := newVisitor(t, base).signIn(stranger); status != http.StatusForbidden {
		t.Errorf("a login without grants: %d", status)
	}
	form := url.Values{"name": {name}, "password": {"secret"}, "next": {"https://evil.example.com/"}}
	status, _, answer := newVisitor(t, base).send(http.MethodPost, "/signin", form)
	if cookie := answer.Header.Get("Set-Cookie"); status != http.StatusSeeOther ||
		answer.Header.Get("Location") != "/" || !strings.Contains(cookie, "HttpOnly") ||
		!strings.Contains(cookie, "SameSite=Strict") {
		t.Errorf("signing in: %d, to %s, cookie %s", status, answer.Header.Get("Location"), cookie)
	}
}

// The flows, in a browser.
func testBrowser(b *browser, w *harness.World) {
	b.open("/records/queue?sort=name")
	if b.eval("location.pathname") != "/signin" {
		b.Fatal("not asked to sign in")
	}
	b.signIn(w.UserURL)
	b.open("/")
	b.says("Nothing needs you")
	b.says("aws_sqs")
	if b.eval("getComputedStyle(document.querySelector('.side')).display") == "inline" {
		b.Error("the page has no style: the policy refuses the stylesheet")
	}

	// Keys, and a filter.
	b.press("g")
	b.press("r")
	b.says("Every managed table")
	b.open("/records/queue")
	b.says("shop orders")
	b.do("filter", chromedp.SetValue("#column", "name", chromedp.ByQuery),
		chromedp.SetValue("#operator", "has", chromedp.ByQuery), chromedp.SetValue("#value", "ORDER", chromedp.ByQuery))
	b.click("form.filter button[type=submit]")
	if text := b.text(); !strings.Contains(text, "shop orders") || strings.Contains(text, "payroll") {
		b.Errorf("the filter shows:\n%s", text)
	}

	// What is smuggled into a name is text.
	id := w.PSQL(`SELECT id FROM queue WHERE name = 'hostile'`)
	for _, path := range []string{"/records/queue", "/records/queue/" + id, "/map/queue/" + id,
		"/activity?show=changes", "/changes", "/as-of?table=queue", "/as-of?table=queue&whole=1",
		"/records/queue?c=name&o=has&v=" + url.QueryEscape(hostile), "/records/" + url.PathEscape(hostile),
		"/batches/" + url.PathEscape("<script>window.hostile=1</script>")} {
		b.open(path)
		if b.eval("window.hostile === undefined") != "true" ||
			b.eval(`document.querySelector("img") === null`) != "true" {
			b.Errorf("%s runs what is in a name", path)
		}
	}

	// The page hears of what happens.
	b.open("/records/queue")
	b.until(`document.querySelector("#listening").textContent === "live"`)
	w.PSQL(`INSERT INTO queue (name, tags) VALUES ('live', '{"team": "web"}')`)
	b.says("live\t")

	testRecord(b, w)
	testBatch(b, w)
	for path, text := range map[string]string{"/map": "What lies in what", "/map?tables": "What hangs on what", "/activity": "SQS.CreateQueue",
		"/modules": "aws_sqs", "/as-of?table=queue": "created", "/changes": "insert", "/activity?show=cycles": "full"} {
		b.open(path)
		b.says(text)
	}
	b.open("/map/vpc/" + w.PSQL(`SELECT id FROM vpc WHERE cidr_block = '10.9.0.0/16'`))
	if b.eval(`document.querySelectorAll("svg a.node").length > 1`) != "true" {
		b.Error("the map of the VPC does not show its subnet")
	}
	everyPage(b, w)
	b.click("button.quiet")
	b.says("Sign in as a role")
	b.open("/records")
	if b.eval("location.pathname") != "/signin" {
		b.Error("still signed in")
	}
}

// A record that fails: why, what to do, and the button that does it.
func testRecord(b *browser, w *harness.World) {
	w.PSQL(`INSERT INTO subnet (vpc_id, cidr_block) SELECT id, '172.30.1.0/24' FROM vpc WHERE cidr_block = '10.9.0.0/16'`)
	id := w.PSQL(`SELECT id FROM subnet WHERE cidr_block = '172.30.1.0/24'`)
	w.Becomes(patience, "t", `SELECT review FROM iasql_status WHERE table_name = 'subnet' AND record_id = `+id)
	b.open("/")
	b.says("subnet " + id)
	b.shoot("overview-light", 1440, false)
	b.shoot("overview-phone-dark", 390, true)
	b.open("/records/subnet/" + id)
	b.says("It needs you")
	b.says("SELECT iasql_retry('subnet', " + id + ")")
	b.shoot("record-dark", 1440, true)
	b.shoot("record-phone-light", 390, false)
	b.click(`form.action button`)
	b.says("iasql_retry = true")
	// Its mode: the rule that the page shows is the rule that is made.
	b.do("open the modes", chromedp.Evaluate(`document.querySelectorAll("details").forEach(d => d.open = true)`, nil))
	b.click(`form:has(input[value="mode ENFORCE"]) button`)
	b.says("Rule")
	if mode := w.PSQL(`SELECT mode FROM iasql_mode WHERE table_name = 'subnet' AND record_id = ` + id); mode != "ENFORCE" {
		b.Errorf("mode is %q", mode)
	}
	// What ends by itself says when.
	w.PSQL(`UPDATE iasql_mode SET until = '2200-01-02 03:04Z'`, `SELECT iasql_expire('subnet', `+id+`, '2201-02-03 04:05Z')`,
		`SELECT iasql_protect('subnet', `+id+`, '2202-03-04 05:06Z')`)
	b.open("/records/subnet/" + id)
	b.says("It ends at 2200-01-02 03:04 UTC")
	b.says("It expires: the engine deletes it at 2201-02-03 04:05 UTC")
	b.says("until 2202-03-04 05:06 UTC")
	w.PSQL(`SELECT iasql_expire('subnet', ` + id + `, now() + interval '5 hours')`)
	b.open("/")
	b.says("Ends soon")
	b.says("SELECT iasql_expire('subnet', " + id + ", NULL) keeps it")
	w.PSQL(`SELECT iasql_unprotect('subnet', ` + id + `)`)
	w.PSQL(`DELETE FROM iasql_mode`, `DELETE FROM subnet WHERE id = `+id)
}

// A batch: its review, and its commit.
func testBatch(b *browser, w *harness.World) {
	w.PSQL(`CALL iasql_begin()`, `UPDATE queue SET visibility_timeout = 77 WHERE name = 'orders'`,
		`DELETE FROM queue WHERE name = 'live'`, `INSERT INTO queue (name) VALUES ('staged')`)
	b.open("/batches")
	b.click("tbody a")
	b.says("Deleted in the cloud")
	text := b.text()
	if deleted, created := strings.Index(text, "Deleted in the cloud"), strings.Index(text, "Created"); deleted < 0 ||
		created < deleted {
		b.Errorf("what destroys does not come first:\n%s", text)
	}
	for _, want := range []string{"visibility_timeout", "77", "staged"} {
		if !strings.Contains(text, want) {
			b.Errorf("the review does not show %s:\n%s", want, text)
		}
	}
	b.shoot("batch-light", 1440, false)
	b.shoot("batch-phone-dark", 390, true)
	b.says("Destroys 1 object in the cloud")
	b.do("say why", chromedp.SetValue("#message", "a test", chromedp.ByQuery))
	b.click("form.commit button")
	w.Becomes(patience, "77", `SELECT visibility_timeout FROM queue WHERE name = 'orders'`)
	b.until(`document.querySelector(".alert.good") !== null`)
	w.Becomes(patience, "1", `SELECT count(*) FROM iasql_audit_log WHERE change_type = 'CLOSE_TRANSACTION'`)
	w.PSQL(`SELECT iasql_wait_for_all(120)`)
}

// What grants and policies hide in the tables is nowhere to be seen.
func testHidden(t *testing.T, w *harness.World, base string) {
	// Both tables, and in the transaction that the policy needs.
	limited := w.Login("limited", "iasql_user")
	w.Admin(`ALTER TABLE queue ENABLE ROW LEVEL SECURITY`,
		`CREATE POLICY everybody ON queue USING (tags ->> 'team' = 'web' OR current_user LIKE 'user%')`)
	defer w.Admin(`DROP POLICY everybody ON queue`, `ALTER TABLE queue DISABLE ROW LEVEL SECURITY`)
	secret := w.PSQL(`SELECT id FROM queue WHERE name = 'salaries'`)
	v := newVisitor(t, base)
	if status := v.signIn(limited); status != http.StatusSeeOther {
		t.Fatalf("signing in: %d", status)
	}
	for _, path := range pages {
		if path == "/events" || path == "/task/x" {
			continue
		}
		if _, body, _ := v.send(http.MethodGet, path, nil); strings.Contains(body, "salaries") ||
			strings.Contains(body, "payroll") {
			t.Errorf("%s shows what is hidden from its visitor", path)
		}
	}
	if body := v.get("/records/queue"); !strings.Contains(body, "shop orders") {
		t.Errorf("what is his is not shown: %s", body)
	}
	for _, path := range []string{"/records/queue/" + secret, "/map/queue/" + secret} {
		if status, body, _ := v.send(http.MethodGet, path, nil); status != http.StatusNotFound {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	// A reader does nothing, whatever he sends.
	reader := newVisitor(t, base)
	if status := reader.signIn(w.Login("reads", "iasql_reader")); status != http.StatusSeeOther {
		t.Fatalf("signing in: %d", status)
	}
	reader.send(http.MethodPost, "/do",
		url.Values{"csrf": {csrf(reader.get("/"))}, "do": {"mode TRACK"}, "table": {"vpc"}, "id": {"1"}, "back": {"/"}})
	if !strings.Contains(reader.get("/"), "permission denied") {
		t.Error("a reader is not told that he may not")
	}
	if rules := w.PSQL(`SELECT count(*) FROM iasql_mode`); rules != "0" {
		t.Errorf("a reader made a rule: %s", rules)
	}
}

// A token is good once, for the role that made it, where that was allowed.
func testToken(t *testing.T, w *harness.World, base string) {
	made := w.PSQL(`SELECT iasql_console_token()`)
	if kept := w.Admin(`SELECT count(*) FROM iasql_internal.console_token t WHERE t::text LIKE '%` + made + `%'`); kept != "0" {
		t.Error("the token itself is kept")
	}
	v := newVisitor(t, base)
	status, body, _ := v.send(http.MethodPost, "/signin", url.Values{"token": {made}})
	if status != http.StatusSeeOther {
		t.Fatalf("signing in by a token: %d %s", status, body)
	}
	me := login(t, w.UserURL)
	page := v.get("/")
	if !strings.Contains(page, ">"+me+"<") {
		t.Errorf("signed in as somebody else: %s", page)
	}
	v.send(http.MethodPost, "/do", url.Values{"csrf": {csrf(page)}, "do": {"mode TRACK"}, "table": {"vpc"}, "id": {"1"},
		"back": {"/"}})
	if rules := w.PSQL(`SELECT count(*) FROM iasql_mode`); rules != "1" {
		t.Errorf("the session may not do what its role may: %s", v.get("/"))
	}
	w.PSQL(`DELETE FROM iasql_mode`)
	// it keeps no connection when nobody looks
	w.Eventually(patience, "the session uses the login for tokens", func() bool {
		v.get("/")
		return w.Admin(`SELECT DISTINCT usename FROM pg_stat_activity WHERE application_name = 'iasql console' AND datname = current_database() AND usename LIKE 'console%'`) != ""
	})
	// A role that no administrator has granted to the console's login.
	other, err := w.TryPSQL(w.Login("unlisted", "iasql_user"), `SELECT iasql_console_token()`)
	if err != nil {
		t.Fatal(err)
	}
	if status, body, _ := newVisitor(t, base).send(http.MethodPost, "/signin", url.Values{"token": {other}}); status != http.StatusForbidden || !strings.Contains(body, "GRANT it to the login") {
		t.Errorf("a role that was not granted: %d %s", status, body)
	}
	for _, bad := range []string{made, strings.Repeat("x", 1000), "' OR true --"} {
		if status, _, _ := newVisitor(t, base).send(http.MethodPost, "/signin", url.Values{"token": {bad}}); status != http.StatusForbidden {
			t.Errorf("token %.20q: %d", bad, status)
		}
	}
	// Who was the role when he made the token, and may not be any more.
	borrower := w.Login("borrower", me)
	borrowed, err := w.TryPSQL(borrower, `SET ROLE `+me, `SELECT iasql_console_token()`)
	if err != nil {
		t.Fatal(err)
	}
	w.Admin(`REVOKE ` + me + ` FROM ` + login(t, borrower))
	elsewhere := newVisitor(t, base) // whose attempts are counted apart
	elsewhere.client.Transport = &http.Transport{DialContext: (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0,
		0, 2)}}).DialContext}
	if status, _, _ := elsewhere.send(http.MethodPost, "/signin",
		url.Values{"token": {strings.TrimPrefix(borrowed, "SET\n")}}); status != http.StatusForbidden {
		t.Errorf("a token of a role that its maker may not be any more: %d", status)
	}
	late := w.PSQL(`SELECT iasql_console_token()`)
	w.Admin(`UPDATE iasql_internal.console_token SET made = made - interval '6 minutes'`)
	if status, _, _ := newVisitor(t, base).send(http.MethodPost, "/signin", url.Values{"token": {late}}); status != http.StatusForbidden {
		t.Errorf("a token of six minutes ago: %d", status)
	}
}

var token = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

func csrf(page string) string {
	if m := token.FindStringSubmatch(page); m != nil {
		return m[1]
	}
	return ""
}

// What another site sends in a visitor's name does nothing.
func testForged(t *testing.T, w *harness.World, base string) {
	v := newVisitor(t, base)
	if status := v.signIn(w.UserURL); status != http.StatusSeeOther {
		t.Fatalf("signing in: %d", status)
	}
	right := csrf(v.get("/"))
	other := newVisitor(t, base)
	if status := other.signIn(w.UserURL); status != http.StatusSeeOther {
		t.Fatalf("signing in: %d", status)
	}
	form := url.Values{"do": {"mode TRACK"}, "table": {"vpc"}, "id": {"1"}}
	for name, sent := range map[string]struct {
		csrf   string
		header []string
	}{
		"no token":              {"", nil},
		"a wrong token":         {"x", nil},
		"of another session":    {csrf(other.get("/")), nil},
		"another site's page":   {right, []string{"Sec-Fetch-Site", "cross-site"}},
		"another site's origin": {right, []string{"Origin", "https://evil.example.com"}},
	} {
		form.Set("csrf", sent.csrf)
		if status, _, _ := v.send(http.MethodPost, "/do", form, sent.header...); status != http.StatusForbidden {
			t.Errorf("%s: %d", name, status)
		}
	}
	form.Set("csrf", right)
	for _, do := range []string{"", "drop everything", "mode TRACK'; DROP TABLE vpc; --"} {
		form.Set("do", do)
		if status, _, _ := v.send(http.MethodPost, "/do", form); status != http.StatusBadRequest {
			t.Errorf("do %q: %d", do, status)
		}
	}
	if rules := w.PSQL(`SELECT count(*) FROM iasql_mode`); rules != "0" {
		t.Errorf("%s rules were made", rules)
	}
	status, _, answer := v.send(http.MethodPost, "/theme", url.Values{"csrf": {right}, "theme": {"dark; Domain=x"}})
	if status != http.StatusBadRequest || answer.Header.Get("Set-Cookie") != "" {
		t.Errorf("a theme that is none: %d", status)
	}
	_, _, answer = v.send(http.MethodPost, "/theme", url.Values{"csrf": {right}, "theme": {"dark"},
		"back": {"https://evil.example.com/"}})
	if answer.Header.Get("Location") != "/" {
		t.Errorf("choosing a theme leads to %s", answer.Header.Get("Location"))
	}
	// Values that are no such thing, and huge ones.
	for _, path := range []string{"/records/vpc?c=cidr_block&o=eq&v=nonsense",
		"/records/vpc?sort=" + strings.Repeat("x", 4000), "/records/vpc/99999999999999999999999", "/records/pg_authid",
		"/records/pg_authid/1",
		"/records/vpc?c=cidr_block%27--&o=eq&v=1", "/records/vpc?after=eyJpIjoie30ifQ",
		"/as-of?table=vpc&from=nonsense", "/activity?before=x", "/changes?hours=x&before=-1&table=no&by=%27%25&from=x&kind=none", "/changes?before=2020-01-01T00:00:00.000000Z_x", "/sql?query=x", "/sql?ask=%27", "/records/queue?c=name&o=has&v=" +
			strings.Repeat("y", 20000)} {
		if status, body, _ := v.send(http.MethodGet, path, nil); status >= 500 ||
			strings.Contains(body, "SCRAM-SHA-256") {
			t.Errorf("%.80s: %d %s", path, status, body)
		}
	}
	if status, _, _ := v.send(http.MethodPost, "/do", url.Values{"csrf": {right}, "do": {strings.Repeat("z", 1<<20)}}); status < 400 {
		t.Errorf("a huge form: %d", status)
	}
}

// Each table of the modules has its pages.
func testEveryTable(t *testing.T, w *harness.World, base string) {
	v := newVisitor(t, base)
	if status := v.signIn(w.UserURL); status != http.StatusSeeOther {
		t.Fatalf("signing in: %d", status)
	}
	for _, name := range strings.Fields(w.PSQL(`SELECT "table" FROM iasql_tables`)) {
		v.get("/records/" + name)
		if id := w.PSQL(`SELECT min(id) FROM ` + name); id != "" {
			v.get("/records/" + name + "/" + id)
		}
	}
}

// A page of a big table looks at a bounded number of records, and says how to go on.
func testBigTable(t *testing.T, w *harness.World, base string) {
	v := newVisitor(t, base)
	if status := v.signIn(w.UserURL); status != http.StatusSeeOther {
		t.Fatalf("signing in: %d", status)
	}
	// The engine does not look at them: no cycle is due, and nothing of them is pending.
	w.PSQL(`UPDATE iasql_settings SET value = '1 day' WHERE name = 'sync_interval'`, `SELECT iasql_sync_now()`)
	w.Settled()
	w.Admin(`SET session_replication_role = replica`,
		`INSERT INTO queue (account, region, name) SELECT account, region, 'big-' || i FROM generate_series(1, 250000) i, (SELECT account, region FROM queue LIMIT 1) q`, `ANALYZE queue`)
	defer func() {
		w.Admin(`SET session_replication_role = replica`, `DELETE FROM queue WHERE name LIKE 'big-%'`)
		w.PSQL(`UPDATE iasql_settings SET value = '1 minute' WHERE name = 'sync_interval'`)
	}()
	next := regexp.MustCompile(`id="next" href="([^"]+)"`)
	pages, page := 1, v.get("/records/queue?c=name&o=has&v=g-249999")
	for ; !strings.Contains(page, ">big-249999<"); pages++ {
		link := next.FindStringSubmatch(page)
		if link == nil || !strings.Contains(page, "Looked at 50,000 records") {
			t.Fatalf("page %d of the search does not say how to go on:\n%s", pages, page)
		}
		page = v.get(html.UnescapeString(link[1]))
	}
	if pages != 6 || next.MatchString(page) {
		t.Errorf("the record was found on page %d, and there are more: %v", pages, next.MatchString(page))
	}
	if page := v.get("/records/queue?c=name&o=has&v=g-249999&dir=desc"); !strings.Contains(page, ">big-249999<") {
		t.Error("the search from the end does not find the last record at once")
	}
	page = v.get("/records/queue?sort=visibility_timeout")
	if !strings.Contains(page, "CREATE INDEX CONCURRENTLY ON &#34;queue&#34; (&#34;visibility_timeout&#34;);") {
		t.Errorf("the page does not say what would help to sort:\n%s", page)
	}
	if page := v.get("/records/queue?sort=visibility_timeout&anyway=1"); strings.Contains(page, "CREATE INDEX") ||
		!strings.Contains(page, "anyway=1") {
		t.Error("the page is not sorted anyway")
	}
}

// Ten thousand requests, and many attempts to sign in, are limited; afterwards
// all is as before.
func testMany(t *testing.T, w *harness.World, base string) {
	v := newVisitor(t, base)
	refused := 0
	for range 10000 {
		answer, err := v.client.Get(base + "/")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		if answer.StatusCode == http.StatusTooManyRequests {
			refused++
		}
	}
	if refused < 5000 {
		t.Errorf("of 10,000 requests %d were refused", refused)
	}
	w.Eventually(patience, "the console answers again", func() bool {
		answer, err := v.client.Get(base + "/signin")
		if err != nil {
			return false
		}
		answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
	limited := false
	for i := 0; i < 40 && !limited; i++ {
		status, _, _ := v.send(http.MethodPost, "/signin",
			url.Values{"name": {"postgres"}, "password": {fmt.Sprint(i)}})
		limited = status == http.StatusTooManyRequests
	}
	if !limited {
		t.Error("forty attempts to sign in were not limited")
	}
	answer, err := v.client.Get(base + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, err := io.ReadAll(answer.Body); err != nil ||
		!strings.Contains(string(text), "iasql_engines_connected 1") ||
		!strings.Contains(string(text), `iasql_cloud_calls_total{result="ok",service="SQS"}`) {
		t.Errorf("metrics: %v\n%s", err, text)
	}
}
