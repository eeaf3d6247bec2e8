package edges

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"iasql/internal/test/faultproxy"
)

// rewrite has every answer carry what is put for the placeholders.
func (w *world) rewrite(placeholders map[string]string) (heal func()) {
	return w.fault(func(faultproxy.Call) faultproxy.Fault {
		return faultproxy.Fault{Rewrite: func(body []byte) []byte {
			for from, to := range placeholders {
				body = bytes.ReplaceAll(body, []byte(from), []byte(to))
			}
			return body
		}}
	})
}

// corners are texts as they can stand in a JSON answer, and what a record has
// of them: all that PostgreSQL can store, U+FFFD for the rest.
var corners = map[string]struct{ sent, kept string }{
	"NUL":                 {`a\u0000b`, "a\uFFFDb"},
	"escaped backslash":   {`a\\u0000b`, `a\u0000b`},
	"only NULs":           {`\u0000\u0000`, "\uFFFD\uFFFD"},
	"lone high surrogate": {`a\ud83db`, "a\uFFFDb"},
	"lone low surrogate":  {`\ude00`, "\uFFFD"},
	"surrogates reversed": {`\ude00\ud83d`, "\uFFFD\uFFFD"},
	"surrogate pair":      {`\ud83d\ude00`, "😀"},
	"noncharacters":       {`\uffff\ufffe\ufdd0`, "\uFFFF\uFFFE\uFDD0"},
	"no UTF-8":            {"a\xff\xc0\x80b", "a\uFFFD\uFFFD\uFFFDb"},
	"composed":            {"\u00e9", "\u00e9"},
	"decomposed":          {"e\u0301", "e\u0301"},
	"right to left": {"\u202eשלום\u202c \u0645\u0631\u062d\u0628\u0627",
		"\u202eשלום\u202c \u0645\u0631\u062d\u0628\u0627"},
	"emoji family":          {"👩\u200d👩\u200d👧\u200d👦", "👩\u200d👩\u200d👧\u200d👦"},
	"zero width":            {"a\u200b\u2060\ufeffb", "a\u200b\u2060\ufeffb"},
	"line separators":       {`\u2028\u2029\u0085`, "\u2028\u2029\u0085"},
	"control characters":    {`\u0001\b\f\n\r\t\u001f\u007f`, "\x01\b\f\n\r\t\x1f\x7f"},
	"quotes":                {`'\"\\$$;--%s%%`, `'"\$$;--%s%%`},
	"beyond the first page": {`𝕏𐍈\udbff\udffd`, "𝕏𐍈\U0010FFFD"}, // psql swallows U+10FFFF,
	"many combining":        {"Z" + strings.Repeat("\u0335", 500), "Z" + strings.Repeat("\u0335", 500)},
}

