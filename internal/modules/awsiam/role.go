package awsiam

import (
	"context"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// role is a role, and what the listing of details has of it; nil if that has
// not been asked.
type role struct {
	iamtypes.Role
	detail *iamtypes.RoleDetail
}

// newRole declares the table iam_role. The limits are those of the page
// CreateRole.
func newRole(c *aws.Clients) *declare.Resource {
	return declare.New(c, declare.Table[role]{
		Name: "iam_role",
		Doc: "Roles, which services and people take on for what they may do. Deleting a role removes its " +
			"policies, and the instance profile of the same name that the EC2 console makes with a role.",
		Service:    service,
		PerAccount: true,
		Columns: []declare.Column{
			declare.Name("role_name", "RoleName",
				"The role's name, up to 64 letters, digits and _+=,.@-. Names that differ in case alone cannot be in "+
					"one account.").
				Matches(`^[A-Za-z0-9_+=,.@-]{1,64}$`),
			pathColumn().CreateOnly(),
			arnColumn(),
			declare.JSON("assume_role_policy_document", "AssumeRolePolicyDocument",
				"Who may take it on: its trust policy.").In("AssumeRolePolicyDocument", "PolicyDocument").
				As(encoded).Required().Same(aws.SamePolicy).Check(
				`jsonb_typeof(assume_role_policy_document) = 'object'`),
			declare.Text("description", "Description", "What it is for, up to 1000 characters.").Length(1,
				1000).Unset(modules.Text("")),
			declare.Integer("max_session_duration", "MaxSessionDuration",
				"For how many seconds it can be taken on at most, from 3600 to 43200. Default 3600.").
				Default("3600").Between(3600, 43200).Usual(modules.Int(3600)),
			attachedColumn(),
			inlineColumn(),
			boundaryColumn(),
			createDateColumn(),
			declare.Tags("Tags", (*iam.Client).TagRole, (*iam.Client).UntagRole),
		},
		Published: declare.Published{Type: "AWS::IAM::Role", Since: 6, Columns: map[string]string{
			"ManagedPolicyArns": "attached_policies_arns", "Policies": "inline_policies"}},
		DestroyBeforeCreate: true,

		EventMappings: modules.EventMappings("iam.amazonaws.com",
			modules.Request("roleName", "UpdateRoleDescription", "DeleteServiceLinkedRole"),
			modules.Response("role.roleName", "CreateServiceLinkedRole"),
		),
		List: declare.ListBy(listRoles),
		Get: declare.One(declare.Call((*iam.Client).GetRole, declare.Convert(func(r iamtypes.Role) role {
			return role{Role: r}
		})), "Role"),
		Row: func(ctx context.Context, s *declare.Step, r *role, row modules.Row) error {
			if r.detail != nil {
				return hold(row, r.detail.AttachedManagedPolicies, r.detail.RolePolicyList)
			}
			return rolePolicies.read(ctx, s, row)
		},
		// Its policies, which CreateRole does not take, are left to the update.
		Create: declare.Call((*iam.Client).CreateRole, declare.Answer("Role")),
		Updates: append([]declare.Update{
			declare.Modify(declare.Call((*iam.Client).UpdateAssumeRolePolicy), "assume_role_policy_document"),
			// a duration that is left out is the default again
			declare.Replace(declare.Call((*iam.Client).UpdateRole), "description", "max_session_duration"),
			declare.Put("permissions_boundary", declare.Call((*iam.Client).PutRolePermissionsBoundary),
				declare.Call((*iam.Client).DeleteRolePermissionsBoundary)),
		}, rolePolicies.changes()...),
		Delete: declare.Call((*iam.Client).DeleteRole),
		// With its policies and the instance profile of its name. A role that is in
		// another instance profile stays: AWS refuses.
		DeleteBy: func(ctx context.Context, s *declare.Step) error {
			if err := deleteInstanceProfile(ctx, declare.ClientOf[*iam.Client](s),
				s.Have["role_name"].String()); err != nil {
				return err
			}
			if err := clearPolicies(ctx, s); err != nil {
				return err
			}
			return s.Delete(ctx)
		},
		Reread: true,
		Refuses: []declare.Refusal{{When: func(have modules.Row) bool {
			return strings.HasPrefix(have["path"].String(), "/aws-service-role/")
		},
			By: func(have modules.Row) string {
				return "it is the service-linked role of " +
					strings.Trim(strings.TrimPrefix(have["path"].String(), "/aws-service-role/"), "/") +
					", which only that service can do without"
			}, Source: "https://docs.aws.amazon.com/IAM/latest/APIReference/API_DeleteRole.html"},
			{When: func(have modules.Row) bool { return strings.HasPrefix(have["path"].String(), "/aws-reserved/") },
				Why:    "it is a role that IAM Identity Center made, and which is to be removed there",
				Source: "https://docs.aws.amazon.com/singlesignon/latest/userguide/using-service-linked-roles.html"}},
	})
}

// encoded are policies that IAM sends URL-encoded.
var encoded = declare.Reads(func(member any) (modules.Value, error) {
	text := member.(string)
	return policyValue(&text), nil
})

// listRoles lists the roles. GetAccountAuthorizationDetails has all but
// description and duration, which ListRoles has.
func listRoles(ctx context.Context, s *declare.Step, page func([]role) error) error {
	var (
		details []iamtypes.RoleDetail
		roles   []iamtypes.Role
	)
	err := aws.Together(ctx,
		func(ctx context.Context) (err error) {
			details, err = declare.All[iamtypes.RoleDetail](ctx, s,
				declare.Pages(iam.NewGetAccountAuthorizationDetailsPaginator, "RoleDetailList",
					declare.With(&iam.GetAccountAuthorizationDetailsInput{
						Filter: []iamtypes.EntityType{iamtypes.EntityTypeRole}, MaxItems: awssdk.Int32(pageSize)})))
			return err
		},
		func(ctx context.Context) (err error) {
			roles, err = declare.All[iamtypes.Role](ctx, s,
				declare.Pages(iam.NewListRolesPaginator, "Roles", declare.PageSize(pageSize)))
			return err
		})
	if err != nil {
		return err
	}
	byID := make(map[string]iamtypes.Role, len(roles))
	for _, r := range roles {
		byID[awssdk.ToString(r.RoleId)] = r
	}
	all := make([]role, 0, len(details))
	for _, d := range details {
		r, ok := byID[awssdk.ToString(d.RoleId)]
		if ok {
			r.PermissionsBoundary, r.Tags = d.PermissionsBoundary, d.Tags
			all = append(all, role{r, &d})
			continue
		}
		// it came or went meanwhile
		out, err := declare.ClientOf[*iam.Client](s).GetRole(ctx, &iam.GetRoleInput{RoleName: d.RoleName})
		if err == nil {
			all = append(all, role{Role: *out.Role})
		} else if !aws.IsNotFound(err) {
			return err
		}
	}
	return page(all)
}

var rolePolicies = policies{
	attached: declare.Pages(iam.NewListAttachedRolePoliciesPaginator, "AttachedPolicies", declare.PageSize(pageSize)),
	names:    declare.Pages(iam.NewListRolePoliciesPaginator, "PolicyNames", declare.PageSize(pageSize)),
	document: declare.Call((*iam.Client).GetRolePolicy, declare.Answer("PolicyDocument")),
	attach:   declare.Call((*iam.Client).AttachRolePolicy),
	detach:   declare.Call((*iam.Client).DetachRolePolicy),
	put:      declare.Call((*iam.Client).PutRolePolicy),
	remove:   declare.Call((*iam.Client).DeleteRolePolicy),
}

// deleteInstanceProfile deletes the instance profile of a role's name if it
// holds that role: the EC2 console makes and deletes it with the role (IAM User
// Guide, "Use instance profiles").
func deleteInstanceProfile(ctx context.Context, c *iam.Client, name string) error {
	out, err := c.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: &name})
	if err != nil {
		return aws.IfExists(err)
	}
	holds := func(role iamtypes.Role) bool { return awssdk.ToString(role.RoleName) == name }
	if !slices.ContainsFunc(out.InstanceProfile.Roles, holds) {
		return nil
	}
	if _, err := c.RemoveRoleFromInstanceProfile(ctx,
		&iam.RemoveRoleFromInstanceProfileInput{InstanceProfileName: &name, RoleName: &name}); aws.IfExists(
		err) != nil {
		return err
	}
	_, err = c.DeleteInstanceProfile(ctx, &iam.DeleteInstanceProfileInput{InstanceProfileName: &name})
	return aws.IfExists(err)
}
