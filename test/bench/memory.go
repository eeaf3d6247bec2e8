package main

import (
	"bytes"
	"os"
	"runtime/debug"
	"strconv"
)

// resetResident begins a measurement of peakResident: what the garbage collector
// holds goes back to the system, and the high-water mark to where it is now
// (proc(5), /proc/pid/clear_refs).
func resetResident() {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}

// peakResident returns the most bytes of memory the process has had since
// resetResident; 0 where there is no /proc.
func peakResident() uint64 { return kilobytes("/proc/self/status", "VmHWM:") }

// kilobytes reads a line such as "VmRSS:  1234 kB", in bytes.
func kilobytes(file, name string) uint64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, []byte(name)); ok {
			fields := bytes.Fields(rest)
			n, err := strconv.ParseUint(string(fields[0]), 10, 64)
			if err == nil {
				return n << 10
			}
		}
	}
	return 0
}
