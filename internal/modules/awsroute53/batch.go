package awsroute53

import (
	"context"
	"sync"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	route53types "github.com/aws/aws-sdk-go-v2/service/route53/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

const (
	// together is the most changes that go with one call: far below the thousand values
	// and 32,000 characters that Route 53 takes (Route 53 Developer Guide, "Quotas").
	together = 100
	// moment is how long the first change of a zone waits for others: those of a plan
	// are begun side by side.
	moment = 20 * time.Millisecond
)

// batcher has changes of a zone that are asked for at the same time made by one call:
// Route 53 takes five a second for the whole account. Each is in the intent log by itself
// before that call.
type batcher struct {
	lock    sync.Mutex
	waiting map[zone][]*change // those of a zone at work, which go with its next call
}

// zone is a hosted zone and who calls: there is one client for each account.
type zone struct {
	client *route53.Client
	id     string
}

// change is one change, and what became of it.
type change struct {
	ctx  context.Context
	in   *route53.ChangeResourceRecordSetsInput
	out  *route53.ChangeResourceRecordSetsOutput
	err  error
	done chan struct{}
}

// journaled is the journal of a call whose entries are in the intent log already.
type journaled struct{}

// Begin implements [modules.Journal].
func (journaled) Begin(context.Context, modules.Call) (func(error), error) {
	return func(error) {}, nil
}

// change makes a change like the client's own ChangeResourceRecordSets.
func (b *batcher) change(client *route53.Client, ctx context.Context, in *route53.ChangeResourceRecordSetsInput, _ ...func(*route53.Options)) (*route53.ChangeResourceRecordSetsOutput, error) {
	one := &change{in: in, done: make(chan struct{})}
	err := modules.Mutate(ctx, modules.Call{Service: route53.ServiceID, Action: "ChangeResourceRecordSets"}, func(ctx context.Context) error {
		one.ctx = modules.WithMutations(ctx, journaled{})
		b.join(zone{client, awssdk.ToString(in.HostedZoneId)}, one)
		<-one.done
		return one.err
	})
	return one.out, err
}

// join adds a change to those that go with the zone's next call.
func (b *batcher) join(z zone, one *change) {
	b.lock.Lock()
	defer b.lock.Unlock()
	if b.waiting == nil {
		b.waiting = map[zone][]*change{}
	}
	waiting, atWork := b.waiting[z]
	b.waiting[z] = append(waiting, one)
	if !atWork {
		go b.work(z)
	}
}

// work makes the zone's changes until there are none left.
func (b *batcher) work(z zone) {
	time.Sleep(moment)
	for {
		b.lock.Lock()
		some := b.waiting[z]
		if len(some) == 0 {
			delete(b.waiting, z)
			b.lock.Unlock()
			return
		}
		n := min(together, len(some))
		b.waiting[z] = some[n:]
		b.lock.Unlock()
		send(z.client, some[:n])
	}
}

// send makes some changes by one call: all or none of them (page ChangeResourceRecordSets).
// If one is refused, each is made by a call of its own, so that only that one fails (R8).
func send(client *route53.Client, some []*change) {
	in := *some[0].in
	in.ChangeBatch = &route53types.ChangeBatch{}
	for _, one := range some {
		in.ChangeBatch.Changes = append(in.ChangeBatch.Changes, one.in.ChangeBatch.Changes...)
	}
	out, err := client.ChangeResourceRecordSets(some[0].ctx, &in)
	alone := len(some) > 1 && aws.HasCode(err, "InvalidChangeBatch")
	for _, one := range some {
		if one.out, one.err = out, err; alone {
			one.out, one.err = client.ChangeResourceRecordSets(one.ctx, one.in)
		}
		close(one.done)
	}
}
