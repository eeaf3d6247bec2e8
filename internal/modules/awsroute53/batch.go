package awsroute53

import (
	"context"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	route53types "github.com/aws/aws-sdk-go-v2/service/route53/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// together is the most changes that go with one call: far below the thousand values
// and 32,000 characters that Route 53 takes (Route 53 Developer Guide, "Quotas").
const together = 100

// batcher has changes of a zone that are asked for at the same time made by one call:
// Route 53 takes five a second for the whole account.
type batcher struct {
	changes declare.Joint[string, []route53types.Change, *route53.ChangeResourceRecordSetsOutput] // by the zone's id
}

func newBatcher() *batcher {
	b := &batcher{}
	b.changes.Most, b.changes.Send = together, send
	b.changes.Alone = func(err error) bool { return aws.HasCode(err, "InvalidChangeBatch") }
	return b
}

// change makes a change together with others.
func (b *batcher) change(ctx context.Context, s *declare.Step,
	in *route53.ChangeResourceRecordSetsInput) (*route53.ChangeResourceRecordSetsOutput, error) {
	var changes []route53types.Change
	if in.ChangeBatch != nil {
		changes = in.ChangeBatch.Changes
	}
	return b.changes.Do(ctx, s, modules.Call{Service: route53.ServiceID, Action: "ChangeResourceRecordSets"},
		awssdk.ToString(in.HostedZoneId), changes)
}

// send makes some changes by one call: all or none of them (page ChangeResourceRecordSets).
func send(ctx context.Context, s *declare.Step, zone string,
	some [][]route53types.Change) ([]declare.Result[*route53.ChangeResourceRecordSetsOutput], error) {
	in := &route53.ChangeResourceRecordSetsInput{HostedZoneId: &zone, ChangeBatch: &route53types.ChangeBatch{}}
	for _, changes := range some {
		in.ChangeBatch.Changes = append(in.ChangeBatch.Changes, changes...)
	}
	out, err := declare.ClientOf[*route53.Client](s).ChangeResourceRecordSets(ctx, in)
	if err != nil {
		return nil, err
	}
	results := make([]declare.Result[*route53.ChangeResourceRecordSetsOutput], len(some))
	for i := range results {
		results[i].Out = out
	}
	return results, nil
}
