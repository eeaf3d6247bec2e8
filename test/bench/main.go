// Command bench measures what the targets in docs/performance speak of: on a
// private PostgreSQL with a scripted cloud in this process (scripted.go,
// engines.go), and with the built engine and the AWS emulator (emulator.go).
// Each figure is printed as a line of JSON when it is known; -out writes them
// all to a file, with the table and the growth curves beside it.
//
//	go run ./test/bench -n 1000,10000,100000
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"iasql/internal/devenv"
)

var (
	sizes    = flag.String("n", "1000,10000,100000", "numbers of objects, separated by commas")
	only     = flag.String("only", "mixed,scripted,engines,clients,emulator", "what to measure, separated by commas")
	out      = flag.String("out", "", "directory for figures.json, the table and the curves; none if empty")
	pageSize = flag.Int("page", 1000, "objects in a page of a listing")
	latency  = flag.Duration("latency", 0, "how long the scripted cloud takes to answer")
	edits    = flag.Int("edits", 200, "user edits to time; cells: 0 for none")
	provider = flag.String("terraform-provider", "",
		"directory of a binary terraform-provider-aws, to time terraform plan with; not done if empty")
	profiles = flag.String("profile", "",
		"directory for pprof profiles of what is measured in this process; none if empty")
	repeat   = flag.Int("repeat", 3, "quiet cycles to time, after a warm-up")
	cells    = flag.Int("cells", 4, "cells that work side by side")
	accounts = flag.Int("accounts", 10, "accounts that the cells have in all, each with so many objects")
	days     = flag.Int("days", 365, "days that pass")
	daily    = flag.Int("daily", 1000, "edits of a day")
)

// figure is a line of the result.
type figure struct {
	What   string  `json:"what"`
	N      int     `json:"n,omitempty"`
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
	Detail string  `json:"detail,omitempty"`
}

var figures []figure

func report(what string, n int, value float64, unit, detail string) {
	f := figure{what, n, value, unit, detail}
	figures = append(figures, f)
	line, _ := json.Marshal(f)
	fmt.Println(string(line))
}

func main() {
	flag.Parse()
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	var list []int
	for text := range strings.SplitSeq(*sizes, ",") {
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("-n: %w", err)
		}
		list = append(list, n)
	}
	for part := range strings.SplitSeq(*only, ",") {
		var measure func(ctx context.Context, dir, url string) error
		switch part {
		case "scripted":
			measure = func(ctx context.Context, _, url string) error { return measureScripted(ctx, url, list) }
		case "sizes":
			measure = func(ctx context.Context, _, url string) error { return measureSizes(ctx, url, list) }
		case "cells":
			measure = func(ctx context.Context, dir, _ string) error { return measureCells(ctx, dir, list) }
		case "year":
			measure = measureYear
		case "mixed":
			measure = measureMixed
		case "engines":
			measure = func(ctx context.Context, _, url string) error { return measureEngines(ctx, url) }
		case "clients":
			measure = measureClients
		case "emulator":
			measure = measureEmulator
		default:
			return fmt.Errorf("-only: there is no part %q", part)
		}
		if err := withCluster(ctx, measure); err != nil {
			return fmt.Errorf("%s: %w", part, err)
		}
	}
	if *out != "" {
		return write(*out)
	}
	return nil
}

// withCluster gives a measurement a directory with a PostgreSQL cluster of its
// own: in one that has just been filled, autovacuum and the checkpointer are busy
// for minutes.
func withCluster(ctx context.Context, measure func(ctx context.Context, dir, url string) error) error {
	dir, err := os.MkdirTemp("", "iasql-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // PostgreSQL runs as another user than root
		return err
	}
	pg, err := cluster(ctx, filepath.Join(dir, "data"), nil)
	if err != nil {
		return err
	}
	defer func() { _ = pg.Stop(ctx) }()
	return measure(ctx, dir, pg.AdminURL())
}

// cluster starts a server of its own, with additions to its environment and further settings.
func cluster(ctx context.Context, dir string, env []string, settings ...string) (*devenv.Postgres, error) {
	all := map[string]string{"shared_buffers": "512MB", "max_wal_size": "4GB", "max_connections": "500"}
	for _, setting := range settings {
		name, value, _ := strings.Cut(setting, "=")
		all[name] = value
	}
	return devenv.StartPostgres(ctx, devenv.PostgresOptions{DataDir: dir, Settings: all, Env: env})
}
