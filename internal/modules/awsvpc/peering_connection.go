package awsvpc

import (
	"context"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// accepting says why no column tells how a connection is accepted.
const accepting = declare.Deed + ": with it CloudFormation accepts in the other account; here accepted does, in that " +
	"account's record"

// newPeering declares the table peering_connection. A connection shows up at both
// its ends: its record is at the requester's, and at the accepter's only where
// the requester is another account. Accepting it is left to the update.
func newPeering(c *aws.Clients) *declare.Resource {
	accepter := func(name, member, in, doc string) declare.Column {
		return declare.Text(name, "AccepterVpcInfo."+member, doc).CreateOnly().OptionalComputed().In(in)
	}
	return declare.New(c, declare.Table[ec2types.VpcPeeringConnection]{
		Name: "peering_connection",
		Doc: "Peering connections between two VPCs, which may be of several regions and accounts. Traffic needs " +
			"routes at both ends besides.",
		Service:  declare.Service(ec2.NewFromConfig),
		Creation: modules.ByTag,
		Columns: []declare.Column{
			declare.ID("peering_connection_id", "VpcPeeringConnectionId",
				"The connection's id, such as pcx-0a1b2c3d; NULL until it is created."),
			declare.Ref("requester_id", "RequesterVpcInfo.VpcId", "vpc", "vpc_id",
				"The VPC that asks for the connection, of the same region. NULL only where another account asks.").
				CreateOnly().In("VpcId"),
			declare.Ref("accepter_id", "AccepterVpcInfo.VpcId", "vpc", "vpc_id",
				"The VPC that is asked. NULL where it has no record: see accepter_vpc_id.").
				CreateOnly().OptionalComputed().AnyScope(),
			accepter("accepter_vpc_id", "VpcId", "PeerVpcId",
				"The id of the VPC that is asked, for a VPC without a record here; that of accepter_id if left out."),
			accepter("accepter_region", "Region", "PeerRegion",
				"The region of the VPC that is asked; the same if left out."),
			accepter("accepter_owner_id", "OwnerId", "PeerOwnerId",
				"The twelve digits of the account that is asked; the same if left out.").Check(
				`accepter_owner_id ~ '^\d{12}$'`),
			declare.Text("requester_owner_id", "RequesterVpcInfo.OwnerId",
				"The twelve digits of the account that asks.").Computed(),
			declare.Bool("accepted", "Status.Code",
				"Whether the connection has been accepted. true accepts it, which takes the account that is asked; "+
					"it cannot be taken back.").
				Default("true").As(declare.Is("active", "provisioning")),
			declare.Text("state", "Status.Code",
				"initiating-request, pending-acceptance, provisioning, active, deleting or failed.").Computed(),
			declare.Text("state_message", "Status.Message",
				"What AWS says about that state, such as why it failed.").Computed().Since(4),
			declare.EC2Tags(ec2types.ResourceTypeVpcPeeringConnection),
		},
		Published: declare.Published{Type: "AWS::EC2::VPCPeeringConnection", Since: 6,
			Without: map[string]string{"AssumeRoleRegion": accepting, "PeerRoleArn": accepting},
		},
		Checks: []string{"accepter_id IS NOT NULL OR accepter_vpc_id IS NOT NULL"},
		// Two VPCs have one connection at most.
		DestroyBeforeCreate: true,

		EventMappings: modules.EventMappings("ec2.amazonaws.com",
			modules.Request("vpcPeeringConnectionId", "AcceptVpcPeeringConnection", "RejectVpcPeeringConnection",
				"ModifyVpcPeeringConnectionOptions"),
		),
		List: declare.Pages(ec2.NewDescribeVpcPeeringConnectionsPaginator, "VpcPeeringConnections",
			declare.PageSize(aws.PageSize)),
		Get:  declare.EC2Filter("vpc-peering-connection-id"),
		Gone: noPeering,
		Rows: func(_ context.Context, s *declare.Step, connections []*ec2types.VpcPeeringConnection,
			rows []modules.Row) error {
			for i, p := range connections {
				if rows[i]["requester_owner_id"] == rows[i]["accepter_owner_id"] &&
					awssdk.ToString(p.RequesterVpcInfo.Region) != s.Scope.Region {
					rows[i] = nil // the account's own, listed where it was asked for
				}
			}
			return nil
		},
		Create: declare.Call((*ec2.Client).CreateVpcPeeringConnection, declare.Answer("VpcPeeringConnection"),
			declare.Fill(func(s *declare.Step, in *ec2.CreateVpcPeeringConnectionInput) {
				if accepter := s.Want["accepter_id"]; !accepter.IsNull() {
					in.PeerVpcId = accepter.Ptr()
				}
			})),
		Updates:  []declare.Update{declare.By(accept, "accepted")},
		Delete:   declare.Call((*ec2.Client).DeleteVpcPeeringConnection),
		DeleteBy: reject,
		Going:    declare.In("state", string(ec2types.VpcPeeringConnectionStateReasonCodeDeleting)),
		// pending-acceptance waits for an account.
		Forming: declare.In("state", string(ec2types.VpcPeeringConnectionStateReasonCodeInitiatingRequest),
			string(ec2types.VpcPeeringConnectionStateReasonCodeProvisioning)),
		Failed: failed.Because("state_message"),
	})
}

// failed is the state of connections that could not be made. They can be neither
// accepted nor deleted, and AWS shows them for two hours (VPC Peering Guide, "VPC
// peering connection lifecycle").
var failed = declare.In("state", string(ec2types.VpcPeeringConnectionStateReasonCodeFailed))

// noPeering reports whether there is no such connection any more: it is listed
// for some time.
func noPeering(p *ec2types.VpcPeeringConnection) bool {
	if p.RequesterVpcInfo == nil || p.AccepterVpcInfo == nil || p.Status == nil {
		return true
	}
	switch p.Status.Code {
	case ec2types.VpcPeeringConnectionStateReasonCodeDeleted, ec2types.VpcPeeringConnectionStateReasonCodeRejected,
		ec2types.VpcPeeringConnectionStateReasonCodeExpired:
		return true
	}
	return false
}

func accept(ctx context.Context, s *declare.Step) error {
	if !s.Want["accepted"].Bool() {
		return &modules.Error{Class: modules.Invalid, Code: "Accepted",
			Message: "a connection that has been accepted can only be deleted"}
	}
	me, err := s.Clients.AccountID(ctx, s.Scope)
	if err != nil {
		return err
	}
	if owner := s.Have["accepter_owner_id"].String(); owner != me {
		return &modules.Error{Class: modules.Dependency, Code: "Accepted", Message: "waits for account " + owner +
			" to accept it"}
	}
	client, err := s.Clients.EC2(ctx,
		modules.Scope{Account: s.Scope.Account, Region: s.Have["accepter_region"].String()})
	if err != nil {
		return err
	}
	_, err = client.AcceptVpcPeeringConnection(ctx,
		&ec2.AcceptVpcPeeringConnectionInput{VpcPeeringConnectionId: s.Have["peering_connection_id"].Ptr()})
	return err
}

// reject deletes a connection; one that another account asks for is rejected, and
// one that has failed goes by itself.
func reject(ctx context.Context, s *declare.Step) error {
	have := s.Have
	if failed.Holds(have) {
		return nil
	}
	if have["state"].String() == string(ec2types.VpcPeeringConnectionStateReasonCodePendingAcceptance) &&
		have["requester_owner_id"] != have["accepter_owner_id"] {
		me, err := s.Clients.AccountID(ctx, s.Scope)
		if err != nil {
			return err
		}
		if have["accepter_owner_id"].String() == me {
			_, err := declare.ClientOf[*ec2.Client](s).RejectVpcPeeringConnection(ctx,
				&ec2.RejectVpcPeeringConnectionInput{
					VpcPeeringConnectionId: have["peering_connection_id"].Ptr(),
				})
			return err
		}
	}
	return s.Delete(ctx)
}
