package awsvpc

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// availabilityZone is the table availability_zone, of things that nobody can
// make.
type availabilityZone struct {
	clients     *aws.Clients
	description *modules.Table
}

func newAvailabilityZone(c *aws.Clients) *availabilityZone {
	assigned := func(name, doc string) modules.Column {
		return modules.Column{Name: name, Type: modules.TypeText, Assigned: true, Doc: doc}
	}
	return &availabilityZone{c, &modules.Table{
		Name:     "availability_zone",
		Doc:      "The availability zones that the account can use. Only read: AWS makes them.",
		Provider: aws.Provider,
		Reach:    modules.PerRegion,
		Columns: aws.Regional(
			modules.Column{Name: "name", Type: modules.TypeText, Identity: true, Assigned: true,
				Doc: "The zone's name, such as us-east-1a, which may be another zone in another account."},
			assigned("zone_id", "Its id, such as use1-az1, which is the same in all accounts."),
			assigned("zone_type", "availability-zone, local-zone or wavelength-zone."),
			assigned("state", "available, information, impaired, unavailable or constrained."),
		),
	}}
}

// Table returns the description.
func (r *availabilityZone) Table() *modules.Table { return r.description }

// List gives every zone of the region to page. There are no pages.
func (r *availabilityZone) List(ctx context.Context, scope modules.Scope, page func([]modules.Row) error) error {
	client, err := r.clients.EC2(ctx, scope)
	if err != nil {
		return err
	}
	out, err := client.DescribeAvailabilityZones(ctx, &ec2.DescribeAvailabilityZonesInput{})
	if err != nil {
		return err
	}
	rows := make([]modules.Row, len(out.AvailabilityZones))
	for i, z := range out.AvailabilityZones {
		rows[i] = modules.Row{
			"name":      modules.TextPtr(z.ZoneName),
			"zone_id":   modules.TextPtr(z.ZoneId),
			"zone_type": nonEmpty(z.ZoneType),
			"state":     modules.NonEmpty(z.State),
		}
	}
	return page(rows)
}

// Get reads these zones: a region has few enough to read all.
func (r *availabilityZone) Get(ctx context.Context, scope modules.Scope, identities []modules.Row) ([]modules.Row, error) {
	page, rows := aws.Collector()
	if err := r.List(ctx, scope, page); err != nil {
		return nil, err
	}
	names := aws.Column(identities, "name")
	return slices.DeleteFunc(rows(), func(row modules.Row) bool { return !slices.Contains(names, row["name"].String()) }), nil
}
