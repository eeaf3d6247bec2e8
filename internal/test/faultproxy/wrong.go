package faultproxy

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"encoding/xml"
	"io"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"sync"
)

// Wrong is a way in which an answer to a read is not the truth about the account.
type Wrong string

// The ways.
const (
	// Empty is well-formed and has nothing of what there is: the lists are empty.
	Empty Wrong = "empty 200"
	// HTML is a page with the status 200, as proxies and portals have for everything.
	HTML Wrong = "HTML 200"
	// Truncated is the first half of the answer, as a whole.
	Truncated Wrong = "truncated"
	// Repeated tells of a further page, with one token for ever.
	Repeated Wrong = "repeated token"
	// Foreign is the answer of another account.
	Foreign Wrong = "another account's"
	// Failing is an error of the server, Denied a missing permission.
	Failing Wrong = "500"
	Denied  Wrong = "denied"
)

// Wrongs are all of them.
var Wrongs = []Wrong{Empty, HTML, Truncated, Repeated, Foreign, Failing, Denied}

// Page is what [HTML] answers. It is also well-formed XML, which deserializers of XML take
// for an answer.
const Page = "<!DOCTYPE html>\n" +
	"<html><head><title>Sign in</title></head><body><p>Please sign in<br/>to go on</p></body></html>\n"

// html is the answer with it.
func html(Answer) Answer {
	return Answer{http.StatusOK, http.Header{"Content-Type": {"text/html; charset=utf-8"}}, []byte(Page)}
}

// Liar makes answers wrong. It remembers what it has answered, for tokens that repeat.
type Liar struct {
	mu    sync.Mutex
	pages map[string]Answer
}

// Fault returns the fault that makes the answer to a call wrong.
func (l *Liar) Fault(w Wrong, c Call) Fault {
	switch w {
	case Empty:
		return Fault{Replace: changed(emptied)}
	case HTML:
		return Fault{Replace: html}
	case Truncated:
		return Fault{Replace: changed(func(_ http.Header, body []byte) []byte { return body[:len(body)/2] })}
	case Repeated:
		return l.repeated(c)
	case Foreign:
		return Fault{Replace: changed(func(_ http.Header, body []byte) []byte {
			return accountID.ReplaceAll(body, []byte("${1}210987654321${2}"))
		})}
	case Failing:
		return Fault{Status: http.StatusInternalServerError, Code: "InternalError",
			Message: "An internal error has occurred"}
	}
	return Fault{Status: http.StatusForbidden, Code: denial(c),
		Message: "User is not authorized to perform this action"}
}

// denial is what a service calls a missing permission ("Common Errors" of the services'
// API references).
func denial(c Call) string {
	switch {
	case c.Service == "ec2":
		return "UnauthorizedOperation"
	case c.Header.Get("X-Amz-Target") != "" || restJSON.MatchString(c.Header.Get("Authorization")):
		return "AccessDeniedException"
	}
	return "AccessDenied"
}

// accountID finds the twelve digits of an account, within ARNs, URLs and alone.
var accountID = regexp.MustCompile(`(^|[^0-9A-Za-z.-])\d{12}($|[^0-9A-Za-z.-])`)

// changed changes a body, whose other headers stay.
func changed(change func(http.Header, []byte) []byte) func(Answer) Answer {
	return func(a Answer) Answer {
		a.Body = change(a.Header, a.Body)
		return a
	}
}

// token is the one that [Repeated] tells.
const token = "iasql-repeated"

// given finds it in a request.
var given = regexp.MustCompile(`[&?]?"?[\w-]+"?[:=]\s*"?` + token + `"?,?`)

// repeated answers a call, with or without the token, with its first page and the token.
func (l *Liar) repeated(c Call) Fault {
	first := func(text string) string { return strings.ReplaceAll(given.ReplaceAllString(text, ""), ",", "") }
	what := strings.Join([]string{c.Service, c.Region, first(c.Action), first(c.Body)}, " ")
	l.mu.Lock()
	defer l.mu.Unlock()
	if page, ok := l.pages[what]; ok && strings.Contains(c.Action+c.Body, token) {
		return Fault{Answer: &page}
	}
	return Fault{Replace: func(a Answer) Answer {
		a.Body = continued(a.Body)
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.pages == nil {
			l.pages = map[string]Answer{}
		}
		l.pages[what] = a
		return a
	}}
}

// inXML and inJSON say, by all names that it has, that there is a further page. What a
// service does not know it does not look at.
var inXML = func() string {
	text := "<IsTruncated>true</IsTruncated><NextRecordType>A</NextRecordType>"
	for _, name := range []string{
		"nextToken", "NextToken", "NextMarker", "Marker", "NextContinuationToken", "ContinuationToken",
		"NextRecordName",
	} {
		text += "<" + name + ">" + token + "</" + name + ">"
	}
	return text
}()

