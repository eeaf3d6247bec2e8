package awscodebuild

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"iasql/internal/aws"
	"iasql/internal/modules"
	"iasql/internal/test/awstest"
	"iasql/internal/test/testaws"
)

func TestMain(m *testing.M) { testaws.Main(m) }

// newCodeBuild returns clients of CodeBuild as the AWS CodeBuild API Reference
// has it. moto has no UpdateProject, BatchDeleteBuilds and source credentials.
func newCodeBuild(t *testing.T, projects, builds, credentials map[string]awstest.Input) *aws.Clients {
	names := func(in awstest.Input, all map[string]awstest.Input, items string) any {
		keys := slices.Sorted(maps.Keys(all)) // a page has one
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
	some := func(keys []string, all map[string]awstest.Input, items string) any {
		found := []any{}
		for _, key := range keys {
			if all[key] != nil {
				found = append(found, all[key])
			}
		}
		return map[string]any{items: found}
	}
	const arn = "arn:aws:codebuild:us-east-1:123456789012:"
	return awstest.FakeJSON(t, map[string]func(awstest.Input) (any, error){
		"ListProjects": func(in awstest.Input) (any, error) { return names(in, projects, "projects"), nil },
		"BatchGetProjects": func(in awstest.Input) (any, error) {
			return some(in.Texts("names"), projects, "projects"), nil
		},
		"CreateProject": func(in awstest.Input) (any, error) {
			name := in.Text("name")
			if projects[name] != nil {
				return nil, awstest.Fault{Code: "ResourceAlreadyExistsException", Message: "Project already exists"}
			}
			in["arn"] = arn + "project/" + name
			projects[name] = in
			return map[string]any{"project": in}, nil
		},
		"UpdateProject": func(in awstest.Input) (any, error) {
			project := projects[in.Text("name")]
			if project == nil {
				return nil, awstest.Fault{Code: "ResourceNotFoundException", Message: "Project cannot be found"}
			}
			maps.Copy(project, in)
			return map[string]any{"project": project}, nil
		},
		"DeleteProject": func(in awstest.Input) (any, error) {
			delete(projects, in.Text("name"))
			return map[string]any{}, nil
		},
		"ListBuilds":     func(in awstest.Input) (any, error) { return names(in, builds, "ids"), nil },
		"BatchGetBuilds": func(in awstest.Input) (any, error) { return some(in.Texts("ids"), builds, "builds"), nil },
		"StartBuild": func(in awstest.Input) (any, error) {
			build := awstest.Input{"id": in.Text("projectName") + ":2", "projectName": in.Text("projectName"),
				"sourceVersion": in.Text("sourceVersion"), "buildStatus": "IN_PROGRESS", "startTime": 1.7e9}
			build["environment"] = map[string]any{"privilegedMode": in["privilegedModeOverride"],
				"environmentVariables": in["environmentVariablesOverride"]}
			build["source"] = map[string]any{"buildspec": in["buildspecOverride"],
				"location": in["sourceLocationOverride"]}
			builds[build.Text("id")] = build
			return map[string]any{"build": build}, nil
		},
		"BatchDeleteBuilds": func(in awstest.Input) (any, error) {
			id := in.Texts("ids")[0]
			if builds[id] == nil || builds[id].Text("buildStatus") == "IN_PROGRESS" {
				return map[string]any{"buildsNotDeleted": []any{map[string]string{"id": id,
					"statusCode": "BUILD_IN_PROGRESS"}}}, nil
			}
			delete(builds, id)
			return map[string]any{"buildsDeleted": []string{id}}, nil
		},
		"ListSourceCredentials": func(awstest.Input) (any, error) {
			return map[string]any{"sourceCredentialsInfos": slices.Collect(maps.Values(credentials))}, nil
		},
		"ImportSourceCredentials": func(in awstest.Input) (any, error) {
			key := arn + "token/" + in.Text("serverType")
			if overwrite, told := in["shouldOverwrite"]; credentials[key] != nil && told && overwrite == false {
				return nil, awstest.Fault{Code: "ResourceAlreadyExistsException",
					Message: "Access token already exists"}
			}
			in["arn"] = key
			credentials[key] = in
			return map[string]any{"arn": key}, nil
		},
		"DeleteSourceCredentials": func(in awstest.Input) (any, error) {
			if credentials[in.Text("arn")] == nil {
				return nil, awstest.Fault{Code: "ResourceNotFoundException", Message: "Access token does not exist"}
			}
			delete(credentials, in.Text("arn"))
			return map[string]any{"arn": in.Text("arn")}, nil
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

func wantProject(t *testing.T) modules.Row {
	text := modules.Text
	return modules.Row{
		"project_name": text("app"), "source_type": text("GITHUB"),
		"source_location": text("https://github.com/example/app"), "image": text("aws/codebuild/standard:7.0"),
		"compute_type": text("BUILD_GENERAL1_SMALL"), "environment_type": text("LINUX_CONTAINER"),
		"privileged_mode":       modules.Bool(false),
		"environment_variables": document(t, `[{"Name":"B","Value":"2"},{"Name":"A","Value":"1"}]`),
		"timeout_in_minutes":    modules.Int(60), "queued_timeout_in_minutes": modules.Int(480),
		"service_role_name": text("builder"),
		"tags":              modules.StringMap(map[string]string{"env": "test"}),
	}
}

func TestProjectLifecycle(t *testing.T) {
	t.Parallel()
	// A further page, and a name that begins alike.
	projects := map[string]awstest.Input{"app-old": {"name": "app-old", "source": map[string]any{"type": "NO_SOURCE"},
		"artifacts": map[string]any{"type": "NO_ARTIFACTS"}}}
	text := modules.Text
	awstest.Lifecycle(t, awstest.Case{
		Resource: newProject(newCodeBuild(t, projects, nil, nil)),
		Scope:    awstest.Scope("us-east-1"),
		Want:     wantProject(t),
		Changes: map[string][]modules.Value{
			"description":     {text("an app"), modules.Null},
			"source_location": {text("https://github.com/example/other")},
			"source_version":  {text("main"), modules.Null},
			"build_spec":      {text("ci/buildspec.yml"), modules.Null},
			"image":           {text("aws/codebuild/amazonlinux2-x86_64-standard:5.0")},
			"environment_variables": {document(t,
				`[{"Name":"A","Value":"1","Type":"PLAINTEXT"},{"Name":"S","Value":"secret","Type":"SECRETS_MANAGER"}]`),
				modules.Null},
			"artifacts": {document(t, `{"Type":"S3","Location":"bucket","Name":"output"}`),
				modules.Null},
			"timeout_in_minutes":        {modules.Int(5)},
			"queued_timeout_in_minutes": {modules.Int(5)},
			"service_role_name":         {text("other")},
		},
	})
}

// A role that is not there yet is waited for.
func TestProjectWithoutRole(t *testing.T) {
	t.Parallel()
	r, scope := newProject(awstest.Clients(t)), awstest.Scope("us-east-1")
	ctx, permit := t.Context(), awstest.Permit()
	want := wantProject(t)
	if _, err := awstest.Create(ctx, r, permit, scope, want, ""); modules.ClassOf(err) != modules.Dependency {
		t.Errorf("without a role: got %v, want class %s", err, modules.Dependency)
	}
}

// A change leaves alone what no column shows.
func TestProjectKeepsTheRest(t *testing.T) {
	t.Parallel()
	projects := map[string]awstest.Input{"app": {
		"name": "app", "serviceRole": "arn:aws:iam::123456789012:role/service/builder",
		"cache":     map[string]any{"type": "NO_CACHE"},
		"artifacts": map[string]any{"type": "NO_ARTIFACTS"},
		"environment": map[string]any{"image": "i", "computeType": "BUILD_GENERAL1_SMALL", "type": "LINUX_CONTAINER",
			"imagePullCredentialsType": "SERVICE_ROLE"},
		"source": map[string]any{"type": "GITHUB", "location": "https://github.com/example/app",
			"buildspec": "old.yml", "gitCloneDepth": 1},
	}}
	r, scope := newProject(newCodeBuild(t, projects, nil, nil)), awstest.Scope("us-east-1")
	ctx, permit := t.Context(), awstest.Permit()
	have, err := awstest.Get(ctx, r, scope, []modules.Row{{"project_name": modules.Text("app")}})
	if err != nil || len(have) != 1 {
		t.Fatal(have, err)
	}
	want := have[0].Clone()
	want["image"], want["build_spec"] = modules.Text("j"), modules.Null
	if err := awstest.Update(ctx, r, permit, scope, have[0], want, []string{"image", "build_spec"}); err != nil {
		t.Fatal(err)
	}
	for member, wanted := range map[string]string{
		"environment": `{"image":"j","computeType":"BUILD_GENERAL1_SMALL","type":"LINUX_CONTAINER","imagePullCredentialsType":"SERVICE_ROLE","privilegedMode":false}`,
		"source":      `{"type":"GITHUB","location":"https://github.com/example/app","gitCloneDepth":1}`,
		"cache":       `{"type":"NO_CACHE"}`,
	} {
		var x, y any
		got, _ := json.Marshal(projects["app"][member])
		_, _ = json.Unmarshal(got, &x), json.Unmarshal([]byte(wanted), &y)
		if !reflect.DeepEqual(x, y) {
			t.Errorf("%s is %s, want %s", member, got, wanted)
		}
	}
}

func TestSourceCredentials(t *testing.T) {
	t.Parallel()
	credentials := map[string]awstest.Input{}
	r, scope := newSourceCredentials(newCodeBuild(t, nil, nil, credentials)), awstest.Scope("us-east-1")
	ctx, permit := t.Context(), awstest.Permit()
	want := modules.Row{"source_type": modules.Text("GITHUB"), "auth_type": modules.Text("PERSONAL_ACCESS_TOKEN"),
		"token": modules.Text("one")}
	created, err := awstest.Create(ctx, r, permit, scope, want, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := awstest.Create(ctx, r, permit, scope, want, ""); err == nil || modules.ClassOf(err) != modules.Exists {
		t.Errorf("create what there is: got %v, want class %s", err, modules.Exists)
	}
	have, err := awstest.Get(ctx, r, scope, []modules.Row{created, {"source_type": modules.Text("BITBUCKET")}})
	if err != nil || len(have) != 1 || have[0]["auth_type"] != want["auth_type"] {
		t.Fatalf("got %v, %v", have, err)
	}
	if _, told := have[0]["token"]; told {
		t.Error("the token is read")
	}
	want["token"] = modules.Text("two")
	if err := awstest.Update(ctx, r, permit, scope, have[0], want, []string{"token"}); err != nil {
		t.Fatal(err)
	}
	if got := credentials[have[0]["arn"].String()]; got.Text("token") != "two" ||
		got.Text("authType") != "PERSONAL_ACCESS_TOKEN" {
		t.Errorf("renewed as %v", got)
	}
	for range 2 {
		if err := awstest.Delete(ctx, r, permit, scope, created); err != nil {
			t.Error(err)
		}
	}
	if len(credentials) != 0 {
		t.Errorf("left over: %v", credentials)
	}
}

func TestBuilds(t *testing.T) {
	t.Parallel()
	builds := map[string]awstest.Input{"app:1": {"id": "app:1", "projectName": "app", "buildStatus": "SUCCEEDED",
		"buildNumber": 1, "startTime": 1.6e9, "endTime": 1.6e9 + 60}}
	clients, scope := newCodeBuild(t, nil, builds, nil), awstest.Scope("us-east-1")
	ctx, permit := t.Context(), awstest.Permit()
	started, err := start(clients).Call(ctx,
		modules.Invocation{Scope: scope,
			Arguments: modules.Row{"project_name": modules.Text("app"), "source_version": modules.Text("main")},
			Permit:    permit})
	if err != nil || len(started) != 1 || started[0]["aws_id"].String() != "app:2" ||
		started[0]["build_status"].String() != "IN_PROGRESS" {
		t.Fatalf("started %v, %v", started, err)
	}
	r := newBuild(clients)
	page, rows := aws.Collector()
	if err := awstest.List(ctx, r, scope, page); err != nil {
		t.Fatal(err)
	}
	all := rows()
	if len(all) != 2 || all[0]["end_time"].String() != "2020-09-13T12:27:40Z" || !all[1]["end_time"].IsNull() {
		t.Fatalf("got %v", all)
	}
	if err := awstest.Delete(ctx, r, permit, scope, all[1]); err == nil || modules.ClassOf(err) != modules.Dependency {
		t.Errorf("delete one in progress: got %v, want class %s", err, modules.Dependency)
	}
	for range 2 {
		if err := awstest.Delete(ctx, r, permit, scope, all[0]); err != nil {
			t.Error(err)
		}
	}
	if r.Can().Create || r.Can().Update {
		t.Error("builds can be written")
	}
}

// ecr_build gives what the caller says to the build as variables: none of it becomes part of a command.
func TestECRBuild(t *testing.T) {
	t.Parallel()
	builds := map[string]awstest.Input{}
	_, err := buildImage(newCodeBuild(t, nil, builds, nil)).Call(t.Context(),
		modules.Invocation{Scope: awstest.Scope("us-east-1"),
			Arguments: modules.Row{"project_name": modules.Text("images"), "source_version": modules.Text("main"),
				"repository_uri": modules.Text("123456789012.dkr.ecr.eu-west-1.amazonaws.com/app"),
				"build_path":     modules.Text("a; rm -rf /"), "image_tag": modules.Text("v1"),
				"source_location": modules.Text("https://github.com/example/other")}, Permit: awstest.Permit()})
	if err != nil {
		t.Fatal(err)
	}
	build := builds["images:2"]
	environment, source := build["environment"].(map[string]any), build["source"].(map[string]any)
	variables := map[string]any{}
	for _, v := range environment["environmentVariables"].([]any) {
		variables[v.(map[string]any)["name"].(string)] = v.(map[string]any)["value"]
	}
	want := map[string]any{"REPOSITORY_URI": "123456789012.dkr.ecr.eu-west-1.amazonaws.com/app",
		"BUILD_PATH": "a; rm -rf /", "IMAGE_TAG": "v1"}
	if !maps.Equal(variables, want) || environment["privilegedMode"] != true ||
		source["location"] != "https://github.com/example/other" {
		t.Errorf("%v, %v", environment, source["location"])
	}
	var spec struct {
		Version string
		Phases  map[string]struct{ Commands []string }
	}
	if err := yaml.Unmarshal([]byte(source["buildspec"].(string)), &spec); err != nil || spec.Version != "0.2" ||
		strings.Contains(source["buildspec"].(string), "rm -rf") {
		t.Fatalf("%v: %v", err, spec)
	}
	// The commands, with programs that say what they are asked for.
	script := "set -eu\ndocker() { if [ $1 = login ]; then cat; fi; echo docker \"$@\"; }\naws() { echo aws \"$@\"; }\n"
	for _, phase := range []string{"pre_build", "build"} {
		script += strings.Join(spec.Phases[phase].Commands, "\n") + "\n"
	}
	for uri, says := range map[string]string{
		"123456789012.dkr.ecr.eu-west-1.amazonaws.com/app": "aws ecr get-login-password --region eu-west-1\ndocker " +
			"login --username AWS --password-stdin 123456789012.dkr.ecr.eu-west-1.amazonaws.com\n",
		"public.ecr.aws/a1b2c3d4/app": "aws ecr-public get-login-password --region " +
			"us-east-1\ndocker login --username AWS --password-stdin public.ecr.aws\n",
	} {
		shell := exec.CommandContext(t.Context(), "sh", "-c", script)
		shell.Env = append(os.Environ(), "REPOSITORY_URI="+uri, "BUILD_PATH=a; rm -rf /", "IMAGE_TAG=v1")
		out, err := shell.CombinedOutput()
		if says += "docker build --tag " + uri + ":v1 -- a; rm -rf /\ndocker push " + uri + ":v1\n"; err != nil ||
			string(out) != says {
			t.Errorf("%v: %s", err, out)
		}
	}
}
