package hosts

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
)

// guarded serves what a registry does to those who log in.
func guarded(t *testing.T, images, user, password string) string {
	t.Helper()
	to := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: images})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, secret, ok := r.BasicAuth(); !ok || name != user || secret != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="images"`)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}`))
			return
		}
		to.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// TestPrivateRegistry: images come from a registry that asks for a login, which nobody can read afterwards; without, and
// with a wrong one, the image waits, and its error has the registry's words.
func TestPrivateRegistry(t *testing.T) {
	t.Parallel()
	const user, password = "me", "hush:hush"
	login := func(registry, password string) string {
		return fmt.Sprintf(`UPDATE host SET registry_auth = '{"auths": {"%s": {"auth": "%s"}}}'`, registry,
			base64.StdEncoding.EncodeToString([]byte(user+":"+password)))
	}
	for name, podman := range map[string]bool{"Docker": false, "Podman": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			images := guarded(t, serveImages(t), user, password)
			d := runDaemon(t, podman, images)
			w.PSQL(`INSERT INTO host (name, host_root, container_socket) VALUES ('here', '/', '`+d.socket+`')`,
				`INSERT INTO host_scope (account, kind, pattern) VALUES ('here', 'image', '`+images+`/*')`)
			w.sync()
			for _, wrong := range []string{"hush", "{}", `{"auths": {}}`, `{"auths": {"ghcr.io": {}}, "credsStore": "pass"}`} {
				w.refused("registry_auth of host here", `UPDATE host SET registry_auth = '`+wrong+`'`)
			}
			w.PSQL(`INSERT INTO host_image (account, name) VALUES ('here', '` + images + `/app:1')`)
			refused := `SELECT message ~* 'auth' FROM iasql_status WHERE table_name = 'host_image'`
			w.becomesWithin(longest, "t", refused)
			w.PSQL(login(images, "wrong"), `SELECT iasql_retry('host_image', id) FROM host_image`)
			w.row("********", `SELECT registry_auth FROM host`)
			w.becomesWithin(longest, "t", refused)
			w.PSQL(login("https://"+images+"/v2/", password), `SELECT iasql_retry('host_image', id) FROM host_image`)
			w.becomesWithin(longest, "t", `SELECT image_id IS NOT NULL FROM host_image`)
			w.rests()
			w.row("f", `SELECT EXISTS (SELECT FROM iasql_audit_log l WHERE to_jsonb(l)::text LIKE '%`+
				base64.StdEncoding.EncodeToString([]byte(user+":"+password))+`%')`)
		})
	}
}
