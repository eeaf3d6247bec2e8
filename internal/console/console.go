package console

import (
	"context"
	"crypto/tls"
	"embed"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/jackc/pgx/v5"

	"iasql/internal/modules"
)

// Options configure a console.
type Options struct {
	// DatabaseURL names the server and the database; its user and password serve
	// to listen for events, and for nothing that a page shows.
	DatabaseURL string
	Version     string
	Log         *slog.Logger
	// TLS says that visitors come by TLS, so that cookies are sent over it only.
	TLS bool
	// Hosts are the names that visitors may address the console by; empty means
	// any. A console of this machine alone has some, so that a page on the
	// internet cannot have its own name point here.
	Hosts []string
	// TokenURL names the login of sessions that begin with a token, and its
	// password; empty takes no tokens (token.go).
	TokenURL string
	// TrustedProxies are the addresses of proxies whose X-Forwarded-For is believed
	// when attempts to sign in and requests are counted; empty believes nobody.
	TrustedProxies []netip.Prefix
	// Questions are the worlds', a folder of SQL files each (questions.go).
	Questions []fs.FS
	// Examples are shown where there is nothing yet.
	Examples modules.Examples
	// Made are the columns that say, table by table, which records the cloud has made by
	// itself: a list hides them.
	Made map[string]string
	// Places say what lies in what on the map; the zero value knows accounts and regions alone.
	Places modules.Places
	// Elsewhere returns the address of the cloud's own page of a record, by its table and its
	// columns as text, or ""; nil knows none.
	Elsewhere func(table string, columns map[string]string) string
	// Throttled returns how often the cloud has throttled this engine lately, by
	// service; nil is not shown.
	Throttled func() map[string]int
}

// Console serves the pages.
type Console struct {
	options  Options
	log      *slog.Logger
	base     *pgx.ConnConfig // of the engine, without what only the engine is
	sessions *sessions
	attempts *attempts
	visitors *limiters
	events   *hub
	presence *presence
	handler  http.Handler
	// questions are those that can be asked on the page of SQL.
	questions []question
}

//go:embed static
var static embed.FS

// New makes a console that serves until ctx ends.
func New(ctx context.Context, options Options) (*Console, error) {
	base, err := pgx.ParseConfig(options.DatabaseURL)
	if err != nil {
		return nil, fmt.Errorf("database url: %w", err)
	}
	c := &Console{options: options, log: options.Log, base: base, attempts: newAttempts(),
		visitors: newLimiters(20, 200)}
	if c.log == nil {
		c.log = slog.Default()
	}
	c.sessions, c.presence = newSessions(), newPresence()
	c.events = newHub(base.Copy(), c.log)
	go c.events.run(ctx)
	go c.sessions.sweep(ctx)
	own, err := fs.Sub(ownQuestions, "questions")
	if err != nil {
		return nil, err
	}
	for _, files := range append([]fs.FS{own}, options.Questions...) {
		questions, err := loadQuestions(files)
		if err != nil {
			return nil, err
		}
		c.questions = append(c.questions, questions...)
	}
	c.handler = c.routes()
	return c, nil
}

// ServeHTTP implements http.Handler.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.handler.ServeHTTP(w, r) }

func (c *Console) routes() http.Handler {
	mux := http.NewServeMux()
	files, err := fs.Sub(static, "static")
	if err != nil {
		panic(err) // the folder is embedded
	}
	mux.Handle("GET /static/", http.StripPrefix("/static/", cached(http.FileServerFS(files))))
	mux.HandleFunc("GET /signin", c.signInPage)
	mux.HandleFunc("POST /signin", c.signIn)
	mux.Handle("POST /signout", c.signedIn(c.signOut))
	mux.Handle("POST /theme", c.signedIn(c.setTheme))
	mux.Handle("GET /{$}", c.signedIn(c.overview))
	mux.Handle("GET /search", c.signedIn(c.search))
	mux.Handle("GET /records", c.signedIn(c.tables))
	mux.Handle("GET /records/{table}", c.signedIn(c.records))
	mux.Handle("GET /records/{table}/{id}", c.signedIn(c.record))
	c.editRoutes(mux)
	mux.Handle("GET /batches", c.signedIn(c.batches))
	mux.Handle("GET /batches/{batch}", c.signedIn(c.batch))
	mux.Handle("POST /batches/{batch}/comments", c.signedIn(c.comment))
	mux.Handle("GET /map", c.signedIn(c.wholeMap))
	mux.Handle("GET /map.svg", c.signedIn(c.mapDownload))
	mux.Handle("GET /map/{table}/{id}", c.signedIn(c.recordMap))
	mux.Handle("GET /activity", c.signedIn(c.activity))
	mux.Handle("GET /changes", c.signedIn(c.changedSince))
	mux.Handle("GET /sql", c.signedIn(c.sqlPage))
	mux.Handle("GET /sql/names", c.signedIn(c.sqlNames))
	mux.Handle("POST /sql", c.signedIn(c.runSQL))
	mux.Handle("POST /sql/cancel", c.signedIn(c.cancelSQL))
	mux.Handle("POST /sql/download", c.signedIn(c.downloadSQL))
	mux.Handle("POST /sql/queries", c.signedIn(c.saveSQL))
	mux.Handle("GET /modules", c.signedIn(c.modules))
	mux.Handle("GET /modules/{module}", c.signedIn(c.manual))
	mux.Handle("GET /as-of", c.signedIn(c.asOf))
	mux.Handle("POST /do", c.signedIn(c.do))
	mux.Handle("GET /task/{task}", c.signedIn(c.task))
	mux.Handle("GET /events", c.signedIn(c.stream))
	return c.guard(mux)
}

// cached lets browsers keep what belongs to the binary for a while.
func cached(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "public, max-age=300")
		next.ServeHTTP(w, r)
	})
}

// login returns how a role connects with a password: to the engine's server and
// database, and with nothing else of the engine's. The server has to ask for the
// password, and by SCRAM: where pg_hba.conf trusts this host, any password would
// do otherwise.
func (c *Console) login(role, password string) *pgx.ConnConfig {
	config := c.base.Copy()
	config.User, config.Password = role, password
	config.RequireAuth = "scram-sha-256"
	config.RuntimeParams = map[string]string{"application_name": "iasql console"}
	config.OnPgError, config.OnNotice, config.OnNotification = nil, nil, nil
	config.ValidateConnect, config.AfterConnect = nil, nil
	config.ConnectTimeout = 10 * time.Second
	withoutCertificate := func(t *tls.Config) *tls.Config {
		if t == nil {
			return nil
		}
		t = t.Clone()
		t.Certificates, t.GetClientCertificate = nil, nil
		return t
	}
	config.TLSConfig = withoutCertificate(config.TLSConfig)
	for _, fallback := range config.Fallbacks {
		fallback.TLSConfig = withoutCertificate(fallback.TLSConfig)
	}
	return config
}
