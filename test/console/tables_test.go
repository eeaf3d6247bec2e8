package console

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"golang.org/x/net/html"

	"iasql/internal/test/harness"
)

// TestTables works in the lists of records: filters, columns, what references are called,
// what the cloud made by itself, and the list of tables.
func TestTables(t *testing.T) {
	w, _, _, base := start(t, "aws_vpc", "aws_security_group", "aws_sqs")
	w.PSQL(`INSERT INTO vpc (cidr_block, tags) VALUES ('10.9.0.0/16', '{"Name": "shop"}')`,
		`INSERT INTO security_group (group_name, description, vpc_id, tags) SELECT n, 'of ' || n, v.id, jsonb_build_object('team', n) FROM vpc v, unnest('{web,vault}'::text[]) n WHERE v.cidr_block = '10.9.0.0/16'`,
		`INSERT INTO security_group_rule (security_group_id, is_egress, ip_protocol, from_port, to_port, cidr_ipv4) SELECT id, false, 'tcp', 8443, 8443, '10.0.0.0/8' FROM security_group WHERE group_name = 'web'`,
		`INSERT INTO security_group_rule (security_group_id, is_egress, ip_protocol, from_port, to_port, cidr_ipv4) SELECT id, false, 'tcp', 5432, 5432, '10.0.0.0/8' FROM security_group WHERE group_name = 'vault'`)
	w.PSQL(`SELECT iasql_wait_for_all(120)`)
	w.PSQL(`SELECT iasql_sync_now()`)
	w.Becomes(patience, "1", `SELECT count(*) FROM route_table r JOIN vpc v ON v.id = r.vpc_id WHERE v.cidr_block = '10.9.0.0/16'`)
	w.PSQL(`INSERT INTO endpoint_gateway (vpc_id, service, route_table_ids) SELECT v.id, 's3', ARRAY[r.route_table_id] FROM vpc v JOIN route_table r ON r.vpc_id = v.id WHERE v.cidr_block = '10.9.0.0/16'`, `SELECT iasql_wait_for_all(120)`)
	v := newVisitor(t, base)
	if status := v.signIn(w.UserURL); status != http.StatusSeeOther {
		t.Fatalf("signing in: %d", status)
	}
	t.Run("references", func(t *testing.T) { testLabels(t, w, v, base) })
	t.Run("filters", func(t *testing.T) { testFilters(t, v) })
	t.Run("columns", func(t *testing.T) { testColumns(t, v) })
	t.Run("made", func(t *testing.T) { testMade(t, w, v) })
	t.Run("list", func(t *testing.T) { testTableList(t, w, v) })
	t.Run("browser", func(t *testing.T) { testFindGroup(newBrowser(t, newChromium(t), base), w) })
}

// shows fails unless a page has all of some texts, and none of those after a "–".
func shows(t *testing.T, what, page string, texts ...string) {
	t.Helper()
	want := true
	for _, text := range texts {
		if text == "–" {
			want = false
			continue
		}
		if strings.Contains(page, html.EscapeString(text)) != want && strings.Contains(page, text) != want {
			t.Errorf("%s: has %q: %v\n%s", what, text, !want, said(page))
		}
	}
}

func testLabels(t *testing.T, w *harness.World, v *visitor, base string) {
	group := w.PSQL(`SELECT id FROM security_group WHERE group_name = 'web'`)
	object := w.PSQL(`SELECT left(group_id, 12) FROM security_group WHERE group_name = 'web'`)
	shows(t, "the rules", v.get("/records/security_group_rule"), `href="/records/security_group/`+group+`"`, ">web<", "("+object+"…)")
	route := w.PSQL(`SELECT r.id FROM route_table r JOIN vpc v ON v.id = r.vpc_id WHERE v.cidr_block = '10.9.0.0/16'`)
	shows(t, "a list of references", v.get("/records/endpoint_gateway?columns=route_table_ids_records"), `href="/records/route_table/`+route+`"`)
	endpoint := w.PSQL(`SELECT id FROM endpoint_gateway`)
	shows(t, "the page of a record", v.get("/records/endpoint_gateway/"+endpoint), `href="/records/route_table/`+route+`"`, ">shop<")
	// Who may not see the group has its number.
	w.Admin(`ALTER TABLE security_group ENABLE ROW LEVEL SECURITY`,
		`CREATE POLICY partly ON security_group USING (group_name <> 'vault' OR current_user LIKE 'user%')`)
	defer w.Admin(`DROP POLICY partly ON security_group`, `ALTER TABLE security_group DISABLE ROW LEVEL SECURITY`)
	vault := w.PSQL(`SELECT id FROM security_group WHERE group_name = 'vault'`)
	limited := newVisitor(t, base)
	if status := limited.signIn(w.Login("limited", "iasql_user")); status != http.StatusSeeOther {
		t.Fatalf("signing in: %d", status)
	}
	shows(t, "the rules, of a limited role", limited.get("/records/security_group_rule?c=from_port&o=eq&v=5432"), ">"+vault+"<", "–", "/records/security_group/"+vault, ">vault<")
	shows(t, "the rules, of a limited role", limited.get("/records/security_group_rule?c=from_port&o=eq&v=8443"), ">web<")
}

