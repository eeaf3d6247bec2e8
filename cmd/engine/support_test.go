package main

import (
	"io"
	"os"
	"strings"
	"testing"
)

// Nothing is written unless somebody says yes.
func TestSupportBundleAsks(t *testing.T) {
	t.Parallel()
	c := &supportCmd{}
	for answer, wants := range map[string]string{
		"y\n": "", "YES\n": "", "n\n": "nothing was written", "\n": "nothing was written", "what?\n": "nothing was written",
		"": "there is no terminal to ask on",
	} {
		err := c.ask(strings.NewReader(answer), io.Discard)
		if wants == "" && err != nil || wants != "" && (err == nil || !strings.Contains(err.Error(), wants)) {
			t.Errorf("%q: %v", answer, err)
		}
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	_, _ = write.WriteString("y\n")
	_ = write.Close()
	if err := c.ask(read, io.Discard); err == nil || !strings.Contains(err.Error(), "--yes") {
		t.Errorf("a pipe is no terminal: %v", err)
	}
}
