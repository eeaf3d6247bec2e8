// Package sync is the cycle: it makes a cloud account and its tables equal.
package sync
