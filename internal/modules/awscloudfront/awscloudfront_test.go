package awscloudfront

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudfront"
	cftypes "github.com/aws/aws-sdk-go-v2/service/cloudfront/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
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
		"comment": text("life"), "enabled": modules.Bool(true), "price_class": text("PriceClass_All"),
		"http_version":           text("http2"),
		"default_cache_behavior": document(t, behavior), "origins": document(t, `[`+bucket+`]`),
		"geo_restriction": document(t, `{"RestrictionType":"none"}`), "logging": document(t, `{"Enabled":false}`),
	}
}

func TestDistributionLifecycle(t *testing.T) {
	t.Parallel()
	want := distribution(t)
	want["tags"] = modules.StringMap(map[string]string{"env": "test"})
	clients := awstest.Clients(t)
	for _, name := range []string{"one", "two"} {
		if _, err := awstest.Create(t.Context(), newOriginAccessControl(clients), awstest.Permit(), awstest.Scope(""),
			modules.Row{"name": text(name), "description": text(""), "origin_type": text("s3"),
				"signing_behavior": text("always"), "signing_protocol": text("sigv4")}, name); err != nil {
			t.Fatal(err)
		}
	}
	awstest.Lifecycle(t, awstest.Case{
		Resource: newDistribution(clients), Scope: awstest.Scope(""), Want: want,
		Changes: map[string][]modules.Value{
			"comment":                {text("another"), text("")},
			"alternate_domain_names": {modules.Strings([]string{"www.example.com", "example.com"}), modules.Null},
			"default_cache_behavior": {document(t,
				`{"TargetOriginId":"site","ViewerProtocolPolicy":"allow-all","Compress":false,"ForwardedValues":{"QueryString":true}}`), document(t, behavior)},
			"cache_behaviors": {document(t, `[{"PathPattern":"/b/*",`+behavior[1:]+`,{"PathPattern":"/a/*",`+
				behavior[1:]+`]`), modules.Null},
			"origins": {document(t,
				`[{"Id":"api","DomainName":"api.example.com","CustomOriginConfig":{"OriginProtocolPolicy":"https-only"},"CustomHeaders":{"Items":[{"HeaderName":"X-A","HeaderValue":"1"}]}},`+bucket+`]`)},
			"origin_access_control_id": {text("one"), text("two"), modules.Null},
			"origin_groups": {document(t,
				`[{"Id":"both","FailoverCriteria":{"StatusCodes":{"Items":[500]}},"Members":{"Items":[{"OriginId":"site"},{"OriginId":"api"}]}}]`), modules.Null},
			"custom_error_responses": {document(t,
				`[{"ErrorCode":404,"ResponseCode":"200","ResponsePagePath":"/index.html"},{"ErrorCode":403}]`),
				modules.Null},
			"default_root_object": {text("index.html"), modules.Null},
			"web_acl_id":          {text("arn:aws:wafv2:us-east-1:123456789012:global/webacl/a/1"), modules.Null},
			"geo_restriction": {document(t, `{"RestrictionType":"whitelist","Items":["FR","DE"]}`),
				document(t, `{"RestrictionType":"none"}`)},
			"logging": {document(t, `{"Bucket":"logs.s3.amazonaws.com","Prefix":"web/"}`),
				document(t, `{"Enabled":false}`)},
			"custom_ssl_certificate_id": {text(certificate)},
		},
		Along: map[string][]string{
			"origin_access_control_id":  {"origins"}, // which have its id
			"custom_ssl_certificate_id": {"ssl_support_method", "minimum_protocol_version"},
		},
	})
}

func TestOriginAccessControlLifecycle(t *testing.T) {
	t.Parallel()
	awstest.Lifecycle(t, awstest.Case{
		Resource: newOriginAccessControl(awstest.Clients(t)), Scope: awstest.Scope(""),
		Want: modules.Row{
			"name": text("life"), "description": text(""), "origin_type": text("s3"),
			"signing_behavior": text("always"), "signing_protocol": text("sigv4"),
		},
		Changes: map[string][]modules.Value{"description": {text("signs"), text("")}},
	})
}

