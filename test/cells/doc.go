// Package cells has several installations, each with an engine and an account of its own, known to
// one registry and read as one.
package cells
