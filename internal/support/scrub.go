package support

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"regexp"
	"strings"
	"sync"

	"iasql/docs"
	"iasql/sql"
)

// Kind says what a column has, and so what becomes of it.
type Kind int

// The kinds of columns.
const (
	Plain   Kind = iota // as it is: what the product has made
	Account             // the name of an account
	Role                // of a role of the database
	Host                // of a machine
	Table               // of a table: people may have made it
	Name                // anything else that people have named
	Text                // free text
)

var pseudonyms = map[Kind]string{Account: "account", Role: "role", Host: "host", Table: "table", Name: "name"}

// scrubber takes out of what was read what is nobody's business.
type scrubber struct {
	key    []byte          // of the installation, or of this bundle where that is not known
	tables map[string]bool // that the product brings
}

// scrub returns what may be given away of a value.
func (s *scrubber) scrub(kind Kind, value string) string {
	switch {
	case value == "" || kind == Plain:
		return value
	case kind == Text:
		return redact(value)
	case kind == Table && (s.tables[value] || strings.HasPrefix(value, "iasql_") || strings.HasPrefix(value, "river_")):
		return value
	case kind == Role && (strings.HasPrefix(value, "pg_") || value == "iasql_engine" || value == "iasql_user" ||
		value == "iasql_reader"):
		return value
	}
	h := hmac.New(sha256.New, s.key)
	_, _ = h.Write([]byte(pseudonyms[kind] + "\x00" + value))
	return pseudonyms[kind] + "-" + hex.EncodeToString(h.Sum(nil)[:4])
}

// words are those that the documentation and the SQL of the product have, in small letters.
var words = sync.OnceValue(func() map[string]bool {
	known := map[string]bool{}
	for _, of := range []fs.FS{docs.Modules, docs.Pages, sql.FS} {
		_ = fs.WalkDir(of, ".", func(path string, entry fs.DirEntry, err error) error { // an embedded file is there
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := fs.ReadFile(of, path)
			for _, word := range word.FindAllString(quoted.ReplaceAllString(string(text), " "), -1) {
				known[strings.ToLower(word)] = true
			}
			return err
		})
	}
	return known
})

var (
	word   = regexp.MustCompile(`[A-Za-z]+(?:_[A-Za-z]+)*`)
	quoted = regexp.MustCompile(`"[^"\n]*"|'[^'\n]*'|“[^”]*”`)
	// pieces of a text: a word with all that sticks to it, or what is between.
	pieces = regexp.MustCompile(`[\pL\pN_+/=@:.$%&~#-]+`)
	// code is where an SDK puts the code of an error, which is a word of the cloud's: after the service and the
	// operation.
	code = regexp.MustCompile(`operation error [A-Za-z0-9 ]{1,40}: [A-Z][A-Za-z0-9]{1,60}, ` +
		`[A-Z][A-Za-z0-9]{1,60}(?:\.[A-Z][A-Za-z0-9]{1,60})*: `)
)

// left stands for what was left out.
const left = "…"

// redact keeps of free text what the product itself might have said.
func redact(text string) string {
	if m := code.FindStringIndex(text); m != nil {
		return redact(text[:m[0]]) + text[m[0]:m[1]] + redact(text[m[1]:])
	}
	text = quoted.ReplaceAllString(text, left)
	text = pieces.ReplaceAllStringFunc(text, func(piece string) string {
		bare := strings.TrimRight(piece, ".:")
		if word.FindString(bare) == bare && words()[strings.ToLower(bare)] {
			return piece
		}
		return left
	})
	return repeated.ReplaceAllString(text, left)
}

var repeated = regexp.MustCompile(left + `(?:\s*` + left + `)+`)
