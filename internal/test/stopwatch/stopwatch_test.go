package stopwatch

import (
	"testing"
	"time"
)

// What it counts is never more than what has passed, and never less than a quarter of it.
func TestTook(t *testing.T) {
	t.Parallel()
	w := Start()
	for range 5 {
		least := w.Elapsed() / 4
		took := w.Took()
		if most := w.Elapsed(); took < least || took > most {
			t.Errorf("it counts %s, of %s", took, most)
		}
		if share := w.Share(); share < 0.25 || share > 1 {
			t.Errorf("a share of %g", share)
		}
	}
	// Somebody has waited all the time, and longer.
	w.stalled -= time.Hour
	if took := w.Took(); took > w.Elapsed()/4 {
		t.Errorf("it counts %s, of %s", took, w.Elapsed())
	}
}
