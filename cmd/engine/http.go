package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"iasql/internal/aws"
	awsquestions "iasql/internal/aws/questions"
	"iasql/internal/aws/weblinks"
	"iasql/internal/console"
	"iasql/internal/engine"
	hostquestions "iasql/internal/hosts/questions"
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
	HTTPMetrics  string
	HTTPProxy    []string
	search       bool // take the next free port
}

func (f *httpFlags) declare(flags *pflag.FlagSet, address string) {
	f.search = address != ""
	flags.StringVar(&f.HTTP, "http", address,
		"`ADDR` to serve the console, /metrics, /healthz and /readyz at, such as 127.0.0.1:8787; none serves nothing.")
	fromEnv(flags, "http", "IASQL_HTTP")
	flags.StringVar(&f.HTTPCert, "http-cert", "", "`FILE` with the certificate, to serve over TLS.")
	fromEnv(flags, "http-cert", "IASQL_HTTP_CERT")
	flags.StringVar(&f.HTTPKey, "http-key", "", "`FILE` with the certificate's key.")
	fromEnv(flags, "http-key", "IASQL_HTTP_KEY")
	flags.BoolVar(&f.HTTPInsecure, "http-insecure", false,
		"Serve without TLS to other machines too: passwords then cross the network in clear.")
	fromEnv(flags, "http-insecure", "IASQL_HTTP_INSECURE")
	flags.StringSliceVar(&f.HTTPName, "http-name", nil,
		"`NAME` that a console on this machine's own address is reached by as well, through a proxy.")
	fromEnv(flags, "http-name", "IASQL_HTTP_NAME")
	flags.StringVar(&f.HTTPTokenURL, "http-token-url", "",
		"`URL` with the name and password of a login without rights, which is a member of the roles that may sign in "+
			"by iasql_console_token().")
	fromEnv(flags, "http-token-url", "IASQL_HTTP_TOKEN_URL")
	flags.StringVar(&f.HTTPMetrics, "http-metrics", "",
		"`ADDR` to serve /metrics, /healthz and /readyz at, in clear; the address of the console then has no /metrics.")
	fromEnv(flags, "http-metrics", "IASQL_HTTP_METRICS")
	flags.StringSliceVar(&f.HTTPProxy, "http-trusted-proxy", nil,
		"`CIDR` of proxies before the console, whose X-Forwarded-For says who it is that signs in: attempts are then "+
			"limited for each, not for the proxy.")
	fromEnv(flags, "http-trusted-proxy", "IASQL_HTTP_TRUSTED_PROXY")
}

// site is what is served by HTTP; nil is nothing.
type site struct {
	flags    *httpFlags
	listener net.Listener // of the console; nil if there is none
	probes   net.Listener // of /metrics and the health checks, where they are apart
	servers  []*http.Server
	loopback bool
	tls      *tls.Config
	proxies  []netip.Prefix
}

// listen takes the address, or says what is wrong with the flags.
func (f *httpFlags) listen() (*site, error) {
	s := &site{flags: f}
	for _, text := range f.HTTPProxy {
		prefix, err := netip.ParsePrefix(text)
		if alone, e := netip.ParseAddr(text); err != nil && e == nil {
			prefix, err = netip.PrefixFrom(alone, alone.BitLen()), nil
		}
		if err != nil {
			return nil, fmt.Errorf("--http-trusted-proxy %s: give an address or a range of them, such as "+
				"10.0.0.0/8: %w", text, err)
		}
		s.proxies = append(s.proxies, prefix.Masked())
	}
	console := f.HTTP != "" && f.HTTP != "none"
	if console {
		if err := s.listenConsole(); err != nil {
			return nil, err
		}
	}
	if f.HTTPMetrics != "" && f.HTTPMetrics != "none" {
		var err error
		if s.probes, err = net.Listen("tcp", f.HTTPMetrics); err != nil {
			s.close()
			return nil, fmt.Errorf("--http-metrics %s: %w", f.HTTPMetrics, err)
		}
	} else if !console {
		return nil, nil
	}
	return s, nil
}

