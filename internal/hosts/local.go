package hosts

import (
	"context"
	"fmt"
	"path/filepath"

	"iasql/internal/hosts/runner"
	"iasql/internal/modules"
)

// local is a directory of this machine.
type local struct{ root, said string }

func openLocal(settings *Settings, roots []string) (session, error) {
	root := filepath.Clean(settings.Root)
	if !allowed(root, roots) {
		return nil, &modules.Error{Class: modules.Denied, Code: "RootNotAllowed",
			Message: fmt.Sprintf("host %s: this engine may not use the directory %s: start it with --host-root %s",
				settings.Name, clean(root), clean(root))}
	}
	l := &local{root: root, said: "directory " + root}
	err := l.do(context.Background(), &runner.Request{Verb: runner.Hello}, func(a runner.Answer) error {
		if a.Host != nil && a.Host.Machine != "" {
			l.said += " of machine " + a.Host.Machine
		}
		return nil
	})
	if err != nil {
		return nil, classify(settings.Name, runner.Hello, err)
	}
	return l, nil
}

func (l *local) who() string { return l.said }
func (l *local) alive() bool { return true }
func (l *local) close()      {}

// do implements [session]. A file system that hangs keeps only its request waiting.
func (l *local) do(ctx context.Context, request *runner.Request, each func(runner.Answer) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	answers, ended, left := make(chan runner.Answer), make(chan error, 1), make(chan struct{})
	defer close(left)
	go func() {
		ended <- runner.Do(l.root, request, func(a runner.Answer) error {
			select {
			case answers <- a:
				return nil
			case <-left:
				return errLost
			}
		})
	}()
	for {
		select {
		case a := <-answers:
			if a.Error != nil {
				return a.Error
			}
			if err := each(a); err != nil || !a.More {
				return err
			}
		case err := <-ended:
			if err == nil {
				err = errLost
			}
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
