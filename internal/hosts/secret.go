package hosts

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"iasql/internal/hosts/runner"
	"iasql/internal/modules"
)

// SecretContents keeps the secret contents of files, each under a version (R16). A host's own contents are neither read
// nor kept: the engine knows of them a digest alone, by which it tells whether they are those that it has sent.
type SecretContents interface {
	// Sent returns what has been sent to a host.
	Sent(ctx context.Context, host string) (*SentContents, error)
	// Take returns the content of a version of a file, which counts as sent from now on; false if that is not kept.
	Take(ctx context.Context, host, path, version string) (content string, kept bool, err error)
}

// SentContents are the versions of secret contents that have been sent to a host.
type SentContents struct {
	// Key is the host's own, and known to the engine alone.
	Key []byte
	// Versions are the versions by path and SHA-256 of the content: of several the one that was sent last.
	Versions map[string]map[string]string
}

// version returns the version of a content with that SHA-256, in hexadecimal digits: the one that was sent, or, of a
// content that is somebody else's, a keyed hash (HMAC, RFC 2104) of file and content.
func (s *SentContents) version(path, sum string) string {
	if version := s.Versions[path][sum]; version != "" {
		return version
	}
	mac := hmac.New(sha256.New, s.Key)
	mac.Write([]byte(path + "\x00" + sum))
	return "hmac:" + hex.EncodeToString(mac.Sum(nil))
}

// File is a file of a host as a read has shown it.
type File struct {
	runner.Entry
	// Secret says that its content is: the entry has neither content, size nor SHA-256 then.
	Secret bool
	// Version is that of a secret content.
	Version string
	sha256  string // of a secret content
}

// secretPatterns are the patterns of what is secret.
func secretPatterns(scopes []Scope) []string {
	var list []string
	for _, s := range scopes {
		if s.Secret {
			list = append(list, s.Pattern)
		}
	}
	return list
}

// isSecret reports whether a scope says that the content of a file is secret.
func isSecret(scopes []Scope, path string) bool {
	return slices.ContainsFunc(scopes, func(s Scope) bool { return s.Secret && runner.Matches(s.Pattern, path) })
}

// veiled returns entries as files, without what must not be told of those that are secret.
func (h *Hosts) veiled(ctx context.Context, name string, scopes []Scope, entries []runner.Entry) ([]File, error) {
	files := make([]File, len(entries))
	var sent *SentContents
	for i := range entries {
		f := &files[i]
		f.Entry = entries[i]
		if f.Error != nil || f.Kind != runner.File || !isSecret(scopes, f.Path) {
			continue
		}
		if sent == nil {
			var err error
			if sent, err = h.options.Secrets.Sent(ctx, name); err != nil {
				return nil, err
			}
		}
		f.Secret, f.sha256, f.Version = true, f.SHA256, sent.version(f.Path, f.SHA256)
		if f.SHA256 == "" { // it is too large for one
			f.Version = sent.version(f.Path, fmt.Sprintf("%d bytes", f.Size))
		}
		f.Content, f.Bytes, f.Size, f.SHA256 = nil, nil, 0, ""
	}
	return files, nil
}

// errNoVersion is the error of a secret content that cannot be sent, because nobody but the host has ever had it.
func errNoVersion(name, path string) error {
	return &modules.Error{Class: modules.Invalid, Code: "NotKept", Message: fmt.Sprintf("host %s: the content that %s "+
		"is to have is not kept, so that it cannot be brought back: set secret_content to what it is to be, or "+
		"content_version to NULL to keep what is there", name, clean(path))}
}

// errSecret is the error of a secret content that is not in secret_content.
func errSecret(name, path string) error {
	return &modules.Error{Class: modules.Invalid, Code: "Secret", Message: fmt.Sprintf("host %s: the content of %s is "+
		"secret, as a row of host_scope says: leave content, bytes, source and sha256 at NULL, and set secret_content",
		name, clean(path))}
}

// secretChange prepares the change of a file whose content is secret: the content that is wanted by its version, and
// the digest of what was seen last, which no row has.
func (h *Hosts) secretChange(ctx context.Context, name string, c *FileChange, request *runner.Request) error {
	request.Secret = true
	if c.Source != nil || c.Want != nil && (c.Want.Content != nil || c.Want.Bytes != nil) {
		return errSecret(name, c.path())
	}
	if c.Have != nil && c.Have.Kind == runner.File {
		now, _, err := h.GetFiles(ctx, name, []string{c.Have.Path})
		if err != nil {
			return err
		}
		if len(now) == 1 && now[0].Error == nil {
			if now[0].Version != c.Seen {
				return Failed(name, runner.NotAsRead(c.path()))
			}
			have := *c.Have
			have.SHA256 = now[0].sha256
			request.Have = &have
		}
	}
	if c.Want == nil || c.Want.Kind != runner.File {
		return nil
	}
	want := *c.Want
	request.Want = &want
	if c.Have == nil && want.Mode == "" {
		want.Mode = secretMode
	}
	if c.Version == "" {
		return nil
	}
	content, kept, err := h.options.Secrets.Take(ctx, name, want.Path, c.Version)
	if err == nil && !kept {
		err = errNoVersion(name, want.Path)
	}
	want.Content = &content
	return err
}

// secretMode is the mode of a new file with a secret content, if nobody says another.
const secretMode = "0600"
