package awscloudfront

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"iasql/internal/aws"
	"iasql/internal/test/awstest"
)

// fake answers for one distribution as the CloudFront API Reference has it (REST,
// XML). moto knows no versions (If-Match), has changes in effect at once, and
// deletes what is enabled.
type fake struct {
	mu       sync.Mutex
	config   string // DistributionConfig in XML, "" once it is deleted
	version  int
	status   string
	overtake bool // another change comes between the next read and write
	calls    []string
}

func (f *fake) start(t *testing.T) *aws.Clients {
	t.Helper()
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	return awstest.Fake(server.URL)
}

// take returns the calls since the last take that change something.
func (f *fake) take() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	calls := f.calls
	f.calls = nil
	return calls
}

// set has the distribution in that status, and another change come between the next
// read and write.
func (f *fake) set(status string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.status, f.overtake = status, true
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w.Header().Set("x-amzn-RequestId", "4442587f-b7d0-a2f9") // which every answer has
	refuse := func(status int, code string) {
		w.WriteHeader(status)
		fmt.Fprintf(w, `<ErrorResponse xmlns="http://cloudfront.amazonaws.com/doc/2020-05-31/"><Error><Type>Sender</Type><Code>%s</Code><Message>no</Message></Error></ErrorResponse>`, code)
	}
	path := strings.TrimPrefix(r.URL.Path, "/2020-05-31/")
	if r.Method != http.MethodGet {
		f.calls = append(f.calls, r.Method+" "+path)
	}
	switch {
	case path == "tagging":
		fmt.Fprint(w, `<Tags><Items/></Tags>`)
		return
	case path == "origin-access-control":
		fmt.Fprint(w, `<OriginAccessControlList><Items><OriginAccessControlSummary><Id>E2</Id><Name>files</Name></OriginAccessControlSummary>`+
			`<OriginAccessControlSummary><Id>E3</Id><Name>other</Name></OriginAccessControlSummary></Items></OriginAccessControlList>`)
		return
	case !strings.HasPrefix(path, "distribution/E1") || f.config == "":
		refuse(http.StatusNotFound, "NoSuchDistribution")
		return
	case r.Method != http.MethodGet && r.Header.Get("If-Match") != f.etag():
		refuse(http.StatusPreconditionFailed, "PreconditionFailed")
		return
	}
	switch r.Method {
	case http.MethodPut:
		body, _ := io.ReadAll(r.Body)
		f.config, f.status = string(body), "InProgress"
		f.version++
	case http.MethodDelete:
		if !strings.Contains(f.config, off) {
			refuse(http.StatusConflict, "DistributionNotDisabled")
			return
		}
		f.config = ""
		w.WriteHeader(http.StatusNoContent)
		return
	}
	w.Header().Set("ETag", f.etag())
	if r.Method == http.MethodGet && strings.HasSuffix(path, "/config") {
		fmt.Fprint(w, f.config)
	} else {
		fmt.Fprintf(w, `<Distribution><Id>E1</Id><ARN>arn:aws:cloudfront::123456789012:distribution/E1</ARN><Status>%s</Status><DomainName>d1.cloudfront.net</DomainName>%s</Distribution>`, f.status, f.config)
	}
	if r.Method == http.MethodGet && f.overtake {
		f.version, f.overtake = f.version+1, false
	}
}

func (f *fake) etag() string { return fmt.Sprintf("V%d", f.version) }

// off is what a configuration, as the SDK writes it, has when its distribution is
// disabled.
const off = `<Enabled>false</Enabled><HttpVersion>`

