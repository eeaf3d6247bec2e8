package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"iasql/internal/devenv"
	"iasql/internal/test/likeness"
)

// A mixed account: so many of each, at the rates that AWS documents, in one region.
const (
	mixed      = 100
	mixedZones = 30
)

// mixedModules are the modules of what it has.
const mixedModules = `'aws_vpc', 'aws_sqs', 'aws_sns', 'aws_cloudwatch', 'aws_route53'`

// mixedInserts make it.
var mixedInserts = []string{
	`INSERT INTO vpc (cidr_block, tags) SELECT format('10.%s.0.0/16', i)::cidr, jsonb_build_object('Name', 'bench-' || i) FROM generate_series(1, $1) i`,
	`INSERT INTO queue (name, visibility_timeout, tags) SELECT 'bench-' || i, 60, '{"for": "bench"}' FROM generate_series(1, $1) i`,
	`INSERT INTO topic (name, display_name, tags) SELECT 'bench-' || i, 'Bench', '{"for": "bench"}' FROM generate_series(1, $1) i`,
	`INSERT INTO log_group (log_group_name, retention_in_days, tags) SELECT '/bench/' || i, 7, '{"for": "bench"}' FROM generate_series(1, $1) i`,
	`INSERT INTO hosted_zone (domain_name) SELECT format('bench-%s.test.', i) FROM generate_series(1, least($1, 30)) i`,
}

// measureMixed measures a mixed account: creating it, reading it when somebody asks and when
// nobody does, one edit, and an import.
func measureMixed(ctx context.Context, dir, url string) error {
	binary := filepath.Join(dir, "engine")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", binary, "iasql/cmd/engine").CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w: %s", err, out)
	}
	moto, err := devenv.StartMoto(ctx, devenv.MotoOptions{})
	if err != nil {
		return err
	}
	defer func() { _ = moto.Stop(ctx) }()
	rates := &likeness.Rates{}
	l, stop, err := likeness.New(moto.URL(), rates)
	if err != nil {
		return err
	}
	defer stop()
	user, err := pgxpool.New(ctx, url)
	if err != nil {
		return err
	}
	defer user.Close()
	engine, err := serve(ctx, binary, url, l.URL, user)
	if err != nil {
		return err
	}
	defer engine.stop()
	exec := func(statements ...string) error {
		for _, sql := range statements {
			if _, err := user.Exec(ctx, sql); err != nil {
				return fmt.Errorf("%s: %w", sql, err)
			}
		}
		return nil
	}
	if err := exec(`SELECT * FROM iasql_install('aws_account')`,
		`UPDATE aws_regions SET is_enabled = region = 'us-east-1'`,
		`UPDATE iasql_settings SET value = '1 hour' WHERE name = 'sync_interval'`,
		`SELECT * FROM iasql_install(`+mixedModules+`)`); err != nil {
		return err
	}
	total := 4*mixed + mixedZones
	timed := func(what string, do func() error) error {
		if err := quiet(ctx, user); err != nil {
			return err
		}
		before, calls, begun := l.Proxy.Counts(), rates.Refused(), time.Now()
		if err := do(); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		took := time.Since(begun)
		mutations, reading, names := counted(before, l.Proxy.Counts())
		refused := 0
		for key, n := range rates.Refused() {
			refused += n - calls[key]
		}
		report("mixed account: "+what, total, took.Seconds(), "s",
			fmt.Sprintf("%d calls, %d of them reads, %d throttled: %s", mutations+reading, reading, refused, names))
		return nil
	}
	if err := timed("create all", func() error {
		tx, err := user.Begin(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback(ctx) }()
		for _, sql := range mixedInserts {
			if _, err := tx.Exec(ctx, sql, mixed); err != nil {
				return fmt.Errorf("%s: %w", sql, err)
			}
		}
		if err := tx.Commit(ctx); err != nil {
			return err
		}
		return exec(`SELECT iasql_wait_for_all(600)`)
	}); err != nil {
		return err
	}
	for range 2 {
		if err := timed("a full cycle that is asked for", func() error {
			return exec(`SELECT iasql_sync_now()`)
		}); err != nil {
			return err
		}
	}
	if err := quietMinutes(ctx, exec, user, l, total); err != nil {
		return err
	}
	if err := timed("one edit", func() error {
		return exec(`UPDATE queue SET delay_seconds = 5 WHERE name = 'bench-7'`, `SELECT iasql_wait_for_all(60)`)
	}); err != nil {
		return err
	}
	if err := exec(`SELECT * FROM iasql_uninstall(` + mixedModules + `)`); err != nil {
		return err
	}
	if err := timed("import", func() error {
		return exec(`SELECT * FROM iasql_install(` + mixedModules + `)`)
	}); err != nil {
		return err
	}
	if *provider == "" {
		return nil
	}
	engine.stop()
	return mixedTerraform(ctx, dir, l.URL, timed)
}

