package awsecr

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecr"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
	"iasql/internal/test/awstest"
	"iasql/internal/test/testaws"
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
	want["lifecycle_policy"] = document(t,
		`{"rules":[{"rulePriority":1,"selection":{"tagStatus":"untagged","countType":"imageCountMoreThan","countNumber":3},"action":{"type":"expire"}}]}`)
	want["image_tag_mutability"], want["image_tag_mutability_exclusions"] = modules.Text("IMMUTABLE_WITH_EXCLUSION"),
		modules.Strings([]string{"dev-*"})
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
	ctx, permit := t.Context(), awstest.Permit()
	row, err := awstest.Create(ctx, newRepository(clients), permit, scope, wantRepository(name), "")
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
	ctx, permit := t.Context(), awstest.Permit()
	sdk, err := declare.Client(ctx, clients.Permitted(permit), scope, ecr.NewFromConfig)
	if err != nil {
		t.Fatal(err)
	}
	for tag, layer := range map[string]string{"one": "sha256:01", "two": "sha256:02"} {
		manifest := `{"schemaVersion":2,"mediaType":"application/vnd.docker.distribution.manifest.v2+json","config":{"size":7023},"layers":[{"digest":"` + layer + `"}]}`
		if _, err := sdk.PutImage(ctx, &ecr.PutImageInput{RepositoryName: awssdk.String("images"), ImageTag: &tag,
			ImageManifest: &manifest}); err != nil {
			t.Fatal(err)
		}
	}
	r := newImage(clients)
	list := func() []modules.Row {
		t.Helper()
		page, rows := aws.Collector()
		if err := awstest.List(ctx, r, scope, page); err != nil {
			t.Fatal(err)
		}
		return rows()
	}
	images := list()
	if len(images) != 2 || images[0]["image_tags"].IsNull() ||
		images[0]["private_repository_id"] != repository["repository_name"] {
		t.Fatalf("got %v, want two images", images)
	}
	gone := images[0].Clone()
	gone["image_digest"] = modules.Text("sha256:0000000000000000000000000000000000000000000000000000000000000000")
	got, err := awstest.Get(ctx, r, scope, append(images, gone))
	if err != nil || len(got) != 2 {
		t.Errorf("get: got %v, %v, want both images", got, err)
	}
	if err := awstest.Delete(ctx, newRepository(clients), permit, scope, repository); modules.ClassOf(err) != modules.Dependency {
		t.Errorf("delete a repository with images: %v, want class %s", err, modules.Dependency)
	}
	for _, row := range images {
		for range 2 { // one that is gone is no error
			if err := awstest.Delete(ctx, r, permit, scope, row); err != nil {
				t.Fatal(err)
			}
		}
	}
	if left := list(); len(left) != 0 {
		t.Errorf("left over: %v", left)
	}
	if err := awstest.Delete(ctx, newRepository(clients), permit, scope, repository); err != nil {
		t.Error(err)
	}
}

func TestPublicRepositoryLifecycle(t *testing.T) {
	t.Parallel()
	clients, registry := newPublicRegistry(t)
	for _, name := range []string{"before", "team/zoo"} { // further pages
		registry.repositories[name] = &storedRepository{}
	}
	awstest.Lifecycle(t, awstest.Case{
		Resource: newPublicRepository(clients),
		Scope:    modules.Scope{Account: "test"},
		Want: modules.Row{
			"repository_name": modules.Text("team/app"), "description": modules.Text("An app"),
			"about_text": modules.Text("# An app"),
			"usage_text": modules.Text("Run it."), "architectures": modules.Strings([]string{"x86-64", "ARM 64"}),
			"operating_systems": modules.Strings([]string{"Linux"}),
			"tags":              modules.StringMap(map[string]string{"env": "test"}),
		},
		Changes: map[string][]modules.Value{
			"description":       {modules.Text("Another app"), modules.Null},
			"about_text":        {modules.Text("# Another app"), modules.Null},
			"usage_text":        {modules.Text("Run it well."), modules.Null},
			"architectures":     {modules.Strings([]string{"ARM"}), modules.Null},
			"operating_systems": {modules.Strings([]string{"Linux", "Windows"}), modules.Null},
			"policy":            {pulls(t, "one"), pulls(t, "two"), modules.Null},
			"tags":              {modules.StringMap(map[string]string{"a": "1", "b": "2"}), modules.Null},
		},
		Calls: map[string]int{"tags": 2},
	})
}

