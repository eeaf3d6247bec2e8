// Package metrics tells Prometheus what an engine does and how its installation
// is. Names and units follow "Metric and label naming" of the Prometheus
// documentation: base units, and _total for what only grows.
//
// What this engine does is counted as it happens. What the whole installation is
// like (queues, records, staleness) is read from the database when somebody
// scrapes, at most every few seconds, by queries that are bounded: every engine
// tells the same of it.
package metrics

import (
	"net/http"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics are an engine's.
type Metrics struct {
	registry *prometheus.Registry
	cycles   *prometheus.CounterVec
	took     *prometheus.HistogramVec
	pushed   prometheus.Counter
	pulled   prometheus.Counter
	calls    *prometheus.CounterVec
	callTook *prometheus.HistogramVec
	throttle *prometheus.CounterVec

	lock sync.Mutex
	late []throttled
}

type throttled struct {
	service string
	at      time.Time
}

// New makes the metrics of an engine of a version.
func New(version string) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		cycles: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "iasql_cycles_total",
			Help: "Cycles that ended in this engine, by kind and result (ok, errors: of records or listings, failed: " +
				"as a whole)."}, []string{"kind", "result"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "iasql_cycle_duration_seconds",
			Help:    "How long cycles of this engine took, by kind.",
			Buckets: []float64{.1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900}}, []string{"kind"}),
		pushed: prometheus.NewCounter(prometheus.CounterOpts{Name: "iasql_pushed_operations_total",
			Help: "Operations on the cloud that succeeded."}),
		pulled: prometheus.NewCounter(prometheus.CounterOpts{Name: "iasql_pulled_records_total",
			Help: "Records that this engine wrote from the cloud."}),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "iasql_cloud_calls_total",
			Help: "Attempts of calls to the cloud, by service and result: ok, or the class of the error."},
			[]string{"service", "result"}),
		callTook: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "iasql_cloud_call_duration_seconds",
			Help:    "How long attempts of calls to the cloud took, with the wait for their turn, by service.",
			Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}}, []string{"service"}),
		throttle: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "iasql_cloud_throttled_total",
			Help: "Attempts that the cloud answered by throttling, by service."}, []string{"service"}),
	}
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "iasql_build_info",
		Help: "The engine's version; always 1."}, []string{"version"})
	info.WithLabelValues(version).Set(1)
	m.registry.MustRegister(info, m.cycles, m.took, m.pushed, m.pulled, m.calls, m.callTook, m.throttle,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Watch has the metrics tell of an installation, as the engine's pool sees it.
func (m *Metrics) Watch(pool *pgxpool.Pool) {
	m.registry.MustRegister(newInstallation(pool), poolCollector{pool})
}

// Handler answers scrapes.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		// what the process itself knows is told when the database is away
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: 4,
		Timeout:             15 * time.Second,
	})
}

// Cycle counts a cycle that has ended.
func (m *Metrics) Cycle(kind string, took time.Duration, pushed, pulled, errors int, failed error) {
	result := "ok"
	switch {
	case failed != nil:
		result = "failed"
	case errors > 0:
		result = "errors"
	}
	m.cycles.WithLabelValues(kind, result).Inc()
	m.took.WithLabelValues(kind).Observe(took.Seconds())
	m.pushed.Add(float64(pushed))
	m.pulled.Add(float64(pulled))
}

// Call counts an attempt of a call; class is empty when it went well.
func (m *Metrics) Call(service, class string, took time.Duration, isThrottled bool) {
	if class == "" {
		class = "ok"
	}
	m.calls.WithLabelValues(service, class).Inc()
	m.callTook.WithLabelValues(service).Observe(took.Seconds())
	if !isThrottled {
		return
	}
	m.throttle.WithLabelValues(service).Inc()
	m.lock.Lock()
	defer m.lock.Unlock()
	m.late = append(m.late, throttled{service, time.Now()})
	if over := len(m.late) - 10000; over > 0 {
		m.late = m.late[over:]
	}
}

// lately is how far back Throttled looks.
const lately = 15 * time.Minute

// Throttled returns how often the cloud has throttled this engine in the last 15
// minutes, by service.
func (m *Metrics) Throttled() map[string]int {
	m.lock.Lock()
	defer m.lock.Unlock()
	counts := map[string]int{}
	for _, t := range m.late {
		if time.Since(t.at) < lately {
			counts[t.service]++
		}
	}
	return counts
}
