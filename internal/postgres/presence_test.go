package postgres_test

import (
	"testing"

	"iasql/internal/postgres"
)

// An engine that is connected stays known when another one starts, also while the database's clock is days ahead: every
// last beat is old then, and every engine has started long ago.
func TestConnectedEngineStaysKnown(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	announce := func(id string) *postgres.Presence {
		t.Helper()
		p, err := postgres.Announce(t.Context(), b.engineOf(id).Pool, id, "test", "here")
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	there, left := announce("engine-there"), announce("engine-left")
	t.Cleanup(there.Close)
	left.Close()
	b.exec(`UPDATE iasql_internal.engine SET started_at = started_at - interval '2 days', beat = beat - interval '2 days'`)
	t.Cleanup(announce("engine-new").Close)
	if got := b.query(`SELECT string_agg(id, ' ' ORDER BY id) FROM iasql_internal.engine WHERE id IN ('engine-there', 'engine-left', 'engine-new')`); got != "engine-new engine-there" {
		t.Errorf("known are %s", got)
	}
	if got := b.query(`SELECT count(*) FROM iasql_engines() WHERE engine = 'engine-there'`); got != "1" {
		t.Error("the engine that is connected is not listed")
	}
}
