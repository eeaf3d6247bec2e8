package runner

import (
	"testing"
	"time"
)

func TestMayReboot(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, tt := range []struct {
		name, kept string
		want       bool
	}{
		{"never before", "", true},
		{"59 minutes ago", "2026-01-02T02:05:05Z", false},
		{"an hour ago", "2026-01-02T02:04:05Z", true},
		{"in a moment, by a clock that was put back", "2026-01-02T03:10:00Z", false},
		{"tomorrow, by a clock that was wrong", "2026-01-03T03:04:05Z", true},
		{"nobody knows when", "soon", false},
	} {
		if err := mayReboot(tt.kept, now); (err == nil) != tt.want {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
