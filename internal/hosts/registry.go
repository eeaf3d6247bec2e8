package hosts

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/distribution/reference"
	"github.com/moby/moby/api/pkg/authconfig"
	"github.com/moby/moby/api/types/registry"

	"iasql/internal/modules"
)

// dockerHub is what docker login calls Docker Hub, whose images are those of docker.io.
const dockerHub = "https://index.docker.io/v1/"

// RegistryAuth returns what a host's images of that name are pulled with, as Docker's API takes it; "" if the host's
// registry_auth says nothing of the registry.
func (h *Hosts) RegistryAuth(ctx context.Context, host, image string) (string, error) {
	settings, err := h.settings(ctx, host, false)
	if err != nil || settings.RegistryAuth == "" {
		return "", err
	}
	unreadable := func(what string) error {
		return Failure(modules.Dependency, "RegistryAuth", host, "its registry_auth cannot be read: %s. It is to be "+
			"the text of a config.json, as docker login writes it without a credential helper: "+
			"UPDATE host SET registry_auth = '…'", what)
	}
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return "", err
	}
	var config struct {
		Auths map[string]registry.AuthConfig `json:"auths"`
	}
	if err := json.Unmarshal([]byte(settings.RegistryAuth), &config); err != nil {
		return "", unreadable("it is no such JSON") // the error of JSON may have some of it
	}
	auth, is := authOf(config.Auths, named)
	if !is {
		return "", nil
	}
	if auth.Auth != "" {
		plain, err := base64.StdEncoding.DecodeString(auth.Auth)
		user, password, ok := strings.Cut(string(plain), ":")
		if err != nil || !ok {
			return "", unreadable("auth of " + reference.Domain(named) + " is not user:password in base64")
		}
		auth.Username, auth.Password, auth.Auth = user, strings.TrimRight(password, "\x00"), ""
	}
	return authconfig.Encode(auth)
}

// authOf returns what there is for the images of a name: of the keys that name its registry, or a part of the
// registry as Podman's containers-auth.json(5) has it, the longest.
func authOf(auths map[string]registry.AuthConfig, image reference.Named) (found registry.AuthConfig, is bool) {
	best := -1
	for key, auth := range auths {
		of := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(key, "https://"), "http://"), "/")
		if key == dockerHub {
			of = "docker.io"
		}
		of = strings.TrimSuffix(strings.TrimSuffix(of, "/v1"), "/v2")
		if (image.Name() == of || strings.HasPrefix(image.Name(), of+"/")) && len(of) > best {
			found, is, best = auth, true, len(of)
			found.ServerAddress = key
		}
	}
	return found, is
}
