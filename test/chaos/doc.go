// Package chaos runs the built engine, a PostgreSQL cluster of its own and the
// AWS emulator against everything that goes wrong in production at once, and
// checks afterwards that nothing was lost, doubled or deleted:
//
//   - engines of two versions run side by side and are killed with SIGKILL, at
//     random and at every step of the journal in turn (kill_test.go);
//   - PostgreSQL is restarted, in order and by crash, its connections are cut,
//     its disk is full for moments, its clock jumps by up to days (database_test.go);
//   - calls to AWS are throttled, refused, delayed, cut off before and after
//     their effect, and answered with what was true a moment ago (weather_test.go);
//   - beside the emulator there is a fake of Cloud Control, with ten resource types whose
//     objects are made, changed and deleted in their own time (things_test.go);
//   - SQL users (users_test.go) and somebody with AWS credentials (outsider_test.go) keep
//     editing throughout, and write down what they did;
//   - events tell of what is changed with AWS credentials: some are lost, some come twice, all
//     late, and somebody forges others (events_test.go);
//   - others of them edit in batches, whose sessions and commits break off, which are
//     committed, rolled back and undone while all of that goes on (batches_test.go); one of them
//     declares configurations, which delete what it leaves out;
//   - records expire, and rules end by themselves;
//   - with -likeness, AWS's likeness is in front of the emulator: things take time,
//     names stay taken, what was just made or changed is not seen everywhere;
//   - for a quarter of each minute users rest and AWS has no faults, so that full
//     cycles come to their ends; engines are killed at steps of the journal then, too;
//   - in the end the faults stop, and tables, cloud and those notes are compared
//     (check_test.go).
//
// It runs for a minute as part of the test suite, and for as long as asked by
// make chaos FOR=10m, behind the likeness with LIKENESS=60.
package chaos
