package cloudcontrol

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Error is an error as the API answers it.
type Error struct {
	Code    string
	Message string
}

// Error implements error.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

func fault(code, format string, args ...any) error {
	return &Error{code, fmt.Sprintf(format, args...)}
}

// faults of the service, not of the caller: they have status 500 (the API's model).
var serverFaults = map[string]bool{
	"HandlerFailureException": true, "HandlerInternalFailureException": true, "NetworkFailureException": true,
	"ServiceInternalErrorException": true, "ConcurrentModificationException": true, "InternalFailure": true,
}

// status of an error.
func (e *Error) status() int {
	switch {
	case serverFaults[e.Code]:
		return http.StatusInternalServerError
	case e.Code == "MissingAuthenticationTokenException":
		return http.StatusForbidden
	}
	return http.StatusBadRequest
}

// wire is how a service writes its answers.
type wire interface {
	fail(w http.ResponseWriter, err error)
}

// protocol tells the protocol of a call.
func protocol(r *http.Request) wire {
	if r.Header.Get("X-Amz-Target") != "" {
		return jsonWire{}
	}
	return queryWire{}
}

// jsonWire is AWS JSON 1.0 (Smithy's page "AWS JSON 1.0 protocol").
type jsonWire struct{}

func (jsonWire) answer(w http.ResponseWriter, members any) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	_ = json.NewEncoder(w).Encode(members)
}

// fail writes an error. What the API's model has tells its Message; errors of the
// layer before it, such as ValidationException, have message (recorded answers).
func (jsonWire) fail(w http.ResponseWriter, err error) {
	e := asError(err)
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.WriteHeader(e.status())
	answer := map[string]string{"__type": "com.amazonaws.cloudapiservice#" + e.Code, "Message": e.Message}
	if e.Code == "ValidationException" {
		answer = map[string]string{"__type": "com.amazon.coral.validate#ValidationException", "message": e.Message}
	}
	_ = json.NewEncoder(w).Encode(answer)
}

func asError(err error) *Error {
	var e *Error
	if !errors.As(err, &e) {
		e = &Error{"InternalFailure", err.Error()}
	}
	return e
}

// queryWire is the Query protocol (Smithy's page "AWS query protocol").
type queryWire struct{}

func (queryWire) answer(w http.ResponseWriter, namespace, action string, result any) {
	w.Header().Set("Content-Type", "text/xml")
	fmt.Fprintf(w, `<%sResponse xmlns=%q>`, action, namespace)
	_ = xml.NewEncoder(w).EncodeElement(result, xml.StartElement{Name: xml.Name{Local: action + "Result"}})
	fmt.Fprintf(w, `<ResponseMetadata><RequestId>%s</RequestId></ResponseMetadata></%sResponse>`,
		w.Header().Get("X-Amzn-Requestid"), action)
}

func (queryWire) fail(w http.ResponseWriter, err error) {
	e := asError(err)
	status := e.status()
	if e.Code == "TypeNotFoundException" { // 404 in CloudFormation's model
		status = http.StatusNotFound
	}
	w.Header().Set("Content-Type", "text/xml")
	w.WriteHeader(status)
	fmt.Fprint(w, `<ErrorResponse><Error><Type>Sender</Type><Code>`)
	_ = xml.EscapeText(w, []byte(e.Code))
	fmt.Fprint(w, `</Code><Message>`)
	_ = xml.EscapeText(w, []byte(e.Message))
	fmt.Fprintf(w, `</Message></Error><RequestId>%s</RequestId></ErrorResponse>`, w.Header().Get("X-Amzn-Requestid"))
}

// epoch is a time as AWS JSON writes it.
func epoch(t time.Time) json.Number {
	return json.Number(fmt.Sprintf("%d.%03d", t.Unix(), t.Nanosecond()/1e6))
}

// cloudControl answers a call of Cloud Control.
func (s *Server) cloudControl(w http.ResponseWriter, c *call) {
	_, c.action, _ = strings.Cut(c.Header.Get("X-Amz-Target"), ".")
	in, err := decode(string(c.body))
	if err != nil {
		jsonWire{}.fail(w, fault("SerializationException", "the body is no JSON object"))
		return
	}
	input := input(in)
	c.typ = input.text("TypeName")
	met, err := s.begin(c)
	var answer any
	if err == nil && met != nil {
		err = met.refusal(c)
	}
	if err == nil {
		answer, err = s.act(c, input, met)
	}
	switch {
	case met != nil && met.Drop:
		drop(w)
	case err != nil:
		jsonWire{}.fail(w, err)
	default:
		jsonWire{}.answer(w, answer)
	}
}

// act carries out an action.
func (s *Server) act(c *call, in input, met *Fault) (any, error) {
	switch c.action {
	case "CreateResource":
		return s.create(c, in, met)
	case "UpdateResource":
		return s.update(c, in, met)
	case "DeleteResource":
		return s.delete(c, in, met)
	case "GetResource":
		return s.get(c, in)
	case "ListResources":
		return s.list(c, in)
	case "GetResourceRequestStatus":
		return s.requestStatus(c, in)
	case "ListResourceRequests":
		return s.listRequests(c, in)
	case "CancelResourceRequest":
		return s.cancel(c, in)
	}
	return nil, fault("UnknownOperationException", "there is no action %s", c.action)
}

// input is what an action was called with.
type input map[string]any

// text is a text of the input, "" if there is none.
func (in input) text(name string) string {
	text, _ := in[name].(string)
	return text
}

// need checks that members are there.
func (in input) need(names ...string) error {
	for _, name := range names {
		if in.text(name) == "" {
			member := strings.ToLower(name[:1]) + name[1:]
			return fault("ValidationException",
				"1 validation error detected: Value null at '%s' failed to satisfy constraint: Member must not be null",
				member)
		}
	}
	return nil
}

// form reads the parameters of the Query protocol.
func form(c *call) url.Values {
	values, _ := url.ParseQuery(string(c.body))
	return values
}
