package awsorganizations

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/organizations"
	orgtypes "github.com/aws/aws-sdk-go-v2/service/organizations/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
	"iasql/internal/test/awstest"
	"iasql/internal/test/testaws"
)

func TestMain(m *testing.M) { testaws.Main(m) }

// An account without an organization has none to list, and one that manages an organization has its accounts. moto tells
// neither their State nor their Paths.
func TestAccounts(t *testing.T) {
	t.Parallel()
	c, scope, ctx := awstest.Clients(t), awstest.Scope(""), t.Context()
	r := newAccount(c)
	if modules.Can(r).Create {
		t.Error("accounts can be created")
	}
	if rows := listed(t, r, scope); len(rows) != 0 {
		t.Fatalf("without an organization: %v", rows)
	}
	client, err := aws.Client(ctx, c.Permitted(awstest.Permit()), scope,
		func(cfg awssdk.Config) *organizations.Client { return organizations.NewFromConfig(cfg) })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CreateOrganization(ctx, &organizations.CreateOrganizationInput{
		FeatureSet: orgtypes.OrganizationFeatureSetAll}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CreateAccount(ctx, &organizations.CreateAccountInput{AccountName: awssdk.String("shop"),
		Email: awssdk.String("shop@example.com")}); err != nil {
		t.Fatal(err)
	}
	rows := listed(t, r, scope)
	if len(rows) != 2 {
		t.Fatalf("got %v", rows)
	}
	row := rows["shop"]
	for column, want := range map[string]modules.Value{"email": modules.Text("shop@example.com"),
		"state": modules.Text("ACTIVE"), "joined_method": modules.Text("CREATED"), "path": modules.Null} {
		if row[column] != want {
			t.Errorf("%s: got %v, want %v", column, row[column], want)
		}
	}
	some, err := awstest.Get(ctx, r, scope, []modules.Row{{"aws_account_id": row["aws_account_id"]},
		{"aws_account_id": modules.Text("000000000000")}})
	if err != nil || len(some) != 1 || some[0]["name"] != modules.Text("shop") {
		t.Errorf("got %v, %v", some, err)
	}
}

// listed returns what is listed, by name.
func listed(t *testing.T, r modules.Resource, scope modules.Scope) map[string]modules.Row {
	t.Helper()
	page, rows := aws.Collector()
	if err := awstest.List(t.Context(), r, scope, page); err != nil {
		t.Fatal(err)
	}
	all := map[string]modules.Row{}
	for _, row := range rows() {
		all[row["name"].String()] = row
	}
	return all
}

// fake answers as AWS documents it.
type fake struct {
	accounts, organization any
	code                   string // of ListAccounts
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, operation, ok := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	if !ok {
		w.Header().Set("Content-Type", "text/xml")
		_, _ = fmt.Fprint(w, `<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult>`+
			`<Arn>arn:aws:iam::222222222222:user/u</Arn><UserId>AIDA</UserId><Account>222222222222</Account>`+
			`</GetCallerIdentityResult><ResponseMetadata><RequestId>r</RequestId></ResponseMetadata></GetCallerIdentityResponse>`)
		return
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	out := map[string]any{"Organization": f.organization}
	if operation == "ListAccounts" {
		out = map[string]any{"Accounts": f.accounts}
	}
	code := ""
	switch {
	case operation == "ListAccounts":
		code = f.code
	case f.organization == nil:
		code = "AccessDeniedException"
	}
	if code != "" {
		w.WriteHeader(http.StatusBadRequest)
		out = map[string]any{"__type": code, "Message": "You don't have permissions to access this resource."}
	}
	_ = json.NewEncoder(w).Encode(out)
}

// What AWS tells of accounts (Organizations API Reference, Account).
func TestPaths(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(&fake{accounts: []any{map[string]any{
		"Id": "333333333333", "Arn": "arn:aws:organizations::222222222222:account/o-exampleorgid/333333333333", "Name": "shop",
		"Email": "shop@example.com", "State": "PENDING_CLOSURE", "JoinedMethod": "INVITED", "JoinedTimestamp": 1481835795.536,
		"Paths": []string{"o-exampleorgid/r-ab12/ou-ab12-11111111/333333333333/"},
	}}})
	t.Cleanup(server.Close)
	row := listed(t, newAccount(awstest.Fake(server.URL)), awstest.Scope(""))["shop"]
	if row["state"] != modules.Text("PENDING_CLOSURE") ||
		row["path"] != modules.Text("o-exampleorgid/r-ab12/ou-ab12-11111111/333333333333/") || row["joined_at"].IsNull() {
		t.Errorf("got %v", row)
	}
}

// Who is denied and manages nothing has no accounts; who is denied and does, or of whom that is not known, is denied.
func TestDenied(t *testing.T) {
	t.Parallel()
	managedBy := func(id string) any { return map[string]any{"Id": "o-exampleorgid", "MasterAccountId": id} }
	for what, test := range map[string]struct {
		f      fake
		denied bool
	}{
		"a member":                    {fake{organization: managedBy("111111111111")}, false},
		"the managing account":        {fake{organization: managedBy("222222222222")}, true},
		"nobody knows":                {fake{}, true},
		"an answer without a manager": {fake{organization: map[string]any{"Id": "o-exampleorgid"}}, true},
	} {
		test.f.code = "AccessDeniedException"
		server := httptest.NewServer(&test.f)
		page, rows := aws.Collector()
		err := awstest.List(t.Context(), newAccount(awstest.Fake(server.URL)), awstest.Scope(""), page)
		server.Close()
		if got := modules.ClassOf(err) == modules.Denied && err != nil; got != test.denied || len(rows()) != 0 ||
			(err != nil) != test.denied {
			t.Errorf("%s: got %v, %v", what, rows(), err)
		}
	}
}
