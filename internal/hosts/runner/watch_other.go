//go:build !linux

package runner

import (
	"context"
	"sync"
)

// watcher watches what parts of a request name.
type watcher struct {
	tree    *tree
	parts   []Part
	news    *news
	working sync.WaitGroup
}

// begin says that nothing is watched: hosts run Linux, and here are directories alone.
func (w *watcher) begin(context.Context) error {
	_ = w.rules()
	return &Failure{Refused, "changes of a directory are watched on Linux alone"}
}
