// Package decide holds the pure decisions of the cycle: values in, values out. It
// reads no clock, talks to no database and no cloud, and imports no driver, so that
// millions of cases a minute can be tested.
//
// A [Subject] is all that both sides know about one identity. [Decide] says what to
// do about it, [NewPlan] puts the operations of many decisions in order,
// [Plan.Guard] stops a plan that deletes too much, and the functions of outcome.go
// say what to remember of a record when something did not go well.
//
// # The files, in the order in which a decision passes them
//
//	decide.go    a subject: is the record there, is the object there?
//	columns.go   both are: column by column
//	compare.go   one column: the table of docs/design.md, §3
//	plan.go      many decisions: which operation comes after which
//	guard.go     a plan: does it delete too much? (R7)
//	outcome.go   what was tried: what to remember of the record, when to try again
//
// Each of the others has one notion that those share:
//
//	cascade.go   an owned dependent goes along with its owner
//	dangling.go  a dangling reference names what has no record, or soon has none
//	intent.go    the intent log: the calls that this engine has made, or may have
//	binding.go   a record is bound to the object that stands for it
//	decision.go  the decision and its parts
//	subject.go   the subject and its parts
//
// Calls run forward in this order only.
package decide
