package awsroute53

import (
	"context"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	route53types "github.com/aws/aws-sdk-go-v2/service/route53/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

const (
	// pageSize is the most results ListResourceRecordSets gives a page.
	pageSize = 300
	// mostSets is how many record sets may have one name and type (Route 53
	// Developer Guide, "Quotas": records with the same name and type).
	mostSets = 100
	// fewRecords is up to how many records of a zone are read one by one rather
	// than by a listing of all: Route 53 takes five calls a second.
	fewRecords = 8
)

// record is the table resource_record_set.
type record struct {
	clients     *aws.Clients
	description *modules.Table
}

func newRecord(c *aws.Clients) *record { return &record{clients: c, description: describeRecord()} }

// The types and ranges are those of the page ResourceRecordSet of the Route 53
// API Reference.
func describeRecord() *modules.Table {
	return &modules.Table{
		Name: "resource_record_set",
		Doc: "Records of DNS zones. IaSQL's table alias_target has become the columns alias_…, which can name any target and not load balancers alone. " +
			"The NS and SOA records that AWS makes with a zone (is_default) can be changed, and are deleted only with the zone.",
		Provider: aws.Provider,
		Reach:    modules.PerAccount,
		Creation: modules.ByName,
		Columns: aws.PerAccount(
			modules.Column{Name: "parent_hosted_zone_id", Type: modules.TypeBigint, Required: true, Identity: true, CreateOnly: true,
				References: &modules.Reference{Table: "hosted_zone", Key: "hosted_zone_id", Part: modules.PartFirst},
				Doc:        "The zone it is in."},
			modules.Column{Name: "name", Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true,
				Check: "length(name) BETWEEN 2 AND 1025",
				Doc:   "The full name it answers for, such as www.example.com or *.example.com. Kept in lower case and with a dot at the end."},
			modules.Column{Name: "record_type", Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true,
				Enum: enumOf(route53types.RRType("").Values()),
				Doc:  "The type of the record, such as A, AAAA, CNAME, MX or TXT."},
			modules.Column{Name: "set_identifier", Type: modules.TypeText, Required: true, Default: "''", Identity: true, CreateOnly: true,
				Check: "length(set_identifier) <= 128",
				Doc:   "What tells apart records of the same name and type, of which Route 53 picks one by weight, region, failover or at random; empty for all others."},
			modules.Column{Name: "record", Type: modules.TypeText, Equal: sameLines, Check: "record <> ''",
				Doc: "What is answered, in the notation of the type, one value a line, such as 192.0.2.1. NULL for aliases."},
			modules.Column{Name: "ttl", Type: modules.TypeInteger, Check: "ttl >= 0",
				Doc: "How many seconds the answer may be kept; NULL for aliases."},
			modules.Column{Name: "alias_dns_name", Type: modules.TypeText, Equal: sameName,
				Doc: "The name whose answer is given instead, such as a load balancer's dns_name: of an AWS resource, or of another record in the zone."},
			modules.Column{Name: "alias_hosted_zone_id", Type: modules.TypeText,
				Doc: "The id of the zone that alias_dns_name is in, such as a load balancer's canonical_hosted_zone_id; this zone's own for another of its records."},
			modules.Column{Name: "alias_evaluate_target_health", Type: modules.TypeBool, Chosen: true,
				Doc: "Whether the alias is answered only while its target is healthy; NULL for records that are no alias, and means false for an alias."},
			modules.Column{Name: "weight", Type: modules.TypeInteger, Check: "weight BETWEEN 0 AND 255",
				Doc: "How often it is picked, relative to the others with its name and type, from 0 to 255."},
			modules.Column{Name: "latency_region", Type: modules.TypeText,
				Doc: "The AWS region it is in: picked for who is near that."},
			modules.Column{Name: "failover", Type: modules.TypeText, Enum: []string{"PRIMARY", "SECONDARY"},
				Doc: "Whether it is picked while healthy (PRIMARY) or while the other is not (SECONDARY)."},
			modules.Column{Name: "multivalue_answer", Type: modules.TypeBool, Check: "multivalue_answer",
				Doc: "True: up to eight healthy ones are picked at random. NULL: not so."},
			modules.Column{Name: "health_check_id", Type: modules.TypeText,
				Doc: "The id of the health check that tells whether it is healthy."},
			modules.Column{Name: "is_default", Type: modules.TypeBool, Assigned: true,
				Doc: "Whether it is one of the two records, NS and SOA, that every zone has from the beginning."},
		),
		Checks: []string{
			"(record IS NULL) = (ttl IS NULL)",
			"(alias_dns_name IS NULL) = (alias_hosted_zone_id IS NULL)",
			"num_nonnulls(record, alias_dns_name) <= 1",
			"set_identifier <> '' OR num_nonnulls(weight, latency_region, failover, multivalue_answer) = 0",
		},
	}
}

func enumOf[S ~string](values []S) []string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = string(v)
	}
	return list
}

// sameLines reports whether two records have the same values, whose order means
// nothing.
func sameLines(a, b string) bool { return slices.Equal(sortedLines(a), sortedLines(b)) }

