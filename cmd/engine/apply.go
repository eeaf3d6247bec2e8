package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/spf13/cobra"
)

// applied is what apply prints.
type applied struct {
	Configuration string `json:"configuration"`
	Revision      string `json:"revision,omitempty"`
	plan
	Outcome  string   `json:"outcome"` // previewed, committed
	Warnings []string `json:"warnings"`
}

// script is a file of SQL.
type script struct{ name, text string }

func applyCommand() *cobra.Command {
	var c batchCmd
	var preview, code, replace bool
	var revision, message, hash, onError string
	cmd := &cobra.Command{
		Use: "apply NAME FILE…", Short: "Declare files of SQL as a configuration.",
		Long: "Declare files of SQL as a configuration: run them, delete what the configuration had and they no " +
			"longer name, show the plan, and commit it.\nA file is a path, a folder with all its *.sql, in the order " +
			"of their names, or - for standard input. The database is a user's login, with whose rights all is " +
			"done.\n\nIt ends with 0 if all is as the files say, and else with\n" +
			"  1  it failed, and says why: nothing is left of it, unless it says so\n" +
			"  2  --preview --exit-code: there is something to do\n" +
			"  3  it is committed but for what failed (--on-error keep)\n" +
			"  5  it is not the plan of --preview-hash, or approvals are missing: nothing was changed",
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			scripts, err := readScripts(args[1:], cmd.InOrStdin())
			if err != nil {
				return err
			}
			if !cmd.Flags().Changed("revision") {
				revision = revisionOf(cmd.Context(), args[1:])
			}
			c.out = cmd.OutOrStdout()
			if err := c.connect(cmd.Context(), cmd.ErrOrStderr()); err != nil {
				return err
			}
			defer c.conn.Close(context.WithoutCancel(cmd.Context()))
			a := &applied{Configuration: args[0], Revision: revision, Warnings: []string{}, Outcome: "committed"}
			if preview {
				a.Outcome = "previewed"
			}
			if replace {
				if err := c.rollBackDeclaration(cmd.Context(), a.Configuration); err != nil {
					return explained(err)
				}
			}
			err = c.declareScripts(cmd.Context(), a, scripts)
			if err == nil && !c.JSON {
				err = a.write(c.out)
			}
			switch {
			case err != nil:
			case hash != "" && hash != a.Hash:
				err = &exitError{exitNotAllowed, fmt.Errorf("the plan of %s is not the one of --preview-hash: it has "+
					"the hash %s. Nothing was changed", a.Configuration, a.Hash)}
			case !preview:
				err = c.commitApplied(cmd.Context(), message, hash != "", onError)
			}
			if preview || err != nil {
				err = errors.Join(err, c.rollBackOpen(context.WithoutCancel(cmd.Context())))
			}
			if err != nil {
				return explained(err)
			}
			a.Warnings = append(a.Warnings, c.warnings...)
			err = c.print(a, func() error {
				_, err := fmt.Fprintf(c.out, "configuration %s: %s\n", printable(a.Configuration), a.Outcome)
				return err
			})
			switch {
			case err != nil:
				return err
			case preview && code && len(a.Changes) > 0:
				return &exitError{exitDiffers, fmt.Errorf("%d changes", len(a.Changes))}
			case !preview && len(c.warnings) > 0:
				return &exitError{exitKept, fmt.Errorf("committed, but for %d records: %s", len(c.warnings),
					strings.Join(c.warnings, "; "))}
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	c.declare(flags)
	flags.BoolVar(&preview, "preview", false, "Print the plan, and change nothing.")
	flags.BoolVar(&code, "exit-code", false, "With --preview: end with 2 if there is something to do.")
	flags.StringVar(&hash, "preview-hash", "", "Change nothing unless the plan has this `hash`, as --preview printed "+
		"it. A plan that was looked at may delete more than max_deletes.")
	flags.StringVar(&revision, "revision", "", "Which `state` of a repository the files are; of files in a Git "+
		"repository its commit, with -dirty if they have changed since.")
	flags.StringVar(&message, "message", "", "Why it is done; kept in the audit log.")
	flags.Var(newOneOf(&onError, "rollback", "keep"), "on-error",
		"What becomes of the rest if something fails for good.")
	flags.BoolVar(&replace, "replace", false,
		"Roll back first what is still open of another declaration of NAME, such "+
			"as one that was cut off.")
	flags.BoolVar(&c.JSON, "json", false, "Print JSON.")
	return cmd
}

// readScripts reads the files that arguments name.
func readScripts(args []string, stdin io.Reader) (scripts []script, err error) {
	for _, arg := range args {
		if arg == "-" {
			text, err := io.ReadAll(stdin)
			if err != nil {
				return nil, fmt.Errorf("read standard input: %w", err)
			}
			scripts = append(scripts, script{"standard input", string(text)})
			continue
		}
		found := 0
		err := filepath.WalkDir(arg, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || path != arg && filepath.Ext(path) != ".sql" {
				return err
			}
			text, err := os.ReadFile(path) // #nosec G304 -- the user's own
			scripts = append(scripts, script{path, string(text)})
			found++
			return err
		})
		if err != nil {
			return nil, err
		}
		if found == 0 {
			return nil, fmt.Errorf("%s has no file *.sql. To take a configuration away with all that it has, delete "+
				"its row: DELETE FROM iasql_configurations WHERE name = '…'", arg)
		}
	}
	return scripts, nil
}

// revisionOf returns the commit of the repository that the files are in, "" if they are in
// none that git knows.
func revisionOf(ctx context.Context, args []string) string {
	dir := args[0]
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		dir = filepath.Dir(dir)
	}
	git := func(args ...string) (string, error) {
		out, err := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...).Output() // #nosec G204
		return strings.TrimSpace(string(out)), err
	}
	commit, err := git("rev-parse", "HEAD")
	if err != nil || args[0] == "-" {
		return ""
	}
	paths := make([]string, 0, len(args))
	for _, arg := range args {
		if path, err := filepath.Abs(arg); err == nil && arg != "-" {
			paths = append(paths, path)
		}
	}
	if changed, err := git(append([]string{"status", "--porcelain", "--"}, paths...)...); err != nil || changed != "" {
		commit += "-dirty"
	}
	return commit
}

