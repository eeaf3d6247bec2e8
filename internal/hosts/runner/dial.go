package runner

import (
	"fmt"
	"io"
	"net"
	"strings"
)

// Dialled is the line with which [Dial] says that it has connected.
const Dialled = "iasql-runner dialled"

// Dial connects its input and output to a socket of the host, for whoever may not open that by the login's own rights.
// First it says that it has, or why it could not.
func Dial(in io.Reader, out io.WriteCloser, socket string) error {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		text := strings.ReplaceAll(err.Error(), "\n", " ")
		_, _ = fmt.Fprintln(out, "iasql-runner refused "+text)
		return err
	}
	if _, err := fmt.Fprintln(out, Dialled); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(conn, in)
		_ = conn.(*net.UnixConn).CloseWrite() // nothing more is asked
	}()
	_, err = io.Copy(out, conn)
	return err
}
