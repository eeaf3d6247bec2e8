package awsecr

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"iasql/internal/aws"
	"iasql/internal/test/awstest"
)

// publicRegistry is a public registry as the Amazon ECR Public API Reference has
// it (JSON 1.1, operations named by X-Amz-Target), of which moto has nothing.
// Pages have one repository.
type publicRegistry struct {
	t            *testing.T
	mu           sync.Mutex
	repositories map[string]*storedRepository
}

type storedRepository struct {
	catalog map[string]any // nil until some is put
	tags    map[string]string
	images  map[string]string // tags, by digest
	policy  string
}

type publicTag struct{ Key, Value string }

// publicRequest is what the operations take, together.
type publicRequest struct {
	RepositoryName  string
	RepositoryNames []string
	CatalogData     map[string]any
	PolicyText      string
	ResourceArn     string
	Tags            []publicTag
	TagKeys         []string
	ImageIds        []struct{ ImageDigest string }
	NextToken       string
}

const publicARN = "arn:aws:ecr-public::123456789012:repository/"

// newPublicRegistry returns clients of a registry, and the registry.
func newPublicRegistry(t *testing.T) (*aws.Clients, *publicRegistry) {
	r := &publicRegistry{t: t, repositories: map[string]*storedRepository{}}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	return awstest.Fake(server.URL), r
}

// ServeHTTP answers a call.
func (r *publicRegistry) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if !strings.Contains(request.Header.Get("Authorization"), "/us-east-1/ecr-public/aws4_request") {
		r.t.Errorf("signed as %s", request.Header.Get("Authorization"))
	}
	operation, ok := strings.CutPrefix(request.Header.Get("X-Amz-Target"), "SpencerFrontendService.")
	if !ok {
		r.t.Errorf("target %s", request.Header.Get("X-Amz-Target"))
	}
	var in publicRequest
	if err := json.NewDecoder(request.Body).Decode(&in); err != nil {
		r.t.Error(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	out, code := r.answer(operation, in)
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	if code != "" {
		w.WriteHeader(http.StatusBadRequest)
		out = map[string]any{"__type": code, "message": operation}
	}
	if err := json.NewEncoder(w).Encode(out); err != nil {
		r.t.Error(err)
	}
}

func (r *publicRegistry) answer(operation string, in publicRequest) (out map[string]any, code string) {
	if operation == "DescribeRepositories" {
		return r.describe(in)
	}
	name := in.RepositoryName
	if in.ResourceArn != "" {
		name = strings.TrimPrefix(in.ResourceArn, publicARN)
	}
	repository := r.repositories[name]
	switch {
	case operation == "CreateRepository" && repository != nil:
		return nil, "RepositoryAlreadyExistsException"
	case operation == "CreateRepository":
		r.repositories[name] = &storedRepository{catalog: in.CatalogData, tags: map[string]string{},
			images: map[string]string{}}
		for _, tag := range in.Tags {
			r.repositories[name].tags[tag.Key] = tag.Value
		}
		return map[string]any{"repository": described(name), "catalogData": in.CatalogData}, ""
	case repository == nil:
		return nil, "RepositoryNotFoundException"
	}
	switch operation {
	case "GetRepositoryCatalogData":
		if repository.catalog == nil {
			return nil, "RepositoryCatalogDataNotFoundException"
		}
		return map[string]any{"catalogData": repository.catalog}, ""
	case "PutRepositoryCatalogData":
		if repository.catalog == nil {
			repository.catalog = map[string]any{}
		}
		maps.Copy(repository.catalog, in.CatalogData) // what is left out stays: the reference does not say that it goes
		return map[string]any{"catalogData": repository.catalog}, ""
	case "GetRepositoryPolicy":
		if repository.policy == "" {
			return nil, "RepositoryPolicyNotFoundException"
		}
		return map[string]any{"repositoryName": name, "policyText": repository.policy}, ""
	case "SetRepositoryPolicy":
		repository.policy = in.PolicyText
		return map[string]any{"repositoryName": name, "policyText": repository.policy}, ""
	case "DeleteRepositoryPolicy":
		repository.policy = ""
		return map[string]any{"repositoryName": name}, ""
	case "ListTagsForResource":
		tags := []publicTag{}
		for key, value := range repository.tags {
			tags = append(tags, publicTag{key, value})
		}
		return map[string]any{"tags": tags}, ""
	case "TagResource":
		for _, tag := range in.Tags {
			repository.tags[tag.Key] = tag.Value
		}
		return map[string]any{}, ""
	case "UntagResource":
		for _, key := range in.TagKeys {
			delete(repository.tags, key)
		}
		return map[string]any{}, ""
	case "DescribeImages":
		return repository.describeImages(name, in)
	case "BatchDeleteImage":
		failures := []map[string]any{}
		for _, id := range in.ImageIds {
			if _, ok := repository.images[id.ImageDigest]; !ok {
				failures = append(failures, map[string]any{"failureCode": "ImageNotFound",
					"failureReason": "Requested image not found"})
			}
			delete(repository.images, id.ImageDigest)
		}
		return map[string]any{"failures": failures}, ""
	case "DeleteRepository":
		if len(repository.images) > 0 {
			return nil, "RepositoryNotEmptyException"
		}
		delete(r.repositories, name)
		return map[string]any{"repository": described(name)}, ""
	}
	return nil, "UnknownOperationException"
}

func (r *publicRegistry) describe(in publicRequest) (out map[string]any, code string) {
	if in.RepositoryNames != nil {
		list := []map[string]any{}
		for _, name := range in.RepositoryNames {
			if r.repositories[name] == nil {
				return nil, "RepositoryNotFoundException"
			}
			list = append(list, described(name))
		}
		return map[string]any{"repositories": list}, ""
	}
	names := slices.Sorted(maps.Keys(r.repositories))
	at, _ := strconv.Atoi(in.NextToken)
	if at >= len(names) {
		return map[string]any{"repositories": []any{}}, ""
	}
	out = map[string]any{"repositories": []map[string]any{described(names[at])}}
	if at+1 < len(names) {
		out["nextToken"] = strconv.Itoa(at + 1)
	}
	return out, ""
}

func (s *storedRepository) describeImages(name string, in publicRequest) (out map[string]any, code string) {
	digests := slices.Sorted(maps.Keys(s.images))
	if in.ImageIds != nil {
		digests = nil
		for _, id := range in.ImageIds {
			if _, ok := s.images[id.ImageDigest]; !ok {
				return nil, "ImageNotFoundException"
			}
			digests = append(digests, id.ImageDigest)
		}
	}
	details := []map[string]any{}
	for _, digest := range digests {
		details = append(details, map[string]any{
			"registryId": "123456789012", "repositoryName": name, "imageDigest": digest,
			"imageTags":        []string{s.images[digest]},
			"imageSizeInBytes": megabyte + 1, "imagePushedAt": 1700000000.5,
		})
	}
	return map[string]any{"imageDetails": details}, ""
}

func described(name string) map[string]any {
	return map[string]any{
		"repositoryArn": publicARN + name, "registryId": "123456789012", "repositoryName": name,
		"repositoryUri": "public.ecr.aws/a1b2c3d4/" + name, "createdAt": 1700000000.5,
	}
}