// declareScripts runs the scripts as the whole of a configuration, in a batch, and looks what
// committing that would do.
func (c *batchCmd) declareScripts(ctx context.Context, a *applied, scripts []script) error {
	if _, err := c.conn.Exec(ctx, `CALL public.iasql_begin($1)`, "configuration "+a.Configuration); err != nil {
		return err
	}
	if _, err := c.conn.Exec(ctx, `CALL public.iasql_declare($1, $2)`, a.Configuration, a.Revision); err != nil {
		return err
	}
	// As psql would be, and not as the rest of the engine.
	if _, err := c.conn.Exec(ctx, `RESET search_path`); err != nil {
		return err
	}
	for _, s := range scripts {
		if _, err := c.conn.PgConn().Exec(ctx, s.text).ReadAll(); err != nil {
			return s.explain(err)
		}
		if c.conn.PgConn().TxStatus() != 'I' {
			return fmt.Errorf("%s begins a transaction and does not end it", s.name)
		}
		var goesOn bool
		if err := c.conn.QueryRow(ctx, `SELECT iasql_internal.open_declaration() IS NOT NULL`).Scan(&goesOn); err != nil {
			return err
		}
		if !goesOn {
			return fmt.Errorf("%s has ended the declaration that it is part of: leave out iasql_declared(), "+
				"iasql_commit() and iasql_rollback()", s.name)
		}
	}
	if err := c.pinSearchPath(ctx); err != nil {
		return err
	}
	var batch int64
	if err := c.conn.QueryRow(ctx, `SELECT iasql_internal.session_batch()`).Scan(&batch); err != nil {
		return err
	}
	if _, err := c.conn.Exec(ctx, `CALL public.iasql_declared()`); err != nil {
		return err
	}
	p, err := c.preview(ctx, fmt.Sprint(batch))
	if err != nil {
		return err
	}
	a.plan, c.reviewed = *p, p.Hash
	a.Hash, err = p.contentHash()
	return err
}

