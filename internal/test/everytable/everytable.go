// Package everytable gives tests a database with the tables of all modules.
package everytable

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"iasql/internal/aws"
	"iasql/internal/modules"
	"iasql/internal/modules/all"
	"iasql/internal/platform"
	"iasql/internal/test/harness"
)

// NewWorld makes a world with every module's tables and no engine: nothing is looked at
// in the cloud.
func NewWorld(t *testing.T) *harness.World {
	t.Helper()
	w := harness.NewWorld(t)
	config, err := pgxpool.ParseConfig(w.AdminURL)
	if err != nil {
		t.Fatal(err)
	}
	config.ConnConfig.RuntimeParams["role"] = "iasql_engine"
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	registry, err := modules.NewRegistry(all.Modules(aws.New(aws.Options{}))...)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range registry.Modules() {
		names = append(names, m.Name)
	}
	if _, err := platform.Install(t.Context(), pool, registry, names); err != nil {
		t.Fatal(err)
	}
	return w
}
