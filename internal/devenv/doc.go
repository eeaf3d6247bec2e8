// Package devenv runs everything the engine needs on one machine, without
// Docker and without touching what the machine already runs: a private
// PostgreSQL cluster ([StartPostgres]) and an AWS emulator ([StartMoto]).
//
// It promises:
//
//   - Nothing is reachable from other machines: both listen on 127.0.0.1 only,
//     and PostgreSQL asks for a password (scram-sha-256) on TCP and on its socket.
//   - A start is idempotent. What a data directory holds (databases, roles,
//     passwords) is found again by the next start.
//   - Children never outlive the program for long. They sit in process groups of
//     their own, so a ctrl-C at the terminal reaches the program alone, which
//     stops them in order. If the program is killed outright, Linux tells the
//     children (parent-death signal); where that is not to be had, the next
//     start on the same data directory stops the postmaster left behind.
//   - Every expected failure is an [*Error]: one line that names the thing and
//     says what to do, and a sentinel ([ErrPortTaken], …) to test for with
//     [errors.Is].
//
// The context given to a Start function bounds the start alone; the server runs
// until its Stop method is called.
package devenv
