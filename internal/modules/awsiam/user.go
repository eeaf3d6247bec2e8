package awsiam

import (
	"context"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// user is a user, and whether its policies have been listed with it.
type user struct {
	iamtypes.UserDetail
	listed bool
}

// newUser declares the table iam_user. The limits are those of the page
// CreateUser.
func newUser(c *aws.Clients) *declare.Resource {
	return declare.New(c, declare.Table[user]{
		Name: "iam_user",
		Doc: "Users: people and programs with credentials of their own. Deleting a user removes its policies, " +
			"its membership in groups and its password; access keys are to be deleted first, and AWS keeps a user " +
			"that has devices, certificates or other credentials.",
		Service:    service,
		PerAccount: true,
		Columns: []declare.Column{
			declare.Name("user_name", "UserName",
				"The user's name, up to 64 letters, digits and _+=,.@-. Names that differ in case alone cannot be in "+
					"one account.").
				Matches(`^[A-Za-z0-9_+=,.@-]{1,64}$`),
			pathColumn(),
			arnColumn(),
			declare.Text("user_id", "UserId",
				"Its unique id, such as AIDA…, which a later user of the same name does not get.").Incarnation(),
			attachedColumn(),
			inlineColumn(),
			boundaryColumn().Since(7),
			declare.Texts("groups", "",
				"The names of the groups that it is in, whose policies hold for it, too; in any order.").
				Unordered().EmptyIsNull().Since(7),
			declare.Text("password", "", "A new password for the AWS console, for which the account's password policy "+
				"holds. It is passed on and then NULL again; NULL changes nothing.").
				WriteOnly().Length(1, 128).Since(7),
			declare.Bool("password_reset_required", "LoginProfile.PasswordResetRequired",
				"Whether it has to choose another password at its next sign-in to the AWS console; NULL: it has no "+
					"password. A first password needs both columns, and NULL here takes the password away.").
				Since(7).From(declare.Call((*iam.Client).GetLoginProfile, declare.None(noEntity), declare.IfAllowed(),
				declare.Rarely())).
				OneWay(chosen),
			createDateColumn(),
			declare.Tags("Tags", (*iam.Client).TagUser, (*iam.Client).UntagUser),
		},
		Published: declare.Published{Type: "AWS::IAM::User", Since: 7, Columns: map[string]string{
			"LoginProfile": "password", "ManagedPolicyArns": "attached_policies_arns", "Policies": "inline_policies"}},
		DestroyBeforeCreate: true,

		EventMappings: modules.EventMappings("iam.amazonaws.com",
			modules.Request("userName", "UpdateUser").Or("requestParameters.newUserName"),
			modules.Request("userName", "PutUserPermissionsBoundary", "DeleteUserPermissionsBoundary",
				"CreateLoginProfile", "UpdateLoginProfile", "DeleteLoginProfile", "AddUserToGroup",
				"RemoveUserFromGroup"),
		),
		List: declare.Pages(iam.NewGetAccountAuthorizationDetailsPaginator, "UserDetailList",
			declare.With(
				&iam.GetAccountAuthorizationDetailsInput{Filter: []iamtypes.EntityType{iamtypes.EntityTypeUser},
					MaxItems: awssdk.Int32(pageSize)}),
			declare.Convert(func(d iamtypes.UserDetail) user { return user{d, true} })),
		Get: declare.One(declare.Call((*iam.Client).GetUser, declare.Convert(func(u iamtypes.User) user {
			return user{iamtypes.UserDetail{UserName: u.UserName, Path: u.Path, Arn: u.Arn, UserId: u.UserId,
				CreateDate: u.CreateDate, Tags: u.Tags, PermissionsBoundary: u.PermissionsBoundary}, false}
		})), "User"),
		Row: func(ctx context.Context, s *declare.Step, u *user, row modules.Row) error {
			if u.listed {
				holdGroups(row, u.GroupList)
				return hold(row, u.AttachedManagedPolicies, u.UserPolicyList)
			}
			// One after the other: both write the row.
			if err := readGroups(ctx, s, row); err != nil {
				return err
			}
			return userPolicies.read(ctx, s, row)
		},
		// Its policies, groups and password, which CreateUser does not take, are left to the update.
		Create: declare.Call((*iam.Client).CreateUser, declare.Answer("User")),
		Updates: append([]declare.Update{
			declare.Modify(declare.Call((*iam.Client).UpdateUser), "path"),
			declare.Put("permissions_boundary", declare.Call((*iam.Client).PutUserPermissionsBoundary),
				declare.Call((*iam.Client).DeleteUserPermissionsBoundary)),
			declare.Members("groups", declare.Call((*iam.Client).AddUserToGroup),
				declare.Call((*iam.Client).RemoveUserFromGroup), "GroupName", ""),
			declare.By(setLoginProfile, "password", "password_reset_required"),
		}, userPolicies.changes()...),
		Delete:   declare.Call((*iam.Client).DeleteUser),
		DeleteBy: deleteUser,
		Reread:   true,
	})
}

var userPolicies = policies{
	attached: declare.Pages(iam.NewListAttachedUserPoliciesPaginator, "AttachedPolicies", declare.PageSize(pageSize)),
	names:    declare.Pages(iam.NewListUserPoliciesPaginator, "PolicyNames", declare.PageSize(pageSize)),
	document: declare.Call((*iam.Client).GetUserPolicy, declare.Answer("PolicyDocument")),
	attach:   declare.Call((*iam.Client).AttachUserPolicy),
	detach:   declare.Call((*iam.Client).DetachUserPolicy),
	put:      declare.Call((*iam.Client).PutUserPolicy),
	remove:   declare.Call((*iam.Client).DeleteUserPolicy),
}

// memberships are the groups of a user.
var memberships = declare.Pages(iam.NewListGroupsForUserPaginator, "Groups", declare.PageSize(pageSize))

// readGroups fills in the groups of a user where no listing has told them.
func readGroups(ctx context.Context, s *declare.Step, row modules.Row) error {
	groups, err := declare.All[iamtypes.Group](ctx, s, memberships)
	names := make([]string, len(groups))
	for i, group := range groups {
		names[i] = awssdk.ToString(group.GroupName)
	}
	holdGroups(row, names)
	return err
}

func holdGroups(row modules.Row, names []string) {
	row["groups"] = modules.Null
	if len(names) > 0 {
		row["groups"] = modules.Strings(slices.Sorted(slices.Values(names)))
	}
}

// deleteUser deletes a user, with what is nothing without it and stands in no
// table (page DeleteUser names what has to go before).
func deleteUser(ctx context.Context, s *declare.Step) error {
	c, name := declare.ClientOf[*iam.Client](s), s.Have["user_name"].Ptr()
	// A user with access keys cannot be deleted: it is left whole.
	keys, err := c.ListAccessKeys(ctx, &iam.ListAccessKeysInput{UserName: name})
	if err != nil {
		return err
	}
	if len(keys.AccessKeyMetadata) > 0 {
		return &modules.Error{Class: modules.Dependency, Code: "DeleteConflict",
			Message: "the user has access keys, which are to be deleted first"}
	}
	if err := clearPolicies(ctx, s); err != nil {
		return err
	}
	groups, err := declare.All[iamtypes.Group](ctx, s, memberships)
	if err != nil {
		return err
	}
	for _, group := range groups {
		if _, err := c.RemoveUserFromGroup(ctx,
			&iam.RemoveUserFromGroupInput{UserName: name, GroupName: group.GroupName}); aws.IfExists(err) != nil {
			return err
		}
	}
	_, err = c.GetLoginProfile(ctx, &iam.GetLoginProfileInput{UserName: name})
	if err == nil {
		_, err = c.DeleteLoginProfile(ctx, &iam.DeleteLoginProfileInput{UserName: name})
	}
	if aws.IfExists(err) != nil {
		return err
	}
	return s.Delete(ctx)
}
