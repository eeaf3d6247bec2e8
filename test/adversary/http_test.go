package adversary

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"iasql/internal/test/harness"
)

// TestMetricsApart: where metrics have an address of their own, who reaches the
// console reads none.
func TestMetricsApart(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	w.Args = []string{"--http", "127.0.0.1:0", "--http-metrics", "127.0.0.1:0", "--http-trusted-proxy",
		"10.0.0.0/8,192.0.2.1"}
	engine := w.Serve()
	served := func(what string) string {
		var found []string
		w.Eventually(quickly, what, func() bool { // the engine is connected before it serves
			found = regexp.MustCompile(what + `.* url=(http://[0-9.:]+)`).FindStringSubmatch(engine.Log())
			return found != nil
		})
		return found[1]
	}
	get := func(url string) (int, string) {
		answer, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		return answer.StatusCode, string(text)
	}
	metrics, console := served("metrics are served"), served("the console is served")
	if status, text := get(metrics + "/metrics"); status != http.StatusOK || !strings.Contains(text, "iasql_") {
		t.Errorf("metrics: %d %.200s", status, text)
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if status, _ := get(metrics + path); status != http.StatusOK {
			t.Errorf("%s is %d", path, status)
		}
	}
	if status, text := get(console + "/metrics"); status == http.StatusOK && strings.Contains(text, "iasql_") ||
		strings.Contains(text, "# HELP") {
		t.Errorf("the console shows metrics: %d %.200s", status, text)
	}
	if status, _ := get(metrics + "/signin"); status != http.StatusNotFound {
		t.Errorf("the address of the metrics has the console: %d", status)
	}
}
