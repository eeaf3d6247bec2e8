package adversary

import (
	"testing"

	"iasql/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
