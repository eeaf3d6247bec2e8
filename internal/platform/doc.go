// Package platform brings a database to the state this engine needs and keeps
// it there: roles and extensions, the platform's tables (goose), the job queue
// (River), the functions and views (re-applied when their text changes), and
// the modules' tables (installed, upgraded in place, uninstalled).
//
// Everything is idempotent, and safe to run by several engines at once.
package platform
