package aws

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"iasql/internal/modules"
)

// An answer has to be one (R29). The SDK's deserializers are lenient: of XML they look for
// the elements that they know and take a page of HTML, or nothing at all, for an answer
// that has none of them; of JSON they take an empty body for an empty object. So every
// answer is looked at twice: as bytes, before the SDK sees it ([answered]), and as
// the output that the SDK has made of it (formed).

// The codes of answers that are none. They are this package's own.
const (
	codeNotAnswer  = "NotAnAnswer"      // somebody else's answer: a proxy's, a login page
	codeIncomplete = "IncompleteAnswer" // it ends before its end
)

// longestAnswer bounds the memory that an answer takes: far above the longest page, of
// some megabytes, that a listing has.
const longestAnswer = 256 << 20

// notAnswer is the error of an answer that is not one of its operation.
type notAnswer struct {
	code           string
	operation      string // "EC2:DescribeVpcs"
	host, status   string
	why, beginning string
}

// Disbelieved ends the message about an answer that cannot be the cloud's.
const Disbelieved = "Nothing is concluded from it. If it goes on, look at the endpoint (AWS_ENDPOINT_URL) and at the " +
	"proxies on the way there"

// Error says what was asked, of whom, what came, and what to look at.
func (e *notAnswer) Error() string {
	text := fmt.Sprintf("%s answered %s with %q, which is no answer to it: %s", e.host, e.operation, e.status, e.why)
	if e.code == codeIncomplete {
		text = fmt.Sprintf("%s answered %s with %q, and the answer is incomplete: %s", e.host, e.operation,
			e.status, e.why)
	}
	if e.beginning != "" {
		text += fmt.Sprintf("; it begins %q", e.beginning)
	}
	return text + ". " + Disbelieved
}

// protocol is how the calls and answers of an operation are written (Smithy, "AWS
// protocols").
type protocol int

const (
	ec2Query protocol = iota
	awsQuery
	restXML
	awsJSON
	restJSON
	cbor
)

// protocolOf returns the protocol of a request. Whether REST answers in XML or in JSON
// only the service's model tells.
func protocolOf(service string, r *http.Request) protocol {
	switch {
	case r.Header.Get("Smithy-Protocol") == "rpc-v2-cbor":
		return cbor
	case r.Header.Get("X-Amz-Target") != "":
		return awsJSON
	case strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded"):
		if service == "EC2" {
			return ec2Query
		}
		return awsQuery
	case slices.Contains([]string{"S3", "S3 Control", "Route 53", "CloudFront"}, service):
		return restXML
	}
	return restJSON
}

// isXML reports whether answers are XML documents.
func (p protocol) isXML() bool { return p <= restXML }

// answer is what came back for a request.
type answer struct {
	op       *operation
	request  *http.Request
	response *http.Response
	protocol protocol
	body     []byte
}

