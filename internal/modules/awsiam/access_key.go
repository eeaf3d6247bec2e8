package awsiam

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// accessKey is the table access_key. It creates nothing: a new key's secret is
// told once, in the answer of CreateAccessKey, and there is no place in a
// database that only the one who asked for it can read.
type accessKey struct {
	clients     *aws.Clients
	description *modules.Table
}

func newAccessKey(c *aws.Clients) *accessKey {
	return &accessKey{clients: c, description: describeAccessKey()}
}

func describeAccessKey() *modules.Table {
	return &modules.Table{
		Name:     "access_key",
		Doc:      "Access keys of users. They cannot be created here, since AWS tells a key's secret once and it would have to be kept where others can read it: use `aws iam create-access-key --user-name NAME`, and the key appears. They can be made inactive and deleted here.",
		Provider: aws.Provider,
		Reach:    modules.PerAccount,
		Creation: modules.ByName,
		Columns: aws.PerAccount(
			modules.Column{Name: "access_key_id", Type: modules.TypeText, Identity: true, Assigned: true,
				Doc: "The key's id, such as AKIA…."},
			modules.Column{Name: "user_name", Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true,
				References: &modules.Reference{Table: "iam_user", Key: "user_name", ByKey: true},
				Doc:        "The user it is of."},
			modules.Column{Name: "status", Type: modules.TypeText, Required: true, Default: "'Active'",
				Enum: []string{string(iamtypes.StatusTypeActive), string(iamtypes.StatusTypeInactive)},
				Doc:  "Active, or Inactive: AWS then refuses what is signed with it."},
			createDateColumn(),
		),
	}
}

// Table returns the description.
func (r *accessKey) Table() *modules.Table { return r.description }

// List gives every access key of the account to page: one call for each user,
// since no call lists the keys of several.
func (r *accessKey) List(ctx context.Context, scope modules.Scope, page func([]modules.Row) error) error {
	c, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	return aws.Pages(ctx, iam.NewListUsersPaginator(c, &iam.ListUsersInput{}), func(out *iam.ListUsersOutput) error {
		names := make([]string, len(out.Users))
		for i, u := range out.Users {
			names[i] = *u.UserName
		}
		rows, err := keysOf(ctx, c, names)
		if err != nil {
			return err
		}
		return page(rows)
	})
}

// Get reads the keys with these ids, with one call for each user.
func (r *accessKey) Get(ctx context.Context, scope modules.Scope, identities []modules.Row) ([]modules.Row, error) {
	c, err := client(ctx, r.clients, scope)
	if err != nil {
		return nil, err
	}
	names := aws.Column(identities, "user_name")
	slices.Sort(names)
	rows, err := keysOf(ctx, c, slices.Compact(names))
	if err != nil {
		return nil, err
	}
	wanted := aws.Column(identities, "access_key_id")
	return slices.DeleteFunc(rows, func(row modules.Row) bool { return !slices.Contains(wanted, row["access_key_id"].String()) }), nil
}

// keysOf reads the keys of users. A user that is gone has none.
func keysOf(ctx context.Context, c *iam.Client, users []string) ([]modules.Row, error) {
	collect, rows := aws.Collector()
	err := aws.Each(ctx, aws.Breadth, users, func(ctx context.Context, user string) error {
		err := aws.Pages(ctx, iam.NewListAccessKeysPaginator(c, &iam.ListAccessKeysInput{UserName: &user}), func(out *iam.ListAccessKeysOutput) error {
			keys := make([]modules.Row, len(out.AccessKeyMetadata))
			for i, k := range out.AccessKeyMetadata {
				keys[i] = modules.Row{
					"access_key_id": modules.TextPtr(k.AccessKeyId),
					"user_name":     modules.Text(user),
					"status":        modules.NonEmpty(k.Status),
					"create_date":   modules.TimePtr(k.CreateDate),
				}
			}
			return collect(keys)
		})
		return aws.IfExists(err)
	})
	return rows(), err
}

// Update makes a key active or inactive.
func (r *accessKey) Update(ctx context.Context, scope modules.Scope, have, want modules.Row, _ []string) error {
	c, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	_, err = c.UpdateAccessKey(ctx, &iam.UpdateAccessKeyInput{
		AccessKeyId: have["access_key_id"].Ptr(), UserName: have["user_name"].Ptr(), Status: iamtypes.StatusType(want["status"].String()),
	})
	return err
}

// Delete deletes a key.
func (r *accessKey) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	c, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	_, err = c.DeleteAccessKey(ctx, &iam.DeleteAccessKeyInput{AccessKeyId: have["access_key_id"].Ptr(), UserName: have["user_name"].Ptr()})
	return aws.IfExists(err)
}