// answered is a configuration as CloudFront answers it: with all its defaults, and
// with much that no column shows.
const answered = `<DistributionConfig xmlns="http://cloudfront.amazonaws.com/doc/2020-05-31/">
<CallerReference>mine</CallerReference><Aliases><Quantity>0</Quantity></Aliases><DefaultRootObject></DefaultRootObject>
<Origins><Quantity>2</Quantity><Items>
<Origin><Id>site</Id><DomainName>site.s3.us-east-1.amazonaws.com</DomainName><OriginPath></OriginPath><CustomHeaders><Quantity>0</Quantity></CustomHeaders>
<S3OriginConfig><OriginAccessIdentity></OriginAccessIdentity><OriginReadTimeout>30</OriginReadTimeout></S3OriginConfig>
<ConnectionAttempts>3</ConnectionAttempts><ConnectionTimeout>10</ConnectionTimeout><OriginShield><Enabled>false</Enabled></OriginShield><OriginAccessControlId>E2</OriginAccessControlId></Origin>
<Origin><Id>api</Id><DomainName>api.example.com</DomainName><OriginPath></OriginPath><CustomHeaders><Quantity>0</Quantity></CustomHeaders>
<CustomOriginConfig><HTTPPort>80</HTTPPort><HTTPSPort>443</HTTPSPort><OriginProtocolPolicy>https-only</OriginProtocolPolicy><OriginSslProtocols><Quantity>1</Quantity><Items><SslProtocol>TLSv1.2</SslProtocol></Items></OriginSslProtocols>
<OriginReadTimeout>30</OriginReadTimeout><OriginKeepaliveTimeout>5</OriginKeepaliveTimeout><IpAddressType>ipv4</IpAddressType></CustomOriginConfig>
<ConnectionAttempts>3</ConnectionAttempts><ConnectionTimeout>10</ConnectionTimeout><OriginShield><Enabled>false</Enabled></OriginShield><OriginAccessControlId></OriginAccessControlId></Origin>
</Items></Origins><OriginGroups><Quantity>0</Quantity></OriginGroups>
<DefaultCacheBehavior><TargetOriginId>site</TargetOriginId><TrustedSigners><Enabled>false</Enabled><Quantity>0</Quantity></TrustedSigners><TrustedKeyGroups><Enabled>false</Enabled><Quantity>0</Quantity></TrustedKeyGroups>
<ViewerProtocolPolicy>redirect-to-https</ViewerProtocolPolicy><AllowedMethods><Quantity>2</Quantity><Items><Method>HEAD</Method><Method>GET</Method></Items>
<CachedMethods><Quantity>2</Quantity><Items><Method>HEAD</Method><Method>GET</Method></Items></CachedMethods></AllowedMethods><SmoothStreaming>false</SmoothStreaming><Compress>false</Compress>
<LambdaFunctionAssociations><Quantity>0</Quantity></LambdaFunctionAssociations><FunctionAssociations><Quantity>0</Quantity></FunctionAssociations><FieldLevelEncryptionId></FieldLevelEncryptionId>
<CachePolicyId>658327ea-f89d-4fab-a63d-7e88639e58f6</CachePolicyId><GrpcConfig><Enabled>false</Enabled></GrpcConfig></DefaultCacheBehavior>
<CacheBehaviors><Quantity>0</Quantity></CacheBehaviors><CustomErrorResponses><Quantity>0</Quantity></CustomErrorResponses><Comment>first</Comment>
<Logging><Enabled>false</Enabled><IncludeCookies>false</IncludeCookies><Bucket></Bucket><Prefix></Prefix></Logging><PriceClass>PriceClass_All</PriceClass><Enabled>true</Enabled>
<ViewerCertificate><CloudFrontDefaultCertificate>false</CloudFrontDefaultCertificate><IAMCertificateId>ASCA1</IAMCertificateId><SSLSupportMethod>sni-only</SSLSupportMethod><MinimumProtocolVersion>TLSv1.2_2019</MinimumProtocolVersion>
<Certificate>ASCA1</Certificate><CertificateSource>iam</CertificateSource></ViewerCertificate>
<Restrictions><GeoRestriction><RestrictionType>none</RestrictionType><Quantity>0</Quantity></GeoRestriction></Restrictions><WebACLId></WebACLId><HttpVersion>http2</HttpVersion><IsIPV6Enabled>true</IsIPV6Enabled>
<ContinuousDeploymentPolicyId>C1</ContinuousDeploymentPolicyId><Staging>false</Staging><AnycastIpListId>A1</AnycastIpListId><CacheTagConfig><HeaderName>tags</HeaderName></CacheTagConfig>
</DistributionConfig>`
