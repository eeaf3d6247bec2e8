package awsroute53

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	route53types "github.com/aws/aws-sdk-go-v2/service/route53/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
	"iasql/internal/test/awstest"
)

// Changes of one zone that come at once go by few calls; each is in the intent log before.
// One that is refused takes none of the others with it.
func TestChangesTogether(t *testing.T) {
	var lock sync.Mutex
	var calls, made int
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		lock.Lock()
		defer lock.Unlock()
		calls++
		if strings.Contains(string(body), "bad.") {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `<InvalidChangeBatch xmlns="https://route53.amazonaws.com/doc/2013-04-01/"><Messages><Message>Tried to create resource record set bad. but it already exists</Message></Messages></InvalidChangeBatch>`)
			return
		}
		made += strings.Count(string(body), "<Change>")
		fmt.Fprint(w, `<ChangeResourceRecordSetsResponse xmlns="https://route53.amazonaws.com/doc/2013-04-01/"><ChangeInfo><Id>/change/C1</Id><Status>PENDING</Status><SubmittedAt>2026-01-01T00:00:00Z</SubmittedAt></ChangeInfo></ChangeResourceRecordSetsResponse>`)
	}))
	t.Cleanup(server.Close)
	client, err := aws.Client(t.Context(), awstest.Fake(server.URL), awstest.Scope(""), func(cfg awssdk.Config) *route53.Client { return route53.NewFromConfig(cfg) })
	if err != nil {
		t.Fatal(err)
	}
	b := newBatcher()
	journals := make([]entries, 60)
	change := func(names ...string) []error {
		errs := make([]error, len(names))
		var all sync.WaitGroup
		for i, name := range names {
			all.Go(func() {
				_, errs[i] = b.change(client, modules.WithOthers(modules.WithMutations(t.Context(), &journals[i])), &route53.ChangeResourceRecordSetsInput{HostedZoneId: awssdk.String("Z1"),
					ChangeBatch: &route53types.ChangeBatch{Changes: []route53types.Change{{Action: route53types.ChangeActionCreate,
						ResourceRecordSet: &route53types.ResourceRecordSet{Name: &name, Type: route53types.RRTypeA}}}}})
			})
		}
		all.Wait()
		return errs
	}
	var names []string
	for i := range journals {
		names = append(names, fmt.Sprintf("n%d.example.com.", i))
	}
	for i, err := range change(names...) {
		if err != nil || journals[i] != 1 {
			t.Errorf("%s: %v, %d entries", names[i], err, journals[i])
		}
	}
	if made != len(names) || calls > 10 {
		t.Errorf("%d changes by %d calls", made, calls)
	}
	made = 0
	errs := change("a.example.com.", "bad.example.com.", "b.example.com.")
	if errs[0] != nil || !aws.HasCode(errs[1], "InvalidChangeBatch") || errs[2] != nil || made != 2 {
		t.Errorf("one of three is refused: %v, %d made", errs, made)
	}
	if _, err := b.change(client, t.Context(), &route53.ChangeResourceRecordSetsInput{}); modules.ClassOf(err) != modules.ReadOnly {
		t.Errorf("without a journal: %v", err)
	}
}

// entries counts the entries of a journal.
type entries int

func (e *entries) Begin(context.Context, modules.Call) (func(error), error) {
	*e++
	return func(error) {}, nil
}
