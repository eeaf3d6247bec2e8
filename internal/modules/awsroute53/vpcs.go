package awsroute53

import (
	"cmp"
	"context"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	route53types "github.com/aws/aws-sdk-go-v2/service/route53/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// place is a VPC with its region, as the column vpcs has it.
type place struct{ id, region string }

func placeOf(v route53types.VPC) place {
	return place{awssdk.ToString(v.VPCId), string(v.VPCRegion)}
}

// vpcsIn returns the VPCs that a value of the column vpcs names.
func vpcsIn(v modules.Value) ([]route53types.VPC, error) {
	var list []route53types.VPC
	if v.IsNull() {
		return nil, nil
	}
	err := aws.ParseDocument("vpcs", v, &list)
	return list, err
}

// sameVPCs reports whether two lists name the same VPCs.
var sameVPCs = declare.Equal(func(text string) ([]place, error) {
	list, err := vpcsIn(modules.Text(text))
	return order(list), err
}, func(x, y []place) bool { return slices.Equal(x, y) })

func order(list []route53types.VPC) []place {
	places := make([]place, len(list))
	for i, v := range list {
		places[i] = placeOf(v)
	}
	slices.SortFunc(places, func(a, b place) int {
		if a.id != b.id {
			return cmp.Compare(a.id, b.id)
		}
		return cmp.Compare(a.region, b.region)
	})
	return slices.Compact(places)
}

// firstVPC makes a zone with VPCs private: CreateHostedZone takes one of them.
func firstVPC(_ context.Context, s *declare.Step, in *route53.CreateHostedZoneInput) error {
	list, err := vpcsIn(s.Want["vpcs"])
	if len(list) > 0 {
		in.VPC = &list[0]
	}
	return err
}

// setVPCs associates a private zone with the VPCs that are wanted, and then ends the other associations: it never has
// none, which Route 53 refuses (page DisassociateVPCFromHostedZone, LastVPCAssociation). What it has is read first: of
// a zone that has just been created nobody has said that it has one.
func setVPCs(ctx context.Context, s *declare.Step) error {
	want, err := vpcsIn(s.Want["vpcs"])
	if err != nil {
		return err
	}
	client, id := declare.ClientOf[*route53.Client](s), s.Have["hosted_zone_id"].Ptr()
	zone, err := client.GetHostedZone(ctx, &route53.GetHostedZoneInput{Id: id})
	if err != nil {
		return err
	}
	had, wanted := order(zone.VPCs), order(want)
	for _, p := range declare.Without(wanted, had) {
		if _, err := client.AssociateVPCWithHostedZone(ctx,
			&route53.AssociateVPCWithHostedZoneInput{HostedZoneId: id, VPC: p.vpc()}); err != nil {
			return err
		}
	}
	for _, p := range declare.Without(had, wanted) {
		if _, err := client.DisassociateVPCFromHostedZone(ctx,
			&route53.DisassociateVPCFromHostedZoneInput{HostedZoneId: id, VPC: p.vpc()}); err != nil &&
			!aws.HasCode(err, "VPCAssociationNotFound") {
			return err
		}
	}
	return nil
}

func (p place) vpc() *route53types.VPC {
	return &route53types.VPC{VPCId: &p.id, VPCRegion: route53types.VPCRegion(p.region)}
}
