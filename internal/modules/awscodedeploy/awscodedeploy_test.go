package awscodedeploy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"iasql/internal/aws"
	"iasql/internal/modules"
	"iasql/internal/test/awstest"
	"iasql/internal/test/testaws"
)

func TestMain(m *testing.M) { testaws.Main(m) }

type objects = map[string]awstest.Input

// newCodeDeploy returns clients of CodeDeploy as its API Reference has it. moto
// can neither change nor delete anything of it.
func newCodeDeploy(t *testing.T, apps, groups, deployments objects) *aws.Clients {
	names := func(in awstest.Input, keys []string, items string) any { // a page has one
		slices.Sort(keys)
		at, _ := slices.BinarySearch(keys, in.Text("nextToken"))
		page := map[string]any{items: []string{}}
		if at < len(keys) {
			page[items] = keys[at : at+1]
		}
		if at+1 < len(keys) {
			page["nextToken"] = keys[at+1]
		}
		return page
	}
	gone := func(what string) awstest.Fault {
		return awstest.Fault{Code: what + "DoesNotExistException", Message: "No " + what + " found"}
	}
	group := func(in awstest.Input) string {
		return in.Text("applicationName") + "/" + in.Text("deploymentGroupName") + in.Text("currentDeploymentGroupName")
	}
	// What an ARN names.
	tagged := func(in awstest.Input) awstest.Input {
		arn := strings.TrimPrefix(in.Text("ResourceArn"), "arn:aws:codedeploy:us-east-1:123456789012:")
		if name, ok := strings.CutPrefix(arn, "application:"); ok {
			return apps[name]
		}
		return groups[strings.TrimPrefix(arn, "deploymentgroup:")]
	}
	// Groups are answered with structures where they are given names.
	shown := func(in awstest.Input) awstest.Input {
		in = maps.Clone(in)
		var scaling []any
		for _, name := range in.Texts("autoScalingGroups") {
			scaling = append(scaling, map[string]string{"name": name, "hook": "h"})
		}
		in["autoScalingGroups"] = scaling
		return in
	}
	return awstest.FakeJSON(t, map[string]func(awstest.Input) (any, error){
		"ListApplications": func(in awstest.Input) (any, error) {
			return names(in, slices.Collect(maps.Keys(apps)), "applications"), nil
		},
		"BatchGetApplications": func(in awstest.Input) (any, error) {
			var all []awstest.Input
			for _, name := range in.Texts("applicationNames") {
				if apps[name] == nil {
					return nil, gone("Application")
				}
				all = append(all, apps[name])
			}
			return map[string]any{"applicationsInfo": all}, nil
		},
		"CreateApplication": func(in awstest.Input) (any, error) {
			in["applicationId"] = "id"
			apps[in.Text("applicationName")] = in
			return map[string]string{"applicationId": "id"}, nil
		},
		"DeleteApplication": func(in awstest.Input) (any, error) {
			delete(apps, in.Text("applicationName"))
			return map[string]any{}, nil
		},
		"ListDeploymentGroups": func(in awstest.Input) (any, error) {
			var keys []string
			for key := range groups {
				if name, ok := strings.CutPrefix(key, in.Text("applicationName")+"/"); ok {
					keys = append(keys, name)
				}
			}
			return names(in, keys, "deploymentGroups"), nil
		},
		"GetDeploymentGroup": func(in awstest.Input) (any, error) {
			if groups[group(in)] == nil {
				return nil, gone("DeploymentGroup")
			}
			return map[string]any{"deploymentGroupInfo": shown(groups[group(in)])}, nil
		},
		"CreateDeploymentGroup": func(in awstest.Input) (any, error) {
			in["deploymentGroupId"] = "id"
			groups[group(in)] = in
			return map[string]string{"deploymentGroupId": "id"}, nil
		},
		"UpdateDeploymentGroup": func(in awstest.Input) (any, error) {
			maps.Copy(groups[group(in)], in)
			return map[string]any{}, nil
		},
		"DeleteDeploymentGroup": func(in awstest.Input) (any, error) {
			delete(groups, group(in))
			return map[string]any{}, nil
		},
		"ListDeployments": func(in awstest.Input) (any, error) {
			return names(in, slices.Collect(maps.Keys(deployments)), "deployments"), nil
		},
		"BatchGetDeployments": func(in awstest.Input) (any, error) {
			var all []awstest.Input
			for _, id := range in.Texts("deploymentIds") {
				if deployments[id] != nil {
					all = append(all, deployments[id])
				}
			}
			return map[string]any{"deploymentsInfo": all}, nil
		},
		"CreateDeployment": func(in awstest.Input) (any, error) {
			id := fmt.Sprintf("d-%d", len(deployments)+1)
			in["deploymentId"], in["status"], in["createTime"] = id, "Created", 1.6e9
			deployments[id] = in
			return map[string]string{"deploymentId": id}, nil
		},
		"ListTagsForResource": func(in awstest.Input) (any, error) {
			return map[string]any{"Tags": tagged(in)["tags"]}, nil
		},
		"TagResource": func(in awstest.Input) (any, error) {
			object := tagged(in)
			had, _ := object["tags"].([]any)
			for _, tag := range in["Tags"].([]any) {
				had = slices.DeleteFunc(had, func(t any) bool {
					return t.(map[string]any)["Key"] == tag.(map[string]any)["Key"]
				})
				had = append(had, tag)
			}
			object["tags"] = had
			return map[string]any{}, nil
		},
		"UntagResource": func(in awstest.Input) (any, error) {
			object := tagged(in)
			object["tags"] = slices.DeleteFunc(object["tags"].([]any), func(t any) bool {
				return slices.Contains(in.Texts("TagKeys"), t.(map[string]any)["Key"].(string))
			})
			return map[string]any{}, nil
		},
	})
}

