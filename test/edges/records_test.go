package edges

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/rds"
	"github.com/jackc/pgx/v5"

	"iasql/internal/test/harness"
)

// network is what makes a VPC, its subnets and what stands in them in one statement each, in one transaction.
const network = `
INSERT INTO vpc (cidr_block, tags) VALUES ('10.7.0.0/16', '{"Name": "lists"}');
INSERT INTO subnet (vpc_id, cidr_block, availability_zone, tags)
SELECT v.id, z.cidr, z.zone, jsonb_build_object('Name', z.name)
FROM vpc v, (VALUES ('10.7.1.0/24'::cidr, 'us-east-1a', 'lists-a'), ('10.7.2.0/24', 'us-east-1b', 'lists-b'),
	('10.7.3.0/24', 'us-east-1c', 'lists-c')) z (cidr, zone, name)
WHERE v.tags ->> 'Name' = 'lists';
`

// lists are the records of the subnets of that network, as SQL.
const lists = `(SELECT array_agg(id ORDER BY tags ->> 'Name') FROM subnet WHERE tags ->> 'Name' LIKE 'lists-%')`

// A network and what stands in it are made in one transaction, since a list of names takes the records that have no
// name yet (R36); changes on either side show on the other; what is replaced is followed; and what is listed stays.
func TestLists(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, []string{"us-east-1"}, "aws_elb", "aws_rds")
	networks, balancers := ec2.NewFromConfig(w.AWS.Config("us-east-1")), elb.NewFromConfig(w.AWS.Config("us-east-1"))
	databases := rds.NewFromConfig(w.AWS.Config("us-east-1"))

	w.PSQL(`BEGIN;` + network + `
		INSERT INTO load_balancer (load_balancer_name, load_balancer_type, scheme, subnets_records)
		VALUES ('lists', 'application', 'internal', ` + lists + `);
		INSERT INTO db_subnet_group (name, description, subnets_records) VALUES ('lists', 'both', ` + lists + `);
		COMMIT`)
	w.Settled()
	ids := w.PSQL(`SELECT string_agg(subnet_id, ',' ORDER BY tags ->> 'Name') FROM subnet WHERE tags ->> 'Name' LIKE 'lists-%'`)
	made := strings.Split(ids, ",")
	if problems := w.PSQL(`SELECT string_agg(message, ' ') FROM iasql_problems`); problems != "" || len(made) != 3 {
		t.Fatalf("subnets %q, problems %q", ids, problems)
	}
	first, second, third := made[0], made[1], made[2]
	arn := w.PSQL(`SELECT load_balancer_arn FROM load_balancer WHERE load_balancer_name = 'lists'`)
	inCloud := func() string {
		t.Helper()
		out, err := balancers.DescribeLoadBalancers(w.Context(), &elb.DescribeLoadBalancersInput{LoadBalancerArns: []string{arn}})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, zone := range out.LoadBalancers[0].AvailabilityZones {
			names = append(names, *zone.SubnetId)
		}
		return strings.Join(names, ",")
	}
	same := func(when string, names ...string) {
		t.Helper()
		cloud := inCloud()
		for _, name := range names {
			if !strings.Contains(cloud, name) {
				t.Errorf("%s: the cloud has %q, not %s", when, cloud, name)
			}
		}
		if strings.Count(cloud, ",")+1 != len(names) {
			t.Errorf("%s: the cloud has %q, want %q", when, cloud, names)
		}
		// each record beside its own name
		if odd := w.PSQL(`SELECT concat_ws(' ', g.subnets, g.subnets_records) FROM load_balancer g WHERE load_balancer_name = 'lists' AND (
			cardinality(g.subnets) <> cardinality(g.subnets_records) OR cardinality(g.subnets) <> ` + strconv.Itoa(len(names)) + ` OR EXISTS (
			SELECT FROM unnest(g.subnets, g.subnets_records) e (name, record) LEFT JOIN subnet s ON s.id = e.record
			WHERE s.subnet_id IS DISTINCT FROM e.name))`); odd != "" {
			t.Errorf("%s: the row has %s", when, odd)
		}
		if problems := w.PSQL(`SELECT string_agg(message, ' ') FROM iasql_problems`); problems != "" {
			t.Errorf("%s: problems %q", when, problems)
		}
	}
	w.PSQL(`SELECT iasql_sync_now()`)
	same("made", first, second, third)
	for table, want := range map[string]string{"load_balancer": "3", "db_subnet_group": "3"} {
		if got := w.PSQL(`SELECT count(*) FROM ` + table + ` b JOIN subnet s ON s.id = ANY (b.subnets_records)`); got != want {
			t.Errorf("%s subnets of %s", got, table)
		}
	}
	groups, err := databases.DescribeDBSubnetGroups(w.Context(), &rds.DescribeDBSubnetGroupsInput{DBSubnetGroupName: awssdk.String("lists")})
	if err != nil || len(groups.DBSubnetGroups[0].Subnets) != 3 {
		t.Errorf("the group of subnets: %+v, %v", groups, err)
	}

	// By the name, by the record, and what somebody else does. (moto forgets a group of subnets that is modified, so
	// that this is done with the load balancer.)
	w.PSQL(`UPDATE load_balancer SET subnets = array_remove(subnets, '` + third + `')`)
	w.Settled()
	same("a name removed", first, second)
	w.PSQL(`UPDATE load_balancer SET subnets_records = subnets_records || (SELECT id FROM subnet WHERE subnet_id = '` + third + `')`)
	w.Settled()
	same("a record added", first, second, third)
	if _, err := balancers.SetSubnets(w.Context(), &elb.SetSubnetsInput{LoadBalancerArn: &arn, Subnets: []string{second, third}}); err != nil {
		t.Fatal(err)
	}
	w.PSQL(`SELECT iasql_sync_now()`)
	same("changed in the cloud", second, third)

	// What is new waits for what it names, beside what is there, in one statement with it.
	w.PSQL(`WITH one AS (INSERT INTO subnet (vpc_id, cidr_block, availability_zone, tags)
			SELECT id, '10.7.4.0/24', 'us-east-1d', '{"Name": "lists-d"}' FROM vpc WHERE tags ->> 'Name' = 'lists' RETURNING id)
		UPDATE load_balancer SET subnets_records = subnets_records || one.id FROM one`)
	w.Settled()
	w.PSQL(`SELECT iasql_sync_now()`)
	fourth := w.PSQL(`SELECT subnet_id FROM subnet WHERE tags ->> 'Name' = 'lists-d'`)
	same("with a new one", second, third, fourth)

	// A subnet that is replaced has another name, and the load balancer is told.
	w.PSQL(`UPDATE subnet SET cidr_block = '10.7.5.0/24' WHERE subnet_id = '` + fourth + `'`)
	w.Settled()
	w.PSQL(`SELECT iasql_sync_now()`)
	w.Settled()
	fifth := w.PSQL(`SELECT subnet_id FROM subnet WHERE tags ->> 'Name' = 'lists-d'`)
	if fifth == fourth {
		t.Fatalf("%s was not replaced", fourth)
	}
	same("replaced", second, third, fifth)
	there, err := networks.DescribeSubnets(w.Context(), &ec2.DescribeSubnetsInput{SubnetIds: []string{fourth}})
	if err == nil && len(there.Subnets) > 0 {
		t.Errorf("the old subnet %s is still there", fourth)
	}

	// What users write is checked, in words.
	for statement, want := range map[string]string{
		`UPDATE load_balancer SET subnets_records = '{999999}'`: `subnets_records names record 999999 of subnet, which there is not`,
		`UPDATE load_balancer SET subnets_records = subnets_records || NULL::bigint`: `NULL stands in it only for what ` +
			`subnets_records names by its record`,
		`UPDATE load_balancer SET subnets = subnets || NULL::text`: `NULL stands in it only for what subnets_records names ` +
			`by its record`,
		`UPDATE load_balancer SET subnets = '{a,b,c,d}', subnets_records = ` + lists: `subnets and subnets_records name ` +
			`different objects`,
		`DELETE FROM subnet WHERE subnet_id = '` + fifth + `'`:                                   `is still in subnets_records of record`,
		`UPDATE load_balancer SET subnets_records = '{}'`:                                        `subnets`,
		`INSERT INTO db_subnet_group (name, description, subnets_records) VALUES ('x','x','{}')`: `subnets`,
	} {
		if got := w.Refused(statement); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", statement, got, want)
		}
	}
	// Whoever names a record keeps others from deleting it, before he has committed.
	done := make(chan string)
	user, err := pgx.Connect(w.Context(), w.UserURL)
	if err != nil {
		t.Fatal(err)
	}
	defer user.Close(context.WithoutCancel(w.Context()))
	tx, err := user.Begin(w.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(w.Context(), `UPDATE load_balancer b SET subnets_records = b.subnets_records || s.id FROM subnet s WHERE s.subnet_id = $1`, first); err != nil {
		t.Fatal(err)
	}
	go func() {
		_, err := w.TryPSQL(w.UserURL, `DELETE FROM db_subnet_group; DELETE FROM subnet WHERE subnet_id = '`+first+`'`)
		done <- fmt.Sprint(err)
	}()
	w.Eventually(20*time.Second, "the deletion to wait", func() bool {
		return w.Admin(`SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%DELETE FROM subnet WHERE%'`) == "1"
	})
	if err := tx.Commit(w.Context()); err != nil {
		t.Fatal(err)
	}
	if said := <-done; !strings.Contains(said, "is still in subnets_records of record") {
		t.Errorf("the deletion of what was named meanwhile: %s", said)
	}
	w.PSQL(`UPDATE load_balancer SET subnets = array_remove(subnets, '` + first + `')`)
	w.Settled()
	w.PSQL(`UPDATE load_balancer SET subnets_records = subnets_records, subnets = subnets`)
	w.Settled()
	same("written as it was", second, third, fifth)

	// All of it goes in one transaction.
	w.PSQL(`BEGIN; DELETE FROM load_balancer; DELETE FROM db_subnet_group;
		DELETE FROM subnet WHERE tags ->> 'Name' LIKE 'lists-%'; DELETE FROM vpc WHERE tags ->> 'Name' = 'lists'; COMMIT`)
	w.Settled()
	if out, err := balancers.DescribeLoadBalancers(w.Context(), nil); err != nil || len(out.LoadBalancers) > 0 {
		t.Errorf("load balancers left: %v, %v", out, err)
	}
	if problems := w.PSQL(`SELECT string_agg(message, ' ') FROM iasql_problems`); problems != "" {
		t.Errorf("at the end: problems %q", problems)
	}
}
