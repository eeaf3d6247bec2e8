package events

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws/arn"
)

// Bounds of what is read. SQS takes messages of a mebibyte, and EventBridge sends none of
// more than 256 KB.
const (
	MaxMessage = 1 << 20 // bytes of a message, and of a record of a file
	maxDepth   = 48      // of nested values
	maxText    = 2048    // bytes of a text that is kept: no ARN and no id is longer
	maxValues  = 20000   // that are kept of a record
)

// ErrOther is the error about messages that are no records of calls and no mistake either,
// such as records of somebody signing in to the console.
var ErrOther = errors.New("not a record of a call")

// message is an event of EventBridge, or what SNS makes of one.
type message struct {
	DetailType string          `json:"detail-type"`
	Account    string          `json:"account"`
	Region     string          `json:"region"`
	Detail     json.RawMessage `json:"detail"`

	Type    string  `json:"Type"`
	Message *string `json:"Message"`
}

// record is a record of CloudTrail.
type record struct {
	EventID            string          `json:"eventID"`
	EventTime          string          `json:"eventTime"`
	EventType          string          `json:"eventType"`
	EventCategory      string          `json:"eventCategory"`
	EventSource        string          `json:"eventSource"`
	EventName          string          `json:"eventName"`
	AWSRegion          string          `json:"awsRegion"`
	RecipientAccountID string          `json:"recipientAccountId"`
	ManagementEvent    *bool           `json:"managementEvent"`
	ReadOnly           any             `json:"readOnly"`
	ErrorCode          string          `json:"errorCode"`
	RequestID          string          `json:"requestID"`
	SharedEventID      string          `json:"sharedEventID"`
	SourceIPAddress    string          `json:"sourceIPAddress"`
	UserAgent          string          `json:"userAgent"`
	UserIdentity       identity        `json:"userIdentity"`
	RequestParameters  json.RawMessage `json:"requestParameters"`
	ResponseElements   json.RawMessage `json:"responseElements"`
	ServiceDetails     json.RawMessage `json:"serviceEventDetails"`
	Resources          json.RawMessage `json:"resources"`
}

// identity is a record's element userIdentity.
type identity struct {
	Type           string `json:"type"`
	PrincipalID    string `json:"principalId"`
	ARN            string `json:"arn"`
	AccountID      string `json:"accountId"`
	UserName       string `json:"userName"`
	InvokedBy      string `json:"invokedBy"`
	SessionContext struct {
		SessionIssuer struct {
			ARN      string `json:"arn"`
			UserName string `json:"userName"`
		} `json:"sessionIssuer"`
	} `json:"sessionContext"`
	OnBehalfOf struct {
		UserID string `json:"userId"`
	} `json:"onBehalfOf"`
}

// Parse reads the body of a message: an event of EventBridge with a record of CloudTrail,
// as it is or as SNS passes it on. Its error is [ErrOther], or says what is wrong with the
// message.
func Parse(body []byte) (*Event, error) {
	m, err := open(body)
	if err != nil {
		return nil, err
	}
	if m.Type == "Notification" && m.Message != nil && m.DetailType == "" {
		if m, err = open([]byte(*m.Message)); err != nil {
			return nil, fmt.Errorf("in a notification: %w", err)
		}
	}
	switch {
	case m.DetailType == "":
		return nil, errors.New("it is no event of EventBridge: it has no detail-type")
	case m.DetailType != "AWS API Call via CloudTrail" && m.DetailType != "AWS Service Event via CloudTrail":
		return nil, fmt.Errorf("%w: its detail-type is %q", ErrOther, said(m.DetailType, 100))
	case len(m.Detail) == 0:
		return nil, errors.New("it has no detail")
	}
	e, err := parseRecord(m.Detail)
	if err != nil {
		return nil, err
	}
	if e.Account == "" {
		e.Account = m.Account
	}
	if e.Account != m.Account {
		return nil, errors.New("its detail is of another account than the event")
	}
	return e, e.check()
}

// open parses a message, but for its detail.
func open(body []byte) (*message, error) {
	if len(body) > MaxMessage {
		return nil, fmt.Errorf("it has %d bytes, more than %d", len(body), MaxMessage)
	}
	if err := shallow(body); err != nil {
		return nil, err
	}
	m := &message{}
	if err := json.Unmarshal(body, m); err != nil {
		return nil, malformed(err)
	}
	return m, nil
}

// malformed returns what is wrong with a text that is no JSON, or not of that form. The
// error of package json may repeat a piece of it.
func malformed(err error) error { return fmt.Errorf("it is malformed: %s", said(err.Error(), 200)) }

