package awskms

import (
	"context"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	kmstypes "github.com/aws/aws-sdk-go-v2/service/kms/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// Page sizes are the most that ListKeys and ListAliases give a page.
const (
	keysPageSize    = 1000
	aliasesPageSize = 100
)

// thePolicy is the name of the one policy that a key has.
const thePolicy = "default"

// newKey declares the table kms_key. The limits are those of the page CreateKey of
// the KMS API Reference. A key that waits for its deletion is gone: nothing can use
// it, no other key will have its id, and 30 days are too long to wait for.
func newKey(c *aws.Clients) *declare.Resource {
	// Keys that cannot be rotated are those that are not symmetric, or whose
	// material KMS has not made.
	rotation := declare.Call((*kms.Client).GetKeyRotationStatus, declare.None("UnsupportedOperationException"))
	return declare.New(c, declare.Table[kmstypes.KeyMetadata]{
		Name: "kms_key",
		Doc: "Keys that the account manages; those that AWS manages for a service, such as aws/s3, are not shown. " +
			"Deleting a row schedules the key's deletion, and deletes its aliases. The key cannot be used from then " +
			"on, and is gone after AWS's default of 30 days, with all that it has encrypted; " +
			"until then, aws kms cancel-key-deletion brings it back. A column that replaces the key does the same to " +
			"the old one. Where a key's own policy keeps the engine from reading it, the table cannot be read, and " +
			"iasql_get_errors() says so.",
		Service:  declare.Service(kms.NewFromConfig),
		Creation: modules.ByTag,
		Columns: []declare.Column{
			declare.ID("key_id", "KeyId", "The key's id, such as 1234abcd-12ab-34cd-56ef-1234567890ab; NULL until it "+
				"is created."),
			declare.Text("description", "Description", "What it is for, up to 8192 characters.").Length(1,
				8192).Unset(modules.Text("")),
			declare.Text("key_spec", "KeySpec",
				"What kind of key it is. Default SYMMETRIC_DEFAULT: 256 bits, for encryption.").
				Default("'SYMMETRIC_DEFAULT'").CreateOnly().OneOf(declare.Values(kmstypes.KeySpec("").Values())...),
			declare.Text("key_usage", "KeyUsage",
				"What it is used for. Default ENCRYPT_DECRYPT, which is all that a SYMMETRIC_DEFAULT key can.").
				Default("'ENCRYPT_DECRYPT'").CreateOnly().OneOf(declare.Values(kmstypes.KeyUsageType("").Values())...),
			declare.Text("origin", "Origin",
				"Where its material comes from: KMS (AWS_KMS, the default), an import (EXTERNAL), or a custom "+
					"key store.").
				Default("'AWS_KMS'").CreateOnly().OneOf(declare.Values(kmstypes.OriginType("").Values())...),
			declare.Text("custom_key_store_id", "CustomKeyStoreId",
				"The custom key store it is in; NULL: none.").CreateOnly().Length(1, 64),
			declare.Text("xks_key_id", "XksKeyConfiguration.Id",
				"The id of the key in an external key store that is its material.").In(
				"XksKeyId").CreateOnly().Length(1, 128),
			declare.Bool("multi_region", "MultiRegion",
				"Whether it can have replicas in other regions.").Default("false").CreateOnly(),
			declare.Bool("enabled", "Enabled",
				"Whether it can be used. Left out, AWS enables it as soon as it has its material.").OptionalComputed(),
			declare.Bool("enable_key_rotation", "KeyRotationEnabled",
				"Whether KMS makes new material for it from time to time. A replica has what its primary key has.").
				Default("false").From(rotation),
			declare.Integer("rotation_period_in_days", "RotationPeriodInDays",
				"How many days lie between two rotations, from 90 to 2560; 365 if left out. NULL while "+
					"enable_key_rotation is false.").
				OptionalComputed().Between(90, 2560).From(rotation),
			declare.Policy("Policy", "Who may do what with the key: a key policy, which no other policy can stand in "+
				"for. Left out, AWS lets the account's own policies decide.").
				OptionalComputed().From(declare.Call((*kms.Client).GetKeyPolicy,
				declare.With(&kms.GetKeyPolicyInput{PolicyName: awssdk.String(thePolicy)}))),
			declare.Time("next_rotation_date", "NextRotationDate", "When it is rotated next.").From(rotation),
			declare.Text("multi_region_key_type", "MultiRegionConfiguration.MultiRegionKeyType",
				"PRIMARY or REPLICA; NULL if it is of one region. Replicas are made by aws kms replicate-key.").
				Computed(),
			declare.Text("key_state", "KeyState",
				"Enabled, Disabled, PendingImport, or another state that AWS documents.").Computed(),
			declare.ARN("arn", "Arn"),
			declare.Time("creation_date", "CreationDate", "When it was created."),
			declare.Tags("Tags", (*kms.Client).TagResource,
				(*kms.Client).UntagResource).From(declare.Call((*kms.Client).ListResourceTags)),
		},
		Published: declare.Published{Type: "AWS::KMS::Key", Since: 2, Columns: map[string]string{"KeyPolicy": "policy"},
			Along: []string{"BypassPolicyLockoutSafetyCheck", "PendingWindowInDays"},
			Docs: map[string]string{
				"BypassPolicyLockoutSafetyCheck": "Whether a policy is set although it keeps out who sets it.",
				"PendingWindowInDays": "How many days a deletion of the key waits, from 7 to 30, in which it can " +
					"be taken back. NULL: 30.",
			},
		},
		Checks: []string{
			`key_spec <> 'SYMMETRIC_DEFAULT' OR key_usage = 'ENCRYPT_DECRYPT'`,
			`rotation_period_in_days IS NULL OR enable_key_rotation`,
			`xks_key_id IS NULL OR origin = 'EXTERNAL_KEY_STORE'`,
		},

		EventMappings: modules.EventMappings("kms.amazonaws.com",
			modules.Request("keyId", "EnableKey", "DisableKey", "EnableKeyRotation", "DisableKeyRotation",
				"CancelKeyDeletion", "UpdatePrimaryRegion", "RotateKeyOnDemand", "ImportKeyMaterial",
				"DeleteImportedKeyMaterial"),
			modules.Response("replicaKeyMetadata.keyId", "ReplicateKey"),
			modules.Details("keyId", "DeleteKey", "RotateKey"),
		),
		List: declare.Pages(kms.NewListKeysPaginator, "Keys", declare.PageSize(keysPageSize)).Names("key_id", "KeyId"),
		Get:  declare.One(declare.Call((*kms.Client).DescribeKey), "KeyMetadata"),
		Gone: func(k *kmstypes.KeyMetadata) bool {
			return k.KeyManager == kmstypes.KeyManagerTypeAws || k.KeyState == kmstypes.KeyStatePendingDeletion ||
				k.KeyState == kmstypes.KeyStatePendingReplicaDeletion
		},
		Row: func(_ context.Context, _ *declare.Step, _ *kmstypes.KeyMetadata, row modules.Row) error {
			if rotates, told := row["enable_key_rotation"]; told && !rotates.Bool() {
				row["rotation_period_in_days"] = modules.Null
			}
			return nil
		},
		Create: declare.Call((*kms.Client).CreateKey, declare.Answer("KeyMetadata")),
		Updates: []declare.Update{
			declare.Modify(declare.Call((*kms.Client).UpdateKeyDescription), "description"),
			declare.Modify(declare.Call((*kms.Client).PutKeyPolicy,
				declare.With(&kms.PutKeyPolicyInput{PolicyName: awssdk.String(thePolicy)})), "policy"),
			declare.By(turn, "enabled", "enable_key_rotation", "rotation_period_in_days"),
		},
		// AWS waits for its default of 30 days, in which the deletion can be taken back.
		Delete:    declare.Call((*kms.Client).ScheduleKeyDeletion, declare.Failed(deleted)),
		Forming:   declare.In("key_state", string(kmstypes.KeyStateCreating)), // a replica
		HoldsData: true,                                                       // what it has encrypted
	})
}

// turn turns the key and its rotation on and off. The rotation of a disabled key
// cannot be changed (page EnableKeyRotation, DisabledException).
func turn(ctx context.Context, s *declare.Step) error {
	client, key := declare.ClientOf[*kms.Client](s), s.Have["key_id"].Ptr()
	if s.Changes("enabled") && s.Want["enabled"].Bool() {
		if _, err := client.EnableKey(ctx, &kms.EnableKeyInput{KeyId: key}); err != nil {
			return err
		}
	}
	switch rotate := s.Want["enable_key_rotation"].Bool(); {
	case rotate && s.Changes("enable_key_rotation", "rotation_period_in_days"):
		if _, err := client.EnableKeyRotation(ctx,
			&kms.EnableKeyRotationInput{KeyId: key,
				RotationPeriodInDays: s.Want["rotation_period_in_days"].Int32Ptr()}); err != nil {
			return err
		}
	case !rotate && s.Changes("enable_key_rotation"):
		if _, err := client.DisableKeyRotation(ctx, &kms.DisableKeyRotationInput{KeyId: key}); err != nil {
			return err
		}
	}
	if enabled := s.Want["enabled"]; s.Changes("enabled") && !enabled.IsNull() && !enabled.Bool() {
		_, err := client.DisableKey(ctx, &kms.DisableKeyInput{KeyId: key})
		return err
	}
	return nil
}

// deleted looks at the error of a deletion: a key that waits for one already is
// gone (page ScheduleKeyDeletion, KMSInvalidStateException).
func deleted(ctx context.Context, s *declare.Step, err error) error {
	if !aws.HasCode(err, "KMSInvalidStateException") {
		return err
	}
	out, failed := declare.ClientOf[*kms.Client](s).DescribeKey(ctx,
		&kms.DescribeKeyInput{KeyId: s.Have["key_id"].Ptr()})
	if failed == nil && (out.KeyMetadata.KeyState == kmstypes.KeyStatePendingDeletion ||
		out.KeyMetadata.KeyState == kmstypes.KeyStatePendingReplicaDeletion) {
		return nil
	}
	return err
}
