package awscloudfront

//lint:file-ignore SA1019 AWS recommends cache policies; distributions that have ForwardedValues stay

import (
	"encoding/json"
	"reflect"
	"sort"

	cftypes "github.com/aws/aws-sdk-go-v2/service/cloudfront/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// part has a column hold a part of the configuration as a document. complete adds
// the defaults of what the document leaves out: AWS answers with them, and an
// update has to send most (CloudFront Developer Guide, "Required fields for
// creating and updating distributions").
func part[T any](c declare.Column, complete func(*T)) declare.Column {
	whole := whole(complete)
	return c.Same(declare.Alike(whole)).As(declare.Codec{
		Decode: func(member any) (modules.Value, error) {
			v := member.(T)
			if list := reflect.ValueOf(v); list.Kind() == reflect.Slice && list.Len() == 0 {
				return modules.Null, nil
			}
			count(reflect.ValueOf(&v), false)
			return aws.Document(v)
		},
		Encode: func(value modules.Value) (any, error) {
			var v T
			err := aws.ParseDocument(c.Name, value, &v)
			whole(&v)
			return v, err
		},
	})
}

// whole completes a part, and counts what it has.
func whole[T any](complete func(*T)) func(*T) {
	return func(v *T) {
		complete(v)
		count(reflect.ValueOf(v), true)
	}
}

// each completes the members of a list.
func each[T any](complete func(*T)) func(*[]T) {
	return func(list *[]T) {
		for i := range *list {
			complete(&(*list)[i])
		}
	}
}

// count counts the Items of each list that is somewhere in v, or removes the
// counts. Lists are sorted when they are counted, but for those whose order counts.
func count(v reflect.Value, counted bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			count(v.Elem(), counted)
		}
	case reflect.Slice:
		for i := range v.Len() {
			count(v.Index(i), counted)
		}
		if kind := v.Type().Elem(); counted && kind != reflect.TypeFor[cftypes.CacheBehavior]() &&
			kind != reflect.TypeFor[cftypes.OriginGroupMember]() {
			text := func(i int) string {
				text, _ := json.Marshal(v.Index(i).Interface()) // structures of the SDK's, and texts
				return string(text)
			}
			sort.SliceStable(v.Interface(), func(i, j int) bool { return text(i) < text(j) })
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				count(v.Field(i), counted)
			}
		}
		if quantity := v.FieldByName("Quantity"); quantity.IsValid() {
			items := v.FieldByName("Items")
			n := int32(items.Len()) // #nosec G115 -- a configuration has a few hundred at most
			quantity.SetZero()
			if counted {
				quantity.Set(reflect.ValueOf(&n))
			}
			if n == 0 { // an empty element is refused
				items.SetZero()
			}
		}
	}
}

// assign sets the members of to that from has, too, and that say something there.
func assign(to, from any) {
	t, f := reflect.ValueOf(to).Elem(), reflect.ValueOf(from).Elem()
	for i := range t.NumField() {
		if m := f.FieldByName(t.Type().Field(i).Name); m.IsValid() && !m.IsZero() && t.Field(i).CanSet() {
			t.Field(i).Set(m)
		}
	}
}

// behave completes the default cache behavior (page DefaultCacheBehavior; the
// defaults are those of AWS::CloudFront::Distribution). A cache policy takes the
// place of ForwardedValues and the times to live.
func behave(b *cftypes.DefaultCacheBehavior) {
	reads := []cftypes.Method{cftypes.MethodGet, cftypes.MethodHead}
	declare.Or(&b.AllowedMethods, cftypes.AllowedMethods{Items: reads})
	declare.Or(&b.AllowedMethods.CachedMethods, cftypes.CachedMethods{Items: append([]cftypes.Method(nil), reads...)})
	declare.Or(&b.Compress, false)
	declare.Or(&b.SmoothStreaming, false)
	declare.Or(&b.FieldLevelEncryptionId, "")
	declare.Or(&b.FunctionAssociations, cftypes.FunctionAssociations{})
	declare.Or(&b.LambdaFunctionAssociations, cftypes.LambdaFunctionAssociations{})
	for i := range b.LambdaFunctionAssociations.Items {
		declare.Or(&b.LambdaFunctionAssociations.Items[i].IncludeBody, false)
	}
	declare.Or(&b.TrustedKeyGroups, cftypes.TrustedKeyGroups{})
	declare.Or(&b.TrustedKeyGroups.Enabled, len(b.TrustedKeyGroups.Items) > 0)
	declare.Or(&b.TrustedSigners, cftypes.TrustedSigners{})
	declare.Or(&b.TrustedSigners.Enabled, len(b.TrustedSigners.Items) > 0)
	if b.GrpcConfig != nil && b.GrpcConfig.Enabled != nil && !*b.GrpcConfig.Enabled {
		b.GrpcConfig = nil
	}
	switch f := b.ForwardedValues; {
	case b.CachePolicyId != nil && *b.CachePolicyId != "":
		b.ForwardedValues, b.MinTTL, b.DefaultTTL, b.MaxTTL = nil, nil, nil, nil
	case f != nil:
		declare.Or(&f.QueryString, false)
		declare.Or(&f.QueryStringCacheKeys, cftypes.QueryStringCacheKeys{})
		declare.Or(&f.Headers, cftypes.Headers{})
		declare.Or(&f.Cookies, cftypes.CookiePreference{Forward: cftypes.ItemSelectionNone})
		declare.Or(&b.MinTTL, 0)
		declare.Or(&b.DefaultTTL, max(86400, *b.MinTTL))
		declare.Or(&b.MaxTTL, max(31536000, *b.DefaultTTL))
	}
}

