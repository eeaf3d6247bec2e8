package declare_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
	"iasql/internal/test/awstest"
)

var scope = awstest.Scope("us-east-1")

// fake returns clients of an EC2 that answers a form as answer says, and the
// forms that it got.
func fake(t *testing.T, answer func(form map[string]string) string) (c *aws.Clients, got func() []map[string]string) {
	var (
		mu    sync.Mutex
		forms []map[string]string
	)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		form := map[string]string{}
		for k := range r.Form {
			form[k] = r.Form.Get(k)
		}
		mu.Lock()
		defer mu.Unlock()
		forms = append(forms, form)
		fmt.Fprintf(w, "<%sResponse>%s</%sResponse>", form["Action"], answer(form), form["Action"])
	}))
	t.Cleanup(server.Close)
	return awstest.Fake(server.URL), func() []map[string]string {
		mu.Lock()
		defer mu.Unlock()
		return forms
	}
}

type route struct {
	ec2types.Route
	RouteTableId *string
}

func routes(options ...declare.Option) *declare.Listing {
	return declare.Pages(ec2.NewDescribeRouteTablesPaginator, "RouteTables",
		append(options, declare.Expand(func(t ec2types.RouteTable) []route {
			var all []route
			for _, r := range t.Routes {
				all = append(all, route{r, t.RouteTableId})
			}
			return all
		}))...)
}

func routeTable(c *aws.Clients, get *declare.Getting) *declare.Resource {
	return declare.New(c, declare.Table[route]{
		Name: "route", Doc: "Routes.", Service: declare.Service(ec2.NewFromConfig),
		Columns: []declare.Column{
			declare.ID("route_table_id", "RouteTableId", "The route table."),
			declare.ID("destination", "DestinationCidrBlock", "Where to."),
		},
		List: routes(), Get: get,
	})
}

// Two pages of route tables, of which the first has two routes and the second
// none.
func tables(form map[string]string) string {
	table := func(id string, destinations ...string) string {
		text := "<item><routeTableId>" + id + "</routeTableId><routeSet>"
		for _, d := range destinations {
			text += "<item><destinationCidrBlock>" + d + "</destinationCidrBlock></item>"
		}
		return text + "</routeSet></item>"
	}
	if form["NextToken"] == "" {
		return "<routeTableSet>" + table("rtb-1", "10.0.0.0/16", "0.0.0.0/0") + table("rtb-2") +
			"</routeTableSet><nextToken>two</nextToken>"
	}
	return "<routeTableSet>" + table("rtb-3", "10.0.0.0/16") + "</routeTableSet>"
}

// Several objects live in one member of a listing, and are read by a filter on
// one of their identity columns.
func TestExpand(t *testing.T) {
	t.Parallel()
	c, got := fake(t, tables)
	r := routeTable(c, declare.EC2Filter("route-table-id").Of("route_table_id"))
	if err := r.Validate(); err != nil {
		t.Fatal(err)
	}
	page, rows := aws.Collector()
	if err := awstest.List(t.Context(), r, scope, page); err != nil || len(rows()) != 3 {
		t.Errorf("listed %v, %v", rows(), err)
	}
	some, err := awstest.Get(t.Context(), r, scope, []modules.Row{
		{"route_table_id": modules.Text("rtb-1"), "destination": modules.Text("0.0.0.0/0")},
		{"route_table_id": modules.Text("rtb-1"), "destination": modules.Text("192.0.2.0/24")},
	})
	if err != nil || len(some) != 1 || some[0]["destination"] != modules.Text("0.0.0.0/0") {
		t.Errorf("got %v, %v", some, err)
	}
	form := got()[2]
	if form["Filter.1.Name"] != "route-table-id" || form["Filter.1.Value.1"] != "rtb-1" ||
		form["Filter.1.Value.2"] != "" {
		t.Errorf("asked for %v", form)
	}
	if err := routeTable(c, declare.EC2Filter("route-table-id").Of("nothing")).Validate(); err == nil {
		t.Error("a filter of a column that there is not")
	}
	if err := routeTable(c, declare.EC2Filter("route-table-id")).Validate(); err == nil {
		t.Error("a filter of one of two identity columns, and nobody says which")
	}
}