func testFilters(t *testing.T, v *visitor) {
	query := func(triples ...string) string {
		q := url.Values{}
		for i := 0; i < len(triples); i += 3 {
			q.Add("c", triples[i])
			q.Add("o", triples[i+1])
			q.Add("v", triples[i+2])
		}
		return q.Encode()
	}
	for _, c := range []struct {
		query string
		texts []string
	}{
		{query("group_name", "eq", "web"), []string{">web<", "–", ">vault<"}},
		{query("group_name", "ne", "web"), []string{">vault<", "–", ">web<"}},
		{query("group_name", "begins", "VA"), []string{">vault<", "–", ">web<"}},
		{query("group_name", "has", "aul"), []string{">vault<", "–", ">web<"}},
		{query("tags", "tag", "team=web"), []string{">web<", "–", ">vault<"}},
		{query("tags", "eq", "team=web"), []string{"tags has tag team=web", ">web<", "–", ">vault<"}},
		{query("tags", "tag", "team"), []string{">web<", ">vault<"}},
		{query("tags", "tag", "team", "description", "has", "vau", "group_id", "some", ""), []string{">vault<", "×", "–", ">web<"}},
		{query("group_id", "null", ""), []string{"No record matches"}},
		{query("group_name", "eq", "web") + "&sort=tags&dir=desc", []string{">web<"}},
	} {
		shows(t, c.query, v.get("/records/security_group?"+c.query), c.texts...)
	}
	// Each chip has a link that takes it away, and keeps the others.
	page := v.get("/records/security_group?" + query("group_name", "has", "a", "tags", "tag", "team"))
	shows(t, "two chips", page, `aria-label="Remove the filter group_name contains a" href="/records/security_group?c=tags&amp;o=tag&amp;v=team"`,
		`<input type="hidden" name="c" value="tags">`)
	for q, says := range map[string]string{
		query("from_port", "gt", "many"):                                    "“many” is no integer, as from_port is",
		query("no_such", "eq", "1"):                                         "There is no column no_such of security_group_rule",
		query("from_port", "like", "1"):                                     "There is no operator “like”",
		query("from_port", "tag", "a=b"):                                    "“has tag” is for tags",
		query("from_port", "eq", "1 OR true"):                               "is no integer",
		query("from_port); DROP TABLE vpc; --", "eq", "1"):                  "There is no column",
		query("cidr_ipv4", "eq", "10.0.0.0/8", "from_port", "eq", "eighty"): "“eighty” is no integer",
	} {
		status, page, _ := v.send(http.MethodGet, "/records/security_group_rule?"+q, nil)
		if status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d", q, status)
		}
		shows(t, q, page, says, "chip on wrong", "–", "<tbody><tr><td class=\"tick\"")
	}
}

func testColumns(t *testing.T, v *visitor) {
	page := v.get("/records/security_group_rule?columns=to_port,is_egress&sort=from_port&dir=desc")
	shows(t, "chosen columns", page, `>to_port</a></th>`, `>is_egress</a></th>`, "2 of ", `columns=to_port%2Cis_egress`, "–", `>cidr_ipv4</a></th>`)
	if strings.Index(page, ">8443<") > strings.Index(page, ">5432<") {
		t.Error("not ordered by a column that is not shown")
	}
	shows(t, "boxes", v.get("/records/security_group_rule?columns=to_port&columns=is_egress"), `>to_port</a></th>`, `>is_egress</a></th>`)
	shows(t, "no such column", v.get("/records/security_group_rule?columns=nonsense,to_port"), "There is no column nonsense", `>to_port</a></th>`)
	shows(t, "no such order", v.get("/records/security_group_rule?sort=nonsense"), "Not sorted: There is no column nonsense")
	shows(t, "the usual columns", v.get("/records/security_group"), `>group_name</a></th>`, `>vpc_id</a></th>`, "–", `>account</a></th>`, `>region</a></th>`)
}

