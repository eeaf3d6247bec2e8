package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"text/tabwriter"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"iasql/internal/engine"
	"iasql/internal/platform"
	"iasql/internal/postgres"
)

type serveCmd struct {
	databaseFlag
	engineFlags
	httpFlags
	AWSEndpoint string
	Migrate     bool
}

func serveCommand(log **slog.Logger) *cobra.Command {
	var c serveCmd
	var not bool
	cmd := &cobra.Command{
		Use: "serve", Short: "Run the engine against a database.", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.Migrate = c.Migrate && !not
			return c.run(cmd.Context(), *log)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	c.databaseFlag.declare(flags)
	flags.StringVar(&c.AWSEndpoint, "aws-endpoint", "", "`URL` to send AWS calls to instead of to AWS.")
	fromEnv(flags, "aws-endpoint", "AWS_ENDPOINT_URL")
	c.engineFlags.declare(flags)
	c.httpFlags.declare(flags, "")
	flags.BoolVar(&c.Migrate, "migrate", true, "Bring the database to this engine's version first.")
	fromEnv(flags, "migrate", "IASQL_MIGRATE")
	flags.BoolVar(&not, "no-migrate", false, "Do not: the same as --migrate=false.")
	return cmd
}

// run works until it is told to stop.
func (c *serveCmd) run(ctx context.Context, log *slog.Logger) error {
	site, err := c.listen()
	if err != nil {
		return err
	}
	defer site.close()
	tracer, stopTracing, err := startTracing(ctx, log)
	if err != nil {
		return err
	}
	defer stopTracing()
	// First, so that nothing is done with a login that would be refused later.
	if err := platform.CheckLogin(ctx, c.DatabaseURL); err != nil {
		return err
	}
	if c.Migrate {
		err := migrate(ctx, c.DatabaseURL)
		// An engine that is started again while newer ones take over works beside them.
		if newer := (*platform.NewerError)(nil); errors.As(err, &newer) {
			log.Warn("a newer engine has migrated the database: this one leaves it as it is, and works beside it; "+
				"replace it soon", "newer", newer.Version, "version", version)
		} else if err != nil {
			return err
		}
	}
	m := metricsFor(site)
	e, err := engine.Start(ctx, engineOptions(c.DatabaseURL, c.AWSEndpoint, c.engineFlags, log, m, tracer))
	if err != nil {
		return err
	}
	log.Info("engine is working", "engine", e.ID(), "version", version)
	if err := site.serve(ctx, e, c.DatabaseURL, m, log); err != nil {
		return err
	}
	notifySystemd(ctx, e, log)
	e.Wait(ctx)
	return nil
}

func migrateCommand(log **slog.Logger) *cobra.Command {
	var c databaseFlag
	var adminURL string
	cmd := &cobra.Command{
		Use: "migrate", Short: "Bring a database to this engine's version.", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if adminURL != "" {
				if err := platform.Bootstrap(cmd.Context(), adminURL, c.DatabaseURL); err != nil {
					return err
				}
			}
			if err := migrate(cmd.Context(), c.DatabaseURL); err != nil {
				return err
			}
			(*log).Info("the database is up to date", "version", version)
			return nil
		},
	}
	c.declare(cmd.Flags())
	cmd.Flags().StringVar(&adminURL, "admin-url", "",
		"The same database as an administrator: prepares it first, and makes the login of --database-url. `URL` of a "+
			"superuser, or of the owner with CREATEROLE.")
	fromEnv(cmd.Flags(), "admin-url", "IASQL_ADMIN_URL")
	return cmd
}

func migrate(ctx context.Context, url string) error {
	registry, err := descriptions()
	if err != nil {
		return err
	}
	return platform.Migrate(ctx, url, registry, version)
}

func statusCommand() *cobra.Command {
	var c databaseFlag
	cmd := &cobra.Command{
		Use: "status", Short: "Say what the installation in a database is doing.", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return status(cmd.Context(), c.DatabaseURL) },
	}
	c.declare(cmd.Flags())
	return cmd
}

// status prints the engines, the modules and the records that are not Present.
func status(ctx context.Context, url string) error {
	conn, err := postgres.Open(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var migrated bool
	if err := conn.QueryRow(ctx, `SELECT to_regproc('public.iasql_version') IS NOT NULL`).Scan(&migrated); err != nil {
		return err
	}
	if !migrated {
		return fmt.Errorf("database %s has not been migrated: engine migrate", conn.Config().Database)
	}
	for _, section := range []struct{ title, query string }{
		{"engines", `SELECT engine, version, doing FROM public.iasql_engines()`},
		{"sources of events", `SELECT account, name, coalesce(region, 'all regions'), state, events, dropped FROM public.iasql_event_sources ORDER BY 1, 2`},
		{"modules", `SELECT module_name, module_version FROM public.iasql_modules_installed()`},
		{"records by state", `SELECT state, review, count(*) FROM public.iasql_status GROUP BY 1, 2 ORDER BY 1, 2`},
		{"records that need a person",
			`SELECT table_name, record_id, state, message FROM public.iasql_status WHERE review ORDER BY 1, 2 LIMIT 50`},
		{"last cycles", `SELECT account, kind, to_char(started, 'YYYY-MM-DD HH24:MI:SS'), coalesce((ended - started)::text, 'running'), pushes, pulls, errors, coalesce(message, '') FROM public.iasql_cycles ORDER BY id DESC LIMIT 5`},
	} {
		if err := printQuery(ctx, conn, section.title, section.query); err != nil {
			return err
		}
	}
	return nil
}

func printQuery(ctx context.Context, conn *pgx.Conn, title, query string) error {
	rows, err := conn.Query(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintf(w, "%s:\n", title)
	n := 0
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			return err
		}
		for _, v := range values {
			if v == nil {
				v = ""
			}
			fmt.Fprintf(w, "  %s\t", printable(fmt.Sprint(v)))
		}
		fmt.Fprintln(w)
		n++
	}
	if n == 0 {
		fmt.Fprintln(w, "  none")
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return w.Flush()
}
