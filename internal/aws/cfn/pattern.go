package cfn

import (
	"fmt"
	"regexp/syntax"
	"strings"
	"unicode"
)

// The limits of a regular expression: what is larger, PostgreSQL might take long to
// compile, once a session.
const (
	maxPattern = 600  // bytes
	maxStates  = 2000 // once every repetition is written out
	maxRepeat  = 255  // which is PostgreSQL's own (manual, section 9.7.3)
	maxRanges  = 64   // of one class
)

// Pattern returns a regular expression of PostgreSQL that matches what the pattern of a
// schema matches, which is one of ECMA 262; false if that cannot be said for certain, or
// if it is too large. It is written anew from what the pattern means, so that nothing is
// left to how the two languages read the same text.
func Pattern(pattern string) (string, bool) {
	if pattern == "" || len(pattern) > maxPattern {
		return "", false
	}
	anything := strings.NewReplacer(`[\s\S]`, `(?s:.)`, `[\S\s]`, `(?s:.)`, `[\w\W]`, `(?s:.)`)
	for _, odd := range odds {
		if strings.Contains(anything.Replace(pattern), odd) && odd != `(?` ||
			strings.Contains(strings.ReplaceAll(pattern, `(?:`, `(`), `(?`) {
			return "", false
		}
	}
	tree, err := syntax.Parse(anything.Replace(pattern), syntax.Perl)
	if err != nil {
		return "", false
	}
	w := &patternWriter{}
	if !w.write(tree) || states(tree) > maxStates {
		return "", false
	}
	return w.String(), true
}

// odds are what the languages of regular expressions read in more than one way.
var odds = []string{`\A`, `\z`, `\Z`, `\Q`, `\C`, `\p`, `\P`, `\b`, `\B`, `\u`, `\x`, `\c`, `\s`, `\S`, `\G`, `\K`,
	`[[`, `&&`, `[]`, `[^]`}

type patternWriter struct{ strings.Builder }

// write writes an expression and reports whether PostgreSQL has it.
func (w *patternWriter) write(e *syntax.Regexp) bool {
	if e.Flags&(syntax.FoldCase) != 0 {
		return false
	}
	switch e.Op {
	case syntax.OpEmptyMatch:
		w.WriteString("(?:)")
	case syntax.OpLiteral:
		for _, r := range e.Rune {
			if !w.char(r) {
				return false
			}
		}
	case syntax.OpCharClass:
		return w.class(e.Rune)
	case syntax.OpAnyCharNotNL:
		w.WriteString(`[^\n\r]`)
	case syntax.OpAnyChar:
		w.WriteByte('.') // which matches a new line, too
	case syntax.OpBeginText:
		w.WriteString(`^`)
	case syntax.OpEndText:
		w.WriteString(`$`)
	case syntax.OpCapture:
		return w.group(e.Sub[0])
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		return w.repeat(e)
	case syntax.OpConcat:
		for _, sub := range e.Sub {
			if sub.Op == syntax.OpAlternate && !w.group(sub) || sub.Op != syntax.OpAlternate && !w.write(sub) {
				return false
			}
		}
	case syntax.OpAlternate:
		for i, sub := range e.Sub {
			if i > 0 {
				w.WriteByte('|')
			}
			if !w.write(sub) {
				return false
			}
		}
	default:
		return false
	}
	return true
}

func (w *patternWriter) group(e *syntax.Regexp) bool {
	w.WriteString("(?:")
	ok := w.write(e)
	w.WriteByte(')')
	return ok
}

// repeat writes a repetition. Whether it is greedy makes no difference to what matches.
func (w *patternWriter) repeat(e *syntax.Regexp) bool {
	switch e.Sub[0].Op {
	case syntax.OpBeginText, syntax.OpEndText, syntax.OpEmptyMatch: // PostgreSQL does not repeat these
		return false
	}
	if !w.group(e.Sub[0]) {
		return false
	}
	switch e.Op {
	case syntax.OpStar:
		w.WriteByte('*')
	case syntax.OpPlus:
		w.WriteByte('+')
	case syntax.OpQuest:
		w.WriteByte('?')
	default:
		if e.Min > maxRepeat || e.Max > maxRepeat {
			return false
		}
		switch e.Max {
		case -1:
			fmt.Fprintf(w, "{%d,}", e.Min)
		case e.Min:
			fmt.Fprintf(w, "{%d}", e.Min)
		default:
			fmt.Fprintf(w, "{%d,%d}", e.Min, e.Max)
		}
	}
	return true
}

// class writes a class of characters, given as ranges.
func (w *patternWriter) class(ranges []rune) bool {
	if len(ranges) == 0 || len(ranges) > 2*maxRanges {
		return false
	}
	w.WriteByte('[')
	if ranges[len(ranges)-1] == unicode.MaxRune {
		if ranges = others(ranges); len(ranges) == 0 {
			return false
		}
		w.WriteByte('^')
	}
	for i := 0; i < len(ranges); i += 2 {
		low, high := max(1, ranges[i]), ranges[i+1] // no text has NUL
		if high < low {
			return false
		}
		w.escaped(low)
		if high > low {
			w.WriteByte('-')
			w.escaped(high)
		}
	}
	w.WriteByte(']')
	return true
}

// others returns the ranges of all other characters.
func others(ranges []rune) []rune {
	var out []rune
	next := rune(0)
	for i := 0; i < len(ranges); i += 2 {
		if ranges[i] > next {
			out = append(out, next, ranges[i]-1)
		}
		next = ranges[i+1] + 1
	}
	return out
}

func (w *patternWriter) char(r rune) bool {
	if r == 0 {
		return false
	}
	w.escaped(r)
	return true
}

// escaped writes a character that means itself, inside a class and out of it.
func (w *patternWriter) escaped(r rune) {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_':
		w.WriteRune(r)
	case r <= 0xFFFF:
		fmt.Fprintf(w, `\u%04X`, r)
	default:
		fmt.Fprintf(w, `\U%08X`, r)
	}
}

// states returns how large an expression is once every repetition is written out.
func states(e *syntax.Regexp) int {
	n := 1
	if e.Op == syntax.OpLiteral {
		n = len(e.Rune)
	}
	for _, sub := range e.Sub {
		n += states(sub)
		if n > maxStates {
			return n
		}
	}
	if e.Op == syntax.OpRepeat {
		n *= max(1, e.Min, e.Max)
	}
	return min(n, 10*maxStates)
}
