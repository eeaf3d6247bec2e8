// Package postgres is the database side of the cycle: it implements
// [store.Store] on PostgreSQL, holds the leases under which cycles run, and
// opens the connections both need.
//
// Three promises of the cycle are kept here:
//
//   - What is read together is consistent: a subject's row, its pending change
//     and its state come from one REPEATABLE READ transaction.
//   - A record is written only if its row version (xmin; PostgreSQL manual,
//     section 5.5) is the one the decision was made on, and a row that a user's
//     open transaction holds is skipped, never waited for (R3).
//   - Every write checks the lease's fence in its own transaction (R15).
//
// All statements are set-based: their number does not grow with the number of
// records.
package postgres
