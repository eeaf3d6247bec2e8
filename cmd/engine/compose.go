package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"iasql/internal/modules"
	"iasql/internal/platform"
)

func composeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "compose", Short: "Install compositions from a folder, and take later versions.",
		Long: "Compositions are modules in SQL: a row of a table stands for records of other tables.\n" +
			"See docs/compositions.md.",
	}
	cmd.AddCommand(composeInstallCommand(), composeCheckCommand())
	return cmd
}

// composition reads the composition that is called name, or is in the folder of that path. own: it is in a folder.
func composition(name string) (c *modules.Composition, own bool, err error) {
	registry, err := descriptions()
	if err != nil {
		return nil, false, err
	}
	if c = registry.Composition(name); c != nil {
		return c, false, nil
	}
	if info, err := os.Stat(name); err != nil || !info.IsDir() {
		return nil, false, fmt.Errorf("%s is neither a composition that the engine brings nor a folder", name)
	}
	c, err = modules.ReadComposition(os.DirFS(name))
	return c, true, err
}

func composeCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use: "check DIR", Short: "Read the files of a composition. Needs no database.", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, _, err := composition(args[0])
			if err == nil {
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "composition %s, version %d, of %d parts\n", c.Name, c.Version,
					len(c.Parts))
			}
			return err
		},
	}
}

func composeInstallCommand() *cobra.Command {
	var c batchCmd
	var yes bool
	cmd := &cobra.Command{
		Use: "install DIR", Short: "Install a composition, or take a later version of one.",
		Long: "Install the composition that is in a folder, or of the name of one that the engine brings. The " +
			"database is the login of a member of iasql_engine.\nIf an earlier version is installed, this shows what " +
			"the later one does to the parts of every instance, and changes nothing. With --yes it takes it, in " +
			"a batch.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			from, own, err := composition(args[0])
			if err != nil {
				return err
			}
			c.out = cmd.OutOrStdout()
			if err := c.connect(cmd.Context(), cmd.ErrOrStderr()); err != nil {
				return err
			}
			defer c.conn.Close(context.WithoutCancel(cmd.Context()))
			return explained(c.take(cmd.Context(), from, own, yes))
		},
	}
	c.declare(cmd.Flags())
	cmd.Flags().BoolVar(&yes, "yes", false, "Take the later version.")
	return cmd
}

// take installs a composition or takes a later version, in one transaction. Unless that is wanted, a later version is
// rolled back once it has been looked at.
func (c *batchCmd) take(ctx context.Context, composition *modules.Composition, own, yes bool) error {
	tx, err := c.conn.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // does nothing once it is committed
	batch, err := platform.TakeComposition(ctx, tx, composition, own)
	if err != nil {
		return err
	}
	if batch == 0 {
		if err := tx.Commit(ctx); err != nil {
			return err
		}
		_, err := fmt.Fprintf(c.out, "composition %s is installed, in version %d\n", composition.Name,
			composition.Version)
		return err
	}
	plan, err := c.preview(ctx, fmt.Sprint(batch))
	if err != nil {
		return err
	}
	if len(plan.Changes) > 0 {
		if err := plan.write(c.out); err != nil {
			return err
		}
	}
	if !yes {
		_, err := fmt.Fprintf(c.out, "version %d of %s has not been taken: %d changes. --yes takes it\n",
			composition.Version, composition.Name, len(plan.Changes))
		return err
	}
	end := `CALL public.iasql_commit(preview_hash => $1)`
	args := []any{plan.Hash}
	if len(plan.Changes) == 0 {
		end, args = `CALL public.iasql_rollback()`, nil
	}
	if _, err := tx.Exec(ctx, end, args...); err != nil {
		return err
	}
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	if _, err := c.conn.Exec(ctx, `SELECT public.iasql_wait_for_all()`); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.out, "composition %s is in version %d\n", composition.Name, composition.Version)
	return err
}
