package metrics

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// fresh is how long what was read is told again: many may scrape, or somebody may
// do so very often.
const fresh = 5 * time.Second

// gauge is a metric whose values a query gives: labels first, the value last.
type gauge struct {
	desc  *prometheus.Desc
	query string
	n     int // labels
}

// installation reads what every engine of a database would tell alike.
type installation struct {
	pool   *pgxpool.Pool
	gauges []gauge
	lock   sync.Mutex
	at     time.Time
	last   []prometheus.Metric
}

func newInstallation(pool *pgxpool.Pool) *installation {
	g := func(name, help, query string, labels ...string) gauge {
		return gauge{prometheus.NewDesc(name, help, labels, nil), query, len(labels)}
	}
	return &installation{pool: pool, gauges: []gauge{
		g("iasql_queue_jobs", "Jobs of the queue that wait or run, by queue and state; at most 100000 are counted.",
			`SELECT queue, state::text, count(*) FROM (SELECT queue, state FROM iasql_river.river_job WHERE state IN ('available', 'running', 'retryable', 'pending', 'scheduled') LIMIT 100000) j GROUP BY 1, 2`, "queue", "state"),
		g("iasql_pending_changes", "Changes by users that have not reached the cloud; at most 100000 are counted.",
			`SELECT count(*) FROM (SELECT FROM public.iasql_audit_log WHERE NOT settled LIMIT 100000) l`),
		g("iasql_records_unsettled", "Records in a state other than Present that the engine remembers, by state and "+
			"whether they need a person; at most 100000 are counted.",
			`SELECT state, review::text, count(*) FROM (SELECT state, review FROM iasql_internal.record_state LIMIT 100000) s GROUP BY 1, 2`, "state", "review"),
		g("iasql_records_needing_review", "Records that need a person; at most 100000 are counted.",
			`SELECT count(*) FROM (SELECT FROM iasql_internal.record_state WHERE review LIMIT 100000) s`),
		g("iasql_conflicts_open", "Columns that changed on both sides and wait for a decision; at most 100000 are "+
			"counted.",
			`SELECT count(*) FROM (SELECT FROM public.iasql_conflicts WHERE resolved IS NULL AND NOT closed LIMIT 100000) c`),
		g("iasql_table_staleness_seconds",
			"How long ago the least recent listing of a table in the cloud began, over its regions.",
			`SELECT account, table_name, extract(epoch FROM clock_timestamp() - min(listed))::double precision FROM iasql_internal.listing GROUP BY 1, 2 HAVING min(listed) IS NOT NULL`, "account", "table"),
		g("iasql_listings_denied", "Listings that the cloud does not permit, by account and table.",
			`SELECT account, table_name, count(*) FROM iasql_internal.listing WHERE denied IS NOT NULL GROUP BY 1, 2`,
			"account", "table"),
		g("iasql_places",
			"Tables in regions that an account has, by what the last listing came to: read, denied as a whole, or "+
				"failed.",
			`SELECT account, CASE WHEN u.error IS NULL OR u.partly THEN 'read' WHEN u.denied THEN 'denied' ELSE 'failed' END, count(*)
			 FROM iasql_internal.listing l FULL JOIN iasql_internal.unread u USING (account, table_name, region) GROUP BY 1, 2`,
			"account", "answer"),
		g("iasql_rows_deleted_by_pulls", "Rows that went from the tables in the last 15 minutes because their objects "+
			"had gone from the cloud; of the last 20000 changes.",
			// (By the primary key: the index on ts knows nothing of what was written since the last vacuum.)
			`WITH newest AS MATERIALIZED (
				SELECT l.account, l.origin, l.change_type, l.ts FROM public.iasql_audit_log l
				WHERE l.id > (SELECT max(k.id) FROM public.iasql_audit_log k) - 20000)
			 SELECT a.name, count(n.account) FROM iasql_internal.account a
			 LEFT JOIN newest n ON n.account = a.name AND n.origin = 'engine' AND n.change_type = 'DELETE' AND n.ts > now() - interval '15 minutes'
			 GROUP BY 1`, "account"),
		g("iasql_audit_log_bytes", "How much of the disk the audit log takes, with its indexes.",
			`SELECT pg_total_relation_size('public.iasql_audit_log')`),
		g("iasql_max_staleness_seconds",
			"How old the newest listing of a table may become: the setting max_staleness or, while events of changes "+
				"are relied on, watched_staleness if that is longer.",
			`SELECT extract(epoch FROM greatest(iasql_internal.setting('max_staleness')::interval,
				CASE WHEN EXISTS (SELECT FROM iasql_internal.event_source s WHERE s.kind = 'queue' AND iasql_internal.source_trouble(s) IS NULL) THEN iasql_internal.setting('watched_staleness')::interval END))::double precision`),
		g("iasql_event_source_ok", "1 for a source of events that is relied on, 0 for one that is not.",
			`SELECT account, name, (iasql_internal.source_trouble(s) IS NULL)::integer FROM iasql_internal.event_source s`, "account", "source"),
		g("iasql_event_source_behind_seconds",
			"How old the oldest message was of those that were read last from a source of events.",
			`SELECT account, name, extract(epoch FROM behind)::double precision FROM iasql_internal.event_source WHERE behind IS NOT NULL`, "account", "source"),
		g("iasql_event_source_events",
			"Messages of a source of events, by what became of them: kept, double, foreign, malformed or dropped.",
			`SELECT s.account, s.name, v.outcome, v.n FROM iasql_internal.event_source s
			 CROSS JOIN LATERAL (VALUES ('kept', s.events), ('double', s.doubles), ('foreign', s.foreign_), ('malformed', s.malformed), ('dropped', s.dropped)) v (outcome, n)`, "account", "source", "outcome"),
		g("iasql_engines_connected", "Engines that are connected now.",
			`SELECT count(*) FROM iasql_internal.engine e WHERE iasql_internal.engine_alive(e)`),
		g("iasql_lease_held", "1 for the engine that runs the cycles of an account now.",
			`SELECT account, engine, 1 FROM iasql_internal.lease WHERE pid IS NOT NULL`, "account", "engine"),
		g("iasql_cycle_age_seconds", "How long the cycle of an account that is under way has been, by engine and kind.",
			`SELECT c.account, c.engine, c.kind, extract(epoch FROM clock_timestamp() - c.started)::double precision
			 FROM iasql_internal.lease l JOIN public.iasql_cycles c ON c.account = l.account AND c.engine = l.engine AND c.ended IS NULL
			 WHERE l.pid IS NOT NULL AND c.started > clock_timestamp() - interval '7 days'`, "account",
			"engine", "kind"),
		g("iasql_lease_silent_seconds",
			"How long ago the engine that runs the cycles of an account last showed that it gets on.",
			`SELECT account, engine, extract(epoch FROM clock_timestamp() - beat)::double precision FROM iasql_internal.lease WHERE pid IS NOT NULL AND beat_fence = fence`, "account", "engine"),
		g("iasql_worlds_held", "1 for an account about which nothing is done until a person has looked, or it is "+
			"known who it is.",
			`SELECT account, CASE code WHEN '' THEN 'unknown' ELSE code END, 1 FROM iasql_internal.world WHERE trouble IS NOT NULL
			 UNION ALL SELECT a.name, 'restored', 1 FROM iasql_internal.account a, iasql_internal.server_seen i WHERE i.restored_at IS NOT NULL`, "account", "why"),
		g("iasql_records_vanished", "Records that are gone from the cloud at once and wait for a person's word, by "+
			"table; at most 100000 are counted.",
			`SELECT account, table_name, count(*) FROM (SELECT account, table_name FROM iasql_internal.record_state WHERE code = 'vanished' LIMIT 100000) s GROUP BY 1, 2`, "account", "table"),
		g("iasql_places_unread", "Tables in regions that could not be read by the last listing, by account and table.",
			`SELECT account, table_name, count(*) FROM iasql_internal.unread GROUP BY 1, 2`, "account", "table"),
		g("iasql_batches_open", "Batches that are open.",
			`SELECT count(*) FROM iasql_internal.batch WHERE closed_at IS NULL`),
		g("iasql_batch_oldest_seconds",
			"How long the oldest batch has been open that nobody has committed yet; 0 if there is none.",
			`SELECT coalesce(extract(epoch FROM clock_timestamp() - min(opened_at)), 0)::double precision FROM iasql_internal.batch WHERE phase = 'open'`),
		g("iasql_batch_commit_seconds",
			"How long the commit or the undoing has been under way that began first; 0 if there is none.",
			`SELECT coalesce(extract(epoch FROM clock_timestamp() - min(coalesce(begun_at, commit_asked, opened_at))), 0)::double precision
			 FROM iasql_internal.batch WHERE phase IN ('committing', 'reverting') AND closed_at IS NULL`),
		g("iasql_batch_timeout_seconds", "The setting batch_timeout.",
			`SELECT extract(epoch FROM iasql_internal.setting('batch_timeout')::interval)::double precision`),
		g("iasql_cycle_last_end_timestamp_seconds",
			"When the last full cycle of an account ended that did not fail as a whole.",
			`SELECT a.name, extract(epoch FROM c.ended)::double precision FROM iasql_internal.account a
			 CROSS JOIN LATERAL (SELECT c.ended FROM public.iasql_cycles c WHERE c.account = a.name AND c.kind = 'full' AND c.ended IS NOT NULL AND c.message IS NULL ORDER BY c.ended DESC LIMIT 1) c`, "account"),
	}}
}

