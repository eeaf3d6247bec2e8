package awstest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// Sent changes columns of an object by a server that answers every call with answer, and returns the calls: the
// operation, or the method with path and query where that names it, and the body.
func Sent(t testing.TB, of func(*aws.Clients) modules.Updater, have, want modules.Row, answer string,
	columns ...string) []string {
	t.Helper()
	var one sync.Mutex
	var calls []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		one.Lock()
		defer one.Unlock()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		_, call, found := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		if !found {
			call = r.Method + " " + r.URL.RequestURI()
		}
		calls = append(calls, call+" "+string(body))
		w.Header().Set("X-Amzn-Requestid", "4442587FB7D0A2F9")
		_, _ = io.WriteString(w, answer)
	}))
	defer server.Close()
	if err := Update(t.Context(), of(Fake(server.URL)), Permit(), Scope("us-east-1"), have, want, columns); err != nil {
		t.Errorf("%v: %v", columns, err)
	}
	return calls
}
