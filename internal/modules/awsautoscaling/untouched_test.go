package awsautoscaling

import (
	"net/url"
	"strings"
	"testing"

	astypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"iasql/internal/modules"
	"iasql/internal/test/awstest"
)

// Whether new instances get a tag stays as it is when its value changes (R35); of a new one they do. What the user says
// of it is done, and nothing else.
func TestPropagation(t *testing.T) {
	t.Parallel()
	clients := newFake(t, map[string]*node{"web": parsed(url.Values{"AutoScalingGroupName": {"web"}, "MinSize": {"0"},
		"MaxSize":           {"0"},
		"Tags.member.1.Key": {"kept"}, "Tags.member.1.Value": {"old"}, "Tags.member.1.PropagateAtLaunch": {"false"},
		"Tags.member.2.Key": {"given"}, "Tags.member.2.Value": {"old"}, "Tags.member.2.PropagateAtLaunch": {"true"},
		"Tags.member.3.Key": {"aws:x"}, "Tags.member.3.Value": {"x"}, "Tags.member.3.PropagateAtLaunch": {"false"}})})
	scope, group := awstest.Scope("us-east-1"), newGroup(clients)
	ctx, permit := t.Context(), awstest.Permit()
	read := func() modules.Row {
		rows, err := awstest.Get(ctx, group, scope, []modules.Row{{"auto_scaling_group_name": text("web")}})
		if err != nil || len(rows) != 1 {
			t.Fatal(rows, err)
		}
		return rows[0]
	}
	check := func(tags, not string) {
		t.Helper()
		row := read()
		if row["tags"].String() != tags || strings.Join(row[unpropagated].Strings(), " ") != not {
			t.Errorf("tags %s, of which instances do not get %s; want %s, %s", row["tags"], row[unpropagated], tags, not)
		}
	}
	check(`{"given":"old","kept":"old"}`, "kept")

	want := read()
	want["tags"] = modules.StringMap(map[string]string{"kept": "new", "given": "new", "added": "new"})
	want[unpropagated] = modules.Null // which the user has not written: the cloud has changed it since
	if err := awstest.Update(ctx, group, permit, scope, read(), want, []string{"tags"}); err != nil {
		t.Fatal(err)
	}
	check(`{"added":"new","given":"new","kept":"new"}`, "kept")

	want = read()
	want["tags"] = modules.StringMap(map[string]string{"kept": "third", "given": "new", "new": "new"})
	want[unpropagated] = modules.Strings([]string{"new", "given"})
	if err := awstest.Update(ctx, group, permit, scope, read(), want, []string{"tags", unpropagated}); err != nil {
		t.Fatal(err)
	}
	check(`{"given":"new","kept":"third","new":"new"}`, "given new")

	want = read()
	want[unpropagated] = modules.Strings([]string{"nothing"})
	if err := awstest.Update(ctx, group, permit, scope, read(), want, []string{unpropagated}); modules.ClassOf(err) != modules.Invalid {
		t.Errorf("a key without a tag: %v, want class %s", err, modules.Invalid)
	}
}

// A pool that AWS deletes is none.
func TestWarmPoolGoes(t *testing.T) {
	t.Parallel()
	v, err := warmPool.Decode(astypes.WarmPoolConfiguration{PoolState: "Stopped", Status: astypes.WarmPoolStatusPendingDelete})
	if err != nil || !v.IsNull() {
		t.Errorf("a pool that is being deleted is %s (%v)", v, err)
	}
}
