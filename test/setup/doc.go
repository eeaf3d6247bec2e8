// Package setup sets servers up by the letter of docs/operating.md: it runs the
// commands that stand there, line by line, each kind of server on a cluster of
// its own, and looks whether the page keeps its promises.
package setup
