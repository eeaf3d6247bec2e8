package doctor

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// word is what an unknown value of an enumeration looks like. AWS's own are such
// words; what users write seldom is, and is told by its shape.
var word = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,40}$`)

// shapeOf tells what a value is like, and nothing of what it is.
func shapeOf(v modules.Value) string {
	if v.IsNull() {
		return "NULL"
	}
	text := v.String()
	switch {
	case text == "":
		return "empty text"
	case text == "true" || text == "false":
		return "boolean"
	case strings.HasPrefix(text, "{"):
		return fmt.Sprintf("JSON object of %s", count(len(text), "byte"))
	case strings.HasPrefix(text, "["):
		return fmt.Sprintf("list of %s", count(len(text), "byte"))
	case strings.Trim(text, "-0123456789.") == "":
		return fmt.Sprintf("number of %s", count(len(text), "character"))
	}
	return fmt.Sprintf("text of %s", count(utf8.RuneCountInString(text), "character"))
}

// wordOrShape names a value that is a word of AWS's vocabulary by all looks.
func wordOrShape(v modules.Value) string {
	if text := v.String(); !v.IsNull() && word.MatchString(text) {
		return text
	}
	return shapeOf(v)
}

// maskAccount leaves the last four digits of an account.
func maskAccount(id string) string {
	if len(id) < 4 {
		return "****"
	}
	return "********" + id[len(id)-4:]
}

var (
	arns     = regexp.MustCompile(`arn:aws[a-z-]*:[^\s'",)]*`)
	accounts = regexp.MustCompile(`\b\d{8}(\d{4})\b`)
	quotes   = regexp.MustCompile(`"[^"]*"`)
	ids      = regexp.MustCompile(`\b([a-z]+)-[0-9a-f]{8,17}\b`)
	profiles = regexp.MustCompile(`(config profile, )[^\s:]+`)
	// ends every failure to log in; the check's advice says it
	hint = regexp.MustCompile(`: set access_key_id and secret_access_key.*$`)
	keys = regexp.MustCompile(`\b(AKIA|ASIA)[A-Z0-9]{12,}\b`)
)

// maskText takes out of a message of the engine or the SDK what names things of
// the account.
func maskText(message string) string {
	message = aws.Scrub(message)
	message = arns.ReplaceAllString(message, "arn:…")
	message = profiles.ReplaceAllString(hint.ReplaceAllString(message, ""), "$1…")
	message = keys.ReplaceAllString(message, "$1…")
	message = accounts.ReplaceAllString(message, "********$1")
	message = ids.ReplaceAllString(message, "$1-…")
	return quotes.ReplaceAllString(message, `"…"`)
}

// reason is what AWS adds to a denial of which policy it comes from (IAM User
// Guide, "Troubleshoot access denied error messages").
var reason = regexp.MustCompile(
	`with an explicit deny in an? [a-zA-Z -]*(?:policy|boundary)|because no [a-zA-Z -]*(?:policy|boundary) allows`)

// performs is AWS's own name of the permission that lacks.
var performs = regexp.MustCompile(`not authorized to perform: ([A-Za-z0-9-]+:[A-Za-z0-9]+)`)

// said tells an error without what names things: the code of an answer and what
// AWS says of the policy; the message only if it is not AWS's.
func said(err error) string {
	var e *modules.Error
	if !errors.As(err, &e) {
		if errors.Is(err, context.DeadlineExceeded) {
			return "the time is up"
		}
		return maskText(err.Error())
	}
	if e.Code == "" || e.Code == "Credentials" || e.Code == "UnnamedOperation" {
		return maskText(e.Message)
	}
	if why := reason.FindString(e.Message); why != "" {
		return e.Code + " " + why
	}
	return e.Code
}
