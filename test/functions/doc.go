// Package functions tests the functions of modules through SQL, as users call
// them, against the built engine and the AWS emulator.
package functions
