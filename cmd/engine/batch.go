package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/spf13/cobra"

	"iasql/internal/platform"
	"iasql/internal/postgres"
)

// The exit codes of the batch commands, besides 0.
const (
	exitFailed     = 1 // or it could not be tried
	exitDiffers    = 2 // preview --exit-code: there is something to do
	exitKept       = 3 // committed, but for what failed (--on-error keep)
	exitGoesOn     = 4 // not ended in time
	exitNotAllowed = 5 // another plan than the one that was previewed, or approvals are missing; nothing was changed
)

// exitError ends the process with a code of its own.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// exitCode returns the code that an error ends the process with.
func exitCode(err error) int {
	var exit *exitError
	if errors.As(err, &exit) {
		return exit.code
	}
	return 1
}

// batchCmd is what the commands about batches share.
type batchCmd struct {
	databaseFlag
	JSON bool

	conn     *pgx.Conn
	out      io.Writer
	warnings []string
	reviewed string // the database's hash of the plan that apply has made
}

func batchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "batch", Short: "Look at batches, and commit or roll them back, from scripts and pipelines.",
		Long: "Look at batches, and commit or roll them back, from scripts and pipelines.\n" +
			"The database is a user's login, with whose rights all is done. A batch is named by its name or " +
			"number.\n\nThese commands end with 0 if all is as asked, and else with\n" +
			"  1  it failed, and says why: of a commit that failed nothing is left, unless it says so\n" +
			"  2  preview --exit-code: there is something to do\n" +
			"  3  it is committed but for what failed (commit --on-error keep)\n" +
			"  4  it has not ended in time, and goes on\n" +
			"  5  it is not the plan that was previewed, or approvals are missing: nothing was changed",
	}
	cmd.AddCommand(batchStatusCommand(), batchPreviewCommand(), batchCommitCommand(), batchWaitCommand(),
		batchRollbackCommand())
	return cmd
}

// command makes a subcommand of a batch command. named: how many names it takes at
// least; at most one.
func (c *batchCmd) command(name, short string, named int,
	run func(ctx context.Context, batch string) error) *cobra.Command {
	use, args := name+" BATCH", cobra.ExactArgs(1)
	if named == 0 {
		use, args = name+" [BATCH]", cobra.MaximumNArgs(1)
	}
	cmd := &cobra.Command{Use: use, Short: short, Args: args, RunE: func(cmd *cobra.Command, args []string) error {
		c.out = cmd.OutOrStdout()
		if err := c.connect(cmd.Context(), cmd.ErrOrStderr()); err != nil {
			return err
		}
		defer c.conn.Close(context.WithoutCancel(cmd.Context()))
		return explained(run(cmd.Context(), strings.Join(args, "")))
	}}
	flags := cmd.Flags()
	flags.SortFlags = false
	c.declare(flags)
	flags.BoolVar(&c.JSON, "json", false, "Print JSON.")
	return cmd
}

// connect has what the database says meanwhile printed, and a command that is
// interrupted cancelled there: whoever just hung up would not be told what becomes of
// the batch.
func (c *batchCmd) connect(ctx context.Context, say io.Writer) error {
	config, err := pgx.ParseConfig(c.DatabaseURL)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		fmt.Fprintf(say, "%s: %s\n", strings.ToLower(n.Severity), printable(n.Message))
		if n.Severity == "WARNING" {
			c.warnings = append(c.warnings, n.Message)
		}
	}
	config.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, DeadlineDelay: 10 * time.Second}
	}
	if c.conn, err = pgx.ConnectConfig(ctx, config); err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	return c.pinSearchPath(ctx)
}

func (c *batchCmd) pinSearchPath(ctx context.Context) error {
	_, err := c.conn.Exec(ctx, postgres.PinSearchPath)
	return err
}

// explained adds the hint of an error of the database, and says with which code it
// ends.
func explained(err error) error {
	var user *platform.UserError
	if errors.As(err, &user) {
		return fmt.Errorf("%s: %w (%s)", user.Code, err, user.Hint)
	}
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return err
	}
	text := pg.Message
	if pg.Hint != "" {
		text += " (" + pg.Hint + ")"
	}
	code := exitFailed
	if pg.Code == "IA023" || pg.Code == "IA027" {
		code = exitNotAllowed
	}
	return &exitError{code, fmt.Errorf("%s: %s", pg.Code, text)}
}

