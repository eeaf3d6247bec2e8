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
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/spf13/cobra"

	"iasql/internal/tracing"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() { // a second ctrl-C ends the process at once
		<-ctx.Done()
		stop()
	}()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectAt)
	}
	cobra.EnableCommandSorting = false // in the order of use
	var log *slog.Logger
	if err := engineCommand(&log).ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "engine: "+oneLine(err))
		os.Exit(exitCode(err))
	}
}

// collectAt is the default of GOGC here (runtime/debug, SetGCPercent): an engine's heap is
// small, and mostly what the SDK describes its calls by, so that collecting twice as often
// costs little and saves 11 MB.
const collectAt = 50

// logger writes to standard error: one line a message, or one JSON object.
func logger(level, format string) *slog.Logger {
	var l slog.Level
	_ = l.UnmarshalText([]byte(level)) // newOneOf has checked it
	options := &slog.HandlerOptions{Level: l}
	if format == "json" {
		return slog.New(tracing.Log(slog.NewJSONHandler(os.Stderr, options)))
	}
	return slog.New(tracing.Log(slog.NewTextHandler(os.Stderr, options)))
}

// oneLine prints an error for people: one line, with what to do about the
// common ones.
func oneLine(err error) string {
	text := printable(strings.Join(strings.Fields(err.Error()), " "))
	var connect *pgconn.ConnectError
	var pg *pgconn.PgError
	switch {
	case errors.As(err, &pg) && pg.Code == pgerrcode.InvalidAuthorizationSpecification &&
		strings.Contains(pg.Message, "no encryption"):
		return text + " (the server wants TLS: say sslmode=require, or verify-full, in DATABASE_URL)"
	case errors.As(err, &pg) && pg.Code == pgerrcode.InvalidPassword, errors.As(err, &pg) &&
		pg.Code == pgerrcode.InvalidAuthorizationSpecification:
		return text + " (check user and password in DATABASE_URL)"
	case errors.As(err, &pg) && pg.Code == "3D000":
		return text + " (create it: createdb, then engine migrate)"
	case errors.As(err, &connect) && strings.Contains(text, "x509: "):
		return fmt.Sprintf("the database at %s:%d cannot be trusted: %s (check sslmode and sslrootcert in "+
			"DATABASE_URL)",
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
