package main

import (
	"log/slog"

	"github.com/jackc/pgx/v5/pgxpool"

	"iasql/internal/aws"
	"iasql/internal/engine"
	"iasql/internal/modules"
	"iasql/internal/modules/all"
	"iasql/internal/modules/awsaccount"
)

// allModules checks the modules and returns them.
func allModules(c *aws.Clients) (*modules.Registry, error) {
	return modules.NewRegistry(all.Modules(c)...)
}

// descriptions returns the modules without the means to call the cloud.
func descriptions() (*modules.Registry, error) {
	return allModules(aws.New(aws.Options{}))
}

func engineOptions(url, endpoint string, flags engineFlags, log *slog.Logger) engine.Options {
	return engine.Options{
		DatabaseURL: url,
		Registry: func(pool *pgxpool.Pool) (*modules.Registry, error) {
			return allModules(aws.New(aws.Options{Accounts: awsaccount.LoadCredentials(pool), ReadShare: awsaccount.LoadReadShare(pool), Endpoint: endpoint, Logger: log}))
		},
		Version:     version,
		Log:         log,
		Accounts:    flags.Accounts,
		Concurrency: flags.Concurrency,
	}
}
