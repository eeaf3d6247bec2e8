package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"

	"iasql/internal/devenv"
	"iasql/internal/engine"
)

type devCmd struct {
	engineFlags
	DataDir     string
	PGPort      int
	AWS         string
	AWSPort     int
	AWSEndpoint string
}

func (c *devCmd) flags(f *flagSet) {
	c.engineFlags.flags(f)
	f.text(&c.DataDir, "data-dir", "DIR", "IASQL_DATA_DIR", "Where the private database lives; by default a folder of the user's own.")
	f.number(&c.PGPort, "pg-port", 5433, "IASQL_PG_PORT", "Port of the private database on 127.0.0.1; 0 picks a free one.")
	f.oneOf(&c.AWS, "aws", "IASQL_AWS", "moto: start an AWS emulator. real: use AWS itself, with the credentials of this environment.", "moto", "real")
	f.number(&c.AWSPort, "aws-port", 0, "IASQL_AWS_PORT", "Port of the AWS emulator on 127.0.0.1; 0 picks a free one.")
	awsEndpoint(f, &c.AWSEndpoint, "Where to send AWS calls; no emulator is started then.")
}

// run starts everything, says so on standard output, and stops it in order
// when it is told to.
func (c *devCmd) run(ctx context.Context, log *slog.Logger) (err error) {
	progress := func(text string) { log.Info(text) }
	dir := c.DataDir
	if dir == "" {
		dir = devenv.DefaultDataDir("dev")
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	stopped := func(what string, stop func(context.Context) error) {
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		progress("stopping " + what)
		err = errors.Join(err, stop(limit))
	}
	pg, err := devenv.StartPostgres(ctx, devenv.PostgresOptions{DataDir: dir, Port: c.PGPort, Progress: progress})
	if err != nil {
		return err
	}
	defer stopped("postgres", pg.Stop)
	if !pg.HasCron() {
		log.Warn("pg_cron is not installed; the engine itself schedules full cycles")
	}
	var emulator <-chan struct{}
	endpoint := c.AWSEndpoint
	if endpoint == "" && c.AWS == "moto" {
		moto, err := devenv.StartMoto(ctx, devenv.MotoOptions{Port: c.AWSPort, Progress: progress, LogFile: filepath.Join(os.TempDir(), fmt.Sprintf("iasql-moto-%d.log", os.Getpid()))})
		if err != nil {
			return err
		}
		defer stopped("moto_server", moto.Stop)
		endpoint, emulator = moto.URL(), moto.Done()
		// The emulator takes any credentials; the SDK wants some.
		for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true"} {
			if os.Getenv(name) == "" {
				if err := os.Setenv(name, value); err != nil {
					return err
				}
			}
		}
		log.Info("aws emulator is ready", "endpoint", endpoint)
	}
	progress("migrating the database")
	if err := migrate(ctx, pg.AdminURL()); err != nil {
		return err
	}
	if err := grantUser(ctx, pg.AdminURL()); err != nil {
		return err
	}
	work, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	e, err := engine.Start(work, engineOptions(pg.AdminURL(), endpoint, c.engineFlags, log))
	if err != nil {
		return err
	}
	go func() {
		select {
		case <-pg.Done():
			cancel(fmt.Errorf("postgres ended: %w", pg.Err()))
		case <-emulator: // nil, and so never, without an emulator
			cancel(errors.New("the aws emulator ended"))
		case <-work.Done():
		}
	}()
	fmt.Println("ready: " + pg.UserURL())
	if err := e.Wait(work); err != nil {
		return err
	}
	if cause := context.Cause(work); ctx.Err() == nil && cause != nil {
		return cause
	}
	return nil
}

// grantUser makes the private database's login a user of the installation.
func grantUser(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, `GRANT iasql_user TO iasql`)
	return err
}
