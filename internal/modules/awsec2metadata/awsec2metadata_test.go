package awsec2metadata

import (
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
	"iasql/internal/test/awstest"
	"iasql/internal/test/testaws"
)

func TestMain(m *testing.M) { testaws.Main(m) }

// The table is only read, so that it has no lifecycle of its own: instances are
// made by other means. moto's instances have no CpuOptions; those of their types
// count.
func TestMetadata(t *testing.T) {
	t.Parallel()
	c, scope := awstest.Clients(t), awstest.Scope("us-east-1")
	ctx, permit := t.Context(), awstest.Permit()
	client, err := c.Permitted(permit).EC2(ctx, scope)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CreateKeyPair(ctx, &ec2.CreateKeyPairInput{KeyName: awssdk.String("key")}); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, kind := range []ec2types.InstanceType{ec2types.InstanceTypeM5Large, ec2types.InstanceTypeT3Micro,
		ec2types.InstanceTypeT3Micro} {
		out, err := client.RunInstances(ctx, &ec2.RunInstancesInput{
			ImageId: awssdk.String("ami-1e749f67"), InstanceType: kind, KeyName: awssdk.String("key"),
			MinCount: awssdk.Int32(1), MaxCount: awssdk.Int32(1),
		})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, *out.Instances[0].InstanceId)
	}
	if _, err := client.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: ids[2:]}); err != nil {
		t.Fatal(err)
	}
	r := newMetadata(c)
	if modules.Can(r).Create {
		t.Error("facts can be created")
	}
	page, rows := aws.Collector()
	if err := awstest.List(t.Context(), r, scope, page); err != nil || len(rows()) != 2 {
		t.Fatalf("got %v, %v", rows(), err)
	}
	some, err := awstest.Get(t.Context(), r, scope,
		[]modules.Row{{"instance_id": modules.Text(ids[0])}, {"instance_id": modules.Text(ids[2])},
			{"instance_id": modules.Text("i-none")}})
	if err != nil || len(some) != 1 {
		t.Fatalf("got %v, %v", some, err)
	}
	row := some[0]
	for column, want := range map[string]modules.Value{
		"architecture": modules.Text("x86_64"), "cpu_cores": modules.Int(1), "mem_size_mb": modules.Int(8192),
		"ebs_optimized":    modules.Bool(false),
		"root_device_type": modules.Text("ebs"), "root_device_name": modules.Text("/dev/sda1"),
		"image_id": modules.Text("ami-1e749f67"),
	} {
		if row[column] != want {
			t.Errorf("%s: got %v, want %v", column, row[column], want)
		}
	}
	for _, column := range r.Table().Columns {
		v, ok := row[column.Name]
		if column.Name == modules.ColumnAccount || column.Name == modules.ColumnRegion {
			continue
		}
		if canonical, err := column.Type.Canonical(v.String()); !ok || v.IsNull() || err != nil ||
			canonical != v.String() {
			t.Errorf("%s: got %q, %v", column.Name, v, err)
		}
	}
}
