package pricelist

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// sold is a product and what it costs, as an offer file has both.
type sold struct {
	family     string
	attributes map[string]string
	unit       string
	prices     []string // of its tiers
}

func attributes(pairs ...string) map[string]string {
	a := map[string]string{"locationType": "AWS Region", "regionCode": "us-east-1"}
	for i := 0; i < len(pairs); i += 2 {
		a[pairs[i]] = pairs[i+1]
	}
	return a
}

// terms returns how a product is sold on demand.
func (s sold) terms(sku string) map[string]any {
	dimensions := map[string]any{}
	for i, price := range s.prices {
		dimensions[fmt.Sprintf("%s.JRTCKXETXF.%d", sku, i)] = map[string]any{"unit": s.unit, "beginRange": "0", "endRange": "Inf",
			"description": "x", "appliesTo": []string{}, "pricePerUnit": map[string]string{"USD": price}}
	}
	return map[string]any{sku + ".JRTCKXETXF": map[string]any{"offerTermCode": "JRTCKXETXF", "sku": sku,
		"effectiveDate": "2026-11-01T00:00:00Z", "priceDimensions": dimensions, "termAttributes": map[string]string{}}}
}

// offerFile returns them as an offer file.
func offerFile(offer string, products ...sold) string {
	all, terms, reserved := map[string]any{}, map[string]any{}, map[string]any{}
	for i, s := range products {
		sku := fmt.Sprintf("SKU%d", i)
		all[sku] = map[string]any{"sku": sku, "productFamily": s.family, "attributes": s.attributes}
		terms[sku] = s.terms(sku)
		reserved[sku] = sold{unit: "Quantity", prices: []string{"99"}}.terms(sku)
	}
	text, _ := json.Marshal(all)
	sales, _ := json.Marshal(map[string]any{"OnDemand": terms, "Reserved": reserved})
	return fmt.Sprintf(`{"formatVersion":"v1.0","disclaimer":"x","offerCode":%q,"version":"20261101","publicationDate":"2026-11-01T00:00:00Z",
		"products":%s,"terms":%s,"attributesList":{"a":[1,{"b":null}]}}`, offer, text, sales)
}

