package likeness

import "time"

// data returns the rules of what holds data, of names and of what an account has to itself,
// with durations as took makes them.
func data(endpoint string, took func(time.Duration) time.Duration) []Rule {
	return []Rule{
		&Identities{Spreading: took(15 * time.Second), Listing: took(10 * time.Second)},
		&Buckets{Deleting: took(2 * time.Minute), Listing: took(30 * time.Second)},
		&Certificates{Telling: took(20 * time.Second), Validating: took(2 * time.Minute), Elsewhere: "example.com"},
		&DNS{Working: took(5 * time.Second)},
		&Distributions{Deploying: took(4 * time.Minute)},
		&Queues{Deleted: took(time.Minute), Listing: took(30 * time.Second), Changing: took(time.Minute)},
		&Topics{},
		&Tables{Creating: took(20 * time.Second), Updating: took(30 * time.Second), Deleting: took(20 * time.Second),
			Hour: took(time.Hour), Tagging: took(20 * time.Second), Endpoint: endpoint},
		&Secrets{Listing: took(5 * time.Minute)},
		&Keys{},
		&LogGroups{Working: took(2 * time.Second), Endpoint: endpoint},
		Repositories{},
		OwnTags{},
	}
}
