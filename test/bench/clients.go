package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

// Commits of many clients: each updates rows of its own, one a transaction, as fast as it is
// answered. pgbench (PostgreSQL's manual) is the clients.
const (
	rowsPerClient = 1000
	clientsFor    = 10 * time.Second
)

// measureClients times them without an engine, for an engine takes processors too, then with one.
func measureClients(ctx context.Context, dir, url string) error {
	in, err := install(ctx, url, newSharedCloud(0), 1, 0, 0)
	if err != nil {
		return err
	}
	defer in.user.Close()
	in.stops[0]()
	if _, err := in.user.Exec(ctx, `CREATE TABLE plain (id bigint PRIMARY KEY, label text)`); err != nil {
		return err
	}
	if _, err := in.user.Exec(ctx, `INSERT INTO plain SELECT i FROM generate_series(1, 64 * $1::int) i`, rowsPerClient); err != nil {
		return err
	}
	if _, err := in.user.Exec(ctx,
		`INSERT INTO item (id, label) OVERRIDING SYSTEM VALUE SELECT i, 'first' FROM generate_series(1, 64 * $1::int) i`, rowsPerClient); err != nil {
		return err
	}
	for _, table := range []string{"plain", "item"} {
		var one float64
		for _, clients := range []int{1, 16, 64} {
			rate, err := pgbench(ctx, dir, url, table, clients)
			if err != nil {
				return err
			}
			if clients == 1 {
				one = rate
			}
			report("commits of clients that update "+table, clients, rate, "commits/s",
				fmt.Sprintf("%.2f times one client", rate/one))
		}
	}
	return nil
}

var tps = regexp.MustCompile(`(?m)^tps = ([0-9.]+)`)

// pgbench returns how many transactions a second the clients commit.
func pgbench(ctx context.Context, dir, url, table string, clients int) (float64, error) {
	script := filepath.Join(dir, table+".sql")
	text := fmt.Sprintf("\\set row :client_id * %d + random(1, %d)\n\\set label random(1, 1000000000)\nUPDATE %s SET "+
		"label = :label WHERE id = :row;\n", rowsPerClient, rowsPerClient, table)
	if err := os.WriteFile(script, []byte(text), 0o644); err != nil {
		return 0, err
	}
	out, err := exec.CommandContext(ctx, "pgbench", "--no-vacuum", "--protocol=prepared", "--file="+script,
		"--client="+strconv.Itoa(clients), "--jobs=2", fmt.Sprintf("--time=%d", int(clientsFor.Seconds())),
		url).CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("pgbench: %w: %s", err, out)
	}
	rate := tps.FindSubmatch(out)
	if rate == nil {
		return 0, fmt.Errorf("pgbench says no rate: %s", out)
	}
	return strconv.ParseFloat(string(rate[1]), 64)
}