// pulls is a policy.
func pulls(t *testing.T, sid string) modules.Value {
	t.Helper()
	v, err := modules.JSONText(`{"Version":"2012-10-17","Statement":[{"Sid":"` + sid +
		`","Effect":"Allow","Principal":"*","Action":"ecr-public:BatchCheckLayerAvailability"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestPublicImages(t *testing.T) {
	t.Parallel()
	clients, registry := newPublicRegistry(t)
	registry.repositories["app"] = &storedRepository{images: map[string]string{"sha256:01": "one", "sha256:02": "two"}}
	registry.repositories["empty"] = &storedRepository{}
	ctx, scope, permit := t.Context(), modules.Scope{Account: "test"}, awstest.Permit()
	r := newPublicImage(clients)
	page, rows := aws.Collector()
	if err := awstest.List(ctx, r, scope, page); err != nil {
		t.Fatal(err)
	}
	images := rows()
	if len(images) != 2 || images[0]["public_repository"] != modules.Text("app") ||
		images[0]["size_in_mb"] != modules.Int(2) {
		t.Fatalf("got %v, want two images", images)
	}
	gone, elsewhere := images[0].Clone(), images[0].Clone()
	gone["image_digest"], elsewhere["public_repository"] = modules.Text("sha256:00"), modules.Text("none")
	if got, err := awstest.Get(ctx, r, scope, append(images, gone, elsewhere)); err != nil || len(got) != 2 {
		t.Errorf("get: got %v, %v, want both images", got, err)
	}
	repository := modules.Row{"repository_name": modules.Text("app")}
	if err := awstest.Delete(ctx, newPublicRepository(clients), permit, scope, repository); modules.ClassOf(err) != modules.Dependency {
		t.Errorf("delete a repository with images: %v, want class %s", err, modules.Dependency)
	}
	for _, row := range append(images, gone, elsewhere) { // one that is gone is no error
		if err := awstest.Delete(ctx, r, permit, scope, row); err != nil {
			t.Fatal(err)
		}
	}
	if err := awstest.Delete(ctx, newPublicRepository(clients), permit, scope, repository); err != nil {
		t.Error(err)
	}
}

// An account, or an endpoint, that does not know public registries proves
// nothing: what was there is neither gone nor to be created.
func TestNoPublicRegistry(t *testing.T) {
	t.Parallel()
	scope := modules.Scope{Account: "test"}
	identity := modules.Row{"repository_name": modules.Text("app"), "public_repository": modules.Text("app"),
		"image_digest": modules.Text("sha256:01")}
	for answer, status := range map[string]int{
		`{"__type": "UnrecognizedClientException", "message": "The security token included in the request is invalid."}`: http.StatusBadRequest,
		`{"__type": "UnknownOperationException"}`: http.StatusBadRequest,
		`<html>not found</html>`:                  http.StatusNotFound,
		`<html>an error of moto</html>`:           http.StatusInternalServerError,
	} {
		var calls atomic.Int32
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			calls.Add(1)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, answer)
		}))
		t.Cleanup(server.Close)
		clients := awstest.Fake(server.URL)
		for _, r := range []modules.Resource{newPublicRepository(clients), newPublicImage(clients)} {
			if err := awstest.List(t.Context(), r, scope, func([]modules.Row) error {
				return nil
			}); err == nil || aws.IsNotFound(err) {
				t.Errorf("%s: list: %v", answer, err)
			}
			if rows, err := awstest.Get(t.Context(), r, scope, []modules.Row{identity}); err == nil {
				t.Errorf("%s: get: got %v, want an error", answer, rows)
			}
		}
		if calls.Load() != 4 { // listed and read, two tables
			t.Errorf("%s: is asked for %d times, want 4", answer, calls.Load())
		}
	}
}

func TestDescription(t *testing.T) {
	for _, table := range Module(aws.New(aws.Options{})).Tables() {
		if err := table.Validate(); err != nil {
			t.Error(err)
		}
	}
}
