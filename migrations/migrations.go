// Package migrations holds the goose migrations of the platform's own tables:
// everything that is there before the first module is installed. Functions and
// views are not here but in package iasql/sql, because they are re-applied
// whenever their text changes.
package migrations

import "embed"

// FS holds the migrations.
//
//go:embed *.sql
var FS embed.FS
