package likeness

import "time"

// AWS returns every rule that holds for an account, with what AWS says that things
// take divided by factor. Set consistency_window to [Window] of the same factor.
func AWS(endpoint string, factor int) []Rule {
	took := func(d time.Duration) time.Duration { return d / time.Duration(factor) }
	return append(compute(endpoint, took), data(endpoint, took)...)
}

// Window is the consistency window that goes with a factor: the setting's default,
// five minutes, as much shorter.
func Window(factor int) time.Duration { return 5 * time.Minute / time.Duration(factor) }
