package aws

import (
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	ssosdk "github.com/aws/aws-sdk-go-v2/service/sso"

	"iasql/internal/modules"
)

// chain is an environment in which the default chain finds nothing but what a test
// puts there.
func chain(t *testing.T, env map[string]string) (home string) {
	t.Helper()
	home = t.TempDir()
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "") // restored afterwards
			os.Unsetenv(name)
		}
	}
	t.Setenv("HOME", home)
	for name, value := range env {
		t.Setenv(name, value)
	}
	return home
}

// loggedIn checks that the default chain comes to credentials, outside of anything
// that may change the account, and from where; and that a call is signed with them.
func loggedIn(t *testing.T, source string) {
	t.Helper()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Authorization"), "Credential=ASIAEXAMPLE/") {
			w.WriteHeader(403)
		}
		fmt.Fprint(w, `<GetCallerIdentityResponse><GetCallerIdentityResult><Account>123456789012</Account><Arn>arn:aws:iam::123456789012:root</Arn></GetCallerIdentityResult></GetCallerIdentityResponse>`)
	})
	if id, err := New(Options{Endpoint: s.URL}).AccountID(t.Context(), scope); err != nil || id != "123456789012" {
		t.Errorf("a call: %s, %v", id, err)
	}
	login, err := New(Options{}).Login(t.Context(), modules.Scope{Account: "test"})
	if err != nil || login.Source != source || login.Expires.Before(time.Now()) {
		t.Errorf("%+v, %v, want %s", login, err, source)
	}
}

// An instance's role comes from the metadata service, whose client names no
// operations (EC2 User Guide, "Retrieve security credentials from instance
// metadata").
func TestInstanceRole(t *testing.T) {
	imds := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/latest/api/token":
			w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "21600")
			fmt.Fprint(w, "token")
		case strings.HasSuffix(r.URL.Path, "/security-credentials/"):
			fmt.Fprint(w, "role")
		case strings.HasSuffix(r.URL.Path, "/security-credentials/role"):
			fmt.Fprintf(w, `{"Code": "Success", "AccessKeyId": "ASIAEXAMPLE", "SecretAccessKey": "s", "Token": "t", "Expiration": %q}`, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
		default:
			w.WriteHeader(404)
		}
	}))
	defer imds.Close()
	chain(t, map[string]string{"AWS_EC2_METADATA_SERVICE_ENDPOINT": imds.URL})
	loggedIn(t, "EC2RoleProvider")
}

// A container's role comes from an endpoint that the environment names (SDKs and
// Tools Reference Guide, "Container credential provider").
func TestContainerRole(t *testing.T) {
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"AccessKeyId": "ASIAEXAMPLE", "SecretAccessKey": "s", "Token": "t", "Expiration": %q}`,
			time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	}))
	defer endpoint.Close()
	chain(t, map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": endpoint.URL})
	loggedIn(t, "CredentialsEndpointProvider")
}

// Of IAM Identity Center the chain asks for the role's credentials, by a call that
// nobody else may make (see notReads).
func TestIdentityCenter(t *testing.T) {
	sso := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/federation/credentials" || r.Header.Get("X-Amz-Sso_bearer_token") != "token" {
			w.WriteHeader(404)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"roleCredentials": map[string]any{
			"accessKeyId": "ASIAEXAMPLE", "secretAccessKey": "s", "sessionToken": "t",
			"expiration": time.Now().Add(time.Hour).UnixMilli()}})
	}))
	defer sso.Close()
	home := chain(t, map[string]string{"AWS_ENDPOINT_URL_SSO": sso.URL, "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_REGION": "us-east-1"})
	write := func(name, text string) {
		path := filepath.Join(home, ".aws", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("config", "[default]\nsso_session = us\nsso_account_id = 123456789012\nsso_role_name = "+
		"reader\n[sso-session us]\nsso_region = us-east-1\nsso_start_url = https://example.awsapps.com/start\n")
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(home, ".aws", "config"))
	sum := sha1.Sum([]byte("us"))
	write("sso/cache/"+hex.EncodeToString(sum[:])+".json",
		fmt.Sprintf(`{"accessToken": "token", "expiresAt": %q}`, time.Now().Add(time.Hour).UTC().Format(time.RFC3339)))
	loggedIn(t, "SSOProvider")

	// A module may not: the credentials would be in its hands.
	client, err := Client(t.Context(), New(Options{}), modules.Scope{Account: "test"},
		func(cfg awssdk.Config) *ssosdk.Client { return ssosdk.NewFromConfig(cfg) })
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.GetRoleCredentials(t.Context(),
		&ssosdk.GetRoleCredentialsInput{AccessToken: awssdk.String("token"), AccountId: awssdk.String("123456789012"),
			RoleName: awssdk.String("reader")})
	if err == nil || modules.ClassOf(err) != modules.ReadOnly {
		t.Errorf("a module's call: %v", err)
	}
}
