// Package storetest is the conformance suite of the store: what every
// implementation of [store.Store] must do alike.
//
// The simulated world (package simulate) runs millions of cycles a day against a
// store in memory. What it proves holds for PostgreSQL only if the two stores
// give the same answers. This package compares them. It makes a random script
// from a seed, plays it on a model and on a subject, and compares the answers
// step by step. A script that shows a difference is shrunk and printed with both
// answers.
//
//	store.go   what a store under test must offer: the contract, and its users
//	script.go  which steps there are, and scripts of them made from a seed
//	user.go    steps of people: statements, modes, settings, batches, time
//	reads.go   steps of an engine: the methods of the contract that read
//	writes.go  and those that write
//	answer.go  what is compared, and in which form
//	play.go    plays a script, compares, shrinks
//	undo.go    one script that hardly ever comes up at random
//	flood.go   more hints than are looked into at once
//
// # Normalizations
//
// Some parts of an answer are an implementation's own business. The suite does
// not compare these:
//
//   - Names: the ids of records, of the audit log, of the intent log and of batches.
//     The suite pairs them by order of appearance, and compares what they name.
//   - Record.Version: the suite only hands it back. Stale ones must be refused.
//   - Order, where the contract leaves it open: of [store.Store.Keys],
//     Dependents and Due, and of the tables of Settings.
//   - Error texts. The suite compares the class: none, lease lost, refused,
//     another failure.
//   - A reference without a name in the cloud: Subject.RefKeys may hold NULL or
//     nothing for it.
//   - State.Backoff: it is written, never read. Its effect, State.Due, is compared.
//   - Tables the subject has besides those of the simulated cloud.
//
// # What scripts leave out
//
// Some calls no cycle makes, and the contract does not say what they do: two pulls
// of one record in one call, two ends of one operation in one call, a pull of no
// columns. Some things only PostgreSQL has: locked tables, triggers of users,
// batches that are being committed, the stores of previews and commits
// (postgres.Overlay and postgres.Bound). Each call ends before the next begins:
// what runs at the same time is another test's, but users' transactions stay open
// across calls.
//
// # Time
//
// [User.Pass] lets time pass on both sides: the consistency window and backoffs
// are part of the comparison. Real time goes on while a script runs. So all
// durations of scripts keep a distance of ten seconds from each other.
package storetest
