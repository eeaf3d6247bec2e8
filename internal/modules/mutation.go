package modules

import (
	"context"
	"time"
)

// Mutation is what is to be done to one object. Its rows are in cloud terms.
type Mutation struct {
	Scope Scope
	// Have is the object as it was last read; nil for a creation.
	Have Row
	// Want is the object as it is wanted; nil for a deletion.
	Want Row
	// Columns are those that an update changes.
	Columns []string
	// Token is what a creation is known by: see [Creator].
	Token string
	// Pending is the request that an earlier call of this creation has begun and whose end is
	// not known ([Permit.Note]); "" for none.
	Pending string
	// Permit is needed by every call that changes something.
	Permit *Permit
}

// Call names one mutating API call: Service "EC2", Action "CreateVpc".
type Call struct {
	Service string
	Action  string
}

// Journal records mutating calls before they are made.
type Journal interface {
	// Begin commits to the journal that the call is about to be made. The call
	// must not be made if it returns an error. The function it returns is told
	// how the call ended.
	Begin(ctx context.Context, call Call) (end func(error), err error)
}

// Noter is a [Journal] that remembers what the cloud calls a request that goes on after
// the call that made it was answered.
type Noter interface {
	// Note commits to the journal that the last call began the request.
	Note(ctx context.Context, request string) error
}

// Permit permits calls that change the cloud, each of which is written into a journal
// first. Whoever has none can only read: that is how previews, open batches and TRACK are
// kept from ever changing the cloud. A nil *Permit permits nothing.
type Permit struct {
	// Journal is where calls are written before they are made.
	Journal Journal
	// SendWithin is how long after its entry in the journal a call may still be sent:
	// whoever looks for its effect later has to know when it can have had it (R6). 0 is no
	// limit.
	SendWithin time.Duration
	// OnRequest is told what the cloud calls each request, by which it tells others of it.
	// It is called by several at once. nil: nobody asks.
	OnRequest func(request string)
	// Accompanied: other operations are made at the same time, so that what several of them
	// ask for may go by one call, and waits for that.
	Accompanied bool
}

// Entry is a call that has been written into the journal.
type Entry struct {
	permit *Permit
	began  time.Time
}

// Do makes a call that changes something: it writes it into the journal first. It refuses
// it with an [Error] of class [ReadOnly] where there is no permit.
func (p *Permit) Do(ctx context.Context, call Call, do func(Entry) error) error {
	if p == nil {
		return &Error{
			Class:   ReadOnly,
			Code:    call.Service + ":" + call.Action,
			Message: "refused: this part of the engine only reads, and " + call.Action + " is not known to be a read",
		}
	}
	began := time.Now()
	end, err := p.Journal.Begin(ctx, call)
	if err != nil {
		return err
	}
	err = do(Entry{p, began})
	end(err)
	return err
}

// Note writes into the journal that the call that has just been answered began a request
// of that name. Where the journal cannot remember it, repeating the call with its token
// has to do.
func (p *Permit) Note(ctx context.Context, request string) error {
	if n, ok := p.Journal.(Noter); ok {
		return n.Note(ctx, request)
	}
	return nil
}

// Late reports whether it is too late to send the call, because it has waited for its
// turn, or the process for the CPU, for longer than [Permit.SendWithin]. Every transport
// asks it before it sends a mutating call.
func (e Entry) Late() bool {
	if e.permit == nil || e.permit.SendWithin == 0 {
		return false
	}
	// A machine that sleeps stops the monotonic clock, on Linux, and not the other.
	now, within := time.Now(), e.permit.SendWithin
	return now.Sub(e.began) > within || now.Round(0).Sub(e.began.Round(0)) > within
}

// Before reports whether the call was written into the journal before another.
func (e Entry) Before(other Entry) bool { return e.began.Before(other.began) }

// Requested tells what the cloud calls the request by which the call was made.
func (e Entry) Requested(request string) {
	if e.permit != nil && e.permit.OnRequest != nil && request != "" {
		e.permit.OnRequest(request)
	}
}

// Permit returns a permit for calls that do what the entry says, and that are not written
// into the journal again: they may be sent for as long as its call may.
func (e Entry) Permit() *Permit {
	p := *e.permit
	p.Journal = written{}
	if p.SendWithin > 0 {
		p.SendWithin = max(p.SendWithin-time.Since(e.began), 1)
	}
	return &p
}

// written is the journal of calls that are in it already.
type written struct{}

// Begin implements [Journal].
func (written) Begin(context.Context, Call) (func(error), error) { return func(error) {}, nil }
