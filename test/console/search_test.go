package console

import (
	"fmt"
	"html"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"iasql/internal/test/harness"
)

// testSearch types into the search of every page, and reads the page of results without a script.
func testSearch(t *testing.T, b *browser, w *harness.World, base string) {
	b.signIn(w.UserURL)
	order := "/records/queue/" + w.PSQL(`SELECT id FROM queue WHERE name = 'orders'`)
	vpc := "/records/vpc/" + w.PSQL(`SELECT id FROM vpc WHERE cidr_block = '10.9.0.0/16'`)

	// By the keyboard alone.
	b.open("/records/queue")
	b.key("/")
	b.until(`document.querySelector("#search").open && document.activeElement.name === "q"`)
	b.press("team=web")
	b.until(`document.querySelectorAll("#hits .hit").length > 1 && document.querySelector("#search").dataset.answers === "team=web"`)
	first := b.eval(`document.querySelector('#hits .hit[aria-selected="true"]').getAttribute("href")`)
	if first != order {
		b.Errorf("the best result is %s, want %s", first, order)
	}
	b.press(kb.ArrowDown)
	b.press(kb.ArrowUp)
	b.press(kb.ArrowDown)
	second := b.eval(`document.querySelector('#hits .hit[aria-selected="true"]').getAttribute("href")`)
	if second == first || b.eval(`document.querySelector("#search input").getAttribute("aria-activedescendant")`) != "hit-1" {
		b.Errorf("the arrow keys choose %s", second)
	}
	b.press(kb.ArrowUp)
	b.press(kb.Enter)
	b.until(`location.pathname === "` + order + `" && ` + ready)

	// Ctrl-K, also out of a field; Enter waits for the results of what was typed.
	b.open("/records/queue")
	b.key("f")
	b.until(`document.activeElement.id === "value"`)
	b.do("Ctrl-K", chromedp.KeyEvent("k", chromedp.KeyModifiers(2)))
	b.until(`document.querySelector("#search").open`)
	b.press("10.9.0.0/16" + kb.Enter)
	b.until(`location.pathname === "` + vpc + `" && ` + ready)

	// What is smuggled into a name is text, in the dialog too.
	b.key("/")
	b.until(`document.querySelector("#search").open`)
	b.press(`"><script>`)
	b.until(`document.querySelector("#hits").innerText.includes("window.hostile")`)
	if b.eval("window.hostile === undefined && document.querySelector('#hits img, #hits script') === null") != "true" {
		b.Error("the search runs what is in a name")
	}
	b.press(kb.Escape)
	b.until(`!document.querySelector("#search").open`)
	b.key("?")
	b.until(`document.querySelector("#keys").open && document.querySelector("#keys").innerText.includes("go to Batches")`)
	b.press(kb.Escape)
	b.until(`!document.querySelector("#keys").open`)
	b.do("click", chromedp.Click(".side .search", chromedp.ByQuery))
	b.until(`document.querySelector("#search").open`)
	if *every != "" {
		shootSearch(b)
	}

	// Without a script it is a page.
	v := newVisitor(t, base)
	v.signIn(w.UserURL)
	for query, want := range map[string][]string{
		"orders": {`href="` + order + `"`, "shop orders"}, "team=web": {order, "tags.team=web"}, "10.9.": {vpc},
		"max_deletes": {"max_deletes = "}, "queue": {`href="/records/queue"`, "Tables"}, "aws_vpc": {`href="/modules/aws_vpc"`},
		"overv": {`href="/"`, "Pages"}, "sign_all": {"Nothing that you may see"}, "": {"Type what people", "go to Batches"},
	} {
		page := v.get("/search?q=" + url.QueryEscape(query))
		for _, text := range want {
			if !strings.Contains(page, text) {
				t.Errorf("the page of %q has no %s:\n%s", query, text, page)
			}
		}
	}
	if page := v.get("/search?q=" + url.QueryEscape(hostile)); strings.Contains(page, "<script>window") || !strings.Contains(page, html.EscapeString("<script>window")) {
		t.Errorf("the page of results says as HTML what is in a name:\n%s", page)
	}
	w.Admin(`SET session_replication_role = replica`, `INSERT INTO queue (account, region, name) SELECT account, region, 'many-' || i FROM generate_series(1, 60) i, (SELECT account, region FROM queue LIMIT 1) q`,
		`INSERT INTO iasql_internal.search_pending (table_name, record_id) SELECT 'queue', id FROM queue WHERE name LIKE 'many-%'`)
	page := v.get("/search?q=many")
	if n := strings.Count(page, `class="hit"`); n != 50 || !strings.Contains(page, "there are more") {
		t.Errorf("of 60 the page shows %d", n)
	}
	w.Admin(`SET session_replication_role = replica`, `DELETE FROM queue WHERE name LIKE 'many-%'`)
}

// key presses a key as a keyboard does: what the page's script prevents is not typed.
func (b *browser) key(key string) {
	b.Helper()
	b.do("press "+key, input.DispatchKeyEvent(input.KeyDown).WithKey(key).WithText(key),
		input.DispatchKeyEvent(input.KeyUp).WithKey(key))
}

// shootSearch takes pictures of the search, of the keys, and of the page without a script.
func shootSearch(b *browser) {
	for _, dark := range []bool{false, true} {
		for _, width := range []int64{1440, 390} {
			name := fmt.Sprintf("%d-%s", width, map[bool]string{false: "light", true: "dark"}[dark])
			b.size(width, dark)
			shoot := func(what string) {
				var picture []byte
				b.do("picture", chromedp.CaptureScreenshot(&picture))
				b.write(*every, what+"-"+name, picture)
			}
			b.open("/records/queue")
			b.do("open", chromedp.Evaluate(`document.querySelector("a.search").click()`, nil))
			b.press("o")
			b.until(`document.querySelector("#search").dataset.answers === "o"`)
			shoot("search")
			b.press(kb.Escape)
			b.key("?")
			shoot("keys")
			b.do("without a script", emulation.SetScriptExecutionDisabled(true), chromedp.Navigate(b.base+"/search?q=o"))
			shoot("plain")
			b.do("with scripts", emulation.SetScriptExecutionDisabled(false))
		}
	}
	b.size(1440, false)
}
