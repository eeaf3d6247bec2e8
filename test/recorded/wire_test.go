package recorded

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// wire writes an error as a service's protocol has it.
type wire func(w http.ResponseWriter, f failure)

// jsonWire is AWS JSON 1.0 and 1.1: the body names the error (Smithy, "AWS JSON
// 1.1 protocol", Operation error serialization).
func jsonWire(w http.ResponseWriter, f failure) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	w.WriteHeader(f.status)
	fmt.Fprint(w, text(map[string]string{"__type": f.code, "message": f.message}))
}

// queryJSON is AWS JSON of a service that spoke the query protocol before: a
// header has the code of that (Smithy, "awsQueryCompatible trait").
func queryJSON(w http.ResponseWriter, f failure) {
	w.Header().Set("x-amzn-query-error", f.code+";Sender")
	f.code = "com.amazonaws.sqs#" + f.code[strings.LastIndex(f.code, ".")+1:]
	jsonWire(w, f)
}

// restJSON has the name of the error in a header (Smithy, "AWS restJson1
// protocol", Operation error serialization).
func restJSON(w http.ResponseWriter, f failure) {
	w.Header().Set("X-Amzn-Errortype", f.code+":http://internal.amazon.com/coral/com.amazonaws/")
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(f.status)
	fmt.Fprint(w, text(map[string]string{"message": f.message}))
}

// query is the AWS query protocol, whose errors REST XML has, too.
func query(w http.ResponseWriter, f failure) {
	writeXML(w, f.status, "<ErrorResponse><Error><Type>Sender</Type><Code>%s</Code><Message>%s</Message></Error><RequestId>r</RequestId></ErrorResponse>", f)
}

func restXML(w http.ResponseWriter, f failure) { query(w, f) }

// ec2Query is the EC2 query protocol.
func ec2Query(w http.ResponseWriter, f failure) {
	writeXML(w, f.status, "<Response><Errors><Error><Code>%s</Code><Message>%s</Message></Error></Errors><RequestID>r</RequestID></Response>", f)
}

// s3XML is REST XML as S3 has it: the error has no wrapper.
func s3XML(w http.ResponseWriter, f failure) {
	writeXML(w, f.status, "<Error><Code>%s</Code><Message>%s</Message><RequestId>r</RequestId></Error>", f)
}

func writeXML(w http.ResponseWriter, status int, format string, f failure) {
	w.Header().Set("Content-Type", "text/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, format, escape(f.code), escape(f.message))
}

func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a strings.Builder never fails
	return b.String()
}

// faulty is a server that answers every request with one error, which changes.
type faulty struct {
	*httptest.Server
	answer   atomic.Pointer[failure]
	requests atomic.Int64
}

func newFaulty(t *testing.T, s service) *faulty {
	f := &faulty{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.requests.Add(1)
		answer := *f.answer.Load()
		w.Header().Set("x-amz-request-id", "<request-id:1>") // which every answer has
		if r.Method == http.MethodHead {                     // an answer without a body
			w.WriteHeader(answer.status)
			return
		}
		s.wire(w, answer)
	}))
	t.Cleanup(f.Close)
	return f
}

// isStatus reports whether a code is what clients make of an answer without a body:
// its status.
func (f failure) isStatus() bool { return json.Valid([]byte(f.code)) }

// shown is the code that the SDK makes of an error.
func (f failure) shown() string {
	if f.isStatus() {
		return strings.ReplaceAll(http.StatusText(f.status), " ", "")
	}
	return f.code
}

// of reports whether an operation can have the error: only HEAD has no body.
func (f failure) of(operation string) bool {
	return strings.HasPrefix(operation, "Head") == f.isStatus()
}