// behaveAt completes one of the other cache behaviors, which have a path besides.
func behaveAt(b *cftypes.CacheBehavior) {
	var rest cftypes.DefaultCacheBehavior
	assign(&rest, b)
	behave(&rest)
	*b = cftypes.CacheBehavior{PathPattern: b.PathPattern}
	assign(b, &rest)
}

// originate completes an origin (pages Origin, CustomOriginConfig, S3OriginConfig
// and VpcOriginConfig). Of SSL and TLS an origin is spoken to in version 1.2 alone,
// as distributions are made in AWS's console; those made by the API speak SSLv3, too.
func originate(o *cftypes.Origin) {
	declare.Or(&o.ConnectionAttempts, 3)
	declare.Or(&o.ConnectionTimeout, 10)
	declare.Or(&o.CustomHeaders, cftypes.CustomHeaders{})
	declare.Or(&o.OriginAccessControlId, "")
	declare.Or(&o.OriginPath, "")
	declare.Or(&o.OriginShield, cftypes.OriginShield{})
	declare.Or(&o.OriginShield.Enabled, o.OriginShield.OriginShieldRegion != nil)
	switch custom, vpc := o.CustomOriginConfig, o.VpcOriginConfig; {
	case custom != nil:
		declare.Or(&custom.HTTPPort, 80)
		declare.Or(&custom.HTTPSPort, 443)
		declare.Or(&custom.OriginKeepaliveTimeout, 5)
		declare.Or(&custom.OriginReadTimeout, 30)
		declare.Or(&custom.OriginSslProtocols,
			cftypes.OriginSslProtocols{Items: []cftypes.SslProtocol{cftypes.SslProtocolTLSv12}})
		if custom.IpAddressType == "" {
			custom.IpAddressType = cftypes.IpAddressTypeIpv4
		}
	case vpc != nil:
		declare.Or(&vpc.OriginKeepaliveTimeout, 5)
		declare.Or(&vpc.OriginReadTimeout, 30)
	default:
		declare.Or(&o.S3OriginConfig, cftypes.S3OriginConfig{})
		declare.Or(&o.S3OriginConfig.OriginAccessIdentity, "")
		declare.Or(&o.S3OriginConfig.OriginReadTimeout, 30)
	}
}

// group completes a group of origins (page OriginGroup).
func group(g *cftypes.OriginGroup) {
	if g.SelectionCriteria == "" {
		g.SelectionCriteria = cftypes.OriginGroupSelectionCriteriaDefault
	}
}

// answer completes what is answered instead of an error. CloudFront keeps it for
// ten seconds ("Control how long CloudFront caches errors", CloudFront Developer
// Guide).
func answer(r *cftypes.CustomErrorResponse) {
	declare.Or(&r.ErrorCachingMinTTL, 10)
	declare.Or(&r.ResponseCode, "")
	declare.Or(&r.ResponsePagePath, "")
}

// log completes where requests are logged (page LoggingConfig).
func log(l *cftypes.LoggingConfig) {
	declare.Or(&l.Bucket, "")
	declare.Or(&l.Enabled, *l.Bucket != "")
	declare.Or(&l.IncludeCookies, false)
	declare.Or(&l.Prefix, "")
}

// secure completes how viewers use HTTPS (page ViewerCertificate).
func secure(v *cftypes.ViewerCertificate) error {
	own := v.ACMCertificateArn != nil || v.IAMCertificateId != nil
	if !own && (v.SSLSupportMethod != "" || v.MinimumProtocolVersion != "") {
		return &modules.Error{Class: modules.Invalid, Code: "InvalidViewerCertificate",
			Message: "ssl_support_method and minimum_protocol_version need a certificate: set " +
				"custom_ssl_certificate_id"}
	}
	byCloudFront := !own
	v.CloudFrontDefaultCertificate = &byCloudFront
	if own && v.SSLSupportMethod == "" {
		v.SSLSupportMethod = cftypes.SSLSupportMethodSniOnly
	}
	switch {
	case !own || v.MinimumProtocolVersion != "":
	case v.SSLSupportMethod == cftypes.SSLSupportMethodVip: // which speaks no later version
		v.MinimumProtocolVersion = cftypes.MinimumProtocolVersionTLSv1
	default:
		v.MinimumProtocolVersion = cftypes.MinimumProtocolVersionTLSv122021
	}
	return nil
}