// said returns the prices in a line each.
func said(l *List) string {
	var lines []string
	for _, p := range l.Prices {
		var match []string
		for _, column := range slices.Sorted(maps.Keys(p.Match)) {
			value := "NULL"
			if p.Match[column] != nil {
				value = *p.Match[column]
			}
			match = append(match, column+" "+value)
		}
		line := fmt.Sprintf("%s/%s %s: %s", p.Table, p.Component, strings.Join(match, ", "), p.Monthly)
		if p.Per != nil {
			line += " per " + *p.Per + " over " + p.Included
		}
		if p.Region != nil {
			line += " in " + *p.Region
		}
		if p.Region != nil || p.Monthly != "0" {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

var computes = []sold{
	{"Compute Instance", attributes("instanceType", "t3.micro", "operation", "RunInstances", "tenancy", "Shared", "capacitystatus", "Used", "marketoption", "OnDemand"), "Hrs", []string{"0.0104000000"}},
	{"Compute Instance", attributes("instanceType", "t3.micro", "operation", "RunInstances:0002", "tenancy", "Dedicated", "capacitystatus", "Used", "marketoption", "OnDemand"), "Hrs", []string{"0.02"}},
	// What is no instance that runs, or is paid in another way.
	{"Compute Instance", attributes("instanceType", "t3.micro", "operation", "RunInstances", "tenancy", "Shared", "capacitystatus", "UnusedCapacityReservation", "marketoption", "OnDemand"), "Hrs", []string{"0.5"}},
	{"Compute Instance", attributes("instanceType", "t3.micro", "operation", "RunInstances", "tenancy", "Host", "capacitystatus", "Used", "marketoption", "OnDemand"), "Hrs", []string{"0"}},
	{"Compute Instance", attributes("instanceType", "t3.micro", "operation", "RunInstances", "tenancy", "Shared", "capacitystatus", "Used", "marketoption", "OnDemand", "locationType", "AWS Local Zone"), "Hrs", []string{"0.9"}},
	{"Storage", attributes("volumeApiName", "gp3", "volumeType", "General Purpose", "usagetype", "EBS:VolumeUsage.gp3"), "GB-Mo", []string{"0.0800000000"}},
	{"Storage", attributes("volumeApiName", "gp2", "volumeType", "General Purpose", "usagetype", "EUW2-EBS:VolumeUsage.gp2", "regionCode", "eu-west-2"), "GB-Mo", []string{"0.116"}},
	{"System Operation", attributes("volumeApiName", "gp3", "group", "EBS IOPS", "usagetype", "EBS:VolumeP-IOPS.gp3"), "IOPS-Mo", []string{"0.005"}},
	{"Provisioned Throughput", attributes("volumeApiName", "gp3", "group", "EBS Throughput", "usagetype", "EBS:VolumeP-Throughput.gp3"), "GiBps-mo", []string{"40.96"}},
	{"NAT Gateway", attributes("operation", "NatGateway", "usagetype", "USE1-NatGateway-Hours"), "Hrs", []string{"0.045"}},
	{"NAT Gateway", attributes("operation", "NatGateway", "usagetype", "USE1-RegionalNatGateway-Hours"), "Hrs", []string{"0.046"}},
}

const computed = `general_purpose_volume/ volume_type gp2: 0.116 per size over 0 in eu-west-2
general_purpose_volume/ volume_type gp3: 0.08 per size over 0 in us-east-1
general_purpose_volume/iops volume_type gp3: 0.005 per iops over 3000 in us-east-1
general_purpose_volume/throughput volume_type gp3: 0.04 per throughput over 125 in us-east-1
instance/ instance_lifecycle NULL, instance_type t3.micro, state running, tenancy dedicated, usage_operation RunInstances:0002: 14.6 in us-east-1
instance/ instance_lifecycle NULL, instance_type t3.micro, state running, tenancy default, usage_operation RunInstances: 7.592 in us-east-1
nat_gateway/ availability_mode NULL: 32.85 in us-east-1
nat_gateway/ availability_mode zonal: 32.85 in us-east-1`

// An offer file, as the guide "Reading an offer file" describes it.
func TestOfferFile(t *testing.T) {
	list, err := Read(strings.NewReader(offerFile("AmazonEC2", computes...)))
	if err != nil {
		t.Fatal(err)
	}
	if got := said(list); got != computed {
		t.Errorf("the prices are\n%s\nwant\n%s", got, computed)
	}
	if list.Currency != "USD" || list.Products != len(computes) || strings.Join(list.Regions, " ") != "eu-west-2 us-east-1" || len(list.Left) != 0 {
		t.Errorf("%+v", list)
	}
	before := len(list.Prices)
	list.AssumeLinux()
	if got := len(list.Prices) - before; got != 2 {
		t.Errorf("%d prices of instances that are not there yet, want 2: a tenancy that is open and one that is not", got)
	}
}

// GetProducts answers with the same, each product as text.
func TestGetProducts(t *testing.T) {
	var products []string
	for i, s := range computes {
		sku := fmt.Sprintf("SKU%d", i)
		text, _ := json.Marshal(map[string]any{"product": map[string]any{"sku": sku, "productFamily": s.family, "attributes": s.attributes},
			"serviceCode": "AmazonEC2", "publicationDate": "2026-11-01T00:00:00Z", "terms": map[string]any{"OnDemand": s.terms(sku)}})
		products = append(products, string(text))
	}
	answer, _ := json.Marshal(map[string]any{"FormatVersion": "aws_v1", "PriceList": products})
	list, err := Read(strings.NewReader(string(answer)))
	if err != nil {
		t.Fatal(err)
	}
	if got := said(list); got != computed {
		t.Errorf("the prices are\n%s\nwant\n%s", got, computed)
	}
}

// What a list does not say for certain has no price, and it is said why.
func TestWhatIsLeft(t *testing.T) {
	key := func(prices ...string) sold {
		return sold{"Encryption Key", attributes("usagetype", "us-east-1-KMS-Keys"), "Keys", prices}
	}
	for name, c := range map[string]struct {
		products []sold
		left     string
	}{
		"two prices": {[]sold{key("1"), key("1.5")}, "several prices"},
		"tiers":      {[]sold{key("0", "1")}, "depends on how much"},
		"a unit":     {[]sold{{"Encryption Key", attributes("usagetype", "us-east-1-KMS-Keys"), "Dozens", []string{"1"}}}, "sold by Dozens"},
	} {
		list, err := Read(strings.NewReader(offerFile("awskms", c.products...)))
		if err != nil {
			t.Fatal(err)
		}
		if len(list.Prices) != 0 || len(list.Left) != 1 || !strings.Contains(list.Left[0], c.left) {
			t.Errorf("%s: %v, left %q", name, list.Prices, list.Left)
		}
	}
	if list, err := Read(strings.NewReader(offerFile("awskms", key("1"), key("1.0")))); err != nil || len(list.Prices) != 1 {
		t.Errorf("the same price twice: %+v, %v", list, err)
	}
}

// The prices of RDS: a translated engine, a standby that was left open, one that is stopped.
func TestDatabases(t *testing.T) {
	list, err := Read(strings.NewReader(offerFile("AmazonRDS",
		sold{"Database Instance", attributes("instanceType", "db.t4g.micro", "databaseEngine", "PostgreSQL", "deploymentOption", "Single-AZ", "usagetype", "InstanceUsage:db.t4g.micro"), "Hrs", []string{"0.016"}},
		sold{"Database Instance", attributes("instanceType", "db.t4g.micro", "databaseEngine", "Oracle", "deploymentOption", "Single-AZ", "usagetype", "InstanceUsage:db.t4g.micro"), "Hrs", []string{"9"}},
		sold{"Database Instance", attributes("instanceType", "db.t4g.micro", "databaseEngine", "PostgreSQL", "deploymentOption", "Single-AZ", "usagetype", "InstanceUsage:db.t4g.micro", "deploymentModel", "Custom"), "Hrs", []string{"8"}},
		sold{"Database Storage", attributes("volumeType", "General Purpose-GP3", "databaseEngine", "Any", "deploymentOption", "Multi-AZ", "usagetype", "EU-RDS:Multi-AZ-GP3-Storage"), "GB-Mo", []string{"0.23"}})))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := said(list), `rds/ db_instance_class db.t4g.micro, db_instance_status stopped, engine postgres, multi_az NULL: 0 in us-east-1
rds/ db_instance_class db.t4g.micro, db_instance_status stopped, engine postgres, multi_az false: 0 in us-east-1
rds/ db_instance_class db.t4g.micro, engine postgres, multi_az NULL: 11.68 in us-east-1
rds/ db_instance_class db.t4g.micro, engine postgres, multi_az false: 11.68 in us-east-1
rds/storage multi_az true, storage_type gp3: 0.23 per allocated_storage over 0 in us-east-1`; got != want {
		t.Errorf("the prices are\n%s\nwant\n%s", got, want)
	}
}

// A region's prefix is one, and nothing else is.
func TestUsageTypes(t *testing.T) {
	is := pattern("[P]LoadBalancerUsage")
	for usage, want := range map[string]bool{"LoadBalancerUsage": true, "EU-LoadBalancerUsage": true, "USE1-LoadBalancerUsage": true,
		"EUC1-LoadBalancerUsage": true, "APS3-LoadBalancerUsage": true, "TS-LoadBalancerUsage": false, "CAN1-TS-LoadBalancerUsage": false,
		"Outposts-LoadBalancerUsage": false, "LoadBalancerUsageX": false} {
		if is.MatchString(usage) != want {
			t.Errorf("%s: %t", usage, !want)
		}
	}
}

func TestNoList(t *testing.T) {
	for _, text := range []string{"", "[]", "x", "{", `{"a": 1}`, `{"offerCode": "AmazonEC2", "terms": {}}`,
		`{"offerCode": "AmazonFooBar", "products": {}}`, `{"offerCode": 1}`, `{"offerCode":"awskms","products":{"a":3}}`,
		`{"PriceList": [{}]}`, `{"PriceList": ["{}"]}`, `{"offerCode":"awskms","products":[]}`} {
		if list, err := Read(strings.NewReader(text)); err == nil {
			t.Errorf("%s: %+v", text, list)
		}
	}
}

// Every line of rules.csv can be met.
func TestRulesAreWhole(t *testing.T) {
	rows, err := csv.NewReader(strings.NewReader(source)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for offer, of := range rules() {
		for _, r := range of {
			n++
			if offer == "" || r.table == "" || r.constant() != (r.factor.Sign() == 0 && len(r.families) == 0 && len(r.filters) == 0) {
				t.Errorf("%+v", r)
			}
			for _, c := range r.columns {
				if c.name == "" || c.attribute == "" && len(c.values) == 0 || r.constant() && c.attribute != "" {
					t.Errorf("%s %s: %+v", offer, r.table, c)
				}
			}
		}
	}
	if n != len(rows)-1 {
		t.Errorf("%d rules of %d lines", n, len(rows)-1)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(offerFile("AmazonEC2", computes...))
	f.Add(`{"PriceList": ["{\"product\":{\"sku\":\"a\"},\"serviceCode\":\"awskms\"}"]}`)
	f.Fuzz(func(t *testing.T, text string) {
		list, err := Read(strings.NewReader(text))
		if (list == nil) == (err == nil) {
			t.Errorf("%v, %v", list, err)
		}
	})
}
