// Package cells knows several installations, each the database of a group of accounts, as one
// fleet. A cell is one such database with its engines. Cells share nothing and know nothing of
// each other; a small registry ([Registry]) has their names and where they are.
//
//	registry ── Add, Remove, Mark ──► iasql_cells.cell, iasql_cells.account
//	    │
//	    ├─ Look   asks every cell side by side, none for longer than a deadline
//	    ├─ Union  makes foreign tables of them (postgres_fdw), and a view over each table
//	    └─ Move   takes an account from one cell to another, with all that is known of it
//
// Nothing but Move writes to a cell, and no engine asks the registry for anything: if the registry is
// lost, each cell goes on.
package cells
