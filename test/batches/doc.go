// Package batches tests the batch functions from the outside, in every way they
// can be called.
package batches
