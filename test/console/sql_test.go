package console

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"iasql/internal/test/harness"
)

// TestSQL goes through the page of SQL, by HTTP and in a browser.
func TestSQL(t *testing.T) {
	w, engine, _, base := start(t, "aws_vpc", "aws_sqs")
	w.PSQL(`INSERT INTO queue (name, tags) VALUES ('orders', '{"Name": "shop orders", "team": "web"}'), ('bills', NULL)`,
		`SELECT iasql_wait_for_all(120)`)
	t.Run("results", func(t *testing.T) { testResults(t, w, base) })
	t.Run("escapes", func(t *testing.T) { testEscapes(t, w, base) })
	t.Run("bounds", func(t *testing.T) { testBounds(t, w, base) })
	t.Run("writes", func(t *testing.T) { testWrites(t, w, base) })
	t.Run("downloads", func(t *testing.T) { testDownloads(t, w, base) })
	t.Run("saved", func(t *testing.T) { testSaved(t, w, base) })
	t.Run("token", func(t *testing.T) { testTokenSQL(t, w, base) })
	t.Run("browser", func(t *testing.T) { testSQLBrowser(newBrowser(t, newChromium(t), base), w) })
	if log := engine.Log(); strings.Contains(log, "panic") && !strings.Contains(log, "abort") {
		t.Errorf("the engine has panicked: %s", log)
	}
}

// asked signs in and returns who asks.
func asked(t *testing.T, base, database string) *visitor {
	t.Helper()
	v := newVisitor(t, base)
	if status := v.signIn(database); status != http.StatusSeeOther {
		t.Fatalf("signing in: %d", status)
	}
	return v
}

// run runs statements on the page of SQL and returns the page with what they come to.
func (v *visitor) run(text string, fields ...string) string {
	v.Helper()
	path := v.begin(text, fields...)
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		page := v.get(path)
		if !strings.Contains(page, "Running for") {
			return result(page)
		}
		if time.Now().After(deadline) {
			v.Fatalf("%s does not end", text)
		}
	}
}

// begin has statements run, and returns the address of what they come to.
func (v *visitor) begin(text string, fields ...string) string {
	v.Helper()
	status, body, answer := v.post("/sql", append([]string{"text", text, "do", "run"}, fields...)...)
	if status != http.StatusSeeOther {
		v.Fatalf("running %.200s: %d %s", text, status, body)
	}
	return answer.Header.Get("Location")
}

// post sends a form of the session's.
func (v *visitor) post(path string, fields ...string) (int, string, *http.Response) {
	v.Helper()
	form := url.Values{"csrf": {csrf(v.get("/modules"))}}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	return v.send(http.MethodPost, path, form)
}

// result cuts the results out of the page.
func result(page string) string {
	_, rest, _ := strings.Cut(page, `id="result"`)
	rest, _, _ = strings.Cut(rest, `<h2>Questions</h2>`)
	return rest
}

func (v *visitor) has(page string, wants ...string) {
	v.Helper()
	for _, want := range wants {
		if !strings.Contains(html.UnescapeString(page), want) {
			v.Errorf("it does not have %q: %.3000s", want, page)
		}
	}
}

