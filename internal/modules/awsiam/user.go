package awsiam

import (
	"context"
	"fmt"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// user is the table iam_user.
type user struct {
	clients     *aws.Clients
	description *modules.Table
}

func newUser(c *aws.Clients) *user { return &user{clients: c, description: describeUser()} }

// The limits are those of the page CreateUser.
func describeUser() *modules.Table {
	return &modules.Table{
		Name:     "iam_user",
		Doc:      "Users: people and programs with credentials of their own. Deleting a user removes its policies, its membership in groups and its password; access keys are to be deleted first, and AWS keeps a user that has devices, certificates or other credentials.",
		Provider: aws.Provider,
		Reach:    modules.PerAccount,
		Creation: modules.ByName,
		Columns: aws.PerAccount(
			modules.Column{Name: "user_name", Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true,
				Check: `user_name ~ '^[A-Za-z0-9_+=,.@-]{1,64}$'`,
				Doc:   "The user's name, up to 64 letters, digits and _+=,.@-. Names that differ in case alone cannot be in one account."},
			pathColumn(),
			modules.Column{Name: "arn", Type: modules.TypeText, Assigned: true, Doc: "Its Amazon Resource Name (ARN); NULL until it is created."},
			modules.Column{Name: "user_id", Type: modules.TypeText, Assigned: true, Doc: "Its unique id, such as AIDA…, which a later user of the same name does not get."},
			attachedColumn(),
			inlineColumn(),
			createDateColumn(),
			aws.TagsColumn(),
		),
		DestroyBeforeCreate: true,
	}
}

// Table returns the description.
func (r *user) Table() *modules.Table { return r.description }

// List gives every user of the account to page.
func (r *user) List(ctx context.Context, scope modules.Scope, page func([]modules.Row) error) error {
	c, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	return aws.Pages(ctx, iam.NewGetAccountAuthorizationDetailsPaginator(c, &iam.GetAccountAuthorizationDetailsInput{
		Filter: []iamtypes.EntityType{iamtypes.EntityTypeUser}, MaxItems: awssdk.Int32(pageSize),
	}), func(out *iam.GetAccountAuthorizationDetailsOutput) error {
		rows := make([]modules.Row, len(out.UserDetailList))
		for i, d := range out.UserDetailList {
			if rows[i], err = userRow(d); err != nil {
				return err
			}
		}
		return page(rows)
	})
}

// Get reads the users with these names.
func (r *user) Get(ctx context.Context, scope modules.Scope, identities []modules.Row) ([]modules.Row, error) {
	c, err := client(ctx, r.clients, scope)
	if err != nil {
		return nil, err
	}
	return aws.Read(ctx, identities, func(ctx context.Context, identity modules.Row) (modules.Row, error) {
		return readUser(ctx, c, identity["user_name"].String())
	})
}

// readUser reads a user with its policies.
func readUser(ctx context.Context, c *iam.Client, name string) (modules.Row, error) {
	var (
		user *iam.GetUserOutput
		d    iamtypes.UserDetail
	)
	err := aws.Together(ctx,
		func(ctx context.Context) (err error) {
			user, err = c.GetUser(ctx, &iam.GetUserInput{UserName: &name})
			return err
		},
		func(ctx context.Context) error {
			return aws.Pages(ctx, iam.NewListAttachedUserPoliciesPaginator(c, &iam.ListAttachedUserPoliciesInput{UserName: &name, MaxItems: awssdk.Int32(pageSize)}),
				func(out *iam.ListAttachedUserPoliciesOutput) error {
					d.AttachedManagedPolicies = append(d.AttachedManagedPolicies, out.AttachedPolicies...)
					return nil
				})
		},
		func(ctx context.Context) error {
			return aws.Pages(ctx, iam.NewListUserPoliciesPaginator(c, &iam.ListUserPoliciesInput{UserName: &name, MaxItems: awssdk.Int32(pageSize)}),
				func(out *iam.ListUserPoliciesOutput) error {
					for _, policy := range out.PolicyNames {
						p, err := c.GetUserPolicy(ctx, &iam.GetUserPolicyInput{UserName: &name, PolicyName: &policy})
						if aws.IsNotFound(err) {
							continue
						}
						if err != nil {
							return err
						}
						d.UserPolicyList = append(d.UserPolicyList, iamtypes.PolicyDetail{PolicyName: &policy, PolicyDocument: p.PolicyDocument})
					}
					return nil
				})
		})
	if err != nil {
		return nil, err
	}
	u := user.User
	d.UserName, d.Path, d.Arn, d.UserId, d.CreateDate, d.Tags = u.UserName, u.Path, u.Arn, u.UserId, u.CreateDate, u.Tags
	return userRow(d)
}

func userRow(d iamtypes.UserDetail) (modules.Row, error) {
	inline, err := inlineValue(d.UserPolicyList)
	if err != nil {
		return nil, fmt.Errorf("user %s: %w", awssdk.ToString(d.UserName), err)
	}
	return modules.Row{
		"user_name":              modules.TextPtr(d.UserName),
		"path":                   modules.TextPtr(d.Path),
		"arn":                    modules.TextPtr(d.Arn),
		"user_id":                modules.TextPtr(d.UserId),
		"attached_policies_arns": attachedValue(d.AttachedManagedPolicies),
		"inline_policies":        inline,
		"create_date":            modules.TimePtr(d.CreateDate),
		"tags":                   iamTags.Value(d.Tags),
	}, nil
}

// Create creates a user. Its policies, which CreateUser does not take, are left
// to Update.
func (r *user) Create(ctx context.Context, scope modules.Scope, want modules.Row, _ string) (modules.Row, error) {
	c, err := client(ctx, r.clients, scope)
	if err != nil {
		return nil, err
	}
	_, err = c.CreateUser(ctx, &iam.CreateUserInput{
		UserName: want["user_name"].Ptr(), Path: want["path"].Ptr(), Tags: iamTags.List(aws.TagsOf(want, "")),
	})
	if err != nil {
		return nil, err
	}
	return modules.Row{"user_name": want["user_name"]}, nil
}

// Update changes what differs.
func (r *user) Update(ctx context.Context, scope modules.Scope, have, want modules.Row, columns []string) error {
	c, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	name := have["user_name"].Ptr()
	if slices.Contains(columns, "path") {
		if _, err := c.UpdateUser(ctx, &iam.UpdateUserInput{UserName: name, NewPath: want["path"].Ptr()}); err != nil {
			return err
		}
	}
	if err := userPolicies(c, name).update(ctx, have, want, columns); err != nil {
		return err
	}
	if !slices.Contains(columns, modules.ColumnTags) {
		return nil
	}
	return aws.UpdateTags(ctx, have, want,
		func(ctx context.Context, tags map[string]string) error {
			_, err := c.TagUser(ctx, &iam.TagUserInput{UserName: name, Tags: iamTags.List(tags)})
			return err
		},
		func(ctx context.Context, keys []string) error {
			_, err := c.UntagUser(ctx, &iam.UntagUserInput{UserName: name, TagKeys: keys})
			return err
		})
}

func userPolicies(c *iam.Client, user *string) policies {
	return policies{
		attach: func(ctx context.Context, arn string) error {
			_, err := c.AttachUserPolicy(ctx, &iam.AttachUserPolicyInput{UserName: user, PolicyArn: &arn})
			return err
		},
		detach: func(ctx context.Context, arn string) error {
			_, err := c.DetachUserPolicy(ctx, &iam.DetachUserPolicyInput{UserName: user, PolicyArn: &arn})
			return err
		},
		put: func(ctx context.Context, name, document string) error {
			_, err := c.PutUserPolicy(ctx, &iam.PutUserPolicyInput{UserName: user, PolicyName: &name, PolicyDocument: &document})
			return err
		},
		remove: func(ctx context.Context, name string) error {
			_, err := c.DeleteUserPolicy(ctx, &iam.DeleteUserPolicyInput{UserName: user, PolicyName: &name})
			return err
		},
	}
}

// Delete deletes a user, with what is nothing without it and stands in no table
// (page DeleteUser names what has to go before).
func (r *user) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	c, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	name := have["user_name"].String()
	now, err := readUser(ctx, c, name)
	if err != nil {
		return aws.IfExists(err)
	}
	// A user with access keys cannot be deleted: it is left whole.
	keys, err := c.ListAccessKeys(ctx, &iam.ListAccessKeysInput{UserName: &name})
	if err != nil {
		return aws.IfExists(err)
	}
	if len(keys.AccessKeyMetadata) > 0 {
		return &modules.Error{Class: modules.Dependency, Code: "DeleteConflict", Message: "the user has access keys, which are to be deleted first"}
	}
	if err := userPolicies(c, &name).clear(ctx, now); err != nil {
		return err
	}
	err = aws.Pages(ctx, iam.NewListGroupsForUserPaginator(c, &iam.ListGroupsForUserInput{UserName: &name}), func(out *iam.ListGroupsForUserOutput) error {
		for _, group := range out.Groups {
			if _, err := c.RemoveUserFromGroup(ctx, &iam.RemoveUserFromGroupInput{UserName: &name, GroupName: group.GroupName}); aws.IfExists(err) != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return aws.IfExists(err)
	}
	if _, err := c.GetLoginProfile(ctx, &iam.GetLoginProfileInput{UserName: &name}); err == nil {
		_, err = c.DeleteLoginProfile(ctx, &iam.DeleteLoginProfileInput{UserName: &name})
		if aws.IfExists(err) != nil {
			return err
		}
	} else if !aws.IsNotFound(err) {
		return err
	}
	_, err = c.DeleteUser(ctx, &iam.DeleteUserInput{UserName: &name})
	return aws.IfExists(err)
}
