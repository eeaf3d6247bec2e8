// Package watch tests, with the built binary and an emulator, what the engine does with
// events of the cloud: how soon a change is in the table and who made it, what a watched
// account costs, and what hostile messages do.
package watch