// contentHash returns a hash of what a plan does. The numbers of the records that are
// inserted are not part of it: each run of the files gives them others.
func (p *plan) contentHash() (string, error) {
	changes := slices.Clone(p.Changes)
	for i := range changes {
		if ch := &changes[i]; ch.Action == "create" && ch.Direction == "push" {
			ch.ID = nil
		}
	}
	lines := make([]string, len(changes))
	for i, ch := range changes {
		line, err := json.Marshal(ch)
		if err != nil {
			return "", err
		}
		lines[i] = string(line)
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:]), nil
}

// explain says where in the script an error is.
func (s script) explain(err error) error {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	at := s.name
	if pg.Position > 0 {
		before := []rune(s.text)
		before = before[:min(len(before), int(pg.Position)-1)]
		at = fmt.Sprintf("%s:%d", s.name, strings.Count(string(before), "\n")+1)
	}
	text := fmt.Sprintf("%s: %s: %s", at, pg.Code, pg.Message)
	for _, more := range []string{pg.Detail, pg.Hint} {
		if more != "" {
			text += " (" + more + ")"
		}
	}
	return &exitError{exitFailed, errors.New(text)}
}

// commitApplied commits the batch that the session works in. reviewed: its plan has been
// looked at.
func (c *batchCmd) commitApplied(ctx context.Context, message string, reviewed bool, onError string) error {
	hash := ""
	if reviewed {
		hash = c.reviewed
	}
	c.warnings = nil
	_, err := c.conn.Exec(ctx, `CALL public.iasql_commit(nullif($1, ''), nullif($2, ''), $3)`, message, hash, onError)
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "IA025" { // the guard
		pg.Hint = "Look at the plan with --preview; if it is meant, give its hash to --preview-hash."
	}
	return err
}

// rollBackOpen rolls back the batch that the session works in, unless it is closed or the
// engine is at it.
func (c *batchCmd) rollBackOpen(ctx context.Context) error {
	if c.conn.PgConn().TxStatus() != 'I' {
		if _, err := c.conn.Exec(ctx, `ROLLBACK`); err != nil {
			return err
		}
	}
	if err := c.pinSearchPath(ctx); err != nil {
		return err
	}
	var open bool
	if err := c.conn.QueryRow(ctx, `SELECT iasql_internal.session_batch() IS NOT NULL AND EXISTS (
		SELECT FROM public.iasql_batches b WHERE b.id = iasql_internal.session_batch() AND b.phase = 'open')`).Scan(&open); err != nil || !open {
		return err
	}
	_, err := c.conn.Exec(ctx, `CALL public.iasql_rollback()`)
	return err
}

// rollBackDeclaration rolls back the batch in which a configuration is being declared.
func (c *batchCmd) rollBackDeclaration(ctx context.Context, name string) error {
	var batch *int64
	err := c.conn.QueryRow(ctx, `SELECT max(declaring) FROM public.iasql_configurations WHERE name = $1`,
		name).Scan(&batch)
	if err != nil || batch == nil {
		return err
	}
	if _, err := c.conn.Exec(ctx, `CALL public.iasql_join($1)`, fmt.Sprint(*batch)); err != nil {
		return err
	}
	_, err = c.conn.Exec(ctx, `CALL public.iasql_rollback(true)`)
	return err
}

// write prints the plan.
func (a *applied) write(out io.Writer) error {
	if len(a.Changes) > 0 {
		return a.plan.write(out)
	}
	_, err := fmt.Fprintf(out, "nothing to do\nhash %s\n", a.Hash)
	return err
}
