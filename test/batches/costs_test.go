package batches

import (
	"compress/gzip"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"iasql/internal/test/harness"
)

// What is there, what a batch would change, what it has changed, a configuration and a tag have a price a month, as far as
// somebody has said one; what is not known is said, and why.
func TestCosts(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east)
	w.Install(east, "aws_ec2", "aws_sqs")
	w.Settled()
	prices := func(statements ...string) {
		t.Helper()
		w.Admin(append([]string{`SET ROLE iasql_engine`}, statements...)...)
	}
	is := func(want, query string) {
		t.Helper()
		if got := w.PSQL(query); got != want {
			t.Errorf("%s\n%q, want %q", query, got, want)
		}
	}
	s := user(w)
	s.declare("shop", `INSERT INTO general_purpose_volume (size, volume_type, availability_zone, iops, throughput, tags) VALUES
			(10, 'gp3', 'us-east-1a', 3000, 125, '{"Name": "small", "team": "a"}'), (100, 'gp3', 'us-east-1a', 4000, 225, '{"Name": "large", "team": "b"}'),
			(30, 'gp2', 'us-east-1a', NULL, NULL, '{"Name": "old", "team": "b"}')`,
		`INSERT INTO queue (name, tags) VALUES ('jobs', '{"team": "a"}')`)
	w.Settled()

	// Nothing is known before somebody has said something.
	is("4", `SELECT records - unknown + unknown FROM iasql_configuration_costs WHERE configuration = 'shop' AND monthly IS NULL AND unknown = 4`)
	is("queue has no prices", `SELECT unknown FROM iasql_costs WHERE table_name = 'queue'`)

	prices(`INSERT INTO iasql_prices (table_name, component, match, region, monthly, per, included) VALUES
		('general_purpose_volume', '', '{"volume_type": "gp3"}', NULL, 9, 'size', 0),
		('general_purpose_volume', '', '{"volume_type": "gp3"}', 'us-east-1', 0.08, 'size', 0),
		('general_purpose_volume', '', '{"volume_type": "gp3"}', 'eu-west-1', 7, 'size', 0),
		('general_purpose_volume', 'iops', '{"volume_type": "gp3"}', 'us-east-1', 0.005, 'iops', 3000),
		('general_purpose_volume', 'throughput', '{"volume_type": "gp3"}', 'us-east-1', 0.04, 'throughput', 125)`)
	is("large|17.000\nold|\nsmall|0.800", `SELECT v.tags ->> 'Name', round(c.monthly, 3) FROM iasql_costs c JOIN general_purpose_volume v ON v.id = c.record_id
		WHERE c.table_name = 'general_purpose_volume' ORDER BY 1`)
	if got := w.PSQL(`SELECT unknown FROM iasql_costs c JOIN general_purpose_volume v ON v.id = c.record_id AND c.table_name = 'general_purpose_volume' WHERE v.volume_type = 'gp2'`); !strings.Contains(got, "volume_type gp2") {
		t.Errorf("it is not said what has no price: %s", got)
	}
	// A bill says what the queue has cost, and nothing of what it is to be.
	prices(`INSERT INTO iasql_bills (table_name, record_id, monthly, source) SELECT 'queue', id, 2.5, 'October' FROM queue`)
	is("bill|2.5|USD", `SELECT basis, monthly, currency FROM iasql_costs WHERE table_name = 'queue'`)
	is("shop|20.300|USD|4|1", `SELECT configuration, round(monthly, 3), currency, records, unknown FROM iasql_configuration_costs`)
	is("a|3.300|2|0\nb|17.000|2|1", `SELECT value, round(monthly, 3), records, unknown FROM iasql_tag_costs WHERE key = 'team' ORDER BY 1`)

	// A preview: what comes, goes and changes.
	s.do(`CALL iasql_begin('grow')`, `INSERT INTO general_purpose_volume (size, volume_type, availability_zone, tags) VALUES (50, 'gp3', 'us-east-1a', '{"Name": "new"}')`,
		`UPDATE general_purpose_volume SET size = 200 WHERE tags ->> 'Name' = 'large'`, `UPDATE queue SET delay_seconds = 5`,
		`DELETE FROM general_purpose_volume WHERE tags ->> 'Name' = 'small'`)
	const costs = `SELECT string_agg(concat_ws(' ', action, table_name, round(before, 3), '>', round(after, 3), '=', coalesce(round(difference, 3)::text, unknown)), E'\n' ORDER BY action, table_name) FROM iasql_preview_costs()`
	if got, want := s.get(costs), strings.Join([]string{
		"create general_purpose_volume 0.000 > 4.000 = 4.000",
		"delete general_purpose_volume 0.800 > 0.000 = -0.800",
		"update general_purpose_volume 17.000 > 25.000 = 8.000",
		"update queue 2.500 > = queue has no prices"}, "\n"); got != want {
		t.Errorf("the preview costs\n%s\nwant\n%s", got, want)
	}
	is("11.200|1", `SELECT round(sum(difference), 3), count(*) FILTER (WHERE difference IS NULL) FROM iasql_batch_costs((SELECT id FROM iasql_batches WHERE name = 'grow'))`)
	s.do(`CALL iasql_commit()`)
	w.Settled()
	is("11.200|1", `SELECT round(sum(difference), 3), count(*) FILTER (WHERE difference IS NULL) FROM iasql_batch_costs((SELECT id FROM iasql_batches WHERE name = 'grow'))`)

	// What is nothing by itself is said to be.
	prices(`INSERT INTO iasql_prices (table_name, monthly) VALUES ('queue', 0)`)
	is("0|prices", `SELECT monthly, basis FROM iasql_costs WHERE table_name = 'queue'`)
	is("0.100", `SELECT round(iasql_monthly('general_purpose_volume', '{"volume_type": "gp3", "size": 1.25, "region": "us-east-1", "iops": 1, "throughput": 125}'), 3)`)

	is("", `SELECT iasql_monthly('general_purpose_volume', '{"volume_type": "gp3", "region": "us-east-1", "throughput": 125}')`)

	// A budget.
	prices(`ALTER TABLE general_purpose_volume ADD CONSTRAINT at_most_30_a_month CHECK (iasql_monthly('general_purpose_volume', to_jsonb(general_purpose_volume)) <= 30)`)
	s.refused("23514", []string{"at_most_30_a_month"}, `UPDATE general_purpose_volume SET size = 400 WHERE tags ->> 'Name' = 'large'`)

	for statement, want := range map[string]string{
		`INSERT INTO iasql_prices (table_name, monthly) VALUES ('nothing', 1)`:                                   "IA006",
		`INSERT INTO iasql_prices (table_name, match, monthly) VALUES ('queue', '{"colour": "red"}', 1)`:         "IA006",
		`INSERT INTO iasql_prices (table_name, match, monthly) VALUES ('queue', '{"delay_seconds": "many"}', 1)`: "IA055",
		`INSERT INTO iasql_prices (table_name, per, monthly) VALUES ('queue', 'name', 1)`:                        "IA055",
		`INSERT INTO iasql_prices (table_name, component, monthly, currency) VALUES ('queue', 'x', 1, 'EUR')`:    "IA055",
		`INSERT INTO iasql_prices (table_name, monthly) VALUES ('queue', 1)`:                                     "23505",
		`INSERT INTO iasql_prices (table_name, component, monthly) VALUES ('queue', 'y', 'NaN')`:                 "23514",
		`UPDATE iasql_bills SET currency = 'EUR'`:                                                                "IA055",
		`INSERT INTO iasql_prices (table_name, component, match, monthly) VALUES ('queue', 'z', '["a"]', 1)`:     "23514",
	} {
		if got := adminRefused(w, statement); got != want {
			t.Errorf("%s: %s, want %s", statement, got, want)
		}
	}
	// As text or as number, it is the same value. A component that has a price for some records has to have one for all.
	prices(`INSERT INTO iasql_prices (table_name, component, match, monthly) VALUES ('queue', 'late', '{"delay_seconds": "5"}', 3)`)
	is("3", `SELECT monthly FROM iasql_costs WHERE table_name = 'queue'`)
	prices(`UPDATE iasql_prices SET match = '{"delay_seconds": 6}' WHERE component = 'late'`, `DELETE FROM iasql_bills`)
	is("|there is no price of late of queue with region us-east-1, delay_seconds 5", `SELECT monthly, unknown FROM iasql_costs WHERE table_name = 'queue'`)
	prices(`INSERT INTO iasql_prices (table_name, component, monthly) VALUES ('queue', 'late', 0)`)
	is("0", `SELECT monthly FROM iasql_costs WHERE table_name = 'queue'`)
	if got := w.Refused(`INSERT INTO iasql_prices (table_name, component, monthly) VALUES ('queue', 'mine', 1)`); !strings.Contains(got, "42501") {
		t.Errorf("anybody writes prices: %s", got)
	}

	// Who may not see the columns that prices depend on is told no price, and whose rows are hidden no row.
	w.Admin(`SET ROLE iasql_engine`, `ALTER TABLE general_purpose_volume ENABLE ROW LEVEL SECURITY`,
		`CREATE POLICY mine ON general_purpose_volume TO PUBLIC USING (tags ->> 'team' = 'a')`)
	is("0", `SELECT count(*) FROM iasql_costs WHERE table_name = 'general_purpose_volume'`)
}

