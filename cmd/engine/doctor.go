package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"iasql/internal/aws"
	"iasql/internal/doctor"
	"iasql/internal/engine"
	"iasql/internal/hosts"
	"iasql/internal/modules/awsaccount"
	"iasql/internal/postgres"
)

type doctorCmd struct {
	databaseFlag
	AWSEndpoint string
	Accounts    int
	Only        string
	Account     string
	Regions     []string
	Modules     []string
	Hosts       []string
	SSHConfig   string
	Sample      int
	Deadline    time.Duration
	JSON        bool
}

func doctorCommand(log **slog.Logger) *cobra.Command {
	var c doctorCmd
	cmd := &cobra.Command{
		Use: "doctor", Short: "Examine an AWS account, a database and hosts before an engine works with them. " +
			"Changes nothing.", Args: cobra.NoArgs,
		Long: "Examine an AWS account, a database and the hosts that are in it before an engine works with them, and " +
			"print a report. Nothing is changed, but that a host gets the runner if it is missing.\n" +
			"It ends with 0 if an engine may be started, warnings or not, and with 1 if something must be " +
			"mended first.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.run(cmd.Context(), *log, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&c.DatabaseURL, "database-url", "",
		"The engine's login to its database; without it the database is not examined. `URL` as for serve.")
	fromEnv(flags, "database-url", "DATABASE_URL")
	flags.StringVar(&c.AWSEndpoint, "aws-endpoint", "", "`URL` to send AWS calls to instead of to AWS.")
	fromEnv(flags, "aws-endpoint", "AWS_ENDPOINT_URL")
	flags.IntVar(&c.Accounts, "accounts", 16,
		"What serve is to be given: an engine's connections to the database depend on it.")
	fromEnv(flags, "accounts", "IASQL_ACCOUNTS")
	flags.Var(newOneOf(&c.Only, "all", "aws", "database", "hosts"), "only", "Which side to examine.")
	flags.StringVar(&c.Account, "account", "",
		"A `name` in the table aws_account, whose credentials are used; without it, those of this environment.")
	flags.StringSliceVar(&c.Regions, "regions", nil, "Regions to read; all that are enabled if left out.")
	flags.StringSliceVar(&c.Modules, "modules", nil,
		"Modules to read, with those they depend on. They must be readable. All are read if left out, and need not be.")
	flags.StringSliceVar(&c.Hosts, "hosts", nil,
		"Hosts of the table host to examine. They must be well. All are examined if left out, and need not be.")
	declareSSHConfig(flags, &c.SSHConfig)
	flags.IntVar(&c.Sample, "sample", 20, "Objects of each table and region that are read a second time; -1 for none.")
	flags.DurationVar(&c.Deadline, "deadline", 5*time.Minute, "How long to work at most.")
	flags.BoolVar(&c.JSON, "json", false, "Print the report as JSON.")
	return cmd
}

// run prints a report to out, and progress to progress. It fails if something must
// be mended before an engine is started.
func (c *doctorCmd) run(ctx context.Context, log *slog.Logger, out, progress io.Writer) error {
	options := doctor.Options{
		Version: version, Account: "environment", Regions: c.Regions, Modules: c.Modules, DatabaseURL: c.DatabaseURL,
		Connections: engine.Connections(c.Accounts), Sample: c.Sample, Deadline: c.Deadline,
		Progress: func(text string) { fmt.Fprintln(progress, "doctor: "+text) },
	}
	if (c.Only == "database" || c.Only == "hosts" || len(c.Hosts) > 0) && c.DatabaseURL == "" {
		return errors.New("missing flag: --database-url (or $DATABASE_URL): what --only database, --only hosts and " +
			"--hosts examine is there")
	}
	credentials, err := c.credentials(ctx)
	if err != nil {
		return err
	}
	clients := aws.New(aws.Options{Accounts: credentials, Endpoint: c.AWSEndpoint, Logger: log,
		Timeout: 30 * time.Second})
	if options.Registry, err = allModules(clients, hosts.New(hosts.Options{})); err != nil {
		return err
	}
	if c.Only == "all" || c.Only == "aws" {
		options.Clients = clients
	}
	if c.Only == "aws" || c.Only == "hosts" {
		options.DatabaseURL = ""
	}
	if c.DatabaseURL != "" && (c.Only == "all" || c.Only == "hosts") {
		options.Worlds = []doctor.World{c.examineHosts}
	}
	report, err := doctor.Run(ctx, options)
	if err != nil {
		return err
	}
	if err := c.print(report, out); err != nil {
		return err
	}
	if !report.GoOn {
		return errors.New(report.Verdict())
	}
	return nil
}

// credentials returns those of the account that was named.
func (c *doctorCmd) credentials(ctx context.Context) (aws.Accounts, error) {
	if c.Account == "" {
		return nil, nil
	}
	if c.DatabaseURL == "" {
		return nil, errors.New("--account names a row of the table aws_account: give --database-url, too")
	}
	conn, err := postgres.Open(ctx, c.DatabaseURL)
	if err != nil {
		return nil, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	found, err := awsaccount.LoadCredentials(conn)(ctx, c.Account)
	if err != nil {
		return nil, fmt.Errorf("account %s: %w", c.Account, err)
	}
	return func(context.Context, string) (aws.Credentials, error) { return found, nil }, nil
}

func (c *doctorCmd) print(report *doctor.Report, out io.Writer) error {
	if !c.JSON {
		var text strings.Builder
		if err := report.WriteText(&text); err != nil {
			return err
		}
		for line := range strings.Lines(text.String()) { // roles, tables and objects are called what anybody likes
			if _, err := fmt.Fprintln(out, printable(strings.TrimSuffix(line, "\n"))); err != nil {
				return err
			}
		}
		return nil
	}
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(report)
}
