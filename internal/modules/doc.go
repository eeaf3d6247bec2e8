// Package modules is the contract between the engine and the things it
// manages.
//
// A [Module] is a named, versioned set of resources. A [Resource] says what
// one table looks like (its [Table], the description) and how its objects are
// listed, read, created, updated and deleted in the cloud. The engine knows a
// table by its description alone: never by a Go type and never by AWS. The
// description is the single source of the table's DDL (see [Table.DDL]), of
// the flags the write triggers enforce, of the decisions of the cycle and of
// the generated documentation.
//
// Rows travel in one of two vocabularies:
//
//   - In cloud terms, which is what a Resource gives and takes: a column that
//     references another table holds the cloud's name for the referenced
//     object (subnet.vpc_id is "vpc-0a1b").
//   - In database terms, which is what the tables hold: the same column holds
//     the referenced record's id (subnet.vpc_id is 7).
//
// The engine translates between the two; a resource never sees a record id.
//
// What a read is asked stands in its request ([ListRequest], [GetRequest]), and what it
// shows in observations ([Observation]): the object's row, its phase, and who says that it
// is not to be destroyed.
//
// Every mutating call must go through [Mutate], which journals it before it is
// sent and refuses it outright where the engine has not permitted mutations.
// Transports (see package iasql/internal/aws) call it, so that a module cannot
// forget to.
package modules
