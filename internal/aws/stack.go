package aws

import (
	"context"
	"errors"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"

	"iasql/internal/modules"
)

// stack is the middleware of one account's clients, outermost first:
//
//	classify   Initialize, first         every error becomes a *modules.Error
//	guard      Finalize, before Retry    mutations are journaled, or refused
//	attempt    Finalize, after Retry     what one attempt proved; observers are told
//	send       Finalize, before Signing  rate and slots
//	formed     Deserialize, around the SDK's  the members that are always there (R29)
//	answered   Deserialize, last              the answer is one of the operation (R29)
//
// The guard stands outside of retries, so that the journal holds one line per
// operation; the limits stand inside, so that every attempt counts, and below
// the SDK's login, which may have to make a call of its own, for which there
// would be no slot if all were held by calls that wait for it.
//
// The clients by which the SDK itself logs in (STS, IAM Identity Center, the
// instance's metadata) have a stack of their own, with login set. What they call
// changes nothing in the account, whatever it is called, and only they may call it.
type stack struct {
	clients *Clients
	account *account
	secrets []string
	login   bool
}

// operation is one call, with all of its attempts. It has the middleware of the call's own
// stack, which the SDK makes for each.
type operation struct {
	*stack
	service, action, region string
	mutates                 bool
	began                   time.Time
	waited                  bool // somebody waits for it
	attempts                int
	queued                  time.Duration // for its turn, of all attempts
	turn                    time.Time     // when the last attempt went out
	unsure                  bool          // an attempt ended without telling whether it had its effect
	sent                    atomic.Bool   // the attempt under way may have reached AWS
	entry                   modules.Entry // in the journal, of one that mutates
	answer                  *answer       // to the attempt under way
}

// attach adds to the middleware of one call.
func (s *stack) attach(m *middleware.Stack) error {
	op := &operation{stack: s}
	classify := middleware.InitializeMiddlewareFunc("iasql:classify", op.classify)
	// Some packages of the SDK say which operation it is in a middleware, and
	// others before the stack is made: after the one, before everything else.
	add := func() error { return m.Initialize.Add(classify, middleware.Before) }
	const says = "RegisterServiceMetadata"
	if _, ok := m.Initialize.Get(says); ok {
		add = func() error { return m.Initialize.Insert(classify, says, middleware.After) }
	}
	if err := add(); err != nil {
		return err
	}
	if _, ok := m.Finalize.Get("Retry"); !ok { // presigning, which calls nobody
		return nil
	}
	if err := m.Finalize.Insert(middleware.FinalizeMiddlewareFunc("iasql:guard", op.guard), "Retry",
		middleware.Before); err != nil {
		return err
	}
	if err := m.Finalize.Insert(middleware.FinalizeMiddlewareFunc("iasql:attempt", op.attempt), "Retry",
		middleware.After); err != nil {
		return err
	}
	if err := m.Finalize.Insert(middleware.FinalizeMiddlewareFunc("iasql:send", op.send), "Signing",
		middleware.Before); err != nil {
		return err
	}
	if err := m.Deserialize.Insert(middleware.DeserializeMiddlewareFunc("iasql:formed", op.formed),
		"OperationDeserializer", middleware.Before); err != nil {
		return err
	}
	return m.Deserialize.Add(middleware.DeserializeMiddlewareFunc("iasql:answered", op.answered), middleware.After)
}

func (op *operation) classify(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
	middleware.InitializeOutput, middleware.Metadata, error,
) {
	op.service, op.action, op.region = awsmiddleware.GetServiceID(ctx), awsmiddleware.GetOperationName(ctx),
		awsmiddleware.GetRegion(ctx)
	op.began, op.waited = time.Now(), op.clients.waited
	op.mutates = !IsRead(op.action) && !op.login
	if op.nameless() {
		return next.HandleInitialize(ctx, in)
	}
	if op.action == "" { // nothing would be known of the call
		return middleware.InitializeOutput{}, middleware.Metadata{},
			&modules.Error{Class: modules.Invalid, Code: "UnnamedOperation",
				Message: "the AWS SDK does not say which operation this is: the version of the service's package " +
					"is not one this engine knows"}
	}
	if endless := turn(ctx, op, in.Parameters); endless != nil {
		return middleware.InitializeOutput{}, middleware.Metadata{}, endless
	}
	ctx, end := op.span(ctx)
	out, metadata, err := next.HandleInitialize(ctx, in)
	if err == nil {
		end(metadata, nil)
		return out, metadata, nil
	}
	// What has not been classified yet did not come from an attempt: nothing
	// was sent, unless an earlier attempt left that open.
	var login *credentialsError
	if ctx.Err() != nil && errors.As(err, &login) {
		err = ctx.Err() // the caller stopped the login, which may be quite all right
	}
	e := op.clean(Classify(err, op.mutates, op.unsure))
	if isCredentialCode(e.Code) {
		op.account.distrust()
	}
	end(metadata, e)
	return out, metadata, e
}

