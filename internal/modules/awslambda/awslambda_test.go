package awslambda

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
	"iasql/internal/test/awstest"
	"iasql/internal/test/testaws"
)

func TestMain(m *testing.M) { testaws.Main(m) }

func zipped(t *testing.T, code string) modules.Value {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, err := w.Create("index.py")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte(code)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return modules.Text(base64.StdEncoding.EncodeToString(b.Bytes()))
}

// upload puts an object into a bucket that it makes.
func upload(ctx context.Context, t *testing.T, clients *aws.Clients, scope modules.Scope, bucket, key string,
	content []byte) {
	t.Helper()
	client, err := aws.Client(ctx, clients.Permitted(awstest.Permit()), scope, func(cfg awssdk.Config) *s3.Client {
		return s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true })
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &bucket,
		CreateBucketConfiguration: &s3types.CreateBucketConfiguration{
			LocationConstraint: s3types.BucketLocationConstraint(scope.Region)}}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.PutObject(ctx, &s3.PutObjectInput{Bucket: &bucket, Key: &key,
		Body: bytes.NewReader(content)}); err != nil {
		t.Fatal(err)
	}
}

func createRole(ctx context.Context, t *testing.T, clients *aws.Clients, name string) {
	t.Helper()
	client, err := aws.Client(ctx, clients.Permitted(awstest.Permit()), awstest.Scope(""),
		func(cfg awssdk.Config) *iam.Client { return iam.NewFromConfig(cfg) })
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.CreateRole(ctx, &iam.CreateRoleInput{
		RoleName: &name, Path: awssdk.String("/team/"),
		AssumeRolePolicyDocument: awssdk.String(
			`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"lambda.amazonaws.com"},"Action":"sts:AssumeRole"}]}`),
	})
	if err != nil {
		t.Fatal(err)
	}
}