// quietMinutes measures the scheduled cycles of ten minutes in which nothing happens.
func quietMinutes(ctx context.Context, exec func(...string) error, user *pgxpool.Pool, l *likeness.Likeness,
	total int) error {
	var sum, most int
	var longest time.Duration
	first := l.Proxy.Counts()
	for range 10 {
		// A minute later, and the last change was yesterday.
		if err := exec(`UPDATE iasql_internal.listing SET tried = tried - interval '1 minute', listed = listed - interval '1 minute', changed = now() - interval '1 day'`); err != nil {
			return err
		}
		before, begun := l.Proxy.Counts(), time.Now()
		if err := exec(`SELECT iasql_internal.enqueue_sync()`); err != nil {
			return err
		}
		if err := quiet(ctx, user); err != nil {
			return err
		}
		mutations, reading, _ := counted(before, l.Proxy.Counts())
		sum, most, longest = sum+mutations+reading, max(most, mutations+reading), max(longest, time.Since(begun))
	}
	_, _, names := counted(first, l.Proxy.Counts())
	report("mixed account: the longest of ten scheduled quiet cycles", total, longest.Seconds(), "s",
		fmt.Sprintf("%d calls at most, %d on average, in all ten: %s", most, sum/10, names))
	return nil
}

// mixedTerraform has Terraform make and read such an account, in another region; zones and
// all else have other names.
func mixedTerraform(ctx context.Context, dir, endpoint string, timed func(string, func() error) error) error {
	services := []string{"ec2", "sts", "iam", "sqs", "sns", "logs", "route53"}
	var endpoints strings.Builder
	for _, service := range services {
		fmt.Fprintf(&endpoints, "    %s = %q\n", service, endpoint)
	}
	t, err := newTerraform(dir, *provider, fmt.Sprintf(`
terraform {
  required_providers {
    aws = { source = "hashicorp/aws" }
  }
}
provider "aws" {
  region                      = %[1]q
  access_key                  = "test"
  secret_key                  = "test"
  skip_credentials_validation = true
  skip_metadata_api_check     = true
  skip_requesting_account_id  = true
  endpoints {
%[2]s  }
}
resource "aws_vpc" "bench" {
  count      = %[3]d
  cidr_block = "10.${count.index}.0.0/16"
  tags       = { Name = "bench-${count.index}" }
}
resource "aws_sqs_queue" "bench" {
  count                      = %[3]d
  name                       = "terraform-${count.index}"
  visibility_timeout_seconds = 60
  tags                       = { "for" = "bench" }
}
resource "aws_sns_topic" "bench" {
  count        = %[3]d
  name         = "terraform-${count.index}"
  display_name = "Bench"
  tags         = { "for" = "bench" }
}
resource "aws_cloudwatch_log_group" "bench" {
  count             = %[3]d
  name              = "/terraform/${count.index}"
  retention_in_days = 7
  tags              = { "for" = "bench" }
}
resource "aws_route53_zone" "bench" {
  count = %[4]d
  name  = "terraform-${count.index}.test"
}
`, elsewhere, endpoints.String(), mixed, mixedZones))
	if err != nil {
		return err
	}
	if err := timed("terraform apply", func() error {
		return t.run(ctx, "apply", "-auto-approve", "-input=false", "-no-color")
	}); err != nil {
		return err
	}
	return timed("terraform plan -refresh-only", func() error {
		return t.run(ctx, "plan", "-refresh-only", "-input=false", "-no-color")
	})
}

// terraform is a folder with a configuration.
type terraform struct{ dir, rc string }

// newTerraform makes one that uses the provider's binary in a directory
// (Terraform manual, "CLI configuration: development overrides": nothing is downloaded, and
// terraform init is not needed).
func newTerraform(dir, provider, configuration string) (*terraform, error) {
	work := filepath.Join(dir, "terraform")
	if err := os.Mkdir(work, 0o755); err != nil {
		return nil, err
	}
	files := map[string]string{
		"terraformrc": fmt.Sprintf("provider_installation {\n  dev_overrides {\n    \"hashicorp/aws\" = %q\n  }\n}\n",
			provider),
		"main.tf": configuration,
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(work, name), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	return &terraform{work, filepath.Join(work, "terraformrc")}, nil
}

func (t *terraform) run(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "terraform", args...)
	cmd.Dir = t.dir
	cmd.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+t.rc, "CHECKPOINT_DISABLE=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("terraform %s: %w: %s", args[0], err, out)
	}
	return nil
}
