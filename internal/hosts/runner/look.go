package runner

import (
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Machine is what the runner sees of the machine that it runs on, whatever its root.
type Machine struct {
	User  int       `json:"user"` // by whose rights the runner works, 0 being root
	Clock time.Time `json:"clock"`
	// Free is how many bytes whoever runs the runner may still write to where it lies; -1: that is not known.
	Free int64 `json:"free"`
	// There are those of the paths which were asked for that there are, through symbolic links.
	There []string `json:"there,omitempty"`
}

func look(paths []string) *Machine {
	m := &Machine{User: os.Geteuid(), Clock: time.Now(), Free: -1}
	var st unix.Statfs_t
	if at, err := os.Executable(); err == nil && unix.Statfs(filepath.Dir(at), &st) == nil {
		m.Free = int64(st.Bavail) * int64(st.Bsize) // #nosec G115 -- no file system has more
	}
	for _, path := range paths {
		if _, err := os.Stat(path); err == nil {
			m.There = append(m.There, path)
		}
	}
	return m
}