func testResults(t *testing.T, w *harness.World, base string) {
	v := asked(t, base, w.UserURL)
	id := w.PSQL(`SELECT id FROM queue WHERE name = 'orders'`)
	page := v.run(`SELECT id, name, NULL::text AS nothing, 1.50::numeric(5,2) AS price FROM queue WHERE name = 'orders'`)
	v.has(page, `href="/records/queue/`+id+`"`, `orders`, `<span class="null">NULL</span>`, `numeric(5,2)`, `1.50`,
		`1 row`, `Read only: rolled back.`)
	v.has(v.run(`SELECT 'queue' AS table_name, `+id+` AS record_id`), `href="/records/queue/`+id+`"`)
	page = v.run("SELECT 'a;b' AS first; -- nothing\nDO $$BEGIN RAISE NOTICE 'noticed'; END$$; VALUES (1), (2)")
	v.has(page, "a;b", "noticed", "2 rows", ">DO<")
	// Errors say where.
	page = v.run("SELECT 1;\nSELECT 'ö',\n  nope FROM queue")
	v.has(page, `column "nope" does not exist (42703)`, "Line 3, column 3:", "  nope FROM queue\n  ^", "1 row")
	v.has(v.run("SELECT iasql_retry('vcp', 1)"), "Hint: ")
	v.has(v.run("  "), "there is no statement")
	v.has(v.run("SELEC 1"), "Line 1, column 1:")
	// Markup in a value is text.
	if page := v.run(`SELECT '` + strings.ReplaceAll(hostile, "'", "''") + `' AS x`); strings.Contains(page,
		"<script>window.hostile") {
		t.Error("a value is markup")
	}
	v.has(v.run("SELECT * FROM queue", "do", "explain"), "Seq Scan", "Plan")
	v.has(v.run("SELECT * FROM queue", "do", "analyze"), "actual time", "Read only: rolled back.")
	v.has(v.run("DELETE FROM queue", "do", "explain"), "Delete on")
	v.has(v.run("DELETE FROM queue", "do", "analyze"), "read-only transaction")
	v.has(v.run("EXPLAIN SELECT 1", "do", "explain"), "Result")
	v.has(v.run("WITH d AS (DELETE FROM queue RETURNING id) SELECT * FROM d"), "changes something", "Tick “may write”")
	v.has(v.run("SELECT * INTO copied FROM queue"), "read-only", "Tick “may write”")
	v.has(v.run("DELETE FROM queue"), "cannot execute DELETE in a read-only transaction", "Tick “may write”")
	// What an unprivileged role may not see, it does not see here.
	reader := asked(t, base, w.Login("reader_sql", "iasql_reader"))
	reader.has(reader.run("SELECT name FROM queue"), "orders")
	reader.has(reader.run("DELETE FROM queue", "write", "1"), "permission denied for table queue")
	if status, _, _ := v.send(http.MethodPost, "/sql", url.Values{"csrf": {"x"},
		"text": {"SELECT 1"}}); status != http.StatusForbidden {
		t.Errorf("a forged form: %d", status)
	}
	if status, body, _ := v.send(http.MethodGet, "/sql?run=none", nil); status != http.StatusNotFound ||
		!strings.Contains(body, "Run it again") {
		t.Errorf("a run that is none: %d %s", status, body)
	}
	// The names that are completed are those that the role may read.
	status, names, answer := v.send(http.MethodGet, "/sql/names", nil)
	if status != http.StatusOK || !strings.Contains(names, `"queue"`) || !strings.Contains(names,
		`"visibility_timeout"`) || !strings.Contains(names, `"iasql_problems"`) || strings.Contains(names, "account_secret") {
		t.Errorf("names: %d %s", status, names)
	}
	if status, _, _ := v.send(http.MethodGet, "/sql/names", nil, "If-None-Match",
		answer.Header.Get("ETag")); status != http.StatusNotModified {
		t.Errorf("the same names again: %d", status)
	}
}

