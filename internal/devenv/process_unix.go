//go:build unix && !linux

package devenv

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// setDeathSignal does nothing: only Linux has a parent-death signal. What is
// left behind by a killed program is stopped by the next start.
func setDeathSignal(*syscall.SysProcAttr, syscall.Signal) {}

// isPostmasterOf tells whether process pid is a postgres started on the cluster,
// by its command line. known is false when the process cannot be looked into.
func isPostmasterOf(pid int, cluster string) (is, known bool) {
	out, err := exec.Command("ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return false, false
	}
	command := string(out) + " "
	return strings.Contains(command, "postgres") && strings.Contains(command, " -D "+cluster+" "), true
}
