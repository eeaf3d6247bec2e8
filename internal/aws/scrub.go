package aws

import (
	"regexp"
	"strings"
)

// longestMessage bounds what is kept of an error's message, which ends up in
// tables that people read.
const longestMessage = 1000

var (
	// Header and query parameters that authenticate a request (AWS Signature
	// Version 4, "Authorization header" and "Query parameters"); AWS repeats
	// them in SignatureDoesNotMatch messages, as part of the canonical string.
	authentication = regexp.MustCompile(
		`(?i)(x-amz-security-token|x-amz-signature|x-amz-credential|authorization|signature|aws_secret_access_key|aws_session_token|secret_access_key|secretaccesskey|session_token|sessiontoken)("?\s*[:=]\s*"?)(aws4-hmac-sha256[^\n'"]*|[^\s,;&'"]+)`)
	// Runs of the characters that keys and tokens are made of.
	run = regexp.MustCompile(`[A-Za-z0-9/+=]{40,}`)
	// Of no use without a privileged call to decode it, and longer than all
	// the rest (EC2 "Error codes": UnauthorizedOperation).
	encodedFailure = regexp.MustCompile(`(?i)\s*encoded authorization failure message:\s*\S+`)
)

// Scrub returns a message in one line and without what looks like a secret
// key, a session token or a signature.
func Scrub(message string) string {
	message = encodedFailure.ReplaceAllString(message, "")
	message = authentication.ReplaceAllString(message, "${1}${2}"+mask)
	message = run.ReplaceAllStringFunc(message, func(s string) string {
		if looksSecret(s) {
			return mask
		}
		return s
	})
	message = strings.Join(strings.Fields(message), " ")
	if len(message) > longestMessage {
		message = strings.ToValidUTF8(message[:longestMessage], "") + "…"
	}
	return message
}

// looksSecret tells random characters from paths and hexadecimal digests: a
// secret access key has 40 characters of all kinds, a session token hundreds.
func looksSecret(s string) bool {
	if len(s) != 40 && len(s) < 100 {
		return false
	}
	return strings.ContainsAny(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") &&
		strings.ContainsAny(s, "abcdefghijklmnopqrstuvwxyz") &&
		strings.ContainsAny(s, "0123456789")
}

// scrubExactly masks the given secrets, whatever they look like.
func scrubExactly(message string, secrets []string) string {
	for _, s := range secrets {
		message = strings.ReplaceAll(message, s, mask)
	}
	return message
}

// secretsOf returns the parts of credentials that are worth hiding; shorter
// ones, such as those of emulators, would mask ordinary words.
func secretsOf(c Credentials) []string {
	var secrets []string
	for _, s := range []string{c.SecretAccessKey, c.SessionToken, c.ExternalID} {
		if len(s) >= 8 {
			secrets = append(secrets, s)
		}
	}
	return secrets
}
