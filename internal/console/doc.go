// Package console is a window onto an installation: pages made on the server
// that show records, batches and what is happening, and that offer what SQL
// offers.
//
// Who signs in is a role of PostgreSQL. Every query of a page runs on a
// connection of that role, so that grants and row-level security hold by
// themselves (R20). The console has no users and no rights of its own,
// and it never asks the engine's connections on somebody's behalf.
//
// A page reads in a transaction that is READ ONLY. A button runs one statement,
// which it shows before it does; see [statement]. What a visitor types himself runs
// on a connection of its own; see [sqlRun].
//
// The pages are made with gomponents and not with html/template: that calls
// methods by name, and a linker that sees it keeps every exported method of
// every type. With the SDKs of all services the binary more than doubles
// (85 MB to 196 MB). In gomponents text and attributes are escaped too, unless
// Raw is used, which this package does not.
package console
