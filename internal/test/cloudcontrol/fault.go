package cloudcontrol

import (
	"strings"
	"sync"
	"time"
)

// Fault is what goes wrong with calls.
type Fault struct {
	// Action is which calls meet it, such as "CreateResource"; Type is for which
	// type. Empty is any.
	Action, Type string
	// Times is how many calls meet it; 0 is one, less is all until [Server.Clear].
	Times int

	// Code refuses the call if it is an exception, such as ThrottlingException.
	// A handler's error code, such as NotStabilized, lets a request fail later; a
	// read or listing is answered with the exception that stands for it.
	Code, Message string
	// Effect lets a request that fails have its effect all the same, as one that
	// ends with NotStabilized has.
	Effect bool
	// Hook names a hook that refuses the request before it begins.
	Hook string
	// Drop cuts the connection instead of answering, after the effect.
	Drop bool
	// Delay lets the call wait.
	Delay time.Duration
	// Hold keeps the request in progress until it is released.
	Hold <-chan struct{}
}

// Inject lets calls go wrong.
func (s *Server) Inject(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.Times == 0 {
		f.Times = 1
	}
	s.faults = append(s.faults, &f)
}

// Fail lets the next n calls of an action for a type fail with a code.
func (s *Server) Fail(action, typeName string, n int, code string) {
	s.Inject(Fault{Action: action, Type: typeName, Times: n, Code: code})
}

// Drop cuts the connection of the next call of an action for a type after its
// effect.
func (s *Server) Drop(action, typeName string) {
	s.Inject(Fault{Action: action, Type: typeName, Drop: true})
}

// Hold keeps the next request of an action for a type in progress, until release is
// called.
func (s *Server) Hold(action, typeName string) (release func()) {
	held := make(chan struct{})
	s.Inject(Fault{Action: action, Type: typeName, Hold: held})
	return sync.OnceFunc(func() { close(held) })
}

// Clear ends all faults.
func (s *Server) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// meet takes the first fault that a call meets.
func (s *Server) meet(action, typeName string) *Fault {
	for i, f := range s.faults {
		if f.Action != "" && f.Action != action || f.Type != "" && f.Type != typeName {
			continue
		}
		if f.Times > 0 {
			if f.Times--; f.Times == 0 {
				s.faults = append(s.faults[:i:i], s.faults[i+1:]...)
			}
		}
		return f
	}
	return nil
}

// exceptions are those that answer a handler's error code ("Handler error codes" in
// the CloudFormation CLI User Guide; the errors of the API's model).
var exceptions = map[string]string{
	"NotUpdatable": "NotUpdatableException", "InvalidRequest": "InvalidRequestException",
	"AccessDenied": "AccessDeniedException", "InvalidCredentials": "InvalidCredentialsException",
	"AlreadyExists": "AlreadyExistsException", "NotFound": "ResourceNotFoundException",
	"ResourceConflict": "ResourceConflictException", "Throttling": "ThrottlingException",
	"ServiceLimitExceeded": "ServiceLimitExceededException", "NotStabilized": "NotStabilizedException",
	"GeneralServiceException": "GeneralServiceException", "ServiceInternalError": "ServiceInternalErrorException",
	"ServiceTimeout": "HandlerFailureException", "NetworkFailure": "NetworkFailureException",
	"InternalFailure": "HandlerInternalFailureException", "UnauthorizedTaggingOperation": "AccessDeniedException",
}

// refusal is the error that a fault answers at once.
func (f *Fault) refusal(c *call) error {
	if f.Code == "" {
		return nil
	}
	mutates := strings.HasPrefix(c.action, "Create") || strings.HasPrefix(c.action, "Update") ||
		strings.HasPrefix(c.action, "Delete")
	exception, handlers := exceptions[f.Code]
	switch {
	case handlers && mutates:
		return nil // later
	case handlers:
		return handlerFault(exception, c.typ, f.Code, f.message())
	}
	return fault(f.Code, "%s", f.message())
}

func (f *Fault) message() string {
	if f.Message != "" {
		return f.Message
	}
	return "the test lets it fail with " + f.Code
}

// handlerFault is an error that a handler has returned (recorded answers).
func handlerFault(exception, typeName, code, message string) error {
	return fault(exception, "%s Handler returned status FAILED: %s (HandlerErrorCode: %s, RequestToken: %s)", typeName,
		message, code, "00000000-0000-0000-0000-000000000000")
}
