package awsvpc

import (
	"context"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// peering is the table peering_connection. A connection shows up at both its
// ends: its record is at the requester's, and at the accepter's only where the
// requester is another account.
type peering struct {
	aws.EC2Objects[ec2types.VpcPeeringConnection]
}

func newPeering(c *aws.Clients) *peering {
	r := &peering{}
	r.EC2Objects = aws.EC2Objects[ec2types.VpcPeeringConnection]{
		Clients:     c,
		Description: describePeering(),
		IDFilter:    "vpc-peering-connection-id",
		Describe: func(ctx context.Context, client *ec2.Client, filters []ec2types.Filter, page func([]ec2types.VpcPeeringConnection) error) error {
			return aws.Pages(ctx, ec2.NewDescribeVpcPeeringConnectionsPaginator(client, &ec2.DescribeVpcPeeringConnectionsInput{
				Filters: filters, MaxResults: awssdk.Int32(aws.PageSize),
			}), func(out *ec2.DescribeVpcPeeringConnectionsOutput) error { return page(out.VpcPeeringConnections) })
		},
		Rows: peeringRows,
		Tags: func(p ec2types.VpcPeeringConnection) []ec2types.Tag { return p.Tags },
	}
	return r
}

func describePeering() *modules.Table {
	return &modules.Table{
		Name:     "peering_connection",
		Doc:      "Peering connections between two VPCs, which may be of several regions and accounts. Traffic needs routes at both ends besides.",
		Provider: aws.Provider,
		Reach:    modules.PerRegion,
		Creation: modules.ByTag,
		Columns: aws.Regional(
			modules.Column{Name: "peering_connection_id", Type: modules.TypeText, Identity: true, Assigned: true,
				Doc: "The connection's id, such as pcx-0a1b2c3d; NULL until it is created."},
			modules.Column{Name: "requester_id", Type: modules.TypeBigint, CreateOnly: true,
				References: &modules.Reference{Table: "vpc", Key: "vpc_id"},
				Doc:        "The VPC that asks for the connection, of the same region. NULL only where another account asks."},
			modules.Column{Name: "accepter_id", Type: modules.TypeBigint, CreateOnly: true, Chosen: true,
				References: &modules.Reference{Table: "vpc", Key: "vpc_id", AnyScope: true},
				Doc:        "The VPC that is asked. NULL where it has no record: see accepter_vpc_id."},
			modules.Column{Name: "accepter_vpc_id", Type: modules.TypeText, CreateOnly: true, Chosen: true,
				Doc: "The id of the VPC that is asked, for a VPC without a record here; that of accepter_id if left out."},
			modules.Column{Name: "accepter_region", Type: modules.TypeText, CreateOnly: true, Chosen: true,
				Doc: "The region of the VPC that is asked; the same if left out."},
			modules.Column{Name: "accepter_owner_id", Type: modules.TypeText, CreateOnly: true, Chosen: true,
				Check: `accepter_owner_id ~ '^\d{12}$'`,
				Doc:   "The twelve digits of the account that is asked; the same if left out."},
			modules.Column{Name: "requester_owner_id", Type: modules.TypeText, Assigned: true,
				Doc: "The twelve digits of the account that asks."},
			modules.Column{Name: "accepted", Type: modules.TypeBool, Required: true, Default: "true",
				Doc: "Whether the connection has been accepted. true accepts it, which takes the account that is asked; it cannot be taken back."},
			modules.Column{Name: "state", Type: modules.TypeText, Assigned: true,
				Doc: "initiating-request, pending-acceptance, provisioning, active, deleting or failed."},
			aws.TagsColumn(),
		),
		Checks: []string{"accepter_id IS NOT NULL OR accepter_vpc_id IS NOT NULL"},
		// Two VPCs have one connection at most.
		DestroyBeforeCreate: true,
	}
}

func peeringRows(_ context.Context, client *ec2.Client, connections []ec2types.VpcPeeringConnection) ([]modules.Row, error) {
	rows := make([]modules.Row, 0, len(connections))
	for _, p := range connections {
		from, to := p.RequesterVpcInfo, p.AccepterVpcInfo
		if from == nil || to == nil || p.Status == nil {
			continue
		}
		switch p.Status.Code {
		case ec2types.VpcPeeringConnectionStateReasonCodeDeleted, ec2types.VpcPeeringConnectionStateReasonCodeRejected, ec2types.VpcPeeringConnectionStateReasonCodeExpired:
			continue // is listed for some time more
		}
		here := client.Options().Region
		if awssdk.ToString(from.OwnerId) == awssdk.ToString(to.OwnerId) && awssdk.ToString(from.Region) != here {
			continue // the account's own, listed where it was asked for
		}
		rows = append(rows, modules.Row{
			"peering_connection_id": modules.TextPtr(p.VpcPeeringConnectionId),
			"requester_id":          modules.TextPtr(from.VpcId),
			"requester_owner_id":    modules.TextPtr(from.OwnerId),
			"accepter_id":           modules.TextPtr(to.VpcId),
			"accepter_vpc_id":       modules.TextPtr(to.VpcId),
			"accepter_region":       modules.TextPtr(to.Region),
			"accepter_owner_id":     modules.TextPtr(to.OwnerId),
			"accepted": modules.Bool(p.Status.Code == ec2types.VpcPeeringConnectionStateReasonCodeActive ||
				p.Status.Code == ec2types.VpcPeeringConnectionStateReasonCodeProvisioning),
			"state": modules.NonEmpty(p.Status.Code),
			"tags":  aws.EC2Tags.Value(p.Tags),
		})
	}
	return rows, nil
}

// Create asks for a connection. Accepting it is left to Update.
func (r *peering) Create(ctx context.Context, scope modules.Scope, want modules.Row, token string) (modules.Row, error) {
	client, err := r.Clients.EC2(ctx, scope)
	if err != nil {
		return nil, err
	}
	accepter := want["accepter_id"]
	if accepter.IsNull() {
		accepter = want["accepter_vpc_id"]
	}
	out, err := client.CreateVpcPeeringConnection(ctx, &ec2.CreateVpcPeeringConnectionInput{
		VpcId:             want["requester_id"].Ptr(),
		PeerVpcId:         accepter.Ptr(),
		PeerRegion:        want["accepter_region"].Ptr(),
		PeerOwnerId:       want["accepter_owner_id"].Ptr(),
		TagSpecifications: aws.EC2TagSpecification(ec2types.ResourceTypeVpcPeeringConnection, want, token),
	})
	if err != nil {
		return nil, err
	}
	return modules.Row{"peering_connection_id": modules.TextPtr(out.VpcPeeringConnection.VpcPeeringConnectionId)}, nil
}

// Update accepts a connection, and changes tags.
func (r *peering) Update(ctx context.Context, scope modules.Scope, have, want modules.Row, columns []string) error {
	if slices.Contains(columns, "accepted") {
		if err := r.accept(ctx, scope, have, want["accepted"].Bool()); err != nil {
			return err
		}
	}
	return r.EC2Objects.Update(ctx, scope, have, want, columns)
}

func (r *peering) accept(ctx context.Context, scope modules.Scope, have modules.Row, accepted bool) error {
	if !accepted {
		return &modules.Error{Class: modules.Invalid, Code: "Accepted", Message: "a connection that has been accepted can only be deleted"}
	}
	me, err := r.Clients.AccountID(ctx, scope)
	if err != nil {
		return err
	}
	if owner := have["accepter_owner_id"].String(); owner != me {
		return &modules.Error{Class: modules.Dependency, Code: "Accepted", Message: "waits for account " + owner + " to accept it"}
	}
	client, err := r.Clients.EC2(ctx, modules.Scope{Account: scope.Account, Region: have["accepter_region"].String()})
	if err != nil {
		return err
	}
	_, err = client.AcceptVpcPeeringConnection(ctx, &ec2.AcceptVpcPeeringConnectionInput{VpcPeeringConnectionId: have["peering_connection_id"].Ptr()})
	return err
}

// Delete deletes a connection; one that another account asks for is rejected.
func (r *peering) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	id, state := have["peering_connection_id"].Ptr(), ec2types.VpcPeeringConnectionStateReasonCode(have["state"].String())
	if state == ec2types.VpcPeeringConnectionStateReasonCodeFailed || state == ec2types.VpcPeeringConnectionStateReasonCodeDeleting {
		return nil // goes by itself
	}
	return r.Remove(ctx, scope, "", func(client *ec2.Client) error {
		if state == ec2types.VpcPeeringConnectionStateReasonCodePendingAcceptance && have["requester_owner_id"] != have["accepter_owner_id"] {
			me, err := r.Clients.AccountID(ctx, scope)
			if err != nil {
				return err
			}
			if have["accepter_owner_id"].String() == me {
				_, err := client.RejectVpcPeeringConnection(ctx, &ec2.RejectVpcPeeringConnectionInput{VpcPeeringConnectionId: id})
				return err
			}
		}
		_, err := client.DeleteVpcPeeringConnection(ctx, &ec2.DeleteVpcPeeringConnectionInput{VpcPeeringConnectionId: id})
		return err
	})
}