// Describe implements prometheus.Collector.
func (i *installation) Describe(to chan<- *prometheus.Desc) {
	for _, g := range i.gauges {
		to <- g.desc
	}
}

// Collect implements prometheus.Collector. Where one query fails its metric is
// missing, and the scrape says so; the others are told.
func (i *installation) Collect(to chan<- prometheus.Metric) {
	i.lock.Lock()
	defer i.lock.Unlock()
	if time.Since(i.at) > fresh {
		i.last, i.at = i.read(), time.Now()
	}
	for _, m := range i.last {
		to <- m
	}
}

func (i *installation) read() (metrics []prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, g := range i.gauges {
		got, err := g.read(ctx, i.pool)
		if err != nil {
			metrics = append(metrics, prometheus.NewInvalidMetric(g.desc, err))
			continue
		}
		metrics = append(metrics, got...)
	}
	return metrics
}

func (g gauge) read(ctx context.Context, pool *pgxpool.Pool) (metrics []prometheus.Metric, err error) {
	rows, err := pool.Query(ctx, g.query)
	if err != nil {
		return nil, err
	}
	labels := make([]string, g.n)
	var value float64
	into := make([]any, 0, g.n+1)
	for i := range labels {
		into = append(into, &labels[i])
	}
	_, err = pgx.ForEachRow(rows, append(into, &value), func() error {
		metrics = append(metrics, prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, value, labels...))
		return nil
	})
	return metrics, err
}

