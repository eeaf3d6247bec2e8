package console

import (
	"fmt"
	"strings"

	"github.com/chromedp/chromedp"

	"iasql/internal/test/harness"
)

// Ten instances get another tag: how many clicks that takes, from the list to the review.
func testEditBrowser(b *browser, w *harness.World) {
	b.signIn(w.UserURL)
	clicks := 0
	click := func(selector string) {
		b.Helper()
		clicks++
		b.do("click "+selector, chromedp.Click(selector, chromedp.ByQuery))
	}
	b.open("/records/instance?c=tags&o=has&v=web-")
	b.says("With the ticked rows")
	if b.eval(`getComputedStyle(document.querySelector(".of-column")).display`) != "none" {
		b.Error("what a tag does not need is shown")
	}
	click("input[data-all]")
	click(".of-tag [name=key]")
	b.press("team")
	click(".of-tag [name=text]")
	b.press("data")
	b.do("mark this page", chromedp.Evaluate(`window.old = true`, nil))
	click("#many button.primary")
	b.until(`window.old !== true && location.pathname.startsWith("/batches/") && ` + ready)
	b.says("Decide")
	b.says("Staged in batch")
	if got := w.PSQL(`SELECT count(*) FROM instance WHERE tags ->> 'team' = 'data'`); got != "10" {
		b.Errorf("%s instances have the tag", got)
	}
	if clicks > 5 {
		b.Errorf("a tag on ten instances takes %d clicks", clicks)
	}
	b.Logf("a tag on ten instances takes %d clicks", clicks)
	b.click(`form:has(input[value="rollback"]) button`)

	// One record, in the browser: an input that searches, and what is hostile in it.
	b.open("/records/instance")
	b.click("#live tbody a")
	b.click("#edit")
	b.says("instance_type")
	b.do("another type", chromedp.SetValue("#f-instance_type", "t3.small", chromedp.ByQuery))
	b.click(`button[value="sql"]`)
	b.says("SET instance_type = 't3.small'")
	for _, path := range []string{"/records/subnet/new", "/records/vpc/" + w.PSQL(`SELECT id FROM vpc WHERE cidr_block = '10.8.0.0/16'`) + "/edit"} {
		b.open(path)
		if b.eval("window.hostile === undefined") != "true" || b.eval(`document.querySelector("img") === null`) != "true" {
			b.Errorf("%s runs what is in a name", path)
		}
	}
	// A reference to a table of many records searches while one types.
	w.Admin(`SET session_replication_role = replica`,
		`INSERT INTO vpc (account, region, cidr_block, tags) SELECT account, region, '10.9.0.0/16', jsonb_build_object('Name', 'many-' || i) FROM generate_series(1, 250) i, (SELECT account, region FROM vpc LIMIT 1) v`)
	b.open("/records/subnet/new")
	vpc := w.PSQL(`SELECT id FROM vpc WHERE cidr_block = '10.7.0.0/16'`)
	b.do("type a name", chromedp.SendKeys("#f-vpc_id", "shop", chromedp.ByQuery))
	b.until(`document.querySelectorAll("#f-vpc_id-list option").length === 1 && document.querySelector("#f-vpc_id-list option").value === "` + vpc + `"`)
	w.Admin(`SET session_replication_role = replica`, `DELETE FROM vpc WHERE tags ->> 'Name' LIKE 'many-%'`)
	for _, path := range []string{"/records/subnet/new", "/records/instance/new", "/records/instance", "/records/queue/new"} {
		for _, width := range []int64{1440, 390} {
			b.size(width, false)
			b.open(path)
			if b.eval("document.documentElement.scrollWidth <= window.innerWidth") != "true" {
				b.Errorf("%s is wider than a window of %d pixels", path, width)
			}
		}
		b.accessible(path)
	}
	b.size(1440, false)
	for _, table := range []string{"instance", "secret"} {
		path := "/records/" + table + "/" + w.PSQL(`SELECT min(id) FROM `+table)
		b.open(path + "/edit")
		b.accessible(path + "/edit")
		b.open(path)
		b.do("open what opens",
			chromedp.Evaluate(`document.querySelectorAll("main details").forEach(d => d.open = true)`, nil))
		b.accessible(path + ", opened")
	}
	shootEdit(b, w)
}

// shootState takes pictures of what a page has become.
func (b *browser) shootState(name string) {
	b.Helper()
	for _, dark := range []bool{false, true} {
		for _, width := range []int64{1440, 390} {
			b.size(width, dark)
			var picture []byte
			b.do("picture of "+name, chromedp.CaptureScreenshot(&picture))
			b.write(*every, fmt.Sprintf("%s-%d-%s", name, width, map[bool]string{false: "light", true: "dark"}[dark]), picture)
		}
	}
	b.size(1440, false)
}

// shootEdit takes pictures of the forms, for whoever changes how they look.
func shootEdit(b *browser, w *harness.World) {
	if *every == "" {
		return
	}
	instance := "/records/instance/" + strings.TrimSpace(w.PSQL(`SELECT min(id) FROM instance`))
	for _, p := range [][3]string{{"edit-list", "/records/instance", "with the ticked rows"}, {"edit-record", instance, "duplicate"},
		{"edit-new", "/records/subnet/new", "vpc_id"}, {"edit-form", instance + "/edit", "instance_type"},
		{"edit-queue", "/records/queue/" + w.PSQL(`SELECT id FROM queue WHERE name = 'orders'`) + "/edit", "policy"},
		{"edit-copy", instance + "/duplicate", "instance_type"}} {
		b.shootEvery(p[0], p[1], p[2])
	}
	b.open("/records/instance")
	b.do("tick", chromedp.Click("input[data-all]", chromedp.ByQuery))
	b.shootState("edit-ticked")
	b.do("a column", chromedp.SetValue("#many-do", "column", chromedp.ByQuery))
	b.shootState("edit-ticked-column")
	b.click(`#many button[value="now"]`)
	b.shootState("edit-many")
	queue := w.PSQL(`SELECT id FROM queue WHERE name = 'orders'`)
	b.open("/records/queue/" + queue + "/edit")
	b.do("a change", chromedp.SetValue("#f-delay_seconds", "13", chromedp.ByQuery), chromedp.SetValue("#f-policy", "{\n  \"a\": }", chromedp.ByQuery))
	w.PSQL(`UPDATE queue SET delay_seconds = 14 WHERE id = ` + queue)
	b.click(`button[value="sql"]`)
	b.shootState("edit-wrong")
	b.do("no policy", chromedp.Evaluate(`document.querySelector("#f-policy").value = ""`, nil))
	b.click(`button[value="sql"]`)
	b.shootState("edit-sql")
	b.click(`button[value="now"]`)
	b.shootState("edit-clash")
	b.open("/records/queue/" + queue)
	b.do("delete", chromedp.Click(".tools summary", chromedp.ByQuery))
	b.shootState("edit-delete")
}
