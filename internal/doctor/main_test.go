package doctor_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"iasql/internal/aws"
	"iasql/internal/doctor"
	"iasql/internal/modules"
	"iasql/internal/modules/all"
	"iasql/internal/platform"
	"iasql/internal/test/faultproxy"
	"iasql/internal/test/likeness"
	"iasql/internal/test/testaws"
	"iasql/internal/test/testdb"
)

const version = "test"

func TestMain(m *testing.M) { testdb.Main(m, migrate, testaws.Setup) }

func migrate(ctx context.Context, url string) error {
	registry, err := modules.NewRegistry(all.Modules(aws.New(aws.Options{}))...)
	if err != nil {
		return err
	}
	return platform.Migrate(ctx, url, registry, version)
}

// rule is a rule of the likeness.
type rule func(c likeness.Call) (faultproxy.Fault, bool)

// Apply implements [likeness.Rule].
func (r rule) Apply(c likeness.Call) faultproxy.Fault {
	if fault, concerned := r(c); concerned {
		return fault
	}
	return faultproxy.Fault{}
}

// of is a rule for the calls of one action.
func of(action string, f faultproxy.Fault) rule {
	return func(c likeness.Call) (faultproxy.Fault, bool) { return f, c.Action == action }
}

// rewritten is a rule that replaces texts in the answers of one action.
func rewritten(action string, pairs ...string) rule {
	replace := strings.NewReplacer(pairs...)
	return of(action, faultproxy.Fault{Rewrite: func(body []byte) []byte {
		return []byte(replace.Replace(string(body)))
	}})
}

// scene is an account before which a likeness of AWS stands.
type scene struct {
	testaws.Account
	endpoint    string
	credentials aws.Credentials
}

func newScene(t *testing.T, rules ...likeness.Rule) *scene {
	t.Helper()
	account := testaws.NewAccount(t)
	return &scene{account, likeness.Start(t, account.Endpoint, rules...).URL,
		aws.Credentials{AccessKeyID: account.AccessKeyID, SecretAccessKey: account.SecretAccessKey}}
}

// options examine the scene's account alone.
func (s *scene) options(t *testing.T) doctor.Options {
	t.Helper()
	clients := aws.New(aws.Options{Endpoint: s.endpoint, MaxBackoff: time.Millisecond,
		Accounts: func(context.Context, string) (aws.Credentials, error) {
			return s.credentials, nil
		}})
	registry, err := modules.NewRegistry(all.Modules(clients)...)
	if err != nil {
		t.Fatal(err)
	}
	return doctor.Options{Version: version, Registry: registry, Clients: clients, Account: "test",
		Regions: []string{"us-east-1"}, Modules: []string{"aws_sqs"}}
}

func run(t *testing.T, o doctor.Options) *doctor.Report {
	t.Helper()
	report, err := doctor.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// text is what the report prints.
func text(t *testing.T, r *doctor.Report) string {
	t.Helper()
	var b strings.Builder
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// finding is what a report must have: a check, its status, and parts of what it
// says.
type finding struct {
	id     string
	status doctor.Status
	says   []string
}

func (f finding) in(t *testing.T, r *doctor.Report) {
	t.Helper()
	check := r.Check(f.id)
	if check == nil {
		t.Fatalf("no check %s:\n%s", f.id, text(t, r))
	}
	all := strings.Join(slices.Concat([]string{check.Message, check.Advice}, check.Details), "\n")
	for _, part := range f.says {
		if !strings.Contains(all, part) {
			t.Errorf("%s does not say %q:\n%s", f.id, part, text(t, r))
		}
	}
	if check.Status != f.status {
		t.Errorf("%s is %s, want %s:\n%s", f.id, check.Status, f.status, text(t, r))
	}
	if check.Status != doctor.OK && check.Status != doctor.Skipped && check.Advice == "" {
		t.Errorf("%s does not say what to do", f.id)
	}
	if r.GoOn != !slices.ContainsFunc(r.Checks, func(c doctor.Check) bool { return c.Status == doctor.Failure }) {
		t.Errorf("go on: %t:\n%s", r.GoOn, text(t, r))
	}
}

func TestUnknownNames(t *testing.T) {
	t.Parallel()
	registry, err := modules.NewRegistry(all.Modules(aws.New(aws.Options{}))...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := doctor.Run(t.Context(), doctor.Options{Registry: registry, Modules: []string{"aws_nothing"}}); err == nil || !strings.Contains(err.Error(), "aws_nothing") {
		t.Errorf("an unknown module: %v", err)
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := doctor.Run(stopped, doctor.Options{Registry: registry}); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
}
