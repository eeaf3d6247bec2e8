package console

import (
	"flag"
	"os"
	"path/filepath"

	"github.com/chromedp/chromedp"
)

// shots is where the pictures go that the documentation shows.
var shots = flag.String("screenshots", "", "a `folder` to write pictures of the pages to")

// shoot takes a picture of the page as it is, at a width.
func (b *browser) shoot(name string, width int64, dark bool) {
	b.Helper()
	if *shots == "" {
		return
	}
	b.size(width, dark)
	var picture []byte
	b.until(ready)
	b.do("picture of "+name, chromedp.CaptureScreenshot(&picture))
	if err := os.MkdirAll(*shots, 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(*shots, name+".png"), picture, 0o644); err != nil {
		b.Fatal(err)
	}
	b.size(1440, false)
}

// shootAll takes pictures at both widths, in light and in dark.
func (b *browser) shootAll(name string) {
	b.Helper()
	if *shots == "" {
		return
	}
	b.shoot(name+"-1440-light", 1440, false)
	b.shoot(name+"-1440-dark", 1440, true)
	b.shoot(name+"-390-light", 390, false)
	b.shoot(name+"-390-dark", 390, true)
}
