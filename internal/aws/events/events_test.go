package events_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"iasql/internal/aws/events"
	"iasql/internal/modules"
)

// The form is that of the CloudTrail User Guide ("Understanding CloudTrail events") and of
// the EventBridge User Guide ("AWS service events delivered via AWS CloudTrail").
func event(account, region, source, name, request, response string) []byte {
	return fmt.Appendf(nil, `{"version": "0", "id": "36eb8523-97d0-4518-b33d-ee3579ff19f0", "detail-type": "AWS API Call via CloudTrail", "source": "aws.ec2",
 "account": %[1]q, "time": "2026-01-02T03:04:06Z", "region": %[2]q, "resources": [],
 "detail": {"eventVersion": "1.11", "userIdentity": {"type": "AssumedRole", "principalId": "AROAIDPPEZS35WEXAMPLE:ana@example.com",
   "arn": "arn:aws:sts::111122223333:assumed-role/Admin/ana@example.com", "accountId": "111122223333", "accessKeyId": "ASIAIOSFODNN7EXAMPLE",
   "sessionContext": {"sessionIssuer": {"type": "Role", "arn": "arn:aws:iam::111122223333:role/Admin", "userName": "Admin"}}},
  "eventTime": "2026-01-02T03:04:05Z", "eventSource": %[3]q, "eventName": %[4]q, "awsRegion": %[2]q, "sourceIPAddress": "192.0.2.10",
  "userAgent": "aws-cli/2.15.0", "requestParameters": %[5]s, "responseElements": %[6]s, "requestID": "59dbff89-35bd-4eac-99ed-be587EXAMPLE",
  "eventID": "5d5b7c3a-0e5c-4b2f-9a2f-2f0f0e9b1c2d", "readOnly": false, "eventType": "AwsApiCall", "managementEvent": true, "recipientAccountId": %[1]q, "eventCategory": "Management"}}`,
		account, region, source, name, request, response)
}

func parse(t *testing.T, source, name, request, response string) *events.Event {
	t.Helper()
	e, err := events.Parse(event("111122223333", "eu-west-1", source, name, request, response))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestParse(t *testing.T) {
	e := parse(t, "ec2.amazonaws.com", "DeleteVpc", `{"vpcId": "vpc-1"}`, `{"_return": true}`)
	want := events.Actor{Type: "AssumedRole", ARN: "arn:aws:sts::111122223333:assumed-role/Admin/ana@example.com",
		Name: "Admin", Session: "ana@example.com",
		Account: "111122223333", Address: "192.0.2.10", UserAgent: "aws-cli/2.15.0"}
	if e.Actor != want {
		t.Errorf("the actor is %+v", e.Actor)
	}
	if !e.Time.Equal(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)) || e.Account != "111122223333" ||
		e.Region != "eu-west-1" || e.RequestID == "" || e.ReadOnly || e.Failed() {
		t.Errorf("got %+v", e)
	}
	quoted := fmt.Sprintf(`{"Type": "Notification", "MessageId": "x", "TopicArn": "arn:aws:sns:eu-west-1:111122223333:t", "Message": %q}`,
		event("111122223333", "eu-west-1", "ec2.amazonaws.com", "DeleteVpc", "{}", "null"))
	if e, err := events.Parse([]byte(quoted)); err != nil || e.Name != "DeleteVpc" {
		t.Errorf("in a notification: %+v, %v", e, err)
	}
}

func TestParseRefuses(t *testing.T) {
	good := string(event("111122223333", "eu-west-1", "ec2.amazonaws.com", "DeleteVpc", `{"vpcId": "vpc-1"}`, "null"))
	for name, c := range map[string]struct {
		body  string
		other bool
	}{
		"nothing":   {"", false},
		"no object": {"17", false},
		"no event":  {`{"hello": "world"}`, false},
		"half":      {good[:len(good)/2], false},
		"a sign in": {strings.Replace(good, "AWS API Call via", "AWS Console Sign In via", 1), true},
		"an insight": {strings.Replace(good, `"eventCategory": "Management"`, `"eventCategory": "Insight"`, 1),
			true},
		"too large": {`{"x": "` + strings.Repeat("x", events.MaxMessage) + `"}`, false},
		"too deep": {strings.Replace(good, `"vpc-1"`, strings.Repeat("[", 500_000)+strings.Repeat("]", 500_000),
			1), false},
		"another account": {strings.Replace(good, `"recipientAccountId": "111122223333"`,
			`"recipientAccountId": "444455556666"`, 1), false},
		"no account":   {strings.ReplaceAll(good, "111122223333", "'; DROP TABLE vpc; --"), false},
		"a region":     {strings.ReplaceAll(good, "eu-west-1", "../../x"), false},
		"a service":    {strings.Replace(good, "ec2.amazonaws.com", "ec2.example.com", 1), false},
		"a name":       {strings.Replace(good, "DeleteVpc", "Delete\\u0000Vpc", 1), false},
		"no time":      {strings.Replace(good, "2026-01-02T03:04:05Z", "yesterday", 1), false},
		"a wrong type": {strings.Replace(good, `"DeleteVpc"`, `{"a": 1}`, 1), false},
		"no record":    {`{"detail-type": "AWS API Call via CloudTrail", "account": "111122223333"}`, false},
	} {
		e, err := events.Parse([]byte(c.body))
		if err == nil || errors.Is(err, events.ErrOther) != c.other || len(err.Error()) > 500 {
			t.Errorf("%s: got %+v, %v", name, e, err)
		}
	}
}

