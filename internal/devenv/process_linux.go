package devenv

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// setDeathSignal makes the kernel signal the child when the thread that forked
// it ends; see startProcess for why that thread lives as long as the child.
func setDeathSignal(attr *syscall.SysProcAttr, sig syscall.Signal) { attr.Pdeathsig = sig }

// isPostmasterOf tells whether process pid is a postgres whose working directory
// is the cluster: that is where every postmaster moves. known is false when the
// process cannot be looked into.
func isPostmasterOf(pid int, cluster string) (is, known bool) {
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return false, false
	}
	// Files are compared, not paths: there may be links and bind mounts.
	cwd, err := os.Stat(fmt.Sprintf("/proc/%d/cwd", pid))
	if err != nil {
		return false, false
	}
	dir, err := os.Stat(cluster)
	if err != nil {
		return false, false
	}
	// After an upgrade of the package the link reads "…/postgres (deleted)".
	name, _, _ := strings.Cut(filepath.Base(exe), " ")
	return name == "postgres" && os.SameFile(cwd, dir), true
}
