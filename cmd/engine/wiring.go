package main

import (
	"log/slog"

	"github.com/jackc/pgx/v5/pgxpool"

	"iasql/internal/aws"
	"iasql/internal/engine"
	"iasql/internal/metrics"
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

// engineOptions has the engine tell m, which may be nil, what it does.
func engineOptions(url, endpoint string, flags engineFlags, log *slog.Logger, m *metrics.Metrics) engine.Options {
	var calls func(aws.Attempt)
	var cycles func(engine.Observation)
	if m != nil {
		calls = func(a aws.Attempt) {
			class := ""
			if a.Err != nil {
				class = a.Err.Class.String()
			}
			m.Call(a.Service, class, a.Took, a.Err != nil && a.Err.Class == modules.Throttled)
		}
		cycles = func(o engine.Observation) {
			m.Cycle(o.Kind, o.Took, o.Report.Pushed, o.Report.Pulled, len(o.Report.Errors), o.Err)
		}
	}
	return engine.Options{
		DatabaseURL: url,
		Registry: func(pool *pgxpool.Pool) (*modules.Registry, error) {
			return allModules(aws.New(aws.Options{Accounts: awsaccount.LoadCredentials(pool), ReadShare: awsaccount.LoadReadShare(pool), Endpoint: endpoint, Logger: log, Observe: calls}))
		},
		Version:     version,
		Log:         log,
		Accounts:    flags.Accounts,
		Concurrency: flags.Concurrency,
		Observe:     cycles,
	}
}
