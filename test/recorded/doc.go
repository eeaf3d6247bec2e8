// Package recorded replays what real AWS has answered to others: every recorded
// answer and error that a module's reader or an error class could meet.
//
// An error goes over the wire: a server answers in the service's own protocol, so
// that the SDK's deserializer and the engine's middleware read it as they read
// AWS's. Its class is compared with what AWS documents of its code (classes_test.go).
//
// An answer is put where the SDK has deserialized it: it is read into the output
// structure of its operation, and the middleware returns that. The wire itself is
// the SDK's. The reader of a table then lists or gets its objects from it, and the
// rows are inserted into the real table in PostgreSQL, with its constraints. Other
// operations that the reader needs have answers of the test's own
// (readers_test.go). Foreign keys are dropped: what a row refers to was not
// recorded with it.
//
// The recordings do not name the operation: the members of an answer tell it
// (operations_test.go). Placeholders such as <role-name:1> are filled by the type
// of the member (decode_test.go).
//
// Every operation that a reader asks then answers with every recorded error of its
// service. A reader must fail or keep all its objects, and what it could not read
// must be unknown (failing_test.go).
//
// What does not fit fails the test, unless a list gives the reason: misfits for
// answers, otherwise for errors. What is left out is counted by its reason.
//
// The recordings are test data that stays outside of the repository. The test looks
// for them in the directory that the environment variable RECORDED_ANSWERS names,
// or else in ../shared/aws-recorded seen from the project's root, and is skipped
// where it is absent.
package recorded