// A text of one's own makes one distribution, and without one the token does.
func TestCallerReference(t *testing.T) {
	t.Parallel()
	r, scope := newDistribution(awstest.Clients(t)), awstest.Scope("")
	ctx, permit := t.Context(), awstest.Permit()
	want := distribution(t)
	for _, reference := range []string{"mine", ""} {
		expected := reference
		if want["caller_reference"] = modules.NonEmpty(reference); reference == "" {
			expected = "token"
		}
		made, err := awstest.Create(ctx, r, permit, scope, want, "token")
		if err != nil {
			t.Fatal(err)
		}
		rows, err := awstest.Get(ctx, r, scope, []modules.Row{made})
		if err != nil || len(rows) != 1 || rows[0]["caller_reference"] != text(expected) {
			t.Errorf("got %v, %v, want the caller reference %s", rows, err, expected)
		}
		if _, err := awstest.Create(ctx, r, permit, scope, want, "token"); modules.ClassOf(err) != modules.Exists {
			t.Errorf("created twice: %v, want class %s", err, modules.Exists)
		}
	}
}

// What AWS answers means the same as what people write, and a change leaves all
// else alone.
func TestConfiguration(t *testing.T) {
	t.Parallel()
	f := &fake{config: answered, status: deployed}
	clients := f.start(t)
	r, scope := newDistribution(clients), awstest.Scope("")
	ctx, permit := t.Context(), awstest.Permit()
	read := func() modules.Row {
		t.Helper()
		rows, err := awstest.Get(ctx, r, scope, []modules.Row{{"distribution_id": text("E1")}})
		if err != nil || len(rows) != 1 {
			t.Fatal(rows, err)
		}
		return rows[0]
	}
	have := read()
	for column, want := range map[string]modules.Value{
		"default_cache_behavior": document(t,
			`{"TargetOriginId":"site","ViewerProtocolPolicy":"redirect-to-https","CachePolicyId":"658327ea-f89d-4fab-a63d-7e88639e58f6"}`),
		"origins": document(t, `[{"Id":"api","DomainName":"api.example.com","CustomOriginConfig":{"OriginProtocolPolicy":"https-only"}},
			{"Id":"site","DomainName":"site.s3.us-east-1.amazonaws.com","OriginAccessControlId":"E2"}]`),
		"origin_access_control_id": text("files"),
		"cache_behaviors":          modules.Null, "origin_groups": modules.Null, "custom_error_responses": modules.Null,
		"alternate_domain_names": modules.Null,
		"geo_restriction":        document(t, `{"RestrictionType":"none"}`),
		"logging":                document(t, `{"Enabled":false}`),
		"default_root_object":    modules.Null, "web_acl_id": modules.Null,
		"custom_ssl_certificate_id": modules.Null, "ssl_support_method": text("sni-only"),
		"minimum_protocol_version": text("TLSv1.2_2019"), "caller_reference": text("mine"),
	} {
		if !r.Table().Column(column).Same(have[column], want) {
			t.Errorf("%s is %s, want the same as %s", column, have[column], want)
		}
	}
	for column, other := range map[string]string{
		"default_cache_behavior": `{"TargetOriginId":"site","ViewerProtocolPolicy":"redirect-to-https","CachePolicyId":"658327ea-f89d-4fab-a63d-7e88639e58f6","Compress":true}`,
		"origins":                `[{"Id":"site","DomainName":"site.s3.us-east-1.amazonaws.com","OriginAccessControlId":"E2"}]`,
		"geo_restriction":        `{"RestrictionType":"whitelist","Items":["DE"]}`,
	} {
		if r.Table().Column(column).Same(have[column], document(t, other)) {
			t.Errorf("%s is the same as %s", column, other)
		}
	}
	client, err := declare.Client(ctx, clients.Permitted(permit), scope, cloudfront.NewFromConfig)
	if err != nil {
		t.Fatal(err)
	}
	config := func() *cftypes.DistributionConfig {
		t.Helper()
		out, err := client.GetDistributionConfig(ctx, &cloudfront.GetDistributionConfigInput{Id: awssdk.String("E1")})
		if err != nil {
			t.Fatal(err)
		}
		return out.DistributionConfig
	}
	for _, c := range []struct {
		change modules.Row
		expect func(*cftypes.DistributionConfig)
	}{
		{modules.Row{"comment": text("second"), "alternate_domain_names": modules.Strings([]string{"a.example.com"})},
			func(c *cftypes.DistributionConfig) {
				c.Comment, c.Aliases = awssdk.String("second"),
					&cftypes.Aliases{Quantity: awssdk.Int32(1), Items: []string{"a.example.com"}}
			}},
		{modules.Row{"alternate_domain_names": modules.Null}, func(c *cftypes.DistributionConfig) {
			c.Aliases = &cftypes.Aliases{Quantity: awssdk.Int32(0)}
		}},
		// The certificate stays, which is IAM's.
		{modules.Row{"minimum_protocol_version": text("TLSv1.2_2021")}, func(c *cftypes.DistributionConfig) {
			c.ViewerCertificate.MinimumProtocolVersion = cftypes.MinimumProtocolVersionTLSv122021
			//lint:ignore SA1019 AWS answers them, and takes the others
			c.ViewerCertificate.Certificate, c.ViewerCertificate.CertificateSource = nil, ""
		}},
		{modules.Row{"custom_ssl_certificate_id": text(certificate)}, func(c *cftypes.DistributionConfig) {
			c.ViewerCertificate.ACMCertificateArn, c.ViewerCertificate.IAMCertificateId = awssdk.String(certificate),
				nil
		}},
		{modules.Row{"origin_access_control_id": text("other")}, func(c *cftypes.DistributionConfig) {
			c.Origins.Items[0].OriginAccessControlId = awssdk.String("E3")
		}},
		{modules.Row{"origin_access_control_id": modules.Null}, func(c *cftypes.DistributionConfig) {
			c.Origins.Items[0].OriginAccessControlId = awssdk.String("")
		}},
		{modules.Row{"custom_ssl_certificate_id": modules.Null}, func(c *cftypes.DistributionConfig) {
			c.ViewerCertificate = &cftypes.ViewerCertificate{CloudFrontDefaultCertificate: awssdk.Bool(true)}
		}},
	} {
		was, want, columns := config(), have.Clone(), []string{}
		for column, value := range c.change {
			want[column] = value
			columns = append(columns, column)
		}
		if err := awstest.Update(ctx, r, permit, scope, have, want, columns); err != nil {
			t.Fatalf("%v: %v", columns, err)
		}
		if c.expect(was); !reflect.DeepEqual(config(), was) {
			t.Errorf("%v: the configuration is %+v", columns, config())
		}
		if calls := f.take(); !slices.Equal(calls, []string{"PUT distribution/E1/config"}) {
			t.Errorf("%v: made the calls %v", columns, calls)
		}
		have = read()
	}
	// Both mean nothing without a certificate.
	if !have["ssl_support_method"].IsNull() || !have["minimum_protocol_version"].IsNull() {
		t.Errorf("read %v", have)
	}
	want := have.Clone()
	want["ssl_support_method"] = text("vip")
	if err := awstest.Update(ctx, r, permit, scope, have, want, []string{"ssl_support_method"}); modules.ClassOf(err) != modules.Invalid {
		t.Errorf("a method without a certificate: %v, want class %s", err, modules.Invalid)
	}
	// What somebody else has changed meanwhile is not overwritten.
	f.take()
	f.set(deployed)
	if err := awstest.Update(ctx, r, permit, scope, have, want, []string{"enabled"}); modules.ClassOf(err) != modules.Dependency {
		t.Errorf("overtaken: %v, want class %s", err, modules.Dependency)
	}
	if err := awstest.Update(ctx, r, permit, scope, have, want, []string{"enabled"}); err != nil {
		t.Errorf("again: %v", err)
	}
}

