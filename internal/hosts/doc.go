// Package hosts is the world of hosts: machines that are reached by SSH, and directories of the engine's own machine.
// An account of this world is a host, a row of the table host. The engine decides; what runs on the host, [runner],
// does what it is asked.
//
// A host is who its SSH host key and its machine id say (R27). Nobody vouches for a key that is seen for the first
// time, so that nothing is read or changed until a person has confirmed it. There is one connection a host, kept, and
// made anew when it breaks; a host that answers with another key or machine id then is not used.
//
// What a host answers is not trusted: answers are bounded, what was not asked for is refused, and texts are shown with
// their control characters spelt out. A host that does not answer within a bound delays nobody else.
package hosts
