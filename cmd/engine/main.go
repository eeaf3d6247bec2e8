// Command engine runs the reconciliation service: it keeps the tables of a
// PostgreSQL database and a cloud account equal, in both directions. This
// package is wiring only.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
)

// version is set by the linker.
var version = "devel"

// databaseFlag is shared by the commands that work on an existing database.
type databaseFlag struct {
	DatabaseURL string
}

func (d *databaseFlag) flags(f *flagSet) {
	f.text(&d.DatabaseURL, "database-url", "URL", "DATABASE_URL", "The database, as postgres://user:password@host:port/name; TLS as sslmode says.").required = true
}

// awsEndpoint is shared by the commands that talk to AWS.
func awsEndpoint(f *flagSet, p *string, help string) {
	f.text(p, "aws-endpoint", "URL", "AWS_ENDPOINT_URL", help)
}

// engineFlags are shared by the commands that run an engine.
type engineFlags struct {
	Accounts    int
	Concurrency int
}

func (e *engineFlags) flags(f *flagSet) {
	f.number(&e.Accounts, "accounts", 16, "IASQL_ACCOUNTS", "Accounts whose cycles run at once in this engine.")
	f.number(&e.Concurrency, "concurrency", 16, "IASQL_CONCURRENCY", "Operations of one cycle under way at once.")
}

func main() {
	cmd, g := start()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() { // a second ctrl-C ends the process at once
		<-ctx.Done()
		stop()
	}()
	if err := cmd.run(ctx, logger(g.LogLevel, g.LogJSON)); err != nil {
		fmt.Fprintln(os.Stderr, "engine: "+oneLine(err))
		os.Exit(1)
	}
}

func logger(level string, asJSON bool) *slog.Logger {
	var l slog.Level
	_ = l.UnmarshalText([]byte(level)) // it has been checked
	options := &slog.HandlerOptions{Level: l}
	if asJSON {
		return slog.New(slog.NewJSONHandler(os.Stderr, options))
	}
	return slog.New(slog.NewTextHandler(os.Stderr, options))
}

// oneLine prints an error for people: one line, with what to do about the
// common ones.
func oneLine(err error) string {
	text := strings.Join(strings.Fields(err.Error()), " ")
	var connect *pgconn.ConnectError
	var pg *pgconn.PgError
	switch {
	case errors.As(err, &pg) && pg.Code == "28000" && strings.Contains(pg.Message, "no encryption"):
		return text + " (the server wants TLS: say sslmode=require, or verify-full, in DATABASE_URL)"
	case errors.As(err, &pg) && pg.Code == "28P01", errors.As(err, &pg) && pg.Code == "28000":
		return text + " (check user and password in DATABASE_URL)"
	case errors.As(err, &pg) && pg.Code == "3D000":
		return text + " (create it: createdb, then engine migrate)"
	case errors.As(err, &connect) && strings.Contains(text, "x509: "):
		return fmt.Sprintf("the database at %s:%d cannot be trusted: %s (check sslmode and sslrootcert in DATABASE_URL)",
			connect.Config.Host, connect.Config.Port, cause(err))
	case errors.As(err, &connect):
		return fmt.Sprintf("the database at %s:%d cannot be reached: %s (is it running, and is DATABASE_URL right?)",
			connect.Config.Host, connect.Config.Port, cause(err))
	}
	return text
}

// cause returns the innermost error's text.
func cause(err error) string {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return strings.Join(strings.Fields(err.Error()), " ")
		}
		err = next
	}
}

type versionCmd struct{}

func (versionCmd) flags(*flagSet) {}

func (versionCmd) run(context.Context, *slog.Logger) error {
	fmt.Println(version)
	return nil
}