// shallow checks that a text of JSON nests no values deeper than anybody would. It does
// not check that it is one.
func shallow(text []byte) error {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return fmt.Errorf("its values are nested more than %d deep", maxDepth)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

// parseRecord reads a record of CloudTrail, of which nothing has been checked but its size
// and depth. Its account may be missing: in files of older trails it is.
func parseRecord(text []byte) (*Event, error) {
	r := &record{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, malformed(err)
	}
	// Data events, such as reads of an object of S3, come by the million and change no table.
	if r.EventType != "AwsApiCall" && r.EventType != "AwsServiceEvent" && r.EventType != "AwsConsoleAction" ||
		r.EventCategory != "" && r.EventCategory != "Management" || r.ManagementEvent != nil && !*r.ManagementEvent {
		return nil, fmt.Errorf("%w: it is %q of category %q", ErrOther, said(r.EventType, 100),
			said(r.EventCategory, 100))
	}
	at, err := time.Parse(time.RFC3339, r.EventTime)
	if err != nil {
		return nil, errors.New("its eventTime is none")
	}
	e := &Event{
		ID: r.EventID, Time: at.UTC(), Account: r.RecipientAccountID, Region: r.AWSRegion, Source: r.EventSource,
		Name:     r.EventName,
		ReadOnly: r.ReadOnly == true || r.ReadOnly == "true",
		Error:    said(r.ErrorCode, 200), RequestID: named(r.RequestID), SharedID: named(r.SharedEventID),
		Actor: r.actor(),
	}
	keep := keeper{left: maxValues}
	e.Request, _ = keep.parse(r.RequestParameters).(map[string]any)
	e.Response, _ = keep.parse(r.ResponseElements).(map[string]any)
	e.Details, _ = keep.parse(r.ServiceDetails).(map[string]any)
	e.Resources, _ = keep.parse(r.Resources).([]any)
	return e, nil
}

func (r *record) actor() Actor {
	u := &r.UserIdentity
	a := Actor{
		Type: said(u.Type, 100), ARN: said(u.ARN, maxText), Name: said(u.UserName, 300), Account: said(u.AccountID, 20),
		InvokedBy: said(u.InvokedBy, 300),
		Address:   said(r.SourceIPAddress, 300), UserAgent: said(r.UserAgent, 500),
	}
	if a.ARN == "" {
		a.ARN = said(u.SessionContext.SessionIssuer.ARN, maxText)
	}
	if a.Name == "" {
		a.Name = said(u.SessionContext.SessionIssuer.UserName, 300)
	}
	if session, ok := sessionOf(a.ARN); ok {
		a.Session = cut(session, 300)
	} else if _, session, ok := strings.Cut(u.PrincipalID, ":"); ok && u.Type == "AssumedRole" {
		a.Session = said(session, 300)
	}
	return a
}

// sessionOf returns the name of the session of arn:aws:sts::111122223333:assumed-role/role/session.
func sessionOf(text string) (string, bool) {
	caller, err := arn.Parse(text)
	if err != nil || caller.Service != "sts" || !strings.HasPrefix(caller.Resource, "assumed-role/") {
		return "", false
	}
	return caller.Resource[strings.LastIndexByte(caller.Resource, '/')+1:], true
}

// What names look like: of accounts, of regions, of services, of operations, of events.
var (
	accounts   = regexp.MustCompile(`^\d{12}$`)
	regions    = regexp.MustCompile(`^[a-z]{2,5}(-[a-z]{2,10}){1,3}-\d{1,2}$`)
	services   = regexp.MustCompile(`^[a-z0-9.-]{1,80}\.amazonaws\.com$`)
	operations = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,127}$`)
	ids        = regexp.MustCompile(`^[A-Za-z0-9-]{8,64}$`)
	requests   = regexp.MustCompile(`^[A-Za-z0-9/+_-]{1,200}={0,2}$`)
)

// named returns what AWS calls a request, "" if it cannot be that.
func named(id string) string {
	if requests.MatchString(id) {
		return id
	}
	return ""
}

// check checks the names that a record has to have, and that the engine acts by.
func (e *Event) check() error {
	for _, name := range []struct {
		what, text string
		form       *regexp.Regexp
	}{
		{"eventID", e.ID, ids}, {"account", e.Account, accounts}, {"awsRegion", e.Region, regions},
		{"eventSource", e.Source, services}, {"eventName", e.Name, operations},
	} {
		if !name.form.MatchString(name.text) {
			return fmt.Errorf("its %s is %q", name.what, said(name.text, 100))
		}
	}
	return nil
}

// clean returns a text without what cannot be stored or printed, cut to most bytes.
func clean(text string, most int) string {
	text = strings.ToValidUTF8(cut(text, most), "\uFFFD")
	if strings.ContainsFunc(text, control) {
		text = strings.Map(func(r rune) rune {
			if control(r) {
				return '\uFFFD'
			}
			return r
		}, text)
	}
	return cut(text, most) // what stands for a byte has three
}

// cut returns the beginning of a text, of most bytes at most, that ends where a rune ends.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// control reports whether a rune is none that one sees: a control character, a line end, what
// turns the direction of what stands around it, or what has no width.
func control(r rune) bool { return !unicode.IsPrint(r) }

// keeper copies what is kept of a record, within a bound.
type keeper struct{ left int }

func (k *keeper) parse(text json.RawMessage) any {
	if len(text) == 0 {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil { // it is a part of what has been parsed
		return nil
	}
	return k.copy(v)
}

func (k *keeper) copy(v any) any {
	if k.left--; k.left < 0 {
		return nil
	}
	switch v := v.(type) {
	case string:
		return clean(v, maxText)
	case json.Number:
		return clean(v.String(), 40)
	case bool:
		return v
	case []any:
		kept := make([]any, 0, min(len(v), max(k.left, 0)))
		for _, member := range v {
			if k.left <= 0 {
				break
			}
			kept = append(kept, k.copy(member))
		}
		return kept
	case map[string]any:
		kept := make(map[string]any, min(len(v), max(k.left, 0)))
		for name, member := range v {
			if k.left <= 0 {
				break
			}
			if secret(name) {
				k.left--
				continue
			}
			kept[clean(name, 200)] = k.copy(member)
		}
		return kept
	}
	return nil
}

// secrets are parts of the names of members that hold secrets. AWS hides their values
// itself (HIDDEN_DUE_TO_SECURITY_REASONS) or leaves them out; whoever forges an event, and
// services that forget to, do not.
var secrets = []string{"password", "secretstring", "secretbinary", "secretaccesskey", "sessiontoken", "authtoken",
	"privatekey", "plaintext", "userdata", "credential", "certificatebody", "clientsecret", "passphrase",
	"environmentvariables"}

func secret(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(secrets, func(part string) bool { return strings.Contains(name, part) })
}