var inJSON = map[string]any{
	"NextToken": token, "nextToken": token, "NextMarker": token, "Marker": token, "marker": token,
	"nextPageToken":   token,
	"PaginationToken": token, "LastEvaluatedTableName": token, "position": token,
}

// result is the element that holds an answer's members: the Query protocol has one named after the action in its root.
func result(root *element) *element {
	if len(root.children) > 0 && strings.HasSuffix(root.children[0].name, "Result") {
		return root.children[0]
	}
	return root
}

// continued adds the token to an answer.
func continued(body []byte) []byte {
	var object map[string]any
	if decode(body, &object) == nil && object != nil {
		maps.Copy(object, inJSON)
		text, _ := json.Marshal(object)
		return text
	}
	root, err := parseXML(body)
	if err != nil {
		return body
	}
	at := result(root)
	at.children = without(at.children, func(e *element) bool {
		return strings.Contains(inXML, "<"+e.name+">")
	})
	at.children = append(at.children, &element{raw: inXML})
	return root.write()
}

// emptied empties the lists and structures of an answer, and has it be the only page.
func emptied(_ http.Header, body []byte) []byte {
	var object map[string]any
	if decode(body, &object) == nil && object != nil {
		for name, value := range object {
			switch value.(type) {
			case []any:
				object[name] = []any{}
			case map[string]any:
				object[name] = map[string]any{}
			}
			if _, is := inJSON[name]; is {
				delete(object, name)
			}
		}
		text, _ := json.Marshal(object)
		return text
	}
	root, err := parseXML(body)
	if err != nil {
		return body
	}
	at := result(root)
	flat := strings.HasSuffix(root.name, "Result") // of S3, whose lists have no element around them
	at.children = without(at.children, func(e *element) bool {
		item := flat && e.name != "Buckets" && e.name != "Owner" && len(e.children) > 0
		return item || strings.Contains(inXML, "<"+e.name+">")
	})
	for _, e := range at.children {
		if len(e.children) > 0 && e.name != "ResponseMetadata" {
			e.children = nil
		}
		if e.name == "Quantity" {
			e.text = "0"
		}
	}
	return root.write()
}

// decode decodes a body that is one JSON value, numbers as they are.
func decode(body []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	return d.Decode(to)
}

// element is an element of an XML document, or text as it is.
type element struct {
	name, text, raw string
	attributes      []xml.Attr
	children        []*element
}

func without(list []*element, drop func(*element) bool) []*element {
	var kept []*element
	for _, e := range list {
		if !drop(e) {
			kept = append(kept, e)
		}
	}
	return kept
}

// parseXML returns the root element of a document.
func parseXML(body []byte) (*element, error) {
	d := xml.NewDecoder(bytes.NewReader(body))
	var open []*element
	for {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		switch t := t.(type) {
		case xml.StartElement:
			e := &element{name: t.Name.Local}
			for _, a := range t.Attr {
				if a.Name.Space == "" { // of others the prefixes would be lost
					e.attributes = append(e.attributes, a)
				}
			}
			if len(open) > 0 {
				parent := open[len(open)-1]
				parent.children = append(parent.children, e)
			}
			open = append(open, e)
		case xml.CharData:
			if len(open) > 0 {
				open[len(open)-1].text += string(t)
			}
		case xml.EndElement:
			if len(open) == 1 {
				return open[0], nil
			}
			open = open[:len(open)-1]
		}
	}
}

func (e *element) write() []byte {
	var b bytes.Buffer
	e.to(&b)
	return b.Bytes()
}

func (e *element) to(b *bytes.Buffer) {
	if e.raw != "" {
		b.WriteString(e.raw)
		return
	}
	b.WriteString("<" + e.name)
	for _, a := range e.attributes {
		b.WriteString(" " + a.Name.Local + `="`)
		_ = xml.EscapeText(b, []byte(a.Value))
		b.WriteString(`"`)
	}
	b.WriteString(">")
	if len(e.children) == 0 {
		_ = xml.EscapeText(b, []byte(e.text))
	}
	for _, child := range e.children {
		child.to(b)
	}
	_, _ = io.WriteString(b, "</"+e.name+">")
}

// cborTexts is a map of texts in CBOR (RFC 8949, section 3.1).
func cborTexts(texts ...string) []byte {
	body := []byte{0xa0 | byte(len(texts)/2)}
	for _, text := range texts {
		body = append(body, 0x79) // a text, whose length has two bytes
		body = binary.BigEndian.AppendUint16(body, uint16(len(text)))
		body = append(body, text...)
	}
	return body
}