// adminRefused returns the code of the error that a statement of an administrator ends in.
func adminRefused(w *harness.World, statement string) string {
	w.Helper()
	s := connect(w, w.AdminURL)
	defer s.conn.Close(w.Context())
	if err := s.try(`SET ROLE iasql_engine`); err != nil {
		w.Fatal(err)
	}
	said := spelled(s.try(statement))
	code, _, _ := strings.Cut(said, ":")
	return code
}

// offer is a price list of volumes in the documented form.
func offer(gp3, gp2 string) string {
	return `{"formatVersion": "v1.0", "offerCode": "AmazonEC2", "publicationDate": "2026-11-01T00:00:00Z", "products": {
		"A": {"sku": "A", "productFamily": "Storage", "attributes": {"locationType": "AWS Region", "regionCode": "us-east-1", "volumeApiName": "gp3", "usagetype": "EBS:VolumeUsage.gp3"}},
		"B": {"sku": "B", "productFamily": "System Operation", "attributes": {"locationType": "AWS Region", "regionCode": "us-east-1", "volumeApiName": "gp3", "group": "EBS IOPS", "usagetype": "EBS:VolumeP-IOPS.gp3"}},
		"C": {"sku": "C", "productFamily": "Provisioned Throughput", "attributes": {"locationType": "AWS Region", "regionCode": "us-east-1", "volumeApiName": "gp3", "group": "EBS Throughput", "usagetype": "EBS:VolumeP-Throughput.gp3"}},
		"D": {"sku": "D", "productFamily": "Storage", "attributes": {"locationType": "AWS Region", "regionCode": "us-east-1", "volumeApiName": "gp2", "usagetype": "EBS:VolumeUsage.gp2"}},
		"E": {"sku": "E", "productFamily": "NAT Gateway", "attributes": {"locationType": "AWS Region", "regionCode": "us-east-1", "operation": "NatGateway", "usagetype": "NatGateway-Hours"}}
	}, "terms": {"OnDemand": {` + strings.Join([]string{term("A", "GB-Mo", gp3), term("B", "IOPS-Mo", "0.005"), term("C", "GiBps-mo", "40.96"), term("D", "GB-Mo", gp2), term("E", "Hrs", "0.045")}, ",") + `}}}`
}