func TestParseCleans(t *testing.T) {
	e := parse(t, "rds.amazonaws.com", "ModifyDBInstance",
		`{"dBInstanceIdentifier": "a\u0000b\u202ec", "masterUserPassword": "hunter2", "nested": {"SecretString": "hunter2"}, "long": "`+strings.Repeat("x", 10_000)+`"}`, "null")
	if got := fmt.Sprint(e.Request); strings.Contains(got, "hunter2") || len(got) > 2500 ||
		strings.ContainsAny(got, "\x00\u202e") {
		t.Errorf("kept %q", got)
	}
	if _, ok := e.Request["masterUserPassword"]; ok {
		t.Error("a password is kept")
	}
}

func TestRecords(t *testing.T) {
	detail := func(id string) string {
		body := string(event("111122223333", "eu-west-1", "ec2.amazonaws.com", "DeleteVpc",
			`{"vpcId": "vpc-1"}`, "null"))
		_, body, _ = strings.Cut(body, `"detail": `)
		return strings.Replace(strings.TrimSuffix(body, "}"), "5d5b7c3a", id, 1)
	}
	file := `{"Records": [` + detail("aaaaaaaa") + "," + strings.Replace(detail("bbbbbbbb"), "AwsApiCall",
		"AwsConsoleSignIn", 1) + "," + detail("cccccccc") + "]}"
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, _ = w.Write([]byte(file))
	_ = w.Close()
	for name, content := range map[string]string{"plain": file, "compressed": zipped.String()} {
		var got []string
		skipped := 0
		err := events.Records(strings.NewReader(content), func(e *events.Event) error {
			got = append(got, e.ID[:8])
			return nil
		}, func(error) { skipped++ })
		if err != nil || !slices.Equal(got, []string{"aaaaaaaa", "cccccccc"}) || skipped != 1 {
			t.Errorf("%s: got %v, skipped %d, %v", name, got, skipped, err)
		}
	}
	large := `{"Records": [{"x": "` + strings.Repeat("x", 4*events.MaxMessage) + `"}]}`
	for _, content := range []string{large, file[:len(file)-100], `{"records": []}`, "[]", ""} {
		if err := events.Records(strings.NewReader(content), func(*events.Event) error {
			return nil
		}, nil); err == nil {
			t.Errorf("%.40q was read", content)
		}
	}
	stop := errors.New("stop")
	if err := events.Records(strings.NewReader(file), func(*events.Event) error {
		return stop
	}, nil); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}

// fleet is a table as hints need it.
type fleet struct {
	modules.Resource
	table *modules.Table
}

func (f fleet) Table() *modules.Table { return f.table }

