package hosts

import (
	"testing"

	"github.com/distribution/reference"
	"github.com/moby/moby/api/types/registry"
)

// TestAuthOf: a registry is named as docker login, Kubernetes and Podman name it, and never by a part of its name.
func TestAuthOf(t *testing.T) {
	t.Parallel()
	auths := map[string]registry.AuthConfig{}
	for _, key := range []string{dockerHub, "ghcr.io", "ghcr.io/me", "https://quay.io", "https://old.example.com/v1/", "r.example.com:5000", ""} {
		auths[key] = registry.AuthConfig{Username: "of " + key}
	}
	for image, key := range map[string]string{
		"nginx": dockerHub, "me/app:2": dockerHub, "ghcr.io/you/app": "ghcr.io", "ghcr.io/me/app:1": "ghcr.io/me",
		"ghcr.io/mean/app": "ghcr.io", "quay.io/app": "https://quay.io", "old.example.com/a/b": "https://old.example.com/v1/",
		"r.example.com:5000/app": "r.example.com:5000", "r.example.com/app": "-", "ghcr.io.example.com/me/app": "-",
	} {
		named, err := reference.ParseNormalizedNamed(image)
		if err != nil {
			t.Fatal(err)
		}
		found, is := authOf(auths, named)
		if is != (key != "-") || is && (found.Username != "of "+key || found.ServerAddress != key) {
			t.Errorf("%s: got %+v, %t; want that of %q", image, found, is, key)
		}
	}
}
