// Package types tests resource types as tables: through SQL on one side, as users do,
// with the built engine, and a fake of Cloud Control on the other.
package types
