package console

import (
	"unicode/utf8"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"iasql/internal/test/harness"
)

// worker does a task in the browser and counts what it takes.
type worker struct {
	*browser
	clicks, keys int
}

// to clicks on what leads to another page.
func (w *worker) to(selector string) {
	w.Helper()
	w.clicks++
	w.click(selector)
}

// on clicks on what stays on the page.
func (w *worker) on(selector string) {
	w.Helper()
	w.clicks++
	w.do("click "+selector, chromedp.Click(selector, chromedp.ByQuery))
}

// choose is two clicks: on the list, and on what is chosen.
func (w *worker) choose(selector, value string) {
	w.Helper()
	w.clicks += 2
	w.do("choose "+value, chromedp.SetValue(selector, value, chromedp.ByQuery))
}

func (w *worker) types(text string) {
	w.Helper()
	w.keys += utf8.RuneCountInString(text)
	w.press(text)
}

// testTasks does from the overview what people come for, and counts clicks and keys.
func testTasks(b *browser, w *harness.World) {
	w.PSQL(`INSERT INTO security_group (group_name, description, vpc_id) SELECT 'front', 'front', id FROM vpc WHERE cidr_block = '10.7.0.0/16'`,
		`INSERT INTO security_group_rule (security_group_id, is_egress, ip_protocol, from_port, to_port, cidr_ipv4)
		SELECT id, false, 'tcp', 8443, 8443, '0.0.0.0/0' FROM security_group WHERE group_name = 'front'`,
		`SELECT iasql_wait_for_all(120)`)
	b.signIn(w.UserURL)
	task := func(what string, clicks, keys int, do func(*worker)) {
		b.Helper()
		b.open("/")
		worker := &worker{browser: b}
		do(worker)
		b.Logf("%-50s %d clicks, %d keys", what, worker.clicks, worker.keys)
		if worker.clicks > clicks || worker.keys > keys {
			b.Errorf("%s takes %d clicks and %d keys, and took %d and %d", what, worker.clicks, worker.keys, clicks, keys)
		}
	}
	task("find a group by its port", 6, 5, func(k *worker) {
		k.to(`nav a[href="/records"]`)
		k.to(`a[href="/records/security_group_rule"]`)
		k.choose("#column", "from_port")
		k.on("#value")
		k.types("8443")
		k.mark()
		k.types(kb.Enter)
		k.arrived()
		k.to(`.list tbody a[href^="/records/security_group/"]`)
		k.says("front")
	})
	task("open ten instances and change a tag, to the review", 6, 9, func(k *worker) {
		k.to(`nav a[href="/records"]`)
		k.to(`a[href="/records/instance"]`)
		k.on("input[data-all]")
		k.on(".of-tag [name=key]")
		k.types("tier")
		k.on(".of-tag [name=text]")
		k.types("front")
		k.to("#many button.primary")
		k.says("Decide")
	})
	b.click(`form:has(input[value="rollback"]) button`)
	b.says("rolled back")
	task("find who opened a port, and take it back, to the review", 4, 0, func(k *worker) {
		k.to(`nav a[href="/changes"]`)
		rule := w.PSQL(`SELECT id FROM security_group_rule WHERE from_port = 8443`)
		k.says(login(b.T, w.UserURL))
		k.to(`a[href="/records/security_group_rule/` + rule + `"]`)
		k.on(".tools details.danger summary")
		k.to(`form[action$="/delete"] button[value="stage"]`)
		k.says("Decide")
	})
	b.click(`form:has(input[value="rollback"]) button`)
	b.says("rolled back")
	task("stage, review and commit a change", 5, 13, func(k *worker) {
		k.keys++
		k.key("/")
		k.until(`document.querySelector("#search").open`)
		k.types("orders")
		k.mark()
		k.types(kb.Enter)
		k.arrived()
		k.to("#edit")
		k.on("#f-delay_seconds")
		k.clicks++ // a double click: it selects what is there
		k.do("select what is there", chromedp.Evaluate(`document.querySelector("#f-delay_seconds").select()`, nil))
		k.types("42")
		k.to(`form.edit button[value="stage"]`)
		k.says("Decide")
		k.to("form.commit button")
		k.says("END COMMIT")
		if got := w.PSQL(`SELECT delay_seconds FROM queue WHERE name = 'orders'`); got != "42" {
			k.Errorf("committed, delay_seconds is %s", got)
		}
	})
	task("find everything that one VPC holds", 1, 6, func(k *worker) {
		k.keys++
		k.key("/")
		k.until(`document.querySelector("#search").open`)
		k.types("shop")
		k.until(`document.querySelector("#search").dataset.answers === "shop"`)
		k.mark()
		k.types(kb.Enter)
		k.arrived()
		k.to(`a[href^="/map?in=vpc."]`)
		k.says("security_group")
		k.says("front")
	})
}

// mark and arrived stand around what leads to another page without a click.
func (w *worker) mark() {
	w.Helper()
	w.do("mark this page", chromedp.Evaluate(`window.old = true`, nil))
}

func (w *worker) arrived() {
	w.Helper()
	w.until(`window.old !== true && ` + ready)
}
