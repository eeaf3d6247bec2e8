package awsvpc

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// elasticIP is the table elastic_ip.
type elasticIP struct {
	aws.EC2Objects[ec2types.Address]
}

func newElasticIP(c *aws.Clients) *elasticIP {
	return &elasticIP{aws.EC2Objects[ec2types.Address]{
		Clients: c,
		Description: &modules.Table{
			Name:     "elastic_ip",
			Doc:      "Elastic IP addresses: public IPv4 addresses that stay the account's until they are released.",
			Provider: aws.Provider,
			Reach:    modules.PerRegion,
			Creation: modules.ByTag,
			Columns: aws.Regional(
				modules.Column{Name: "allocation_id", Type: modules.TypeText, Identity: true, Assigned: true,
					Doc: "The allocation's id, such as eipalloc-0a1b2c3d; NULL until it is allocated."},
				modules.Column{Name: "public_ip", Type: modules.TypeText, Assigned: true,
					Doc: "The address."},
				modules.Column{Name: "association_id", Type: modules.TypeText, Assigned: true,
					Doc: "The id of its association with what uses it; NULL while nothing does."},
				modules.Column{Name: "instance_id", Type: modules.TypeText, Assigned: true,
					Doc: "The instance that uses it."},
				modules.Column{Name: "network_interface_id", Type: modules.TypeText, Assigned: true,
					Doc: "The network interface that uses it."},
				aws.TagsColumn(),
			),
		},
		IDFilter: "allocation-id",
		// DescribeAddresses has no pages.
		Describe: func(ctx context.Context, client *ec2.Client, filters []ec2types.Filter, page func([]ec2types.Address) error) error {
			out, err := client.DescribeAddresses(ctx, &ec2.DescribeAddressesInput{Filters: filters})
			if err != nil {
				return err
			}
			return page(out.Addresses)
		},
		Rows: func(_ context.Context, _ *ec2.Client, addresses []ec2types.Address) ([]modules.Row, error) {
			rows := make([]modules.Row, 0, len(addresses))
			for _, a := range addresses {
				if a.AllocationId == nil { // of EC2-Classic
					continue
				}
				rows = append(rows, modules.Row{
					"allocation_id":        modules.TextPtr(a.AllocationId),
					"public_ip":            modules.TextPtr(a.PublicIp),
					"association_id":       nonEmpty(a.AssociationId),
					"instance_id":          nonEmpty(a.InstanceId),
					"network_interface_id": nonEmpty(a.NetworkInterfaceId),
					"tags":                 aws.EC2Tags.Value(a.Tags),
				})
			}
			return rows, nil
		},
		Tags: func(a ec2types.Address) []ec2types.Tag { return a.Tags },
	}}
}

// nonEmpty is for fields of which it is not certain that AWS leaves them out.
func nonEmpty(s *string) modules.Value {
	if s == nil {
		return modules.Null
	}
	return modules.NonEmpty(*s)
}

// Create allocates an address of Amazon's.
func (r *elasticIP) Create(ctx context.Context, scope modules.Scope, want modules.Row, token string) (modules.Row, error) {
	client, err := r.Clients.EC2(ctx, scope)
	if err != nil {
		return nil, err
	}
	out, err := client.AllocateAddress(ctx, &ec2.AllocateAddressInput{
		Domain:            ec2types.DomainTypeVpc,
		TagSpecifications: aws.EC2TagSpecification(ec2types.ResourceTypeElasticIp, want, token),
	})
	if err != nil {
		return nil, err
	}
	return modules.Row{"allocation_id": modules.TextPtr(out.AllocationId), "public_ip": modules.TextPtr(out.PublicIp)}, nil
}

// Delete releases an address. While a NAT gateway that is being deleted still
// has it AWS answers AuthFailure, for which the page ReleaseAddress gives
// another reason (github.com/kubernetes/kops, issue 938); that heals by itself.
func (r *elasticIP) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	return r.Remove(ctx, scope, "", func(client *ec2.Client) error {
		_, err := client.ReleaseAddress(ctx, &ec2.ReleaseAddressInput{AllocationId: have["allocation_id"].Ptr()})
		var e *modules.Error
		if errors.As(err, &e) && e.Code == "AuthFailure" && !have["association_id"].IsNull() {
			return &modules.Error{Class: modules.Dependency, Code: e.Code, Message: "the address is still in use: " + e.Message, Err: err}
		}
		return err
	})
}
