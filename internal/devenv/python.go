package devenv

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// PythonProgram returns the Python that a program runs with, which its first line names, and the program itself. The
// two differ from what was asked for where a program is a stand-in of pyenv for one of several installations. A
// program that is not written in Python is an error.
func PythonProgram(path string) (interpreter, program string, err error) {
	text, err := os.ReadFile(path) // #nosec G304 -- a program that is to be run
	if err != nil {
		return "", "", err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	command := strings.Fields(strings.TrimPrefix(first, "#!"))
	if strings.HasPrefix(first, "#!") && len(command) > 0 {
		named := command[len(command)-1]
		if strings.HasPrefix(filepath.Base(named), "python") && len(command) <= 2 {
			interpreter, err = exec.LookPath(named)
			return interpreter, path, err
		}
	}
	behind, err := exec.Command("pyenv", "which",
		filepath.Base(path)).Output() // #nosec G204 -- the same program's name
	if actual := strings.TrimSpace(string(behind)); err == nil && actual != path {
		return PythonProgram(actual)
	}
	return "", "", fmt.Errorf("%s is no program in Python: make deps installs one", path)
}
