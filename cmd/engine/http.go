package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"iasql/internal/console"
	"iasql/internal/engine"
	"iasql/internal/metrics"
)

// devAddress is where the console of "engine dev" is, or at the next free port.
const devAddress = "127.0.0.1:8787"

// httpFlags say where the console, the metrics and the health checks are served.
type httpFlags struct {
	HTTP         string
	HTTPCert     string
	HTTPKey      string
	HTTPInsecure bool
	HTTPName     []string
	HTTPTokenURL string
	search       bool // take the next free port
}

func (f *httpFlags) declare(flags *pflag.FlagSet, address string) {
	f.search = address != ""
	flags.StringVar(&f.HTTP, "http", address, "`ADDR` to serve the console, /metrics, /healthz and /readyz at, such as 127.0.0.1:8787; none serves nothing.")
	fromEnv(flags, "http", "IASQL_HTTP")
	flags.StringVar(&f.HTTPCert, "http-cert", "", "`FILE` with the certificate, to serve over TLS.")
	fromEnv(flags, "http-cert", "IASQL_HTTP_CERT")
	flags.StringVar(&f.HTTPKey, "http-key", "", "`FILE` with the certificate's key.")
	fromEnv(flags, "http-key", "IASQL_HTTP_KEY")
	flags.BoolVar(&f.HTTPInsecure, "http-insecure", false, "Serve without TLS to other machines too: passwords then cross the network in clear.")
	fromEnv(flags, "http-insecure", "IASQL_HTTP_INSECURE")
	flags.StringSliceVar(&f.HTTPName, "http-name", nil, "`NAME` that a console on this machine's own address is reached by as well, through a proxy.")
	fromEnv(flags, "http-name", "IASQL_HTTP_NAME")
	flags.StringVar(&f.HTTPTokenURL, "http-token-url", "", "`URL` with the name and password of a login without rights, which is a member of the roles that may sign in by iasql_console_token().")
	fromEnv(flags, "http-token-url", "IASQL_HTTP_TOKEN_URL")
}

// site is what is served by HTTP; nil is nothing.
type site struct {
	flags    *httpFlags
	listener net.Listener
	server   *http.Server
	loopback bool
	tls      *tls.Config
}

// listen takes the address, or says what is wrong with the flags.
func (f *httpFlags) listen() (*site, error) {
	if f.HTTP == "" || f.HTTP == "none" {
		return nil, nil
	}
	s := &site{flags: f}
	host, port, err := net.SplitHostPort(f.HTTP)
	if err != nil {
		return nil, fmt.Errorf("--http %s: give an address and a port, such as 127.0.0.1:8787: %w", f.HTTP, err)
	}
	address, err := netip.ParseAddr(host)
	s.loopback = host == "localhost" || err == nil && address.IsLoopback()
	switch {
	case (f.HTTPCert == "") != (f.HTTPKey == ""):
		return nil, errors.New("--http-cert and --http-key belong together")
	case f.HTTPCert != "":
		certificate, err := tls.LoadX509KeyPair(f.HTTPCert, f.HTTPKey)
		if err != nil {
			return nil, fmt.Errorf("--http-cert %s: %w", f.HTTPCert, err)
		}
		s.tls = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	case !s.loopback && !f.HTTPInsecure:
		return nil, fmt.Errorf("--http %s can be reached from other machines, and passwords would cross the network in clear: give --http-cert and --http-key, or bind it to 127.0.0.1, or say --http-insecure", f.HTTP)
	}
	number, _ := strconv.Atoi(port) // what is no number Listen says
	for attempt := 0; ; attempt++ {
		s.listener, err = net.Listen("tcp", net.JoinHostPort(host, port))
		if err == nil || !f.search || attempt == 50 || number == 0 {
			break
		}
		number++
		port = strconv.Itoa(number)
	}
	if err != nil {
		return nil, fmt.Errorf("--http %s: %w", f.HTTP, err)
	}
	return s, nil
}

// metricsFor returns the metrics that a site serves, nil if there is none.
func metricsFor(s *site) *metrics.Metrics {
	if s == nil {
		return nil
	}
	return metrics.New(version)
}

func (s *site) url() string {
	scheme := "http://"
	if s.tls != nil {
		scheme = "https://"
	}
	return scheme + s.listener.Addr().String()
}

// serve serves a started engine until ctx ends.
func (s *site) serve(ctx context.Context, e *engine.Engine, databaseURL string, m *metrics.Metrics, log *slog.Logger) error {
	if s == nil {
		return nil
	}
	m.Watch(e.Pool())
	options := console.Options{DatabaseURL: databaseURL, Version: version, Log: log, TLS: s.tls != nil, Throttled: m.Throttled, TokenURL: s.flags.HTTPTokenURL}
	if s.loopback {
		options.Hosts = append([]string{"127.0.0.1", "localhost", "::1", "[::1]"}, s.flags.HTTPName...)
	}
	pages, err := console.New(ctx, options)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), 3*time.Second)
		defer cancel()
		if err := e.Ready(ctx); err != nil {
			log.Debug("not ready", "error", err)
			http.Error(w, "not ready", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	mux.Handle("GET /metrics", m.Handler())
	mux.Handle("/", pages)
	s.server = &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      3 * time.Minute, // a preview asks the cloud; streams set their own
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	listener := s.listener
	if s.tls != nil {
		s.server.TLSConfig = s.tls
		listener = tls.NewListener(listener, s.tls)
	}
	go func() {
		if err := s.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) && ctx.Err() == nil {
			log.Error("the console cannot be served any more", "error", err)
		}
	}()
	log.Info("the console is served", "url", s.url(), "metrics", s.url()+"/metrics")
	return nil
}

// close ends what is served, and everything under way in it.
func (s *site) close() {
	switch {
	case s == nil:
	case s.server != nil:
		_ = s.server.Close()
	default:
		_ = s.listener.Close()
	}
}
