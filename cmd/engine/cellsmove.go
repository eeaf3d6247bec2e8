package main

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"iasql/internal/cells"
)

func cellsMoveCommand() *cobra.Command {
	c := &cellsCmd{}
	m := cells.Move{}
	var preview, undo bool
	cmd := c.command("move ACCOUNT --to CELL",
		"Move an account to another cell, with its history; the cloud stays as it is.",
		cobra.ExactArgs(1), func(ctx context.Context, args []string) error {
			m.Account = args[0]
			m.Say = func(step cells.Step) { fmt.Fprintf(c.say, "%s\n", step) }
			switch {
			case preview && undo:
				return errors.New("a preview undoes nothing: give --preview or --undo")
			case preview:
				return c.previewMove(ctx, m)
			}
			move := c.registry.Move
			if undo {
				move = c.registry.UndoMove
			}
			moved, err := move(ctx, m)
			if err != nil {
				return err
			}
			return c.moved(moved)
		})
	cmd.Long = "Move an account to another cell, with its history; the cloud stays as it is.\n" +
		"Records, pending changes, the audit log, the intent log, conflicts and secrets come along, with other ids. " +
		"Meanwhile no engine and no user writes the account. The same command goes on with a move that was cut off; " +
		"until the account is handed over, --undo takes the move back."
	flags := cmd.Flags()
	flags.StringVar(&m.To, "to", "", "The `cell` that gets it; of a move that has begun it may be left out.")
	flags.StringVar(&m.From, "from", "", "The `cell` that has it, if accounts of several cells have that name.")
	flags.StringVar(&m.As, "as", "", "The `name` that it gets there; the same if left out.")
	flags.StringVar(&m.Login, "login", "",
		"The `role` that moves it, in both cells, such as postgres; that of the cell's URL if left out.")
	flags.BoolVar(&preview, "preview", false, "Say what would move, and what stands in the way; change nothing.")
	flags.BoolVar(&undo, "undo", false, "Take back a move that has begun and was not handed over.")
	flags.DurationVar(&m.Deadline, "deadline", time.Minute,
		"How long to wait for a cell, and for the account's open transactions and its cycle.")
	c.json(cmd)
	return cmd
}

// previewMove prints what a move would do. It fails if something stands in the way.
func (c *cellsCmd) previewMove(ctx context.Context, m cells.Move) error {
	preview, err := c.registry.PreviewMove(ctx, m)
	if err != nil {
		return err
	}
	if c.JSON {
		if err := c.print(preview); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(c.out, "account %s of cell %s would move to cell %s as %s\n", printable(preview.Account),
			preview.From, preview.To, printable(preview.As))
		if err := c.tables(preview.Tables); err != nil {
			return err
		}
	}
	if len(preview.Obstacles) > 0 {
		return &cells.ObstacleError{Account: preview.Account, Obstacles: preview.Obstacles}
	}
	return nil
}

// moved prints what a move has done.
func (c *cellsCmd) moved(m *cells.Moved) error {
	if c.JSON {
		return c.print(m)
	}
	if m.Undone {
		_, err := fmt.Fprintf(c.out, "account %s stays in cell %s\n", printable(m.Account), m.From)
		return err
	}
	if err := c.tables(m.Tables); err != nil {
		return err
	}
	fmt.Fprintf(c.out, "account %s of cell %s is account %s of cell %s now\n", printable(m.Account), m.From,
		printable(m.As), m.To)
	if m.Raised > 0 {
		fmt.Fprintf(c.out, "its ids are %d higher: record 1 is record %d\n", m.Raised, m.Raised+1)
	}
	return nil
}

// tables prints how many rows there are of each table.
func (c *cellsCmd) tables(list []cells.MovedTable) error {
	w := tabwriter.NewWriter(c.out, 0, 4, 2, ' ', tabwriter.AlignRight)
	for _, t := range list {
		fmt.Fprintf(w, "%d\t %s\n", t.Rows, t.Table)
	}
	return w.Flush()
}