// testEscapes: nothing that is typed writes unless that is allowed, nor outlives its run.
func testEscapes(t *testing.T, w *harness.World, base string) {
	v := asked(t, base, w.UserURL)
	superuser := w.AdminURL
	if u, err := url.Parse(superuser); err == nil {
		if _, has := u.User.Password(); !has {
			superuser = ""
		}
	}
	requests := w.Admin(`SELECT count(*) FROM iasql_internal.request`)
	before := w.PSQL(`SELECT count(*), max(visibility_timeout) FROM queue`)
	write := `UPDATE queue SET visibility_timeout = 77`
	for _, text := range []string{
		write, `COMMIT; ` + write, `ROLLBACK; ` + write, `END; BEGIN; ` + write + `; COMMIT`, `/* c */ commit and chain; ` +
			write,
		`ROLLBACK AND CHAIN; SET TRANSACTION READ WRITE; ` + write, `ABORT; ` + write, `SAVEPOINT a; ` + write,
		`START TRANSACTION READ WRITE; ` + write,
		`SET TRANSACTION READ WRITE; ` + write, `SET transaction_read_only = off; ` + write,
		`RESET transaction_read_only; ` + write, `RESET ALL; ` + write,
		`SELECT set_config('transaction_read_only', 'off', false); ` + write,
		`SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE; ` + write,
		`SET default_transaction_read_only = off; ` + write, `SET LOCAL transaction_read_only TO DEFAULT; ` + write,
		`DO $$BEGIN RESET transaction_read_only; ` + write + `; END$$`, `DO $$BEGIN COMMIT; ` + write + `; COMMIT; END$$`,
		`DO $$BEGIN EXECUTE 'COMMIT'; EXECUTE '` + write + `'; END$$`,
		`DO $$BEGIN PERFORM set_config('transaction_read_only', 'off', true); ` + write + `; END$$`,
		`DISCARD ALL; ` + write, `PREPARE p AS ` + write + `; EXECUTE p`, `PREPARE TRANSACTION 'x'`, `EXPLAIN ANALYZE ` +
			write,
		`WITH u AS (` + write + ` RETURNING 1) SELECT * FROM u`, `SELECT 1) ; COMMIT; ` + write + `; SELECT (1`,
		`COPY queue FROM STDIN`, `COPY queue TO STDOUT`, `COPY (SELECT 1) TO PROGRAM 'touch /tmp/x'`,
		`COPY queue (name) FROM PROGRAM 'echo x'`,
		`CREATE TEMP TABLE t (a int)`, `CREATE TABLE t (a int)`, `SELECT * INTO TEMP t FROM queue`,
		`SELECT * FROM queue FOR UPDATE`,
		`SELECT setval('queue_id_seq', 1)`, `SELECT nextval('queue_id_seq')`, `CALL iasql_begin('x')`,
		`SELECT iasql_sync_now()`, `CALL iasql_rollback()`,
		`RESET transaction_read_only; SELECT iasql_sync_now()`,
		`DO $$BEGIN RESET transaction_read_only; PERFORM pg_advisory_unlock_all(); PERFORM pg_advisory_unlock_shared(25006, 1); PERFORM iasql_install('aws_sns'); END$$`,
		`SELECT iasql_install('aws_sns')`, `SELECT iasql_uninstall('aws_sqs')`,
		`LOCK TABLE queue IN ACCESS EXCLUSIVE MODE`, `SET ROLE iasql_engine`, `SET SESSION AUTHORIZATION postgres`,
		`SELECT lo_create(1)`,
		`SELECT pg_read_file('/etc/passwd')`, `TRUNCATE queue`, `VACUUM`, "SELECT E'\\'; COMMIT; " + write + "; --'",
		`SET standard_conforming_strings = off; SELECT '\'; COMMIT; ` + write + `; --'`,
	} {
		page := v.run(text)
		if !strings.Contains(page, `role="alert"`) && !strings.Contains(page, "Read only: rolled back.") {
			t.Errorf("%s says %s", text, page)
		}
		if got := w.PSQL(`SELECT count(*), max(visibility_timeout) FROM queue`); got != before {
			t.Fatalf("%s has written: %s", text, got)
		}
	}
	v.has(v.run(`SELECT iasql_sync_now()`), "this transaction is READ ONLY, and iasql_sync_now changes something",
		"may write")
	if got := w.Admin(`SELECT count(*) FROM iasql_internal.request`); got != requests {
		t.Errorf("the engine was asked for something: %s requests and %s", requests, got)
	}
	v.has(v.run(`SELECT count(*) AS previewed FROM iasql_preview()`), "previewed",
		"Read only: rolled back.") // what only reads, it is asked for
	if got := w.PSQL(`SELECT count(*) FROM iasql_batches WHERE outcome IS NULL`); got != "0" {
		t.Errorf("%s batches were opened", got)
	}
	// A role that one is, one stays; what a run has set is not there in the next.
	me := login(t, w.UserURL)
	v.has(v.run(`RESET ROLE; SELECT current_user || '/' || session_user AS who`), me+"/"+me)
	v.has(v.run(`SET ROLE iasql_reader; SET search_path = pg_catalog; LISTEN x; PREPARE p AS SELECT 1; SELECT pg_advisory_lock(4711), current_user AS who`), "iasql_reader")
	v.has(v.run(`SELECT current_user AS who, current_setting('search_path') AS path, count(*) AS prepared FROM pg_prepared_statements`), me, "public", ">0<")
	if got := w.Admin(`SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711`); got != "0" {
		t.Errorf("a lock has stayed")
	}
	v.has(v.get("/records/queue"), "orders") // the pages' own connections are as they were
	if superuser != "" {                     // who may everything is kept from writing by the transaction alone
		if s := newVisitor(t, base); s.signIn(superuser) == http.StatusSeeOther {
			s.has(s.run(`DELETE FROM iasql_audit_log`), "read-only transaction")
		}
	}
}

