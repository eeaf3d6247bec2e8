package console

import (
	"strings"
	"unicode/utf8"
)

// piece is one statement of a text that somebody has typed.
type piece struct {
	text string
	at   int // characters of the whole text before it
}

// split cuts a text into its statements at the semicolons that end them, as psql
// does (manual, section 4.1). Nothing that is safe depends on it: each piece is
// sent by the extended protocol, which takes one statement and no more.
func split(text string) []piece {
	var pieces []piece
	start := 0
	add := func(end int) {
		if word, _ := words(text[start:end]); word != "" {
			lead := len(text[start:end]) - len(strings.TrimLeft(text[start:end], " \t\r\n\f\v"))
			pieces = append(pieces, piece{strings.TrimSpace(text[start:end]),
				utf8.RuneCountInString(text[:start+lead])})
		}
	}
	depth, body := 0, routine{}
	for i := 0; i < len(text); {
		if end := skipped(text, i); end > i {
			i = end
			continue
		}
		switch c := text[i]; {
		case c == '(' || c == '[':
			depth++
		case (c == ')' || c == ']') && depth > 0:
			depth--
		case c == ';' && depth == 0 && body.depth == 0:
			add(i)
			start, body = i+1, routine{}
		case begins(c):
			end := i + 1
			for end < len(text) && (begins(text[end]) || text[end] >= '0' && text[end] <= '9' || text[end] == '$') {
				end++
			}
			body.see(strings.ToLower(text[i:end]))
			i = end
			continue
		}
		i++
	}
	add(len(text))
	return pieces
}

// routine notes whether the statement makes a function with a body in standard
// SQL, whose statements have semicolons of their own (manual, CREATE FUNCTION).
type routine struct {
	words  int
	makes  bool // it began with CREATE
	of     bool // … FUNCTION or PROCEDURE
	depth  int  // of BEGIN ATOMIC and CASE
	atomic string
}

func (r *routine) see(word string) {
	r.words++
	switch {
	case r.words == 1:
		r.makes = word == "create"
	case r.makes && !r.of && r.words <= 4:
		r.of = word == "function" || word == "procedure"
	case !r.of:
	case word == "atomic" && r.atomic == "begin" || word == "case" && r.depth > 0:
		r.depth++
	case word == "end" && r.depth > 0:
		r.depth--
	}
	r.atomic = word
}

// begins reports whether a name can begin with a byte; those above ASCII can.
func begins(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
}

// skipped returns where a comment or something in quotes ends that begins at i, or
// i. What has no end ends with the text.
func skipped(text string, i int) int {
	rest := text[i:]
	switch {
	case strings.HasPrefix(rest, "--"):
		if end := strings.IndexAny(rest, "\n\r"); end >= 0 {
			return i + end
		}
		return len(text)
	case strings.HasPrefix(rest, "/*"):
		depth := 0
		for j := i; j < len(text); j++ {
			if strings.HasPrefix(text[j:], "/*") {
				depth++
				j++
			} else if strings.HasPrefix(text[j:], "*/") {
				depth--
				j++
				if depth == 0 {
					return j + 1
				}
			}
		}
		return len(text)
	case rest[0] == '\'' || rest[0] == '"':
		escapes := rest[0] == '\'' && i > 0 && (text[i-1] == 'e' || text[i-1] == 'E') && (i < 2 || !inName(text[i-2]))
		for j := i + 1; j < len(text); j++ {
			if escapes && text[j] == '\\' {
				j++
			} else if text[j] == rest[0] {
				return j + 1 // a doubled one begins the next
			}
		}
		return len(text)
	case rest[0] == '$' && (i == 0 || !inName(text[i-1])):
		end := 1
		for end < len(rest) && (begins(rest[end]) || end > 1 && rest[end] >= '0' && rest[end] <= '9') {
			end++
		}
		if end == len(rest) || rest[end] != '$' {
			return i
		}
		tag := rest[:end+1]
		if close := strings.Index(rest[len(tag):], tag); close >= 0 {
			return i + 2*len(tag) + close
		}
		return len(text)
	}
	return i
}

func inName(c byte) bool { return begins(c) || c >= '0' && c <= '9' || c == '$' }

// words returns the first two words of a statement in lower case: what it is. Where
// it begins with something else, that is the first.
func words(statement string) (first, second string) {
	var found []string
	for i := 0; i < len(statement) && len(found) < 2; {
		c := statement[i]
		if strings.HasPrefix(statement[i:], "--") || strings.HasPrefix(statement[i:], "/*") {
			i = skipped(statement, i)
			continue
		}
		if strings.IndexByte(" \t\r\n\f\v", c) >= 0 {
			i++
			continue
		}
		end := i + 1
		for begins(c) && end < len(statement) && begins(statement[end]) {
			end++
		}
		found = append(found, strings.ToLower(statement[i:end]))
		i = end
	}
	found = append(found, "", "")
	return found[0], found[1]
}

// refuse says why a statement has no place on the page, "" if it has. PostgreSQL
// has no statement that begins so and is something else (manual, part VI).
func refuse(statement string) string {
	first, second := words(statement)
	switch {
	case first == "copy":
		return "COPY sends rows in a protocol of its own, which a page cannot show. SELECT them and download CSV, " +
			"or use psql."
	case first == "begin", first == "start", first == "commit", first == "end", first == "rollback", first == "abort",
		first == "savepoint", first == "release", first == "prepare" && second == "transaction":
		return strings.ToUpper(first) + " has no place here: each run is a transaction of its own, which the page " +
			"begins and ends."
	}
	return ""
}
