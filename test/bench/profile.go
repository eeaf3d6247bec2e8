package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
)

// profiled writes where the processor's time goes while f runs, and what was
// allocated until then, as profiles that `go tool pprof` reads; nothing without
// -profile.
func profiled(what string, n int, f func() error) error {
	if *profiles == "" {
		return f()
	}
	name := filepath.Join(*profiles, fmt.Sprintf("%s-%d", strings.ReplaceAll(what, " ", "-"), n))
	cpu, err := os.Create(name + ".cpu.pprof") // #nosec G304 -- named by who runs the bench
	if err != nil {
		return err
	}
	defer cpu.Close()
	if err := pprof.StartCPUProfile(cpu); err != nil {
		return err
	}
	err = f()
	pprof.StopCPUProfile()
	memory, createErr := os.Create(name + ".memory.pprof") // #nosec G304 -- as above
	if createErr != nil {
		return errors.Join(err, createErr)
	}
	runtime.GC() // the profile is as of the last collection
	return errors.Join(err, pprof.Lookup("allocs").WriteTo(memory, 0), memory.Close())
}
