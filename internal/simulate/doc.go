// Package simulate runs the cycle of package iasql/internal/sync in a simulated
// world: a database and a cloud in memory, users and other people who change
// both at any moment, and every fault the design names. A world is made from a
// seed, runs as fast as the processor goes, and can be replayed and shrunk.
//
// [Run] makes the schedule of a seed, plays it, and returns the first
// violation of a rule of the design (R1…R37) as an error that holds a shrunk
// schedule.
//
//	schedule.go   what happens: a list of actions made from the seed
//	world.go      plays it, up to the fixpoint when faults have stopped
//	users.go      users' transactions, as the write triggers see them
//	batches.go    batches of sessions, and what they have staged; users_batches.go: what people do with them
//	declare.go    declarations of configurations, and records that end by themselves
//	database.go   the database, with the semantics of package postgres: what is read
//	write.go      what engines write to it
//	store.go      that database alone, as a store.Store; package storetest compares it
//	hints.go      what events of the cloud tell, and which come
//	cloud.go      an eventually consistent cloud, and its resources
//	request.go    objects that are made by requests, which go on after their answer
//	engine.go     that database in a world: counts, kills, delays and interleaves calls
//	checker.go    what must never be seen, after every write
//	fixpoint.go   what must be so in the end
//	shrink.go     the smallest schedule that still fails
package simulate
