// Package likeness tests the engine against what AWS documents of time, refusals and
// failures, where the emulator answers at once.
package likeness
