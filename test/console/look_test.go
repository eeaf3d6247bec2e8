package console

import (
	"os"
	"testing"
)

// TestLook is for whoever works on the pages: it takes pictures of a console that
// runs already.
func TestLook(t *testing.T) {
	base, database := os.Getenv("CONSOLE"), os.Getenv("CONSOLE_LOGIN")
	if base == "" {
		t.Skip("CONSOLE names no console")
	}
	chromium := newChromium(t)
	b := newBrowser(t, chromium, base)
	b.open("/signin")
	b.shootAll("signin")
	b.signIn(database)
	for name, path := range map[string]string{"overview": "/", "tables": "/records", "records": "/records/queue", "record": "/records/vpc/1", "batches": "/batches", "map": "/map", "recordmap": "/map/vpc/1",
		"activity": "/activity", "modules": "/modules", "asof": "/as-of?table=queue", "changes": "/activity?show=changes"} {
		b.open(path)
		b.shootAll(name)
	}
}
