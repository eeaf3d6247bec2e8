package awsiam

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// role is the table iam_role.
type role struct {
	clients     *aws.Clients
	description *modules.Table
}

func newRole(c *aws.Clients) *role { return &role{clients: c, description: describeRole()} }

// The limits are those of the page CreateRole.
func describeRole() *modules.Table {
	path := pathColumn()
	path.CreateOnly = true
	return &modules.Table{
		Name:     "iam_role",
		Doc:      "Roles, which services and people take on for what they may do. Deleting a role removes its policies, and the instance profile of the same name that the EC2 console makes with a role.",
		Provider: aws.Provider,
		Reach:    modules.PerAccount,
		Creation: modules.ByName,
		Columns: aws.PerAccount(
			modules.Column{Name: "role_name", Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true,
				Check: `role_name ~ '^[A-Za-z0-9_+=,.@-]{1,64}$'`,
				Doc:   "The role's name, up to 64 letters, digits and _+=,.@-. Names that differ in case alone cannot be in one account."},
			path,
			modules.Column{Name: "arn", Type: modules.TypeText, Assigned: true, Doc: "Its Amazon Resource Name (ARN); NULL until it is created."},
			modules.Column{Name: "assume_role_policy_document", Type: modules.TypeJSON, Required: true, Equal: aws.SamePolicy,
				Check: `jsonb_typeof(assume_role_policy_document) = 'object'`,
				Doc:   "Who may take it on: its trust policy."},
			modules.Column{Name: "description", Type: modules.TypeText, Check: "length(description) BETWEEN 1 AND 1000",
				Doc: "What it is for, up to 1000 characters."},
			modules.Column{Name: "max_session_duration", Type: modules.TypeInteger, Required: true, Default: "3600",
				Check: "max_session_duration BETWEEN 3600 AND 43200",
				Doc:   "For how many seconds it can be taken on at most, from 3600 to 43200. Default 3600."},
			attachedColumn(),
			inlineColumn(),
			modules.Column{Name: "permissions_boundary", Type: modules.TypeText,
				Doc: "The ARN of the managed policy that bounds what its other policies can grant."},
			createDateColumn(),
			aws.TagsColumn(),
		),
		DestroyBeforeCreate: true,
	}
}

// Table returns the description.
func (r *role) Table() *modules.Table { return r.description }

// List gives every role of the account to page. GetAccountAuthorizationDetails
// has all but description and duration, which ListRoles has.
func (r *role) List(ctx context.Context, scope modules.Scope, page func([]modules.Row) error) error {
	c, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	var details []iamtypes.RoleDetail
	roles := map[string]iamtypes.Role{}
	err = aws.Together(ctx,
		func(ctx context.Context) error {
			return aws.Pages(ctx, iam.NewGetAccountAuthorizationDetailsPaginator(c, &iam.GetAccountAuthorizationDetailsInput{
				Filter: []iamtypes.EntityType{iamtypes.EntityTypeRole}, MaxItems: awssdk.Int32(pageSize),
			}), func(out *iam.GetAccountAuthorizationDetailsOutput) error {
				details = append(details, out.RoleDetailList...)
				return nil
			})
		},
		func(ctx context.Context) error {
			return aws.Pages(ctx, iam.NewListRolesPaginator(c, &iam.ListRolesInput{MaxItems: awssdk.Int32(pageSize)}), func(out *iam.ListRolesOutput) error {
				for _, role := range out.Roles {
					roles[awssdk.ToString(role.RoleName)] = role
				}
				return nil
			})
		})
	if err != nil {
		return err
	}
	rows, err := aws.Read(ctx, details, func(ctx context.Context, d iamtypes.RoleDetail) (modules.Row, error) {
		role, ok := roles[awssdk.ToString(d.RoleName)]
		if !ok || awssdk.ToString(role.RoleId) != awssdk.ToString(d.RoleId) { // came or went meanwhile
			return readRole(ctx, c, awssdk.ToString(d.RoleName))
		}
		return roleRow(role, d)
	})
	if err != nil {
		return err
	}
	return page(rows)
}

// Get reads the roles with these names.
func (r *role) Get(ctx context.Context, scope modules.Scope, identities []modules.Row) ([]modules.Row, error) {
	c, err := client(ctx, r.clients, scope)
	if err != nil {
		return nil, err
	}
	return aws.Read(ctx, identities, func(ctx context.Context, identity modules.Row) (modules.Row, error) {
		return readRole(ctx, c, identity["role_name"].String())
	})
}

