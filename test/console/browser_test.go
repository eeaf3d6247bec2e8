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
	"github.com/chromedp/chromedp/kb"
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
		t.Fatal("there is no Chromium: make deps installs it")
	}
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("disable-dev-shm-usage", true),
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
	b.do("size", chromedp.EmulateViewport(width, 900), emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
}

// open loads a page and waits until its script has run.
func (b *browser) open(path string) {
	b.Helper()
	b.do("open "+path, chromedp.Navigate(b.base+path), ready())
}

func ready() chromedp.Action {
	return chromedp.Poll(`document.readyState === "complete" && document.documentElement.dataset.ready === "yes" && typeof htmx === "object"`, nil, chromedp.WithPollingTimeout(patience))
}

// says waits until the page has a text.
func (b *browser) says(text string) {
	b.Helper()
	quoted, _ := json.Marshal(strings.ToLower(text))
	b.do("waiting for “"+text+"”", chromedp.Poll(`document.body !== null && document.body.innerText.toLowerCase().includes(`+string(quoted)+`)`, nil, chromedp.WithPollingTimeout(patience), chromedp.WithPollingInterval(50*time.Millisecond)))
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
	b.do("sign in", chromedp.SetValue("#name", u.User.Username(), chromedp.ByQuery), chromedp.SetValue("#password", password, chromedp.ByQuery),
		chromedp.Submit("#password", chromedp.ByQuery), chromedp.WaitVisible(".side nav", chromedp.ByQuery), ready())
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
	b.do("wait for the next page", chromedp.Poll(`window.old !== true`, nil, chromedp.WithPollingTimeout(patience)), ready())
}

var _ = kb.Enter
