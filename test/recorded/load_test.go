package recorded

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// variable names the directory with the recordings; directory is where it is
// otherwise, seen from the project's root.
const (
	variable  = "RECORDED_ANSWERS"
	directory = "../shared/aws-recorded"
)

// answer is what an operation has answered; members leave out what the protocol
// adds.
type answer struct {
	folder  string // the service that the test was about
	test    string
	label   string
	members map[string]any
	// part: it may be a structure of an answer of which nothing else was kept.
	part bool
}

// key is the same for answers that say the same.
func (a answer) key() string { return fmt.Sprintf("%s %t %s", a.folder, a.part, text(a.members)) }

// failure is an error that an operation has answered.
type failure struct {
	folder, code, message string
	status                int // 0 where it was not recorded
}

// recordings returns everything that was recorded, in the order of its files. It
// skips the test where there is nothing.
func recordings(t *testing.T) (answers []answer, failures []failure) {
	t.Helper()
	root := os.Getenv(variable)
	if root == "" {
		root = filepath.Join("../..", filepath.FromSlash(directory))
	}
	if _, err := os.Stat(root); os.IsNotExist(err) {
		t.Skipf("there is no directory %s, and the variable %s names no other", directory, variable)
	}
	r := recorder{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".json" {
			return err
		}
		return r.file(filepath.Base(filepath.Dir(path)), path)
	})
	if err != nil {
		t.Fatal(err)
	}
	return r.answers, r.failures
}

type recorder struct {
	answers  []answer
	failures []failure
}

func (r *recorder) file(folder, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var tests map[string]struct {
		Content any `json:"recorded-content"`
	}
	decoder := json.NewDecoder(f)
	decoder.UseNumber()
	if err := decoder.Decode(&tests); err != nil {
		return err
	}
	for _, test := range slices.Sorted(maps.Keys(tests)) {
		r.collect(folder, test, "", tests[test].Content)
	}
	return nil
}

// collect finds the answers and errors in what a test has recorded: both have
// the member ResponseMetadata, and errors may have lost it.
func (r *recorder) collect(folder, test, label string, v any) {
	switch v := v.(type) {
	case []any:
		for _, member := range v {
			r.collect(folder, test, label, member)
		}
	case map[string]any:
		metadata, isAnswer := v["ResponseMetadata"].(map[string]any)
		if e, ok := v["Error"].(map[string]any); ok && e["Code"] != nil {
			code, _ := e["Code"].(string)
			message, _ := e["Message"].(string)
			status, _ := metadata["HTTPStatusCode"].(json.Number)
			n, _ := status.Int64()
			r.failures = append(r.failures, failure{folder, code, fill(message), int(n)})
			return
		}
		if isAnswer {
			members := maps.Clone(v)
			delete(members, "ResponseMetadata")
			r.answers = append(r.answers, answer{folder, test, label, members, false})
			return
		}
		r.answers = append(r.answers, answer{folder, test, label, v, true})
		for _, name := range slices.Sorted(maps.Keys(v)) {
			r.collect(folder, test, strings.TrimSpace(name), v[name])
		}
	}
}

// text is a JSON text of what was read from one.
func text(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// distinct keeps the first of what has the same key.
func distinct[T any, K comparable](all []T, key func(T) K) []T {
	seen := map[K]bool{}
	var kept []T
	for _, one := range all {
		if k := key(one); !seen[k] {
			seen[k] = true
			kept = append(kept, one)
		}
	}
	return kept
}
