// Package platform brings a database to the state this engine needs and keeps
// it there: roles and extensions, the platform's tables (goose), the job queue
// (River), the functions and views (re-applied when their text changes), and
// the modules' tables (installed, upgraded in place, uninstalled).
//
// What takes an administrator is in [Bootstrap]; everything else a plain login
// does that is a member of iasql_engine. Every session has its search path pinned.
//
// Everything is idempotent, and safe to run by several engines at once.
package platform
