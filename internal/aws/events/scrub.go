package events

import (
	"regexp"
	"strings"
)

// Who made a call, and with which tool, is what the caller says: a session's name and a user
// agent are free text. AWS hides secrets in what a call asks for; it does not look into
// these. What looks like a secret there is left out before anything is kept (R16).

const mask = "********"

var (
	// An access key's id, with what hangs on it: ids are no secret, but nobody is to be
	// tempted to find out whether the secret is beside it.
	accessKeys = regexp.MustCompile(`\b(AKIA|ASIA)[A-Z0-9]{12,}\b`)
	// What a name says to be a secret: parameters of presigned URLs (AWS Signature Version 4,
	// "Query parameters"), options of command lines, headers.
	namedSecrets = regexp.MustCompile(
		`(?i)((?:password|passwd|passphrase|pwd|secret|token|signature|credential|api-?_?key|access-?_?key|private-?_?key|authorization)[a-z0-9_.-]*)(["']?\s*(?:[:=]|%3d|%3a)\s*["']?)((?:bearer|basic|aws4-hmac-sha256)\s+)?[^\s,;&'"()<>]+`)
	// Options with a space between the name and the secret.
	secretOptions = regexp.MustCompile(
		`(?i)(--?[a-z-]*(?:password|passwd|passphrase|secret|token|api-?key)\s+)[^\s,;&'"()<>]+`)
	bearers = regexp.MustCompile(`(?i)\b(bearer|basic)\s+[a-z0-9+/_=.~-]{8,}`)
	// The password of a URL (RFC 3986, section 3.2.1).
	userInfo = regexp.MustCompile(`://[^/\s@:]*:[^/\s@]+@`)
	// Tokens by their own form: JSON Web Tokens (RFC 7519), and those of GitHub and Slack.
	tokens = regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]+)*|\b(?:gh[a-z]_|github_pat_|xox[a-z]-)[A-Za-z0-9_-]{10,}`)
	// Runs of the characters that secret access keys are made of, which have 40.
	runs = regexp.MustCompile(`[A-Za-z0-9/+]{40,}`)
)

// said returns a text of the caller's: cleaned, without what looks like a secret, and cut to
// most bytes. It is cut last: half a secret looks like none.
func said(text string, most int) string {
	whole := len(text) <= 2*most
	text = clean(text, 2*most)
	text = userInfo.ReplaceAllString(text, "://"+mask+"@")
	arn := ""
	// a colon after a word says nothing there
	if parts := strings.SplitN(text, ":", 6); len(parts) == 6 && parts[0] == "arn" {
		arn, text = strings.TrimSuffix(text, parts[5]), parts[5]
	}
	text = arn + namedSecrets.ReplaceAllString(text, "${1}${2}"+mask)
	text = secretOptions.ReplaceAllString(text, "${1}"+mask)
	text = bearers.ReplaceAllString(text, "${1} "+mask)
	text = tokens.ReplaceAllString(text, mask)
	text = accessKeys.ReplaceAllString(text, mask)
	text = runs.ReplaceAllStringFunc(text, func(run string) string {
		if looksRandom(run) {
			return mask
		}
		return run
	})
	if !whole && len(text) <= most { // its end may be the first half of something
		return mask
	}
	return cut(text, most)
}

// looksRandom tells keys from paths, names and hexadecimal digests: of random characters every
// second one is of another kind than the one before, of words every sixth or so.
func looksRandom(run string) bool {
	upper, lower, digit, changes := 0, 0, 0, 0
	kind, last := 0, 0
	for i := range len(run) {
		switch c := run[i]; {
		case c >= 'A' && c <= 'Z':
			upper++
			kind = 1
		case c >= 'a' && c <= 'z':
			lower++
			kind = 2
		case c >= '0' && c <= '9':
			digit++
			kind = 3
		default:
			continue
		}
		if kind != last {
			changes++
		}
		last = kind
	}
	return upper > 0 && lower > 0 && digit > 0 && changes*3 >= upper+lower+digit
}
