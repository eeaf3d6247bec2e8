package awscloudfront

import (
	"context"
	"fmt"
	"slices"

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

// nameControls reads by which origin access control the requests of distributions to buckets are signed.
// Origins have its id, and records refer to its name, which stands for its successor, too. Where that may
// not be read it is unknown.
func nameControls(ctx context.Context, s *declare.Step, list []*cftypes.Distribution,
	rows []modules.Row) error {
	ids, some := make([]string, len(list)), false
	for i, d := range list {
		if d.DistributionConfig != nil && d.DistributionConfig.Origins != nil {
			ids[i] = controlOf(d.DistributionConfig.Origins.Items)
		}
		some = some || ids[i] != ""
	}
	names := map[string]string{}
	if some {
		all, err := declare.All[cftypes.OriginAccessControlSummary](ctx, s, controls())
		if err != nil && !modules.NotPermitted(err) {
			return err
		}
		for _, c := range all {
			names[awssdk.ToString(c.Id)] = awssdk.ToString(c.Name)
		}
	}
	for i, row := range rows {
		name, known := names[ids[i]]
		switch {
		case ids[i] == "":
			row["origin_access_control_id"] = modules.Null
		case known:
			row["origin_access_control_id"] = modules.Text(name)
		default:
			delete(row, "origin_access_control_id")
		}
	}
	return nil
}

// controlID returns the id of the origin access control that the column names, "" if it is NULL.
func controlID(ctx context.Context, s *declare.Step) (string, error) {
	name := s.Want["origin_access_control_id"]
	if name.IsNull() {
		return "", nil
	}
	all, err := declare.All[cftypes.OriginAccessControlSummary](ctx, s, controls())
	if err != nil {
		return "", err
	}
	for _, c := range all {
		if awssdk.ToString(c.Name) == name.String() {
			return awssdk.ToString(c.Id), nil
		}
	}
	return "", &modules.Error{Class: modules.Dependency, Code: "NoSuchOriginAccessControl",
		Message: "waits until there is an origin access control " + name.String()}
}

// control completes the origins that a distribution is to have: those that name no origin access
// control get that of the column.
func control(ctx context.Context, s *declare.Step, origins *cftypes.Origins) error {
	id, err := controlID(ctx, s)
	if err != nil || id == "" || origins == nil {
		return err
	}
	return fill(origins.Items, id, s.Have == nil || s.Changes("origin_access_control_id"))
}

// fill gives buckets that name no origin access control one. asked: it is asked for, so that no other may be named.
func fill(origins []cftypes.Origin, id string, asked bool) error {
	if asked && !slices.ContainsFunc(origins, func(o cftypes.Origin) bool { return signed(&o) }) {
		return &modules.Error{Class: modules.Invalid, Code: "InvalidOriginAccessControl",
			Message: "origin_access_control_id is for origins that are buckets without an OriginAccessIdentity, and " +
				"there is none: leave it out, or name it in origins as OriginAccessControlId"}
	}
	for i := range origins {
		o := &origins[i]
		if !signed(o) {
			continue
		}
		switch named := awssdk.ToString(o.OriginAccessControlId); {
		case named == "":
			o.OriginAccessControlId = &id
		case named != id && asked:
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
	control, err := controlID(ctx, s)
	if err != nil {
		return err
	}
	c, id := declare.ClientOf[*cloudfront.Client](s), s.Have["distribution_id"].Ptr()
	now, err := c.GetDistributionConfig(ctx, &cloudfront.GetDistributionConfigInput{Id: id})
	if err != nil {
		return err
	}
	origins := now.DistributionConfig.Origins.Items
	setControls(origins, control)
	if control != "" {
		if err := fill(origins, control, true); err != nil {
			return err
		}
	}
	_, err = c.UpdateDistribution(ctx,
		&cloudfront.UpdateDistributionInput{Id: id, DistributionConfig: now.DistributionConfig, IfMatch: now.ETag})
	return err
}
