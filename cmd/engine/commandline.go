package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"iasql/internal/hosts"
)

// The command line is read by cobra, which neither finds methods by name nor
// prints its help by text/template: what does either has the linker keep every
// exported method of every type, which with the SDKs of all services is more
// than half of the binary, and pages that an idle engine keeps in memory.

// variable is the annotation that names a flag's environment variable.
const variable = "environment variable"

// fromEnv gives a flag an environment variable, which holds unless the flag is
// given.
func fromEnv(flags *pflag.FlagSet, name, env string) {
	flag := flags.Lookup(name)
	flag.Usage = strings.TrimSuffix(flag.Usage, ".") + " ($" + env + ")."
	if err := flags.SetAnnotation(name, variable, []string{env}); err != nil {
		panic(err) // there is no such flag
	}
}

// required marks a flag that has to be given, or its variable.
const required = "required"

// oneOf is a flag's value that is one of a few words.
type oneOf struct {
	value *string
	words []string
}

// newOneOf has the first word until it is set.
func newOneOf(value *string, words ...string) *oneOf {
	*value = words[0]
	return &oneOf{value, words}
}

// String implements pflag.Value.
func (o *oneOf) String() string { return *o.value }

// Type implements pflag.Value.
func (o *oneOf) Type() string { return strings.Join(o.words, "|") }

// Set implements pflag.Value.
func (o *oneOf) Set(word string) error {
	if !slices.Contains(o.words, word) {
		return fmt.Errorf("must be one of %s", strings.Join(o.words, ", "))
	}
	*o.value = word
	return nil
}

// engineCommand returns the command line. log is set before a command runs.
func engineCommand(log **slog.Logger) *cobra.Command {
	var level, format string
	var asJSON bool
	root := &cobra.Command{
		Use:           "engine",
		Short:         "Keeps a cloud account and the tables of a PostgreSQL database equal, in both directions.",
		Version:       described(),
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := environment(cmd.Flags(), os.Getenv); err != nil {
				return err
			}
			cmd.SilenceUsage = true // what fails from now on is not the command line
			if asJSON {
				format = "json"
			}
			*log = logger(level, format)
			slog.SetDefault(*log)
			return nil
		},
	}
	flags := root.PersistentFlags()
	flags.Var(newOneOf(&level, "info", "debug", "warn", "error"), "log-level", "Least severe messages to log.")
	fromEnv(flags, "log-level", "IASQL_LOG_LEVEL")
	flags.Var(newOneOf(&format, "text", "json"), "log-format",
		"How to log: text for people, json for machines, one object a line.")
	fromEnv(flags, "log-format", "IASQL_LOG_FORMAT")
	flags.BoolVar(&asJSON, "log-json", false, "The same as --log-format=json.")
	fromEnv(flags, "log-json", "IASQL_LOG_JSON")
	root.AddCommand(devCommand(log), serveCommand(log), consoleCommand(log), migrateCommand(log), statusCommand(),
		batchCommand(),
		applyCommand(),
		importStateCommand(), importPricesCommand(), composeCommand(), cellsCommand(),
		versionCommand(), doctorCommand(log), supportCommand(log), auditCommand(), iamPolicyCommand(), docsCommand(),
		correctCommand())
	flags.SortFlags = false
	return root
}

// environment sets the flags that were not given from the environment. A
// variable that is empty counts as none.
func environment(flags *pflag.FlagSet, lookup func(string) string) error {
	var failures []error
	flags.VisitAll(func(flag *pflag.Flag) {
		for _, env := range flag.Annotations[variable] {
			if text := lookup(env); !flag.Changed && text != "" {
				if err := flags.Set(flag.Name, text); err != nil {
					failures = append(failures, fmt.Errorf("$%s: %w", env, err))
				}
			}
			if flag.Annotations[required] != nil && !flag.Changed {
				failures = append(failures, fmt.Errorf("missing flag: --%s (or $%s)", flag.Name, env))
			}
		}
	})
	return errors.Join(failures...)
}

// databaseFlag is shared by the commands that work on an existing database.
type databaseFlag struct {
	DatabaseURL string
}

func (f *databaseFlag) declare(flags *pflag.FlagSet) {
	flags.StringVar(&f.DatabaseURL, "database-url", "",
		"The database, as `postgres://user:password@host:port/name`; TLS as sslmode says.")
	fromEnv(flags, "database-url", "DATABASE_URL")
	flags.Lookup("database-url").Annotations[required] = []string{"true"}
}

// sourceFlag is a flag's value to which each use of the flag adds a source.
type sourceFlag hosts.Sources

// String implements pflag.Value.
func (s sourceFlag) String() string { return "" }

// Set implements pflag.Value.
func (s sourceFlag) Set(text string) error { return hosts.Sources(s).Add(text) }

// Type implements pflag.Value.
func (s sourceFlag) Type() string { return "NAME=DIR" }

// engineFlags are shared by the commands that run an engine.
type engineFlags struct {
	Accounts    int
	Concurrency int
	ReadOnly    bool
	HostRoots   []string
	FileSources hosts.Sources
	SSHConfig   string
}

// declareSSHConfig declares what both an engine and doctor reach hosts by.
func declareSSHConfig(flags *pflag.FlagSet, file *string) {
	flags.StringVar(file, "ssh-config", "", "`FILE` of OpenSSH's configuration, such as ~/.ssh/config, that says how "+
		"hosts whose row has ssh_config are reached.")
	fromEnv(flags, "ssh-config", "IASQL_SSH_CONFIG")
}

func (f *engineFlags) declare(flags *pflag.FlagSet) {
	flags.IntVar(&f.Accounts, "accounts", 16, "Accounts whose cycles run at once in this engine.")
	fromEnv(flags, "accounts", "IASQL_ACCOUNTS")
	flags.IntVar(&f.Concurrency, "concurrency", 16, "Operations of one cycle under way at once.")
	fromEnv(flags, "concurrency", "IASQL_CONCURRENCY")
	flags.BoolVar(&f.ReadOnly, "read-only", false,
		"Pull, and change nothing in the cloud: for a copy or a restored database.")
	fromEnv(flags, "read-only", "IASQL_READ_ONLY")
	flags.StringArrayVar(&f.HostRoots, "host-root", nil,
		"`DIR`ectory of this machine that a row of the table host may name, to be managed as a host. May be repeated.")
	fromEnv(flags, "host-root", "IASQL_HOST_ROOT")
	f.FileSources = hosts.Sources{}
	flags.Var(sourceFlag(f.FileSources), "file-source",
		"`NAME=DIR`ectory of this machine from whose files host_file.source takes contents, as NAME/PATH. "+
			"May be repeated.")
	fromEnv(flags, "file-source", "IASQL_FILE_SOURCE")
	declareSSHConfig(flags, &f.SSHConfig)
}
