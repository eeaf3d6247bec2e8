package platform

import (
	"testing"

	"iasql/internal/test/testdb"
)

func TestMain(m *testing.M) { testdb.Main(m, nil) }
