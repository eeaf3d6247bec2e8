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
	// mostTagged is how many zones ListTagsForResources takes.
	mostTagged = 10
	// idPrefix is what Route 53 puts before a zone's id, and does not ask for.
	idPrefix = "/hostedzone/"
)

var zoneTags = aws.TagType[route53types.Tag]{
	Split: func(t route53types.Tag) (key, value *string) { return t.Key, t.Value },
	Join:  func(key, value *string) route53types.Tag { return route53types.Tag{Key: key, Value: value} },
}

// zone is the table hosted_zone.
type zone struct {
	clients     *aws.Clients
	description *modules.Table
}

func newZone(c *aws.Clients) *zone { return &zone{clients: c, description: describeZone()} }

func describeZone() *modules.Table {
	return &modules.Table{
		Name:     "hosted_zone",
		Doc:      "DNS zones. Deleting one deletes its records first. Public zones can be created here; private ones, made by other means, are shown and can be changed.",
		Provider: aws.Provider,
		Reach:    modules.PerAccount,
		// The token is the zone's caller reference, by which it is found.
		Creation: modules.ByTag,
		Columns: aws.PerAccount(
			modules.Column{Name: "hosted_zone_id", Type: modules.TypeText, Identity: true, Assigned: true,
				Doc: "The zone's id, such as Z0123456789ABCDEFGHIJ; NULL until it is created."},
			modules.Column{Name: "domain_name", Type: modules.TypeText, Required: true, CreateOnly: true, Equal: sameName,
				Check: "length(domain_name) BETWEEN 2 AND 1025",
				Doc:   "The name of the domain, such as example.com. Kept in lower case and with a dot at the end."},
			modules.Column{Name: "comment", Type: modules.TypeText, Check: "length(comment) BETWEEN 1 AND 256",
				Doc: "What it is for, up to 256 characters."},
			modules.Column{Name: "is_private", Type: modules.TypeBool, Assigned: true,
				Doc: "Whether it answers inside VPCs alone."},
			modules.Column{Name: "name_servers", Type: modules.TypeTexts, Assigned: true, Unordered: true, EmptyIsNull: true,
				Doc: "The name servers that answer for it, which the domain's registrar has to be told; NULL for private zones."},
			modules.Column{Name: "linked_service", Type: modules.TypeText, Assigned: true,
				Doc: "The AWS service that has made it and alone can change it, such as servicediscovery.amazonaws.com; NULL for all others."},
			aws.TagsColumn(),
		),
	}
}

// Table returns the description.
func (r *zone) Table() *modules.Table { return r.description }

// List gives every zone of the account to page.
func (r *zone) List(ctx context.Context, scope modules.Scope, page func([]modules.Row) error) error {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	return eachZone(ctx, client, func(zones []route53types.HostedZone) error {
		ids := make([]string, len(zones))
		for i, z := range zones {
			ids[i] = zoneID(z.Id)
		}
		rows, err := readZones(ctx, client, ids)
		if err != nil {
			return err
		}
		return page(rows)
	})
}

func eachZone(ctx context.Context, client *route53.Client, page func([]route53types.HostedZone) error) error {
	return aws.Pages(ctx, route53.NewListHostedZonesPaginator(client, &route53.ListHostedZonesInput{}),
		func(out *route53.ListHostedZonesOutput) error { return page(out.HostedZones) })
}

func zoneID(id *string) string { return strings.TrimPrefix(awssdk.ToString(id), idPrefix) }

// Get reads the zones with these ids.
func (r *zone) Get(ctx context.Context, scope modules.Scope, identities []modules.Row) ([]modules.Row, error) {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return nil, err
	}
	return readZones(ctx, client, aws.Column(identities, "hosted_zone_id"))
}

// FindCreated returns the zones whose caller reference is one of the tokens. A
// second creation with the same reference is refused (page CreateHostedZone).
func (r *zone) FindCreated(ctx context.Context, scope modules.Scope, tokens []string) (map[string]modules.Row, error) {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return nil, err
	}
	found := map[string]modules.Row{}
	err = eachZone(ctx, client, func(zones []route53types.HostedZone) error {
		for _, z := range zones {
			token := awssdk.ToString(z.CallerReference)
			if !slices.Contains(tokens, token) {
				continue
			}
			rows, err := readZones(ctx, client, []string{zoneID(z.Id)})
			if err != nil {
				return err
			}
			for _, row := range rows {
				found[token] = row
			}
		}
		return nil
	})
	return found, err
}