// nameless reports whether the call is to the metadata service, which is none of AWS's
// services: its client names no operations, and there is nothing to count and to limit.
func (op *operation) nameless() bool { return op.action == "" && op.login }

func (op *operation) guard(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (
	out middleware.FinalizeOutput, metadata middleware.Metadata, err error,
) {
	if !op.mutates {
		return next.HandleFinalize(ctx, in)
	}
	err = op.clients.permit.Do(ctx, modules.Call{Service: op.service, Action: op.action},
		func(entry modules.Entry) error {
			op.entry = entry
			out, metadata, err = next.HandleFinalize(ctx, in)
			if id, ok := awsmiddleware.GetRequestIDMetadata(metadata); ok {
				entry.Requested(id)
			}
			if err != nil {
				return op.clean(Classify(err, true, op.unsure))
			}
			return nil
		})
	return out, metadata, err
}

func (op *operation) attempt(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (
	middleware.FinalizeOutput, middleware.Metadata, error,
) {
	if op.nameless() {
		return next.HandleFinalize(ctx, in)
	}
	op.sent.Store(false)
	began := time.Now()
	out, metadata, err := next.HandleFinalize(ctx, in)
	if err == nil {
		op.observed(ctx, began, metadata, nil)
		return out, metadata, nil
	}
	e := op.clean(Classify(err, op.mutates, op.sent.Load()))
	op.observed(ctx, began, metadata, e)
	op.tried(ctx, began, e)
	switch {
	case e.Class == modules.MayHaveHappened:
		op.unsure = true
	case e.Class == modules.Throttled && !isOwn(e.Code):
		for _, l := range op.limits() {
			l.throttled(op.turn, e.RetryAfter)
		}
	}
	if op.attempts++; !op.mayTryAgain(e) {
		return out, metadata, &spent{e}
	}
	return out, metadata, e
}

// mayTryAgain reports whether there are attempts left. What was throttled was turned away
// before it was looked at, and the limit has become slower since: a read has time rather
// than a number of attempts, so that a listing is not begun anew for the sake of one.
func (op *operation) mayTryAgain(e *modules.Error) bool {
	patient := e.Class == modules.Throttled && !op.mutates && time.Since(op.began) < op.clients.options.Patience
	return patient || op.attempts < op.clients.options.MaxAttempts
}

// spent is the error of an attempt that was the last.
type spent struct{ error }

func (e *spent) Unwrap() error { return e.error }

func (op *operation) send(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (
	out middleware.FinalizeOutput, metadata middleware.Metadata, err error,
) {
	if op.nameless() {
		return next.HandleFinalize(ctx, in)
	}
	asked := time.Now()
	for _, l := range op.limits() {
		if err := l.wait(ctx); err != nil {
			return out, metadata, err
		}
	}
	select {
	case op.account.slots <- struct{}{}:
		defer func() { <-op.account.slots }()
	case <-ctx.Done():
		return out, metadata, ctx.Err()
	}
	if op.mutates && op.entry.Late() {
		return out, metadata, &modules.Error{Class: modules.Throttled, Code: codeLate,
			Message: "not called: " + op.service + ":" + op.action + " waited for its turn for too long"}
	}
	op.turn = time.Now()
	op.queued += op.turn.Sub(asked)
	// A request can only have been sent on a connection that was got. Not
	// having got one is the proof that nothing happened; WroteRequest would
	// come too late, being reported after the last byte.
	return next.HandleFinalize(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { op.sent.Store(true) },
	}), in)
}

func (op *operation) limits() []*limit {
	return op.clients.limits.all(op.account.name, op, op.account.shares.of())
}

// clean removes the account's own secrets from the message, beyond what
// [Scrub] recognizes by its looks.
func (s *stack) clean(e *modules.Error) *modules.Error {
	message := scrubExactly(e.Message, s.secrets)
	if message == e.Message {
		return e
	}
	c := *e
	c.Message = message
	return &c
}

// retryByClass tells the SDK's retryer what may be attempted again. A mutation
// that may have happened never is of these classes.
func retryByClass(err error) awssdk.Ternary {
	var e *modules.Error
	var last *spent
	switch {
	case !errors.As(err, &e):
		return awssdk.UnknownTernary
	case errors.As(err, &last):
		return awssdk.FalseTernary
	}
	switch e.Class {
	case modules.Throttled, modules.Transient:
		if isOwn(e.Code) || e.Code == codeNotAnswer { // whoever answers instead of AWS will not have gone in a second
			return awssdk.FalseTernary
		}
		return awssdk.BoolTernary(!isContextError(err))
	case modules.MayHaveHappened:
		return awssdk.FalseTernary
	}
	return awssdk.UnknownTernary
}

// isOwn reports whether the code is of this package: the call was not made, and
// trying again at once would not help. (The login has had its own attempts.)
func isOwn(code string) bool {
	return code == codePaused || code == codeLate || code == codeCredentials
}

func isContextError(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
