package awstest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"iasql/internal/aws"
)

// Input is what a call to a fake holds, by the names of the protocol.
type Input map[string]any

// Text returns a member that is a text, "" where it is missing.
func (in Input) Text(member string) string {
	text, _ := in[member].(string)
	return text
}

// Texts returns a member that is a list of texts.
func (in Input) Texts(member string) []string {
	list, _ := in[member].([]any)
	var texts []string
	for _, text := range list {
		texts = append(texts, text.(string))
	}
	return texts
}

// Fault is an error that a fake answers.
type Fault struct{ Code, Message string }

// Error returns the code and the message.
func (f Fault) Error() string { return f.Code + ": " + f.Message }

// FakeJSON returns clients of a fake that speaks AWS's JSON protocols (JSON 1.0
// and 1.1: an operation is named by X-Amz-Target). It answers by operations, one
// at a time. In IAM it has every role that is asked for, in the path /service/.
func FakeJSON(t testing.TB, operations map[string]func(Input) (any, error)) *aws.Clients {
	t.Helper()
	var one sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		one.Lock()
		defer one.Unlock()
		target := r.Header.Get("X-Amz-Target")
		if target == "" {
			query(w, r)
			return
		}
		var (
			in     Input
			answer any
			err    error = Fault{"UnknownOperationException", target}
		)
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		if failed := json.NewDecoder(r.Body).Decode(&in); failed != nil {
			t.Error(failed)
		}
		if do := operations[target[strings.LastIndex(target, ".")+1:]]; do != nil {
			answer, err = do(in)
		}
		if err != nil {
			fault := err.(Fault)
			w.WriteHeader(http.StatusBadRequest)
			answer = map[string]string{"__type": fault.Code, "message": fault.Message}
		}
		if failed := json.NewEncoder(w).Encode(answer); failed != nil {
			t.Error(failed)
		}
	}))
	t.Cleanup(server.Close)
	return Fake(server.URL)
}

// query answers what modules ask of other services, which speak the query
// protocol: IAM for a role, STS for the account.
func query(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	action, body := r.Form.Get("Action"), "<Account>123456789012</Account><Arn>arn:aws:iam::123456789012:root</Arn>"
	if action == "GetRole" {
		name := r.Form.Get("RoleName")
		body = fmt.Sprintf("<Role><RoleName>%s</RoleName><Arn>arn:aws:iam::123456789012:role/service/%s</Arn></Role>",
			name, name)
	}
	fmt.Fprintf(w, "<%sResponse><%sResult>%s</%sResult></%sResponse>", action, action, body, action, action)
}
