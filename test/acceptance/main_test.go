package acceptance

import (
	"testing"

	"iasql/internal/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
