package console

import (
	"context"
	"encoding/json"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"iasql/internal/test/harness"
)

// patience bounds every wait: this machine may be slow, and busy with others.
const patience = 90 * time.Second

// browser is a tab of Chromium, with cookies of its own.
type browser struct {
	*testing.T
	ctx  context.Context
	base string
}

// newChromium says how Chromium is started.
func newChromium(t *testing.T) context.Context {
	t.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		harness.Lacking(t, "Chromium")
	}
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.IgnoreCertErrors,
		chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.Flag("lang", "en-US"), chromedp.WSURLReadTimeout(patience))...)
	t.Cleanup(cancel)
	return allocator
}

// newBrowser starts Chromium with a profile of its own.
func newBrowser(t *testing.T, chromium context.Context, base string) *browser {
	t.Helper()
	ctx, cancel := chromedp.NewContext(chromium)
	t.Cleanup(cancel)
	b := &browser{T: t, ctx: ctx, base: base}
	if err := chromedp.Run(ctx); err != nil { // without a deadline: it is the life of the browser
		t.Fatalf("start Chromium: %v", err)
	}
	b.do("set the zone", emulation.SetTimezoneOverride("Europe/Berlin"))
	b.size(1440, false)
	return b
}

// do runs actions, which must succeed within patience.
func (b *browser) do(what string, actions ...chromedp.Action) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Run(ctx, actions...); err != nil {
		where, text := "", ""
		last, done := context.WithTimeout(b.ctx, 10*time.Second)
		defer done()
		_ = chromedp.Run(last, chromedp.Location(&where), chromedp.Evaluate(`document.body.innerText`, &text))
		b.Fatalf("%s: %v\nat %s:\n%s", what, err, where, text)
	}
}

func (b *browser) size(width int64, dark bool) {
	b.Helper()
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	b.do("size", chromedp.EmulateViewport(width, 900),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme",
			Value: scheme}}))
}

// until waits until an expression is true, whatever page comes meanwhile.
func (b *browser) until(expression string) {
	b.Helper()
	var last error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		ctx, cancel := context.WithTimeout(b.ctx, patience)
		is := false
		last = chromedp.Run(ctx, chromedp.Evaluate(`Boolean(`+expression+`)`, &is))
		cancel()
		if is {
			return
		}
		select { // an error may be of a page that goes
		case <-b.ctx.Done():
			b.Fatal(b.ctx.Err())
		case <-time.After(30 * time.Millisecond):
		}
	}
	b.Fatalf("not within %s: %s (%v)\n%s", patience, expression, last, b.text())
}

const ready = `document.readyState === "complete" && document.documentElement.dataset.ready === "yes" && typeof htmx === "object"`

// open loads a page and waits until its script has run.
func (b *browser) open(path string) {
	b.Helper()
	b.do("open "+path, chromedp.Navigate(b.base+path))
	b.until(ready)
}

// says waits until the page has a text.
func (b *browser) says(text string) {
	b.Helper()
	quoted, _ := json.Marshal(strings.ToLower(text))
	b.until(`document.body !== null && document.body.innerText.toLowerCase().includes(` + string(quoted) + `)`)
}

// eval returns what an expression of JavaScript is, as text.
func (b *browser) eval(expression string) string {
	b.Helper()
	var value any
	b.do(expression, chromedp.Evaluate(expression, &value))
	text, _ := json.Marshal(value)
	return strings.Trim(string(text), `"`)
}

func (b *browser) text() string {
	b.Helper()
	var text string
	b.do("read the page", chromedp.Evaluate(`document.body.innerText`, &text))
	return text
}

// signIn signs in as the role of a database's URL.
func (b *browser) signIn(database string) {
	b.Helper()
	u, err := url.Parse(database)
	if err != nil {
		b.Fatal(err)
	}
	password, _ := u.User.Password()
	b.open("/signin")
	b.do("sign in", chromedp.SetValue("#name", u.User.Username(), chromedp.ByQuery),
		chromedp.SetValue("#password", password, chromedp.ByQuery),
		chromedp.Submit("#password", chromedp.ByQuery))
	b.until(`document.querySelector(".side nav") !== null && ` + ready)
}

// press types keys into the page.
func (b *browser) press(keys string) {
	b.Helper()
	b.do("press "+keys, chromedp.KeyEvent(keys))
}

// click clicks on what a selector names, and waits for the page that comes.
func (b *browser) click(selector string) {
	b.Helper()
	b.do("mark this page", chromedp.Evaluate(`window.old = true`, nil))
	b.do("click "+selector, chromedp.Click(selector, chromedp.ByQuery))
	b.until(`window.old !== true && ` + ready)
}