// answered is the middleware nearest to the wire: it reads the whole answer, and refuses
// what is none. The metadata service, by which the SDK logs in within other operations,
// answers in ways of its own.
func (op *operation) answered(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (
	middleware.DeserializeOutput, middleware.Metadata, error,
) {
	out, metadata, err := next.HandleDeserialize(ctx, in)
	request, asked := in.Request.(*smithyhttp.Request)
	response, came := out.RawResponse.(*smithyhttp.Response)
	if err != nil || op.nameless() || !asked || !came || response.Response == nil {
		return out, metadata, err
	}
	op.answer = &answer{op, request.Request, response.Response, protocolOf(op.service, request.Request), nil}
	return out, metadata, op.answer.read()
}

// read reads the whole answer, unless it is a stream, and looks at it.
func (a *answer) read() error {
	if a.streams() {
		return asError(a.unsigned())
	}
	var err error
	a.body, err = io.ReadAll(io.LimitReader(a.response.Body, longestAnswer+1))
	_ = a.response.Body.Close()
	a.response.Body = io.NopCloser(bytes.NewReader(a.body))
	switch {
	case err != nil && isContextError(err):
		return err
	case err != nil:
		return a.incomplete("the connection ended before it (" + err.Error() + ")")
	case len(a.body) > longestAnswer:
		return a.not(fmt.Sprintf("it is longer than %d MB", longestAnswer>>20))
	}
	return asError(a.check())
}

// asError keeps a nil pointer from becoming an error.
func asError(e *notAnswer) error {
	if e == nil {
		return nil
	}
	return e
}

// streaming are the operations whose answers are handed on unread: their outputs have a
// reader instead of members (the SDK's output structures; httpPayload with the streaming
// trait in the services' models).
var streaming = []string{
	"CloudWatch Logs:GetLogObject", "CloudWatch Logs:StartLiveTail", "Kinesis:SubscribeToShard",
	"Lambda:InvokeWithResponseStream",
	"S3:GetObject", "S3:GetObjectAnnotation", "S3:GetObjectTorrent", "S3:SelectObjectContent",
}

// payloads are the operations whose answer is, as a whole, one member that is no document
// of the protocol (httpPayload of a blob or a text in the services' models): what a
// function returns, a schema, an exported API.
var payloads = []string{"Lambda:Invoke", "AppSync:GetIntrospectionSchema", "ApiGatewayV2:ExportApi"}

func (a *answer) operation() string { return a.op.service + ":" + a.op.action }

// succeeded reports whether the status says so.
func (a *answer) succeeded() bool { return a.response.StatusCode >= 200 && a.response.StatusCode < 300 }

// nothings are what says nothing, besides an empty body: some servers that are not AWS's
// write null where an operation answers nothing, and moto True to PutBucketPolicy.
var nothings = map[string][]string{"S3:PutBucketPolicy": {"True"}}

// empty reports whether the answer says nothing. To a read that is none.
func (a *answer) empty() bool {
	body := string(bytes.TrimSpace(a.body))
	return body == "" || a.op.mutates &&
		(body == "null" && !a.protocol.isXML() || slices.Contains(nothings[a.operation()], body))
}

func (a *answer) streams() bool { return a.succeeded() && slices.Contains(streaming, a.operation()) }

// check returns what is wrong with the answer as bytes.
func (a *answer) check() *notAnswer {
	switch {
	case a.request.Method == http.MethodHead:
		return a.unsigned()
	case !a.succeeded():
		return a.checkError()
	case slices.Contains(payloads, a.operation()):
		return a.unsigned()
	case a.empty():
		return a.checkEmpty()
	case a.operation() == "S3:GetBucketPolicy": // the policy itself (page GetBucketPolicy, Response Syntax)
		return a.checkObject()
	case a.protocol.isXML():
		return a.checkRoot()
	case a.protocol == cbor:
		return a.checkMap()
	}
	return a.checkObject()
}

// requestIDs are the headers in which AWS says what it calls the request ("Common response
// headers" of the Amazon S3 API Reference; "Request ID" of the services' guides).
var requestIDs = []string{"X-Amzn-Requestid", "X-Amz-Request-Id", "X-Amz-Id-2", "X-Amzn-Request-Id"}

// unsigned looks at an answer whose body tells nothing: it has to have a request's id.
func (a *answer) unsigned() *notAnswer {
	if slices.ContainsFunc(requestIDs, func(name string) bool { return a.response.Header.Get(name) != "" }) {
		return nil
	}
	return a.not("it has no header with the id of a request, such as " + requestIDs[0])
}

// checkEmpty looks at a success without a body. Reads always have one.
func (a *answer) checkEmpty() *notAnswer {
	if !a.op.mutates || a.protocol == ec2Query || a.protocol == awsQuery {
		return a.not("it is empty")
	}
	return a.unsigned()
}

// checkObject looks at an answer that has to be one JSON object.
func (a *answer) checkObject() *notAnswer {
	body := bytes.TrimSpace(a.body)
	switch {
	case body[0] != '{':
		return a.not("it is no JSON object")
	case !json.Valid(body):
		return a.incompleteOrNot(func() bool {
			var syntax *json.SyntaxError
			return errors.As(json.Unmarshal(body, new(json.RawMessage)), &syntax) && syntax.Offset >= int64(len(body))
		}, "its JSON ends too early", "it is no valid JSON")
	}
	return nil
}

// checkMap looks at an answer in CBOR, which is a map that is written whole (RFC 8949,
// section 3.1, major type 5). What is inside the SDK's decoder sees.
func (a *answer) checkMap() *notAnswer {
	const major = 5
	if a.body[0]>>5 != major || a.response.Header.Get("Smithy-Protocol") != "rpc-v2-cbor" {
		return a.not("it is no map of CBOR")
	}
	return nil
}

func (a *answer) incompleteOrNot(incomplete func() bool, early, wrong string) *notAnswer {
	if incomplete() {
		return a.incomplete(early)
	}
	return a.not(wrong)
}

// checkRoot looks at an answer in XML: its root element, and that it ends with that.
func (a *answer) checkRoot() *notAnswer {
	name, empty, err := root(a.body)
	if err != nil {
		return a.not("it is no XML")
	}
	local := name[strings.LastIndex(name, ":")+1:]
	if want := a.roots(); len(want) > 0 && !slices.Contains(want, local) {
		return a.not(fmt.Sprintf("its root element is <%s>, not <%s>", printable(name, 60),
			strings.Join(want, "> or <")))
	}
	if strings.EqualFold(local, "html") {
		return a.not("it is a page of HTML")
	}
	if !empty && !closes(a.body, name) {
		ended := bytes.Contains(a.body, []byte("</"+name))
		return a.incompleteOrNot(func() bool {
			return !ended
		}, "its root element has no end", "something follows its root element")
	}
	return nil
}

// root returns the name of the root element as it is written, and whether it is empty: <a/>.
func root(body []byte) (name string, empty bool, err error) {
	decoder := xml.NewDecoder(bytes.NewReader(body))
	decoder.Strict = true
	for {
		token, err := decoder.RawToken()
		if err != nil {
			return "", false, err
		}
		switch t := token.(type) {
		case xml.StartElement:
			if name = t.Name.Local; t.Name.Space != "" {
				name = t.Name.Space + ":" + name
			}
			end := int(decoder.InputOffset())
			return name, end >= 2 && body[end-2] == '/' && len(bytes.TrimSpace(body[end:])) == 0, nil
		case xml.CharData:
			if len(bytes.TrimSpace(bytes.TrimPrefix(t, []byte("\ufeff")))) > 0 {
				return "", false, errors.New("text before the root element")
			}
		}
	}
}

// closes reports whether a document ends with the end of that element.
func closes(body []byte, name string) bool {
	body = bytes.TrimSpace(body)
	inner, ok := bytes.CutSuffix(body, []byte(">"))
	return ok && bytes.HasSuffix(bytes.TrimRight(inner, " \t\r\n"), []byte("</"+name))
}

// roots are the root elements that the answer may have; none where nothing is known.
func (a *answer) roots() []string {
	switch {
	case a.protocol != restXML, a.op.service == "Route 53":
		return []string{a.op.action + "Response"}
	case a.op.service == "S3":
		// A server that is not AWS's names some answers after the operation, which none but
		// an answer to it is.
		if name, ok := s3Roots[a.op.action]; ok {
			return []string{name, a.op.action + "Response", a.op.action + "Result",
				strings.TrimSuffix(a.op.action, "Configuration") + "Response"} // as operations were called before
		}
	}
	return nil // of CloudFront: [answer.payload]
}

// s3Roots are the root elements of S3's answers, which do not follow from the operation's
// name (Amazon S3 API Reference, "Response Syntax" of each). Operations that are missing
// here may have any but that of HTML.
var s3Roots = map[string]string{
	"GetBucketAcl":                       "AccessControlPolicy",
	"GetBucketCors":                      "CORSConfiguration",
	"GetBucketEncryption":                "ServerSideEncryptionConfiguration",
	"GetBucketLifecycleConfiguration":    "LifecycleConfiguration",
	"GetBucketLocation":                  "LocationConstraint",
	"GetBucketLogging":                   "BucketLoggingStatus",
	"GetBucketNotificationConfiguration": "NotificationConfiguration",
	"GetBucketOwnershipControls":         "OwnershipControls",
	"GetBucketPolicyStatus":              "PolicyStatus",
	"GetBucketReplication":               "ReplicationConfiguration",
	"GetBucketRequestPayment":            "RequestPaymentConfiguration",
	"GetBucketTagging":                   "Tagging",
	"GetBucketVersioning":                "VersioningConfiguration",
	"GetBucketWebsite":                   "WebsiteConfiguration",
	"GetObjectTagging":                   "Tagging",
	"GetPublicAccessBlock":               "PublicAccessBlockConfiguration",
	"ListBuckets":                        "ListAllMyBucketsResult",
	"ListMultipartUploads":               "ListMultipartUploadsResult",
	"ListObjectVersions":                 "ListVersionsResult",
	"ListObjects":                        "ListBucketResult",
	"ListObjectsV2":                      "ListBucketResult",
	"ListParts":                          "ListPartsResult",
}

// checkError looks at an answer that refuses. What is not in the form of the protocol's
// errors says nothing, whatever its status: the page of a proxy that says 404 is no proof
// that an object is gone, nor one that says 403 that a creation was refused. That a server
// has failed needs no form, and is tried again: AWS's own front ends say 503 in HTML.
func (a *answer) checkError() *notAnswer {
	switch {
	case a.response.StatusCode >= 500 || a.response.StatusCode < 200 ||
		a.response.StatusCode == http.StatusTooManyRequests:
		return nil
	case len(bytes.TrimSpace(a.body)) == 0:
		return a.unsigned()
	case a.protocol.isXML():
		name, _, err := root(a.body)
		if err != nil || !slices.Contains(errorRoots[a.protocol], name[strings.LastIndex(name, ":")+1:]) {
			return a.not("it is no error in the form of the service's")
		}
		return nil
	case a.protocol == cbor:
		return a.checkMap()
	}
	if a.response.Header.Get("X-Amzn-Errortype") != "" {
		return nil
	}
	var names map[string]json.RawMessage
	if err := json.Unmarshal(a.body, &names); err != nil {
		return a.not("it is no error in the form of the service's")
	}
	for _, name := range []string{"__type", "code", "Code"} {
		if _, ok := names[name]; ok {
			return nil
		}
	}
	return a.not("it is an error without a code")
}

// errorRoots are the root elements of errors (Smithy, "AWS EC2 query protocol", "AWS Query
// protocol" and "AWS restXml protocol", error responses; Amazon S3 API Reference, "Error
// responses"; Route 53 API Reference, ChangeResourceRecordSets, InvalidChangeBatch).
var errorRoots = map[protocol][]string{
	ec2Query: {"Response"},
	awsQuery: {"ErrorResponse"},
	restXML:  {"Error", "ErrorResponse", "InvalidChangeBatch"},
}

// not returns the error of an answer that is somebody else's.
func (a *answer) not(why string) *notAnswer {
	e := a.incomplete(why)
	e.code, e.beginning = codeNotAnswer, printable(Scrub(string(a.body[:min(len(a.body), 400)])), 80)
	return e
}

// incomplete returns the error of an answer that ends too early. What there is of it is
// not shown: it is the account's.
func (a *answer) incomplete(why string) *notAnswer {
	return &notAnswer{code: codeIncomplete, operation: a.operation(), host: a.request.URL.Host,
		status: a.response.Status, why: why}
}

// printable returns the beginning of a text without what a terminal would obey.
func printable(text string, most int) string {
	runes := []rune(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "")))
	if len(runes) > most {
		return strings.TrimSpace(string(runes[:most])) + "…"
	}
	return strings.TrimSpace(string(runes))
}

