// Package doctor examines an AWS account and a database before an engine works
// with them. It reads and changes nothing.
//
// [Run] makes a [Report]. The report says who the engine would be, how far the
// clocks are apart, which regions and modules can be read, which permissions lack,
// what a full cycle costs, which objects do not fit the tables, and what is wrong
// with the database. AWS and the database are examined each without the other,
// too. What is of another world gives its own checks (see [World]).
//
// What can be judged without asking anybody is in functions that take values and
// return values: [misfitsOf], [judgeCron], [judgeConnections] and the like.
//
// A report may be attached to a bug. It has no values of objects: it tells their
// shape (see shapeOf), and names a value only where that is a word of AWS's own
// vocabulary that a column does not know. Of the account it shows the last four
// digits. Messages of AWS are left out, but for what [said] knows of them.
//
// Nothing can be changed by mistake: the clients have no permit, without which every
// call is refused that is not known to be a read (see [modules.Permit]). The database is read in a read-only session.
package doctor
