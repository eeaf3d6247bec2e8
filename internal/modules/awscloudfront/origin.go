package awscloudfront

import (
	"context"
	"fmt"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudfront"
	cftypes "github.com/aws/aws-sdk-go-v2/service/cloudfront/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// An origin names its origin access control in the document of the column origins, by an id that is
// not known before it is made. The column origin_access_control_id refers to a record instead: both
// can be made in one transaction. What origins leaves out, that column says, so that a document
// without any is the same as one in which all have the same.

// signed reports whether an origin is a bucket that an origin access control may be of. One with an
// origin access identity, its predecessor, takes no other (page Origin).
func signed(o *cftypes.Origin) bool {
	return o.CustomOriginConfig == nil && o.VpcOriginConfig == nil &&
		(o.S3OriginConfig == nil || awssdk.ToString(o.S3OriginConfig.OriginAccessIdentity) == "")
}

// controlOf returns the origin access control that all buckets have, "" if there is none such.
func controlOf(origins []cftypes.Origin) string {
	common, first := "", true
	for i := range origins {
		if !signed(&origins[i]) {
			continue
		}
		id := awssdk.ToString(origins[i].OriginAccessControlId)
		if !first && id != common {
			return ""
		}
		common, first = id, false
	}
	return common
}

// setControls has all buckets signed by one origin access control, or by none, "".
func setControls(origins []cftypes.Origin, id string) {
	for i := range origins {
		if signed(&origins[i]) {
			origins[i].OriginAccessControlId = &id
		}
	}
}

// uncontrolled reports whether no bucket names an origin access control.
func uncontrolled(origins []cftypes.Origin) bool {
	for i := range origins {
		if signed(&origins[i]) && awssdk.ToString(origins[i].OriginAccessControlId) != "" {
			return false
		}
	}
	return true
}

// sameOrigins compares two documents of origins.
func sameOrigins(a, b string) bool {
	x, y := bare(a, b), bare(b, a)
	return alikeOrigins(x, y)
}

var alikeOrigins = declare.Alike(whole(each(originate)))

// bare returns a document of origins without the origin access control that all its buckets have, if
// the other one names none.
func bare(document, other string) string {
	var origins, others []cftypes.Origin
	if aws.ParseDocument("", modules.Text(document), &origins) != nil ||
		aws.ParseDocument("", modules.Text(other), &others) != nil ||
		controlOf(origins) == "" || !uncontrolled(others) {
		return document
	}
	setControls(origins, "")
	v, err := aws.Document(origins)
	if err != nil {
		return document
	}
	return v.String()
}

// control completes the origins that a distribution is to have: those that name no origin access
// control get that of the column.
func control(s *declare.Step, origins *cftypes.Origins) error {
	id := s.Want["origin_access_control_id"].String()
	if id == "" || origins == nil {
		return nil
	}
	for i := range origins.Items {
		o := &origins.Items[i]
		if !signed(o) {
			continue
		}
		switch named := awssdk.ToString(o.OriginAccessControlId); {
		case named == "":
			o.OriginAccessControlId = &id
		case named != id && (s.Have == nil || s.Changes("origin_access_control_id")):
			return &modules.Error{Class: modules.Invalid, Code: "InvalidOriginAccessControl",
				Message: fmt.Sprintf("origin %s names the origin access control %s in origins, and "+
					"origin_access_control_id names %s: leave one of them out", awssdk.ToString(o.Id), named, id)}
		}
	}
	return nil
}

// setControl changes by what requests to buckets are signed, where the origins stay as they are.
func setControl(ctx context.Context, s *declare.Step) error {
	if s.Changes("origins") {
		return nil // whose change has it
	}
	c, id := declare.ClientOf[*cloudfront.Client](s), s.Have["distribution_id"].Ptr()
	now, err := c.GetDistributionConfig(ctx, &cloudfront.GetDistributionConfigInput{Id: id})
	if err != nil {
		return err
	}
	config := now.DistributionConfig
	setControls(config.Origins.Items, s.Want["origin_access_control_id"].String())
	_, err = c.UpdateDistribution(ctx,
		&cloudfront.UpdateDistributionInput{Id: id, DistributionConfig: config, IfMatch: now.ETag})
	return err
}
