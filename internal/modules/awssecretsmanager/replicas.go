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

// replicasColumn are the regions that a secret is replicated to. ListSecrets does not tell them.
func replicasColumn() declare.Column {
	return declare.JSON("replica_regions", "ReplicationStatus",
		`The regions that it is replicated to: [{"Region": "eu-west-1", "KmsKeyId": "alias/team"}]; the key is that of Secrets Manager itself if left out. A replica has a row of its own in its region, and goes with the secret.`).
		In("AddReplicaRegions").Unordered().EmptyIsNull().Check("jsonb_typeof(replica_regions) = 'array'").
		As(replicated).Same(sameReplicas).Born(modules.Null).Since(4).
		From(declare.Call((*secretsmanager.Client).DescribeSecret, declare.IfAllowed(), declare.Rarely()))
}

// replicated are replicas without what becomes of them.
var replicated = declare.Shaped[smtypes.ReplicaRegionType]("replica_regions", nil)

// sameReplicas compares regions in whatever order.
var sameReplicas = declare.Equal(func(text string) (regions []smtypes.ReplicaRegionType, err error) {
	return regions, aws.ParseDocument("replica_regions", modules.Text(text), &regions)
}, func(x, y []smtypes.ReplicaRegionType) bool { return len(without(x, y)) == 0 && len(without(y, x)) == 0 })

// without returns the replicas that are not among others. A key that one leaves out is as AWS has it.
func without(regions, others []smtypes.ReplicaRegionType) []smtypes.ReplicaRegionType {
	return slices.DeleteFunc(slices.Clone(regions), func(r smtypes.ReplicaRegionType) bool {
		return slices.ContainsFunc(others, func(other smtypes.ReplicaRegionType) bool {
			return awssdk.ToString(r.Region) == awssdk.ToString(other.Region) && (r.KmsKeyId == nil ||
				other.KmsKeyId == nil || declare.SameKey(*r.KmsKeyId, *other.KmsKeyId))
		})
	})
}

// remove deletes a secret, and first its replicas: AWS refuses to delete one that has any (page DeleteSecret).
func remove(ctx context.Context, s *declare.Step) error {
	var have []smtypes.ReplicaRegionType
	if err := aws.ParseDocument("replica_regions", s.Have["replica_regions"], &have); err != nil {
		return err
	}
	if len(have) > 0 {
		if err := aws.IfExists(end(ctx, s, have)); err != nil {
			return err
		}
	}
	return s.Delete(ctx)
}

// end removes replicas.
func end(ctx context.Context, s *declare.Step, regions []smtypes.ReplicaRegionType) error {
	in := &secretsmanager.RemoveRegionsFromReplicationInput{SecretId: s.Have["name"].Ptr()}
	for _, r := range regions {
		in.RemoveReplicaRegions = append(in.RemoveReplicaRegions, awssdk.ToString(r.Region))
	}
	_, err := declare.ClientOf[*secretsmanager.Client](s).RemoveRegionsFromReplication(ctx, in)
	return err
}

// setReplicas removes replicas and adds others. One whose key changes is removed, and the next pass adds it again.
func setReplicas(ctx context.Context, s *declare.Step) error {
	have, want, err := declare.Both[[]smtypes.ReplicaRegionType](s, "replica_regions", nil)
	if err != nil {
		return err
	}
	gone := without(have, want)
	added := slices.DeleteFunc(without(want, have), func(r smtypes.ReplicaRegionType) bool {
		return slices.ContainsFunc(gone, func(g smtypes.ReplicaRegionType) bool {
			return awssdk.ToString(g.Region) == awssdk.ToString(r.Region)
		})
	})
	if len(gone) > 0 {
		if err := end(ctx, s, gone); err != nil {
			return err
		}
	}
	if len(added) > 0 {
		_, err = declare.ClientOf[*secretsmanager.Client](s).ReplicateSecretToRegions(ctx,
			&secretsmanager.ReplicateSecretToRegionsInput{SecretId: s.Have["name"].Ptr(), AddReplicaRegions: added})
	}
	return err
}