func document(t *testing.T, text string) modules.Value {
	t.Helper()
	v, err := modules.JSONText(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestApplicationLifecycle(t *testing.T) {
	t.Parallel()
	apps := objects{"app-old": {"applicationName": "app-old", "computePlatform": "Lambda"}}
	awstest.Lifecycle(t, awstest.Case{
		Resource: newApplication(newCodeDeploy(t, apps, nil, nil)),
		Scope:    awstest.Scope("us-east-1"),
		Want: modules.Row{
			"name": modules.Text("app"), "compute_platform": modules.Text("Server"),
			"tags": modules.StringMap(map[string]string{"env": "test"}),
		},
	})
}

func TestGroupLifecycle(t *testing.T) {
	t.Parallel()
	apps := objects{"app": {"applicationName": "app"}, "bare": {"applicationName": "bare"},
		"other": {"applicationName": "other"}}
	groups := objects{"other/production": {"applicationName": "other", "deploymentGroupName": "production"},
		"app/test": {"applicationName": "app", "deploymentGroupName": "test"}}
	text := modules.Text
	awstest.Lifecycle(t, awstest.Case{
		Resource: newGroup(newCodeDeploy(t, apps, groups, nil)),
		Scope:    awstest.Scope("us-east-1"),
		Want: modules.Row{
			"application_id": text("app"), "name": text("production"), "role_name": text("deployer"),
			"deployment_config_name": text("CodeDeployDefault.OneAtATime"),
			"deployment_style": document(t,
				`{"DeploymentType":"IN_PLACE","DeploymentOption":"WITHOUT_TRAFFIC_CONTROL"}`),
			"ec2_tag_filters": document(t, `[{"Key":"app","Value":"web","Type":"KEY_AND_VALUE"}]`),
			"tags":            modules.StringMap(map[string]string{"env": "test"}),
		},
		Changes: map[string][]modules.Value{
			"deployment_config_name": {text("CodeDeployDefault.AllAtOnce")},
			"deployment_style": {document(t,
				`{"DeploymentType":"BLUE_GREEN","DeploymentOption":"WITH_TRAFFIC_CONTROL"}`)},
			"ec2_tag_filters": {document(t,
				`[{"Key":"app","Type":"KEY_ONLY"},{"Value":"web","Type":"VALUE_ONLY"}]`), modules.Null},
			"auto_scaling_groups": {modules.Strings([]string{"one", "two"}), modules.Null},
			"role_name":           {text("other")},
		},
	})
}

func TestDeployments(t *testing.T) {
	t.Parallel()
	deployments := objects{"d-0": {"deploymentId": "d-0", "applicationName": "app", "deploymentGroupName": "test",
		"status": "Succeeded", "createTime": 1.5e9, "completeTime": 1.5e9 + 60}}
	clients, scope := newCodeDeploy(t, nil, nil, deployments), awstest.Scope("us-east-1")
	ctx, permit := t.Context(), awstest.Permit()
	location := document(t, `{"RevisionType":"S3","S3Location":{"Bucket":"releases","Key":"app.zip","BundleType":"zip"}}`)
	args := modules.Row{"application_name": modules.Text("app"), "deployment_group_name": modules.Text("production"),
		"location": location, "description": modules.Text("two")}
	started, err := deploy(clients).Call(ctx, modules.Invocation{Scope: scope, Arguments: args, Permit: permit})
	if err != nil || len(started) != 1 || started[0]["deployment_id"].String() != "d-2" {
		t.Fatalf("started %v, %v", started, err)
	}
	r := newDeployment(clients)
	page, rows := aws.Collector()
	if err := awstest.List(ctx, r, scope, page); err != nil {
		t.Fatal(err)
	}
	all := rows()
	if len(all) != 2 || all[0]["complete_time"].IsNull() || all[1]["location"] != location ||
		all[1]["status"].String() != "Created" || !all[1]["complete_time"].IsNull() {
		t.Fatalf("got %v", all)
	}
	if can := r.Can(); can.Create || can.Update || can.Delete {
		t.Error("deployments can be written")
	}
	args["location"] = document(t, `{"S3":"x"}`)
	if _, err := deploy(clients).Call(ctx, modules.Invocation{Scope: scope, Arguments: args, Permit: permit}); err == nil || modules.ClassOf(err) != modules.Invalid {
		t.Errorf("a location that there is not: %v, want class %s", err, modules.Invalid)
	}
}
