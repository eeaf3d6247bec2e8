// Package aws holds what every AWS module shares: the clients and the rules
// their calls obey, and the words in which AWS resources are described.
//
// [New] returns the [Clients] of all accounts. A module asks them for a service
// client of a scope ([Clients.EC2], or [Client] for services this package does
// not name) and calls the SDK as usual. Every client carries one stack of
// middleware, which promises, whoever writes the module:
//
//   - Every error is or wraps a [modules.Error] with a class, the API's own
//     code, and a message of one line without secrets.
//   - An operation that is not known to be a read needs a [modules.Permit]
//     ([Clients.Permitted]): it is journaled once, before its first attempt, and
//     refused where there is none.
//   - A read is attempted several times. A mutation is attempted again only
//     after proof that nothing happened: a throttling answer, or a connection
//     that was never made. All else is [modules.MayHaveHappened], for the
//     engine to look for the effect.
//   - Calls are limited per account, region, service and action, by a rate that
//     halves when AWS throttles and recovers by itself, and per account by a
//     bound on calls at the same time.
//
// Nothing runs in the background: idle clients have no goroutines beyond those
// of kept-alive connections, which end by themselves.
package aws
