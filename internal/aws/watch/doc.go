// Package watch reads what the cloud tells of changes that others make, and leaves it in
// the database, where cycles look into it.
//
//	watch.go     which sources there are, and which of them this engine reads
//	poll.go      a queue: messages are received, kept, and only then deleted
//	sort.go      what a message is worth: hints, or the reason why it is dropped
//	trail.go     the files of a trail: complete, and minutes late
//	sqs.go       the queue of Amazon SQS, and the heartbeat
//	s3.go        the bucket of Amazon S3
//	database.go  what is kept, in one transaction each
//
// What a source says is never believed (R26). Whoever may write to a queue can forge
// events, so that what they cost is bounded: the events of each source go through a token
// bucket, a message is bounded in size and depth (package events), and what is kept of it
// is a few texts. One that is too much is dropped and counted, and the source does not
// count as one to be relied on for a while: listings find what the dropped ones told.
//
// An engine that is killed between receiving and keeping loses nothing, since the queue
// shows again what was not deleted. What comes twice has the same id.
//
// One engine reads a source at a time, and says so in the source's row. That is for
// economy: where two do, each reads some of the messages.
package watch