// network returns the ids of two subnets and of the default security group of a
// default VPC.
func network(ctx context.Context, t *testing.T, clients *aws.Clients, scope modules.Scope) (subnets []string,
	group string) {
	t.Helper()
	client, err := clients.Permitted(awstest.Permit()).EC2(ctx, scope)
	if err != nil {
		t.Fatal(err)
	}
	s, err := client.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{})
	if err != nil {
		t.Fatal(err)
	}
	g, err := client.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{
		Filters: []ec2types.Filter{aws.EC2Filter("group-name", "default"),
			aws.EC2Filter("vpc-id", *s.Subnets[0].VpcId)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return []string{*s.Subnets[0].SubnetId, *s.Subnets[1].SubnetId}, *g.SecurityGroups[0].GroupId
}

func want(t *testing.T, name string) modules.Row {
	return modules.Row{
		"name": modules.Text(name), "role_name": modules.Text("runner"),
		"zip_b64":     zipped(t, "def handler(e, c): return 1"),
		"description": modules.Text("a function"), "handler": modules.Text("index.handler"),
		"runtime":      modules.Text("python3.12"),
		"architecture": modules.Text("arm64"), "memory_size": modules.Int(256), "timeout": modules.Int(5),
		"ephemeral_storage_size": modules.Int(1024),
		"environment":            modules.StringMap(map[string]string{"MODE": "test"}), "subnets": modules.Null,
		"reserved_concurrent_executions": modules.Int(2), "tags": modules.StringMap(map[string]string{"env": "test"}),
	}
}

func TestFunctionLifecycle(t *testing.T) {
	t.Parallel()
	clients, scope := awstest.Clients(t), awstest.Scope("us-west-2")
	ctx := t.Context()
	createRole(ctx, t, clients, "runner")
	createRole(ctx, t, clients, "other")
	subnets, _ := network(ctx, t, clients, scope)
	row := want(t, "life")
	row["subnets"] = modules.Strings(subnets[:1])
	awstest.Lifecycle(t, awstest.Case{
		Resource: newFunction(clients, newSecurityGroups(clients)), Scope: scope, Want: row,
		Changes: map[string][]modules.Value{
			"role_name":                      {modules.Text("other")},
			"description":                    {modules.Text("another"), modules.Null},
			"handler":                        {modules.Text("index.other")},
			"runtime":                        {modules.Text("python3.13")},
			"memory_size":                    {modules.Int(512)},
			"timeout":                        {modules.Int(900)},
			"environment":                    {modules.StringMap(map[string]string{"A": "1", "B": "2"}), modules.Null},
			"subnets":                        {modules.Strings(subnets), modules.Null, modules.Strings(subnets[1:])},
			"reserved_concurrent_executions": {modules.Int(7), modules.Null},
			"tags":                           {modules.StringMap(map[string]string{"a": "1", "b": "2"}), modules.Null},
		},
		// moto's UpdateFunctionConfiguration ignores EphemeralStorage, of which
		// TestEphemeralStorage is, and its UpdateFunctionCode Architectures, of
		// which TestArchitecture is.
		// TestArchitecture is. It has no calls that change what TestSettingsChange is of.
		// TestImage is of those that are made of an image.
		Elsewhere: []string{"architecture", "ephemeral_storage_size", "code_signing_config_arn", "function_scaling_config",
			"image_uri", "recursive_loop", "runtime_management_config"},
		Calls: map[string]int{"tags": 2},
	})
}

// A function that is made of a container image takes another in its place, and its architecture changes with the image
// that it has.
func TestImage(t *testing.T) {
	t.Parallel()
	clients, scope := awstest.Clients(t), awstest.Scope("us-west-2")
	ctx, permit := t.Context(), awstest.Permit()
	createRole(ctx, t, clients, "runner")
	r, row := newFunction(clients, newSecurityGroups(clients)), want(t, "image")
	for _, column := range []string{"zip_b64", "handler", "runtime"} {
		row[column] = modules.Null
	}
	const app = "123456789012.dkr.ecr.us-west-2.amazonaws.com/app"
	row["image_uri"] = modules.Text(app + ":7")
	identity, err := awstest.Create(ctx, r, permit, scope, row, "")
	if err != nil {
		t.Fatal(err)
	}
	shows := func(image string) modules.Row {
		t.Helper()
		rows, err := awstest.Get(ctx, r, scope, []modules.Row{identity})
		if err != nil || len(rows) != 1 {
			t.Fatalf("got %v, %v", rows, err)
		}
		if is := rows[0]; is["image_uri"].String() != image || is["package_type"].String() != "Image" ||
			!strings.HasPrefix(is["resolved_image_uri"].String(), app+"@sha256") || // moto says it twice of a digest !is["handler"].IsNull() ||
			!is["runtime_management_config"].IsNull() {
			t.Errorf("it is %v", is)
		}
		return rows[0]
	}
	have := shows(app + ":7")
	for _, image := range []string{app + ":8", app + "@sha256:" + strings.Repeat("0f", 32)} {
		row["image_uri"] = modules.Text(image)
		if err := awstest.Update(ctx, r, permit, scope, have, row, []string{"image_uri"}); err != nil {
			t.Fatal(err)
		}
		have = shows(image)
	}
	image := r.Table().Column("image_uri")
	if image.Replaces(modules.Text("a"), modules.Text("b")) || !image.Replaces(modules.Null, modules.Text("a")) {
		t.Error("another image replaces the function, or an image in place of a zip file does not")
	}

	sent := map[string]any{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewDecoder(r.Body).Decode(&sent)
		_, _ = w.Write([]byte("{}"))
	}))
	t.Cleanup(server.Close)
	row["architecture"] = modules.Text("x86_64")
	if err := awstest.Update(ctx, newFunction(awstest.Fake(server.URL), nil), permit, scope, have, row,
		[]string{"architecture"}); err != nil || sent["ImageUri"] != row["image_uri"].String() ||
		fmt.Sprint(sent["Architectures"]) != "[x86_64]" {
		t.Errorf("of another architecture: %v, sent %v", err, sent)
	}
}

