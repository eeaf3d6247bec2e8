package awsec2

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// An instance has a role by way of an instance profile, which holds one role
// (IAM User Guide, "Use instance profiles"). The EC2 console makes one of the
// role's name, and so does this module.

func (r *instance) iam(ctx context.Context, scope modules.Scope) (*iam.Client, error) {
	return aws.Client(ctx, r.Clients, modules.Scope{Account: scope.Account}, func(cfg awssdk.Config) *iam.Client { return iam.NewFromConfig(cfg) })
}

// roles replaces the ARNs of instance profiles in the column role_name by the
// names of their roles: one call, and none where no instance has a profile. A
// profile that is gone, or so new that it is not listed yet, has a role that is
// not known, and so has every profile if it is not allowed to list them.
func (r *instance) roles(ctx context.Context, scope modules.Scope, rows []modules.Row) error {
	if !slices.ContainsFunc(rows, func(row modules.Row) bool { return !row["role_name"].IsNull() }) {
		return nil
	}
	client, err := r.iam(ctx, scope)
	if err != nil {
		return err
	}
	roles := map[string]modules.Value{}
	err = aws.Pages(ctx, iam.NewListInstanceProfilesPaginator(client, &iam.ListInstanceProfilesInput{MaxItems: awssdk.Int32(aws.PageSize)}),
		func(out *iam.ListInstanceProfilesOutput) error {
			for _, p := range out.InstanceProfiles {
				roles[awssdk.ToString(p.Arn)] = modules.Null
				for _, role := range p.Roles { // one at most
					roles[awssdk.ToString(p.Arn)] = modules.TextPtr(role.RoleName)
				}
			}
			return nil
		})
	if err != nil && modules.ClassOf(err) != modules.Denied {
		return err
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
func (r *instance) ensureProfile(ctx context.Context, scope modules.Scope, role string) error {
	client, err := r.iam(ctx, scope)
	if err != nil {
		return err
	}
	var holds []iamtypes.Role
	out, err := client.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: &role})
	switch {
	case aws.IsNotFound(err):
		_, err = client.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{InstanceProfileName: &role})
	case err == nil:
		holds = out.InstanceProfile.Roles
	}
	if err != nil {
		return err
	}
	if len(holds) == 0 {
		_, err := client.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{InstanceProfileName: &role, RoleName: &role})
		return err
	}
	if has := awssdk.ToString(holds[0].RoleName); has != role {
		return &modules.Error{Class: modules.Invalid, Code: "InstanceProfile",
			Message: fmt.Sprintf("the instance profile %s holds the role %s: rename it, or use that role", role, has)}
	}
	return nil
}

// profileError returns the refusal of an instance profile that does not exist as
// what heals: one that was made a moment ago is not known everywhere yet (IAM
// User Guide, "Changes that I make are not always immediately visible").
func profileError(err error) error {
	var e *modules.Error
	if errors.As(err, &e) && e.Code == "InvalidParameterValue" && strings.Contains(strings.ToLower(e.Message), "iam instance profile") {
		return &modules.Error{Class: modules.Dependency, Code: e.Code, Message: e.Message, Err: err}
	}
	return err
}

// setRole gives an instance a role, or takes it away.
func (r *instance) setRole(ctx context.Context, scope modules.Scope, client *ec2.Client, id *string, role modules.Value) error {
	out, err := client.DescribeIamInstanceProfileAssociations(ctx, &ec2.DescribeIamInstanceProfileAssociationsInput{
		Filters: []ec2types.Filter{aws.EC2Filter("instance-id", *id), aws.EC2Filter("state", "associating", "associated")},
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
		_, err := client.DisassociateIamInstanceProfile(ctx, &ec2.DisassociateIamInstanceProfileInput{AssociationId: association})
		return aws.IfExists(err)
	}
	if err := r.ensureProfile(ctx, scope, role.String()); err != nil {
		return err
	}
	profile := &ec2types.IamInstanceProfileSpecification{Name: role.Ptr()}
	if association == nil {
		_, err = client.AssociateIamInstanceProfile(ctx, &ec2.AssociateIamInstanceProfileInput{InstanceId: id, IamInstanceProfile: profile})
	} else {
		_, err = client.ReplaceIamInstanceProfileAssociation(ctx, &ec2.ReplaceIamInstanceProfileAssociationInput{AssociationId: association, IamInstanceProfile: profile})
	}
	return profileError(err)
}
