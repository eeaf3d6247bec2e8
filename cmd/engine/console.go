package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/spf13/cobra"

	"iasql/internal/postgres"
)

type consoleCmd struct {
	databaseFlag
	httpFlags
}

// consoleCommand serves the console without an engine: of a standby, on which no engine can work.
func consoleCommand(log **slog.Logger) *cobra.Command {
	var c consoleCmd
	cmd := &cobra.Command{
		Use: "console", Short: "Serve the console alone, without an engine: also of a standby.", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context(), *log) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	c.databaseFlag.declare(flags)
	c.httpFlags.declare(flags, devAddress)
	return cmd
}

// run serves until it is told to stop.
func (c *consoleCmd) run(ctx context.Context, log *slog.Logger) error {
	if c.HTTP == "" || c.HTTP == "none" {
		return errors.New("--http none: engine console serves nothing else; give an address, such as " + devAddress)
	}
	if c.HTTPMetrics != "" && c.HTTPMetrics != "none" {
		return errors.New("--http-metrics: only an engine has metrics; leave it out for engine console")
	}
	site, err := c.listen()
	if err != nil {
		return err
	}
	defer site.close()
	conn, err := postgres.Open(ctx, c.DatabaseURL)
	if err != nil {
		return err
	}
	var migrated bool
	err = conn.QueryRow(ctx, `SELECT to_regproc('public.iasql_version') IS NOT NULL`).Scan(&migrated)
	_ = conn.Close(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	if !migrated {
		return fmt.Errorf("database %s has not been migrated: engine migrate", conn.Config().Database)
	}
	probes := http.NewServeMux()
	probes.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	if err := site.pages(ctx, c.DatabaseURL, nil, probes, false, log); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}
