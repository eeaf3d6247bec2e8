package harness

import (
	"os"
	"testing"
)

// Lacking ends a test that needs more than PostgreSQL, psql and the emulator where
// that is not there: `make test` skips it, and says what is missing. `make test-all`
// installs all of it and sets IASQL_TEST_ALL, with which the test fails.
func Lacking(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("IASQL_TEST_ALL") != "" {
		t.Fatalf("%s is not here: make deps-all installs it", what)
	}
	t.Skipf("%s is not here; make test-all installs it", what)
}
