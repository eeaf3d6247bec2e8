// Package sync is the cycle: it makes a cloud account and its tables equal.
//
// The decisions are package iasql/internal/decide's; the database is behind
// package iasql/internal/store, and the cloud behind the resources of package
// iasql/internal/modules, so that a simulated world can stand in for both.
//
// # The flow, and the files in its order
//
// A push cycle deals with what users have changed:
//
//	cycle.go     drives what follows
//	prepare.go   which tables are there, which rules hold, what engines did lately
//	identify.go  is the account who it was (R27), and the database where it was (R30)?
//	recover.go   what became of the calls in doubt? (R6)
//	look.go      where do events of the cloud hint at changes? (R26)
//	  ┌─────────────────────────── a pass ──────────────────────────────────────┐
//	  │ snapshot.go   what is due: pending changes, states, deposed objects     │
//	  │ claim.go      does another record own the object?                       │
//	  │ observe.go    read the objects directly (R5)                            │
//	  │ decide.go     what is to be done about each?                            │
//	  │ follow.go     who has to follow a replaced record?                      │
//	  │ guard.go      is too much gone to be true? (R28)                        │
//	  │ pull.go       write records (R3)                                        │
//	  │ plan.go       which operation comes after which?                        │
//	  │ guard.go      are those too many deletions? (R7)                        │
//	  │ apply.go      run the plan                                              │
//	  │   call.go       into the intent log, then to the cloud (R6)             │
//	  │   outcome.go    how did it end?                                         │
//	  │ settle.go     mark changes as settled, remember states (R2)             │
//	  └──── again, until nothing is written or the time slice has passed ───────┘
//
// A full cycle lists the cloud before its first pass, and takes the pushes that the
// listing asks for into that:
//
//	prepare.go ─► identify.go ─► recover.go ─► look.go ─► list.go ─► the passes
//
//	look.go      where events of the cloud hint at changes (a push cycle looks there, too)
//	named.go     objects that hints name are read directly
//	resync.go    which tables are due, and where
//	list.go      every table, parents first; every scope of it side by side
//	within.go    tables that are listed within some parents only
//	preempt.go   between two pages: is a push cycle wanted? It runs there
//	errand.go    and so do cycles that somebody waits for, such as a commit
//	match.go     a page: objects and their records; what has changed is observed, and
//	             what is to be pulled is pulled (at the end of a complete listing, what
//	             it did not show is observed)
//
// The rest is what several steps share:
//
//	subject.go   what a subject gets from the registry and from the intent log
//	doubt.go     creations in doubt, which nothing is decided about
//	catalog.go   the tables of the cycle, and the locked ones that it does without
//	report.go    what the cycle did
//	span.go      what traces are told of it
//	engine.go    the settings of an engine
//
// Calls run forward in the order
//
//	cycle, prepare, identify, recover, look, named, list, resync, within, preempt, match, snapshot, claim, observe,
//
// decide,
//
//	follow, pull, plan, guard, apply, call, outcome, settle, subject, doubt, catalog,
//	report, span, engine
//
// with one exception that is meant: a preemption runs a push cycle within a full one
// (cycle.meanwhile).
//
// # One UPDATE
//
// A user's UPDATE is due because its audit row is not settled. The first pass of a
// push cycle loads the record with its pending change (snapshot), reads its object
// (observe), finds that the database's value differs and was changed here (decide),
// plans an update (plan), writes its intent and calls the cloud (apply, call), and
// remembers the record as Updating (outcome). The second pass reads the object again:
// both sides agree, and the change is settled (settle).
//
// # Promises
//
// The comments name the rules of docs/design.md (R1…R35) where they are kept:
//
//   - A user's change is settled when the cycle has seen both sides agree on
//     it, and only the very audit rows the cycle had read are marked (R2).
//   - A record is written only if it is still the version the cycle read (R3).
//   - Absence is a complete listing and a direct read, never a guess (R5).
//   - A mutating call is in the intent log before it is made (R6).
//   - Nothing is written that was decided by rules that do not hold any more (R19).
//   - What this engine wrote a moment ago is not undone by a stale read (R13).
package sync
