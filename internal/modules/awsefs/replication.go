package awsefs

import (
	"context"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/efs"
	efstypes "github.com/aws/aws-sdk-go-v2/service/efs/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// replicationColumn is where a file system is replicated to.
func replicationColumn() declare.Column {
	return declare.JSON("replication_configuration", "ReplicationConfiguration",
		`Where its files are replicated to: {"Destinations": [{"Region": "eu-west-1"}]} for a new file system, or {"Destinations": [{"Region": "eu-west-1", "FileSystemId": "fs-…"}]}; besides RoleArn, and of a new one AvailabilityZoneName and KmsKeyId. What is replicated stays when the replication ends. NULL: nowhere.`).
		EmptyIsNull().Check("replication_configuration ? 'Destinations'").Same(sameReplication).
		Born(modules.Null).Since(3).
		From(declare.Call(replications, declare.None("ReplicationNotFound"), declare.IfAllowed(), declare.Rarely()))
}

// replication is what the column replication_configuration holds.
type replication struct {
	Destinations []efstypes.DestinationToCreate
}

// replicated is where a file system is replicated to, in the shape that the column has.
type replicated struct{ ReplicationConfiguration *replication }

// replications reads where a file system is replicated to. DescribeReplicationConfigurations also tells of the
// replication that it is the destination of, which is another file system's.
func replications(client *efs.Client, ctx context.Context, in *efs.DescribeReplicationConfigurationsInput,
	options ...func(*efs.Options)) (*replicated, error) {
	out, err := client.DescribeReplicationConfigurations(ctx, in, options...)
	if err != nil {
		return nil, err
	}
	for _, r := range out.Replications {
		if awssdk.ToString(r.SourceFileSystemId) != awssdk.ToString(in.FileSystemId) {
			continue
		}
		of := &replication{}
		for _, d := range r.Destinations {
			if d.Status != efstypes.ReplicationStatusDeleting {
				of.Destinations = append(of.Destinations, efstypes.DestinationToCreate{Region: d.Region,
					FileSystemId: d.FileSystemId, RoleArn: d.RoleArn})
			}
		}
		if len(of.Destinations) > 0 {
			return &replicated{of}, nil
		}
	}
	return &replicated{}, nil
}

// sameReplication compares destinations. What one of both leaves out is as AWS has it, and AWS tells neither the zone
// nor the key of what it has made.
func sameReplication(a, b string) bool {
	var x, y replication
	if aws.ParseDocument("", modules.Text(a), &x) != nil || aws.ParseDocument("", modules.Text(b), &y) != nil ||
		len(x.Destinations) != len(y.Destinations) {
		return a == b
	}
	id := func(p *string) *string { // of an id or an ARN
		if p == nil {
			return nil
		}
		return awssdk.String((*p)[strings.LastIndex(*p, "/")+1:])
	}
	same := func(p, q *string) bool { return p == nil || q == nil || *p == *q }
	for i, d := range x.Destinations {
		if o := y.Destinations[i]; !same(d.Region, o.Region) || !same(id(d.FileSystemId), id(o.FileSystemId)) ||
			!same(d.RoleArn, o.RoleArn) {
			return false
		}
	}
	return true
}

// setReplication ends the replication that there is, or begins the one that is wanted: a file system has one (page
// CreateReplicationConfiguration), and ending it takes its time.
func setReplication(ctx context.Context, s *declare.Step) error {
	client, system := declare.ClientOf[*efs.Client](s), s.Have["file_system_id"].Ptr()
	if !s.Have["replication_configuration"].IsNull() {
		return endReplication(ctx, s)
	}
	var want replication
	if err := aws.ParseDocument("replication_configuration", s.Want["replication_configuration"], &want); err != nil {
		return err
	}
	_, err := client.CreateReplicationConfiguration(ctx, &efs.CreateReplicationConfigurationInput{
		SourceFileSystemId: system, Destinations: want.Destinations})
	return err
}

// endReplication ends a replication. The file system that it went to stays, and can be written to then.
func endReplication(ctx context.Context, s *declare.Step) error {
	_, err := declare.ClientOf[*efs.Client](s).DeleteReplicationConfiguration(ctx,
		&efs.DeleteReplicationConfigurationInput{SourceFileSystemId: s.Have["file_system_id"].Ptr()})
	return aws.IfExists(err)
}

// deleteFileSystem deletes a file system, and first ends its replication: AWS refuses to delete one that has any (page
// DeleteFileSystem).
func deleteFileSystem(ctx context.Context, s *declare.Step) error {
	if !s.Have["replication_configuration"].IsNull() {
		if err := endReplication(ctx, s); err != nil {
			return err
		}
	}
	return s.Delete(ctx)
}
