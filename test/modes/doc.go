// Package modes tests from the outside who wins: modes, conflicts, overlapping
// edits, failed calls, and the states records go through.
package modes
