package conformance

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// psql is the program psql, connected for as long as the test lives: it takes
// more time to start and to log in than most statements take.
type psql struct {
	lock     sync.Mutex
	in       io.WriteCloser
	out, err *bufio.Reader
	n        int // statements so far
}

func startPSQL(t *testing.T, url string) *psql {
	t.Helper()
	process := exec.Command("psql", "-X", "-At", "-v", "VERBOSITY=verbose", url)
	in, err := process.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := process.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = process.Wait()
	})
	return &psql{in: in, out: bufio.NewReader(out), err: bufio.NewReader(stderr)}
}

// run runs each statement by its own, as typed line by line, and returns what
// they print, columns separated by |. The first that fails is the last, and ends
// a transaction that is open.
func (p *psql) run(statements ...string) (string, error) {
	p.lock.Lock()
	defer p.lock.Unlock()
	var all strings.Builder
	for _, statement := range statements {
		out, said, err := p.statement(statement)
		all.WriteString(out)
		switch {
		case err != nil:
			return all.String(), err
		case said != "":
			_, _, err = p.statement("ROLLBACK")
			return all.String(), errors.Join(errors.New(said), err)
		}
	}
	return strings.TrimSpace(all.String()), nil
}

// statement runs one statement. It returns what psql has printed and, if the
// statement failed, said of it.
func (p *psql) statement(statement string) (out, said string, err error) {
	p.n++
	end := fmt.Sprintf("end of statement %d: ", p.n)
	// Both streams say where the answer ends.
	if _, err := fmt.Fprintf(p.in, "%s\n;\n\\echo '%s' :ERROR\n\\warn '%s' :ERROR\n",
		strings.TrimSuffix(strings.TrimSpace(statement), ";"), end, end); err != nil {
		return "", "", err
	}
	type answer struct {
		text, failed string
		err          error
	}
	until := func(r *bufio.Reader) (a answer) {
		var text strings.Builder
		for {
			line, err := r.ReadString('\n')
			if before, failed, found := strings.Cut(line, end); found || err != nil {
				return answer{text.String() + before, strings.TrimSpace(failed), err}
			}
			text.WriteString(line)
		}
	}
	errs := make(chan answer, 1)
	go func() { errs <- until(p.err) }()
	printed := until(p.out)
	complained := <-errs
	if err := errors.Join(printed.err, complained.err); err != nil {
		return printed.text, "", fmt.Errorf("psql ended: %w: %s", err, complained.text)
	}
	if printed.failed == "true" {
		said = strings.TrimSpace(complained.text)
	}
	return printed.text, said, nil
}