// A function in a VPC has security groups in any case, and keeps those it has
// been given while it stays in the VPC.
func TestSecurityGroups(t *testing.T) {
	t.Parallel()
	clients, scope := awstest.Clients(t), awstest.Scope("us-west-2")
	ctx, permit := t.Context(), awstest.Permit()
	createRole(ctx, t, clients, "runner")
	subnets, standard := network(ctx, t, clients, scope)
	web, elsewhere, other := secondVPC(ctx, t, clients, scope, subnets[0])
	groups := newSecurityGroups(clients)
	r, row := newFunction(clients, groups), want(t, "grouped")
	row["subnets"] = modules.Strings(subnets[:1])
	identity, err := awstest.Create(ctx, r, permit, scope, row, "")
	if err != nil {
		t.Fatal(err)
	}
	has := func(what string, want ...string) {
		t.Helper()
		for how, read := range map[string]func(page func([]modules.Row) error) error{
			"listed": func(page func([]modules.Row) error) error { return awstest.List(ctx, groups, scope, page) },
			"read": func(page func([]modules.Row) error) error {
				var wanted []modules.Row
				for _, group := range []string{standard, web, elsewhere} {
					wanted = append(wanted, modules.Row{"lambda_function_id": identity["arn"],
						"security_group_id": modules.Text(group)})
				}
				rows, err := awstest.Get(ctx, groups, scope,
					append(wanted, modules.Row{"lambda_function_id": modules.Text(identity["arn"].String() + "-too"),
						"security_group_id": modules.Text(web)}))
				if err != nil {
					return err
				}
				return page(rows)
			},
		} {
			var got []string
			err := read(func(rows []modules.Row) error {
				got = append(got, aws.Column(rows, "security_group_id")...)
				return nil
			})
			if slices.Sort(got); err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: groups are %s as %v, %v, want %v", what, how, got, err, want)
			}
		}
	}
	moves := func(subnets ...string) {
		t.Helper()
		have, err := awstest.Get(ctx, r, scope, []modules.Row{identity})
		if err != nil || len(have) != 1 {
			t.Fatalf("got %v, %v", have, err)
		}
		row["subnets"] = modules.Strings(subnets)
		if err := awstest.Update(ctx, r, permit, scope, have[0], row, []string{"subnets"}); err != nil {
			t.Fatal(err)
		}
	}
	membership := modules.Row{"lambda_function_id": identity["arn"], "security_group_id": modules.Text(web)}
	has("created", standard)
	awstest.Lifecycle(t, awstest.Case{Resource: groups, Scope: scope, Want: membership})
	has("after the last has gone", standard)
	if _, err := awstest.Create(ctx, groups, permit, scope, membership, ""); err != nil {
		t.Fatal(err)
	}
	has("with another", web)
	moves(subnets...)
	has("in more subnets of the VPC", web)
	moves(other)
	has("in another VPC", elsewhere)
	moves()
	has("in no VPC")
	_, err = awstest.Create(ctx, groups, permit, scope, membership, "")
	if modules.ClassOf(err) != modules.Dependency || !strings.Contains(err.Error(), "set lambda_function.subnets") {
		t.Errorf("a group of a function in no VPC: %v", err)
	}
	if err := awstest.Delete(ctx, groups, permit, scope, membership); err != nil {
		t.Errorf("delete what is gone: %v", err)
	}
}

// secondVPC returns the id of a security group besides the default group in the
// subnet's VPC, and those of the default group and of a subnet of another VPC.
func secondVPC(ctx context.Context, t *testing.T, clients *aws.Clients, scope modules.Scope, subnet string) (group,
	otherDefault, otherSubnet string) {
	t.Helper()
	client, err := clients.Permitted(awstest.Permit()).EC2(ctx, scope)
	if err != nil {
		t.Fatal(err)
	}
	vpc, err := clients.VPCOf(ctx, scope, subnet)
	if err != nil {
		t.Fatal(err)
	}
	g, err := client.CreateSecurityGroup(ctx,
		&ec2.CreateSecurityGroupInput{GroupName: awssdk.String("web"), Description: awssdk.String("web"), VpcId: &vpc})
	if err != nil {
		t.Fatal(err)
	}
	v, err := client.CreateVpc(ctx, &ec2.CreateVpcInput{CidrBlock: awssdk.String("10.9.0.0/16")})
	if err != nil {
		t.Fatal(err)
	}
	s, err := client.CreateSubnet(ctx,
		&ec2.CreateSubnetInput{VpcId: v.Vpc.VpcId, CidrBlock: awssdk.String("10.9.1.0/24")})
	if err != nil {
		t.Fatal(err)
	}
	d, err := clients.DefaultGroup(ctx, scope, *v.Vpc.VpcId)
	if err != nil {
		t.Fatal(err)
	}
	return *g.GroupId, d, *s.Subnet.SubnetId
}

