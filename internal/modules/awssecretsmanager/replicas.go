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
		`The regions that it is replicated to: [{"Region": "eu-west-1", "KmsKeyId": "alias/team"}]; the key is that of Secrets Manager itself if left out. A replica has a row of its own in its region. AWS deletes a secret only when it has no replicas.`).
		In("AddReplicaRegions").Unordered().EmptyIsNull().Check("jsonb_typeof(replica_regions) = 'array'").
		As(replicated).Same(sameReplicas).Born(modules.Null).Since(4).
		From(declare.Call((*secretsmanager.Client).DescribeSecret, declare.IfAllowed(), declare.Rarely()))
}

// replicated are replicas without what becomes of them.
var replicated = declare.Codec{
	Decode: func(member any) (modules.Value, error) {
		var regions []smtypes.ReplicaRegionType
		for _, r := range member.([]smtypes.ReplicationStatusType) {
			regions = append(regions, smtypes.ReplicaRegionType{Region: r.Region, KmsKeyId: r.KmsKeyId})
		}
		if len(regions) == 0 {
			return modules.Null, nil
		}
		return aws.Document(regions)
	},
	Encode: func(v modules.Value) (any, error) { return regionsOf(v) },
}

func regionsOf(v modules.Value) ([]smtypes.ReplicaRegionType, error) {
	var regions []smtypes.ReplicaRegionType
	if v.IsNull() {
		return nil, nil
	}
	err := aws.ParseDocument("replica_regions", v, &regions)
	return regions, err
}

// sameReplicas compares regions in whatever order.
func sameReplicas(a, b string) bool {
	x, err := regionsOf(modules.Text(a))
	y, failed := regionsOf(modules.Text(b))
	if err != nil || failed != nil {
		return a == b
	}
	return len(without(x, y)) == 0 && len(without(y, x)) == 0
}

// without returns the replicas that are not among others. A key that one leaves out is as AWS has it.
func without(regions, others []smtypes.ReplicaRegionType) []smtypes.ReplicaRegionType {
	return slices.DeleteFunc(slices.Clone(regions), func(r smtypes.ReplicaRegionType) bool {
		return slices.ContainsFunc(others, func(other smtypes.ReplicaRegionType) bool {
			return awssdk.ToString(r.Region) == awssdk.ToString(other.Region) && (r.KmsKeyId == nil ||
				other.KmsKeyId == nil || declare.SameKey(*r.KmsKeyId, *other.KmsKeyId))
		})
	})
}

// setReplicas removes replicas and adds others. One whose key changes is removed, and the next pass adds it again.
func setReplicas(ctx context.Context, s *declare.Step) error {
	have, err := regionsOf(s.Have["replica_regions"])
	if err != nil {
		return err
	}
	want, err := regionsOf(s.Want["replica_regions"])
	if err != nil {
		return err
	}
	client, name := declare.ClientOf[*secretsmanager.Client](s), s.Have["name"].Ptr()
	gone := without(have, want)
	added := slices.DeleteFunc(without(want, have), func(r smtypes.ReplicaRegionType) bool {
		return slices.ContainsFunc(gone, func(g smtypes.ReplicaRegionType) bool {
			return awssdk.ToString(g.Region) == awssdk.ToString(r.Region)
		})
	})
	if len(gone) > 0 {
		in := &secretsmanager.RemoveRegionsFromReplicationInput{SecretId: name}
		for _, g := range gone {
			in.RemoveReplicaRegions = append(in.RemoveReplicaRegions, awssdk.ToString(g.Region))
		}
		if _, err := client.RemoveRegionsFromReplication(ctx, in); err != nil {
			return err
		}
	}
	if len(added) > 0 {
		_, err = client.ReplicateSecretToRegions(ctx, &secretsmanager.ReplicateSecretToRegionsInput{SecretId: name,
			AddReplicaRegions: added})
	}
	return err
}
