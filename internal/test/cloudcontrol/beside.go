package cloudcontrol

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"testing"
)

// own is what a request for Cloud Control or the registry is signed for.
var own = regexp.MustCompile(`Credential=[^/]+/\d{8}/[^/]+/(cloudcontrolapi|cloudformation)/`)

// Beside returns an endpoint that has the fake beside another one: what is not Cloud
// Control or the registry goes there.
func (s *Server) Beside(t testing.TB, others string) string {
	t.Helper()
	theirs, mine := proxyTo(t, others), proxyTo(t, s.URL)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if own.MatchString(r.Header.Get("Authorization")) {
			mine.ServeHTTP(w, r)
		} else {
			theirs.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func proxyTo(t testing.TB, endpoint string) *httputil.ReverseProxy {
	u, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	return &httputil.ReverseProxy{ErrorLog: log.New(io.Discard, "", 0), Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(u)
		r.Out.Host = r.In.Host
	}}
}
