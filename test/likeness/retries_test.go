package likeness

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"iasql/internal/test/harness"
	"iasql/internal/test/likeness"
)

// role is a statement that makes a role whose trust policy names a principal.
func role(name, principal string) string {
	return fmt.Sprintf(`INSERT INTO iam_role (role_name, assume_role_policy_document) VALUES ('%s',
		'{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": %s, "Action": "sts:AssumeRole"}]}')`,
		name, principal)
}

// instanceOf is a statement that makes a database instance.
func instanceOf(name string) string {
	return strings.Replace(database, "'shop'", "'"+name+"'", 1)
}

// server is a statement that makes an instance with a role of its own.
func server(name string) string {
	return fmt.Sprintf(`WITH r AS (%s RETURNING role_name) INSERT INTO instance (ami, instance_type, role_name)
		SELECT 'resolve:ssm:/aws/service/ami-amazon-linux-latest/amzn2-ami-hvm-x86_64-gp2', 't3.micro', role_name FROM r`, role(name, `{"Service": "ec2.amazonaws.com"}`))
}

// healing are refusals that heal by themselves, each with what is refused twice, and which
// of the calls (finding B9). The codes are of the section Errors of the operations' pages,
// of "Error codes for the Amazon EC2 API" and of the services' common errors.
var healing = []struct {
	service, action, naming string
	status                  int
	code, message           string
	statement               string
}{
	{"rds", "CreateDBInstance", "scarce", 400, "InsufficientDBInstanceCapacity",
		"The specified DB instance class isn't available in the specified Availability Zone.", instanceOf("scarce")},
	{"rds", "CreateDBInstance", "stored", 400, "InsufficientStorageClusterCapacity",
		"There is insufficient storage available for the current action.", instanceOf("stored")},
	{"rds", "CreateDBCluster", "", 403, "InsufficientDBClusterCapacityFault",
		"The DB cluster doesn't have enough capacity for the current operation.",
		`INSERT INTO db_cluster (db_cluster_identifier, engine, master_username, master_user_password) VALUES ('aurora', 'aurora-postgresql', 'admin1', 'secret-password')`},
	{"ecs", "RegisterTaskDefinition", "", 400, "ClientException",
		"Too many concurrent attempts to create a new revision of the specified family.",
		`INSERT INTO task_definition (family, cpu, memory, container_definitions) VALUES ('web', 256, 512, '[{"name": "web", "image": "nginx:1"}]')`},
	{"sns", "CreateTopic", "", 400, "ConcurrentAccess",
		"Can't perform multiple operations on a tag simultaneously. Perform the operations sequentially.",
		`INSERT INTO topic (name) VALUES ('news')`},
	{"iam", "CreateRole", "principal", 400, "MalformedPolicyDocument",
		`Invalid principal in policy: "AWS":"arn:aws:iam::123456789012:role/new"`,
		role("principal", `{"Service": "ec2.amazonaws.com"}`)},
	{"ec2", "CreateVpc", "10.1.0.0", 400, "ExpiredToken", "The security token included in the request is expired",
		`INSERT INTO vpc (cidr_block) VALUES ('10.1.0.0/16')`},
	{"ec2", "CreateVpc", "10.2.0.0", 400, "PendingVerification", "Your account is currently being verified.",
		`INSERT INTO vpc (cidr_block) VALUES ('10.2.0.0/16')`},
	{"ec2", "CreateVpc", "10.3.0.0", 503, "ConcurrentMutationLimitExceeded", "You cannot make concurrent mutations.",
		`INSERT INTO vpc (cidr_block) VALUES ('10.3.0.0/16')`},
	{"ec2", "CreateVpc", "10.4.0.0", 400, "ConcurrentTagAccess",
		"You can't run simultaneous commands to modify a tag for a specific resource.",
		`INSERT INTO vpc (cidr_block) VALUES ('10.4.0.0/16')`},
	// Another instance of the role is created at the same moment.
	{"iam", "CreateInstanceProfile", "shared", 409, "EntityAlreadyExists", "Instance Profile shared already exists.",
		server("shared")},
	{"iam", "AddRoleToInstanceProfile", "added", 409, "LimitExceeded",
		"Cannot exceed quota for InstanceSessionsPerInstanceProfile: 1", server("added")},
	{"elasticloadbalancing", "CreateLoadBalancer", "", 400, "InvalidSecurityGroup",
		"The specified security group does not exist.",
		`INSERT INTO load_balancer (load_balancer_name, scheme, subnets) SELECT 'inside', 'internal', array_agg(subnet_id) FROM subnet WHERE default_for_az`},
}

