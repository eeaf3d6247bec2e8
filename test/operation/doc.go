// Package operation looks at a running engine as its operators do: by its log and
// by its traces.
package operation