func (c *batchCmd) print(value any, text func() error) error {
	if !c.JSON {
		return text()
	}
	enc := json.NewEncoder(c.out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(value)
}

// batch is a row of iasql_batches, with that of iasql_progress.
type batch struct {
	ID        int64     `json:"id"`
	Name      *string   `json:"name"`
	Owner     string    `json:"owner"`
	Session   *string   `json:"session"`
	Since     time.Time `json:"since"`
	Records   int64     `json:"records"`
	Phase     string    `json:"phase"`
	Outcome   *string   `json:"outcome"`
	Abandoned bool      `json:"abandoned"`
	Done      *int64    `json:"done"`
	Retrying  *int64    `json:"retrying"`
	Carried   *int64    `json:"carried_out"`
	Message   *string   `json:"message"`
}

const batchQuery = `
	SELECT b.id, b.name, b.owner, b.session, b.since, b.records, b.phase, b.outcome, b.abandoned, p.done, p.retrying, p.carried_out, p.message
	FROM public.iasql_batches b LEFT JOIN public.iasql_progress p USING (id) `

func (b *batch) called() string {
	if b.Name != nil {
		return fmt.Sprintf("%d (%s)", b.ID, printable(*b.Name))
	}
	return fmt.Sprint(b.ID)
}

// state says in a few words where a batch is.
func (b *batch) state() string {
	text := b.Phase
	switch {
	case b.Outcome != nil:
		text = *b.Outcome
	case b.Abandoned:
		text += ", abandoned"
	}
	if b.Done != nil {
		text += fmt.Sprintf(", %d of %d done", *b.Done, b.Records)
	}
	if b.Carried != nil && *b.Carried > *b.Done {
		text += fmt.Sprintf(", %d carried out and not yet confirmed", *b.Carried-*b.Done)
	}
	if b.Retrying != nil && *b.Retrying > 0 {
		text += fmt.Sprintf(", %d retrying", *b.Retrying)
	}
	if b.Message != nil {
		text += ": " + printable(*b.Message)
	}
	return text
}

// batches returns the batch of that name or number, the newest if there were several;
// without one all that are open, and those of the last days.
func (c *batchCmd) batches(ctx context.Context, name string) ([]batch, error) {
	condition, args := `ORDER BY b.outcome IS NOT NULL, b.since DESC LIMIT 100`, []any{}
	if name != "" {
		condition, args = `WHERE b.name = $1 OR b.id::text = $1 ORDER BY b.outcome IS NOT NULL, b.since DESC LIMIT 1`,
			[]any{name}
	}
	rows, err := c.conn.Query(ctx, batchQuery+condition, args...)
	if err != nil {
		return nil, err
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[batch])
	if err == nil && name != "" && len(list) == 0 {
		return nil, fmt.Errorf("there is no batch called %s, open or of the last seven days (engine batch status "+
			"lists them)", name)
	}
	return list, err
}

func batchStatusCommand() *cobra.Command {
	var c batchCmd
	return c.command("status", "Say where a batch is; without one, list those that are open and those of the last "+
		"seven days.", 0, func(ctx context.Context, name string) error {
		list, err := c.batches(ctx, name)
		if err != nil {
			return err
		}
		return c.print(list, func() error {
			for _, b := range list {
				fmt.Fprintf(c.out, "%s\t%s\t%d records\t%s\n", b.called(), printable(b.Owner), b.Records, b.state())
			}
			return nil
		})
	})
}

// change is a row of iasql_preview.
type change struct {
	Action      string          `json:"action"`
	Direction   string          `json:"direction"`
	Table       string          `json:"table"`
	ID          *int64          `json:"id"`
	Description *string         `json:"description"`
	Changes     json.RawMessage `json:"changes"`
	Reason      *string         `json:"reason"`
}

type plan struct {
	Batch   int64      `json:"batch"`
	Hash    string     `json:"hash"`
	Changes []change   `json:"changes"`
	Costs   *planCosts `json:"costs,omitempty"` // nil: nobody has said a price
}

// planCosts is what a plan changes in a month's costs.
type planCosts struct {
	Difference json.Number `json:"difference"` // the sum of what is known
	Currency   string      `json:"currency"`
	Unknown    int         `json:"unknown"` // of how many changes it is not known
}

func batchPreviewCommand() *cobra.Command {
	var c batchCmd
	var code bool
	cmd := c.command("preview", "Print what committing a batch would do, and the hash of that.", 1,
		func(ctx context.Context, name string) error {
			p, err := c.preview(ctx, name)
			if err != nil {
				return err
			}
			if err := c.print(p, func() error { return p.write(c.out) }); err != nil {
				return err
			}
			if code && len(p.Changes) > 0 {
				return &exitError{exitDiffers, fmt.Errorf("%d changes", len(p.Changes))}
			}
			return nil
		})
	cmd.Flags().BoolVar(&code, "exit-code", false, "End with 2 if there is something to do.")
	return cmd
}

// preview reads hash and plan; they are of one moment if the hash is the same before
// and after.
func (c *batchCmd) preview(ctx context.Context, name string) (*plan, error) {
	list, err := c.batches(ctx, name)
	if err != nil {
		return nil, err
	}
	if _, err := c.conn.Exec(ctx, `CALL public.iasql_join($1)`, name); err != nil {
		return nil, err
	}
	p := &plan{Batch: list[0].ID}
	for range 5 {
		if err := c.conn.QueryRow(ctx, `SELECT public.iasql_preview_hash()`).Scan(&p.Hash); err != nil {
			return nil, err
		}
		rows, err := c.conn.Query(ctx,
			`SELECT action, direction, table_name, id, description, changes, reason FROM public.iasql_preview()`)
		if err != nil {
			return nil, err
		}
		if p.Changes, err = pgx.CollectRows(rows, pgx.RowToStructByPos[change]); err != nil {
			return nil, err
		}
		if p.Costs, err = c.previewCosts(ctx); err != nil {
			return nil, err
		}
		var after string
		if err := c.conn.QueryRow(ctx, `SELECT public.iasql_preview_hash()`).Scan(&after); err != nil ||
			after == p.Hash {
			return p, err
		}
	}
	return nil, errors.New("the plan changes faster than it can be read: somebody is editing in the batch, or in " +
		"the cloud")
}

// previewCosts returns what the plan changes in a month's costs; nil if nobody has said a price.
func (c *batchCmd) previewCosts(ctx context.Context) (*planCosts, error) {
	var priced bool
	if err := c.conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM public.iasql_prices) OR EXISTS (SELECT FROM public.iasql_bills)`).
		Scan(&priced); err != nil || !priced {
		return nil, err
	}
	var costs planCosts
	var difference string
	err := c.conn.QueryRow(ctx, `
		SELECT round(coalesce(sum(difference), 0), 2)::text, count(*) - count(difference), (SELECT currency FROM public.iasql_prices UNION ALL SELECT currency FROM public.iasql_bills LIMIT 1)
		FROM public.iasql_preview_costs()`).Scan(&difference, &costs.Unknown, &costs.Currency)
	costs.Difference = json.Number(difference)
	return &costs, err
}

// text says it in a line.
func (c *planCosts) text() string {
	difference := c.Difference.String()
	if !strings.HasPrefix(difference, "-") {
		difference = "+" + difference
	}
	text := fmt.Sprintf("%s %s a month", difference, c.Currency)
	if c.Unknown > 0 {
		text += fmt.Sprintf(", and what is not known of %d of the changes (SELECT * FROM iasql_preview_costs() "+
			"says why)", c.Unknown)
	}
	return text
}

// marks are what a plan has at the beginning of its lines.
var marks = map[string]string{"create": "+", "update": "~", "replace": "±", "delete": "-"}

func (p *plan) write(out io.Writer) error {
	counts := map[string]int{}
	for _, ch := range p.Changes {
		what := ch.Table
		if ch.Description != nil && *ch.Description != "" {
			what = *ch.Description
		} else if ch.ID != nil {
			what += fmt.Sprint(" ", *ch.ID)
		}
		about := ""
		if ch.Direction != "push" {
			about = " (" + ch.Direction + ")"
		}
		if !strings.HasPrefix(what, ch.Action+" ") { // a description begins with it
			what = ch.Action + " " + what
		}
		fmt.Fprintf(out, "%s %s%s\n", marks[ch.Action], printable(what), about)
		// it may say who has changed it in the cloud
		if ch.Reason != nil && (ch.Direction != "push" || ch.Action == "delete") {
			fmt.Fprintf(out, "    %s\n", printable(*ch.Reason))
		}
		var columns map[string]map[string]any
		if json.Unmarshal(ch.Changes, &columns) == nil {
			names := make([]string, 0, len(columns))
			for name := range columns {
				names = append(names, name)
			}
			slices.Sort(names)
			for _, name := range names {
				fmt.Fprintf(out, "    %s: %s → %s\n", name, printable(compact(columns[name]["from"])),
					printable(compact(columns[name]["to"])))
			}
		}
		counts[ch.Action]++
	}
	costs := ""
	if p.Costs != nil {
		costs = p.Costs.text() + "\n"
	}
	_, err := fmt.Fprintf(out, "%d to create, %d to update, %d to replace, %d to delete\n%shash %s\n", counts["create"],
		counts["update"], counts["replace"], counts["delete"], costs, p.Hash)
	return err
}

// printable returns a text without what a terminal takes for a command, or what turns the
// direction of a line: names and tags in the cloud may be anybody's.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '\uFFFD'
		}
		return r
	}, text)
}

func compact(value any) string {
	if value == nil {
		return "NULL"
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}

// outcome is what has become of a batch.
type outcome struct {
	batch
	Warnings []string `json:"warnings"`
}

// ended prints what has become of a batch.
func (c *batchCmd) ended(ctx context.Context, id int64) error {
	list, err := c.batches(ctx, fmt.Sprint(id))
	if err != nil {
		return err
	}
	b := list[0]
	return c.print(outcome{b, append([]string{}, c.warnings...)}, func() error {
		_, err := fmt.Fprintf(c.out, "batch %s: %s\n", b.called(), b.state())
		return err
	})
}

func batchCommitCommand() *cobra.Command {
	var c batchCmd
	var message, hash, onError, onCancel string
	cmd := c.command("commit", "Commit a batch, and wait until it is done.", 1,
		func(ctx context.Context, name string) error {
			list, err := c.batches(ctx, name)
			if err != nil {
				return err
			}
			if _, err := c.conn.Exec(ctx, `CALL public.iasql_join($1)`, name); err != nil {
				return err
			}
			if _, err := c.conn.Exec(ctx, `CALL public.iasql_commit(nullif($1, ''), nullif($2, ''), $3, $4)`,
				message, hash,
				onError, onCancel); err != nil {
				return err
			}
			if err := c.ended(ctx, list[0].ID); err != nil {
				return err
			}
			if len(c.warnings) > 0 {
				return &exitError{exitKept, fmt.Errorf("committed, but for %d records: %s", len(c.warnings),
					strings.Join(c.warnings, "; "))}
			}
			return nil
		})
	flags := cmd.Flags()
	flags.StringVar(&hash, "preview-hash", "",
		"Change nothing unless the plan still has this `hash`, as preview printed it.")
	flags.StringVar(&message, "message", "", "Why it is done; kept in the audit log.")
	flags.Var(newOneOf(&onError, "rollback", "keep"), "on-error",
		"What becomes of the rest if something fails for good.")
	flags.Var(newOneOf(&onCancel, "continue", "rollback"), "on-cancel",
		"What becomes of the batch if this command is interrupted.")
	return cmd
}

func batchWaitCommand() *cobra.Command {
	var c batchCmd
	var timeout time.Duration
	cmd := c.command("wait", "Wait until a batch is closed, whoever commits it: 0 if it was committed.", 1,
		func(ctx context.Context, name string) error {
			begun, said := time.Now(), ""
			list, err := c.batches(ctx, name)
			if err != nil {
				return err
			}
			id := fmt.Sprint(list[0].ID) // of several of that name this one
			for {
				if list, err = c.batches(ctx, id); err != nil {
					return err
				}
				b := &list[0]
				switch {
				case b.Outcome != nil:
					if err := c.ended(ctx, b.ID); err != nil {
						return err
					}
					if *b.Outcome != "committed" {
						return fmt.Errorf("batch %s was %s", b.called(), *b.Outcome)
					}
					return nil
				case time.Since(begun) > timeout:
					return &exitError{exitGoesOn, fmt.Errorf("batch %s has not ended within %s: %s",
						b.called(), timeout,
						b.state())}
				case b.state() != said && !c.JSON:
					said = b.state()
					fmt.Fprintf(c.out, "batch %s: %s\n", b.called(), said)
				}
				select {
				case <-ctx.Done():
					return &exitError{exitGoesOn, fmt.Errorf("batch %s goes on: %w", b.called(), context.Cause(ctx))}
				case <-time.After(time.Second):
				}
			}
		})
	cmd.Flags().DurationVar(&timeout, "timeout", time.Hour, "How long to wait at most.")
	return cmd
}

func batchRollbackCommand() *cobra.Command {
	var c batchCmd
	var force bool
	cmd := c.command("rollback", "Take back what a batch has changed.", 1,
		func(ctx context.Context, name string) error {
			list, err := c.batches(ctx, name)
			if err != nil {
				return err
			}
			if _, err := c.conn.Exec(ctx, `CALL public.iasql_join($1)`, name); err != nil {
				return err
			}
			if _, err := c.conn.Exec(ctx, `CALL public.iasql_rollback($1)`, force); err != nil {
				return err
			}
			return c.ended(ctx, list[0].ID)
		})
	cmd.Flags().BoolVar(&force, "force", false, "Also if somebody else has opened it.")
	return cmd
}