// Every corner of Unicode from the cloud is kept as far as PostgreSQL can, and is
// the same the next time it is read.
func TestUnicode(t *testing.T) {
	t.Parallel()
	w := start(t, "aws_secrets_manager")
	placeholders, number := map[string]string{}, 0
	where := map[string]string{}
	for name, c := range corners {
		number++
		placeholder := fmt.Sprintf("PLACE-%03d-HOLDER", number)
		placeholders[placeholder] = c.sent
		where[name] = fmt.Sprintf("corner-%d", number)
		w.create(where[name], nil, map[string]string{"value": placeholder, placeholder: "key"})
	}
	heal := w.rewrite(placeholders)
	w.sync()
	same := func() {
		w.Helper()
		for name, c := range corners {
			var tags map[string]string
			if err := json.Unmarshal([]byte(w.PSQL(`SELECT tags FROM queue WHERE name = '`+where[name]+`'`)), &tags); err != nil {
				w.Errorf("%s: %v", name, err)
				continue
			}
			if tags["value"] != c.kept || tags[c.kept] != "key" {
				w.Errorf("%s: %+q, want %+q", name, tags, c.kept)
			}
		}
	}
	same()
	w.quiet()
	// A user's edit of another tag goes through, and leaves these alone.
	w.PSQL(`UPDATE queue SET tags = tags || '{"mine": "too"}' WHERE name LIKE 'corner-%'`)
	w.Settled()
	same()
	w.unharmed()
	w.quiet()

	// Texts of a user's own, through both sides and back.
	w.PSQL(`UPDATE queue SET tags = jsonb_build_object('a', E'\u202e\u200b😀', 'e\u0301', 'é', 'é', E'e\u0301', ' x ', E'\t') WHERE name = 'canary'`)
	w.Settled()
	w.quiet()
	if got := w.PSQL(`SELECT tags = jsonb_build_object('a', E'\u202e\u200b😀', 'e\u0301', 'é', 'é', E'e\u0301', ' x ', E'\t') FROM queue WHERE name = 'canary'`); got != "t" {
		w.Errorf("tags: %s", w.PSQL(`SELECT tags FROM queue WHERE name = 'canary'`))
	}

	// A column of plain text, of another service and protocol version.
	secrets := secretsmanager.NewFromConfig(w.AWS.Config("us-east-1"))
	name, text, value := "odd", "PLACE-900-HOLDER", "secret"
	if _, err := secrets.CreateSecret(w.Context(),
		&secretsmanager.CreateSecretInput{Name: &name, Description: &text, SecretString: &value}); err != nil {
		t.Fatal(err)
	}
	placeholders = map[string]string{text: `x\u0000\ud800\uffffy`}
	heal()
	heal = w.rewrite(placeholders)
	w.sync()
	if got, want := w.PSQL(`SELECT description FROM secret`), "x\uFFFD\uFFFD\uFFFFy"; got != want {
		t.Errorf("description: %q, want %q", got, want)
	}
	heal()
	w.sync()
	if got := w.PSQL(`SELECT description FROM secret`); got != text {
		t.Errorf("description: %q", got)
	}
	w.oneLineLog()
}

