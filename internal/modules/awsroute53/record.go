package awsroute53

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	route53types "github.com/aws/aws-sdk-go-v2/service/route53/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

const (
	// pageSize is the most results ListResourceRecordSets gives a page.
	pageSize = 300
	// mostSets is how many record sets may have one name and type (Route 53
	// Developer Guide, "Quotas": records with the same name and type).
	mostSets = 100
)

// record is a record set in its zone.
type record struct {
	ZoneID, Domain string
	route53types.ResourceRecordSet
}

// newRecord declares the table resource_record_set. The types and ranges are
// those of the page ResourceRecordSet of the Route 53 API Reference.
func newRecord(c *aws.Clients) *declare.Resource {
	of := func(kind modules.Type, name, member, doc string) declare.Column {
		return declare.Of(kind, name, member, doc).In("ChangeBatch.Changes[0].ResourceRecordSet." + member)
	}
	text := func(name, member, doc string) declare.Column { return of(modules.TypeText, name, member, doc) }
	place := func(name, member string, same func(a, b string) bool, doc string) declare.Column {
		return of(modules.TypeJSON, name, member, doc).Same(same).Since(4).
			Check("jsonb_typeof(" + name + ") = 'object'")
	}
	changes := newBatcher()
	change := func(action route53types.ChangeAction, options ...declare.Option) *declare.Op {
		return declare.Call((*route53.Client).ChangeResourceRecordSets,
			append(options, declare.Jointly(changes.change), declare.Failed(tell), declare.Edit(ownZone),
				declare.With(&route53.ChangeResourceRecordSetsInput{
					ChangeBatch: &route53types.ChangeBatch{Changes: []route53types.Change{{Action: action}}},
				}))...)
	}
	return declare.New(c, declare.Table[record]{
		Name: "resource_record_set",
		Doc: "Records of DNS zones. IaSQL's table alias_target has become the columns alias_…, which can name any " +
			"target and not load balancers alone. " +
			"The NS and SOA records that AWS makes with a zone (is_default) can be changed, and are deleted only " +
			"with the zone.",
		Service:    declare.Service(route53.NewFromConfig),
		PerAccount: true,
		Columns: []declare.Column{
			declare.Ref("parent_hosted_zone_id", "ZoneID", "hosted_zone", "hosted_zone_id", "The zone it is in.").
				In("HostedZoneId").Part(modules.PartContents, "").Required().Identity().CreateOnly(),
			text("name", "Name", "The full name it answers for, such as www.example.com or *.example.com. Kept in "+
				"lower case, with a dot at the end, and with escape codes, \\ooo, only where Route 53 wants them.").
				As(dnsName).Required().Identity().CreateOnly().Length(2, 1025),
			text("record_type", "Type", "The type of the record, such as A, AAAA, CNAME, MX or TXT.").
				Required().Identity().CreateOnly().OneOf(declare.Values(route53types.RRType("").Values())...),
			text("set_identifier", "SetIdentifier",
				"What tells apart records of the same name and type, of which Route 53 picks one by weight, region, "+
					"failover or at random; empty for all others.").
				Default("''").Identity().CreateOnly().Check("length(set_identifier) <= 128").Usual(
				modules.Text("")).As(notEmpty),
			text("record", "ResourceRecords",
				"What is answered, in the notation of the type, one value a line, such as 192.0.2.1. NULL for "+
					"aliases.").
				Same(sameLines).Check("record <> ''").As(values),
			of(modules.TypeInteger, "ttl", "TTL",
				"How many seconds the answer may be kept; NULL for aliases.").Check("ttl >= 0"),
			text("alias_dns_name", "AliasTarget.DNSName",
				"The name whose answer is given instead, such as a load balancer's dns_name: of an AWS resource, or "+
					"of another record in the zone.").
				Same(sameName),
			text("alias_hosted_zone_id", "AliasTarget.HostedZoneId",
				"The id of the zone that alias_dns_name is in, such as a load balancer's canonical_hosted_zone_id; "+
					"left out, the record's own zone, for another of its records.").
				OptionalComputed().Same(func(a, b string) bool { return zoneID(&a) == zoneID(&b) }),
			of(modules.TypeBool, "alias_evaluate_target_health", "AliasTarget.EvaluateTargetHealth",
				"Whether the alias is answered only while its target is healthy; NULL for records that are no alias, "+
					"and means false for an alias.").
				OptionalComputed(),
			of(modules.TypeInteger, "weight", "Weight",
				"How often it is picked, relative to the others with its name and type, from 0 to 255.").Between(0,
				255),
			text("latency_region", "Region", "The AWS region it is in: picked for who is near that."),
			text("failover", "Failover", "Whether it is picked while healthy (PRIMARY) or while the other is not "+
				"(SECONDARY).").OneOf("PRIMARY", "SECONDARY"),
			of(modules.TypeBool, "multivalue_answer", "MultiValueAnswer",
				"True: up to eight healthy ones are picked at random. NULL: not so.").Check(
				"multivalue_answer").As(trueOnly),
			place("geo_location", "GeoLocation", declare.Alike[route53types.GeoLocation](nil),
				"Where those are for whom it is "+
					`picked: {"ContinentCode": "EU"}, {"CountryCode": "US", "SubdivisionCode": "CA"}, or {"CountryCode": "*"} `+
					"for all others."),
			place("geo_proximity_location", "GeoProximityLocation", declare.Alike(unbiased),
				"Where it is, picked for who is "+
					`near that: {"AWSRegion": "us-east-1", "Bias": 10}, {"LocalZoneGroup": "us-east-1-bue-1"} or `+
					`{"Coordinates": {"Latitude": "49.22", "Longitude": "-74.01"}}.`),
			place("cidr_routing_config", "CidrRoutingConfig", declare.Alike[route53types.CidrRoutingConfig](nil),
				`The addresses for which it is picked: {"CollectionId": "…", "LocationName": "office"} of a CIDR collection; `+
					"the location * is all others."),
			text("health_check_id", "HealthCheckId", "The id of the health check that tells whether it is healthy."),
			declare.Bool("is_default", "",
				"Whether it is one of the two records, NS and SOA, that every zone has from the beginning.").Computed(),
		},
		Checks: []string{
			"(record IS NULL) = (ttl IS NULL)",
			"alias_dns_name IS NOT NULL OR alias_hosted_zone_id IS NULL",
			"num_nonnulls(record, alias_dns_name) <= 1",
			"set_identifier <> '' OR num_nonnulls(weight, latency_region, failover, multivalue_answer) = 0",
			"set_identifier <> '' OR num_nonnulls(geo_location, geo_proximity_location, cidr_routing_config) = 0",
		},

		Published: declare.Published{Type: "AWS::Route53::RecordSet", Since: 4,
			Columns: map[string]string{"HostedZoneId": "parent_hosted_zone_id",
				"HostedZoneName": "parent_hosted_zone_id"},
			Without: map[string]string{"Comment": "it is said of a change, and is no state of a record set"},
		},
		EventMappings: modules.EventMappings("route53.amazonaws.com",
			modules.Request("changeBatch.changes", "ChangeResourceRecordSets").Whole(
				modules.IdentityPart{At: "requestParameters.hostedZoneId", As: func(id string) string {
					return zoneID(&id)
				}},
				modules.IdentityPart{At: "resourceRecordSet.name", As: normalName},
				modules.IdentityPart{At: "resourceRecordSet.type"},
				modules.IdentityPart{At: "resourceRecordSet.setIdentifier", Optional: true}),
			modules.Request("hostedZoneId", "ChangeResourceRecordSets").After("/"),
		),
		List: declare.ListBy(listRecords).Paced(), // five calls a second are all that an account has
		Get:  declare.GetBy(getRecords),
		Row: func(_ context.Context, _ *declare.Step, r *record, row modules.Row) error {
			if row["record"].IsNull() {
				row["ttl"] = modules.Null // an alias has none of its own
			}
			row["is_default"] = modules.Bool(ofZone(r.Type) && sameName(awssdk.ToString(r.Name), r.Domain))
			return nil
		},
		Create:   change(route53types.ChangeActionCreate),
		Updates:  []declare.Update{declare.Replace(change(route53types.ChangeActionUpsert, declare.Edit(keepRest)))},
		Delete:   change(route53types.ChangeActionDelete, declare.Edit(tellAll)),
		DeleteBy: remove,
		// AWS does not answer for a zone without these.
		Refuses: []declare.Refusal{{When: declare.IsTrue("is_default"),
			Why:    "it is one of the two records that AWS made with the zone, which cannot be without them",
			Source: "https://docs.aws.amazon.com/Route53/latest/DeveloperGuide/SOA-NSrecords.html"}},
	})
}

