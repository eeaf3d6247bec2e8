// Package store is the contract between the cycle and the database. PostgreSQL
// implements [Store] in package iasql/internal/postgres, and the simulated world of
// package iasql/internal/simulate in memory.
//
//	store.go    what a cycle asks of its store
//	lease.go    the right to run cycles of an account, and what it is given back with
//	hints.go    where events of the cloud say that something has changed
//	records.go  what is read and written: settings, matches, outcomes, pulls, settlements
package store
