package architecture

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// maxColumns is how long a line of Go may be, with tabs of four columns.
const maxColumns = 120

// TestLines: no line of the program is longer, but for those of raw strings, since SQL is not cut to the width of Go,
// and of words that are half as long.
func TestLines(t *testing.T) {
	t.Parallel()
	files := 0
	for _, folder := range []string{"cmd", "internal"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files++
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			raw := unbroken(path, text)
			for i, line := range strings.Split(string(text), "\n") {
				n := utf8.RuneCountInString(line) + 3*strings.Count(line, "\t")
				if n > maxColumns && !raw[i+1] && !strings.HasPrefix(line, "//go:") {
					t.Errorf("%s:%d has %d columns", path, i+1, n)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 400 {
		t.Errorf("%d files", files)
	}
}

// unbroken returns the lines on which there is a raw string, or a part of one, or a token of half their length.
func unbroken(path string, text []byte) map[int]bool {
	lines := map[int]bool{}
	file := token.NewFileSet().AddFile(path, -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0)
	for {
		at, kind, literal := s.Scan()
		switch {
		case kind == token.EOF:
			return lines
		case len(literal) > maxColumns/2 && kind != token.COMMENT && !strings.Contains(literal, " "):
			lines[file.Line(at)] = true
		case kind == token.STRING && literal[0] == '`':
			for i := range strings.Count(literal, "\n") + 1 {
				lines[file.Line(at)+i] = true
			}
		}
	}
}