// notEmpty leaves out an empty text.
var notEmpty = declare.Codec{
	Decode: func(member any) (modules.Value, error) { return modules.Text(member.(string)), nil },
	Encode: func(v modules.Value) (any, error) {
		if v.String() == "" {
			return nil, nil
		}
		return v.String(), nil
	},
}

// trueOnly reads false as NULL.
var trueOnly = declare.Reads(func(member any) (modules.Value, error) {
	if member.(bool) {
		return modules.Bool(true), nil
	}
	return modules.Null, nil
})

// values are the lines of a record.
var values = declare.Codec{
	Decode: func(member any) (modules.Value, error) {
		var list []string
		for _, value := range member.([]route53types.ResourceRecord) {
			list = append(list, awssdk.ToString(value.Value))
		}
		return modules.NonEmpty(strings.Join(list, "\n")), nil
	},
	Encode: func(v modules.Value) (any, error) {
		var records []route53types.ResourceRecord
		for _, value := range lines(v.String()) {
			records = append(records, route53types.ResourceRecord{Value: &value})
		}
		return records, nil
	},
}

// sameLines reports whether two records have the same values, whose order means
// nothing.
func sameLines(a, b string) bool {
	return slices.Equal(slices.Sorted(slices.Values(lines(a))), slices.Sorted(slices.Values(lines(b))))
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

// listRecords lists the records of one zone after the other.
func listRecords(ctx context.Context, s *declare.Step, page func([]record) error) error {
	return declare.Walk(ctx, s, zones(), func(all []route53types.HostedZone) error {
		for _, zone := range all {
			if s.Postponed(zoneID(zone.Id)) {
				continue
			}
			if err := aws.IfExists(listZone(ctx, s, zone, page)); err != nil {
				return err
			}
		}
		return nil
	})
}

func listZone(ctx context.Context, s *declare.Step, zone route53types.HostedZone, page func([]record) error) error {
	id := zoneID(zone.Id)
	sets := declare.Pages(route53.NewListResourceRecordSetsPaginator, "ResourceRecordSets",
		declare.With(&route53.ListResourceRecordSetsInput{HostedZoneId: &id, MaxItems: awssdk.Int32(pageSize)}))
	return declare.Walk(ctx, s, sets, func(sets []route53types.ResourceRecordSet) error {
		records := make([]record, len(sets))
		for i, set := range sets {
			records[i] = record{id, awssdk.ToString(zone.Name), set}
		}
		return page(records)
	})
}

// getRecords reads these records, those of a zone together.
func getRecords(ctx context.Context, s *declare.Step, identities []modules.Row) ([]record, error) {
	byZone := map[string][]modules.Row{}
	for _, identity := range identities {
		zone := identity["parent_hosted_zone_id"].String()
		byZone[zone] = append(byZone[zone], identity)
	}
	var all []record
	for zone, wanted := range byZone {
		found, err := getOfZone(ctx, s, zone, wanted)
		if aws.IfExists(err) != nil {
			return nil, err
		}
		if err == nil {
			all = append(all, found...)
		}
	}
	return all, nil
}

// getOfZone reads some records of a zone. Route 53 takes five calls a second, and lists from
// any name on: where several are wanted, each call shows the first of the rest and those near
// it. Once one is not there, others may be gone as well: then the zone is listed, unless that
// takes more calls than are left.
func getOfZone(ctx context.Context, s *declare.Step, zone string, wanted []modules.Row) ([]record, error) {
	read := reading{zone: zone, rest: slices.SortedFunc(slices.Values(wanted), func(a, b modules.Row) int {
		return cmp.Compare(sortKey(a["name"].String()), sortKey(b["name"].String()))
	})}
	if slices.ContainsFunc(wanted, func(identity modules.Row) bool {
		return ofZone(route53types.RRType(identity["record_type"].String()))
	}) {
		out, err := declare.ClientOf[*route53.Client](s).GetHostedZone(ctx, &route53.GetHostedZoneInput{Id: &zone})
		if err != nil {
			return nil, err
		}
		read.domain = awssdk.ToString(out.HostedZone.Name)
	}
	for listed := false; len(read.rest) > 0; {
		first, most := read.rest[0], int32(pageSize)
		if len(read.rest) == 1 {
			most = alone(first)
		}
		sets, err := setsFrom(ctx, s, first, most)
		if err != nil {
			return nil, err
		}
		there := slices.ContainsFunc(sets, func(set route53types.ResourceRecordSet) bool { return isSet(set, first) })
		if read.shown(sets); there {
			continue
		}
		read.rest = read.rest[1:]
		if !listed && len(read.rest) > 1 {
			if listed, err = true, read.list(ctx, s, len(read.rest)); err != nil {
				return nil, err
			}
		}
	}
	return read.found, nil
}

// reading is what is still to be read of a zone, and what has been found.
type reading struct {
	zone, domain string
	rest         []modules.Row
	found        []record
}

// shown takes what was wanted from what was listed.
func (r *reading) shown(sets []route53types.ResourceRecordSet) {
	r.rest = slices.DeleteFunc(r.rest, func(identity modules.Row) bool {
		i := slices.IndexFunc(sets, func(set route53types.ResourceRecordSet) bool { return isSet(set, identity) })
		if i >= 0 {
			r.found = append(r.found, record{r.zone, r.domain, sets[i]})
		}
		return i >= 0
	})
}

// list lists the zone, in so many calls at most. If that was all of it, nothing else is there.
func (r *reading) list(ctx context.Context, s *declare.Step, calls int) error {
	pages := route53.NewListResourceRecordSetsPaginator(declare.ClientOf[*route53.Client](s),
		&route53.ListResourceRecordSetsInput{HostedZoneId: &r.zone, MaxItems: awssdk.Int32(pageSize)})
	asking := aws.Paging(ctx)
	for ; calls > 0 && len(r.rest) > 0 && pages.HasMorePages(); calls-- {
		page, err := pages.NextPage(asking)
		if err != nil {
			return err
		}
		r.shown(page.ResourceRecordSets)
	}
	if !pages.HasMorePages() {
		r.rest = nil
	}
	return nil
}

// sortKey orders names as listings do: by their labels from the last on (page
// ListResourceRecordSets of the Route 53 API Reference). In another order more calls are made.
func sortKey(name string) string {
	labels := strings.Split(strings.TrimSuffix(name, "."), ".")
	slices.Reverse(labels)
	return strings.Join(labels, ".") + "."
}

// ofZone reports whether a zone has a record of the type from the beginning.
func ofZone(kind route53types.RRType) bool {
	return kind == route53types.RRTypeNs || kind == route53types.RRTypeSoa
}

// alone returns how many records a listing has to show for one to be among them.
func alone(identity modules.Row) int32 {
	if identity["set_identifier"].String() != "" {
		return mostSets
	}
	return 1
}

// isSet reports whether a record set is the one of an identity.
func isSet(set route53types.ResourceRecordSet, identity modules.Row) bool {
	return sameName(awssdk.ToString(set.Name), identity["name"].String()) &&
		string(set.Type) == identity["record_type"].String() &&
		awssdk.ToString(set.SetIdentifier) == identity["set_identifier"].String()
}

// setsFrom lists record sets of a zone from the name and type of one on.
func setsFrom(ctx context.Context, s *declare.Step, identity modules.Row,
	most int32) ([]route53types.ResourceRecordSet, error) {
	out, err := declare.ClientOf[*route53.Client](s).ListResourceRecordSets(ctx, &route53.ListResourceRecordSetsInput{
		HostedZoneId:    identity["parent_hosted_zone_id"].Ptr(),
		StartRecordName: identity["name"].Ptr(),
		StartRecordType: route53types.RRType(identity["record_type"].String()),
		MaxItems:        &most,
	})
	if err != nil {
		return nil, err
	}
	return out.ResourceRecordSets, nil
}

// readSet reads one record set.
func readSet(ctx context.Context, s *declare.Step, identity modules.Row) (route53types.ResourceRecordSet, error) {
	sets, err := setsFrom(ctx, s, identity, alone(identity))
	if err != nil {
		return route53types.ResourceRecordSet{}, err
	}
	for _, set := range sets {
		if isSet(set, identity) {
			return set, nil
		}
	}
	return route53types.ResourceRecordSet{},
		&modules.Error{Class: modules.NotFound, Message: "there is no such record set"}
}

// ownZone has an alias without a zone name a record of its own, which is not known before
// the zone is made.
func ownZone(_ context.Context, _ *declare.Step, in *route53.ChangeResourceRecordSetsInput) error {
	if alias := in.ChangeBatch.Changes[0].ResourceRecordSet.AliasTarget; alias != nil {
		if alias.HostedZoneId == nil {
			alias.HostedZoneId = in.HostedZoneId
		}
		alias.HostedZoneId = awssdk.String(zoneID(alias.HostedZoneId)) // as answers have it
	}
	return nil
}

// unbiased has a location without a bias, which is 0, as one that AWS answers with.
func unbiased(l *route53types.GeoProximityLocation) {
	if awssdk.ToInt32(l.Bias) == 0 {
		l.Bias = nil
	}
}

// keepRest has a record set that replaces another keep where it is picked, if that has not been read.
func keepRest(ctx context.Context, s *declare.Step, in *route53.ChangeResourceRecordSetsInput) error {
	unread := func(column string) bool { _, read := s.Have[column]; return !read && !s.Changes(column) }
	geo, near, cidr := unread("geo_location"), unread("geo_proximity_location"), unread("cidr_routing_config")
	if s.Have["set_identifier"].String() == "" || !geo && !near && !cidr {
		return nil
	}
	was, err := readSet(ctx, s, s.Have)
	if err == nil {
		set := in.ChangeBatch.Changes[0].ResourceRecordSet
		if geo {
			set.GeoLocation = was.GeoLocation
		}
		if near {
			set.GeoProximityLocation = was.GeoProximityLocation
		}
		if cidr {
			set.CidrRoutingConfig = was.CidrRoutingConfig
		}
	}
	return aws.IfExists(err)
}

// tellAll has a deletion tell all that the record set has, as Route 53 wants (page Change):
// what was read of it together with others a moment ago, or else what is read now.
func tellAll(ctx context.Context, s *declare.Step, in *route53.ChangeResourceRecordSetsInput) error {
	set, known, err := setOf(s.Have)
	if err == nil && !known {
		*set, err = readSet(ctx, s, s.Have)
	}
	in.ChangeBatch.Changes[0].ResourceRecordSet = set
	return err
}

// setOf returns the record set that a row is of, and whether the row tells all of it: of records
// of one name and type it does not, so that they are read as Route 53 writes them.
func setOf(have modules.Row) (set *route53types.ResourceRecordSet, known bool, err error) {
	set = &route53types.ResourceRecordSet{}
	for _, column := range []string{"record", "ttl", "alias_dns_name", "alias_hosted_zone_id",
		"alias_evaluate_target_health", "health_check_id"} {
		if _, read := have[column]; !read {
			return set, false, nil
		}
	}
	if have["set_identifier"].String() != "" {
		return set, false, nil
	}
	set.Name, set.Type = have["name"].Ptr(), route53types.RRType(have["record_type"].String())
	set.HealthCheckId = have["health_check_id"].Ptr()
	if !have["ttl"].IsNull() {
		ttl := have["ttl"].Int()
		set.TTL = &ttl
	}
	if !have["record"].IsNull() {
		records, err := values.Encode(have["record"])
		if err != nil {
			return set, false, err
		}
		set.ResourceRecords = records.([]route53types.ResourceRecord)
	}
	if !have["alias_dns_name"].IsNull() {
		set.AliasTarget = &route53types.AliasTarget{DNSName: have["alias_dns_name"].Ptr(),
			HostedZoneId:         have["alias_hosted_zone_id"].Ptr(),
			EvaluateTargetHealth: have["alias_evaluate_target_health"].Bool()}
	}
	return set, true, nil
}

// remove deletes a record set. If it is not as it was read a moment ago, which Route 53
// refuses to delete, it is read again.
func remove(ctx context.Context, s *declare.Step) error {
	err := s.Delete(ctx)
	if _, known, _ := setOf(s.Have); !known || !aws.HasCode(err, "InvalidChangeBatch") ||
		modules.ClassOf(err) != modules.Invalid {
		return err
	}
	now := *s
	now.Have = modules.Row{}
	for _, column := range []string{"parent_hosted_zone_id", "name", "record_type", "set_identifier"} {
		now.Have[column] = s.Have[column]
	}
	return now.Delete(ctx)
}

// tell classifies what is wrong with a batch of changes, which Route 53 says in
// words, under one code, in an error of its own with messages or in one like all
// others (page ChangeResourceRecordSets, Errors). An alias's target may be made in
// the same transaction: its alias waits for it.
func tell(_ context.Context, _ *declare.Step, err error) error {
	const code = "InvalidChangeBatch"
	var e *modules.Error
	if errors.As(err, &e) && e.Code == code {
		message, class := e.Message, modules.Invalid
		var batch *route53types.InvalidChangeBatch
		if errors.As(err, &batch) && len(batch.Messages) > 0 {
			message = aws.Scrub(strings.Join(batch.Messages, "; "))
		}
		switch {
		case strings.Contains(message, "but it already exists"):
			class = modules.Exists
		case strings.Contains(message, "but it was not found"):
			class = modules.NotFound
		case strings.Contains(message, "but that target was not found"):
			class = modules.Dependency
		}
		return &modules.Error{Class: class, Code: code, Message: message, Err: err}
	}
	return err
}