// Code is pushed, and its hash tells.
func TestCode(t *testing.T) {
	t.Parallel()
	clients, scope := awstest.Clients(t), awstest.Scope("us-west-2")
	journal := &awstest.Journal{}
	ctx, permit := t.Context(), awstest.PermitBy(journal)
	createRole(ctx, t, clients, "runner")
	r, row := newFunction(clients, newSecurityGroups(clients)), want(t, "code")
	identity, err := awstest.Create(ctx, r, permit, scope, row, "")
	if err != nil {
		t.Fatal(err)
	}
	get := func() modules.Row {
		t.Helper()
		rows, err := awstest.Get(ctx, r, scope, []modules.Row{identity})
		if err != nil || len(rows) != 1 {
			t.Fatalf("got %v, %v", rows, err)
		}
		return rows[0]
	}
	was := get()
	row["zip_b64"] = zipped(t, "def handler(e, c): return 2")
	journal.Take()
	if err := awstest.Update(ctx, r, permit, scope, was, row, []string{"zip_b64"}); err != nil {
		t.Fatal(err)
	}
	if calls, _ := journal.Take(); len(calls) != 1 {
		t.Errorf("made the calls %v, want one", calls)
	}
	is := get()
	if is["code_sha256"] == was["code_sha256"] || is["architecture"] != was["architecture"] {
		t.Errorf("the code is as it was: %v", is)
	}

	inS3, err := base64.StdEncoding.DecodeString(zipped(t, "def handler(e, c): return 1").String())
	if err != nil {
		t.Fatal(err)
	}
	upload(ctx, t, clients, scope, "builds", "code.zip", inS3)
	was, row["zip_b64"] = is, modules.Null
	row["code_uri"] = modules.Text("s3://builds/code.zip")
	if err := awstest.Update(ctx, r, permit, scope, was, row, []string{"code_uri"}); err != nil {
		t.Fatal(err)
	}
	if calls, _ := journal.Take(); len(calls) != 1 {
		t.Errorf("made the calls %v, want one", calls)
	}
	shipped := get()
	if shipped["code_sha256"] == was["code_sha256"] {
		t.Errorf("the code is not that in S3: %v", shipped)
	}
	other := want(t, "from-s3")
	other["zip_b64"], other["code_uri"] = modules.Null, row["code_uri"]
	if identity, err = awstest.Create(ctx, r, permit, scope, other, ""); err != nil {
		t.Fatal(err)
	}
	if made := get(); made["code_sha256"] != shipped["code_sha256"] || made["package_type"] != modules.Text("Zip") {
		t.Errorf("made of code in S3: %v", made)
	}
	if _, err := awstest.Create(ctx, r, permit, scope, row, ""); modules.ClassOf(err) != modules.Exists {
		t.Errorf("create again: %v, want class %s", err, modules.Exists)
	}
	for column, c := range map[string]struct {
		value modules.Value
		class modules.Class
	}{
		"zip_b64":   {modules.Null, modules.Invalid},
		"role_name": {modules.Text("nobody"), modules.Dependency},
	} {
		bad := want(t, "bad")
		bad[column] = c.value
		if _, err := awstest.Create(ctx, r, permit, scope, bad, ""); modules.ClassOf(err) != c.class {
			t.Errorf("create with %s %q: %v, want class %s", column, c.value, err, c.class)
		}
	}
}

