package adversary

import (
	"testing"

	"iasql/internal/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

var east = []string{"us-east-1"}
