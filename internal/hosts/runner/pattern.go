package runner

import (
	"fmt"
	"path"
	"strings"
)

// CheckPath says what is wrong with a path: it has to be absolute, and spelt in the one shortest way.
func CheckPath(name string) error {
	if !strings.HasPrefix(name, "/") || name == "/" || path.Clean(name) != name || strings.Contains(name, "\x00") {
		return &Failure{Refused, fmt.Sprintf(
			"%q is no path of a file: it begins with / and has neither . nor .. nor // in "+
				"it, and no / at its end", name)}
	}
	return nil
}

// Matches reports whether a pattern names a path. In it * stands for any characters but /, ? for one of them, and **,
// between slashes or at the end, for any number of directories and, at the end, all that is in them.
func Matches(pattern, name string) bool {
	return matchSegments(strings.Split(pattern, "/"), strings.Split(name, "/"))
}

func matchSegments(pattern, name []string) bool {
	for len(pattern) > 0 {
		if pattern[0] == "**" {
			if len(pattern) == 1 {
				return len(name) > 0
			}
			for i := range name {
				if matchSegments(pattern[1:], name[i:]) {
					return true
				}
			}
			return false
		}
		if len(name) == 0 || !matchSegment(pattern[0], name[0]) {
			return false
		}
		pattern, name = pattern[1:], name[1:]
	}
	return len(name) == 0
}

// MatchesName reports whether a pattern names what is no file. In it * stands for any characters, and ? for one; but
// one that is a path, as of a mount point, names what [Matches] says.
func MatchesName(pattern, name string) bool {
	if strings.HasPrefix(pattern, "/") {
		return Matches(pattern, name)
	}
	return matchSegment(pattern, name)
}

// matchSegment matches one name. It goes back to the last * alone, so that it takes no longer than the product of the
// lengths.
func matchSegment(pattern, name string) bool {
	p, n := []rune(pattern), []rune(name)
	star, mark, i, j := -1, 0, 0, 0
	for j < len(n) {
		switch {
		case i < len(p) && p[i] == '*':
			star, mark = i, j
			i++
		case i < len(p) && (p[i] == '?' || p[i] == n[j]):
			i++
			j++
		case star >= 0:
			mark++
			i, j = star+1, mark
		default:
			return false
		}
	}
	for i < len(p) && p[i] == '*' {
		i++
	}
	return i == len(p)
}

// isWild reports whether a segment of a pattern is one, and not a name.
func isWild(segment string) bool { return strings.ContainsAny(segment, "*?") }
