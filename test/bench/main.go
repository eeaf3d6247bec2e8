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
	"slices"
	"strconv"
	"strings"

	"iasql/internal/devenv"
)

var (
	sizes    = flag.String("n", "1000,10000,100000", "numbers of objects, separated by commas")
	only     = flag.String("only", "scripted,engines,emulator", "what to measure, separated by commas")
	out      = flag.String("out", "", "directory for figures.json, the table and the curves; none if empty")
	pageSize = flag.Int("page", 1000, "objects in a page of a listing")
	latency  = flag.Duration("latency", 0, "how long the scripted cloud takes to answer")
	edits    = flag.Int("edits", 200, "user edits to time")
	provider = flag.String("terraform-provider", "", "directory of a binary terraform-provider-aws, to time terraform plan with; not done if empty")
	repeat   = flag.Int("repeat", 3, "quiet cycles to time, after a warm-up")
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
	dir, err := os.MkdirTemp("", "iasql-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // PostgreSQL runs as another user than root
		return err
	}
	pg, err := devenv.StartPostgres(ctx, devenv.PostgresOptions{DataDir: filepath.Join(dir, "data"), Settings: map[string]string{
		"shared_buffers": "512MB", "max_wal_size": "4GB", "max_connections": "500"}})
	if err != nil {
		return err
	}
	defer func() { _ = pg.Stop(ctx) }()
	parts := strings.Split(*only, ",")
	if slices.Contains(parts, "scripted") {
		var list []int
		for text := range strings.SplitSeq(*sizes, ",") {
			n, err := strconv.Atoi(text)
			if err != nil {
				return fmt.Errorf("-n: %w", err)
			}
			list = append(list, n)
		}
		if err := measureScripted(ctx, pg.AdminURL(), list); err != nil {
			return err
		}
	}
	if slices.Contains(parts, "engines") {
		if err := measureEngines(ctx, pg.AdminURL()); err != nil {
			return fmt.Errorf("engines: %w", err)
		}
	}
	if slices.Contains(parts, "emulator") {
		if err := measureEmulator(ctx, dir, pg.AdminURL()); err != nil {
			return fmt.Errorf("emulator: %w", err)
		}
	}
	if *out != "" {
		return write(*out)
	}
	return nil
}
