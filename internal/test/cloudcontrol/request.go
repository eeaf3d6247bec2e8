package cloudcontrol

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// How long the API remembers ("Managing resource operation requests"; ClientToken
// of CreateResource).
const (
	requestsExpire = 7 * 24 * time.Hour
	tokensExpire   = 36 * time.Hour
)

// request is an operation that makes progress.
type request struct {
	token     string
	asked     string // what was asked, for the client token
	operation string // CREATE, UPDATE or DELETE
	typ       *Type
	id        string
	after     map[string]any

	accepted, starts, ends time.Time
	met                    *Fault
	effected               bool
	cancelled              bool
	status                 string // when it has ended
	code, message          string
}

// token makes a token.
func (s *Server) token() string {
	var raw [16]byte
	_, _ = rand.Read(raw[:])
	return fmt.Sprintf("%x-%x-%x-%x-%x", raw[:4], raw[4:6], raw[6:8], raw[8:10], raw[10:])
}

// asked is what a request asks for, without what differs from one try to the next.
func asked(c *call, in input) string {
	return c.action + " " + encode(map[string]any(in))
}

// repeated returns the answer to a request whose client token is known: that of the
// same request is answered again, another request conflicts.
func (s *Server) repeated(c *call, here *scope, in input) (any, error) {
	known := here.tokens[in.text("ClientToken")]
	if known == nil || time.Since(known.accepted) > tokensExpire {
		return nil, nil
	}
	if known.asked != asked(c, in) {
		return nil, fault("ClientTokenConflictException",
			"ClientToken %s is already associated with an existing operation with RequestToken %s",
			in.text("ClientToken"), known.token)
	}
	return map[string]any{"ProgressEvent": known.event(time.Now(), false)}, nil
}

// accept begins a request.
func (s *Server) accept(c *call, in input, met *Fault, r *request) (any, error) {
	here := s.in(c.scope)
	if known, err := s.repeated(c, here, in); known != nil || err != nil {
		return known, err
	}
	if other := here.busy[r.typ.Name+" "+r.id]; other != nil && r.id != "" {
		return nil, fault("ConcurrentOperationException",
			"Another operation on the resource %s is in progress, with RequestToken %s", r.id, other.token)
	}
	now := time.Now()
	r.token, r.asked, r.met = s.token(), asked(c, in), met
	r.accepted, r.starts, r.ends = now, now.Add(s.options.Pending), now.Add(s.options.Pending+s.options.Takes)
	if met == nil {
		r.met = &Fault{}
	}
	here.requests[r.token] = r
	here.order = append(here.order, r)
	here.active = append(here.active, r)
	if r.id != "" {
		here.busy[r.typ.Name+" "+r.id] = r
	}
	if token := in.text("ClientToken"); token != "" {
		here.tokens[token] = r
	}
	if s.options.Early && r.operation == "CREATE" && r.met.Hook == "" && (r.met.Code == "" || r.met.Effect) {
		s.effect(here, c.scope, r)
	}
	return map[string]any{"ProgressEvent": r.event(now, false)}, nil
}

// held reports whether a request is kept in progress.
func (r *request) held() bool {
	if r.met.Hold == nil {
		return false
	}
	select {
	case <-r.met.Hold:
		return false
	default:
		return true
	}
}

// settle ends the requests whose time has come.
func (s *Server) settle(here *scope, at Scope) {
	if len(here.active) == 0 {
		return
	}
	now := time.Now()
	here.active = slices.DeleteFunc(here.active, func(r *request) bool {
		if r.held() || now.Before(r.ends) && !r.cancelled {
			return false
		}
		s.finish(here, at, r)
		delete(here.busy, r.typ.Name+" "+r.id)
		r.after = nil
		return true
	})
	for len(here.order) > 0 && now.Sub(here.order[0].accepted) > requestsExpire {
		delete(here.requests, here.order[0].token)
		here.order = here.order[1:]
	}
}

// finish ends one request.
func (s *Server) finish(here *scope, at Scope, r *request) {
	r.status = "SUCCESS"
	switch {
	case r.cancelled: // what was done stays done
		r.status = "CANCEL_COMPLETE"
		return
	case r.met.Hook != "":
		r.status, r.message = "FAILED", "The following hook(s) failed: ["+r.met.Hook+"]"
		return
	case r.met.Code != "":
		if r.met.Effect && !r.effected {
			s.effect(here, at, r)
		}
		r.status, r.code, r.message = "FAILED", r.met.Code, r.met.message()
		return
	}
	if !r.effected {
		s.effect(here, at, r)
	}
	if r.code != "" {
		r.status = "FAILED"
	}
}

// effect does what a request asks for.
func (s *Server) effect(here *scope, at Scope, r *request) {
	k := here.kind(r.typ.Name)
	r.effected = true
	if r.operation == "CREATE" {
		s.make(here, at, r, k)
		return
	}
	o := k.objects[r.id]
	switch {
	case o == nil:
		r.code, r.message = "NotFound", missing(r.typ.Name, r.id)
	case r.operation == "DELETE":
		s.take(k, o)
	default:
		o.properties = r.after
	}
}

// make makes an object.
func (s *Server) make(here *scope, at Scope, r *request, k *kind) {
	properties := clone(r.after)
	id, err := s.assign(r.typ, k, at, properties)
	switch {
	case err != nil:
		r.code, r.message = "InternalFailure", err.Error()
		return
	case k.objects[id] != nil:
		r.code, r.message = "AlreadyExists", "Resource of type '"+r.typ.Name+"' with identifier '"+id+
			"' already exists."
		return
	}
	s.add(k, id, properties)
	if r.id == "" {
		r.id = id
		here.busy[r.typ.Name+" "+id] = r
	}
}

