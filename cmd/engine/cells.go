package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"iasql/internal/cells"
)

// cellsCmd is what the commands about cells share.
type cellsCmd struct {
	RegistryURL string
	Deadline    time.Duration
	JSON        bool

	registry *cells.Registry
	out, say io.Writer
}

func cellsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "cells", Short: "Know several databases, each of a group of accounts, as one, and read them as one.",
		Long: "Know several databases, each of a group of accounts, as one, and read them as one.\n" +
			"A cell is a database with its engines. The registry is a database that knows the cells; " +
			"`engine cells init` makes one. No engine needs it. Only `engine cells move` writes to cells.",
	}
	cmd.AddCommand(cellsInitCommand(), cellsAddCommand(), cellsListCommand(), cellsMarkCommand(), cellsRemoveCommand(),
		cellsUnionCommand(), cellsMoveCommand())
	return cmd
}

// command makes a subcommand.
func (c *cellsCmd) command(use, short string, args cobra.PositionalArgs,
	run func(ctx context.Context, args []string) error) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: args, RunE: func(cmd *cobra.Command, args []string) error {
		c.out, c.say = cmd.OutOrStdout(), cmd.ErrOrStderr()
		var err error
		if c.registry, err = cells.Open(cmd.Context(), c.RegistryURL); err != nil {
			return err
		}
		defer c.registry.Close(context.WithoutCancel(cmd.Context()))
		return run(cmd.Context(), args)
	}}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&c.RegistryURL, "registry-url", "",
		"The registry's database, as `postgres://user@host:port/name`; TLS as sslmode says.")
	fromEnv(flags, "registry-url", "IASQL_REGISTRY_URL")
	flags.Lookup("registry-url").Annotations[required] = []string{"true"}
	return cmd
}

func (c *cellsCmd) deadline(cmd *cobra.Command) {
	cmd.Flags().DurationVar(&c.Deadline, "deadline", 5*time.Second, "How long to wait for a cell.")
}

func (c *cellsCmd) json(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&c.JSON, "json", false, "Print JSON.")
}

func cellsInitCommand() *cobra.Command {
	c := &cellsCmd{}
	return c.command("init", "Make the registry, or bring it up to date; what it knows stays.", cobra.NoArgs,
		func(ctx context.Context, _ []string) error {
			if err := c.registry.Init(ctx); err != nil {
				return err
			}
			_, err := fmt.Fprintln(c.out, "the registry is ready: engine cells add NAME postgres://user@host/database")
			return err
		})
}

func cellsAddCommand() *cobra.Command {
	c := &cellsCmd{}
	cmd := c.command("add NAME URL", "Register a cell, which has to answer, and note its accounts.",
		cobra.ExactArgs(2), func(ctx context.Context, args []string) error {
			answer, err := c.registry.Add(ctx, cells.Cell{Name: args[0], Connection: args[1]}, c.Deadline)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.out, "cell %s: %d accounts, %d tables, about %d records\n", answer.Cell,
				len(answer.Accounts), answer.Tables, answer.Records)
			return err
		})
	cmd.Long = "Register a cell, which has to answer, and note its accounts.\n" +
		"The URL has no password: that comes from the password file (PGPASSFILE, ~/.pgpass), or from a service " +
		"(postgres:///?service=NAME). Its user is " +
		"one that may read, a member of iasql_reader. It fails if another cell has one of the accounts."
	c.deadline(cmd)
	return cmd
}

func cellsListCommand() *cobra.Command {
	c := &cellsCmd{}
	cmd := c.command("list", "Ask every cell side by side: accounts, records, the last cycle, and which do not answer.",
		cobra.NoArgs, func(ctx context.Context, _ []string) error {
			fleet, err := c.registry.Look(ctx, c.Deadline)
			if err != nil {
				return err
			}
			if c.JSON {
				return c.print(fleet)
			}
			return c.list(fleet)
		})
	c.deadline(cmd)
	c.json(cmd)
	return cmd
}

