package awsapigateway

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"iasql/internal/modules"
	"iasql/internal/test/awstest"
	"iasql/internal/test/testaws"
)

func TestMain(m *testing.M) { testaws.Main(m) }

var text = modules.Text

func document(t *testing.T, text string) modules.Value {
	t.Helper()
	v, err := modules.JSONText(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestAPILifecycle(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"HTTP", "WEBSOCKET"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			changes := map[string][]modules.Value{
				"name":                         {text("other")},
				"description":                  {text("of a test")}, // moto keeps what is to become empty
				"version":                      {text("2")},
				"route_selection_expression":   {text("$request.body.kind")},
				"api_key_selection_expression": {text("$context.authorizer.usageIdentifierKey")},
				"cors_configuration": {document(t,
					`{"AllowOrigins":["https://example.com"],"AllowMethods":["GET"],"MaxAge":300}`),
					document(t, `{"AllowOrigins":["*"]}`), modules.Null},
			}
			want := modules.Row{
				"name": text("news"), "protocol_type": text(protocol),
				"disable_execute_api_endpoint": modules.Bool(false), "disable_schema_validation": modules.Bool(false),
				"tags": modules.StringMap(map[string]string{"env": "test"}),
			}
			if protocol == "WEBSOCKET" {
				want["route_selection_expression"] = text("$request.body.action")
			}
			awstest.Lifecycle(t, awstest.Case{
				Resource: newAPI(awstest.Clients(t)), Scope: awstest.Scope("us-west-2"), Want: want, Changes: changes,
				// moto keeps no IP address type, and a boolean that is to become false.
				Elsewhere: []string{"ip_address_type"},
				Calls:     map[string]int{"tags": 2},
			})
		})
	}
}

// The listing has pages, of which the SDK knows nothing, and what is made NULL is
// sent as an empty text.
func TestAPICalls(t *testing.T) {
	t.Parallel()
	var sent string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := make([]byte, 1000)
		n, _ := r.Body.Read(body)
		switch {
		case r.Method == http.MethodPatch:
			sent = string(body[:n])
			fmt.Fprint(w, `{"apiId":"1"}`)
		case r.URL.Query().Get("nextToken") == "":
			fmt.Fprint(w, `{"items":[{"apiId":"1","name":"one","ipAddressType":"ipv4"}],"nextToken":"more"}`)
		default:
			fmt.Fprint(w, `{"items":[{"apiId":"2","name":"two","apiGatewayManaged":true}]}`)
		}
	}))
	t.Cleanup(server.Close)
	r, scope := newAPI(awstest.Fake(server.URL)), awstest.Scope("cn-north-1")
	ctx, permit := t.Context(), awstest.Permit()
	var rows []modules.Row
	if err := awstest.List(ctx, r, scope, func(some []modules.Row) error {
		rows = append(rows, some...)
		return nil
	}); err != nil || len(rows) != 2 {
		t.Fatal(rows, err)
	}
	if got, want := rows[0]["arn"], text("arn:aws-cn:apigateway:cn-north-1::/apis/1"); got != want {
		t.Errorf("arn %s, want %s", got, want)
	}
	if why := r.Protected(rows[1]); why == "" || r.Protected(rows[0]) != "" {
		t.Errorf("a managed API is protected because of %q", why)
	}
	want := rows[0].Clone()
	want["description"], want["ip_address_type"] = modules.Null, text("dualstack")
	if err := awstest.Update(ctx, r, permit, scope, rows[0], want, []string{"description", "ip_address_type"}); err != nil || sent != `{"description":"","ipAddressType":"dualstack"}` {
		t.Errorf("sent %s (%v)", sent, err)
	}
}
