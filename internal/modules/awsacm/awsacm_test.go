package awsacm

import (
	"slices"
	"testing"

	"iasql/internal/aws"
	"iasql/internal/modules"
	"iasql/internal/test/awstest"
	"iasql/internal/test/testaws"
)

func TestMain(m *testing.M) { testaws.Main(m) }

func TestCertificateLifecycle(t *testing.T) {
	t.Parallel()
	awstest.Lifecycle(t, awstest.Case{
		Resource: newCertificate(awstest.Clients(t)),
		Scope:    awstest.Scope("us-west-2"),
		Want: modules.Row{
			"domain_name":               modules.Text("example.com"),
			"subject_alternative_names": modules.Strings([]string{"www.example.com"}),
			"tags":                      modules.StringMap(map[string]string{"env": "test"}),
		},
		Changes: map[string][]modules.Value{"tags": {modules.StringMap(map[string]string{"a": "1", "b": "2"}),
			modules.Null}},
		Elsewhere: []string{"certificate_transparency_logging_preference"}, // which moto lacks: TestSent
		Calls:     map[string]int{"tags": 2},
	})
}

// The rows of what was requested tell the names, and the records to validate
// them by.
func TestCertificateRow(t *testing.T) {
	t.Parallel()
	r, scope := newCertificate(awstest.Clients(t)), awstest.Scope("us-west-2")
	ctx, permit := t.Context(), awstest.Permit()
	want := modules.Row{"domain_name": modules.Text("example.com"),
		"subject_alternative_names": modules.Strings([]string{"a.example.com", "b.example.com"})}
	made, err := awstest.Create(ctx, r, permit, scope, want, "token")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := awstest.Get(ctx, r, scope, []modules.Row{made})
	if err != nil || len(rows) != 1 {
		t.Fatalf("got %v, %v", rows, err)
	}
	for _, column := range []string{"domain_name", "subject_alternative_names"} {
		if !r.Table().Column(column).Same(rows[0][column], want[column]) {
			t.Errorf("%s: got %v, want %v", column, rows[0][column], want[column])
		}
	}
	if got := rows[0]["validation_method"].String(); got != "DNS" {
		t.Errorf("validation method %s", got)
	}
	if rows[0]["domain_validation_records"].IsNull() {
		t.Error("no records to validate by")
	}
}

// What the emulator lacks is sent as AWS's API references have it.
func TestSent(t *testing.T) {
	t.Parallel()
	calls := awstest.Sent(t, func(c *aws.Clients) modules.Updater { return newCertificate(c) },
		modules.Row{"arn": modules.Text("arn:c")},
		modules.Row{"certificate_transparency_logging_preference": modules.Text("DISABLED")}, ``, "certificate_transparency_logging_preference")
	if want := []string{`UpdateCertificateOptions {"CertificateArn":"arn:c","Options":{"CertificateTransparencyLoggingPreference":"DISABLED"}}`}; !slices.Equal(calls, want) {
		t.Errorf("made the calls %q, want %q", calls, want)
	}
}