// formed looks at what the SDK has made of an answer: the members that are always there.
func (op *operation) formed(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (
	middleware.DeserializeOutput, middleware.Metadata, error,
) {
	out, metadata, err := next.HandleDeserialize(ctx, in)
	if err != nil || op.answer == nil {
		return out, metadata, err
	}
	a := op.answer
	op.answer = nil // which is long
	if !a.succeeded() || a.streams() || a.request.Method == http.MethodHead ||
		slices.Contains(payloads, a.operation()) {
		return out, metadata, nil
	}
	return out, metadata, asError(a.checkOutput(reflect.ValueOf(out.Result)))
}

// checkOutput looks at an output: a pointer to the SDK's structure.
func (a *answer) checkOutput(output reflect.Value) *notAnswer {
	if output.Kind() != reflect.Pointer || output.IsNil() || output.Elem().Kind() != reflect.Struct {
		return nil
	}
	members := membersOf(output.Elem())
	empty := a.empty()
	switch {
	case len(members.names) == 0:
		return a.checkNothing(empty)
	case empty && a.response.StatusCode == http.StatusNoContent:
		return nil
	case empty && (members.bodied() || a.protocol == awsJSON || a.protocol == cbor):
		return a.not("it is empty")
	case empty:
		return nil
	case a.protocol == awsJSON || a.protocol == restJSON:
		if e := a.checkNames(members.names); e != nil {
			return e
		}
	case a.protocol == awsQuery && !bytes.Contains(a.body, []byte(a.op.action+"Result")):
		return a.not("it has no element <" + a.op.action + "Result>")
	case a.protocol == restXML && a.op.service == "CloudFront":
		if e := a.checkPayload(members); e != nil {
			return e
		}
	}
	return a.checkAlways(members)
}

// members are those of an output, without the SDK's own.
type members struct {
	names   []string
	objects []reflect.Value // pointers to structures
	lists   []reflect.Value
}

func membersOf(output reflect.Value) (m members) {
	for i := range output.NumField() {
		field := output.Type().Field(i)
		if !field.IsExported() || field.Name == "ResultMetadata" {
			continue
		}
		m.names = append(m.names, field.Name)
		switch value, t := output.Field(i), field.Type; {
		case t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct && t.Elem().PkgPath() != "time":
			m.objects = append(m.objects, value)
		case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
			m.lists = append(m.lists, value)
		}
	}
	return m
}

// bodied reports whether there are members that no header can hold.
func (m members) bodied() bool { return len(m.objects)+len(m.lists) > 0 }

// checkNothing looks at the answer to an operation that answers nothing: there is no body,
// or a document of the protocol, which [answer.check] has seen; of REST in XML only its root
// tells.
func (a *answer) checkNothing(empty bool) *notAnswer {
	if empty || a.protocol != restXML || len(a.roots()) > 0 {
		return nil
	}
	return a.not("the operation answers nothing, and this has a body")
}

// checkNames looks at a JSON object: if it has members, the operation knows one of them.
func (a *answer) checkNames(known []string) *notAnswer {
	var names map[string]json.RawMessage
	if err := json.Unmarshal(a.body, &names); err != nil || len(names) == 0 {
		return nil // what is a list as a whole, or a text, the SDK has understood
	}
	for name := range names {
		if slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, name) }) {
			return nil
		}
	}
	return a.not("it has none of the members that the operation's answer has")
}

