// Package conformance puts every table of every module through what the
// contract asks of it, through the built binary: SQL on one side, the aws
// command on the other. What is particular to a table is its description
// ([Table]), in one small file per module; what is done with it is the same for
// all.
package conformance