// Buckets are signed for by what the column refers to, unless origins names another. Documents that name none are those
// in which all buckets have the same.
func TestControl(t *testing.T) {
	t.Parallel()
	bucket := func(id, control string) string {
		text := `{"Id":"` + id + `","DomainName":"` + id + `.s3.us-east-1.amazonaws.com"`
		if control != "" {
			text += `,"OriginAccessControlId":"` + control + `"`
		}
		return text + "}"
	}
	list := func(origins ...string) string { return "[" + strings.Join(origins, ",") + "]" }
	identified := `{"Id":"old","DomainName":"old.s3.amazonaws.com","S3OriginConfig":{"OriginAccessIdentity":"o"}}`
	custom := `{"Id":"api","DomainName":"api.example.com","CustomOriginConfig":{"OriginProtocolPolicy":"https-only"}}`
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{list(bucket("a", ""), custom), list(custom, bucket("a", "E1")), true},
		{list(bucket("a", ""), bucket("b", "")), list(bucket("a", "E1"), bucket("b", "E1")), true},
		{list(bucket("a", ""), identified), list(bucket("a", "E1"), identified), true},
		{list(bucket("a", "E2")), list(bucket("a", "E1")), false},
		{list(bucket("a", ""), bucket("b", "")), list(bucket("a", "E1"), bucket("b", "")), false},
		{list(bucket("a", ""), bucket("b", "E1")), list(bucket("a", "E1"), bucket("b", "E1")), false},
		{list(bucket("a", "")), list(bucket("b", "E1")), false},
	} {
		if sameOrigins(c.a, c.b) != c.same || sameOrigins(c.b, c.a) != c.same {
			t.Errorf("%s and %s: want the same %t", c.a, c.b, c.same)
		}
	}
	parsed := func(text string) *cftypes.Origins {
		var origins cftypes.Origins
		if err := aws.ParseDocument("origins", modules.Text(text), &origins.Items); err != nil {
			t.Fatal(err)
		}
		return &origins
	}
	for _, c := range []struct {
		asked   bool
		origins string
		control string // that all have then; "": it is refused
	}{
		{true, list(bucket("a", ""), bucket("b", ""), custom, identified), "E1"},
		{true, list(bucket("a", "E1")), "E1"},
		{true, list(bucket("a", "E2")), ""},
		{true, list(custom, identified), ""},
		{false, list(bucket("a", "E2")), "E2"},
	} {
		origins := parsed(c.origins)
		err := fill(origins.Items, "E1", c.asked)
		if c.control == "" {
			if modules.ClassOf(err) != modules.Invalid || !strings.Contains(err.Error(), "origin_access_control_id") {
				t.Errorf("%s: %v, want class %s", c.origins, err, modules.Invalid)
			}
		} else if got := controlOf(origins.Items); err != nil || got != c.control {
			t.Errorf("%s: %v, all have %q, want %q", c.origins, err, got, c.control)
		}
	}
}