func testBounds(t *testing.T, w *harness.World, base string) {
	v := asked(t, base, w.UserURL)
	page := v.run(`SELECT generate_series(1, 1000000000) AS n`, "limit", "100")
	v.has(page, "first 100 rows; more exist")
	if n := strings.Count(page, "<tr>"); n != 101 {
		t.Errorf("%d rows", n)
	}
	v.has(v.run(`SELECT n FROM generate_series(1, 501) n`), "first 500 rows; more exist")
	v.has(v.run(`SELECT n FROM generate_series(1, 500) n`, "limit", "77777"), ">500 rows<")
	v.has(v.run(`SELECT repeat('x', 2000) AS x FROM generate_series(1, 9000) n`, "limit", "10000"),
		"the page shows no more than 1 MB")
	v.has(v.run(`SELECT repeat('x', 100000)`), `>cut<`)
	v.has(v.run(`SELECT repeat('x', 100000000)`), "Name the columns that you need")
	v.has(v.run(`DO $$BEGIN RAISE NOTICE '%', repeat('x', 100000000); END$$`), "more than 8,388,608 are not shown")
	v.has(v.run(`DO $$BEGIN FOR n IN 1..100000 LOOP RAISE NOTICE 'n'; END LOOP; END$$`), ">DO<")
	v.has(v.run(`SELECT 1;`+strings.Repeat(`SELECT 1;`, 100)), "run at most 100 at once")
	if status, body, _ := v.post("/sql", "text", "SELECT '"+strings.Repeat("x",
		50001)+"'"); status != http.StatusBadRequest || !strings.Contains(body, "50,000 characters") {
		t.Errorf("a long text: %d %.300s", status, body)
	}
	began := time.Now()
	v.has(v.run(`SELECT 1; SELECT pg_sleep(600)`, "timeout", "10"), "It took more than 10 s and was cancelled", "1 row")
	if took := time.Since(began); took < 9*time.Second || took > 25*time.Second {
		t.Errorf("ten seconds took %s", took)
	}

	// One at a time, and cancelled by whose it is alone.
	path := v.begin(`SELECT 'before' AS x; SELECT pg_sleep(100)`)
	v.has(v.get(path), "Running for", "Cancel")
	if status, body, _ := v.post("/sql", "text", "SELECT 1"); status != http.StatusConflict || !strings.Contains(body,
		"Another run is under way") {
		t.Errorf("a second run: %d %s", status, body)
	}
	connections := `SELECT count(*) FROM pg_stat_activity WHERE application_name = 'iasql console' AND datname = current_database() AND query LIKE 'FETCH%' AND state = 'active'`
	if got := w.Admin(connections); got != "1" {
		t.Errorf("%s connections sleep", got)
	}
	run := strings.TrimPrefix(path, "/sql?run=")
	other := asked(t, base, w.UserURL)
	if status, _, _ := other.post("/sql/cancel", "run", run); status != http.StatusNotFound {
		t.Errorf("another session cancels it: %d", status)
	}
	if status, _, _ := other.send(http.MethodGet, path, nil); status != http.StatusNotFound {
		t.Errorf("another session sees it: %d", status)
	}
	if status, _, _ := v.post("/sql/cancel", "run", run); status != http.StatusSeeOther {
		t.Errorf("cancelling: %d", status)
	}
	page = ""
	w.Eventually(patience, "it is cancelled", func() bool {
		page = v.get(path)
		return strings.Contains(page,
			"It was cancelled.")
	})
	v.has(page, "before")
	if got := w.Admin(connections); got != "0" {
		t.Errorf("%s connections still sleep", got)
	}
	// What takes no cancelling is ended all the same.
	path = v.begin(`DO $$BEGIN LOOP BEGIN PERFORM pg_sleep(101); EXCEPTION WHEN query_canceled THEN NULL; END; END LOOP; END$$`)
	if status, _, _ := v.post("/sql/cancel", "run", strings.TrimPrefix(path, "/sql?run=")); status != http.StatusSeeOther {
		t.Errorf("cancelling what takes none: %d", status)
	}
	w.Eventually(patience, "it ends", func() bool {
		return w.Admin(`SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'DO $$BEGIN LOOP%' AND application_name = 'iasql console'`) == "0"
	})
	w.Eventually(patience, "the page says so", func() bool { return strings.Contains(v.get(path), "It was cancelled.") })
	// Who signs out ends what he runs.
	path = other.begin(`SELECT pg_sleep(102)`)
	other.post("/signout")
	w.Eventually(patience, "what a session ran has ended", func() bool {
		return w.Admin(`SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'FETCH%' AND application_name = 'iasql console' AND state = 'active'`) == "0"
	})
}