// Find asks for each value once and for no more than a filter takes, reads all
// pages, and nothing where there are no values.
func TestFind(t *testing.T) {
	t.Parallel()
	c, got := fake(t, tables)
	client, err := declare.Client(t.Context(), c, scope, ec2.NewFromConfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		filter        string
		values, calls int
	}{{"", 0, 2}, {"vpc-id", 0, 0}, {"vpc-id", 1, 2}, {"vpc-id", 201, 4}} {
		values := make([]string, test.values)
		for i := range values {
			values[i] = fmt.Sprintf("vpc-%d", i)
		}
		before := len(got())
		found, err := declare.Find[route](t.Context(), declare.Source{Client: client}, routes(), test.filter,
			slices.Concat(values, values)...)
		calls := got()[before:]
		if err != nil || len(calls) != test.calls || len(found) != 3*test.calls/2 {
			t.Errorf("%v: found %v, %v by %d calls", test, found, err, len(calls))
		}
		for _, form := range calls {
			if form["Filter.1.Name"] != test.filter || form["Filter.1.Value.201"] != "" {
				t.Errorf("%v: asked for %v", test, form)
			}
		}
	}
}

// What a restatement does not change it sends as the object has it, whatever is
// wanted.
func TestRestate(t *testing.T) {
	t.Parallel()
	c, got := fake(t, func(map[string]string) string { return "<return>true</return>" })
	in := func(c declare.Column, member string) declare.Column {
		return c.In("SecurityGroupRules[0].SecurityGroupRule." + member)
	}
	r := declare.New(c, declare.Table[ec2types.SecurityGroupRule]{
		Name: "rule", Doc: "Rules.", Service: declare.Service(ec2.NewFromConfig),
		Columns: []declare.Column{
			declare.ID("id", "SecurityGroupRuleId", "The rule.").In("SecurityGroupRules[0].SecurityGroupRuleId"),
			declare.Text("security_group_id", "GroupId", "The group.").Required().CreateOnly(),
			in(declare.Integer("from_port", "FromPort", "The port.").OptionalComputed(), "FromPort"),
			in(declare.Text("prefix_list_id", "PrefixListId", "The other side.").CreateOnly(), "PrefixListId"),
			in(declare.Text("description", "Description", "What for.").Unset(modules.Text("")), "Description"),
		},
		List: declare.Pages(ec2.NewDescribeSecurityGroupRulesPaginator, "SecurityGroupRules"),
		Get:  declare.EC2Filter("security-group-rule-id"),
		Updates: []declare.Update{declare.Restate(declare.Call((*ec2.Client).ModifySecurityGroupRules), "from_port",
			"description")},
		Creation: modules.ByName,
	})
	if err := r.Validate(); err != nil {
		t.Fatal(err)
	}
	have := modules.Row{
		"id": modules.Text("sgr-1"), "security_group_id": modules.Text("sg-1"), "from_port": modules.Int(80),
		"prefix_list_id": modules.Text("pl-1"), "description": modules.Text("old"),
	}
	want := modules.Row{"security_group_id": modules.Text("sg-1")}
	ctx, permit := t.Context(), awstest.Permit()
	if err := awstest.Update(ctx, r, permit, scope, have, want, []string{"description"}); err != nil {
		t.Fatal(err)
	}
	form := got()[0]
	var sent []string
	for k, v := range form {
		if rest, ok := strings.CutPrefix(k, "SecurityGroupRule.1."); ok {
			sent = append(sent, strings.TrimPrefix(rest, "SecurityGroupRule.")+"="+v)
		}
	}
	slices.Sort(sent)
	if form["GroupId"] != "sg-1" ||
		!slices.Equal(sent, []string{"Description=", "FromPort=80", "PrefixListId=pl-1", "SecurityGroupRuleId=sgr-1"}) {
		t.Errorf("sent %v", form)
	}
}

// What GetBy returns is what the table is declared by already: it is not
// converted as what is listed.
func TestGetByIsNotConverted(t *testing.T) {
	t.Parallel()
	c, _ := fake(t, tables)
	one := modules.Row{"route_table_id": modules.Text("rtb-9"), "destination": modules.Text("0.0.0.0/0")}
	r := routeTable(c, declare.GetBy(func(context.Context, *declare.Step, []modules.Row) ([]route, error) {
		return []route{{ec2types.Route{DestinationCidrBlock: one["destination"].Ptr()}, one["route_table_id"].Ptr()}},
			nil
	}))
	if err := r.Validate(); err != nil {
		t.Fatal(err)
	}
	if rows, err := awstest.Get(t.Context(), r, scope, []modules.Row{one}); err != nil || len(rows) != 1 {
		t.Errorf("got %v, %v", rows, err)
	}
}
