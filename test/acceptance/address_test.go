package acceptance

import (
	"testing"
	"time"

	"iasql/internal/test/harness"
)

// An address follows its instance, also when another one takes the instance's place, and moves by one column. ENFORCE
// moves it back. What a NAT gateway has is never an association of a user's.
func TestAddressOfInstance(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, []string{"us-east-1"}, "aws_ec2")
	w.PSQL(`BEGIN`, `INSERT INTO elastic_ip (tags) VALUES ('{"Name": "web"}'), ('{"Name": "nat"}')`,
		`INSERT INTO instance (ami, instance_type, tags) SELECT 'ami-12c6146b', 't3.micro', jsonb_build_object('Name', name) FROM unnest('{web,other,third}'::text[]) name`,
		`INSERT INTO elastic_ip_association (elastic_ip_id, instance_id) SELECT e.id, i.id FROM elastic_ip e, instance i
			WHERE e.tags ->> 'Name' = 'web' AND i.tags ->> 'Name' = 'web'`,
		`INSERT INTO nat_gateway (subnet_id, elastic_ip_id) SELECT s.id, e.id FROM subnet s, elastic_ip e
			WHERE s.default_for_az AND s.availability_zone = 'us-east-1a' AND e.tags ->> 'Name' = 'nat'`,
		`COMMIT`)
	w.Settled()
	address := w.PSQL(`SELECT allocation_id FROM elastic_ip WHERE tags ->> 'Name' = 'web'`)
	of := func() string {
		t.Helper()
		list := w.CLI("ec2", "describe-addresses", "--allocation-ids", address)["Addresses"].([]any)
		id, _ := list[0].(map[string]any)["InstanceId"].(string)
		return id
	}
	is := func(what, name string) {
		t.Helper()
		if got, want := of(), w.PSQL(`SELECT instance_id FROM instance WHERE tags ->> 'Name' = '`+name+`'`); got != want {
			t.Errorf("%s: the address is of %q, want %q", what, got, want)
		}
	}
	is("inserted", "web")
	first := of()

	w.PSQL(`UPDATE instance SET ami = 'ami-785db401' WHERE tags ->> 'Name' = 'web'`)
	w.Settled()
	if of() == first {
		t.Errorf("the address is still of %s, which another has replaced", first)
	}
	is("replaced", "web")

	w.PSQL(`UPDATE elastic_ip_association SET instance_id = (SELECT id FROM instance WHERE tags ->> 'Name' = 'other')`)
	w.Settled()
	is("moved", "other")

	w.PSQL(`INSERT INTO iasql_mode (table_name, mode) VALUES ('elastic_ip_association', 'ENFORCE')`)
	w.PSQL(`UPDATE elastic_ip_association SET instance_id = (SELECT id FROM instance WHERE tags ->> 'Name' = 'web')`)
	w.Settled()
	is("moved under ENFORCE", "web")
	w.CLI("ec2", "associate-address", "--allocation-id", address, "--allow-reassociation", "--instance-id",
		w.PSQL(`SELECT instance_id FROM instance WHERE tags ->> 'Name' = 'third'`))
	w.PSQL(`SELECT iasql_sync_now()`)
	w.Eventually(time.Minute, "the address is back", func() bool {
		return of() == w.PSQL(`SELECT instance_id FROM instance WHERE tags ->> 'Name' = 'web'`)
	})
	w.Settled()

	if got := w.PSQL(`SELECT string_agg(e.tags ->> 'Name', ',') FROM elastic_ip_association a JOIN elastic_ip e ON e.id = a.elastic_ip_id`); got != "web" {
		t.Errorf("associations of %s, want that of web alone", got)
	}
	nat := w.CLI("ec2", "describe-addresses", "--filters", "Name=tag:Name,Values=nat")["Addresses"].([]any)
	if nat[0].(map[string]any)["AssociationId"] == nil {
		t.Error("the NAT gateway has lost its address")
	}
}
