package awsroute53

import (
	"context"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	route53types "github.com/aws/aws-sdk-go-v2/service/route53/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

const (
	// mostTagged is how many zones ListTagsForResources takes.
	mostTagged = 10
	// idPrefix is what Route 53 puts before a zone's id, and does not ask for.
	idPrefix = "/hostedzone/"
)

// newZone declares the table hosted_zone.
func newZone(c *aws.Clients) *declare.Resource {
	change := declare.Call((*route53.Client).ChangeTagsForResource,
		declare.With(&route53.ChangeTagsForResourceInput{ResourceType: route53types.TagResourceTypeHostedzone}))
	return declare.New(c, declare.Table[route53.GetHostedZoneOutput]{
		Name: "hosted_zone",
		Doc: "DNS zones. One with records is deleted only with iasql.with_contents on: its records go first. " +
			"One with vpcs is private: it answers inside those alone.",
		Service:    declare.Service(route53.NewFromConfig),
		PerAccount: true,
		// The token is the zone's caller reference, by which it is found: a second
		// creation with the same is refused (page CreateHostedZone).
		Creation: modules.ByTag,
		Token:    "HostedZone.CallerReference",
		Columns: []declare.Column{
			declare.ID("hosted_zone_id", "HostedZone.Id",
				"The zone's id, such as Z0123456789ABCDEFGHIJ; NULL until it is created.").As(declare.Trimmed(idPrefix,
				"")).In("Id", "ResourceId", "HostedZoneId"),
			declare.Text("domain_name", "HostedZone.Name",
				"The name of the domain, such as example.com. Kept in lower case and with a dot at the end.").
				As(dnsName).In("Name").Required().CreateOnly().Same(sameName).Length(2, 1025),
			declare.Text("comment", "HostedZone.Config.Comment",
				"What it is for, up to 256 characters.").In("HostedZoneConfig.Comment", "Comment").Length(1, 256),
			declare.JSON("vpcs", "VPCs", `The VPCs inside which a private zone answers: [{"VPCId": "vpc-1", "VPCRegion": `+
				`"us-east-1"}], in any order; NULL for public zones.`).EmptyIsNull().FixedKind().Same(sameVPCs).
				Check(`jsonb_typeof(vpcs) = 'array' AND NOT jsonb_path_exists(vpcs, '$[*] ? (!exists(@.VPCId) || !exists(@.VPCRegion))')`).Since(4),
			declare.Text("query_log_group_arn", "",
				"The ARN of the log group of CloudWatch Logs, in us-east-1, that gets "+
					"the DNS queries of a public zone; NULL: they are not logged.").Same(sameLogGroup).Since(4),
			declare.Bool("accelerated_recovery", "HostedZone.Features.AcceleratedRecoveryStatus",
				"Whether the records of a public zone can be changed within an hour although us-east-1 is down.").
				Default("false").Usual(modules.Bool(false)).In("EnableAcceleratedRecovery").
				As(declare.Is("ENABLED", "ENABLING", "ENABLING_HOSTED_ZONE_LOCKED")).Since(4),
			declare.Bool("is_private", "HostedZone.Config.PrivateZone",
				"Whether it answers inside VPCs alone.").Computed().Usual(modules.Bool(false)),
			declare.Texts("name_servers", "DelegationSet.NameServers",
				"The name servers that answer for it, which the domain's registrar has to be told; NULL for "+
					"private zones.").
				Computed().Unordered().EmptyIsNull(),
			declare.Text("linked_service", "HostedZone.LinkedService.ServicePrincipal",
				"The AWS service that has made it and alone can change it, such as servicediscovery.amazonaws.com; "+
					"NULL for all others.").
				Computed(),
			declare.TagsBy("", change, change).TagsInBulk(declare.Call((*route53.Client).ListTagsForResources,
				declare.With(&route53.ListTagsForResourcesInput{ResourceType: route53types.TagResourceTypeHostedzone})),
				"ResourceIds", mostTagged, "hosted_zone_id", "ResourceTagSets", "ResourceId", "Tags"),
		},

		Published: declare.Published{Type: "AWS::Route53::HostedZone", Since: 4, Columns: map[string]string{
			"HostedZoneConfig": "comment", "HostedZoneFeatures": "accelerated_recovery", "HostedZoneTags": "tags",
			"QueryLoggingConfig": "query_log_group_arn"}},
		EventMappings: modules.EventMappings("route53.amazonaws.com",
			modules.Response("hostedZone.id", "CreateHostedZone").After("/"),
			modules.Request("id", "DeleteHostedZone", "UpdateHostedZoneComment").After("/"),
			modules.Request("hostedZoneId", "AssociateVPCWithHostedZone", "DisassociateVPCFromHostedZone",
				"EnableHostedZoneDNSSEC", "DisableHostedZoneDNSSEC", "UpdateHostedZoneFeatures").After("/"),
			modules.Request("hostedZoneId", "CreateQueryLoggingConfig").After("/"),
			modules.Unnamed("DeleteQueryLoggingConfig"), // of which the event tells the configuration alone
			modules.Request("resourceId", "ChangeTagsForResource").After("/"),
		),
		List: declare.Pages(route53.NewListHostedZonesPaginator, "HostedZones",
			declare.Convert(func(z route53types.HostedZone) route53.GetHostedZoneOutput {
				return route53.GetHostedZoneOutput{HostedZone: &z}
			})),
		Get:  declare.One(declare.Call((*route53.Client).GetHostedZone), ""),
		Row:  unlisted,
		Rows: readLogging,
		// Tags and all VPCs but one, which CreateHostedZone does not take, are left to the update.
		Create: declare.Call((*route53.Client).CreateHostedZone, declare.Edit(firstVPC)),
		Updates: []declare.Update{
			// Left out, the comment is removed (page UpdateHostedZoneComment).
			declare.Replace(declare.Call((*route53.Client).UpdateHostedZoneComment), "comment"),
			declare.By(setVPCs, "vpcs"),
			declare.By(setLogging, "query_log_group_arn"),
			declare.Modify(declare.Call((*route53.Client).UpdateHostedZoneFeatures), "accelerated_recovery"),
		},
		Delete:    declare.Call((*route53.Client).DeleteHostedZone),
		HoldsData: true, // a new one has other name servers
		Protected: declare.IfSet("linked_service", "it belongs to %s, which alone can delete it"),
	})
}

// unlisted completes a zone that was listed: no listing tells its name servers and its VPCs. The
// name servers stay what they were when it was created ("Getting the name servers for a public
// hosted zone", Route 53 Developer Guide: others take another zone), so that they are read
// once, and the VPCs seldom. Five calls a second are all that an account has.
func unlisted(ctx context.Context, s *declare.Step, z *route53.GetHostedZoneOutput, row modules.Row) error {
	if z.DelegationSet != nil || len(z.VPCs) > 0 {
		return nil
	}
	private := row["is_private"].Bool()
	switch {
	case private && !s.RarelyDue(row):
		delete(row, "vpcs")
		return nil
	case !private:
		delete(row, "name_servers")
		if s.Recorded(row) {
			return nil
		}
	}
	out, err := declare.ClientOf[*route53.Client](s).GetHostedZone(ctx,
		&route53.GetHostedZoneInput{Id: z.HostedZone.Id})
	if err != nil {
		return err
	}
	if private {
		row["vpcs"] = modules.Null
		if len(out.VPCs) > 0 {
			row["vpcs"], err = aws.Document(out.VPCs)
		}
		return err
	}
	if out.DelegationSet != nil {
		row["name_servers"] = modules.Strings(out.DelegationSet.NameServers)
	}
	return nil
}

func zones() *declare.Listing {
	return declare.Pages(route53.NewListHostedZonesPaginator, "HostedZones")
}

func zoneID(id *string) string { return strings.TrimPrefix(awssdk.ToString(id), idPrefix) }
