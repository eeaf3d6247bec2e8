package hosts

import (
	"testing"

	"iasql/internal/modules"
)

func TestStep(t *testing.T) {
	t.Parallel()
	reboots := []Rung{{1, RecoverRuntime}, {2, RecoverReboot}, {3, RecoverReboot}}
	rungs := []Rung{{2, RecoverRuntime}, {4, RecoverRetry}, {5, RecoverRuntime}, {7, RecoverAsk}}
	for _, tt := range []struct {
		name     string
		rungs    []Rung
		failures int // with the present one
		restarts int
		reboots  int
		want     string
	}{
		{"without rows", nil, 100, 0, 0, RecoverRetry},
		{"before the first rung", rungs, 1, 0, 0, RecoverRetry},
		{"the first rung", rungs, 2, 0, 0, RecoverRuntime},
		{"the first rung, restarted for another", rungs, 2, 1, 0, RecoverRetry},
		{"between, restarted", rungs, 3, 1, 0, RecoverRetry},
		{"between, not restarted because the engine ended", rungs, 3, 0, 0, RecoverRuntime},
		{"to be retried", rungs, 4, 0, 0, RecoverRetry},
		{"the next restart", rungs, 5, 1, 0, RecoverRuntime},
		{"both restarted", rungs, 6, 2, 0, RecoverRetry},
		{"to ask", rungs, 7, 0, 0, RecoverAsk},
		{"asked before, and retried", rungs, 9, 2, 0, RecoverAsk},
		{"a reboot", reboots, 2, 1, 0, RecoverReboot},
		{"rebooted", reboots, 2, 1, 1, RecoverRetry},
		{"rebooted once of twice", reboots, 4, 1, 1, RecoverReboot},
	} {
		r := Recovery{Rungs: tt.rungs, Failures: tt.failures - 1, Restarts: tt.restarts, Reboots: tt.reboots}
		if got := r.Step(); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestRecoverable(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		class modules.Class
		code  string
		want  bool
	}{
		{modules.Transient, CodeStart, true},
		{modules.Transient, CodeRuntime, true},
		{modules.Transient, "Unreachable", false},
		{modules.Transient, "NoRuntime", false},
		{modules.MayHaveHappened, "Unreachable", false},
		{modules.Dependency, "NoImage", false},
		{modules.Dependency, "Locked", false},
		{modules.Invalid, "Invalid", false},
	} {
		if got := Recoverable(&modules.Error{Class: tt.class, Code: tt.code}); got != tt.want {
			t.Errorf("%s %s: %t", tt.class, tt.code, got)
		}
	}
}