// The architecture changes in place, together with the code: a replacement would
// delete the function's versions, aliases and policy.
func TestArchitecture(t *testing.T) {
	t.Parallel()
	var sent map[string]any
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewDecoder(r.Body).Decode(&sent)
		_, _ = w.Write([]byte("{}"))
	}))
	t.Cleanup(server.Close)
	journal := &awstest.Journal{}
	ctx, permit := t.Context(), awstest.PermitBy(journal)
	r, have := newFunction(awstest.Fake(server.URL), nil), want(t, "architecture")
	if r.Table().Column("architecture").CreateOnly {
		t.Error("a change replaces the function")
	}
	row := want(t, "architecture")
	row["architecture"] = modules.Text("x86_64")
	if err := awstest.Update(ctx, r, permit, awstest.Scope("us-east-1"), have, row,
		[]string{"architecture", "zip_b64"}); err != nil {
		t.Fatal(err)
	}
	calls, _ := journal.Take()
	if !slices.Equal(calls, []string{"Lambda:UpdateFunctionCode"}) || fmt.Sprint(sent["Architectures"]) != "[x86_64]" ||
		sent["ZipFile"] == nil {
		t.Errorf("made the calls %v and sent %v", calls, sent)
	}
	row["zip_b64"] = modules.Null
	err := awstest.Update(ctx, r, permit, awstest.Scope("us-east-1"), have, row, []string{"architecture"})
	if calls, _ := journal.Take(); modules.ClassOf(err) != modules.Invalid || len(calls) != 0 {
		t.Errorf("without code: %v after the calls %v", err, calls)
	}
}

func TestEphemeralStorage(t *testing.T) {
	t.Parallel()
	var sent map[string]any
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewDecoder(r.Body).Decode(&sent)
		_, _ = w.Write([]byte("{}"))
	}))
	t.Cleanup(server.Close)
	ctx, permit := t.Context(), awstest.Permit()
	r, row := newFunction(awstest.Fake(server.URL), nil), want(t, "storage")
	if err := awstest.Update(ctx, r, permit, awstest.Scope("us-east-1"), row, row, []string{"ephemeral_storage_size"}); err != nil {
		t.Fatal(err)
	}
	if storage, _ := sent["EphemeralStorage"].(map[string]any); len(sent) != 1 || storage["Size"] != 1024.0 {
		t.Errorf("sent %v, want the size alone", sent)
	}
}

// A role that was made a moment ago is not known everywhere, nor is what it may
// do: Lambda says so as of a value that is wrong. What is wrong stays so.
func TestRefusals(t *testing.T) {
	t.Parallel()
	const invalid = "InvalidParameterValueException"
	for _, c := range []struct {
		status        int
		code, message string
		class         modules.Class
	}{
		{400, invalid, "The role defined for the function cannot be assumed by Lambda.", modules.Dependency},
		{400, invalid, "The provided execution role does not have permissions to call CreateNetworkInterface on EC2",
			modules.Dependency},
		{400, invalid, "The provided execution role does not have permissions to call DescribeNetworkInterfaces on EC2",
			modules.Dependency},
		{400, invalid, "The provided execution role does not have permissions to call DeleteNetworkInterface on EC2",
			modules.Dependency},
		{400, invalid, "Lambda was unable to configure access to your environment variables because the KMS key is " +
			"invalid for CreateGrant. Please check your KMS key settings.", modules.Dependency},
		{400, invalid, "Your request has been throttled by EC2, please make sure you have enough API rate limit.",
			modules.Throttled},
		{502, "KMSAccessDeniedException",
			"Lambda was unable to decrypt the environment variables because KMS access was denied.",
			modules.Dependency},
		{409, "ResourceConflictException",
			"The operation cannot be performed at this time. An update is in progress for resource: arn",
			modules.Dependency},
		{400, invalid, "Lambda was unable to configure your environment variables because the environment variables " +
			"you have provided contains reserved keys that are currently not supported for modification.",
			modules.Invalid},
		{400, invalid, "The runtime parameter of python2.7 is no longer supported.", modules.Invalid},
	} {
		t.Run(c.message, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if _ = r.ParseForm(); r.Form.Get("Action") == "GetRole" {
					fmt.Fprint(w, "<GetRoleResponse><GetRoleResult><Role><Arn>arn:aws:iam::123456789012:role/runner</Arn></Role></GetRoleResult></GetRoleResponse>")
					return
				}
				w.Header().Set("X-Amzn-Errortype", c.code)
				w.WriteHeader(c.status)
				_ = json.NewEncoder(w).Encode(map[string]string{"Type": "User", "message": c.message})
			}))
			t.Cleanup(server.Close)
			ctx, permit := t.Context(), awstest.Permit()
			r, row := newFunction(awstest.Fake(server.URL), nil), want(t, "refused")
			if _, err := awstest.Create(ctx, r, permit, awstest.Scope("us-east-1"), row, ""); modules.ClassOf(err) != c.class {
				t.Errorf("create: %v of class %s, want %s", err, modules.ClassOf(err), c.class)
			}
			for _, column := range []string{"environment", "role_name", "zip_b64"} {
				if err := awstest.Update(ctx, r, permit, awstest.Scope("us-east-1"), row, row, []string{column}); modules.ClassOf(err) != c.class {
					t.Errorf("update %s: %v of class %s, want %s", column, err, modules.ClassOf(err), c.class)
				}
			}
		})
	}
}

