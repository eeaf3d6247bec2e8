package awsec2

import (
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"iasql/internal/aws/declare"
	"iasql/internal/modules"
	"iasql/internal/test/awstest"
)

// moto registers an instance with one port only: it looks for it by its id.
func TestRegisteredInstanceLifecycle(t *testing.T) {
	t.Parallel()
	c := awstest.Clients(t)
	r := newRegistered(c)
	ctx, permit := t.Context(), awstest.Permit()
	client, err := declare.Client(ctx, c.Permitted(permit), east, elb.NewFromConfig)
	if err != nil {
		t.Fatal(err)
	}
	vpcs, err := api(t, c).DescribeVpcs(ctx, &ec2.DescribeVpcsInput{})
	if err != nil {
		t.Fatal(err)
	}
	group, err := client.CreateTargetGroup(ctx, &elb.CreateTargetGroupInput{
		Name: awssdk.String("web"), Protocol: elbtypes.ProtocolEnumHttp, Port: awssdk.Int32(80),
		VpcId: vpcs.Vpcs[0].VpcId,
	})
	if err != nil {
		t.Fatal(err)
	}
	launched, err := api(t, c).RunInstances(ctx, &ec2.RunInstancesInput{
		ImageId: awssdk.String(ubuntu), InstanceType: "t3.micro", MinCount: awssdk.Int32(1), MaxCount: awssdk.Int32(1),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := modules.Row{
		"instance":        text(*launched.Instances[0].InstanceId),
		"target_group_id": text(*group.TargetGroups[0].TargetGroupArn), "port": modules.Int(8080),
	}
	awstest.Lifecycle(t, awstest.Case{Resource: r, Scope: east, Want: want})

	// One that does not run is waited for.
	if _, err := api(t, c).StopInstances(ctx,
		&ec2.StopInstancesInput{InstanceIds: []string{want["instance"].String()}}); err != nil {
		t.Fatal(err)
	}
	if _, err := awstest.Create(ctx, r, permit, east, want, ""); modules.ClassOf(err) != modules.Dependency ||
		err == nil {
		t.Errorf("a stopped instance: %v, want class %s", err, modules.Dependency)
	}
	// Without the target group there is nothing to take out.
	if _, err := client.DeleteTargetGroup(ctx,
		&elb.DeleteTargetGroupInput{TargetGroupArn: group.TargetGroups[0].TargetGroupArn}); err != nil {
		t.Fatal(err)
	}
	if err := awstest.Delete(ctx, r, permit, east, want); err != nil {
		t.Error(err)
	}
}
