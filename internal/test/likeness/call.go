package likeness

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"iasql/internal/test/faultproxy"
)

// refusal is a refusal with a status, a code and a message.
func refusal(status int, code, format string, args ...any) faultproxy.Fault {
	return faultproxy.Fault{Status: status, Code: code, Message: fmt.Sprintf(format, args...)}
}

// input returns the body of a call of one of the JSON protocols.
func (c Call) input() map[string]any {
	var members map[string]any
	_ = json.Unmarshal([]byte(c.Body), &members)
	return members
}

// said returns a text of the input by its name, "" if there is none.
func (c Call) said(name string) string {
	text, _ := c.input()[name].(string)
	return text
}

// rest returns the method, path and query of a call of one of the REST protocols.
func (c Call) rest() (method, path string, query url.Values) {
	method, target, _ := strings.Cut(c.Action, " ")
	u, err := url.Parse(target)
	if err != nil {
		return method, target, nil
	}
	return method, u.Path, u.Query()
}

// tail returns what follows a prefix in a path, without further segments.
func tail(path, prefix string) string {
	rest, found := strings.CutPrefix(path, prefix)
	if !found {
		return ""
	}
	first, _, _ := strings.Cut(rest, "/")
	return first
}

// parsed reads a call's XML.
func parsed[T any](c Call) T {
	var v T
	_ = xml.Unmarshal([]byte(c.Body), &v)
	return v
}

// become makes the call another operation of the same JSON service, with that input.
func (c Call) become(operation string, input map[string]any) (body string) {
	service, _, _ := strings.Cut(c.Header.Get("X-Amz-Target"), ".")
	c.Header.Set("X-Amz-Target", service+"."+operation)
	text, _ := json.Marshal(input) // of texts and numbers
	return string(text)
}

// later sends a call to the emulator after some time.
func later(after time.Duration, endpoint, method string, header http.Header, body string) {
	header = header.Clone()
	time.AfterFunc(after, func() {
		request, err := http.NewRequest(method, endpoint, strings.NewReader(body))
		if err != nil {
			return
		}
		request.Header = header
		if answer, err := http.DefaultClient.Do(request); err == nil {
			_ = answer.Body.Close()
		}
	})
}

// learn is called for a good answer, which it leaves as it is.
func learn(from func(answer string)) faultproxy.Fault {
	return faultproxy.Fault{Rewrite: func(body []byte) []byte {
		from(string(body))
		return body
	}}
}

// rewrite changes a good answer's text.
func rewrite(edit func(answer string) string) faultproxy.Fault {
	return faultproxy.Fault{Rewrite: func(body []byte) []byte { return []byte(edit(string(body))) }}
}

// young reports whether something began no longer ago than d.
func (m *memory) young(key string, d time.Duration) bool {
	since, begun := m.since(key)
	return begun && since < d
}

// restart notes that something begins anew.
func (m *memory) restart(key string) {
	m.forget(key)
	m.begin(key)
}
