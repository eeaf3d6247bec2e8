package cloudcontrol

import (
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxRepeat is how often the parser of regular expressions lets something be
// repeated; schemas ask for more.
const maxRepeat = 1000

var repetition = regexp.MustCompile(`\{(\d+)(,?)(\d*)\}`)

// parsePattern reads a regular expression of Java as one of Go, as far as a string
// can be made of it; what matches it is checked with another engine.
func parsePattern(expression string) *syntax.Regexp {
	clipped := repetition.ReplaceAllStringFunc(expression, func(found string) string {
		m := repetition.FindStringSubmatch(found)
		for i := 1; i <= 3; i += 2 {
			if n, err := strconv.Atoi(m[i]); err == nil && n > maxRepeat/10 {
				m[i] = strconv.Itoa(max(maxRepeat/10, min(n, maxRepeat)))
			}
		}
		return "{" + m[1] + m[2] + m[3] + "}"
	})
	for _, candidate := range []string{expression, clipped, escapes.ReplaceAllString(clipped, "$1")} {
		if parsed, err := syntax.Parse(candidate, syntax.Perl); err == nil {
			return parsed
		}
	}
	return nil
}

// escapes are escapes that Go does not know.
var escapes = regexp.MustCompile(`\\([_ceghijklmoquyFGHIJKLMNORTUVXYZ"'<>#~%@!&=:;, ])`)

// matching makes a string that matches a pattern and is between least and most
// characters long; accepts tells whether one does. It is false if none was found.
func matching(expression string, least, most int, r *rand.Rand, accepts func(string) bool) (string, bool) {
	parsed := parsePattern(expression)
	if parsed == nil {
		return "", false
	}
	for attempt := range 60 {
		more := attempt / 4
		if attempt > 20 {
			more = attempt + least/max(1, 40-attempt)
		}
		var b strings.Builder
		g := stringMaker{r: r, more: more, most: most}
		g.write(&b, parsed)
		made := b.String()
		for n := utf8.RuneCountInString(made); n < least && attempt%2 == 1; n++ {
			made += "a"
		}
		if n := utf8.RuneCountInString(made); n >= least && n <= most && accepts(made) {
			return made, true
		}
	}
	return "", false
}

// stringMaker writes strings that match regular expressions.
type stringMaker struct {
	r    *rand.Rand
	more int // repetitions beyond the least
	most int // characters
}

func (g stringMaker) write(b *strings.Builder, re *syntax.Regexp) {
	if b.Len() > 4*g.most+64 {
		return
	}
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		b.WriteRune(g.pick(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteRune(letters[g.r.IntN(26)])
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range re.Sub {
			g.write(b, sub)
		}
	case syntax.OpAlternate:
		g.write(b, re.Sub[g.r.IntN(len(re.Sub))])
	case syntax.OpStar:
		g.repeat(b, re.Sub[0], 0, -1)
	case syntax.OpPlus:
		g.repeat(b, re.Sub[0], 1, -1)
	case syntax.OpQuest:
		g.repeat(b, re.Sub[0], 0, 1)
	case syntax.OpRepeat:
		g.repeat(b, re.Sub[0], re.Min, re.Max)
	}
}

func (g stringMaker) repeat(b *strings.Builder, re *syntax.Regexp, least, most int) {
	n := least
	if g.more > 0 {
		n += g.r.IntN(g.more + 1)
	}
	if most >= 0 {
		n = min(n, most)
	}
	for range n {
		g.write(b, re)
	}
}

var letters = []rune("abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")

// pick chooses a character of a class: a plain one if it has one.
func (g stringMaker) pick(ranges []rune) rune {
	var plain, printable []rune
	for i := 0; i+1 < len(ranges); i += 2 {
		for c := max(ranges[i], ' '); c <= min(ranges[i+1], '~'); c++ {
			printable = append(printable, c)
			if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
				plain = append(plain, c)
			}
		}
	}
	switch {
	case len(plain) > 0:
		return plain[g.r.IntN(len(plain))]
	case len(printable) > 0:
		return printable[g.r.IntN(len(printable))]
	case len(ranges) > 0:
		return ranges[0]
	}
	return 'a'
}