func testWrites(t *testing.T, w *harness.World, base string) {
	v := asked(t, base, w.UserURL)
	v.has(v.run(`UPDATE queue SET visibility_timeout = 41 WHERE name = 'orders' RETURNING id, name; SELECT visibility_timeout FROM queue WHERE name = 'orders'`, "write", "1"),
		"orders", "41", "Committed.")
	if got := w.PSQL(`SELECT visibility_timeout FROM queue WHERE name = 'orders'`); got != "41" {
		t.Errorf("it is %s", got)
	}
	v.has(v.run(`UPDATE queue SET visibility_timeout = 42 WHERE name = 'orders'; SELECT 1/0`, "write", "1"),
		"division by zero", "In statement 2.", "nothing of this run was changed")
	v.has(v.run(`CALL iasql_commit()`, "write", "1"), "no batch is open", "but for what the procedure had committed")
	v.has(v.run(`UPDATE queue SET visibility_timeout = 43 WHERE name = 'orders'; COMMIT; SELECT 1/0`, "write", "1"),
		"COMMIT has no place here")
	if got := w.PSQL(`SELECT visibility_timeout FROM queue WHERE name = 'orders'`); got != "41" {
		t.Errorf("rolled back, it is %s", got)
	}
	// One statement is a transaction by itself, so that a procedure may make several.
	v.has(v.run(`CALL iasql_begin('from the page')`, "write", "1"), "Committed.")
	batch := w.PSQL(`SELECT id FROM iasql_batches WHERE name = 'from the page'`)
	page := v.get("/sql")
	v.has(page, `<option value="`+batch+`" selected>`)
	v.has(v.run(`UPDATE queue SET visibility_timeout = 44 WHERE name = 'orders'`, "write", "1", "batch", batch),
		"Staged in batch "+batch)
	v.has(v.get("/batches/"+batch+"?preview=1"), "visibility_timeout")
	v.has(v.run(`SELECT 1`, "write", "1", "batch", "999999"), "no batch called")
	w.PSQL(`CALL iasql_join('`+batch+`')`, `CALL iasql_rollback()`)
}