// readRole reads a role with its policies.
func readRole(ctx context.Context, c *iam.Client, name string) (modules.Row, error) {
	var (
		role *iam.GetRoleOutput
		d    iamtypes.RoleDetail
	)
	err := aws.Together(ctx,
		func(ctx context.Context) (err error) {
			role, err = c.GetRole(ctx, &iam.GetRoleInput{RoleName: &name})
			return err
		},
		func(ctx context.Context) error {
			return aws.Pages(ctx, iam.NewListAttachedRolePoliciesPaginator(c, &iam.ListAttachedRolePoliciesInput{RoleName: &name, MaxItems: awssdk.Int32(pageSize)}),
				func(out *iam.ListAttachedRolePoliciesOutput) error {
					d.AttachedManagedPolicies = append(d.AttachedManagedPolicies, out.AttachedPolicies...)
					return nil
				})
		},
		func(ctx context.Context) error {
			return aws.Pages(ctx, iam.NewListRolePoliciesPaginator(c, &iam.ListRolePoliciesInput{RoleName: &name, MaxItems: awssdk.Int32(pageSize)}),
				func(out *iam.ListRolePoliciesOutput) error {
					for _, policy := range out.PolicyNames {
						p, err := c.GetRolePolicy(ctx, &iam.GetRolePolicyInput{RoleName: &name, PolicyName: &policy})
						if aws.IsNotFound(err) {
							continue
						}
						if err != nil {
							return err
						}
						d.RolePolicyList = append(d.RolePolicyList, iamtypes.PolicyDetail{PolicyName: &policy, PolicyDocument: p.PolicyDocument})
					}
					return nil
				})
		})
	if err != nil {
		return nil, err
	}
	d.PermissionsBoundary, d.Tags = role.Role.PermissionsBoundary, role.Role.Tags
	return roleRow(*role.Role, d)
}

// roleRow takes from the detail what listings of roles leave out.
func roleRow(role iamtypes.Role, d iamtypes.RoleDetail) (modules.Row, error) {
	name := awssdk.ToString(role.RoleName)
	inline, err := inlineValue(d.RolePolicyList)
	if err != nil {
		return nil, fmt.Errorf("role %s: %w", name, err)
	}
	row := modules.Row{
		"role_name":                   modules.Text(name),
		"path":                        modules.TextPtr(role.Path),
		"arn":                         modules.TextPtr(role.Arn),
		"assume_role_policy_document": policyValue(role.AssumeRolePolicyDocument),
		"description":                 modules.NonEmpty(awssdk.ToString(role.Description)),
		"max_session_duration":        modules.Int(3600),
		"attached_policies_arns":      attachedValue(d.AttachedManagedPolicies),
		"inline_policies":             inline,
		"permissions_boundary":        modules.Null,
		"create_date":                 modules.TimePtr(role.CreateDate),
		"tags":                        iamTags.Value(d.Tags),
	}
	if role.MaxSessionDuration != nil {
		row["max_session_duration"] = modules.IntPtr(role.MaxSessionDuration)
	}
	if b := d.PermissionsBoundary; b != nil {
		row["permissions_boundary"] = modules.NonEmpty(awssdk.ToString(b.PermissionsBoundaryArn))
	}
	return row, nil
}

// Create creates a role. Its policies, which CreateRole does not take, are left
// to Update.
func (r *role) Create(ctx context.Context, scope modules.Scope, want modules.Row, _ string) (modules.Row, error) {
	c, err := client(ctx, r.clients, scope)
	if err != nil {
		return nil, err
	}
	_, err = c.CreateRole(ctx, &iam.CreateRoleInput{
		RoleName:                 want["role_name"].Ptr(),
		Path:                     want["path"].Ptr(),
		AssumeRolePolicyDocument: want["assume_role_policy_document"].Ptr(),
		Description:              want["description"].Ptr(),
		MaxSessionDuration:       want["max_session_duration"].Int32Ptr(),
		PermissionsBoundary:      want["permissions_boundary"].Ptr(),
		Tags:                     iamTags.List(aws.TagsOf(want, "")),
	})
	if err != nil {
		return nil, principalError(err)
	}
	return modules.Row{"role_name": want["role_name"]}, nil
}

// principalError returns the refusal of a principal that does not exist as what
// heals: one that was created a moment ago is not known everywhere yet (IAM User
// Guide, "Changes that I make are not always immediately visible").
func principalError(err error) error {
	var e *modules.Error
	if errors.As(err, &e) && e.Code == "MalformedPolicyDocument" && strings.Contains(e.Message, "Invalid principal") {
		return &modules.Error{Class: modules.Dependency, Code: e.Code, Message: e.Message, Err: err}
	}
	return err
}