// What Lambda could not read of a function is unknown, not NULL (page GetFunction,
// TagsError; page EnvironmentResponse, Error).
func TestUnread(t *testing.T) {
	t.Parallel()
	for answer, unknown := range map[string]string{
		`{"Configuration":{"FunctionName":"f","Environment":{"Variables":{"A":"1"}}},"Tags":{"a":"1"}}`:                                                           "",
		`{"Configuration":{"FunctionName":"f"}}`:                                                                                                                  "",
		`{"Configuration":{"FunctionName":"f"},"TagsError":{"ErrorCode":"AccessDeniedException","Message":"not allowed"}}`:                                        "tags",
		`{"Configuration":{"FunctionName":"f","Environment":{"Error":{"ErrorCode":"AccessDeniedException","Message":"KMS"}}},"Tags":{"a":"1"}}`:                   "environment",
		`{"Configuration":{"FunctionName":"f","Environment":{"Variables":{},"Error":{"ErrorCode":"KMSAccessDeniedException","Message":"KMS"}}},"TagsError":null}`: "environment",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "-config") { // see TestSettingsRead
				fmt.Fprint(w, `{"FunctionName": "f", "RecursiveLoop": "Terminate", "UpdateRuntimeOn": "Auto"}`)
				return
			}
			fmt.Fprint(w, answer)
		}))
		t.Cleanup(server.Close)
		rows, err := awstest.Get(t.Context(), newFunction(awstest.Fake(server.URL), nil), awstest.Scope("us-east-1"),
			[]modules.Row{{"name": modules.Text("f")}})
		if err != nil || len(rows) != 1 {
			t.Fatalf("got %v, %v", rows, err)
		}
		for _, column := range []string{"tags", "environment"} {
			if _, known := rows[0][column]; known == (column == unknown) {
				t.Errorf("%s: %s is known: %t", answer, column, known)
			}
		}
	}
}

func TestFromS3(t *testing.T) {
	t.Parallel()
	for uri, want := range map[string]string{
		"s3://builds/app.zip":                       "builds app.zip none",
		"s3://builds/a/b?c/app.zip":                 "builds a/b?c/app.zip none",
		"s3://builds/app.zip?versionId=3sL4kqtJlcp": "builds app.zip 3sL4kqtJlcp",
	} {
		version := awssdk.String("none")
		var bucket, key *string
		fromS3(modules.Text(uri), &bucket, &key, &version)
		if got := *bucket + " " + *key + " " + *version; got != want {
			t.Errorf("%s is %s, want %s", uri, got, want)
		}
	}
}
