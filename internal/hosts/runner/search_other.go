//go:build !linux

package runner

import "golang.org/x/sys/unix"

// search opens a directory to look names up in it.
const search = unix.O_RDONLY