func (s *site) listenConsole() error {
	f := s.flags
	host, port, err := net.SplitHostPort(f.HTTP)
	if err != nil {
		return fmt.Errorf("--http %s: give an address and a port, such as 127.0.0.1:8787: %w", f.HTTP, err)
	}
	address, err := netip.ParseAddr(host)
	s.loopback = host == "localhost" || err == nil && address.IsLoopback()
	switch {
	case (f.HTTPCert == "") != (f.HTTPKey == ""):
		return errors.New("--http-cert and --http-key belong together")
	case f.HTTPCert != "":
		certificate, err := tls.LoadX509KeyPair(f.HTTPCert, f.HTTPKey)
		if err != nil {
			return fmt.Errorf("--http-cert %s: %w", f.HTTPCert, err)
		}
		s.tls = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12,
			NextProtos: []string{"h2", "http/1.1"}}
	case !s.loopback && !f.HTTPInsecure:
		return fmt.Errorf("--http %s can be reached from other machines, and passwords would cross the network in "+
			"clear: give --http-cert and --http-key, or bind it to 127.0.0.1, or say --http-insecure", f.HTTP)
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
		return fmt.Errorf("--http %s: %w", f.HTTP, err)
	}
	return nil
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
func (s *site) serve(ctx context.Context, e *engine.Engine, databaseURL string, m *metrics.Metrics,
	log *slog.Logger) error {
	if s == nil {
		return nil
	}
	m.Watch(e.Pool())
	probes := s.probeHandler(e, m, log)
	if s.probes != nil {
		s.start(ctx, s.probes, probes, log)
		log.Info("metrics are served", "url", "http://"+s.probes.Addr().String()+"/metrics")
	}
	if s.listener == nil {
		return nil
	}
	return s.pages(ctx, databaseURL, m.Throttled, probes, s.probes == nil, log)
}

// pages serves the console until ctx ends, and the probes beside it. throttled says how often the cloud has throttled
// this process; nil where it makes no calls.
func (s *site) pages(ctx context.Context, databaseURL string, throttled func() map[string]int, probes http.Handler,
	withMetrics bool, log *slog.Logger) error {
	made, err := madeColumns()
	if err != nil {
		return err
	}
	options := console.Options{DatabaseURL: databaseURL, Version: version, Log: log, TLS: s.tls != nil,
		Throttled: throttled, TokenURL: s.flags.HTTPTokenURL,
		TrustedProxies: s.proxies, Examples: aws.Examples, Made: made,
		Questions: []fs.FS{awsquestions.Files, hostquestions.Files},
		Places:    aws.Places, Elsewhere: weblinks.Of}
	if s.loopback {
		options.Hosts = append([]string{"127.0.0.1", "localhost", "::1", "[::1]"}, s.flags.HTTPName...)
	}
	pages, err := console.New(ctx, options)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /healthz", probes)
	mux.Handle("GET /readyz", probes)
	if withMetrics {
		mux.Handle("GET /metrics", probes)
	}
	mux.Handle("/", pages)
	listener := s.listener
	if s.tls != nil {
		listener = tls.NewListener(listener, s.tls)
	}
	s.start(ctx, listener, mux, log)
	if !withMetrics {
		log.Info("the console is served", "url", s.url())
	} else {
		log.Info("the console is served", "url", s.url(), "metrics", s.url()+"/metrics")
	}
	return nil
}

// probeHandler serves /metrics, /healthz and /readyz.
func (s *site) probeHandler(e *engine.Engine, m *metrics.Metrics, log *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if err := e.Healthy(); err != nil { // of which no more is said to strangers
			log.Debug("not healthy", "error", err)
			http.Error(w, "not healthy", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
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
	return mux
}

// start serves a listener until the site is closed.
func (s *site) start(ctx context.Context, listener net.Listener, handler http.Handler, log *slog.Logger) {
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      3 * time.Minute, // a preview asks the cloud; streams set their own
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	if s.tls != nil && listener != s.probes {
		server.TLSConfig = s.tls
	}
	s.servers = append(s.servers, server)
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) && ctx.Err() == nil {
			log.Error("what is served by HTTP cannot be served any more", "address", listener.Addr().String(),
				"error", err)
		}
	}()
}

// close ends what is served, and everything under way in it.
func (s *site) close() {
	if s == nil {
		return
	}
	for _, server := range s.servers {
		_ = server.Close()
	}
	for _, listener := range []net.Listener{s.listener, s.probes} {
		if listener != nil {
			_ = listener.Close() // again, if it was served
		}
	}
}
