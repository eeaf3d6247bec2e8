package support

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// TestRedact: of free text what the product might have said stays, and nothing else does.
func TestRedact(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "",
		"cannot be read in us-east-1: it could not be read":                                           "cannot be read in … it could not be read",
		"operation error SQS: SetQueueAttributes, InvalidAttributeValue: Value Quagmire77 is refused": "operation error SQS: SetQueueAttributes, InvalidAttributeValue: Value … is refused",
		"the tag 'blue' is \"red\"":                              "the tag … is …",
		"password=secret":                                        "…",
		"postgres://u:secret@db.example.com/x failed":            "… failed",
		"all 21 records of queue are gone":                       "all … records of queue are gone",
		"arn:aws:iam::123456789012:role/x":                       "…",
		"Zürich ist schön":                                       "…",
		"AKIAIOSFODNN7EXAMPLE AQoDYXdzEJr wJalrXUtnFEMI/K7MDENG": "…",
	} {
		got := redact(text)
		if got != want {
			t.Errorf("%q: %q, wanted %q", text, got, want)
		}
	}
	const code = "operation error RDS: CreateDBInstance, Quota.Exceeded: no more than"
	if got := redact("xyzzy: " + code + " 3"); got != "… "+code+" …" {
		t.Errorf("with something before it: %q", got)
	}
}

// TestPseudonyms: the same name has the same pseudonym in an installation, and another in another one.
func TestPseudonyms(t *testing.T) {
	t.Parallel()
	one, other := scrubber{key: []byte("one"), tables: map[string]bool{"vpc": true}}, scrubber{key: []byte("other")}
	a := one.scrub(Account, "production")
	if a != one.scrub(Account, "production") || a == other.scrub(Account, "production") || a == one.scrub(Account, "test") ||
		!strings.HasPrefix(a, "account-") || strings.Contains(a, "production") {
		t.Errorf("production is %s", a)
	}
	if got := one.scrub(Table, "vpc") + " " + one.scrub(Table, "iasql_cycles"); got != "vpc iasql_cycles" {
		t.Errorf("tables of the product are %s", got)
	}
	if got := one.scrub(Table, "merger_with_acme"); !strings.HasPrefix(got, "table-") {
		t.Errorf("a table of a user's is %s", got)
	}
	got := one.metrics("# HELP x account=\"production\"\nx{account=\"production\",table=\"vpc\",source=\"a \\\" b\",why=\"unknown\"} 1\n")
	if !strings.Contains(got, `x{account="`+a+`",table="vpc",source="name-`) || !strings.HasSuffix(got, `why="unknown"} 1`+"\n") {
		t.Errorf("metrics are %s", got)
	}
}

// TestParts: each part has a name of its own and says what it has.
func TestParts(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, q := range queries {
		if seen[q.name] || q.what == "" {
			t.Errorf("%s is there twice, or says nothing", q.name)
		}
		seen[q.name] = true
		for i, kind := range q.kinds {
			if kind == Plain && i == len(q.kinds)-1 {
				t.Errorf("%s: the last kind is Plain, which need not be said", q.name)
			}
		}
	}
}

// TestPartsThatFail: a part that takes too long, or fails, is there with the reason, in which nothing is that must not be.
func TestPartsThatFail(t *testing.T) {
	t.Parallel()
	g := &gatherer{Options: Options{Limit: 20 * time.Millisecond}}
	late := g.read(t.Context(), "late", ".csv", "", func(ctx context.Context) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	})
	if late.Name != "late.csv" || string(late.Text) != "this part could not be read: not read within 20ms\n" || late.Err == nil {
		t.Errorf("late: %q, %v", late.Text, late.Err)
	}
	failed := g.read(t.Context(), "failed", ".csv", "", func(context.Context) (string, error) {
		return "a,b\n", errors.New("the password of grandmaster is hunter2000")
	})
	if string(failed.Text) != "a,b\nthis part could not be read: the password of … is …\n" {
		t.Errorf("failed: %q", failed.Text)
	}
}
