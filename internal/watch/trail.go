package watch

import (
	"context"
	"log/slog"
)

type trail struct{}

func newTrail(*Watch, source, *slog.Logger) *trail { return &trail{} }

func (*trail) run(ctx context.Context) { <-ctx.Done() }
