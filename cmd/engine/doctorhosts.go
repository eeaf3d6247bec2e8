package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"iasql/internal/doctor"
	"iasql/internal/hosts"
	"iasql/internal/modules/host"
	"iasql/internal/postgres"
)

// hostsAtOnce is how many hosts are examined at once.
const hostsAtOnce = 8

// examineHosts examines the hosts that are in the database, those that were named or all. It is a [doctor.World].
func (c *doctorCmd) examineHosts(ctx context.Context, progress func(string)) []doctor.Check {
	failed := func(err error) []doctor.Check {
		return []doctor.Check{{ID: "host.all", Status: doctor.Failure, Message: "the table host cannot be read",
			Advice: "look at what is found of the database", Details: []string{clip(err.Error())}}}
	}
	pool, err := postgres.ConnectReadOnly(ctx, c.DatabaseURL, 20*time.Second)
	if err != nil {
		return failed(err)
	}
	defer pool.Close()
	known, installed, err := knownHosts(ctx, pool)
	if err != nil {
		return failed(err)
	}
	checks := []doctor.Check{}
	chosen := known
	if len(c.Hosts) > 0 {
		chosen = c.Hosts
		for _, name := range c.Hosts {
			if !slices.Contains(known, name) {
				checks = append(checks, doctor.Check{ID: "host." + name + ".reached", Status: doctor.Failure,
					Message: "there is no such host", Advice: "INSERT INTO host …, or name another with --hosts"})
			}
		}
	}
	machines := hosts.New(hosts.Options{Load: host.Load(pool), AgentSocket: os.Getenv("SSH_AUTH_SOCK"),
		SSHConfig: c.SSHConfig})
	defer machines.Close()
	found := make([][]hosts.Finding, len(chosen))
	var work sync.WaitGroup
	slots := make(chan struct{}, hostsAtOnce)
	for i, name := range chosen {
		if !slices.Contains(known, name) {
			continue
		}
		work.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			progress("looking at host " + name)
			found[i] = machines.Examine(ctx, name, installed)
		})
	}
	work.Wait()
	for i, name := range chosen {
		for _, f := range found[i] {
			check := doctor.Check{ID: "host." + name + "." + f.Name, Status: doctor.OK, Message: f.Message,
				Advice: f.Advice}
			switch {
			case f.Advice != "" && len(c.Hosts) > 0:
				check.Status = doctor.Failure
			case f.Advice != "":
				check.Status = doctor.Warning
			}
			checks = append(checks, check)
		}
	}
	return checks
}

// knownHosts returns the names of the hosts that there are, and those of the modules that are installed.
func knownHosts(ctx context.Context, pool *pgxpool.Pool) (known, installed []string, err error) {
	rows, _ := pool.Query(ctx, `SELECT name FROM iasql_internal.module WHERE installed IS NOT NULL ORDER BY name`)
	if installed, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
		return nil, nil, fmt.Errorf("which modules are installed: %w", err)
	}
	if !slices.Contains(installed, "host") {
		return nil, installed, nil
	}
	rows, _ = pool.Query(ctx, `SELECT name FROM public.host ORDER BY name`)
	if known, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
		return nil, nil, fmt.Errorf("which hosts there are: %w", err)
	}
	return known, installed, nil
}

// clip returns the beginning of an error's first line.
func clip(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line[:min(len(line), 200)]
}
