package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"iasql/internal/devenv"
	"iasql/internal/engine"
	"iasql/internal/platform"
	"iasql/internal/postgres"
)

type devCmd struct {
	engineFlags
	httpFlags
	DataDir     string
	PGPort      int
	AWS         string
	AWSPort     int
	AWSEndpoint string
}

func devCommand(log **slog.Logger) *cobra.Command {
	var c devCmd
	cmd := &cobra.Command{
		Use: "dev", Short: "Run everything on this machine: a private PostgreSQL, an AWS emulator, the engine.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context(), *log) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&c.DataDir, "data-dir", "",
		"Where the private database lives; by default a folder of the user's own.")
	fromEnv(flags, "data-dir", "IASQL_DATA_DIR")
	flags.IntVar(&c.PGPort, "pg-port", 5433, "Port of the private database on 127.0.0.1; 0 picks a free one.")
	fromEnv(flags, "pg-port", "IASQL_PG_PORT")
	flags.Var(newOneOf(&c.AWS, "moto", "real"), "aws",
		"moto: start an AWS emulator. real: use AWS itself, with the credentials of this environment.")
	fromEnv(flags, "aws", "IASQL_AWS")
	flags.IntVar(&c.AWSPort, "aws-port", 0, "Port of the AWS emulator on 127.0.0.1; 0 picks a free one.")
	fromEnv(flags, "aws-port", "IASQL_AWS_PORT")
	flags.StringVar(&c.AWSEndpoint, "aws-endpoint", "", "`URL` to send AWS calls to; no emulator is started then.")
	fromEnv(flags, "aws-endpoint", "AWS_ENDPOINT_URL")
	c.engineFlags.declare(flags)
	c.httpFlags.declare(flags, devAddress)
	return cmd
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
		moto, err := devenv.StartMoto(ctx,
			devenv.MotoOptions{Port: c.AWSPort, Progress: progress, LogFile: filepath.Join(dir, "moto.log")})
		if err != nil {
			return err
		}
		defer stopped("moto_server", moto.Stop)
		corrected, stopCorrecting, err := moto.Corrected()
		if err != nil {
			return err
		}
		defer stopCorrecting()
		endpoint, emulator = corrected, moto.Done()
		// The emulator takes any credentials; the SDK wants some.
		for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing",
			"AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true"} {
			if os.Getenv(name) == "" {
				if err := os.Setenv(name, value); err != nil {
					return err
				}
			}
		}
		log.Info("aws emulator is ready", "endpoint", moto.URL())
	}
	progress("migrating the database")
	// The engine's login is a plain one, as it should be everywhere.
	if err := platform.Bootstrap(ctx, pg.AdminURL(), pg.ServiceURL()); err != nil {
		return err
	}
	if err := migrate(ctx, pg.ServiceURL()); err != nil {
		return err
	}
	if err := prepareUser(ctx, pg.AdminURL(), emulator != nil); err != nil {
		return err
	}
	work, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	site, err := c.listen()
	if err != nil {
		return err
	}
	defer site.close()
	tracer, stopTracing, err := startTracing(ctx, log)
	if err != nil {
		return err
	}
	defer stopTracing()
	m := metricsFor(site)
	e, err := engine.Start(work, engineOptions(pg.ServiceURL(), endpoint, c.engineFlags, log, m, tracer))
	if err != nil {
		return err
	}
	if err := site.serve(work, e, pg.ServiceURL(), m, log); err != nil {
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
	if emulator != nil {
		// Before it is said that all is ready: whoever types at once would find the tables full of what is gone.
		progress("following the emulator, which began empty")
		if err := followEmulator(work, pg.AdminURL()); err != nil && work.Err() == nil {
			log.Warn("the tables could not be told that the emulator has forgotten what it had; "+
				"iasql_confirm('vanished') does it", "error", err)
		}
	}
	for _, root := range c.HostRoots {
		if err := addHost(work, pg.AdminURL(), root); err != nil && work.Err() == nil {
			return err
		}
	}
	said := "ready: " + pg.UserURL() // the first line: scripts wait for it
	said += "\nadministrator: " + pg.AdminURL()
	if site != nil && site.listener != nil {
		said += "\nconsole: " + site.url()
	}
	fmt.Println(said)
	e.Wait(work)
	if cause := context.Cause(work); ctx.Err() == nil && cause != nil {
		return cause
	}
	return nil
}

// followEmulator says of what the tables have from the last time that it is gone, as it is: an emulator of our own
// begins empty. Otherwise a person would be asked (R28).
func followEmulator(ctx context.Context, url string) error {
	conn, err := postgres.Open(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var any bool
	if err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM iasql_internal.filled_records())`).Scan(&any); err != nil || !any {
		return err
	}
	// A first cycle finds out what is gone, a second one carries out what has been said of it.
	for _, statement := range []string{`SELECT public.iasql_sync_now()`, `SELECT public.iasql_confirm('vanished')`,
		`SELECT public.iasql_sync_now()`} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// addHost has a directory of this machine managed as a host, unless it is already. What of it is looked at, rows of
// host_scope say.
func addHost(ctx context.Context, url, root string) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	conn, err := postgres.Open(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, `SELECT FROM public.iasql_install('host_files')`); err != nil {
		return fmt.Errorf("install host_files: %w", err)
	}
	_, err = conn.Exec(ctx, `
		INSERT INTO public.host (name, host_root)
		SELECT concat('localhost', '-' || nullif((SELECT count(*) FROM public.host), 0)), $1
		WHERE NOT EXISTS (SELECT FROM public.host WHERE host_root = $1)`, root)
	if err != nil {
		return fmt.Errorf("add the host of %s: %w", root, err)
	}
	return nil
}

// shortWindow is the consistency_window with an emulator of our own, which shows at
// once what it has done: what one changes with the aws command is then in the tables
// after the next cycle, also where the engine has just written.
const shortWindow = "2 seconds"

// prepareUser makes the private database's login a plain user of the installation. Who
// makes roles could make himself a member of iasql_engine (manual, section 22.2, up to
// version 15), so that this takes the administrator. It sets the consistency_window to
// what the cloud needs, unless somebody has chosen another.
func prepareUser(ctx context.Context, url string, emulator bool) error {
	conn, err := postgres.Open(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, `
		GRANT iasql_user TO iasql;
		REVOKE ADMIN OPTION FOR iasql_user, iasql_reader FROM iasql;
		ALTER ROLE iasql NOCREATEROLE;
		GRANT CONNECT, CREATE ON DATABASE iasql TO iasql`); err != nil {
		return err
	}
	_, err = conn.Exec(ctx, `
		UPDATE public.iasql_settings SET value = CASE WHEN $1 THEN $2 ELSE '60 seconds' END
		WHERE name = 'consistency_window' AND value = CASE WHEN $1 THEN '60 seconds' ELSE $2 END`, emulator,
		shortWindow)
	return err
}
