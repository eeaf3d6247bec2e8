package awsvpc

import (
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// newAvailabilityZone declares the table availability_zone, of things that nobody
// can make.
func newAvailabilityZone(c *aws.Clients) *declare.Resource {
	return declare.New(c, declare.Table[ec2types.AvailabilityZone]{
		Name:    "availability_zone",
		Doc:     "The availability zones that the account can use. Only read: AWS makes them.",
		Service: declare.Service(ec2.NewFromConfig),
		Columns: []declare.Column{
			declare.ID("name", "ZoneName",
				"The zone's name, such as us-east-1a, which may be another zone in another account."),
			declare.Text("zone_id", "ZoneId",
				"Its id, such as use1-az1, which is the same in all accounts.").Computed(),
			declare.Text("zone_type", "ZoneType", "availability-zone, local-zone or wavelength-zone.").Computed(),
			declare.Text("state", "State", "available, information, impaired, unavailable or constrained.").Computed(),
		},
		EventMappings: modules.EventMappings("ec2.amazonaws.com",
			modules.Unnamed("ModifyAvailabilityZoneGroup"),
		),
		List: declare.Once(declare.Call((*ec2.Client).DescribeAvailabilityZones), "AvailabilityZones"),
		Get:  declare.Search(), // a region has few enough to read all
	})
}