func (c *cellsCmd) print(value any) error {
	enc := json.NewEncoder(c.out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(value)
}

func (c *cellsCmd) list(fleet *cells.Fleet) error {
	var silent []string
	w := tabwriter.NewWriter(c.out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "CELL\tSTATE\tVERSION\tACCOUNTS\tRECORDS\tLAST CYCLE\tACCOUNTS HELD")
	for _, a := range fleet.Cells {
		if a.Trouble != "" {
			silent = append(silent, a.Cell+": "+printable(a.Trouble))
			state := "no answer"
			if a.State == cells.Lost {
				state = string(cells.Lost)
			}
			fmt.Fprintf(w, "%s\t%s\t\t\t\t\t\n", a.Cell, state)
			continue
		}
		last := "none"
		if a.LastCycle != nil {
			last = a.LastCycle.UTC().Format(time.RFC3339)
		}
		var names, held []string
		for _, account := range a.Accounts {
			names = append(names, printable(account.Name))
			if account.Held != nil {
				held = append(held, printable(account.Name))
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\t%s\n", a.Cell, a.State, printable(a.Version), few(names), a.Records,
			last, few(held))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, line := range silent {
		fmt.Fprintf(c.out, "cell %s\n", line)
	}
	for _, d := range fleet.Doubled {
		fmt.Fprintf(c.say, "%s %s is in several cells, whose engines work against each other: %s. Delete the account "+
			"in all but one, which leaves its objects as they are\n", printable(d.Kind), printable(d.Identity),
			strings.Join(d.Cells, ", "))
	}
	return nil
}

// few names some of many.
func few(names []string) string {
	if len(names) <= 3 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:3], ", "), len(names)-3)
}

func cellsMarkCommand() *cobra.Command {
	c := &cellsCmd{}
	cmd := c.command("mark NAME active|lost", "Say that a cell is lost, so that nobody asks it, or that it is back.",
		cobra.ExactArgs(2), func(ctx context.Context, args []string) error {
			states := []cells.State{cells.Active, cells.Lost}
			if !slices.Contains(states, cells.State(args[1])) {
				return fmt.Errorf("a cell is active or lost, and not %q", args[1])
			}
			if err := c.registry.Mark(ctx, args[0], cells.State(args[1])); err != nil {
				return err
			}
			_, err := fmt.Fprintf(c.out, "cell %s is marked %s; engine cells union has the union follow\n", args[0],
				args[1])
			return err
		})
	return cmd
}

func cellsRemoveCommand() *cobra.Command {
	c := &cellsCmd{}
	return c.command("remove NAME", "Forget a cell, which itself stays as it is.", cobra.ExactArgs(1),
		func(ctx context.Context, args []string) error {
			if err := c.registry.Remove(ctx, args[0]); err != nil {
				return err
			}
			_, err := fmt.Fprintf(c.out, "cell %s is forgotten; engine cells union has the union follow\n", args[0])
			return err
		})
}

func cellsUnionCommand() *cobra.Command {
	c := &cellsCmd{}
	var report string
	var readers, noReaders []string
	cmd := c.command("union", "Make or renew a view over each table of all cells, in schema cells of a database.",
		cobra.NoArgs, func(ctx context.Context, _ []string) error {
			all, err := c.registry.Readers(ctx, readers, noReaders)
			if err != nil {
				return err
			}
			if report == "" {
				report = c.RegistryURL
			}
			renewal, err := c.registry.Union(ctx, report, all, c.Deadline)
			if renewal == nil {
				return err
			}
			if c.JSON {
				if failed := c.print(renewal); failed != nil {
					return failed
				}
				return err
			}
			for _, cell := range renewal.Cells {
				if cell.Shown {
					fmt.Fprintf(c.out, "cell %s: %d tables\n", cell.Cell, cell.Tables)
				} else {
					fmt.Fprintf(c.out, "cell %s is left out: %s\n", cell.Cell, printable(cell.Why))
				}
			}
			names := strings.Join(renewal.Readers, ", ")
			if names == "" {
				names = "none (--reader ROLE adds one)"
			}
			fmt.Fprintf(c.out, "%d views in schema cells, %d of them new or changed; readers: %s\n", renewal.Views,
				renewal.Changed, names)
			return err
		})
	cmd.Long = "Make or renew a view over each table of all cells, in schema cells of a database.\n" +
		"Each view has the rows of all cells, " +
		"with a first column that says which. A cell that is marked lost, or that does not answer in " +
		"time, is left out until the next renewal. The database's login is a superuser. A reader reads each cell as " +
		"the role of the same name there, and so sees what that may see."
	flags := cmd.Flags()
	flags.StringVar(&report, "report-url", "", "The reporting `database`; the registry's if left out.")
	fromEnv(flags, "report-url", "IASQL_REPORT_URL")
	flags.StringSliceVar(&readers, "reader", nil, "A `role` that reads the union from now on.")
	flags.StringSliceVar(&noReaders, "no-reader", nil, "A `role` that no longer does.")
	c.deadline(cmd)
	c.json(cmd)
	return cmd
}
