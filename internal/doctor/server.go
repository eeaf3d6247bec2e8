package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// cron is what there is of pg_cron.
type cron struct {
	version   string // "": it is not in this database
	available bool   // on the server
	usable    bool   // by the login
	database  string // that it works in; "" where the login may not know
	workers   string // cron.use_background_workers: on, off, or ""
	running   int    // cron.max_running_jobs; 0 where it is not known
	processes int    // max_worker_processes
	job       bool   // the engine's own is there
	last      string // the status of its last run, "" for none
	message   string // of its last run
	age       time.Duration
}

// pgCron looks at the schedule that pg_cron keeps.
func (d *doctor) pgCron(ctx context.Context) (Check, error) {
	db := d.database
	c := cron{database: db.settings["cron.database_name"], workers: db.settings["cron.use_background_workers"]}
	c.running, _ = strconv.Atoi(db.settings["cron.max_running_jobs"])
	c.processes, _ = strconv.Atoi(db.settings["max_worker_processes"])
	if err := db.conn.QueryRow(ctx, `
		SELECT coalesce((SELECT e.extversion FROM pg_extension e WHERE e.extname = 'pg_cron'), ''),
			EXISTS (SELECT FROM pg_available_extensions a WHERE a.name = 'pg_cron'),
			EXISTS (SELECT FROM pg_namespace n WHERE n.nspname = 'cron' AND has_schema_privilege(n.oid, 'USAGE'))`).
		Scan(&c.version, &c.available, &c.usable); err != nil {
		return Check{}, err
	}
	if c.version != "" && c.usable {
		var seconds float64
		// A job and its runs are seen by the role that it belongs to alone.
		err := db.conn.QueryRow(ctx, `
			SELECT coalesce(r.status, ''), coalesce(r.return_message, ''), coalesce(extract(epoch FROM clock_timestamp() - r.start_time)::double precision, 0)
			FROM cron.job j LEFT JOIN LATERAL (SELECT * FROM cron.job_run_details d WHERE d.jobid = j.jobid ORDER BY d.runid DESC LIMIT 1) r ON true
			WHERE j.jobname = 'iasql-sync' AND j.username = current_user`).Scan(&c.last, &c.message, &seconds)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return Check{}, err
		}
		c.job, c.age = err == nil, time.Duration(seconds*float64(time.Second))
	}
	d.report.Database.PGCron = c.version
	return judgeCron(c, db.conn.Config().Database), nil
}

// judgeCron judges pg_cron in the database of that name.
func judgeCron(c cron, database string) Check {
	const instead = "; the engines keep the schedule themselves"
	switch {
	case c.version == "" && c.database != "" && c.database != database:
		return Check{Status: Skipped, Message: "pg_cron works in another database of this server" + instead}
	case c.version == "" && c.database == database && c.available:
		return Check{Status: Warning, Message: "pg_cron is loaded for this database, and the extension is missing" +
			instead,
			Advice: "run engine migrate --admin-url, or CREATE EXTENSION pg_cron as an administrator"}
	case c.version == "" && c.available:
		return Check{Status: Skipped, Message: "pg_cron is on the server, and not loaded for this database" + instead}
	case c.version == "":
		return Check{Status: Skipped, Message: "there is no pg_cron on the server" + instead}
	case !c.usable:
		return Check{Status: Warning, Message: "the engine may not use pg_cron" + instead,
			Advice: "have whoever created the extension run: GRANT USAGE ON SCHEMA cron TO iasql_engine"}
	case c.last == "failed":
		return Check{Status: Warning, Message: "the last run of pg_cron's job failed " +
			c.age.Round(time.Second).String() + " ago: " + maskText(c.message),
			Advice: "set cron.use_background_workers = on, or let pg_cron log in (a .pgpass file on the server)"}
	case c.workers == "off" && c.last == "":
		return Check{Status: Warning, Message: "pg_cron logs in for its jobs, with a password",
			Advice: "set cron.use_background_workers = on and restart the server, or give the server a .pgpass file"}
	case c.workers == "on" && c.running > 0 && c.processes < c.running+2:
		return Check{Status: Warning, Message: fmt.Sprintf(
			"max_worker_processes is %d, and pg_cron may run %d jobs at once", c.processes, c.running),
			Advice: fmt.Sprintf("set max_worker_processes to %d or more, or cron.max_running_jobs to less",
				c.running+2)}
	case !c.job:
		return Check{Status: OK, Message: "pg_cron " + c.version + "; an engine makes the job when it starts"}
	case c.last == "":
		return Check{Status: OK, Message: "pg_cron " + c.version + "; the job has not run yet"}
	}
	return Check{Status: OK, Message: fmt.Sprintf("pg_cron %s; the last run %s %s ago", c.version, c.last,
		c.age.Round(time.Second))}
}