// A deletion disables, waits for that to be everywhere, and deletes.
func TestDelete(t *testing.T) {
	t.Parallel()
	f := &fake{config: answered, status: deployed}
	r, scope := newDistribution(f.start(t)), awstest.Scope("")
	ctx, permit := t.Context(), awstest.Permit()
	have := modules.Row{"distribution_id": text("E1")}
	for i, want := range [][]string{{"PUT distribution/E1/config"}, nil} {
		if err := awstest.Delete(ctx, r, permit, scope, have); modules.ClassOf(err) != modules.Dependency {
			t.Errorf("step %d: %v, want class %s", i, err, modules.Dependency)
		}
		if calls := f.take(); !slices.Equal(calls, want) {
			t.Errorf("step %d: made the calls %v, want %v", i, calls, want)
		}
	}
	f.set(deployed)
	if err := awstest.Delete(ctx, r, permit, scope, have); modules.ClassOf(err) != modules.Dependency {
		t.Errorf("overtaken: %v, want class %s", err, modules.Dependency)
	}
	f.take()
	if err := awstest.Delete(ctx, r, permit, scope, have); err != nil {
		t.Errorf("deployed: %v", err)
	}
	if calls := f.take(); !slices.Equal(calls, []string{"DELETE distribution/E1"}) {
		t.Errorf("made the calls %v", calls)
	}
	if rows, err := awstest.Get(ctx, r, scope, []modules.Row{have}); err != nil || len(rows) > 0 {
		t.Errorf("got %v, %v", rows, err)
	}
	if err := awstest.Delete(ctx, r, permit, scope, have); err != nil {
		t.Error(err)
	}
}

