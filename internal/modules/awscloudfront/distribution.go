package awscloudfront

import (
	"context"
	"reflect"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudfront"
	cftypes "github.com/aws/aws-sdk-go-v2/service/cloudfront/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// deployed is the status of a distribution that is at all edge locations as its
// configuration says (page Distribution of the CloudFront API Reference).
const deployed = "Deployed"

// certificateRegion is where the certificates of distributions are (page ViewerCertificate).
const certificateRegion = "us-east-1"

// newDistribution declares the table distribution. The limits are those of the
// page DistributionConfig of the CloudFront API Reference.
func newDistribution(c *aws.Clients) *declare.Resource {
	of := func(kind modules.Type, name, member, doc string) declare.Column {
		member = "DistributionConfig." + member
		return declare.Of(kind, name, member, doc).In(member, "DistributionConfigWithTags."+member)
	}
	text := func(name, member, doc string) declare.Column { return of(modules.TypeText, name, member, doc) }
	json := func(name, member, doc string) declare.Column { return of(modules.TypeJSON, name, member, doc) }
	list := func(name, member, doc string) declare.Column {
		return json(name, member+".Items", doc).Check("jsonb_typeof(" + name + ") = 'array'")
	}
	empty, none := modules.Text(""), modules.Text("[]")
	return declare.New(c, declare.Table[cftypes.Distribution]{
		Name: "distribution",
		Doc: "Distributions: what CloudFront delivers, and from where. Columns of type jsonb are in the words of the " +
			"CloudFront API Reference, without Quantity, which counts Items; members that are left out have AWS's " +
			"defaults. " +
			"What no column shows stays as it is when a distribution is changed. A change takes CloudFront minutes " +
			"to carry everywhere (status). " +
			"A deletion disables the distribution first, and waits until that is done everywhere.",
		Service:    declare.Service(cloudfront.NewFromConfig),
		PerAccount: true,
		Creation:   modules.ByTag,
		Published: declare.Published{Type: "AWS::CloudFront::Distribution", Since: 3,
			Columns: map[string]string{"DistributionConfig": "distribution"}},
		Columns: []declare.Column{
			declare.ID("distribution_id", "Id",
				"The distribution's id, such as EDFDVBD6EXAMPLE; NULL until it is created."),
			declare.Text("domain_name", "DomainName",
				"Where it is reached, such as d111111abcdef8.cloudfront.net. An alias record in Route 53 names it "+
					"with alias_hosted_zone_id Z2FDTNDATAQYW2.").Computed(),
			text("caller_reference", "CallerReference",
				"A text of one's own that no other distribution of the account was made with; one that is made up if "+
					"left out. A change makes another distribution.").
				CreateOnly().OptionalComputed(),
			text("comment", "Comment", "What it is for, up to 128 characters.").Default("''").KeepEmpty().Absent(
				empty).Length(0, 128),
			of(modules.TypeBool, "enabled", "Enabled", "Whether it answers requests.").Default("true"),
			of(modules.TypeTexts, "alternate_domain_names", "Aliases.Items",
				"Further names that it is reached by, such as {www.example.com}, for which it needs a certificate. A "+
									"name is one distribution's alone.").
				Unordered().EmptyIsNull().Exclusive(), // CreateDistribution: CNAMEAlreadyExists
			part(json("default_cache_behavior", "DefaultCacheBehavior",
				`What becomes of requests: {"TargetOriginId": "site", "ViewerProtocolPolicy": "redirect-to-https", "Compress": true, "CachePolicyId": "658327ea-f89d-4fab-a63d-7e88639e58f6"}. `+
					"It takes a CachePolicyId or, as in old distributions, ForwardedValues.").Required(), behave),
			part(list("cache_behaviors", "CacheBehaviors",
				`What becomes of requests whose PathPattern is, for example, "/images/*"; the first that matches counts.`).EmptyIsNull().Unset(none), each(behaveAt)),
			part(list("origins", "Origins",
				`Where it gets what it delivers: [{"Id": "site", "DomainName": "bucket.s3.us-east-1.amazonaws.com"}]. `+
					"A bucket that is private takes an origin_access_control_id, or an OriginAccessControlId here. "+
					`An origin that is no bucket has a CustomOriginConfig, such as {"OriginProtocolPolicy": "https-only"}; its OriginSslProtocols are TLSv1.2 if left out. Everybody who reads the row reads the CustomHeaders.`).
				Required(), each(originate)).Same(sameOrigins),
			declare.Ref("origin_access_control_id", "", "origin_access_control", "name",
				"The origin access control that signs the requests to its buckets: to all origins that are buckets, "+
					"but for "+
					"those with an OriginAccessIdentity. NULL: they have none, or several, which origins names.").Since(
				5),
			part(list("origin_groups", "OriginGroups",
				`Origins that take over from each other: [{"Id": "both", "FailoverCriteria": {"StatusCodes": {"Items": [500]}}, "Members": {"Items": [{"OriginId": "one"}, {"OriginId": "two"}]}}].`).
				EmptyIsNull().Unset(none), each(group)),
			part(list("custom_error_responses", "CustomErrorResponses",
				`What is answered instead of errors: [{"ErrorCode": 404, "ResponseCode": "200", "ResponsePagePath": "/index.html"}].`).
				EmptyIsNull().Unset(none), each(answer)),
			text("default_root_object", "DefaultRootObject",
				"What is delivered for /, such as index.html.").Matches("^[^/]").Unset(empty),
			text("price_class", "PriceClass",
				"Which edge locations it uses: all (PriceClass_All) or those that cost less.").
				Default("'PriceClass_All'").Absent(modules.Text("PriceClass_All")).OneOf(
				declare.Values(cftypes.PriceClass("").Values())...),
			text("http_version", "HttpVersion",
				"Up to which version of HTTP it speaks.").Default("'http2'").Absent(modules.Text("http2")).OneOf(
				declare.Values(cftypes.HttpVersion("").Values())...),
			of(modules.TypeBool, "is_ipv6_enabled", "IsIPV6Enabled",
				"Whether it is reached by IPv6; AWS decides if left out.").OptionalComputed(),
			text("web_acl_id", "WebACLId",
				"The ARN of the AWS WAF web ACL that filters requests, or the id of one of AWS WAF Classic.").Unset(
				empty),
			part(json("geo_restriction", "Restrictions.GeoRestriction",
				`From which countries it is reached: {"RestrictionType": "whitelist", "Items": ["DE", "FR"]}, or all but those of a blacklist.`).
				Default(`'{"RestrictionType": "none"}'`).Absent(modules.Text(`{"RestrictionType":"none"}`)),
				func(*cftypes.GeoRestriction) {}),
			part(json("logging", "Logging",
				`Where requests are logged (standard logging, legacy): {"Bucket": "logs.s3.amazonaws.com", "Prefix": "web/"}.`).
				Default(`'{"Enabled": false}'`).Absent(modules.Text(`{"Enabled":false}`)), log),
			declare.Ref("custom_ssl_certificate_id", "DistributionConfig.ViewerCertificate.ACMCertificateArn",
				"certificate", "arn",
				"The certificate of the alternate domain names, which has to be in us-east-1. NULL: CloudFront's own.").
				In("DistributionConfig.ViewerCertificate.ACMCertificateArn",
					"DistributionConfigWithTags.DistributionConfig.ViewerCertificate.ACMCertificateArn").AnyScope(),
			text("ssl_support_method", "ViewerCertificate.SSLSupportMethod",
				"With a certificate: who can use HTTPS, all but ancient browsers (sni-only, if left out) or "+
					"everybody (vip, for hundreds of dollars a month).").
				OptionalComputed().OneOf(declare.Values(cftypes.SSLSupportMethod("").Values())...),
			text("minimum_protocol_version", "ViewerCertificate.MinimumProtocolVersion",
				"With a certificate: how requests have to be encrypted at least; TLSv1.2_2021 if left out, or TLSv1 "+
					"with vip.").
				OptionalComputed().OneOf(declare.Values(cftypes.MinimumProtocolVersion("").Values())...),
			declare.Text("status", "Status",
				"InProgress while CloudFront carries a change everywhere, then Deployed.").Computed(),
			declare.ARN("arn", "ARN").In("Resource"),
			declare.Bool("dns_records", "",
				"Whether an alias record of each of its alternate_domain_names is put into the account's hosted "+
					"zones, as rows of resource_record_set (module aws_route53), when AWS tells its domain_name. "+
					"The rows stay when the distribution goes. AWS does not know of it.").Default(
				"false").Local().Since(2),
			declare.Tags("Tags.Items", (*cloudfront.Client).TagResource,
				(*cloudfront.Client).UntagResource).From(declare.Call((*cloudfront.Client).ListTagsForResource)),
		},

		// The listing lacks some of the configuration.
		EventMappings: modules.EventMappings("cloudfront.amazonaws.com",
			modules.Response("distribution.id", "CreateDistribution", "CopyDistribution",
				"UpdateDistributionWithStagingConfig"),
			modules.Request("id", "DeleteDistribution"),
			modules.Request("targetDistributionId", "AssociateAlias"),
		),
		List: declare.Pages(cloudfront.NewListDistributionsPaginator, "DistributionList.Items").Names("distribution_id",
			"Id"),
		Get: declare.One(declare.Call((*cloudfront.Client).GetDistribution), "Distribution"),
		Row: func(_ context.Context, _ *declare.Step, d *cftypes.Distribution, row modules.Row) error {
			// With CloudFront's own certificate both are of no effect (page ViewerCertificate).
			if v := d.DistributionConfig.ViewerCertificate; v != nil && awssdk.ToBool(v.CloudFrontDefaultCertificate) {
				row["ssl_support_method"], row["minimum_protocol_version"] = modules.Null, modules.Null
			}
			return nil
		},
		Rows: nameControls,
		Create: declare.Call((*cloudfront.Client).CreateDistributionWithTags, declare.Answer("Distribution"),
			declare.Failed(uncertified),
			declare.Edit(func(ctx context.Context, s *declare.Step,
				in *cloudfront.CreateDistributionWithTagsInput) error {
				config := in.DistributionConfigWithTags.DistributionConfig
				declare.Or(&config.CallerReference, s.Token)
				declare.Or(&config.ViewerCertificate, cftypes.ViewerCertificate{})
				if err := control(ctx, s, config.Origins); err != nil {
					return err
				}
				count(reflect.ValueOf(config), true)
				return secure(config.ViewerCertificate)
			})),
		Updates: []declare.Update{
			declare.Modify(declare.Call((*cloudfront.Client).UpdateDistribution,
				declare.Edit(configure), declare.Failed(uncertified))),
			declare.By(setControl, "origin_access_control_id"),
		},
		DeleteBy: remove,
	})
}

// configure puts what changes into the configuration as it is now, which
// UpdateDistribution replaces as a whole (page UpdateDistribution).
func configure(ctx context.Context, s *declare.Step, in *cloudfront.UpdateDistributionInput) error {
	now, err := declare.ClientOf[*cloudfront.Client](s).GetDistributionConfig(ctx,
		&cloudfront.GetDistributionConfigInput{Id: in.Id})
	if err != nil {
		return err
	}
	changed, config := in.DistributionConfig, now.DistributionConfig
	in.DistributionConfig, in.IfMatch = config, now.ETag
	if changed != nil {
		changed.ViewerCertificate = nil // whose members go together
		count(reflect.ValueOf(changed), true)
		assign(config, changed)
	}
	if s.Changes("origins") {
		if err := control(ctx, s, config.Origins); err != nil {
			return err
		}
	}
	if s.Changes("custom_ssl_certificate_id", "ssl_support_method", "minimum_protocol_version") {
		config.ViewerCertificate = viewed(s, config.ViewerCertificate)
		return secure(config.ViewerCertificate)
	}
	return nil
}

// uncertified waits for a certificate that AWS has yet to issue.
var uncertified = declare.Unissued("InvalidViewerCertificate", "custom_ssl_certificate_id", certificateRegion)

// viewed returns how viewers are to use HTTPS. A change leaves alone what does not
// change, such as a certificate of IAM's, which no column shows.
func viewed(s *declare.Step, was *cftypes.ViewerCertificate) *cftypes.ViewerCertificate {
	v := &cftypes.ViewerCertificate{}
	if was != nil && !awssdk.ToBool(was.CloudFrontDefaultCertificate) {
		v.ACMCertificateArn, v.IAMCertificateId, v.SSLSupportMethod, v.MinimumProtocolVersion = was.ACMCertificateArn,
			was.IAMCertificateId, was.SSLSupportMethod, was.MinimumProtocolVersion
	}
	if s.Changes("custom_ssl_certificate_id") {
		v.ACMCertificateArn, v.IAMCertificateId = s.Want["custom_ssl_certificate_id"].Ptr(), nil
		if v.ACMCertificateArn == nil {
			v.SSLSupportMethod, v.MinimumProtocolVersion = "", ""
		}
	}
	if s.Changes("ssl_support_method") {
		v.SSLSupportMethod = cftypes.SSLSupportMethod(s.Want["ssl_support_method"].String())
	}
	if s.Changes("minimum_protocol_version") {
		v.MinimumProtocolVersion = cftypes.MinimumProtocolVersion(s.Want["minimum_protocol_version"].String())
	}
	return v
}

// remove deletes a distribution. It has to be disabled before, at all edge
// locations, which later cycles wait for (page DeleteDistribution).
func remove(ctx context.Context, s *declare.Step) error {
	c, id := declare.ClientOf[*cloudfront.Client](s), s.Have["distribution_id"].Ptr()
	out, err := c.GetDistribution(ctx, &cloudfront.GetDistributionInput{Id: id})
	if err != nil {
		return err
	}
	d, version := out.Distribution, out.ETag
	if config := d.DistributionConfig; awssdk.ToBool(config.Enabled) {
		config.Enabled = awssdk.Bool(false)
		out, err := c.UpdateDistribution(ctx,
			&cloudfront.UpdateDistributionInput{Id: id, DistributionConfig: config, IfMatch: version})
		if err != nil {
			return err
		}
		d, version = out.Distribution, out.ETag
	}
	if status := awssdk.ToString(d.Status); status != deployed {
		return &modules.Error{Class: modules.Dependency, Code: status,
			Message: "waits until CloudFront has disabled it everywhere, which takes minutes"}
	}
	_, err = c.DeleteDistribution(ctx, &cloudfront.DeleteDistributionInput{Id: id, IfMatch: version})
	return err
}
