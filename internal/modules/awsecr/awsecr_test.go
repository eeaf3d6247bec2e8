package awsecr

import (
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecr"

	"iasql/internal/aws"
	"iasql/internal/aws/awstest"
	"iasql/internal/modules"
	"iasql/internal/testaws"
)

func TestMain(m *testing.M) { testaws.Main(m) }

func document(t *testing.T, text string) modules.Value {
	t.Helper()
	v, err := modules.JSONText(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func wantRepository(name string) modules.Row {
	return modules.Row{
		"repository_name":      modules.Text(name),
		"image_tag_mutability": modules.Text("IMMUTABLE"),
		"scan_on_push":         modules.Bool(false),
		"encryption_type":      modules.Text("AES256"),
		"kms_key":              modules.Null,
		"lifecycle_policy":     modules.Null,
		"tags":                 modules.StringMap(map[string]string{"env": "test"}),
	}
}

func TestRepositoryLifecycle(t *testing.T) {
	t.Parallel()
	want := wantRepository("team/app")
	want["lifecycle_policy"] = document(t, `{"rules":[{"rulePriority":1,"selection":{"tagStatus":"untagged","countType":"imageCountMoreThan","countNumber":3},"action":{"type":"expire"}}]}`)
	want["image_tag_mutability"], want["image_tag_mutability_exclusions"] = modules.Text("IMMUTABLE_WITH_EXCLUSION"), modules.Strings([]string{"dev-*"})
	awstest.Lifecycle(t, awstest.Case{
		Resource: newRepository(awstest.Clients(t)),
		Scope:    awstest.Scope("us-west-2"),
		Want:     want,
		Changes: map[string][]modules.Value{
			"image_tag_mutability":            {modules.Text("MUTABLE_WITH_EXCLUSION")},
			"image_tag_mutability_exclusions": {modules.Strings([]string{"v*", "release-*"})},
			// Not back to false: the SDK sends an empty ImageScanningConfiguration
			// then, whose default that is, and moto ignores it.
			"scan_on_push": {modules.Bool(true)},
			"lifecycle_policy": {
				document(t, `{"rules":[{"rulePriority":1,"selection":{"tagStatus":"any","countType":"imageCountMoreThan","countNumber":9},"action":{"type":"expire"}}]}`),
				modules.Null,
			},
			"tags": {modules.StringMap(map[string]string{"a": "1", "b": "2"}), modules.Null},
		},
		Calls: map[string]int{"tags": 2},
	})
}

func TestPolicyLifecycle(t *testing.T) {
	t.Parallel()
	clients, scope := awstest.Clients(t), awstest.Scope("us-west-2")
	createRepository(t, clients, scope, "guarded")
	createRepository(t, clients, scope, "guarded0") // has no policy
	awstest.Lifecycle(t, awstest.Case{
		Resource: newPolicy(clients),
		Scope:    scope,
		Want: modules.Row{
			"repository_id": modules.Text("guarded"),
			"policy":        document(t, `{"Version":"2012-10-17","Statement":[{"Sid":"pull","Effect":"Allow","Principal":{"AWS":"123456789012"},"Action":"ecr:BatchGetImage"}]}`),
		},
		Changes: map[string][]modules.Value{"policy": {
			document(t, `{"Version":"2012-10-17","Statement":[{"Sid":"pull","Effect":"Allow","Principal":"*","Action":["ecr:BatchGetImage"]}]}`),
		}},
	})
}

func createRepository(t *testing.T, clients *aws.Clients, scope modules.Scope, name string) modules.Row {
	t.Helper()
	ctx := modules.WithMutations(t.Context(), &awstest.Journal{})
	row, err := newRepository(clients).Create(ctx, scope, wantRepository(name), "")
	if err != nil {
		t.Fatal(err)
	}
	return row
}

// Images are pushed by other means, seen, and deleted.
func TestImages(t *testing.T) {
	t.Parallel()
	clients, scope := awstest.Clients(t), awstest.Scope("us-west-2")
	repository := createRepository(t, clients, scope, "images")
	ctx := modules.WithMutations(t.Context(), &awstest.Journal{})
	sdk, err := client(ctx, clients, scope)
	if err != nil {
		t.Fatal(err)
	}
	for tag, layer := range map[string]string{"one": "sha256:01", "two": "sha256:02"} {
		manifest := `{"schemaVersion":2,"mediaType":"application/vnd.docker.distribution.manifest.v2+json","config":{"size":7023},"layers":[{"digest":"` + layer + `"}]}`
		if _, err := sdk.PutImage(ctx, &ecr.PutImageInput{RepositoryName: awssdk.String("images"), ImageTag: &tag, ImageManifest: &manifest}); err != nil {
			t.Fatal(err)
		}
	}
	r := newImage(clients)
	list := func() []modules.Row {
		t.Helper()
		page, rows := aws.Collector()
		if err := r.List(ctx, scope, page); err != nil {
			t.Fatal(err)
		}
		return rows()
	}
	images := list()
	if len(images) != 2 || images[0]["image_tags"].IsNull() || images[0]["private_repository_id"] != repository["repository_name"] {
		t.Fatalf("got %v, want two images", images)
	}
	gone := images[0].Clone()
	gone["image_digest"] = modules.Text("sha256:0000000000000000000000000000000000000000000000000000000000000000")
	got, err := r.Get(ctx, scope, append(images, gone))
	if err != nil || len(got) != 2 {
		t.Errorf("get: got %v, %v, want both images", got, err)
	}
	if err := newRepository(clients).Delete(ctx, scope, repository); modules.ClassOf(err) != modules.Dependency {
		t.Errorf("delete a repository with images: %v, want class %s", err, modules.Dependency)
	}
	for _, row := range images {
		for range 2 { // one that is gone is no error
			if err := r.Delete(ctx, scope, row); err != nil {
				t.Fatal(err)
			}
		}
	}
	if left := list(); len(left) != 0 {
		t.Errorf("left over: %v", left)
	}
	if err := newRepository(clients).Delete(ctx, scope, repository); err != nil {
		t.Error(err)
	}
}

func TestDescription(t *testing.T) {
	for _, table := range Module(aws.New(aws.Options{})).Tables() {
		if err := table.Validate(); err != nil {
			t.Error(err)
		}
	}
}
