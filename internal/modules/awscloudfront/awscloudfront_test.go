package awscloudfront

import (
	"testing"

	"iasql/internal/modules"
	"iasql/internal/test/awstest"
	"iasql/internal/test/testaws"
)

func TestMain(m *testing.M) { testaws.Main(m) }

var text = modules.Text

func document(t *testing.T, text string) modules.Value {
	t.Helper()
	v, err := modules.JSONText(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

const (
	certificate = "arn:aws:acm:us-east-1:123456789012:certificate/1"
	// moto fills in that answers are compressed, where AWS has them not to be.
	behavior = `{"TargetOriginId":"site","ViewerProtocolPolicy":"redirect-to-https","Compress":true,"CachePolicyId":"658327ea-f89d-4fab-a63d-7e88639e58f6"}`
	bucket   = `{"Id":"site","DomainName":"site.s3.us-east-1.amazonaws.com"}`
)

func distribution(t *testing.T) modules.Row {
	return modules.Row{
		"comment": text("life"), "enabled": modules.Bool(true), "price_class": text("PriceClass_All"), "http_version": text("http2"),
		"default_cache_behavior": document(t, behavior), "origins": document(t, `[`+bucket+`]`),
		"geo_restriction": document(t, `{"RestrictionType":"none"}`), "logging": document(t, `{"Enabled":false}`),
	}
}

func TestDistributionLifecycle(t *testing.T) {
	t.Parallel()
	want := distribution(t)
	want["tags"] = modules.StringMap(map[string]string{"env": "test"})
	awstest.Lifecycle(t, awstest.Case{
		Resource: newDistribution(awstest.Clients(t)), Scope: awstest.Scope(""), Want: want,
		Changes: map[string][]modules.Value{
			"comment":                   {text("another"), text("")},
			"alternate_domain_names":    {modules.Strings([]string{"www.example.com", "example.com"}), modules.Null},
			"default_cache_behavior":    {document(t, `{"TargetOriginId":"site","ViewerProtocolPolicy":"allow-all","Compress":false,"ForwardedValues":{"QueryString":true}}`), document(t, behavior)},
			"cache_behaviors":           {document(t, `[{"PathPattern":"/b/*",`+behavior[1:]+`,{"PathPattern":"/a/*",`+behavior[1:]+`]`), modules.Null},
			"origins":                   {document(t, `[{"Id":"api","DomainName":"api.example.com","CustomOriginConfig":{"OriginProtocolPolicy":"https-only"},"CustomHeaders":{"Items":[{"HeaderName":"X-A","HeaderValue":"1"}]}},`+bucket+`]`)},
			"origin_groups":             {document(t, `[{"Id":"both","FailoverCriteria":{"StatusCodes":{"Items":[500]}},"Members":{"Items":[{"OriginId":"site"},{"OriginId":"api"}]}}]`), modules.Null},
			"custom_error_responses":    {document(t, `[{"ErrorCode":404,"ResponseCode":"200","ResponsePagePath":"/index.html"},{"ErrorCode":403}]`), modules.Null},
			"default_root_object":       {text("index.html"), modules.Null},
			"web_acl_id":                {text("arn:aws:wafv2:us-east-1:123456789012:global/webacl/a/1"), modules.Null},
			"geo_restriction":           {document(t, `{"RestrictionType":"whitelist","Items":["FR","DE"]}`), document(t, `{"RestrictionType":"none"}`)},
			"logging":                   {document(t, `{"Bucket":"logs.s3.amazonaws.com","Prefix":"web/"}`), document(t, `{"Enabled":false}`)},
			"custom_ssl_certificate_id": {text(certificate)},
		},
	})
}

func TestOriginAccessControlLifecycle(t *testing.T) {
	t.Parallel()
	awstest.Lifecycle(t, awstest.Case{
		Resource: newOriginAccessControl(awstest.Clients(t)), Scope: awstest.Scope(""),
		Want: modules.Row{
			"name": text("life"), "description": text(""), "origin_type": text("s3"), "signing_behavior": text("always"), "signing_protocol": text("sigv4"),
		},
		Changes: map[string][]modules.Value{"description": {text("signs"), text("")}},
	})
}