// ending are refusals that end with a person: at once, or when what is named can no longer
// be only late (finding B9). An image that nobody has made here just now is not late.
var ending = []struct {
	service, action, naming string
	code, message           string
	statement               string
	attempts                string // of the call
}{
	{"rds", "CreateDBInstance", "ungrouped", "InvalidDBSubnetGroupFault",
		"The DBSubnetGroup doesn't belong to the same VPC.", instanceOf("ungrouped"), "1"},
	{"ec2", "CreateSecurityGroup", "nowhere", "DefaultVpcDoesNotExist", "There is no default VPC for this account.",
		`INSERT INTO security_group (group_name, description) VALUES ('nowhere', 'x')`, "1"},
	{"ec2", "RunInstances", "ami-0123", "InvalidAMIID.NotFound", "The image id '[ami-0123]' does not exist",
		`INSERT INTO instance (ami, instance_type) VALUES ('ami-0123', 't3.micro')`, "1"},
	{"iam", "CreateRole", "deleted", "MalformedPolicyDocument",
		`Invalid principal in policy: "AWS":"AROA000000000EXAMPLE"`, role("deleted", `{"AWS": "AROA000000000EXAMPLE"}`),
		"9"},
}

// A refusal that heals is tried again until it has healed. One that does not ends with a
// person: at once, or after as many attempts as AWS's consistency may need.
func TestRetries(t *testing.T) {
	t.Parallel()
	var (
		rules    []likeness.Rule
		inserted []string
	)
	for _, c := range healing {
		rules = append(rules, &likeness.Refusals{Service: c.service, Action: c.action, Naming: c.naming,
			Status: c.status, Code: c.code, Message: c.message, Times: 2})
		inserted = append(inserted, c.statement)
	}
	for _, c := range ending {
		rules = append(rules, &likeness.Refusals{Service: c.service, Action: c.action, Naming: c.naming, Code: c.code,
			Message: c.message, Times: -1})
		inserted = append(inserted, c.statement)
	}
	w, _ := start(t, of(rules...), "aws_ec2", "aws_elb", "aws_rds", "aws_ecs_fargate", "aws_sns", "aws_iam")
	w.PSQL(append(append([]string{"BEGIN"}, inserted...), "COMMIT")...)
	w.Eventually(90*time.Second, "everything to have healed or ended", func() bool {
		hurry(w)
		return w.PSQL(`SELECT count(*) FROM iasql_status WHERE state <> 'Present' AND NOT review`) == "0"
	})
	if got := w.PSQL(`SELECT count(*) FROM iasql_status WHERE review`); got != fmt.Sprint(len(ending)) {
		t.Errorf("%s records wait for a person, want %d:\n%s", got, len(ending), w.PSQL(unsettled))
	}
	for _, c := range ending {
		query := fmt.Sprintf(`SELECT string_agg(DISTINCT s.state || ' ' || (SELECT count(*) FROM iasql_operations o WHERE o.table_name = s.table_name AND o.record_id = s.record_id AND o.action = '%s'), ', ')
			FROM iasql_status s WHERE s.review AND s.message LIKE '%%%s%%' AND s.message LIKE '%%%s%%'`, c.action,
			c.code, c.action)
		if got := w.PSQL(query); got != "CreatingFailed "+c.attempts {
			t.Errorf("%s of %s ended as %q, want CreatingFailed after %s attempts", c.code, c.action, got, c.attempts)
		}
	}
}

// hurry skips the pauses between attempts, which add up to minutes.
func hurry(w *harness.World) {
	w.Admin(`UPDATE iasql_internal.record_state SET next_attempt_at = now() WHERE NOT review AND next_attempt_at > now() + interval '1 second'`,
		`SELECT iasql_internal.enqueue('push', 'default')`,
		`SELECT pg_notify('iasql_river.river_insert', '{"queue": "iasql"}')`)
}

// A database takes one change after the other, and one of its storage when the one before
// has been optimized; an update that AWS refuses meanwhile is made when it can be.
func TestChangedDatabase(t *testing.T) {
	t.Parallel()
	w, l := start(t, func(endpoint string) []likeness.Rule {
		return []likeness.Rule{&likeness.DBInstances{Creating: time.Second, Modifying: 2 * time.Second,
			Optimizing: 4 * time.Second, Deleting: time.Second, Endpoint: endpoint}}
	}, "aws_rds")
	w.PSQL(database)
	w.Settled()
	w.PSQL(`UPDATE rds SET allocated_storage = 30`)
	w.Settled()
	w.PSQL(`UPDATE rds SET allocated_storage = 40, backup_retention_period = 3`)
	w.Eventually(40*time.Second, "the database to be changed twice", func() bool { return w.PSQL(unsettled) == "" })
	w.Settled()
	got := w.AWS.CLI(t, "rds", "describe-db-instances", "--query",
		"DBInstances[0].[AllocatedStorage, BackupRetentionPeriod]", "--output", "text")
	if strings.Join(strings.Fields(got), " ") != "40 3" {
		t.Errorf("the database has %s", got)
	}
	if refused := w.PSQL(`SELECT count(*) > 0 FROM iasql_operations WHERE action = 'ModifyDBInstance' AND result = 'failed'`); refused != "t" {
		t.Errorf("no change was refused: %v", l.Proxy.Counts())
	}
	if n := l.Proxy.Count("DeleteDBInstance"); n != 0 {
		t.Errorf("%d deletions", n)
	}
}