// checkPayload looks at the root element of an answer of CloudFront: it is named after the
// one structure that the output holds (Amazon CloudFront API Reference, "Response Syntax").
func (a *answer) checkPayload(m members) *notAnswer {
	if len(m.objects) != 1 {
		return nil
	}
	name, _, err := root(a.body)
	want := m.objects[0].Type().Elem().Name()
	if err != nil || name != want {
		return a.not(fmt.Sprintf("its root element is <%s>, not <%s>", printable(name, 60), want))
	}
	return nil
}

// checkAlways looks for what is always there: the one list of what EC2 describes, which is
// an empty element if there is nothing (Amazon EC2 API Reference, "Response Elements"), and
// the one object that an operation creates, describes or gets.
func (a *answer) checkAlways(m members) *notAnswer {
	verb := func(verbs ...string) bool {
		return slices.ContainsFunc(verbs, func(v string) bool { return strings.HasPrefix(a.op.action, v) })
	}
	// Of an object's attributes EC2 describes the one that is asked for (page DescribeVolumeAttribute, "Examples").
	attribute := strings.HasSuffix(a.op.action, "Attribute")
	switch {
	case a.protocol == ec2Query && verb("Describe") && !attribute && len(m.lists) == 1 && m.lists[0].IsNil():
		return a.not("it has no list, not even an empty one")
	case a.operation() == "S3:GetBucketLogging": // which has nothing where nothing is logged (page GetBucketLogging)
	case verb("Create", "Describe", "Get") && len(m.names) == 1 && len(m.objects) == 1 && m.objects[0].IsNil():
		return a.not("it has no " + m.names[0])
	}
	return nil
}

// failure returns the class, the code and the message of an answer that is none. What a
// mutation has done is not known, whatever the status (R6).
func (e *notAnswer) failure(mutates bool, err error) *modules.Error {
	class := modules.Transient
	if mutates {
		class = modules.MayHaveHappened
	}
	return &modules.Error{Class: class, Code: e.code, Message: e.Error(), Err: err}
}
