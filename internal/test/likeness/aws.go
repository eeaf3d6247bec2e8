package likeness

import "time"

// AWS returns every rule that holds for an account, with what AWS says that things
// take divided by factor. Set consistency_window to [Window] of the same factor.
func AWS(endpoint string, factor int) []Rule {
	took := func(d time.Duration) time.Duration { return d / time.Duration(factor) }
	return append(data(endpoint, took),
		&DBInstances{Creating: took(5 * time.Minute), Deleting: took(4 * time.Minute), Endpoint: endpoint},
		&Network{Pending: took(time.Minute)},
	)
}

// Window is the consistency window that goes with a factor: the setting's default,
// five minutes, as much shorter.
func Window(factor int) time.Duration { return 5 * time.Minute / time.Duration(factor) }
