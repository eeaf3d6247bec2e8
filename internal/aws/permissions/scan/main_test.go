package main

import (
	"bytes"
	"os"
	"testing"
)

// The list that is checked in is what the modules' source says.
func TestOperationsAreUpToDate(t *testing.T) {
	t.Parallel()
	want, err := scan()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../operations.json")
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("operations.json is not what the modules call (%v): make generate", err)
	}
}
