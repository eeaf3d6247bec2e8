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
	r := newRecord(awstest.Fake(server.URL))
	create := func(name string, p *modules.Permit) error {
		_, err := awstest.Create(t.Context(), r, p, awstest.Scope(""),
			modules.Row{"parent_hosted_zone_id": modules.Text("Z1"), "name": modules.Text(name),
				"record_type": modules.Text("A"), "set_identifier": modules.Text(""), "ttl": modules.Int(300),
				"record": modules.Text("192.0.2.1")}, "")
		return err
	}
	journals := make([]entries, 60)
	change := func(names ...string) []error {
		errs := make([]error, len(names))
		var all sync.WaitGroup
		for i, name := range names {
			all.Go(func() { errs[i] = create(name, &modules.Permit{Journal: &journals[i], Accompanied: true}) })
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
	if err := create("c.example.com.", nil); modules.ClassOf(err) != modules.ReadOnly {
		t.Errorf("without a journal: %v", err)
	}
}

// entries counts the entries of a journal.
type entries int

func (e *entries) Begin(context.Context, modules.Call) (func(error), error) {
	*e++
	return func(error) {}, nil
}

// Records that are deleted at once are not read for that: Route 53 is told what was read of
// them before. One that somebody has changed since is read again, and the others are not.
func TestDeletedTogether(t *testing.T) {
	var lock sync.Mutex
	calls, deleted := map[string]int{}, map[string]string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		lock.Lock()
		defer lock.Unlock()
		calls[r.Method]++
		if r.Method == http.MethodGet { // what it has become
			fmt.Fprint(w, `<ListResourceRecordSetsResponse xmlns="https://route53.amazonaws.com/doc/2013-04-01/"><ResourceRecordSets><ResourceRecordSet><Name>changed.example.com.</Name><Type>A</Type><TTL>5</TTL><ResourceRecords><ResourceRecord><Value>192.0.2.99</Value></ResourceRecord></ResourceRecords></ResourceRecordSet></ResourceRecordSets><IsTruncated>false</IsTruncated><MaxItems>1</MaxItems></ListResourceRecordSetsResponse>`)
			return
		}
		if strings.Contains(string(body), "changed.") && !strings.Contains(string(body), "192.0.2.99") {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `<InvalidChangeBatch xmlns="https://route53.amazonaws.com/doc/2013-04-01/"><Messages><Message>Tried to delete resource record set [name='changed.example.com.', type='A'] but the values provided do not match the current values</Message></Messages></InvalidChangeBatch>`)
			return
		}
		for _, change := range strings.Split(string(body), "<Change>")[1:] {
			_, name, _ := strings.Cut(change, "<Name>")
			name, _, _ = strings.Cut(name, "</Name>")
			deleted[name] = change
		}
		fmt.Fprint(w, `<ChangeResourceRecordSetsResponse xmlns="https://route53.amazonaws.com/doc/2013-04-01/"><ChangeInfo><Id>/change/C1</Id><Status>PENDING</Status><SubmittedAt>2026-01-01T00:00:00Z</SubmittedAt></ChangeInfo></ChangeResourceRecordSetsResponse>`)
	}))
	t.Cleanup(server.Close)
	r := newRecord(awstest.Fake(server.URL))
	have := func(name string, more modules.Row) modules.Row {
		row := modules.Row{"parent_hosted_zone_id": modules.Text("Z1"), "name": modules.Text(name),
			"record_type": modules.Text("A"), "set_identifier": modules.Text(""), "ttl": modules.Int(300),
			"record": modules.Text("192.0.2.1\n192.0.2.2"), "alias_dns_name": modules.Null,
			"alias_hosted_zone_id": modules.Null, "alias_evaluate_target_health": modules.Null,
			"health_check_id": modules.Null, "is_default": modules.Bool(false)}
		for column, v := range more {
			row[column] = v
		}
		return row
	}
	remove := func(rows ...modules.Row) {
		t.Helper()
		var all sync.WaitGroup
		for _, row := range rows {
			all.Go(func() {
				var journal entries
				if err := awstest.Delete(t.Context(), r, &modules.Permit{Journal: &journal, Accompanied: true},
					awstest.Scope(""), row); err != nil || journal == 0 {
					t.Errorf("%s: %v, %d entries", row["name"], err, journal)
				}
			})
		}
		all.Wait()
	}
	alias := have("alias.example.com.",
		modules.Row{"record": modules.Null, "ttl": modules.Null,
			"alias_dns_name":       modules.Text("dualstack.lb.example.com."),
			"alias_hosted_zone_id": modules.Text("Z2"), "alias_evaluate_target_health": modules.Bool(true)})
	rows := []modules.Row{alias}
	for i := range 30 {
		rows = append(rows, have(fmt.Sprintf("n%d.example.com.", i), nil))
	}
	remove(rows...)
	if len(deleted) != len(rows) || calls["GET"] > 0 || calls["POST"] > 5 {
		t.Errorf("%d records were deleted by %v", len(deleted), calls)
	}
	for name, want := range map[string]string{
		"n1.example.com.":    `<TTL>300</TTL><Type>A</Type>`,
		"alias.example.com.": `<AliasTarget><DNSName>dualstack.lb.example.com.</DNSName><EvaluateTargetHealth>true</EvaluateTargetHealth><HostedZoneId>Z2</HostedZoneId></AliasTarget>`,
	} {
		if !strings.Contains(deleted[name], want) || strings.Contains(want, "TTL") &&
			strings.Count(deleted[name], "<Value>") != 2 {
			t.Errorf("%s: it is told %s", name, deleted[name])
		}
	}
	remove(have("a.example.com.", nil), have("changed.example.com.", nil), have("b.example.com.", nil))
	if len(deleted) != len(rows)+3 || calls["GET"] != 1 {
		t.Errorf("%d records were deleted by %v", len(deleted)-len(rows), calls)
	}
	// Of what is known by its name alone the rest is read.
	remove(modules.Row{"parent_hosted_zone_id": modules.Text("Z1"), "name": modules.Text("changed.example.com."),
		"record_type": modules.Text("A"), "set_identifier": modules.Text("")})
	if calls["GET"] != 2 {
		t.Errorf("%d reads", calls["GET"])
	}
}
