package tfstate_test

import (
	"slices"
	"strings"
	"testing"

	"iasql/internal/aws"
	"iasql/internal/aws/cfn"
	"iasql/internal/aws/tfstate"
	"iasql/internal/modules"
	"iasql/internal/modules/all"
)

// identifiers are the properties that name the objects of types that AWS publishes (primaryIdentifier of their
// schemas). Their tables are not described before they are installed.
var identifiers = map[string][]string{
	"AWS::EC2::FlowLog":                         {"Id"},
	"AWS::EC2::NetworkInterface":                {"Id"},
	"AWS::ECS::CapacityProvider":                {"Name"},
	"AWS::ElasticLoadBalancingV2::ListenerRule": {"RuleArn"},
	"AWS::IAM::Group":                           {"GroupName"},
	"AWS::IAM::ManagedPolicy":                   {"PolicyArn"},
	"AWS::IAM::VirtualMFADevice":                {"SerialNumber"},
	"AWS::Lambda::Alias":                        {"AliasArn"},
	"AWS::Lambda::EventSourceMapping":           {"Id"},
	"AWS::Logs::MetricFilter":                   {"LogGroupName", "FilterName"},
	"AWS::Logs::SubscriptionFilter":             {"FilterName", "LogGroupName"},
	"AWS::RDS::DBProxy":                         {"DBProxyName"},
	"AWS::RDS::DBProxyEndpoint":                 {"DBProxyEndpointName"},
	"AWS::RDS::OptionGroup":                     {"OptionGroupName"},
	"AWS::Route53::HealthCheck":                 {"HealthCheckId"},
	"AWS::Scheduler::ScheduleGroup":             {"Name"},
	"AWS::WAFv2::WebACL":                        {"Name", "Id", "Scope"},
	"AWS::WAFv2::WebACLAssociation":             {"ResourceArn", "WebACLArn"},
}

// TestRules: what a rule names is there.
func TestRules(t *testing.T) {
	t.Parallel()
	registry, err := modules.NewRegistry(all.Modules(aws.New(aws.Options{}))...)
	if err != nil {
		t.Fatal(err)
	}
	has := func(table, column string) bool {
		described := registry.Table(table)
		if described == nil {
			typeName := cfn.KnownAs(table)
			return slices.ContainsFunc(identifiers[typeName], func(property string) bool {
				return cfn.ColumnName(typeName, property) == column
			})
		}
		for _, c := range described.Columns {
			if c.Name == column {
				return true
			}
		}
		return false
	}
	for name, rules := range tfstate.Types() {
		for _, rule := range rules {
			for _, column := range rule.Columns {
				if !has(rule.Table, column.Name) {
					t.Errorf("%s: there is no %s of %s", name, column.Name, rule.Table)
				}
				if column.Table != "" && !has(column.Table, column.Of) {
					t.Errorf("%s: there is no %s of %s", name, column.Of, column.Table)
				}
			}
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	state, err := tfstate.Parse(strings.NewReader(`{"version": 4, "resources": [
		{"module": "module.net", "mode": "managed", "type": "aws_vpc", "name": "main", "instances": [
			{"index_key": 0, "attributes": {"id": "vpc-1", "arn": "arn:aws:ec2:eu-west-1:123456789012:vpc/vpc-1"}},
			{"index_key": "a", "deposed": "00000001", "attributes": {"id": "vpc-2"}}]},
		{"mode": "data", "type": "aws_vpc", "name": "other", "instances": [{"attributes": {"id": "vpc-3"}}]},
		{"mode": "managed", "type": "random_id", "name": "suffix", "instances": [{"attributes": {"id": "x"}}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if len(state.Resources) != 2 || len(state.Elsewhere) != 1 {
		t.Fatalf("%+v", state)
	}
	for i, want := range []struct{ address, region, id string }{
		{"module.net.aws_vpc.main[0]", "eu-west-1", "vpc-1"}, {`module.net.aws_vpc.main["a"] (deposed)`, "", "vpc-2"},
	} {
		r := state.Resources[i]
		values, ok := r.Values(tfstate.Rules("aws_vpc")[0])
		if r.Address != want.address || r.Region != want.region || !ok || values[0] != want.id {
			t.Errorf("%s in %q: %v", r.Address, r.Region, values)
		}
	}
	for text, want := range map[string]string{
		``:                       "no state",
		`[]`:                     "no state",
		`{"encrypted_data": ""}`: "in the clear",
		`{"version": 3}`:         "version 3",
	} {
		if _, err := tfstate.Parse(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"version": 4, "resources": [{"mode": "managed", "type": "aws_vpc", "instances": [{"index_key": {}, "attributes": {"id": 3}}]}]}`))
	f.Fuzz(func(_ *testing.T, text []byte) {
		state, err := tfstate.Parse(strings.NewReader(string(text)))
		if err != nil {
			return
		}
		for i := range state.Resources {
			for _, rule := range tfstate.Rules(state.Resources[i].Type) {
				state.Resources[i].Values(rule)
			}
		}
	})
}
