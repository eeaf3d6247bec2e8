// Package acceptance tests the built binary from the outside, as its users
// meet it.
package acceptance

import (
	"testing"

	"iasql/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