func TestSecure(t *testing.T) {
	acm := awssdk.String(certificate)
	for _, c := range []struct{ have, want cftypes.ViewerCertificate }{
		{cftypes.ViewerCertificate{}, cftypes.ViewerCertificate{CloudFrontDefaultCertificate: awssdk.Bool(true)}},
		{cftypes.ViewerCertificate{ACMCertificateArn: acm},
			cftypes.ViewerCertificate{CloudFrontDefaultCertificate: awssdk.Bool(false), ACMCertificateArn: acm,
				SSLSupportMethod:       cftypes.SSLSupportMethodSniOnly,
				MinimumProtocolVersion: cftypes.MinimumProtocolVersionTLSv122021}},
		{cftypes.ViewerCertificate{ACMCertificateArn: acm, SSLSupportMethod: cftypes.SSLSupportMethodVip},
			cftypes.ViewerCertificate{CloudFrontDefaultCertificate: awssdk.Bool(false), ACMCertificateArn: acm,
				SSLSupportMethod:       cftypes.SSLSupportMethodVip,
				MinimumProtocolVersion: cftypes.MinimumProtocolVersionTLSv1}},
	} {
		if err := secure(&c.have); err != nil || !reflect.DeepEqual(c.have, c.want) {
			t.Errorf("got %+v, %v, want %+v", c.have, err, c.want)
		}
	}
}

// Documents that mean the same, and some that do not.
func TestDocuments(t *testing.T) {
	r := newDistribution(awstest.Fake(""))
	for _, c := range []struct {
		column, a, b string
		same         bool
	}{
		{"default_cache_behavior", `{"ForwardedValues":{"QueryString":false}}`,
			`{"ForwardedValues":{"QueryString":false,"Cookies":{"Forward":"none"},"Headers":{"Quantity":0}},"MinTTL":0,"DefaultTTL":86400,"MaxTTL":31536000}`, true},
		{"default_cache_behavior", `{"ForwardedValues":{"QueryString":false},"MinTTL":90000}`,
			`{"ForwardedValues":{"QueryString":false},"MinTTL":90000,"DefaultTTL":90000}`, true},
		{"default_cache_behavior", `{"TrustedKeyGroups":{"Items":["b","a"]}}`,
			`{"TrustedKeyGroups":{"Enabled":true,"Quantity":2,"Items":["a","b"]}}`, true},
		{"default_cache_behavior", `{"TrustedKeyGroups":{"Items":["a"]}}`, `{}`, false},
		{"default_cache_behavior", `{"LambdaFunctionAssociations":{"Items":[{"EventType":"viewer-request"}]}}`,
			`{"LambdaFunctionAssociations":{"Items":[{"EventType":"viewer-request","IncludeBody":false}]}}`, true},
		{"default_cache_behavior", `{"GrpcConfig":{"Enabled":true}}`, `{}`, false},
		{"cache_behaviors", `[{"PathPattern":"/a"}]`, `[{"PathPattern":"/a","Compress":false}]`, true},
		{"cache_behaviors", `[{"PathPattern":"/a"},{"PathPattern":"/b"}]`,
			`[{"PathPattern":"/b"},{"PathPattern":"/a"}]`, false},
		{"origins", `[{"Id":"a","OriginShield":{"OriginShieldRegion":"us-east-1"}}]`,
			`[{"Id":"a","OriginShield":{"Enabled":true,"OriginShieldRegion":"us-east-1"}}]`, true},
		{"origins", `[{"Id":"a","VpcOriginConfig":{"VpcOriginId":"v"}}]`,
			`[{"Id":"a","VpcOriginConfig":{"VpcOriginId":"v","OriginReadTimeout":30,"OriginKeepaliveTimeout":5}}]`,
			true},
		{"origin_groups", `[{"Id":"a","Members":{"Items":[{"OriginId":"x"},{"OriginId":"y"}]}}]`,
			`[{"Id":"a","Members":{"Items":[{"OriginId":"y"},{"OriginId":"x"}]}}]`, false},
		{"custom_error_responses", `[{"ErrorCode":404},{"ErrorCode":403}]`,
			`[{"ErrorCode":403,"ErrorCachingMinTTL":10},{"ErrorCode":404}]`, true},
		{"logging", `{"Bucket":"b"}`, `{"Enabled":true,"Bucket":"b","Prefix":"","IncludeCookies":false}`, true},
	} {
		if r.Table().Column(c.column).Same(document(t, c.a), document(t, c.b)) != c.same {
			t.Errorf("%s: %s and %s: want %t", c.column, c.a, c.b, c.same)
		}
	}
}
