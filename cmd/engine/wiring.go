package main

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/otel/trace"

	"iasql/internal/aws"
	"iasql/internal/aws/cfn"
	"iasql/internal/aws/compositions"
	"iasql/internal/aws/watch"
	"iasql/internal/engine"
	"iasql/internal/hosts"
	hostswatch "iasql/internal/hosts/watch"
	"iasql/internal/metrics"
	"iasql/internal/modules"
	"iasql/internal/modules/all"
	"iasql/internal/modules/awsaccount"
	"iasql/internal/modules/awstypes"
	"iasql/internal/modules/host"
	"iasql/internal/modules/hostcontainers"
	"iasql/internal/modules/hostfiles"
	"iasql/internal/platform"
	"iasql/internal/tracing"
)

// allModules checks the modules, the compositions, and the names of resource types, and returns them.
func allModules(c *aws.Clients, h *hosts.Hosts) (*modules.Registry, error) {
	registry, err := modules.NewRegistry(append(all.Modules(c), all.Hosts(h)...)...)
	if err != nil {
		return nil, err
	}
	composed, err := compositions.All()
	if err != nil {
		return nil, err
	}
	if err := registry.Compose(composed...); err != nil {
		return nil, err
	}
	return registry, registry.NameTypes(cfn.Known())
}

// descriptions returns the modules without the means to call the cloud.
func descriptions() (*modules.Registry, error) {
	return allModules(aws.New(aws.Options{}), hosts.New(hosts.Options{}))
}

// madeColumns are the columns that say which objects the cloud has made by itself, by table.
func madeColumns() (map[string]string, error) {
	registry, err := descriptions()
	if err != nil {
		return nil, err
	}
	columns := map[string]string{}
	for _, module := range registry.Modules() {
		for _, t := range module.Tables() {
			if t.Made != "" {
				columns[t.Name] = t.Made
			}
		}
	}
	return columns, nil
}

// startTracing has traces sent, if the environment asks for it, until stop is called.
func startTracing(ctx context.Context, log *slog.Logger) (tracer trace.Tracer, stop func(), err error) {
	t, err := tracing.Start(ctx, os.Getenv, version, log)
	if err != nil {
		return nil, nil, err
	}
	return t.Tracer(), func() {
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if err := t.Stop(limit); err != nil {
			log.Warn("the last traces could not be sent", "error", err)
		}
	}, nil
}

// engineOptions has the engine tell m and tracer, which may be nil, what it does.
func engineOptions(url, endpoint string, flags engineFlags, log *slog.Logger, m *metrics.Metrics,
	tracer trace.Tracer) engine.Options {
	var calls func(modules.Attempt)
	var cycles func(engine.Observation)
	if m != nil {
		calls = func(a modules.Attempt) {
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
	var clients *aws.Clients
	var machines *hosts.Hosts
	return engine.Options{
		DatabaseURL: url,
		Registry: func(pool *pgxpool.Pool) (*modules.Registry, error) {
			clients = aws.New(aws.Options{Accounts: awsaccount.LoadCredentials(pool),
				ReadShares: awsaccount.LoadReadShares(pool), Endpoint: endpoint, Logger: log, Tracer: tracer,
				Observe: calls})
			machines = hosts.New(hosts.Options{Load: host.Load(pool), Recovery: hostcontainers.LoadRecovery(pool),
				Secrets: hostfiles.SecretContents(pool), AgentSocket: os.Getenv("SSH_AUTH_SOCK"),
				SSHConfig: flags.SSHConfig, Roots: flags.HostRoots, Sources: flags.FileSources})
			return allModules(clients, machines)
		},
		Types: func(pool *pgxpool.Pool) modules.Source {
			return &awstypes.Source{Clients: clients, Learn: platform.LearnFixed(pool)}
		},
		Watch: func(pool *pgxpool.Pool, registry *modules.Registry, id string, log *slog.Logger) []engine.Watcher {
			return []engine.Watcher{
				&watch.Watch{Clients: clients, Registry: registry, Pool: pool, Engine: id, Log: log},
				&hostswatch.Watch{Hosts: machines, Pool: pool, Engine: id, Log: log}}
		},
		Worlds:      func() modules.Worlds { return modules.Worlds{aws.Provider: clients, hosts.Provider: machines} },
		Version:     version,
		Log:         log,
		Accounts:    flags.Accounts,
		Concurrency: flags.Concurrency,
		PullOnly:    flags.ReadOnly,
		Tracer:      tracer,
		Observe:     cycles,
	}
}