func testDownloads(t *testing.T, w *harness.World, base string) {
	v := asked(t, base, w.UserURL)
	text := `SELECT 1; SELECT id, name, 'a,"b"' || chr(10) || 'c' AS odd, NULL AS nothing, '' AS empty, '{"a": [1]}'::jsonb AS doc, 1.5 AS n, 'NaN'::float8 AS nan, true AS yes, 2 AS n FROM queue ORDER BY name`
	status, file, answer := v.post("/sql/download", "text", text, "format", "csv")
	rows, err := csv.NewReader(strings.NewReader(file)).ReadAll()
	if status != http.StatusOK || err != nil || len(rows) != 3 || rows[2][1] != "orders" || rows[1][2] != "a,\"b\"\nc" ||
		!strings.Contains(file, `,,"",`) ||
		!strings.Contains(answer.Header.Get("Content-Disposition"), "result.csv") {
		t.Errorf("CSV: %d %v %s", status, err, file)
	}
	status, file, _ = v.post("/sql/download", "text", text, "format", "json")
	var objects []map[string]any
	if err := json.Unmarshal([]byte(file), &objects); status != http.StatusOK || err != nil || len(objects) != 2 ||
		objects[1]["name"] != "orders" || objects[0]["nothing"] != nil ||
		objects[0]["n"] != 1.5 || objects[0]["n_2"] != 2.0 || objects[0]["nan"] != "NaN" || objects[0]["yes"] != true ||
		fmt.Sprint(objects[0]["doc"]) != "map[a:[1]]" {
		t.Errorf("JSON: %d %v %s", status, err, file)
	}
	status, file, _ = v.post("/sql/download", "text", "SELECT 1 WHERE false", "format", "json")
	if err := json.Unmarshal([]byte(file), &objects); status != http.StatusOK || err != nil || len(objects) != 0 {
		t.Errorf("no rows: %d %v %s", status, err, file)
	}
	for text, want := range map[string]string{"SELECT nope": "does not exist", "DO $$BEGIN END$$": "finds no rows",
		"DELETE FROM queue": "read-only", "COMMIT; DELETE FROM queue": "no place here"} {
		if status, body, _ := v.post("/sql/download", "text", text, "format", "csv", "write",
			"1"); status != http.StatusUnprocessableEntity || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s", text, status, body)
		}
	}
	// Many rows are streamed, and what is too much does not look like a file.
	began := time.Now()
	if status, file, _ := v.post("/sql/download", "text",
		"SELECT n, 'some text' AS text FROM generate_series(1, 100000) n", "format", "csv"); status != http.StatusOK ||
		strings.Count(file, "\r\n") != 100001 {
		t.Errorf("100,000 rows: %d, %d bytes", status, len(file))
	}
	t.Logf("100,000 rows are downloaded in %s", time.Since(began))
	form := url.Values{"csrf": {csrf(v.get("/modules"))},
		"text": {"SELECT repeat('x', 1000) FROM generate_series(1, 1000000)"}, "format": {"csv"}}
	if answer, err := v.client.PostForm(base+"/sql/download", form); err == nil {
		n, err := answer.Body.Read(make([]byte, 1))
		for err == nil && n > 0 {
			n, err = answer.Body.Read(make([]byte, 1<<20))
		}
		answer.Body.Close()
		if err == nil || err.Error() == "EOF" {
			t.Errorf("more than can be downloaded looks like a whole file: %v", err)
		}
	}
}

