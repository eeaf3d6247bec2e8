// Package contract tests the SQL contract line by line, as its users meet it:
// through psql, as a plain member of iasql_user, with an engine running. Batches
// have a package of their own, test/batches, and so have modes, test/modes.
package contract
