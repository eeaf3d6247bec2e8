// Package sql holds the SQL that is re-applied whenever its text changes:
// internal functions, the user-facing functions (one file each) and the views,
// in that order, then the grants. Tables are in package iasql/migrations.
package sql

import "embed"

// FS holds the files: bootstrap.sql, the folders internal, functions and views, and
// grants.sql.
//
//go:embed bootstrap.sql internal/*.sql functions/*.sql views/*.sql grants.sql
var FS embed.FS