func testSaved(t *testing.T, w *harness.World, base string) {
	v := asked(t, base, w.UserURL)
	save := func(v *visitor, fields ...string) string {
		v.Helper()
		_, _, answer := v.post("/sql/queries", fields...)
		return answer.Header.Get("Location")
	}
	mine := save(v, "name", "my <b>queues</b>", "text", "SELECT count(*) FROM queue", "save", "1")
	page := v.get(mine)
	v.has(page, "Saved: my <b>queues</b>.", "SELECT count(*) FROM queue</textarea>")
	if strings.Contains(page, "<b>queues") {
		t.Error("a name is markup")
	}
	if again := save(v, "name", "my <b>queues</b>", "text", "SELECT 2", "save", "1"); again != mine {
		t.Errorf("saved again, it is %s and was %s", again, mine)
	}
	other := asked(t, base, w.Login("colleague", "iasql_user"))
	if status, _, _ := other.send(http.MethodGet, mine, nil); status != http.StatusNotFound {
		t.Errorf("somebody else opens it: %d", status)
	}
	save(v, "name", "my <b>queues</b>", "text", "SELECT 3", "save", "1", "shared", "1")
	other.has(other.get(mine), "SELECT 3", "of "+login(t, w.UserURL))
	number := strings.TrimPrefix(mine, "/sql?query=")
	save(other, "delete", number)
	other.has(other.get("/sql"), "somebody else's")
	stranger := w.Login("stranger", "iasql_user")
	for _, statement := range []string{`UPDATE iasql_queries SET query = 'x'`, `DELETE FROM iasql_queries`} {
		if out, err := w.TryPSQL(stranger, statement); err != nil || !strings.HasSuffix(out, " 0") && out != "" {
			t.Errorf("%s of somebody else's: %s %v", statement, out, err)
		}
	}
	if got := w.PSQL(`SELECT query FROM iasql_queries`); got != "SELECT 3" {
		t.Errorf("it is %s", got)
	}
	if _, err := w.TryPSQL(w.Login("forger", "iasql_user"),
		`INSERT INTO iasql_queries (name, query, owner) VALUES ('a', 'b', '`+login(t, w.UserURL)+`')`); err == nil {
		t.Error("a query of somebody else's was made")
	}
	reader := asked(t, base, w.Login("auditor", "iasql_reader"))
	reader.has(reader.get(mine), "SELECT 3")
	save(reader, "name", "x", "text", "y", "save", "1")
	reader.has(reader.get("/sql"), "takes iasql_user")
	save(v, "delete", number)
	v.has(v.get("/sql"), "Deleted: my <b>queues</b>.")
	if got := w.PSQL(`SELECT count(*) FROM iasql_queries`); got != "0" {
		t.Errorf("%s are left", got)
	}
}

// testTokenSQL: a session that has become its role asks questions and runs nothing of its own.
func testTokenSQL(t *testing.T, w *harness.World, base string) {
	v := newVisitor(t, base)
	if status, body, _ := v.send(http.MethodPost, "/signin",
		url.Values{"token": {w.PSQL(`SELECT iasql_console_token()`)}}); status != http.StatusSeeOther {
		t.Fatalf("signing in by a token: %d %s", status, body)
	}
	v.has(v.get("/sql"), "began with a token")
	for _, path := range []string{"/sql", "/sql/download"} {
		if status, body, _ := v.post(path, "text", "RESET ROLE", "do", "run", "format",
			"csv"); status != http.StatusBadRequest || !strings.Contains(body, "began with a token") {
			t.Errorf("%s runs what was typed: %d %s", path, status, body)
		}
	}
	v.has(v.run("RESET ROLE", "ask", "missing_tags", "ask_key", "team"),
		`href="/records/queue/`+w.PSQL(`SELECT id FROM queue WHERE name = 'bills'`)+`"`, "Read only: rolled back.")
	v.has(v.run("", "ask", "missing_tags", "ask_key", `x') FROM queue; RESET ROLE; SELECT '`),
		`href="/records/queue/`+w.PSQL(`SELECT id FROM queue WHERE name = 'orders'`)+`"`)
	v.has(v.run("", "ask", "changed_lately"), "orders")
}