// poolCollector tells of an engine's connections.
type poolCollector struct{ pool *pgxpool.Pool }

var (
	poolConnections = prometheus.NewDesc("iasql_database_connections",
		"The engine's connections to the database, by what they are doing.", []string{"state"}, nil)
	poolMost = prometheus.NewDesc("iasql_database_connections_max",
		"The most connections that the engine opens.", nil, nil)
	poolWaited = prometheus.NewDesc("iasql_database_connection_wait_seconds_total",
		"How long the engine has waited for a free connection.", nil, nil)
)

// Describe implements prometheus.Collector.
func (p poolCollector) Describe(to chan<- *prometheus.Desc) {
	to <- poolConnections
	to <- poolMost
	to <- poolWaited
}

// Collect implements prometheus.Collector.
func (p poolCollector) Collect(to chan<- prometheus.Metric) {
	stat := p.pool.Stat()
	to <- prometheus.MustNewConstMetric(poolConnections, prometheus.GaugeValue, float64(stat.AcquiredConns()), "used")
	to <- prometheus.MustNewConstMetric(poolConnections, prometheus.GaugeValue, float64(stat.IdleConns()), "idle")
	to <- prometheus.MustNewConstMetric(poolMost, prometheus.GaugeValue, float64(stat.MaxConns()))
	to <- prometheus.MustNewConstMetric(poolWaited, prometheus.CounterValue, stat.AcquireDuration().Seconds())
}

// OfInstallation returns what every engine of a database tells alike, in Prometheus' text format.
func OfInstallation(ctx context.Context, pool *pgxpool.Pool) (string, error) {
	registry := prometheus.NewRegistry()
	if err := registry.Register(newInstallation(pool)); err != nil {
		return "", err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "/metrics", nil)
	if err != nil {
		return "", err
	}
	said := &page{header: http.Header{}}
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}).ServeHTTP(said,
		request)
	return said.String(), nil
}

// page keeps what a handler answers.
type page struct {
	strings.Builder
	header http.Header
}

// Header implements http.ResponseWriter.
func (p *page) Header() http.Header { return p.header }

// WriteHeader implements http.ResponseWriter.
func (p *page) WriteHeader(int) {}
