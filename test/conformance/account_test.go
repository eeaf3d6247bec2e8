package conformance

import (
	"slices"
	"strings"
	"testing"

	"iasql/internal/test/harness"
)

// TestEveryModuleIsDescribed checks that no module of the binary is left out.
// That none of its tables and columns is, TestConformance checks.
func TestEveryModuleIsDescribed(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	w.Serve()
	// A composition stands for nothing in the cloud: its parts are records of modules that are described.
	// (TestCompositions in test/likeness has each of them.) The hosts' modules are conformed to without the aws command,
	// in test/hosts.
	for _, name := range strings.Fields(w.PSQL(`SELECT module_name FROM iasql_modules_list()
		WHERE NOT module_name IN (SELECT name FROM iasql_internal.composition) AND NOT module_name IN ('host', 'host_files', 'host_packages', 'host_users', 'host_facts', 'host_network', 'host_units', 'host_system', 'host_containers')`)) {
		if !slices.ContainsFunc(described, func(m Module) bool { return m.Name == name }) {
			t.Errorf("module %s is not described", name)
		}
	}
}

// TestDefaultAccount imports an account as AWS hands it over, with a default
// VPC and all that is in it, by all modules. Nothing is changed there, and what
// has been imported stays as it is.
func TestDefaultAccount(t *testing.T) {
	if testing.Short() {
		t.Skip("it installs all modules: make test-all runs it")
	}
	t.Parallel()
	w := harness.NewWorld(t)
	calls := watch(t, w)
	w.Serve()
	w.Install([]string{"us-east-1"}, strings.Fields(w.PSQL(`SELECT module_name FROM iasql_modules_list()`))...)
	s := inWorld(t, w, calls)
	for _, m := range described {
		s.Tables = append(s.Tables, m.Tables...)
	}
	s.admin(`UPDATE iasql_settings SET value = '1 hour' WHERE name = 'sync_interval'`)
	s.sync()
	for query, command := range map[string]string{
		`SELECT jsonb_agg(vpc_id) FROM vpc WHERE is_default`:                   `ec2 describe-vpcs --query Vpcs[].VpcId`,
		`SELECT jsonb_agg(subnet_id) FROM subnet WHERE default_for_az`:         `ec2 describe-subnets --query Subnets[].SubnetId`,
		`SELECT jsonb_agg(route_table_id) FROM route_table WHERE is_main`:      `ec2 describe-route-tables --query RouteTables[].RouteTableId`,
		`SELECT jsonb_agg(network_acl_id) FROM network_acl WHERE is_default`:   `ec2 describe-network-acls --query NetworkAcls[].NetworkAclId`,
		`SELECT jsonb_agg(group_id) FROM security_group WHERE is_default`:      `ec2 describe-security-groups --query SecurityGroups[].GroupId`,
		`SELECT jsonb_agg(security_group_rule_id) FROM security_group_rule`:    `ec2 describe-security-group-rules --query SecurityGroupRules[].SecurityGroupRuleId`,
		`SELECT jsonb_agg(name) FROM availability_zone`:                        `ec2 describe-availability-zones --query AvailabilityZones[].ZoneName`,
		`SELECT jsonb_agg(dhcp_options_id) FROM dhcp_options WHERE is_default`: `ec2 describe-dhcp-options --query DhcpOptions[].DhcpOptionsId`,
	} {
		here, there := s.sql(query), s.must(command)
		if here == "" {
			here = "[]"
		}
		if !same(here, there) {
			t.Errorf("%s: %s, and in the cloud %s", query, here, there)
		}
	}
	s.fixpoint()
	s.fixpoint()
	if made := calls.since(0); len(made) > 0 {
		t.Errorf("mutating calls: %v", made)
	}
}
