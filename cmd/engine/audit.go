package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"iasql/internal/archive"
	"iasql/internal/postgres"
)

// auditCmd is what the commands about the audit log share.
type auditCmd struct {
	databaseFlag
	From string
	JSON bool
}

func auditCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "audit", Short: "Keep the audit log outside of the database, and put it back.",
		Long: "Keep the audit log outside of the database, and put it back.\n" +
			"The database keeps it for as long as the setting audit_retention says.",
	}
	cmd.AddCommand(auditExportCommand(), auditRestoreCommand())
	return cmd
}

func auditExportCommand() *cobra.Command {
	c := &auditCmd{}
	cmd := &cobra.Command{
		Use: "export DIR", Args: cobra.ExactArgs(1),
		Short: "Write a file of each month of the audit log that has ended.",
		Long: "Write a file of each month of the audit log that has ended (UTC) into the folder DIR: CSV, compressed " +
			"by gzip, and beside it a manifest with the number of rows and the checksum. A file that is there stays, " +
			"unless rows of its month have come since. It has no secrets: the log has none.\n" +
			"Run it every day; it has to run before audit_retention has passed.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.session(cmd.Context(), func(ctx context.Context, conn *pgx.Conn) error {
				months, err := archive.Export(ctx, conn, args[0])
				return printed(cmd.OutOrStdout(), c.JSON, months, err,
					"no month has ended yet of which the log has rows", "MONTH\tROWS\tSINCE\tFILE", func(w io.Writer) {
						for _, m := range months {
							what := m.File
							if m.Kept {
								what += " (was there)"
							}
							fmt.Fprintf(w, "%s\t%d\t%s\t%s\n", m.Month, m.Rows, m.Since.Format(time.RFC3339), what)
						}
					})
			})
		},
	}
	c.flags(cmd)
	return cmd
}

func auditRestoreCommand() *cobra.Command {
	c := &auditCmd{}
	cmd := &cobra.Command{
		Use: "restore DIR", Args: cobra.ExactArgs(1),
		Short: "Put exported months back into the audit log, so that the past can be asked for further back.",
		Long: "Put exported months back into the audit log, newest first: iasql_as_of, iasql_changes_since and the " +
			"history of records reach as far back as it is whole then. Rows that are there stay. Nothing is sent to " +
			"a cloud: they are settled.\n" +
			"Raise the setting audit_retention first, or the rows would be deleted again within the hour.",
		RunE: func(cmd *cobra.Command, args []string) error {
			var from archive.Month
			if c.From != "" {
				var err error
				if from, err = archive.ParseMonth(c.From); err != nil {
					return fmt.Errorf("--from: %w", err)
				}
			}
			return c.session(cmd.Context(), func(ctx context.Context, conn *pgx.Conn) error {
				months, err := archive.Restore(ctx, conn, args[0], from)
				return printed(cmd.OutOrStdout(), c.JSON, months, err, "nothing was restored",
					"MONTH\tROWS\tADDED\tSINCE", func(w io.Writer) {
						for _, m := range months {
							fmt.Fprintf(w, "%s\t%d\t%d\t%s\n", m.Month, m.Rows, m.Added, m.Since.Format(time.RFC3339))
						}
					})
			})
		},
	}
	c.flags(cmd)
	cmd.Flags().StringVar(&c.From, "from", "", "The earliest `month` to restore, such as 2026-08; all if left out.")
	return cmd
}

func (c *auditCmd) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false
	c.declare(flags)
	flags.BoolVar(&c.JSON, "json", false, "Print JSON.")
}

// session runs f in a session that has an engine's rights.
func (c *auditCmd) session(ctx context.Context, f func(ctx context.Context, conn *pgx.Conn) error) error {
	pool, err := postgres.Connect(ctx, c.DatabaseURL, 1)
	if err != nil {
		return err
	}
	defer pool.Close()
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	return f(ctx, conn.Conn())
}

// printed prints what was done with each month, also where a later one failed, and returns that failure.
func printed[T any](out io.Writer, asJSON bool, months []T, failed error, none, head string,
	rows func(w io.Writer)) error {
	switch {
	case asJSON && (failed == nil || len(months) > 0):
		to := json.NewEncoder(out)
		to.SetIndent("", "  ")
		if err := to.Encode(months); err != nil && failed == nil {
			return err
		}
	case len(months) > 0:
		w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
		fmt.Fprintln(w, head)
		rows(w)
		if err := w.Flush(); err != nil && failed == nil {
			return err
		}
	case failed == nil:
		fmt.Fprintln(out, none)
	}
	return failed
}
