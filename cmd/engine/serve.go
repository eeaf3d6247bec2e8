package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"text/tabwriter"

	"github.com/jackc/pgx/v5"

	"iasql/internal/engine"
	"iasql/internal/platform"
)

type serveCmd struct {
	databaseFlag
	engineFlags
	AWSEndpoint string
	Migrate     bool
}

func (c *serveCmd) flags(f *flagSet) {
	c.databaseFlag.flags(f)
	awsEndpoint(f, &c.AWSEndpoint, "Where to send AWS calls instead of to AWS.")
	c.engineFlags.flags(f)
	f.yes(&c.Migrate, "migrate", true, "IASQL_MIGRATE", "Bring the database to this engine's version first.")
}

// run works until it is told to stop.
func (c *serveCmd) run(ctx context.Context, log *slog.Logger) error {
	if c.Migrate {
		if err := migrate(ctx, c.DatabaseURL); err != nil {
			return err
		}
	}
	e, err := engine.Start(ctx, engineOptions(c.DatabaseURL, c.AWSEndpoint, c.engineFlags, log))
	if err != nil {
		return err
	}
	log.Info("engine is working", "engine", e.ID(), "version", version)
	return e.Wait(ctx)
}

type migrateCmd struct {
	databaseFlag
}

func (c *migrateCmd) run(ctx context.Context, log *slog.Logger) error {
	if err := migrate(ctx, c.DatabaseURL); err != nil {
		return err
	}
	log.Info("the database is up to date", "version", version)
	return nil
}

func migrate(ctx context.Context, url string) error {
	registry, err := descriptions()
	if err != nil {
		return err
	}
	return platform.Migrate(ctx, url, registry, version)
}

type statusCmd struct {
	databaseFlag
}

// run prints the engines, the modules and the records that are not Present.
func (c *statusCmd) run(ctx context.Context, _ *slog.Logger) error {
	conn, err := pgx.Connect(ctx, c.DatabaseURL)
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
		{"engines", `SELECT engine, version, doing FROM iasql_engines()`},
		{"modules", `SELECT module_name, module_version FROM iasql_modules_installed()`},
		{"records by state", `SELECT state, review, count(*) FROM iasql_status GROUP BY 1, 2 ORDER BY 1, 2`},
		{"records that need a person", `SELECT table_name, record_id, state, message FROM iasql_status WHERE review ORDER BY 1, 2 LIMIT 50`},
		{"last cycles", `SELECT account, kind, to_char(started, 'YYYY-MM-DD HH24:MI:SS'), coalesce((ended - started)::text, 'running'), pushes, pulls, errors, coalesce(message, '') FROM iasql_cycles ORDER BY id DESC LIMIT 5`},
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
			fmt.Fprintf(w, "  %v\t", v)
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
