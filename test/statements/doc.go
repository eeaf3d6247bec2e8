// Package statements does what a newcomer does: it starts the demo, with all regions of its
// account, opens the documentation, and types every statement that is there.
package statements
