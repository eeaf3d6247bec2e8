package awssecretsmanager

import (
	"context"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	smtypes "github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// pageSize is the most secrets ListSecrets gives a page.
const pageSize = 100

var secretTags = aws.TagType[smtypes.Tag]{
	Split: func(t smtypes.Tag) (key, value *string) { return t.Key, t.Value },
	Join:  func(key, value *string) smtypes.Tag { return smtypes.Tag{Key: key, Value: value} },
}

// secret is the table secret.
type secret struct {
	clients     *aws.Clients
	description *modules.Table
}

func newSecret(c *aws.Clients) *secret { return &secret{clients: c, description: describeSecret()} }

func describeSecret() *modules.Table {
	return &modules.Table{
		Name: "secret",
		Doc: "Secrets, such as passwords. A deleted secret can be restored for 30 days, as is AWS's default: by aws secretsmanager restore-secret, " +
			"or by inserting its name again, which brings back the secret with its old versions. To be rid of it at once, use aws secretsmanager delete-secret --force-delete-without-recovery.",
		Provider: aws.Provider,
		Reach:    modules.PerRegion,
		Creation: modules.ByName,
		Columns: aws.Regional(
			modules.Column{Name: "name", Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true,
				// Page CreateSecret: Name. Services name those that they manage with an exclamation mark: rds!db-….
				Check: `name ~ '^[A-Za-z0-9/_+=.@!-]+$' AND length(name) <= 512`,
				Doc:   "The secret's name, up to 512 letters, digits and /_+=.@-. Those that services manage have a ! in it, such as rds!db-1."},
			modules.Column{Name: "description", Type: modules.TypeText, Check: "length(description) BETWEEN 1 AND 2048",
				Doc: "What it is for, up to 2048 characters."},
			modules.Column{Name: "value", Type: modules.TypeText, WriteOnly: true, Check: "length(value) BETWEEN 1 AND 65536",
				Doc: "A new value, up to 65536 bytes. It is passed on and then NULL again; NULL changes nothing."},
			modules.Column{Name: "kms_key_id", Type: modules.TypeText, Equal: sameKey,
				Doc: "The id, ARN or alias of the KMS key that encrypts it. NULL: that of Secrets Manager itself."},
			modules.Column{Name: "version_id", Type: modules.TypeText, Assigned: true,
				Doc: "The id of its current version, which changes with its value; NULL as long as it has none."},
			modules.Column{Name: "arn", Type: modules.TypeText, Assigned: true, Doc: "Its Amazon Resource Name (ARN)."},
			modules.Column{Name: "owning_service", Type: modules.TypeText, Assigned: true,
				Doc: "The AWS service that manages it, such as rds; NULL if none does."},
			modules.Column{Name: "primary_region", Type: modules.TypeText, Assigned: true,
				Doc: "The region it is replicated from, or its own if it is replicated; NULL otherwise."},
			aws.TagsColumn(),
		),
		// The name is taken until the old one is deleted.
		DestroyBeforeCreate: true,
	}
}

// sameKey reports whether two names of keys can be of the same: AWS answers
// with the ARN where it was given an id or an alias.
func sameKey(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return a == b || strings.HasPrefix(b, "arn:") && (strings.HasSuffix(b, "/"+a) || strings.HasSuffix(b, ":"+a))
}

func (r *secret) client(ctx context.Context, scope modules.Scope) (*secretsmanager.Client, error) {
	return aws.Client(ctx, r.clients, scope, func(cfg awssdk.Config) *secretsmanager.Client { return secretsmanager.NewFromConfig(cfg) })
}

// Table returns the description.
func (r *secret) Table() *modules.Table { return r.description }

// List gives every secret of the scope that is not being deleted to page.
func (r *secret) List(ctx context.Context, scope modules.Scope, page func([]modules.Row) error) error {
	client, err := r.client(ctx, scope)
	if err != nil {
		return err
	}
	return aws.Pages(ctx, secretsmanager.NewListSecretsPaginator(client, &secretsmanager.ListSecretsInput{MaxResults: awssdk.Int32(pageSize)}),
		func(out *secretsmanager.ListSecretsOutput) error {
			var rows []modules.Row
			for _, s := range out.SecretList {
				if s.DeletedDate == nil {
					rows = append(rows, secretRow(s))
				}
			}
			return page(rows)
		})
}

// Get reads the secrets with these names. One that is being deleted is gone.
func (r *secret) Get(ctx context.Context, scope modules.Scope, identities []modules.Row) ([]modules.Row, error) {
	client, err := r.client(ctx, scope)
	if err != nil {
		return nil, err
	}
	return aws.Read(ctx, identities, func(ctx context.Context, identity modules.Row) (modules.Row, error) {
		out, err := client.DescribeSecret(ctx, &secretsmanager.DescribeSecretInput{SecretId: identity["name"].Ptr()})
		if err != nil || out.DeletedDate != nil {
			return nil, err
		}
		return describedRow(out), nil
	})
}

func describedRow(out *secretsmanager.DescribeSecretOutput) modules.Row {
	return secretRow(smtypes.SecretListEntry{
		Name: out.Name, Description: out.Description, KmsKeyId: out.KmsKeyId, ARN: out.ARN, OwningService: out.OwningService,
		PrimaryRegion: out.PrimaryRegion, Tags: out.Tags, SecretVersionsToStages: out.VersionIdsToStages,
	})
}

func secretRow(s smtypes.SecretListEntry) modules.Row {
	row := modules.Row{
		"name":           modules.TextPtr(s.Name),
		"description":    modules.NonEmpty(awssdk.ToString(s.Description)),
		"kms_key_id":     modules.NonEmpty(awssdk.ToString(s.KmsKeyId)),
		"version_id":     modules.Null,
		"arn":            modules.TextPtr(s.ARN),
		"owning_service": modules.NonEmpty(awssdk.ToString(s.OwningService)),
		"primary_region": modules.NonEmpty(awssdk.ToString(s.PrimaryRegion)),
		"tags":           secretTags.Value(s.Tags),
	}
	for id, stages := range s.SecretVersionsToStages {
		if slices.Contains(stages, "AWSCURRENT") {
			row["version_id"] = modules.Text(id)
		}
	}
	return row
}

// Create creates a secret with all that want says of it, or restores the one of
// that name that is being deleted: AWS refuses to make another meanwhile (page
// CreateSecret, InvalidRequestException).
func (r *secret) Create(ctx context.Context, scope modules.Scope, want modules.Row, _ string) (modules.Row, error) {
	client, err := r.client(ctx, scope)
	if err != nil {
		return nil, err
	}
	identity := modules.Row{"name": want["name"]}
	old, err := client.DescribeSecret(ctx, &secretsmanager.DescribeSecretInput{SecretId: want["name"].Ptr()})
	if aws.IfExists(err) != nil {
		return nil, err
	}
	if err == nil && old.DeletedDate != nil {
		if _, err := client.RestoreSecret(ctx, &secretsmanager.RestoreSecretInput{SecretId: want["name"].Ptr()}); err != nil {
			return nil, err
		}
		if want["value"].IsNull() {
			return identity, nil
		}
		return identity, r.Update(ctx, scope, describedRow(old), want, []string{"value"})
	}
	out, err := client.CreateSecret(ctx, &secretsmanager.CreateSecretInput{
		Name:         want["name"].Ptr(),
		Description:  want["description"].Ptr(),
		SecretString: want["value"].Ptr(),
		KmsKeyId:     want["kms_key_id"].Ptr(),
		Tags:         secretTags.List(aws.TagsOf(want, "")),
	})
	if err != nil {
		return nil, err
	}
	identity["arn"] = modules.TextPtr(out.ARN)
	return identity, nil
}

// Update changes description, key and value in one call, and tags.
func (r *secret) Update(ctx context.Context, scope modules.Scope, have, want modules.Row, columns []string) error {
	client, err := r.client(ctx, scope)
	if err != nil {
		return err
	}
	id := have["name"].Ptr()
	in := &secretsmanager.UpdateSecretInput{SecretId: id}
	change := false
	for column, field := range map[string]**string{"description": &in.Description, "kms_key_id": &in.KmsKeyId} {
		if slices.Contains(columns, column) {
			*field, change = awssdk.String(want[column].String()), true // "" is none; left out, it would stay
		}
	}
	if slices.Contains(columns, "value") && !want["value"].IsNull() {
		in.SecretString, change = want["value"].Ptr(), true
	}
	if change {
		if _, err := client.UpdateSecret(ctx, in); err != nil {
			return err
		}
	}
	if !slices.Contains(columns, modules.ColumnTags) {
		return nil
	}
	return aws.UpdateTags(ctx, have, want,
		func(ctx context.Context, tags map[string]string) error {
			_, err := client.TagResource(ctx, &secretsmanager.TagResourceInput{SecretId: id, Tags: secretTags.List(tags)})
			return err
		},
		func(ctx context.Context, keys []string) error {
			_, err := client.UntagResource(ctx, &secretsmanager.UntagResourceInput{SecretId: id, TagKeys: keys})
			return err
		})
}

// Delete has a secret deleted after AWS's default of 30 days, within which it
// can be restored.
func (r *secret) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	client, err := r.client(ctx, scope)
	if err != nil {
		return err
	}
	now, err := client.DescribeSecret(ctx, &secretsmanager.DescribeSecretInput{SecretId: have["name"].Ptr()})
	if err != nil || now.DeletedDate != nil {
		return aws.IfExists(err)
	}
	if err := aws.Keep(r.Protected(describedRow(now))); err != nil {
		return err
	}
	_, err = client.DeleteSecret(ctx, &secretsmanager.DeleteSecretInput{SecretId: have["name"].Ptr()})
	return aws.IfExists(err)
}

// Protected keeps the secrets that other services manage.
func (r *secret) Protected(have modules.Row) string {
	if service := have["owning_service"]; !service.IsNull() {
		return "the service " + service.String() + " manages it, and deletes it when it is no longer needed"
	}
	return ""
}
