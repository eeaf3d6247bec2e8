package aws

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"iasql/internal/modules"
)

// isCredentialCode reports whether new credentials could heal the error.
func isCredentialCode(code string) bool {
	switch code {
	case "ExpiredToken", "ExpiredTokenException", "RequestExpired", "InvalidToken", "InvalidClientTokenId",
		"InvalidAccessKeyId",
		"UnrecognizedClientException", "SignatureDoesNotMatch", "InvalidSignatureException", "AuthFailure",
		codeCredentials:
		return true
	}
	return false
}

// Classify returns err as a [modules.Error]: its class, its code, its message
// without secrets. Mutates says that the operation is not a read; sent, that
// the request may have reached AWS.
func Classify(err error, mutates, sent bool) *modules.Error {
	var (
		known, below *modules.Error
		login        *credentialsError
	)
	errors.As(err, &known)
	if errors.As(err, &login) {
		errors.As(login.err, &below)
	}
	// A call made to log in has been classified by its own client, which says
	// nothing yet of the call that wanted to log in.
	if known != nil && known != below {
		return known
	}
	if stranger := (*notAnswer)(nil); login == nil && errors.As(err, &stranger) {
		return stranger.failure(mutates, err)
	}
	// What is true of an answer that was lost or means nothing.
	lost := modules.Transient
	if mutates && sent {
		lost = modules.MayHaveHappened
	}
	e := &modules.Error{Class: lost, Message: Scrub(err.Error()), Err: err}

	if login != nil {
		return classifyLogin(login, below, e)
	}
	var (
		response *smithyhttp.ResponseError
		status   int
	)
	if errors.As(err, &response) && response.Response != nil && response.Response.Response != nil &&
		response.HTTPStatusCode() > 0 {
		status = response.HTTPStatusCode()
		e.RetryAfter = retryAfter(response.Response.Header, time.Now())
		// AWS has answered, so the request was sent.
		if mutates {
			lost, e.Class = modules.MayHaveHappened, modules.MayHaveHappened
		}
	}
	var api smithy.APIError
	if errors.As(err, &api) {
		e.Code, e.Message = api.ErrorCode(), Scrub(api.ErrorMessage())
		if e.Message == "" {
			e.Message = http.StatusText(status)
		}
	}
	var (
		parameters    smithy.InvalidParamsError
		serialization *smithy.SerializationError
		dial          *net.OpError
	)
	switch {
	case status == 0 && errors.As(err, &dial) && dial.Op == "dial":
		e.Message = fmt.Sprintf("the endpoint cannot be reached: %v (check the network, and AWS_ENDPOINT_URL if it "+
			"is set)", dial)
	case isContextError(err):
		// Whatever came before, the answer was not waited for.
		e.Message = "gave up waiting: " + contextMessage(err)
	case errors.As(err, &parameters), errors.As(err, &serialization):
		e.Class = modules.Invalid
	case e.Code != "" || status >= 300:
		e.Class = classOf(e.Code, e.Message, status, lost)
	}
	return advise(e, mutates)
}

// advise adds to an error what its code alone says: what to do, when to try
// again, and that a session that has expired did nothing.
func advise(e *modules.Error, mutates bool) *modules.Error {
	code := trimCode(e.Code)
	// Nothing has happened, and the next session may. EC2 says RequestExpired of a session,
	// too ("Error codes for the Amazon EC2 API").
	if mutates && (strings.HasPrefix(code, "ExpiredToken") || code == "RequestExpired") {
		e.Class = modules.Transient
	}
	e.Permission = e.Class == modules.Denied && !slices.Contains(aboutCredentials, code)
	if hint, ok := hints[code]; ok {
		e.Message = strings.TrimSuffix(e.Message, ".") + ": " + hint
	}
	if code == "QueueDeletedRecently" && e.RetryAfter == 0 {
		e.RetryAfter = time.Minute
	}
	return e
}

// ErrorOf returns the error of one item of a call that succeeded as a whole.
func ErrorOf(code, message string) error {
	return &modules.Error{Class: classOf(code, message, http.StatusBadRequest, modules.Transient), Code: code,
		Message: Scrub(message)}
}

// classOf returns the class of an answer.
func classOf(code, message string, status int, lost modules.Class) modules.Class {
	code = trimCode(code)
	for _, s := range sayings {
		if (s.code == "" || s.code == code) && strings.Contains(message, s.text) {
			return s.class
		}
	}
	if class, ok := codes[code]; ok {
		return class
	}
	for _, p := range patterns {
		if p.match(code) {
			return p.class
		}
	}
	switch {
	case status == http.StatusTooManyRequests:
		return modules.Throttled
	case status == http.StatusServiceUnavailable && strings.Contains(message, "reduce your request rate"):
		return modules.Throttled
	case status >= 500, status == http.StatusRequestTimeout, code == "RequestTimeout",
		code == "RequestTimeoutException":
		return lost
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return modules.Denied
	case status == http.StatusConflict:
		return modules.Dependency
	case status >= 300:
		// Not even 404 without a code of its own means "not found": that may
		// be a proxy or a wrong endpoint, and absence has to be proven.
		return modules.Invalid
	}
	return lost
}

func trimCode(code string) string {
	for _, p := range unprefixed {
		code = strings.TrimPrefix(code, p)
	}
	return code
}

// classifyLogin classifies a failure to log in, before any call was made. It
// takes a person, unless the call to STS, which below is the error of, failed
// for a reason of the moment. When the default chain finds nothing its last
// resort, the instance's metadata service, times out: that is no such reason.
func classifyLogin(err *credentialsError, below, e *modules.Error) *modules.Error {
	e.Class, e.Code = modules.Denied, codeCredentials
	cause := Scrub(err.err.Error())
	if below != nil {
		cause = below.Error()
		if below.Class == modules.Transient || below.Class == modules.Throttled {
			e.Class, e.RetryAfter = below.Class, below.RetryAfter
		}
	}
	e.Message = fmt.Sprintf("cannot log in: %s: %s", cause, loginHint)
	return e
}

func contextMessage(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "the time is up"
	}
	return "the caller has stopped"
}

// longestWait bounds what an answer can ask for: less than 20 minutes, which is
// taken for a clock that has been put back (package postgres).
const longestWait = 15 * time.Minute

// retryAfter reads how long AWS asks to wait: seconds or a date in Retry-After
// (RFC 9110, section 10.2.3), milliseconds in X-Amz-Retry-After.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseInt(h.Get("X-Amz-Retry-After"), 10, 64); err == nil && ms > 0 {
		return time.Duration(min(ms, longestWait.Milliseconds())) * time.Millisecond
	}
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseInt(value, 10, 64); err == nil && seconds > 0 {
		return time.Duration(min(seconds, int64(longestWait.Seconds()))) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil && at.After(now) {
		return min(at.Sub(now), longestWait)
	}
	return 0
}