// progress is a ProgressEvent.
type progress struct {
	TypeName          string
	Identifier        string `json:",omitempty"`
	RequestToken      string
	HooksRequestToken string `json:",omitempty"`
	Operation         string
	OperationStatus   string
	EventTime         json.Number
	StatusMessage     string      `json:",omitempty"`
	ErrorCode         string      `json:",omitempty"`
	RetryAfter        json.Number `json:",omitempty"`
}

// event tells how far a request is. again: the caller asks, so that it is told when
// to ask next.
func (r *request) event(now time.Time, again bool) progress {
	e := progress{TypeName: r.typ.Name, Identifier: r.id, RequestToken: r.token, Operation: r.operation,
		OperationStatus: r.status,
		EventTime:       epoch(r.accepted), StatusMessage: r.message, ErrorCode: r.code}
	if r.met.Hook != "" {
		e.HooksRequestToken = r.token
	}
	if r.status != "" {
		return e
	}
	e.StatusMessage, e.ErrorCode = "", ""
	switch {
	case r.cancelled:
		e.OperationStatus = "CANCEL_IN_PROGRESS"
	case now.Before(r.starts):
		e.OperationStatus = "PENDING"
	default:
		e.OperationStatus = "IN_PROGRESS"
	}
	if again {
		e.RetryAfter = epoch(later(r.ends, now.Add(100*time.Millisecond)))
	}
	return e
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// hookProgress is a HookProgressEvent.
type hookProgress struct {
	HookTypeName, HookTypeVersionId, HookTypeArn, InvocationPoint string
	HookStatus, HookStatusMessage, FailureMode                    string
	HookEventTime                                                 json.Number
}

// find returns a request by its token.
func (s *Server) request(c *call, in input) (*request, error) {
	if err := in.need("RequestToken"); err != nil {
		return nil, err
	}
	r := s.in(c.scope).requests[in.text("RequestToken")]
	if r == nil {
		return nil, fault("RequestTokenNotFoundException", "Request with token %s was not found",
			in.text("RequestToken"))
	}
	c.typ = r.typ.Name
	return r, nil
}

// requestStatus answers GetResourceRequestStatus.
func (s *Server) requestStatus(c *call, in input) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.request(c, in)
	if err != nil {
		return nil, err
	}
	answer := map[string]any{"ProgressEvent": r.event(time.Now(), true)}
	if r.met.Hook != "" {
		hook := hookProgress{HookTypeName: r.met.Hook, HookTypeVersionId: "00000001", InvocationPoint: "PRE_PROVISION",
			FailureMode:   "FAIL",
			HookTypeArn:   "arn:aws:cloudformation:" + c.scope.Region + ":" + c.scope.Account + ":type/hook/hook",
			HookStatus:    "HOOK_IN_PROGRESS",
			HookEventTime: epoch(r.accepted)}
		if r.status != "" {
			hook.HookStatus, hook.HookStatusMessage = "HOOK_COMPLETE_FAILED", r.met.message()
		}
		answer["HooksProgressEvent"] = []hookProgress{hook}
	}
	return answer, nil
}

// cancel answers CancelResourceRequest.
func (s *Server) cancel(c *call, in input) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.request(c, in)
	if err != nil {
		return nil, err
	}
	switch r.status {
	case "":
		r.cancelled = true
	case "CANCEL_COMPLETE":
	default:
		return nil, fault("ValidationException", "Request %s is already in status %s", r.token, r.status)
	}
	return map[string]any{"ProgressEvent": r.event(time.Now(), false)}, nil
}

// listRequests answers ListResourceRequests, the newest first.
func (s *Server) listRequests(c *call, in input) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	most := 20
	if n, ok := in["MaxResults"].(json.Number); ok {
		given, err := strconv.Atoi(n.String())
		if err != nil || given < 1 || given > 100 {
			return nil, fault("ValidationException",
				"1 validation error detected: Value '%s' at 'maxResults' failed to satisfy constraint: Member must "+
					"have value between 1 and 100", n)
		}
		most = given
	}
	here := s.in(c.scope)
	end := len(here.order)
	if token := in.text("NextToken"); token != "" {
		opened, err := openToken(token)
		at := slices.IndexFunc(here.order, func(r *request) bool { return r.token == opened })
		if err != nil || at < 0 {
			return nil, fault("ValidationException", "Invalid NextToken")
		}
		end = at
	}
	filter, _ := in["ResourceRequestStatusFilter"].(map[string]any)
	found, now, answer := []progress{}, time.Now(), map[string]any{}
	for i := end - 1; i >= 0; i-- {
		e := here.order[i].event(now, true)
		if !passes(filter["Operations"], e.Operation) || !passes(filter["OperationStatuses"], e.OperationStatus) {
			continue
		}
		if len(found) == most {
			answer["NextToken"] = closeToken(here.order[i+1].token)
			break
		}
		found = append(found, e)
	}
	answer["ResourceRequestStatusSummaries"] = found
	return answer, nil
}

// passes reports whether a filter lets a value through; an empty one does.
func passes(filter any, value string) bool {
	list, _ := filter.([]any)
	return len(list) == 0 || slices.Contains(list, any(value))
}