// Values longer than anybody would expect, values that this version does not
// know, fields it does not know, answers that are cut.
func TestOddAnswers(t *testing.T) {
	if testing.Short() {
		t.Skip("a sweep of odd answers: make test-all runs it")
	}
	t.Parallel()
	w := start(t, "aws_secrets_manager", "aws_dynamo", "aws_vpc")

	w.run("one megabyte", func(w *world) {
		long := strings.Repeat("0123456789abcde ", 1<<16)
		policy := fmt.Sprintf(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":"*","Action":"sqs:SendMessage","Resource":"%s"}]}`, "PLACE-001-HOLDER")
		w.create("long", map[string]string{"Policy": policy}, map[string]string{"long": "PLACE-001-HOLDER"})
		heal := w.rewrite(map[string]string{"PLACE-001-HOLDER": long})
		w.sync()
		if got := w.PSQL(`SELECT length(tags ->> 'long'), length(policy #>> '{Statement,0,Resource}') FROM queue WHERE name = 'long'`); got != fmt.Sprintf("%d|%d", len(long), len(long)) {
			w.Errorf("lengths: %s", got)
		}
		w.quiet()
		w.PSQL(`UPDATE queue SET delay_seconds = 5 WHERE name = 'long'`)
		w.Settled()
		heal()
		w.sync()
		w.unharmed()
		w.quiet()
	})

	w.run("longer than an index takes", func(w *world) {
		id := w.made("indexed")
		w.Admin(`CREATE INDEX by_colour ON queue ((tags ->> 'colour'))`)
		w.tag("indexed", "colour", "PLACE-002-HOLDER")
		heal := w.rewrite(map[string]string{"PLACE-002-HOLDER": incompressible(100_000)})
		w.sync()
		w.review("queue", id, "index", "iasql_retry")
		w.unharmed()
		heal()
		w.retry("queue", id)
		w.Admin(`DROP INDEX by_colour`)
	})

	w.run("longer than a column allows", func(w *world) {
		secrets := secretsmanager.NewFromConfig(w.AWS.Config("us-east-1"))
		name, text := "described", "PLACE-003-HOLDER"
		w.PSQL(`INSERT INTO secret (name, description, value) VALUES ('described', 'short', 'x')`)
		w.Settled()
		id := w.PSQL(`SELECT id FROM secret WHERE name = 'described'`)
		if _, err := secrets.UpdateSecret(w.Context(),
			&secretsmanager.UpdateSecretInput{SecretId: &name, Description: &text}); err != nil {
			w.Fatal(err)
		}
		heal := w.rewrite(map[string]string{text: strings.Repeat("x", 1<<20)})
		w.sync()
		if got := w.PSQL(`SELECT length(description) FROM secret WHERE id = ` + id); got != "1048576" { // it fits (R34)
			w.Errorf("the description has %s characters", got)
		}
		w.unharmed()
		heal()
		w.sync()
		if got := w.PSQL(`SELECT description FROM secret WHERE id = ` + id); got != text {
			w.Errorf("healed to %s", got)
		}
	})

	w.run("unknown values", func(w *world) {
		db := dynamodb.NewFromConfig(w.AWS.Config("us-east-1"))
		name, key := "odd", "id"
		if _, err := db.CreateTable(w.Context(),
			&dynamodb.CreateTableInput{TableName: &name, BillingMode: dbtypes.BillingModePayPerRequest,
				TableClass: dbtypes.TableClassStandard,
				AttributeDefinitions: []dbtypes.AttributeDefinition{{AttributeName: &key,
					AttributeType: dbtypes.ScalarAttributeTypeS}},
				KeySchema: []dbtypes.KeySchemaElement{{AttributeName: &key, KeyType: dbtypes.KeyTypeHash}}}); err != nil {
			w.Fatal(err)
		}
		w.sync()
		id := w.PSQL(`SELECT id FROM dynamo_table WHERE table_name = 'odd'`)
		heal := w.rewrite(map[string]string{
			`"TableStatus"`:             `"TableClassSummary": {"TableClass": "MADE_OF_GLASS"}, "TableStatus"`,
			`<instanceTenancy>default<`: `<instanceTenancy>shared-with-aliens<`,
			`<state>available</state>`:  `<state>half-available</state>`})
		w.sync()
		// it fits (R34)
		if got := w.PSQL(`SELECT table_class FROM dynamo_table WHERE id = ` + id); got != "MADE_OF_GLASS" {
			w.Errorf("the class of the table is %s", got)
		}
		// Nobody here may write such a value, or is kept from writing another column.
		if got := w.Refused(`INSERT INTO dynamo_table (table_name, primary_key, table_class) VALUES ('even-odder', '{"id": "S"}', 'MADE_OF_GLASS')`); !strings.Contains(got, "23514") || !strings.Contains(got, "STANDARD_INFREQUENT_ACCESS") {
			w.Errorf("a user's value: %s", got)
		}
		w.PSQL(`UPDATE dynamo_table SET tags = '{"edited": "here"}' WHERE id = ` + id)
		w.Settled()
		w.unharmed()
		// What the cloud assigns may be anything.
		if got := w.PSQL(`SELECT DISTINCT state FROM vpc`); got != "half-available" {
			w.Errorf("the state of VPCs is %s", got)
		}
		heal()
		w.sync()
		w.Settled()
	})

	w.run("no JSON", func(w *world) {
		id := w.made("lawless")
		w.change("lawless", "Policy", `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":"*","Action":"sqs:SendMessage","Resource":"PLACE-004-HOLDER"}]}`)
		heal := w.rewrite(map[string]string{`PLACE-004-HOLDER\"`: `PLACE-004-HOLDER`}) // the text ends within a string
		w.sync()
		if got := w.PSQL(`SELECT jsonb_typeof(policy) FROM queue WHERE id = ` + id); got != "string" { // as it is (R34)
			w.Errorf("the policy is a %s", got)
		}
		w.unharmed()
		heal()
		w.sync()
		if got := w.PSQL(`SELECT policy #>> '{Statement,0,Resource}' FROM queue WHERE id = ` + id); got != "PLACE-004-HOLDER" {
			w.Errorf("healed to %s", got)
		}
	})

	w.run("new fields", func(w *world) {
		heal := w.rewrite(map[string]string{
			`<vpcId>`:        `<brandNew><item><deep xmlns:q="urn:q">1</deep></item></brandNew><vpcId>`,
			`{"Attributes"`:  `{"BrandNew": {"deep": [null, 1e999, {}]}, "Attributes"`,
			`{"QueueUrls"`:   `{"BrandNew": [[[]]], "QueueUrls"`,
			`{"Table"`:       `{"BrandNew": null, "Table"`,
			`"DelaySeconds"`: `"BrandNewSeconds": "many", "DelaySeconds"`})
		w.quiet()
		w.unharmed()
		heal()
	})

	w.run("error of ten kilobytes", func(w *world) {
		text := "It went wrong.\n" + strings.Repeat("Все плохо\r\n\t\u2028\u202e and \"worse\" 'still'; ", 250)
		if len(text) < 10_000 {
			w.Fatal(len(text))
		}
		heal := w.refuse("SetQueueAttributes",
			faultproxy.Fault{Status: 400, Code: "InvalidAttributeValue", Message: text})
		w.PSQL(`INSERT INTO queue (name) VALUES ('wordy')`)
		w.Settled()
		w.PSQL(`UPDATE queue SET delay_seconds = 1 WHERE name = 'wordy'`)
		id := w.PSQL(`SELECT id FROM queue WHERE name = 'wordy'`)
		if message := w.review("queue", id, "InvalidAttributeValue", "It went wrong."); !utf8.ValidString(message) ||
			len(message) < 500 {
			w.Errorf("the message is %q", message)
		}
		if got := w.PSQL(`SELECT max(length(error)) < 5000 FROM iasql_operations`); got != "t" {
			w.Error("the journal has all of it")
		}
		heal()
		w.retry("queue", id)
		w.unharmed()

		// A page of some proxy's instead of an answer: nothing is gone for that.
		heal = w.refuse("ListQueues", faultproxy.Fault{Status: 404, Code: "x",
			Message: "<html>\n" + strings.Repeat("<p>Bad gateway</p>\n", 1000)})
		w.syncWarns("table queue could not be read in default/us-east-1")
		w.errors("queue", "default/us-east-1", "Bad gateway")
		w.unharmed()
		heal()
		w.sync()
		w.oneLineLog()
	})

	w.run("cut listing", func(w *world) {
		before := w.PSQL(`SELECT count(*) FROM queue`)
		w.create("unseen", nil, nil)
		heal := w.refuse("ListQueues", faultproxy.Fault{Truncate: true})
		w.syncWarns("table queue could not be read in default/us-east-1")
		w.errors("queue", "default/us-east-1")
		if after := w.PSQL(`SELECT count(*) FROM queue`); after != before {
			w.Errorf("there were %s queues and are %s", before, after)
		}
		w.unharmed()
		heal()
		w.sync()
		if got := w.PSQL(`SELECT count(*) FROM queue WHERE name = 'unseen'`); got != "1" {
			w.Error("did not heal")
		}
	})

	w.run("expired credentials", func(w *world) {
		before := w.PSQL(`SELECT count(*) FROM queue`) + w.PSQL(`SELECT count(*) FROM vpc`)
		heal := w.fault(func(faultproxy.Call) faultproxy.Fault {
			return faultproxy.Fault{Status: 400, Code: "ExpiredTokenException",
				Message: "The security token included in the request is expired"}
		})
		w.syncFails("IA061", "ExpiredToken", "new credentials in aws_account")
		w.errors("account default", "ExpiredToken", "new credentials in aws_account")
		w.PSQL(`INSERT INTO queue (name) VALUES ('later')`)
		id := w.PSQL(`SELECT id FROM queue WHERE name = 'later'`)
		w.review("queue", id, "ExpiredToken", "set new credentials in aws_account")
		if after := w.PSQL(`SELECT count(*) FROM queue WHERE name <> 'later'`) + w.PSQL(`SELECT count(*) FROM vpc`); after != before {
			w.Errorf("there were %s records and are %s", before, after)
		}
		heal()
		w.Becomes(15*time.Second, "Present", `SELECT iasql_retry('queue', `+id+
			`)::text FROM queue WHERE false UNION ALL SELECT state FROM iasql_status WHERE table_name = 'queue' AND record_id = `+id+` AND (state = 'Present' OR iasql_retry('queue', `+id+`))`)
		w.sync()
		w.Settled()
		w.unharmed()
	})

	w.quiet()
}

// incompressible returns letters that no index makes small.
func incompressible(n int) string {
	var b strings.Builder
	seed := uint64(42)
	for b.Len() < n {
		seed = seed*6364136223846793005 + 1442695040888963407
		fmt.Fprintf(&b, "%x", seed>>20)
	}
	return b.String()[:n]
}
