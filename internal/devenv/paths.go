package devenv

import (
	"os"
	"os/exec"
	"path/filepath"
)

// DefaultDataDir is where the environment called name keeps its data: below
// /var/lib/iasql for root, because the unprivileged user that PostgreSQL then
// runs as could not reach a directory below root's home; else below
// $XDG_DATA_HOME/iasql or ~/.local/share/iasql.
func DefaultDataDir(name string) string {
	if os.Geteuid() == 0 {
		return filepath.Join("/var/lib/iasql", name)
	}
	base := os.Getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(base) { // the XDG specification: relative paths are to be ignored
		home, err := os.UserHomeDir()
		if err != nil {
			home = os.TempDir()
		}
		base = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(base, "iasql", name)
}

// FindTool finds a program that `make deps` provides: on PATH, else in the
// .venv/bin of the working directory, of the directory of the running binary,
// or of a directory above either. It fails with [ErrNoBinaries].
func FindTool(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return filepath.Abs(path)
	}
	var roots []string
	if dir, err := os.Getwd(); err == nil {
		roots = append(roots, dir)
	}
	if exe, err := os.Executable(); err == nil {
		if resolved, err := filepath.EvalSymlinks(exe); err == nil {
			exe = resolved
		}
		roots = append(roots, filepath.Dir(exe))
	}
	for _, dir := range roots {
		for {
			path := filepath.Join(dir, ".venv", "bin", name)
			if executable(path) {
				return path, nil
			}
			parent := filepath.Dir(dir)
			if parent == dir {
				break
			}
			dir = parent
		}
	}
	return "", failure(ErrNoBinaries, "%s not found (looked on PATH and in .venv/bin): run make deps", name)
}

func executable(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0
}