// readZones reads zones, whose name servers no listing tells, and their tags.
func readZones(ctx context.Context, client *route53.Client, ids []string) ([]modules.Row, error) {
	return aws.InBatches(ctx, mostTagged, ids, func(ctx context.Context, some []string) ([]modules.Row, error) {
		rows, err := aws.Read(ctx, some, func(ctx context.Context, id string) (modules.Row, error) {
			return readZone(ctx, client, id)
		})
		if err != nil || len(rows) == 0 {
			return rows, err
		}
		out, err := client.ListTagsForResources(ctx, &route53.ListTagsForResourcesInput{
			ResourceType: route53types.TagResourceTypeHostedzone, ResourceIds: aws.Column(rows, "hosted_zone_id"),
		})
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			for _, set := range out.ResourceTagSets {
				if awssdk.ToString(set.ResourceId) == row["hosted_zone_id"].String() {
					row["tags"] = zoneTags.Value(set.Tags)
				}
			}
		}
		return rows, nil
	})
}

func readZone(ctx context.Context, client *route53.Client, id string) (modules.Row, error) {
	out, err := client.GetHostedZone(ctx, &route53.GetHostedZoneInput{Id: &id})
	if err != nil {
		return nil, err
	}
	row := modules.Row{
		"hosted_zone_id": modules.Text(id),
		"domain_name":    modules.Text(normalName(awssdk.ToString(out.HostedZone.Name))),
		"comment":        modules.Null,
		"is_private":     modules.Bool(false),
		"name_servers":   modules.Null,
		"linked_service": modules.Null,
		"tags":           modules.Null,
	}
	if config := out.HostedZone.Config; config != nil {
		row["comment"], row["is_private"] = modules.NonEmpty(awssdk.ToString(config.Comment)), modules.Bool(config.PrivateZone)
	}
	if out.DelegationSet != nil {
		row["name_servers"] = modules.Strings(out.DelegationSet.NameServers)
	}
	if linked := out.HostedZone.LinkedService; linked != nil {
		row["linked_service"] = modules.TextPtr(linked.ServicePrincipal)
	}
	return row, nil
}

// Create creates a public zone. Tags, which CreateHostedZone does not take, are
// left to Update.
func (r *zone) Create(ctx context.Context, scope modules.Scope, want modules.Row, token string) (modules.Row, error) {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return nil, err
	}
	in := &route53.CreateHostedZoneInput{Name: want["domain_name"].Ptr(), CallerReference: &token}
	if !want["comment"].IsNull() {
		in.HostedZoneConfig = &route53types.HostedZoneConfig{Comment: want["comment"].Ptr()}
	}
	out, err := client.CreateHostedZone(ctx, in)
	if err != nil {
		return nil, err
	}
	return modules.Row{"hosted_zone_id": modules.Text(zoneID(out.HostedZone.Id))}, nil
}

// Update changes the comment, and the tags in one call.
func (r *zone) Update(ctx context.Context, scope modules.Scope, have, want modules.Row, columns []string) error {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	id := have["hosted_zone_id"].Ptr()
	if slices.Contains(columns, "comment") {
		// Left out, the comment is removed (page UpdateHostedZoneComment).
		if _, err := client.UpdateHostedZoneComment(ctx, &route53.UpdateHostedZoneCommentInput{Id: id, Comment: want["comment"].Ptr()}); err != nil {
			return err
		}
	}
	if !slices.Contains(columns, modules.ColumnTags) {
		return nil
	}
	set, remove := aws.TagChanges(have["tags"], want["tags"])
	in := &route53.ChangeTagsForResourceInput{ResourceType: route53types.TagResourceTypeHostedzone, ResourceId: id, RemoveTagKeys: remove}
	if len(set) > 0 { // an empty list is refused
		in.AddTags = zoneTags.List(set)
	}
	_, err = client.ChangeTagsForResource(ctx, in)
	return err
}

// Delete deletes a zone, in which only its two default records may be left.
func (r *zone) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	if err := aws.Keep(r.Protected(have)); err != nil {
		return err
	}
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	_, err = client.DeleteHostedZone(ctx, &route53.DeleteHostedZoneInput{Id: have["hosted_zone_id"].Ptr()})
	return aws.IfExists(err)
}

// Protected keeps zones of other services.
func (r *zone) Protected(have modules.Row) string {
	if service := have["linked_service"]; !service.IsNull() {
		return "it belongs to " + service.String() + ", which alone can delete it"
	}
	return ""
}
