package awscloudfront

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/cloudfront"
	cftypes "github.com/aws/aws-sdk-go-v2/service/cloudfront/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// newOriginAccessControl declares the table origin_access_control. The limits are
// those of the page OriginAccessControlConfig of the CloudFront API Reference. One
// name is one origin access control (page CreateOriginAccessControl,
// OriginAccessControlAlreadyExists), by which a creation is found again.
func newOriginAccessControl(c *aws.Clients) *declare.Resource {
	of := func(name, member, doc string) declare.Column {
		return declare.Text(name, member, doc).In("OriginAccessControlConfig." + member)
	}
	return declare.New(c, declare.Table[cftypes.OriginAccessControlSummary]{
		Name: "origin_access_control",
		Doc: "How CloudFront signs its requests to origins, so that a bucket can be private and still be served. " +
			"A distribution names one as origin_access_control_id. AWS keeps one that a distribution uses.",
		Service:    declare.Service(cloudfront.NewFromConfig),
		PerAccount: true,
		Columns: []declare.Column{
			of("name", "Name", "Its name, up to 64 characters. Another name makes another, and the old one stays "+
				"until no distribution uses it.").Required().Identity().CreateOnly().Length(1, 64),
			declare.Text("origin_access_control_id", "Id",
				"Its id, such as E2QWRUHAPOMQZL; NULL until it is created.").Computed().Key(),
			of("description", "Description", "What it is for.").Default("''").KeepEmpty().Absent(modules.Text("")),
			of("origin_type", "OriginAccessControlOriginType", "What kind of origin it is for.").Default("'s3'").
				OneOf(declare.Values(cftypes.OriginAccessControlOriginTypes("").Values())...),
			of("signing_behavior", "SigningBehavior",
				"Which requests CloudFront signs: all (always), none (never), or those whose viewer sent no header "+
					"Authorization (no-override).").
				Default("'always'").OneOf(declare.Values(cftypes.OriginAccessControlSigningBehaviors("").Values())...),
			of("signing_protocol", "SigningProtocol", "How it signs them.").Default("'sigv4'").
				OneOf(declare.Values(cftypes.OriginAccessControlSigningProtocols("").Values())...),
		},
		Published: declare.Published{Type: "AWS::CloudFront::OriginAccessControl", Since: 3},

		List:   controls(),
		Get:    declare.Search(), // no call finds one by its name
		Create: declare.Call((*cloudfront.Client).CreateOriginAccessControl, declare.Answer("OriginAccessControl")),
		Updates: []declare.Update{declare.Replace(declare.Call((*cloudfront.Client).UpdateOriginAccessControl,
			declare.Edit(func(ctx context.Context, s *declare.Step,
				in *cloudfront.UpdateOriginAccessControlInput) (err error) {
				in.IfMatch, err = version(ctx, s, in.Id)
				return err
			})))},
		Delete: declare.Call((*cloudfront.Client).DeleteOriginAccessControl,
			declare.Edit(func(ctx context.Context, s *declare.Step,
				in *cloudfront.DeleteOriginAccessControlInput) (err error) {
				in.IfMatch, err = version(ctx, s, in.Id)
				return err
			})),
	})
}

// controls lists the origin access controls.
func controls() *declare.Listing {
	return declare.Pages(cloudfront.NewListOriginAccessControlsPaginator, "OriginAccessControlList.Items")
}

// version returns the version that a change of an origin access control is of.
func version(ctx context.Context, s *declare.Step, id *string) (*string, error) {
	out, err := declare.ClientOf[*cloudfront.Client](s).GetOriginAccessControl(ctx,
		&cloudfront.GetOriginAccessControlInput{Id: id})
	if err != nil {
		return nil, err
	}
	return out.ETag, nil
}