func registry(t testing.TB) *modules.Registry {
	t.Helper()
	text := func(name string, identity bool) modules.Column {
		return modules.Column{Name: name, Type: modules.TypeText, Doc: "x", Identity: identity}
	}
	r, err := modules.NewRegistry(&modules.Module{Name: "m", Version: 1, Doc: "x", Resources: []modules.Resource{
		fleet{table: &modules.Table{Name: "box", Doc: "x", GlobalName: "arn", Reach: modules.PerRegion,
			Columns: []modules.Column{text("account", false), text("region", false), text("box_id", true),
				{Name: "arn", Type: modules.TypeText, Doc: "x", Computed: true}},
			EventMappings: []modules.EventMapping{
				{Source: "ec2.amazonaws.com", Name: "RunBoxes", At: []string{"responseElements.boxesSet.boxId"}},
				{Source: "ec2.amazonaws.com", Name: "CreateTags",
					At: []string{"requestParameters.resourcesSet.resourceId"}, Prefix: "box-"},
				{Source: "ec2.amazonaws.com", Name: "CreateNatBox", At: []string{"responseElements.NatBox.BoxId"}},
				{Source: "ec2.amazonaws.com", Name: "ModifyDefaults"},
				{Source: "ec2.amazonaws.com", Name: "TagResource", At: []string{"requestParameters.resourceArn"},
					Prefix: "box/"},
			}}},
		fleet{table: &modules.Table{Name: "user", Doc: "x",
			Columns: []modules.Column{text("account", false), text("name", true)},
			EventMappings: []modules.EventMapping{{Source: "iam.amazonaws.com", Name: "CreateUser",
				At: []string{"requestParameters.userName"}}}}},
		fleet{table: &modules.Table{Name: "entry", Doc: "x",
			Columns: []modules.Column{text("account", false), text("zone", true), text("name", true),
				text("set_id", true)},
			EventMappings: modules.EventMappings("route53.amazonaws.com",
				modules.Request("changeBatch.changes", "ChangeEntries").Whole(
					modules.IdentityPart{At: "requestParameters.zoneId", As: func(id string) string {
						return strings.TrimPrefix(id, "/zone/")
					}},
					modules.IdentityPart{At: "entry.name", As: strings.ToLower},
					modules.IdentityPart{At: "entry.setId", Optional: true}),
				modules.Request("zoneId", "ChangeEntries").In("zone")),
		}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestHints(t *testing.T) {
	r := registry(t)
	here := modules.Scope{Account: "main", Region: "eu-west-1"}
	box := func(id string) events.Hint { return events.Hint{Table: "box", Scope: here, Column: "box_id", ID: id} }
	all := events.Hint{Table: "box", Scope: here}
	entry := func(column, value string) events.Hint {
		return events.Hint{Table: "entry", Scope: modules.Scope{Account: "main"}, Column: column, ID: value}
	}
	many := strings.Repeat(`{"boxId": "box-N"},`, 200)
	for i := range 200 {
		many = strings.Replace(many, "box-N", fmt.Sprint("box-", i), 1)
	}
	for name, c := range map[string]struct {
		source, name, request, response string
		want                            []events.Hint
	}{
		"a creation": {"ec2", "RunBoxes", "{}",
			`{"boxesSet": {"items": [{"boxId": "box-1"}, {"boxId": "box-2"}, {"boxId": "box-1"}]}}`,
			[]events.Hint{box("box-1"), box("box-2")}},
		"with the version of an API": {"ec2", "RunBoxes20150331v2", "{}",
			`{"boxesSet": {"items": [{"boxId": "box-1"}]}}`, []events.Hint{box("box-1")}},
		"one that does not say what": {"ec2", "RunBoxes", "{}", "null", []events.Hint{all}},
		"too many": {"ec2", "RunBoxes", "{}",
			`{"boxesSet": {"items": [` + strings.TrimSuffix(many, ",") + `]}}`, []events.Hint{all}},
		"of another table": {"ec2", "CreateTags", `{"resourcesSet": {"items": [{"resourceId": "vpc-1"}]}}`,
			"null", nil},
		"some of another table": {"ec2", "CreateTags",
			`{"resourcesSet": {"items": [{"resourceId": "vpc-1"}, {"resourceId": "box-1"}]}}`, "null",
			[]events.Hint{box("box-1")}},
		"in a wrapper": {"ec2", "CreateNatBox", `{"CreateNatBoxRequest": {}}`,
			`{"CreateNatBoxResponse": {"natBox": {"boxId": "box-1"}}}`, []events.Hint{box("box-1")}},
		"a table": {"ec2", "ModifyDefaults", "{}", "null", []events.Hint{all}},
		"an ARN": {"ec2", "TagResource",
			`{"resourceArn": "arn:aws:ec2:eu-west-1:111122223333:box/1"}`, "null",
			[]events.Hint{{Table: "box", Scope: here, Column: "arn", ID: "arn:aws:ec2:eu-west-1:111122223333:box/1"}}},
		"an ARN of another table": {"ec2", "TagResource",
			`{"resourceArn": "arn:aws:ec2:eu-west-1:111122223333:cat/1"}`, "null", nil},
		"a table of the account": {"iam", "CreateUser", `{"userName": "ana"}`, "null",
			[]events.Hint{{Table: "user", Scope: modules.Scope{Account: "main"}, Column: "name", ID: "ana"}}},
		"a call that touches nothing": {"ec2", "RunCats", "{}", "null", nil},
		"a name that is no text": {"iam", "CreateUser", `{"userName": {"$ne": null}}`, "null",
			[]events.Hint{{Table: "user", Scope: modules.Scope{Account: "main"}}}},
		"a name that cannot be any": {"iam", "CreateUser", `{"userName": "a\u0000"}`, "null",
			[]events.Hint{{Table: "user", Scope: modules.Scope{Account: "main"}}}},
		"a name that is far too long": {"iam", "CreateUser", `{"userName": "` + strings.Repeat("x", 5000) + `"}`,
			"null", []events.Hint{{Table: "user", Scope: modules.Scope{Account: "main"}}}},
		"by several columns": {"route53", "ChangeEntries",
			`{"zoneId": "/zone/Z1", "changeBatch": {"changes": [{"entry": {"name": "A"}}, {"entry": {"name": "b", "setId": "\"1"}}, {"entry": {"name": "a"}}]}}`, "null", []events.Hint{entry("*", `["Z1","a",""]`), entry("*", `["Z1","b","\"1"]`)}},
		"by one that is none of them": {"route53", "ChangeEntries",
			`{"zoneId": "Z1", "changeBatch": {"changes": {"items": [{"entry": {"name": "a"}}]}}}`, "null",
			[]events.Hint{entry("*", `["Z1","a",""]`)}},
		"by some of several columns": {"route53", "ChangeEntries",
			`{"zoneId": "Z1", "changeBatch": {"changes": [{"entry": {"name": "a"}}, {"entry": {"setId": "1"}}]}}`,
			"null", []events.Hint{entry("zone", "Z1")}},
		"by columns that are none": {"route53", "ChangeEntries",
			`{"zoneId": "Z1", "changeBatch": [[[{"changes": 1}]]]}`, "null", []events.Hint{entry("zone", "Z1")}},
		"by nothing at all": {"route53", "ChangeEntries", `{"changeBatch": null}`, "null",
			[]events.Hint{entry("", "")}},
		"by far too much": {"route53", "ChangeEntries",
			`{"zoneId": "Z1", "changeBatch": {"changes": [{"entry": {"name": "` + strings.Repeat("x", 2040) +
				`", "setId": "1"}}]}}`, "null", []events.Hint{entry("zone", "Z1")}},
		"the same service's other call": {"iam", "RunBoxes", "{}", "null", nil},
	} {
		e := parse(t, c.source+".amazonaws.com", c.name, c.request, c.response)
		if got := events.Hints(r, "main", e); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
		e.Error = "Client.UnauthorizedOperation"
		if got := events.Hints(r, "main", e); got != nil {
			t.Errorf("%s, refused: got %+v", name, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(event("111122223333", "eu-west-1", "ec2.amazonaws.com", "RunBoxes", `{"a": [1, {"b": "\u0000"}]}`,
		`{"boxesSet": {"items": [{"boxId": "box-1"}]}}`))
	f.Add([]byte(`{"Type": "Notification", "Message": "{\"detail-type\": 1}"}`))
	f.Add([]byte(`[[[[[["\\`))
	tables := registry(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		e, err := events.Parse(body)
		if err != nil {
			if len(err.Error()) > 1000 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
			return
		}
		for _, text := range []string{e.Actor.ARN, e.Actor.Session, e.Actor.UserAgent, e.Actor.Address, e.Error,
			e.ID, e.Name} {
			if strings.ContainsAny(text, "\x00\n") || !utf8.ValidString(text) || len(text) > 4096 {
				t.Errorf("it keeps %q", text)
			}
		}
		if hints := events.Hints(tables, "main", e); len(hints) > 1000 {
			t.Errorf("%d hints", len(hints))
		}
	})
}

func FuzzRecords(f *testing.F) {
	f.Add([]byte(`{"Records": [{"eventType": "AwsApiCall"}, 17, [[]]]}`))
	f.Add([]byte("\x1f\x8b\x08\x00"))
	f.Fuzz(func(t *testing.T, file []byte) {
		skipped := 0
		err := events.Records(bytes.NewReader(file), func(*events.Event) error {
			return nil
		}, func(error) { skipped++ })
		if skipped > len(file) || err != nil && len(err.Error()) > 1000 {
			t.Errorf("%d skipped, %v", skipped, err)
		}
	})
}
