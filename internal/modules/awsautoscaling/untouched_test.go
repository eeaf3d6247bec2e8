package awsautoscaling

import (
	"net/url"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"

	"iasql/internal/aws/declare"
	"iasql/internal/modules"
	"iasql/internal/test/awstest"
)

// Whether new instances get a tag stays as it is when its value changes (R35); of a new one they do.
func TestPropagation(t *testing.T) {
	t.Parallel()
	clients := newFake(t, map[string]*node{"web": parsed(url.Values{"AutoScalingGroupName": {"web"}, "MinSize": {"0"},
		"MaxSize":           {"0"},
		"Tags.member.1.Key": {"kept"}, "Tags.member.1.Value": {"old"}, "Tags.member.1.PropagateAtLaunch": {"false"},
		"Tags.member.2.Key": {"given"}, "Tags.member.2.Value": {"old"}, "Tags.member.2.PropagateAtLaunch": {"true"}})})
	scope := awstest.Scope("us-east-1")
	ctx, permit := t.Context(), awstest.Permit()
	have := modules.Row{"auto_scaling_group_name": text("web"),
		"tags": modules.StringMap(map[string]string{"kept": "old", "given": "old"})}
	want := have.Clone()
	want["tags"] = modules.StringMap(map[string]string{"kept": "new", "given": "new", "added": "new"})
	if err := awstest.Update(ctx, newGroup(clients), permit, scope, have, want, []string{"tags"}); err != nil {
		t.Fatal(err)
	}
	client, err := declare.Client(ctx, clients.Permitted(permit), scope, autoscaling.NewFromConfig)
	if err != nil {
		t.Fatal(err)
	}
	out, err := client.DescribeAutoScalingGroups(ctx,
		&autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{"web"}})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, tag := range out.AutoScalingGroups[0].Tags {
		if got[*tag.Key] = awssdk.ToBool(tag.PropagateAtLaunch); *tag.Value != "new" {
			t.Errorf("tag %s is %s", *tag.Key, *tag.Value)
		}
	}
	if len(got) != 3 || got["kept"] || !got["given"] || !got["added"] {
		t.Errorf("new instances get %v", got)
	}
}
