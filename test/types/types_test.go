package types

import (
	"testing"

	"iasql/internal/test/cloudcontrol"
	"iasql/internal/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// world is a database, an engine, and a fake account with these types.
type world struct {
	*harness.World
	fake *cloudcontrol.Server
	at   cloudcontrol.Scope
}

func start(t *testing.T, options cloudcontrol.Options) *world {
	t.Helper()
	w := &world{World: harness.NewWorld(t)}
	options.Account = func(string) string { return "123456789012" }
	w.fake = cloudcontrol.Start(t, options)
	w.at = cloudcontrol.Scope{Account: "123456789012", Region: "us-east-1"}
	w.Endpoint = w.fake.URL
	w.Serve()
	w.Install([]string{"us-east-1"})
	return w
}

func TestOneTypeThroughItsLife(t *testing.T) {
	t.Parallel()
	w := start(t, cloudcontrol.Options{Schemas: cloudcontrol.AWS(t, "../..")})
	t.Log(w.PSQL(`SELECT * FROM iasql_types('AWS::SES')`))
	t.Log(w.PSQL(`SELECT * FROM iasql_install('AWS::SES::Template')`))
	t.Log(w.PSQL(`\d+ ses_template`))
	w.PSQL(`INSERT INTO ses_template (template) VALUES ('{"TemplateName": "hello", "SubjectPart": "Hi", "TextPart": "Hello"}')`)
	w.Settled()
	t.Log(w.PSQL(`SELECT * FROM ses_template`))
	t.Log(w.fake.Objects(w.at, "AWS::SES::Template"))
	for id := range w.fake.Objects(w.at, "AWS::SES::Template") {
		if err := w.fake.Edit(w.at, "AWS::SES::Template", id, func(p map[string]any) { p["Template"].(map[string]any)["TextPart"] = "drift" }); err != nil {
			t.Fatal(err)
		}
	}
	w.PSQL(`SELECT iasql_sync_now()`)
	t.Log(w.PSQL(`SELECT * FROM ses_template`))
	w.PSQL(`UPDATE ses_template SET template = jsonb_set(template, '{SubjectPart}', '"Changed"')`)
	w.Settled()
	t.Log(w.fake.Objects(w.at, "AWS::SES::Template"))
	w.PSQL(`UPDATE ses_template SET template = jsonb_set(template, '{TemplateName}', '"other"')`)
	w.Settled()
	t.Log(w.fake.Objects(w.at, "AWS::SES::Template"))
	w.PSQL(`DELETE FROM ses_template`)
	w.Settled()
	t.Log(w.fake.Objects(w.at, "AWS::SES::Template"), w.fake.AllCalls())
}