func testSQLBrowser(b *browser, w *harness.World) {
	b.signIn(w.UserURL)
	b.open("/sql")
	b.until(`document.documentElement.dataset.sql === "ready"`)
	b.do("type", chromedp.SendKeys("#sql", "SELECT id, na"))
	b.do("type on", chromedp.SendKeys("#sql", "me FROM que"))
	b.until(`document.querySelector("#sql-names:not([hidden]) li[aria-selected=true]")?.dataset.name === "queue"`)
	if active := b.eval(`document.getElementById(document.getElementById("sql").getAttribute("aria-activedescendant")).dataset.name`); active != "queue" {
		b.Errorf("the one that is active is %s", active)
	}
	b.do("take it", chromedp.SendKeys("#sql", kb.Tab))
	b.do("name it", chromedp.SendKeys("#sql", " q WHERE q.visib"))
	b.until(`document.querySelector("#sql-names:not([hidden]) li[aria-selected=true]")?.dataset.name === "visibility_timeout"`)
	if *every != "" {
		b.shot("sql-names")
	}
	b.do("take that", input.DispatchKeyEvent(input.KeyDown).WithKey("Enter").WithWindowsVirtualKeyCode(13).WithText("\r"),
		input.DispatchKeyEvent(input.KeyUp).WithKey("Enter"))
	b.do("end it", chromedp.SendKeys("#sql", " IN (30, 41)"))
	if text := b.eval(`document.getElementById("sql").value`); text != "SELECT id, name FROM queue q WHERE q.visibility_timeout IN (30, 41)" {
		b.Errorf("what was typed is %s", text)
	}
	b.do("run", chromedp.Evaluate(`document.getElementById("sql").dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", ctrlKey: true, bubbles: true, cancelable: true}))`, nil))
	b.says("orders")
	b.says("Read only: rolled back.")
	b.shoot("sql-light", 1440, false)
	for _, width := range []int64{1440, 390} {
		b.size(width, false)
		for _, path := range []string{"/sql", "/sql?ask=missing_tags&ask_key=team"} {
			b.open(path)
			if b.eval("document.documentElement.scrollWidth <= window.innerWidth") != "true" {
				b.Errorf("%s is wider than a window of %d pixels", path, width)
			}
		}
	}
	b.size(1440, false)
	// A run that takes long shows itself, and is cancelled.
	b.open("/sql")
	b.do("type", chromedp.SendKeys("#sql", "SELECT pg_sleep(60)"))
	b.click(`#sql-form button[value="run"]`)
	b.says("Running for")
	b.click(`#result form button`)
	b.says("It was cancelled.")
	if *every == "" {
		return
	}
	b.shootEvery("sql", "/sql", "Questions")
	v := func(name, text, do string) {
		b.open("/sql")
		b.do("fill", chromedp.Evaluate(`document.getElementById("sql").value = `+strings.ReplaceAll(fmt.Sprintf("%q", text),
			`\x`, `\u00`), nil))
		b.click(`#sql-form button[value="` + do + `"]`)
		b.until(`location.search.includes("run=") && ` + ready)
		b.shootEvery(name, regexp.MustCompile(`^https?://[^/]+`).ReplaceAllString(b.eval(`location.href`), ""), "Questions")
	}
	v("sql-result", "SELECT * FROM queue; SELECT table_name, record_id, key, value FROM iasql_tags", "run")
	v("sql-error", "SELECT id,\n       nope\nFROM queue", "run")
	v("sql-plan", "SELECT * FROM queue JOIN iasql_tags ON record_id = id", "analyze")
}

// shot takes a picture of the page as it is.
func (b *browser) shot(name string) {
	b.Helper()
	var picture []byte
	b.do("picture of "+name, chromedp.CaptureScreenshot(&picture))
	b.write(*every, name, picture)
}