// Update changes what differs.
func (r *role) Update(ctx context.Context, scope modules.Scope, have, want modules.Row, columns []string) error {
	c, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	name := have["role_name"].Ptr()
	if slices.Contains(columns, "assume_role_policy_document") {
		_, err := c.UpdateAssumeRolePolicy(ctx, &iam.UpdateAssumeRolePolicyInput{RoleName: name, PolicyDocument: want["assume_role_policy_document"].Ptr()})
		if err != nil {
			return principalError(err)
		}
	}
	if slices.Contains(columns, "description") || slices.Contains(columns, "max_session_duration") {
		_, err := c.UpdateRole(ctx, &iam.UpdateRoleInput{
			RoleName:           name,
			Description:        awssdk.String(want["description"].String()), // left out, it would stay
			MaxSessionDuration: want["max_session_duration"].Int32Ptr(),
		})
		if err != nil {
			return err
		}
	}
	if slices.Contains(columns, "permissions_boundary") {
		if boundary := want["permissions_boundary"]; boundary.IsNull() {
			_, err = c.DeleteRolePermissionsBoundary(ctx, &iam.DeleteRolePermissionsBoundaryInput{RoleName: name})
		} else {
			_, err = c.PutRolePermissionsBoundary(ctx, &iam.PutRolePermissionsBoundaryInput{RoleName: name, PermissionsBoundary: boundary.Ptr()})
		}
		if err != nil {
			return err
		}
	}
	if err := rolePolicies(c, name).update(ctx, have, want, columns); err != nil {
		return err
	}
	if !slices.Contains(columns, modules.ColumnTags) {
		return nil
	}
	return aws.UpdateTags(ctx, have, want,
		func(ctx context.Context, tags map[string]string) error {
			_, err := c.TagRole(ctx, &iam.TagRoleInput{RoleName: name, Tags: iamTags.List(tags)})
			return err
		},
		func(ctx context.Context, keys []string) error {
			_, err := c.UntagRole(ctx, &iam.UntagRoleInput{RoleName: name, TagKeys: keys})
			return err
		})
}

func rolePolicies(c *iam.Client, role *string) policies {
	return policies{
		attach: func(ctx context.Context, arn string) error {
			_, err := c.AttachRolePolicy(ctx, &iam.AttachRolePolicyInput{RoleName: role, PolicyArn: &arn})
			return err
		},
		detach: func(ctx context.Context, arn string) error {
			_, err := c.DetachRolePolicy(ctx, &iam.DetachRolePolicyInput{RoleName: role, PolicyArn: &arn})
			return err
		},
		put: func(ctx context.Context, name, document string) error {
			_, err := c.PutRolePolicy(ctx, &iam.PutRolePolicyInput{RoleName: role, PolicyName: &name, PolicyDocument: &document})
			return err
		},
		remove: func(ctx context.Context, name string) error {
			_, err := c.DeleteRolePolicy(ctx, &iam.DeleteRolePolicyInput{RoleName: role, PolicyName: &name})
			return err
		},
	}
}

// Delete deletes a role, with its policies and the instance profile of its
// name. A role that is in another instance profile stays: AWS refuses.
func (r *role) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	c, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	name := have["role_name"].String()
	now, err := readRole(ctx, c, name)
	if err != nil {
		return aws.IfExists(err)
	}
	if err := aws.Keep(r.Protected(now)); err != nil {
		return err
	}
	if err := deleteInstanceProfile(ctx, c, name); err != nil {
		return err
	}
	if err := rolePolicies(c, &name).clear(ctx, now); err != nil {
		return err
	}
	_, err = c.DeleteRole(ctx, &iam.DeleteRoleInput{RoleName: &name})
	return aws.IfExists(err)
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
	if _, err := c.RemoveRoleFromInstanceProfile(ctx, &iam.RemoveRoleFromInstanceProfileInput{InstanceProfileName: &name, RoleName: &name}); aws.IfExists(err) != nil {
		return err
	}
	_, err = c.DeleteInstanceProfile(ctx, &iam.DeleteInstanceProfileInput{InstanceProfileName: &name})
	return aws.IfExists(err)
}

// Protected keeps the roles that belong to services, which AWS makes by itself.
func (r *role) Protected(have modules.Row) string {
	path := have["path"].String()
	switch {
	case strings.HasPrefix(path, "/aws-service-role/"):
		return "it is the service-linked role of " + strings.Trim(strings.TrimPrefix(path, "/aws-service-role/"), "/") + ", which only that service can do without"
	case strings.HasPrefix(path, "/aws-reserved/"):
		return "it is a role that IAM Identity Center made, and which is to be removed there"
	}
	return ""
}