func testMade(t *testing.T, w *harness.World, v *visitor) {
	n := w.PSQL(`SELECT count(*) FROM security_group WHERE is_default`)
	page := v.get("/records/security_group")
	shows(t, "groups", page, n+" that the cloud made by itself are hidden", `href="/records/security_group?made=show"`, ">web<", "–", ">default<")
	shows(t, "all groups", v.get("/records/security_group?made=show"), ">default<", ">web<", ">hide<")
	shows(t, "default groups", v.get("/records/security_group?c=is_default&o=eq&v=true"), ">default<", "–", ">web<", "made by itself are")
	shows(t, "queues", v.get("/records/queue"), "–", "made by itself")
}

func testTableList(t *testing.T, w *harness.World, v *visitor) {
	page := v.get("/records")
	shows(t, "all tables", page, `href="/records/queue"`, `href="/records/vpc"`, "hide empty tables", "–", "all regions", "all accounts")
	shows(t, "without empty ones", v.get("/records?empty=hide"), `href="/records/vpc"`, "without empty tables", "–", `href="/records/queue"`)
	shows(t, "by name", v.get("/records?q=SECURITY&empty=hide"), `href="/records/security_group_rule"`, `href="/records?empty=hide"`, "–", `href="/records/vpc"`)
	shows(t, "by no name", v.get("/records?q=%3Cb%3E"), "No table matches", "–", "<b>")
	w.PSQL(`UPDATE aws_regions SET is_enabled = true WHERE region = 'us-west-2'`, `SELECT iasql_sync_now()`)
	shows(t, "of a region", v.get("/records?region=us-east-1"), "all regions", `href="/records/security_group?c=region&amp;o=eq&amp;v=us-east-1"`,
		`href="/records/aws_account"`, `module=aws_vpc&amp;region=us-east-1`)
	shows(t, "a table of a region", v.get("/records/security_group?c=region&o=eq&v=us-east-1"), "region is us-east-1", `>region</a></th>`, ">web<", "–", ">us-west-2<")
}

// A group is found by its port in clicks; on a telephone a record is a short card.
func testFindGroup(b *browser, w *harness.World) {
	b.signIn(w.UserURL)
	b.open("/records")
	b.click(`a[href="/records/security_group_rule"]`)
	b.do("filter by the port", chromedp.SetValue("#column", "from_port", chromedp.ByQuery), chromedp.SetValue("#value", "8443", chromedp.ByQuery))
	b.click("form.filter button[type=submit]")
	b.do("and by more", chromedp.SetValue("#column", "ip_protocol", chromedp.ByQuery), chromedp.SetValue("#value", "tcp", chromedp.ByQuery))
	b.click("form.filter button[type=submit]")
	if rows := b.eval(`document.querySelectorAll(".list tbody tr").length`); rows != "1" {
		b.Errorf("%s rules have the port", rows)
	}
	b.click(`.list tbody a[href^="/records/security_group/"]`)
	b.says("of web")
	b.do("back", chromedp.Evaluate(`history.back()`, nil))
	b.until(`location.pathname === "/records/security_group_rule" && ` + ready)
	b.click(`.chip .away`)
	if chips := b.eval(`document.querySelectorAll(".chip .away").length`); chips != "1" {
		b.Errorf("%s filters are left", chips)
	}
	b.do("open the columns", chromedp.Click(".chooser summary", chromedp.ByQuery), chromedp.Click(`.chooser input[value=to_port]`, chromedp.ByQuery))
	if *every != "" {
		var picture []byte
		b.do("picture of the columns", chromedp.FullScreenshot(&picture, 100))
		b.write(*every, "columns-1440-light", picture)
	}
	b.click(".chooser button")
	if b.eval(`location.search.includes("columns=") && document.querySelector(".list td[data-label=to_port]") !== null`) != "true" {
		b.Error("the column is not shown")
	}

	b.size(390, false)
	b.open("/records/security_group_rule")
	height := `document.querySelector(".list table").offsetHeight`
	short := b.eval(height)
	b.do("open the first card", chromedp.Click(".unfold summary", chromedp.ByQuery))
	b.until(`getComputedStyle(document.querySelector(".list tbody td.more")).display !== "none"`)
	b.do("open all", chromedp.Evaluate(`document.querySelectorAll(".unfold details").forEach(d => d.open = true)`, nil))
	b.Logf("at 390 px the list is %s px tall, and %s px with all cards open", short, b.eval(height))
	if b.eval("document.documentElement.scrollWidth <= window.innerWidth") != "true" {
		b.Error("the list is wider than a telephone")
	}
	b.size(1440, false)
	if *every != "" {
		b.shootEvery("rules", "/records/security_group_rule?c=from_port&o=gt&v=1&c=ip_protocol&o=eq&v=tcp", "8443")
		b.shootEvery("groups", "/records/security_group", "made by itself")
		b.shootEvery("tables", "/records", "security_group")
	}
}
