package awsec2

import (
	"context"
	"errors"
	"fmt"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// An instance has a role by way of an instance profile, which holds one role
// (IAM User Guide, "Use instance profiles"). The EC2 console makes one of the
// role's name, and so does this module.

func iamOf(ctx context.Context, s *declare.Step) (*iam.Client, error) {
	return declare.Client(ctx, s.Clients, modules.Scope{Account: s.Scope.Account}, iam.NewFromConfig)
}

// roles replaces the ARNs of instance profiles in the column role_name by the
// names of their roles: one call, and none where no instance has a profile. A
// profile that is gone, or so new that it is not listed yet, has a role that is
// not known, and so has every profile if it is not allowed to list them.
func roles(ctx context.Context, s *declare.Step, rows []modules.Row) error {
	if len(aws.Column(rows, "role_name")) == 0 {
		return nil
	}
	client, err := iamOf(ctx, s)
	if err != nil {
		return err
	}
	profiles, err := declare.Find[iamtypes.InstanceProfile](ctx, declare.Source{Client: client, Memo: s.Source().Memo},
		declare.Pages(iam.NewListInstanceProfilesPaginator, "InstanceProfiles", declare.PageSize(aws.PageSize)), "")
	if err != nil && modules.ClassOf(err) != modules.Denied {
		return err
	}
	roles := map[string]modules.Value{}
	for _, p := range profiles {
		roles[awssdk.ToString(p.Arn)] = modules.Null
		for _, role := range p.Roles { // one at most
			roles[awssdk.ToString(p.Arn)] = modules.TextPtr(role.RoleName)
		}
	}
	for _, row := range rows {
		if row["role_name"].IsNull() {
			continue
		}
		role, known := roles[row["role_name"].String()]
		if row["role_name"] = role; !known {
			delete(row, "role_name")
		}
	}
	return nil
}

// ensureProfile makes the instance profile of a role's name, unless it is there.
// Another instance of the role, created at the same moment, may come first with
// either call.
func ensureProfile(ctx context.Context, client *iam.Client, role string) error {
	holds, err := holdsOf(ctx, client, role)
	if aws.IsNotFound(err) {
		_, err = client.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{InstanceProfileName: &role})
		if aws.HasCode(err, "EntityAlreadyExists") {
			holds, err = holdsOf(ctx, client, role)
		}
	}
	if err != nil {
		return err
	}
	if holds == "" {
		_, err = client.AddRoleToInstanceProfile(ctx,
			&iam.AddRoleToInstanceProfileInput{InstanceProfileName: &role, RoleName: &role})
		if !aws.HasCode(err, "LimitExceeded") { // it holds one role at most
			return err
		}
		if holds, err = holdsOf(ctx, client, role); err != nil {
			return err
		}
	}
	switch holds {
	case role:
		return nil
	case "":
		return &modules.Error{Class: modules.Dependency, Code: "InstanceProfile",
			Message: fmt.Sprintf("waits until it is known which role the instance profile %s holds", role)}
	}
	return &modules.Error{Class: modules.Invalid, Code: "InstanceProfile",
		Message: fmt.Sprintf("the instance profile %s holds the role %s: rename it, or use that role", role, holds)}
}

// holdsOf returns the role that an instance profile holds; "" if it holds none.
func holdsOf(ctx context.Context, client *iam.Client, profile string) (string, error) {
	out, err := client.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: &profile})
	if err != nil || len(out.InstanceProfile.Roles) == 0 {
		return "", err
	}
	return awssdk.ToString(out.InstanceProfile.Roles[0].RoleName), nil
}

// profileError returns the refusal of an instance profile that does not exist as
// what heals: one that was made a moment ago is not known everywhere yet (IAM
// User Guide, "Changes that I make are not always immediately visible").
func profileError(err error) error {
	var e *modules.Error
	if errors.As(err, &e) && e.Code == "InvalidParameterValue" &&
		strings.Contains(strings.ToLower(e.Message), "iam instance profile") {
		return &modules.Error{Class: modules.Dependency, Code: e.Code, Message: e.Message, Err: err}
	}
	return err
}

// setRole gives an instance a role, or takes it away.
func setRole(ctx context.Context, s *declare.Step) error {
	client, id, role := declare.ClientOf[*ec2.Client](s), s.Have["instance_id"].Ptr(), s.Want["role_name"]
	out, err := client.DescribeIamInstanceProfileAssociations(ctx, &ec2.DescribeIamInstanceProfileAssociationsInput{
		Filters: []ec2types.Filter{aws.EC2Filter("instance-id", *id),
			aws.EC2Filter("state", "associating", "associated")},
	})
	if err != nil {
		return err
	}
	var association *string
	for _, a := range out.IamInstanceProfileAssociations { // one at most
		association = a.AssociationId
	}
	if role.IsNull() {
		if association == nil {
			return nil
		}
		_, err := client.DisassociateIamInstanceProfile(ctx,
			&ec2.DisassociateIamInstanceProfileInput{AssociationId: association})
		return aws.IfExists(err)
	}
	profiles, err := iamOf(ctx, s)
	if err != nil {
		return err
	}
	if err := ensureProfile(ctx, profiles, role.String()); err != nil {
		return err
	}
	profile := &ec2types.IamInstanceProfileSpecification{Name: role.Ptr()}
	if association == nil {
		_, err = client.AssociateIamInstanceProfile(ctx,
			&ec2.AssociateIamInstanceProfileInput{InstanceId: id, IamInstanceProfile: profile})
	} else {
		_, err = client.ReplaceIamInstanceProfileAssociation(ctx,
			&ec2.ReplaceIamInstanceProfileAssociationInput{AssociationId: association, IamInstanceProfile: profile})
	}
	return profileError(err)
}
