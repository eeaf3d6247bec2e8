package console

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"iasql/internal/test/harness"
)

// axeFile is what scripts/deps.sh takes out of the package axe-core.
const axeFile = "../../.cache/axe-core-4.14.1.min.js"

// finding is a rule of axe-core's that a page breaks, and the elements that do.
type finding struct {
	Rule, Impact, Help string
	Elements           []string
}

var axeSource = sync.OnceValues(func() (string, error) {
	source, err := os.ReadFile(axeFile)
	return string(source), err
})

// axeAll runs the rules of WCAG 2.2 AA and of good practice; axeContrast what depends
// on colours alone.
const (
	axeAll = `{runOnly: {type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]},
		rules: {"target-size": {enabled: true}}, resultTypes: ["violations"]}`
	axeContrast = `{runOnly: {type: "rule", values: ["color-contrast", "link-in-text-block"]}, resultTypes: ["violations"]}`
)

func (b *browser) axe(options string) (found []finding) {
	b.Helper()
	b.do("run axe-core", chromedp.Evaluate(`axe.run(document, `+options+`).then(result => result.violations.map(v => ({
		Rule: v.id, Impact: v.impact || "", Help: v.help, Elements: v.nodes.map(n => n.target.flat().join(" ") + "  " +
			n.html.slice(0, 160) + "  " + n.any.concat(n.all, n.none).map(c => c.message).join(" "))})))`, &found,
		func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	return found
}

// accessible checks the page as it is, wide and narrow, light and dark. Without
// axe-core it checks nothing: testAccessible says that it is missing. The pages'
// policy does not hold for scripts that come by the protocol of DevTools.
func (b *browser) accessible(name string) {
	b.Helper()
	source, err := axeSource()
	if err != nil {
		return
	}
	if b.eval(`typeof axe`) == "undefined" {
		b.do("load axe-core", chromedp.Evaluate(source, nil))
	}
	for _, dark := range []bool{false, true} {
		for _, width := range []int64{1440, 820, 390} {
			b.size(width, dark)
			options := axeAll
			if dark {
				options = axeContrast
			}
			where := fmt.Sprintf("%s, %d wide, %s", name, width, map[bool]string{false: "light", true: "dark"}[dark])
			for _, f := range b.axe(options) {
				text := fmt.Sprintf("%s: %s (%s): %s\n\t%s", where, f.Rule, f.Impact, f.Help,
					strings.Join(f.Elements[:min(len(f.Elements), 5)], "\n\t"))
				if f.Impact == "serious" || f.Impact == "critical" {
					b.Error(text)
				} else {
					b.Log(text)
				}
			}
			if wide := b.tooWide(); !dark && wide != "" {
				b.Errorf("%s: the page is wider than the window: %s", where, wide)
			}
		}
	}
	b.size(1440, false)
}

// tooWide names the innermost elements that make the page wider than the window.
func (b *browser) tooWide() string {
	b.Helper()
	return b.eval(`(() => {
		if (document.documentElement.scrollWidth <= innerWidth) return "";
		const wide = e => e.getBoundingClientRect().right > innerWidth;
		const found = Array.from(document.querySelectorAll("body *")).filter(e => wide(e) &&
			!Array.from(e.children).some(wide) && !e.closest(".scroll, nav, pre, svg"));
		return found.slice(0, 3).map(e => e.outerHTML.slice(0, 200)).join(" … ") || "something that scrolls by itself";
	})()`)
}

// longWords gives what people and the cloud have named a word that does not fit a narrow window.
const longWords = `for (const e of document.querySelectorAll("main :is(h1, h3, p, td, dd, li, pre, a, strong, .tag, .muted)")) {
	if (!e.children.length && e.textContent.trim() && !e.closest("button, label, summary, .button, kbd, svg"))
		e.textContent += " Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichenverordnung"; }`

// Every page, and what opens in it, passes axe-core.
func testAccessible(b *browser, w *harness.World) {
	if _, err := axeSource(); err != nil {
		b.Skip("axe-core is not in .cache: `scripts/deps.sh all` takes it from npm")
	}
	b.open("/signin")
	b.accessible("/signin")
	b.signIn(w.UserURL)
	all, undo := furnish(w)
	defer undo()
	for _, path := range pages {
		known := slices.ContainsFunc(all, func(p shownPage) bool { return p.path == path })
		if data := path == "/map.svg" || path == "/sql/names" || path == "/events" || strings.HasPrefix(path, "/pick/"); !known && !data {
			all = append(all, shownPage{path: path})
		}
	}
	queue := w.PSQL(`SELECT id FROM queue WHERE name = 'orders'`)
	all = append(all, shownPage{path: "/records/queue/" + queue + "/edit", says: "visibility_timeout"},
		shownPage{path: "/records/queue/" + queue + "/duplicate", says: "visibility_timeout"},
		shownPage{path: "/records/queue?c=name&o=has&v=o", says: "orders"})
	for _, p := range all {
		b.open(p.path)
		b.says(p.says)
		b.accessible(p.path)
		if b.eval(`document.querySelector("#live details:not([open])") !== null`) == "true" {
			b.do("open what opens",
				chromedp.Evaluate(`document.querySelectorAll("#live details").forEach(d => d.open = true)`, nil))
			b.accessible(p.path + ", opened")
		}
		b.size(390, false)
		b.do("long words", chromedp.Evaluate(longWords, nil))
		if wide := b.tooWide(); wide != "" {
			b.Errorf("%s: long words make the page wider than a telephone: %s", p.path, wide)
		}
		b.size(1440, false)
	}

	b.open("/records/queue")
	b.do("tick", chromedp.Click("input[data-all]", chromedp.ByQuery))
	b.accessible("ticked rows")
	b.open("/records/queue/" + queue + "/edit")
	b.do("what is no JSON", chromedp.SetValue("#f-policy", "{ a }", chromedp.ByQuery))
	b.click(`button[value="sql"]`)
	b.accessible("a form that is refused")
	for _, text := range []string{"SELECT name, tags FROM queue", "SELECT nope FROM queue"} {
		b.open("/sql")
		b.do("type", chromedp.SetValue("#sql", text, chromedp.ByQuery))
		b.click(`#sql-form button[value="run"]`)
		b.until(`document.querySelector("#result") !== null && !document.body.innerText.includes("Running for")`)
		b.accessible(text)
	}
	b.open("/sql")
	b.do("type", chromedp.SendKeys("#sql", "SELECT * FROM que", chromedp.ByQuery))
	b.until(`!document.querySelector("#sql-names").hidden`)
	b.accessible("names that are offered")
	b.open("/")
	b.do("search", chromedp.Click("a.search", chromedp.ByQuery))
	b.press("o")
	b.until(`document.querySelector("#search").dataset.answers === "o"`)
	b.accessible("the search")
	b.press(kb.Escape)
	b.key("?")
	b.until(`document.querySelector("#keys").open`)
	b.accessible("the keys")
}

// Who uses no mouse can skip the navigation, sees where he is, and comes through the
// page in its order.
func testKeyboard(b *browser, w *harness.World) {
	b.signIn(w.UserURL)
	b.open("/records/queue")
	b.press(kb.Tab)
	if b.eval(`document.activeElement.className`) != "skip" {
		b.Errorf("the first stop is %s", b.eval("document.activeElement.outerHTML"))
	}
	if b.eval(`document.activeElement.getBoundingClientRect().width > 50`) != "true" {
		b.Error("the link that skips the navigation is not to be seen")
	}
	b.press(kb.Enter)
	b.until(`document.activeElement.id === "main"`)
	b.press(kb.Tab)
	if b.eval(`document.activeElement.closest("main") !== null`) != "true" {
		b.Error("after skipping the navigation one is not in the content")
	}

	b.open("/records/queue")
	b.do("remember", chromedp.Evaluate(`window.stops = []`, nil))
	for range 45 {
		b.press(kb.Tab)
		b.do("look", chromedp.Evaluate(`(() => {
			const at = document.activeElement, last = window.stops[window.stops.length - 1];
			if (at === document.body || window.problem) return;
			const style = getComputedStyle(at), box = at.getBoundingClientRect();
			const say = what => { window.problem = what + ": " + at.outerHTML.slice(0, 200); };
			if (last && !(last.compareDocumentPosition(at) & Node.DOCUMENT_POSITION_FOLLOWING)) say("comes too late");
			if (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 2) say("shows no focus");
			if (box.bottom <= 0 || box.top >= innerHeight) say("is out of sight");
			window.stops.push(at);
		})()`, nil))
		if b.eval(`document.activeElement === document.body`) == "true" {
			break
		}
	}
	if problem := b.eval(`window.problem || ""`); problem != "" {
		b.Error(problem)
	}
	if stops := b.eval(`window.stops.length > 20`); stops != "true" {
		b.Error("the keyboard comes to too few places")
	}
}

// The theme is that of the system until somebody chooses, with a script or without.
func testTheme(b *browser, w *harness.World) {
	b.signIn(w.UserURL)
	const light, dark = "rgb(245, 246, 248)", "rgb(13, 18, 32)"
	is := func(when, colour string) {
		b.Helper()
		if got := b.eval(`getComputedStyle(document.body).backgroundColor`); got != colour {
			b.Errorf("%s: the background is %s", when, got)
		}
	}
	choose := func(theme string) {
		b.Helper()
		b.do("choose "+theme, chromedp.Click(`form.theme button[value="`+theme+`"]`, chromedp.ByQuery))
		b.until(`document.querySelector('form.theme button[value="` + theme + `"]').getAttribute("aria-pressed") === "true"`)
	}
	is("a light system", light)
	b.size(1440, true)
	is("a dark system", dark)
	b.open("/records/queue/new")
	b.do("type", chromedp.SetValue("#f-name", "half written", chromedp.ByQuery))
	choose("light")
	is("light on a dark system", light)
	if got := b.eval(`document.querySelector("#f-name").value`); got != "half written" {
		b.Errorf("choosing a theme loses what one has typed: %q", got)
	}
	b.open("/batches")
	is("light on another page", light)
	b.size(1440, false)
	b.do("without a script", emulation.SetScriptExecutionDisabled(true), chromedp.Navigate(b.base+"/map"))
	b.do("choose dark", chromedp.Click(`form.theme button[value="dark"]`, chromedp.ByQuery),
		chromedp.WaitVisible(`:root[data-theme="dark"]`, chromedp.ByQuery))
	b.do("with scripts", emulation.SetScriptExecutionDisabled(false))
	is("dark without a script", dark)
	if path := b.eval("location.pathname"); path != "/map" {
		b.Errorf("choosing a theme leads to %s", path)
	}
	b.open("/map")
	choose("auto")
	is("auto again", light)
	b.open("/map")
	is("auto on another page", light)

	turns := func() string {
		b.Helper()
		return b.eval(`(() => { document.body.insertAdjacentHTML("beforeend", '<span class="spinner"></span>');
			return getComputedStyle(document.querySelector(".spinner")).animationName; })()`)
	}
	if name := turns(); name == "none" {
		b.Error("nothing moves")
	}
	b.do("reduced motion", emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{
		{Name: "prefers-reduced-motion", Value: "reduce"}}))
	if name := turns(); name != "none" {
		b.Errorf("who wants no motion sees %s", name)
	}
}

// Times are the reader's, and say what they are in UTC.
func testZone(b *browser, w *harness.World) {
	b.signIn(w.UserURL)
	b.open("/activity")
	b.until(`document.querySelector("#live time:not(.ago)") !== null`)
	wrong := b.eval(`Array.from(document.querySelectorAll("#live time:not(.ago)")).filter(t =>
		t.textContent !== new Date(t.dateTime).toLocaleString("en-US", {dateStyle: "medium", timeStyle: "medium", timeZone: "Europe/Berlin"}) ||
		new Date(t.title.replace(" UTC", "Z")).getTime() !== Math.trunc(new Date(t.dateTime).getTime())).map(t => t.outerHTML).slice(0, 3).join("\n")`)
	if wrong != "" {
		b.Error(wrong)
	}
	b.do("without a script", emulation.SetScriptExecutionDisabled(true), chromedp.Navigate(b.base+"/activity"),
		chromedp.WaitVisible("#live", chromedp.ByQuery), emulation.SetScriptExecutionDisabled(false))
	if text := b.eval(`document.querySelector("#live time:not(.ago)").textContent`); !strings.HasSuffix(text, " UTC") {
		b.Errorf("without a script a time is %q", text)
	}
}
