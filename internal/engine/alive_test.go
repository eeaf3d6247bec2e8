package engine

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"iasql/internal/modules"
	"iasql/internal/postgres"
	"iasql/internal/store"
	"iasql/internal/sync"
)

// stuckStore is a store in which a cycle stands.
type stuckStore struct {
	store.Store
	until chan struct{} // nil: until the cycle is told to end
}

func (s stuckStore) Settings(ctx context.Context, _ string) (store.Settings, error) {
	if s.until == nil {
		<-ctx.Done()
	} else {
		<-s.until
	}
	return store.Settings{}, context.Canceled
}

// TestCycleThatStands: it is ended, and where it does not end, the engine is not well (R31).
func TestCycleThatStands(t *testing.T) {
	t.Parallel()
	registry, err := modules.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	e := &Engine{log: slog.New(slog.DiscardHandler), pulse: pulse{most: 24 * time.Millisecond}}
	run := func(s stuckStore) error {
		_, err := e.watched(t.Context(), &postgres.Lease{}, &sync.Reconciler{Store: s, Registry: registry}, store.Full, nil)
		return err
	}
	if err := run(stuckStore{}); !errors.Is(err, errStill) {
		t.Errorf("a cycle that stands ends with %v", err)
	}
	if err := e.Healthy(); err != nil {
		t.Errorf("when it has ended: %v", err)
	}
	deaf := stuckStore{until: make(chan struct{})}
	ended := make(chan error, 1)
	go func() { ended <- run(deaf) }()
	for e.Healthy() == nil {
		time.Sleep(time.Millisecond)
	}
	if err := e.Healthy(); !strings.Contains(err.Error(), "full cycle") {
		t.Errorf("it says: %v", err)
	}
	close(deaf.until)
	<-ended
	if err := e.Healthy(); err != nil {
		t.Errorf("when it has ended: %v", err)
	}
}
