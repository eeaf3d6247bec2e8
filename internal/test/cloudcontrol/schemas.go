package cloudcontrol

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// The schemas that AWS has published are test data that stays outside of the
// repository: the file that the variable names, or else this one, seen from the
// project's root.
const (
	schemasVariable = "RESOURCE_SCHEMAS"
	schemasFile     = "../shared/cfn-schemas/all.jsonl.gz"
)

// AWS returns the schemas that AWS has published, by the names of their types. It
// skips the test where they are absent. root is the way from the test's directory
// to the project's, such as "../..".
func AWS(t testing.TB, root string) map[string][]byte {
	t.Helper()
	file := os.Getenv(schemasVariable)
	if file == "" {
		file = filepath.Join(root, filepath.FromSlash(schemasFile))
	}
	f, err := os.Open(file)
	if os.IsNotExist(err) {
		t.Skipf("there is no file %s, and the variable %s names no other", schemasFile, schemasVariable)
	} else if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	schemas, err := readLines(f)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return schemas
}

// readLines reads gzipped lines that are a schema each.
func readLines(r io.Reader) (map[string][]byte, error) {
	zipped, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	schemas := map[string][]byte{}
	lines := bufio.NewScanner(zipped)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		name, err := typeName(lines.Bytes())
		if err != nil {
			return nil, err
		}
		schemas[name] = bytes.Clone(lines.Bytes())
	}
	return schemas, lines.Err()
}

// FromFS returns the schemas in the files of a folder that end in .json.
func FromFS(folder fs.FS) (map[string][]byte, error) {
	files, err := fs.Glob(folder, "*.json")
	if err != nil {
		return nil, err
	}
	schemas := map[string][]byte{}
	for _, file := range files {
		content, err := fs.ReadFile(folder, file)
		if err != nil {
			return nil, err
		}
		name, err := typeName(content)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		schemas[name] = content
	}
	return schemas, nil
}

func typeName(schema []byte) (string, error) {
	var named struct {
		TypeName string `json:"typeName"`
	}
	err := json.Unmarshal(schema, &named)
	return named.TypeName, err
}