func term(sku, unit, price string) string {
	return fmt.Sprintf(`%[1]q: {"%[2]s.JRTCKXETXF": {"priceDimensions": {"%[2]s.JRTCKXETXF.6YS6EN2CT7": {"unit": %[3]q, "pricePerUnit": {"USD": %[4]q}}}}}`, sku, sku, unit, price)
}

// A price list is imported and imported anew; what somebody has written stays; a bill says what things have cost.
func TestImportPrices(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east)
	w.Install(east, "aws_ec2", "aws_sqs", "aws_s3")
	w.PSQL(`INSERT INTO general_purpose_volume (size, volume_type, availability_zone) VALUES (100, 'gp3', 'us-east-1a'), (10, 'gp2', 'us-east-1a')`,
		`INSERT INTO queue (name) VALUES ('jobs')`, `INSERT INTO bucket (name) VALUES ('costs-of-files')`)
	w.Settled()
	finance := w.Login("finance", "iasql_user")
	login, err := url.Parse(finance)
	if err != nil {
		t.Fatal(err)
	}
	w.Admin(`GRANT INSERT, UPDATE, DELETE ON iasql_prices, iasql_bills TO ` + login.User.Username())
	imports := func(want int, says string, args ...string) {
		t.Helper()
		out, problem, code := command(t, w, append([]string{"import-prices", "--database-url", finance}, args...)...)
		if code != want || !strings.Contains(out+problem, says) {
			t.Errorf("import-prices %v: %d, %s%s; want %d, %s", args, code, out, problem, want, says)
		}
	}
	file := func(name, text string) string {
		t.Helper()
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const costs = `SELECT v.volume_type, round(c.monthly, 2), c.basis FROM iasql_costs c JOIN general_purpose_volume v ON v.id = c.record_id WHERE c.table_name = 'general_purpose_volume' ORDER BY 1`
	is := func(want, query string) {
		t.Helper()
		if got := w.PSQL(query); got != want {
			t.Errorf("%s\n%q, want %q", query, got, want)
		}
	}
	imports(0, "12 prices of 5 products", file("ec2.json", offer("0.08", "0.1")))
	is("gp2|1.00|prices\ngp3|8.00|prices", costs)
	// Anew, compressed: it takes the place of the old one. What somebody has written stays.
	w.Admin(`SET ROLE iasql_engine`, `UPDATE iasql_prices SET monthly = 0.5, source = NULL WHERE match = '{"volume_type": "gp2"}' AND component = ''`)
	packed := filepath.Join(t.TempDir(), "ec2.json.gz")
	out, err := os.Create(packed)
	if err != nil {
		t.Fatal(err)
	}
	zip := gzip.NewWriter(out)
	_, _ = zip.Write([]byte(offer("0.09", "0.1")))
	_, _ = zip.Close(), out.Close()
	imports(0, "1 are somebody's own, and stay", packed)
	is("gp2|5.00|prices\ngp3|9.00|prices", costs)
	is("11", `SELECT count(*) FROM iasql_prices WHERE source IS NOT NULL`)

	volume := w.PSQL(`SELECT volume_id FROM general_purpose_volume WHERE volume_type = 'gp3'`)
	queue := w.PSQL(`SELECT arn FROM queue`)
	bill := "BilledCost,EffectiveCost,BillingCurrency,BillingPeriodStart,BillingPeriodEnd,ChargePeriodEnd,ResourceId\n"
	for _, c := range []struct{ cost, resource string }{{"7.1", volume}, {"0.3", queue}, {"0.4", queue}, {"12.5", "costs-of-files"}, {"3", "i-gone"}, {"40", ""}} {
		bill += fmt.Sprintf("0,%s,USD,2026-10-01T00:00:00Z,2026-11-01T00:00:00Z,2026-11-01T00:00:00Z,%s\n", c.cost, c.resource)
	}
	imports(0, "3 records of 4 resources\n  40.00 is of no resource\n  i-gone (3.00): no record is called so", file("october.csv", bill))
	is("bucket|12.50|bill\nqueue|0.70|bill", `SELECT table_name, round(monthly, 2), basis FROM iasql_costs WHERE table_name IN ('bucket', 'queue') ORDER BY 1`)
	is("gp2|5.00|prices\ngp3|9.00|prices", costs) // a price says more of what is now

	// Nothing is written of what cannot be read, and nothing by who may not.
	imports(1, "no price list of AWS", file("x.json", `{"a": 1}`))
	imports(1, "no column EffectiveCost", file("x.csv", "a,b\n"))
	imports(1, "do not add up", file("eur.csv", strings.ReplaceAll(bill, "USD", "EUR")))
	imports(1, "no such file", "/nowhere")
	is("3", `SELECT count(*) FROM iasql_bills`)
	if _, problem, code := command(t, w, "import-prices", packed); code != 1 || !strings.Contains(problem, "42501") {
		t.Errorf("anybody imports prices: %d, %s", code, problem)
	}

	// What is not installed any more keeps its price, which can be changed.
	w.Admin(`SET ROLE iasql_engine`, `INSERT INTO iasql_prices (table_name, monthly) VALUES ('bucket', 1)`)
	w.PSQL(`SELECT iasql_uninstall('aws_s3')`)
	w.Admin(`SET ROLE iasql_engine`, `UPDATE iasql_prices SET monthly = 2, columns = '{x}' WHERE table_name = 'bucket'`)
	is("2|{}", `SELECT monthly, columns FROM iasql_prices WHERE table_name = 'bucket'`)

	// A plan says what it costs.
	folder := file("shop.sql", `INSERT INTO general_purpose_volume (size, volume_type, availability_zone, tags) VALUES (200, 'gp3', 'us-east-1a', '{"Name": "data"}'); INSERT INTO queue (name) VALUES ('more');`)
	if plan, problem, code := command(t, w, "apply", "shop", folder, "--preview"); code != 0 || !strings.Contains(plan, "+18.00 USD a month, and what is not known of 1 of the changes") {
		t.Errorf("the plan is %d\n%s%s", code, plan, problem)
	}
}
