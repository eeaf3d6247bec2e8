package awssecretsmanager

import (
	"context"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	smtypes "github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// pageSize is the most secrets ListSecrets gives a page.
const pageSize = 100

// newSecret declares the table secret. A secret that waits for its deletion is gone:
// nothing can read it, and who creates one of its name gets it back.
func newSecret(c *aws.Clients) *declare.Resource {
	return declare.New(c, declare.Table[smtypes.SecretListEntry]{
		Name: "secret",
		Doc: "Secrets, such as passwords. A deleted secret can be restored for 30 days, as is AWS's default: by aws " +
			"secretsmanager restore-secret, " +
			"or by inserting its name again, which brings back the secret with its old versions. To be rid of it at " +
			"once, use aws secretsmanager delete-secret --force-delete-without-recovery.",
		Service: declare.Service(secretsmanager.NewFromConfig),
		Columns: []declare.Column{
			declare.Name("name", "Name", "The secret's name, up to 512 letters, digits and /_+=.@-. Those that "+
				"services manage have a ! in it, such as rds!db-1.").In("Name", "SecretId").
				// Page CreateSecret: Name. Services name those that they manage with an exclamation mark: rds!db-….
				Check(`name ~ '^[A-Za-z0-9/_+=.@!-]+$' AND length(name) <= 512`),
			declare.Text("description", "Description", "What it is for, up to 2048 characters.").Length(1,
				2048).Unset(modules.Text("")),
			declare.Text("value", "", "A new value, up to 65536 bytes. It is passed on and then NULL again; NULL "+
				"changes nothing.").
				In("SecretString").WriteOnly().Length(1, 65536),
			declare.Text("kms_key_id", "KmsKeyId",
				"The id, ARN or alias of the KMS key that encrypts it. NULL: that of Secrets Manager itself.").
				Same(declare.SameKey).Unset(modules.Text("")),
			replicasColumn(),
			declare.Text("version_id", "SecretVersionsToStages",
				"The id of its current version, which changes with its value; NULL as long as it has none.").Computed().
				As(current),
			declare.ARN("arn", "ARN"),
			declare.Text("owning_service", "OwningService",
				"The AWS service that manages it, such as rds; NULL if none does.").Computed(),
			declare.Text("primary_region", "PrimaryRegion",
				"The region it is replicated from, or its own if it is replicated; NULL otherwise.").Computed(),
			declare.Tags("Tags", (*secretsmanager.Client).TagResource, (*secretsmanager.Client).UntagResource),
		},
		Published: declare.Published{Type: "AWS::SecretsManager::Secret", Since: 3,
			Columns: map[string]string{"ReplicaRegions": "replica_regions"},
			Docs: map[string]string{"Type": "What kind of secret it is of a managed external service; NULL for " +
				"all others."},
			Without: map[string]string{
				"GenerateSecretString": "it is a deed, and no state: a value is made once, and the column value " +
					"sets one",
			},
		},
		// The name is taken until the old one is deleted.
		DestroyBeforeCreate: true,

		EventMappings: modules.EventMappings("secretsmanager.amazonaws.com",
			modules.Request("secretId", "RestoreSecret", "PutSecretValue", "UpdateSecretVersionStage", "RotateSecret",
				"CancelRotateSecret", "ReplicateSecretToRegions", "RemoveRegionsFromReplication",
				"StopReplicationToReplica", "PutResourcePolicy", "DeleteResourcePolicy"),
		),
		List: declare.Pages(secretsmanager.NewListSecretsPaginator, "SecretList", declare.PageSize(pageSize)),
		Get: declare.One(declare.Call((*secretsmanager.Client).DescribeSecret,
			declare.Convert(func(out secretsmanager.DescribeSecretOutput) smtypes.SecretListEntry {
				return smtypes.SecretListEntry{
					Name: out.Name, Description: out.Description, KmsKeyId: out.KmsKeyId, ARN: out.ARN,
					OwningService: out.OwningService, DeletedDate: out.DeletedDate,
					PrimaryRegion: out.PrimaryRegion, Tags: out.Tags, Type: out.Type,
					SecretVersionsToStages: out.VersionIdsToStages,
				}
			})), ""),
		// A replica tells the others, too, of which its primary alone decides.
		Row: func(_ context.Context, s *declare.Step, e *smtypes.SecretListEntry, row modules.Row) error {
			if of := awssdk.ToString(e.PrimaryRegion); of != "" && of != s.Scope.Region {
				row["replica_regions"] = modules.Null
			}
			return nil
		},
		Gone:     func(s *smtypes.SecretListEntry) bool { return s.DeletedDate != nil },
		Create:   declare.Call((*secretsmanager.Client).CreateSecret),
		CreateBy: create,
		Updates: []declare.Update{declare.Modify(declare.Call((*secretsmanager.Client).UpdateSecret)),
			declare.By(setReplicas, "replica_regions")},
		// AWS deletes it after its default of 30 days, within which it can be restored.
		// that is being removed
		Delete:    declare.Call((*secretsmanager.Client).DeleteSecret, declare.Heals("replica")),
		DeleteBy:  remove,
		HoldsData: true,
		Reread:    true,
		Protected: declare.IfSet("owning_service",
			"the service %s manages it, and deletes it when it is no longer needed"),
	})
}

// current reads the id of the current version from the stages of all.
var current = declare.Codec{Decode: func(member any) (modules.Value, error) {
	for id, stages := range member.(map[string][]string) {
		if slices.Contains(stages, "AWSCURRENT") {
			return modules.Text(id), nil
		}
	}
	return modules.Null, nil
}}

// create creates a secret, or restores the one of that name that is being
// deleted: AWS refuses to make another meanwhile (page CreateSecret,
// InvalidRequestException).
func create(ctx context.Context, s *declare.Step) (modules.Row, error) {
	client, name := declare.ClientOf[*secretsmanager.Client](s), s.Want["name"]
	old, err := client.DescribeSecret(ctx, &secretsmanager.DescribeSecretInput{SecretId: name.Ptr()})
	if aws.IfExists(err) != nil {
		return nil, err
	}
	if err != nil || old.DeletedDate == nil {
		return s.Create(ctx)
	}
	if _, err := client.RestoreSecret(ctx, &secretsmanager.RestoreSecretInput{SecretId: name.Ptr()}); err != nil {
		return nil, err
	}
	if value := s.Want["value"]; !value.IsNull() {
		_, err = client.UpdateSecret(ctx,
			&secretsmanager.UpdateSecretInput{SecretId: name.Ptr(), SecretString: value.Ptr()})
	}
	return modules.Row{"name": name}, err
}
