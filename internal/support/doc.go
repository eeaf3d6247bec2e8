// Package support gathers what a maintainer would ask for when something is wrong with
// an installation: its versions, settings, states, last errors, queues, locks and
// sizes, each a part that is read by itself, read only and within a time limit. A part
// that cannot be read is there as the reason.
//
// What it gathers may be given away (R16). It says of each column that it reads what
// that is, and so what becomes of it:
//
//   - Plain is what the product itself has made: numbers, times, states, names of its
//     functions.
//   - Account, Role, Host, Table and Name are names that people have given. A pseudonym
//     stands for each, which is the same in every bundle of an installation, so that two
//     can be compared, and which nobody undoes who does not know the installation's id.
//     Tables that the product brings keep their names.
//   - Text is free text, such as an error of the cloud. Words stay that the product's own
//     documentation and SQL have, and the codes of errors at the place where they stand.
//     What is quoted, and every other word and number, is left out.
//
// No part reads a column of a record, a statement of a session, or a secret.
package support