func sortedLines(text string) []string {
	list := lines(text)
	slices.Sort(list)
	return list
}

func lines(text string) []string {
	var list []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, line)
		}
	}
	return list
}

// Table returns the description.
func (r *record) Table() *modules.Table { return r.description }

// List gives every record of the account to page.
func (r *record) List(ctx context.Context, scope modules.Scope, page func([]modules.Row) error) error {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	return eachZone(ctx, client, func(zones []route53types.HostedZone) error {
		for _, z := range zones {
			err := aws.IfExists(eachSet(ctx, client, zoneID(z.Id), func(sets []route53types.ResourceRecordSet) error {
				rows := make([]modules.Row, len(sets))
				for i, set := range sets {
					rows[i] = recordRow(zoneID(z.Id), awssdk.ToString(z.Name), set)
				}
				return page(rows)
			}))
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func eachSet(ctx context.Context, client *route53.Client, zone string, page func([]route53types.ResourceRecordSet) error) error {
	return aws.Pages(ctx, route53.NewListResourceRecordSetsPaginator(client, &route53.ListResourceRecordSetsInput{
		HostedZoneId: &zone, MaxItems: awssdk.Int32(pageSize),
	}), func(out *route53.ListResourceRecordSetsOutput) error { return page(out.ResourceRecordSets) })
}

// Get reads these records, those of a zone together.
func (r *record) Get(ctx context.Context, scope modules.Scope, identities []modules.Row) ([]modules.Row, error) {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return nil, err
	}
	byZone := map[string][]modules.Row{}
	for _, identity := range identities {
		zone := identity["parent_hosted_zone_id"].String()
		byZone[zone] = append(byZone[zone], identity)
	}
	var all []modules.Row
	for zone, wanted := range byZone {
		rows, err := r.inZone(ctx, client, zone, wanted)
		if aws.IfExists(err) != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	return all, nil
}

func (r *record) inZone(ctx context.Context, client *route53.Client, zone string, wanted []modules.Row) ([]modules.Row, error) {
	out, err := client.GetHostedZone(ctx, &route53.GetHostedZoneInput{Id: &zone})
	if err != nil {
		return nil, err
	}
	domain := awssdk.ToString(out.HostedZone.Name)
	if len(wanted) <= fewRecords {
		return aws.Read(ctx, wanted, func(ctx context.Context, identity modules.Row) (modules.Row, error) {
			set, err := readSet(ctx, client, identity)
			if err != nil || set == nil {
				return nil, err
			}
			return recordRow(zone, domain, *set), nil
		})
	}
	keys := map[string]bool{}
	for _, identity := range wanted {
		key, _ := r.description.Key(identity)
		keys[key] = true
	}
	var rows []modules.Row
	err = eachSet(ctx, client, zone, func(sets []route53types.ResourceRecordSet) error {
		for _, set := range sets {
			row := recordRow(zone, domain, set)
			if key, _ := r.description.Key(row); keys[key] {
				rows = append(rows, row)
			}
		}
		return nil
	})
	return rows, err
}

// readSet reads one record set, nil if there is none: the listing begins at its
// name and type.
func readSet(ctx context.Context, client *route53.Client, identity modules.Row) (*route53types.ResourceRecordSet, error) {
	most := int32(1)
	if identity["set_identifier"].String() != "" {
		most = mostSets
	}
	out, err := client.ListResourceRecordSets(ctx, &route53.ListResourceRecordSetsInput{
		HostedZoneId:    identity["parent_hosted_zone_id"].Ptr(),
		StartRecordName: identity["name"].Ptr(),
		StartRecordType: route53types.RRType(identity["record_type"].String()),
		MaxItems:        &most,
	})
	if err != nil {
		return nil, err
	}
	for _, set := range out.ResourceRecordSets {
		if sameName(awssdk.ToString(set.Name), identity["name"].String()) && string(set.Type) == identity["record_type"].String() &&
			awssdk.ToString(set.SetIdentifier) == identity["set_identifier"].String() {
			return &set, nil
		}
	}
	return nil, nil
}

func recordRow(zone, domain string, set route53types.ResourceRecordSet) modules.Row {
	apex := sameName(awssdk.ToString(set.Name), domain)
	row := modules.Row{
		"parent_hosted_zone_id":        modules.Text(zone),
		"name":                         modules.Text(normalName(awssdk.ToString(set.Name))),
		"record_type":                  modules.NonEmpty(set.Type),
		"set_identifier":               modules.Text(awssdk.ToString(set.SetIdentifier)),
		"record":                       modules.Null,
		"ttl":                          modules.Null,
		"alias_dns_name":               modules.Null,
		"alias_hosted_zone_id":         modules.Null,
		"alias_evaluate_target_health": modules.Null,
		"weight":                       modules.IntPtr(set.Weight),
		"latency_region":               modules.NonEmpty(set.Region),
		"failover":                     modules.NonEmpty(set.Failover),
		"multivalue_answer":            modules.Null,
		"health_check_id":              modules.TextPtr(set.HealthCheckId),
		"is_default":                   modules.Bool(apex && (set.Type == route53types.RRTypeNs || set.Type == route53types.RRTypeSoa)),
	}
	if awssdk.ToBool(set.MultiValueAnswer) {
		row["multivalue_answer"] = modules.Bool(true)
	}
	var values []string
	for _, value := range set.ResourceRecords {
		values = append(values, awssdk.ToString(value.Value))
	}
	if len(values) > 0 { // an alias has none, and no TTL of its own
		row["record"], row["ttl"] = modules.Text(strings.Join(values, "\n")), modules.IntPtr(set.TTL)
	}
	if alias := set.AliasTarget; alias != nil {
		row["alias_dns_name"] = modules.TextPtr(alias.DNSName)
		row["alias_hosted_zone_id"] = modules.TextPtr(alias.HostedZoneId)
		row["alias_evaluate_target_health"] = modules.Bool(alias.EvaluateTargetHealth)
	}
	return row
}

func setOf(want modules.Row) route53types.ResourceRecordSet {
	set := route53types.ResourceRecordSet{
		Name:          want["name"].Ptr(),
		Type:          route53types.RRType(want["record_type"].String()),
		TTL:           int64Ptr(want["ttl"]),
		Weight:        int64Ptr(want["weight"]),
		Region:        route53types.ResourceRecordSetRegion(want["latency_region"].String()),
		Failover:      route53types.ResourceRecordSetFailover(want["failover"].String()),
		HealthCheckId: want["health_check_id"].Ptr(),
	}
	if id := want["set_identifier"].String(); id != "" {
		set.SetIdentifier = &id
	}
	if want["multivalue_answer"].Bool() {
		set.MultiValueAnswer = awssdk.Bool(true)
	}
	for _, value := range lines(want["record"].String()) {
		set.ResourceRecords = append(set.ResourceRecords, route53types.ResourceRecord{Value: &value})
	}
	if !want["alias_dns_name"].IsNull() {
		set.AliasTarget = &route53types.AliasTarget{
			DNSName: want["alias_dns_name"].Ptr(), HostedZoneId: want["alias_hosted_zone_id"].Ptr(),
			EvaluateTargetHealth: want["alias_evaluate_target_health"].Bool(),
		}
	}
	return set
}

func int64Ptr(v modules.Value) *int64 {
	if v.IsNull() {
		return nil
	}
	return awssdk.Int64(v.Int())
}

// Create creates a record set.
func (r *record) Create(ctx context.Context, scope modules.Scope, want modules.Row, _ string) (modules.Row, error) {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return nil, err
	}
	if err := change(ctx, client, want, route53types.ChangeActionCreate, setOf(want)); err != nil {
		return nil, err
	}
	identity := modules.Row{}
	for _, column := range r.description.Identity() {
		identity[column] = want[column]
	}
	return identity, nil
}

// Update replaces the record set by one that has what want says, and keeps what
// has no column.
func (r *record) Update(ctx context.Context, scope modules.Scope, have, want modules.Row, _ []string) error {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	set := setOf(want)
	if have["set_identifier"].String() != "" {
		was, err := readSet(ctx, client, have)
		if err != nil {
			return err
		}
		if was != nil {
			set.GeoLocation, set.GeoProximityLocation, set.CidrRoutingConfig = was.GeoLocation, was.GeoProximityLocation, was.CidrRoutingConfig
		}
	}
	return change(ctx, client, have, route53types.ChangeActionUpsert, set)
}

// Delete deletes a record set, of which Route 53 wants to be told all it has.
func (r *record) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	if err := aws.Keep(r.Protected(have)); err != nil {
		return err
	}
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	set, err := readSet(ctx, client, have)
	if err != nil || set == nil {
		return aws.IfExists(err)
	}
	return aws.IfExists(change(ctx, client, have, route53types.ChangeActionDelete, *set))
}

// change makes one change of a zone. What is wrong with a batch of changes
// Route 53 says in words, under one code.
func change(ctx context.Context, client *route53.Client, row modules.Row, action route53types.ChangeAction, set route53types.ResourceRecordSet) error {
	_, err := client.ChangeResourceRecordSets(ctx, &route53.ChangeResourceRecordSetsInput{
		HostedZoneId: row["parent_hosted_zone_id"].Ptr(),
		ChangeBatch:  &route53types.ChangeBatch{Changes: []route53types.Change{{Action: action, ResourceRecordSet: &set}}},
	})
	if aws.HasCode(err, "InvalidChangeBatch") {
		switch message := err.Error(); {
		case strings.Contains(message, "but it already exists"):
			return &modules.Error{Class: modules.Exists, Code: "InvalidChangeBatch", Message: message, Err: err}
		case strings.Contains(message, "but it was not found"):
			return &modules.Error{Class: modules.NotFound, Code: "InvalidChangeBatch", Message: message, Err: err}
		}
	}
	return err
}

// Protected keeps the two records that AWS made with the zone, without which it
// does not answer.
func (r *record) Protected(have modules.Row) string {
	if have["is_default"].Bool() {
		return "it is one of the two records that AWS made with the zone, which cannot be without them"
	}
	return ""
}