// hbaRule is a line of pg_hba.conf.
type hbaRule struct {
	line            int
	kind            string // local, host, hostssl, …
	databases, user []string
	method          string
	failure         string // why the server does not understand it
}

// hba looks at pg_hba.conf, where the login may.
func (db *database) hba(ctx context.Context) (Check, error) {
	rows, err := db.conn.Query(ctx,
		`SELECT line_number, coalesce(type, ''), coalesce(database, '{}'), coalesce(user_name, '{}'), coalesce(auth_method, ''), coalesce(error, '') FROM pg_hba_file_rules ORDER BY line_number`)
	var rules []hbaRule
	if err == nil {
		var r hbaRule
		_, err = pgx.ForEachRow(rows, []any{&r.line, &r.kind, &r.databases, &r.user, &r.method, &r.failure},
			func() error {
				rules = append(rules, r)
				return nil
			})
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == pgerrcode.InsufficientPrivilege {
		return Check{Status: Skipped, Message: "only an administrator may read pg_hba.conf; database.loopback tries " +
			"what matters"}, nil
	}
	if err != nil {
		return Check{}, err
	}
	var role string
	if err := db.conn.QueryRow(ctx,
		`SELECT 'iasql_loopback_' || oid FROM pg_database WHERE datname = current_database()`).Scan(&role); err != nil {
		return Check{}, err
	}
	return judgeHBA(rules, db.conn.Config().Database, role), nil
}

// judgeHBA looks for lines that the server does not understand, and for those that
// let the loopback role in without a password, which dblink refuses.
func judgeHBA(rules []hbaRule, database, role string) Check {
	check := Check{Status: OK, Message: "nothing in pg_hba.conf is in the way"}
	for _, r := range rules {
		if r.failure != "" {
			check.Details = append(check.Details, fmt.Sprintf("line %d: the server does not understand it", r.line))
			continue
		}
		in := slices.Contains(r.databases, "all") || slices.Contains(r.databases, database)
		who := slices.Contains(r.user, "all") || slices.Contains(r.user, role)
		if in && who && slices.Contains([]string{"trust", "peer", "ident"}, r.method) {
			check.Details = append(check.Details,
				fmt.Sprintf("line %d: %s lets roles in without a password (%s)", r.line, r.kind, r.method))
		}
	}
	if len(check.Details) > 0 {
		check.Status, check.Message = Warning, "lines of pg_hba.conf may be in the way"
		check.Advice = "put this above the others and reload: host <database> all samehost scram-sha-256"
	}
	return check
}

// connections are what limits those of an engine; -1 is no limit.
type connections struct{ most, reserved, used, ofRole, ofDatabase int }

// connections compares an engine's pool with what the server has left.
func (d *doctor) connections(ctx context.Context) (Check, error) {
	db := d.database
	var c connections
	c.most, _ = strconv.Atoi(db.settings["max_connections"])
	superuser, _ := strconv.Atoi(db.settings["superuser_reserved_connections"])
	others, _ := strconv.Atoi(db.settings["reserved_connections"]) // from version 16 on
	c.reserved = superuser + others
	err := db.conn.QueryRow(ctx, `
		SELECT (SELECT count(*) FROM pg_stat_activity a WHERE a.usesysid IS NOT NULL AND a.datid IS NOT NULL AND a.pid <> pg_backend_pid()), r.rolconnlimit, d.datconnlimit
		FROM pg_roles r, pg_database d WHERE r.rolname = session_user AND d.datname = current_database()`).Scan(&c.used,
		&c.ofRole, &c.ofDatabase)
	if err != nil {
		return Check{}, err
	}
	return judgeConnections(c, d.Connections), nil
}

// fewest connections an engine works with: its presence, the queue, a cycle's
// lease and the cycle itself.
const fewest = 8

// judgeConnections judges whether an engine gets the connections that it may want.
func judgeConnections(c connections, wanted int) Check {
	free, limit := c.most-c.reserved-c.used, "max_connections"
	if c.ofRole >= 0 && c.ofRole < free {
		free, limit = c.ofRole, "the login's CONNECTION LIMIT"
	}
	if c.ofDatabase >= 0 && c.ofDatabase < free {
		free, limit = c.ofDatabase, "the database's CONNECTION LIMIT"
	}
	check := Check{Status: OK, Message: fmt.Sprintf("an engine opens up to %d, and %d are free", wanted, free)}
	if free < wanted {
		check.Status = Warning
		check.Message = fmt.Sprintf("an engine opens up to %d, and %s leaves %d", wanted, limit, free)
		check.Advice = "raise the limit, or run engine serve with fewer --accounts: it opens four connections for " +
			"each, and eight"
	}
	if free < fewest {
		check.Status = Failure
	}
	return check
}

// bounds are between what a setting of iasql_settings makes sense; seconds where
// it is an interval.
type bounds struct {
	interval    bool
	least, most float64
	low, high   string // what is wrong below and above
}

// settingBounds are narrower than what the database lets a user set.
var settingBounds = map[string]bounds{
	"sync_interval": {true, 10, 3600, "full cycles come so often that they use up the account's rates",
		"changes made in the cloud are seen late"},
	"max_staleness": {true, 60, 3600, "every cycle lists everything, which uses up the account's rates",
		"changes made in the cloud are seen late"},
	"watched_staleness": {true, 600, 6 * 3600, "tables are listed although events tell of their changes",
		"what events do not tell is seen very late"},
	"consistency_window": {true, 10, 600, "a read of AWS that lags behind may be taken for a change",
		"what others change in the cloud is seen late"},
	"read_share": {false, 0.1, 0.8, "the engine reads so slowly that changes made in the cloud are seen late",
		"the engine's reads may use up the account's rates"},
	"audit_retention":    {true, 7 * 86400, 0, "history is gone within days", ""},
	"batch_timeout":      {true, 0, 86400, "", "a batch that was left open keeps its records from others for long"},
	"max_deletes":        {false, 0, 1000, "", "the guard against mass deletion hardly guards"},
	"max_delete_ratio":   {false, 0, 0.9, "", "the guard against mass deletion hardly guards"},
	"delete_ratio_floor": {false, 0, 100, "", "the guard against mass deletion hardly guards"},
}

// iasqlSettings looks at iasql_settings.
func (d *doctor) iasqlSettings(ctx context.Context) (Check, error) {
	rows, err := d.database.conn.Query(ctx, `SELECT name, value FROM public.iasql_settings ORDER BY name`)
	values := map[string]string{}
	if err == nil {
		var name, value string
		_, err = pgx.ForEachRow(rows, []any{&name, &value}, func() error {
			values[name] = value
			return nil
		})
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) && (pg.Code == pgerrcode.UndefinedTable || pg.Code == pgerrcode.InsufficientPrivilege) {
		return Check{Status: Skipped, Message: "the database has not been migrated, or the login may not read " +
			"iasql_settings"}, nil
	}
	if err != nil {
		return Check{}, err
	}
	numbers := map[string]float64{}
	for name, b := range settingBounds {
		value, set := values[name]
		if !set {
			continue
		}
		var number float64
		if !b.interval {
			number, err = strconv.ParseFloat(value, 64)
		} else {
			err = d.database.conn.QueryRow(ctx, `SELECT extract(epoch FROM $1::text::interval)::double precision`,
				value).Scan(&number)
		}
		if err == nil {
			numbers[name] = number
		}
	}
	if seconds := numbers["sync_interval"]; seconds > 0 {
		d.interval = time.Duration(seconds * float64(time.Second))
	}
	return judgeSettings(values, numbers), nil
}

// judgeSettings judges the settings; numbers are those that could be read as such.
func judgeSettings(values map[string]string, numbers map[string]float64) Check {
	check := Check{Status: OK, Message: "nothing unusual in iasql_settings"}
	names := make([]string, 0, len(settingBounds))
	for name := range settingBounds {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		b := settingBounds[name]
		value, set := values[name]
		number, isNumber := numbers[name]
		switch {
		case !set:
			check.Details = append(check.Details, name+" is missing")
		case !isNumber:
			check.Details = append(check.Details, name+" cannot be read")
		case number < b.least:
			check.Details = append(check.Details, fmt.Sprintf("%s is %s: %s", name, value, b.low))
		case b.most > 0 && number > b.most:
			check.Details = append(check.Details, fmt.Sprintf("%s is %s: %s", name, value, b.high))
		}
	}
	if len(check.Details) > 0 {
		check.Status, check.Message = Warning, "unusual: "+count(len(check.Details), "setting")
		check.Advice = "if it is not meant so: UPDATE iasql_settings SET value = … WHERE name = …"
	}
	return check
}
