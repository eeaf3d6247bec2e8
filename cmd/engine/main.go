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

	"github.com/alecthomas/kong"
	"github.com/jackc/pgx/v5/pgconn"
)

// version is set by the linker.
var version = "devel"

type cli struct {
	LogLevel string `enum:"debug,info,warn,error" default:"info" env:"IASQL_LOG_LEVEL" help:"Least severe messages to log: debug, info, warn or error."`
	LogJSON  bool   `name:"log-json" env:"IASQL_LOG_JSON" help:"Log as JSON rather than text."`

	Dev       devCmd       `cmd:"" help:"Run everything on this machine: a private PostgreSQL, an AWS emulator, the engine."`
	Serve     serveCmd     `cmd:"" help:"Run the engine against a database."`
	Migrate   migrateCmd   `cmd:"" help:"Bring a database to this engine's version."`
	Status    statusCmd    `cmd:"" help:"Say what the installation in a database is doing."`
	Version   versionCmd   `cmd:"" help:"Print the version."`
	IAMPolicy iamPolicyCmd `cmd:"" name:"iam-policy" help:"Print the IAM policy that modules need: least privilege, made from their own calls."`
	Docs      docsCmd      `cmd:"" hidden:"" help:"Write the modules' pages of the documentation."`
}

// databaseFlag is shared by the commands that work on an existing database.
type databaseFlag struct {
	DatabaseURL string `name:"database-url" env:"DATABASE_URL" required:"" placeholder:"URL" help:"The database, as postgres://user:password@host:port/name; TLS as sslmode says."`
}

// awsFlags are shared by the commands that talk to AWS.
type awsFlags struct {
	AWSEndpoint string `name:"aws-endpoint" env:"AWS_ENDPOINT_URL" placeholder:"URL" help:"Where to send AWS calls instead of to AWS."`
}

// engineFlags are shared by the commands that run an engine.
type engineFlags struct {
	Accounts    int `name:"accounts" env:"IASQL_ACCOUNTS" default:"16" help:"Accounts whose cycles run at once in this engine."`
	Concurrency int `name:"concurrency" env:"IASQL_CONCURRENCY" default:"16" help:"Operations of one cycle under way at once."`
}

func main() {
	var c cli
	parser := kong.Must(&c,
		kong.Name("engine"),
		kong.Description("Keeps a cloud account and the tables of a PostgreSQL database equal, in both directions."),
		kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
	)
	parsed, err := parser.Parse(os.Args[1:])
	parser.FatalIfErrorf(err)

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() { // a second ctrl-C ends the process at once
		<-ctx.Done()
		stop()
	}()
	parsed.BindTo(ctx, (*context.Context)(nil))
	parsed.Bind(logger(c.LogLevel, c.LogJSON))
	if err := parsed.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "engine: "+oneLine(err))
		os.Exit(1)
	}
}

func logger(level string, asJSON bool) *slog.Logger {
	var l slog.Level
	_ = l.UnmarshalText([]byte(level)) // kong has checked it
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

// Run prints the version.
func (versionCmd) Run() error {
	fmt.Println(version)
	return nil
}
