// Package archive keeps the audit log outside of the database: a file for each month that has ended (UTC), as CSV
// compressed by gzip, with a manifest beside it. Files that are put back make iasql_as_of and its kind reach further.
package archive

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Manifest describes the file of a month.
type Manifest struct {
	Installation string    `json:"installation"` // the database's own id, which no copy changes
	Month        Month     `json:"month"`
	Since        time.Time `json:"since"` // from when on the month is whole: its begin, unless rows had been deleted
	Rows         int64     `json:"rows"`
	FirstID      int64     `json:"first_id"` // 0: it has no rows
	LastID       int64     `json:"last_id"`
	Columns      []string  `json:"columns"` // in the file's order
	SHA256       string    `json:"sha256"`  // of the compressed file
	Exported     time.Time `json:"exported"`
}

// Month is a month of the calendar, in UTC. Its text is like 2026-08.
type Month struct{ begin time.Time }

// monthForm is how a month is written.
const monthForm = "2006-01"

// MonthOf returns the month in which a time is.
func MonthOf(t time.Time) Month {
	t = t.UTC()
	return Month{time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)}
}

// ParseMonth reads a month as [Month.String] writes it.
func ParseMonth(text string) (Month, error) {
	t, err := time.Parse(monthForm, text)
	if err != nil {
		return Month{}, fmt.Errorf("%q is no month: write one like 2026-08", text)
	}
	return Month{t}, nil
}

// String implements [fmt.Stringer].
func (m Month) String() string { return m.begin.Format(monthForm) }

// Begin returns the first instant of the month.
func (m Month) Begin() time.Time { return m.begin }

// End returns the first instant of the next month.
func (m Month) End() time.Time { return m.begin.AddDate(0, 1, 0) }

// Next returns the month after.
func (m Month) Next() Month { return Month{m.End()} }

// MarshalText implements [encoding.TextMarshaler].
func (m Month) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (m *Month) UnmarshalText(text []byte) (err error) {
	*m, err = ParseMonth(string(text))
	return err
}

// The names of the files of a month.
const (
	prefix         = "iasql_audit_log-"
	dataSuffix     = ".csv.gz"
	manifestSuffix = ".json"
)

// dataFile returns where the rows of a month are kept.
func dataFile(dir string, m Month) string { return filepath.Join(dir, prefix+m.String()+dataSuffix) }

func manifestFile(dir string, m Month) string {
	return filepath.Join(dir, prefix+m.String()+manifestSuffix)
}

// readManifest returns the manifest of a month; nil if there is none.
func readManifest(dir string, m Month) (*Manifest, error) {
	path := manifestFile(dir, m)
	text, err := os.ReadFile(path) // #nosec G304 -- the folder is named by whoever runs the command
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var of Manifest
	if err := json.Unmarshal(text, &of); err != nil {
		return nil, fmt.Errorf("%s is no manifest: %w", path, err)
	}
	if of.Month != m {
		return nil, fmt.Errorf("%s is of %s: was it renamed?", path, of.Month)
	}
	return &of, nil
}

// manifests returns those of a folder, oldest first.
func manifests(dir string) ([]*Manifest, error) {
	paths, err := filepath.Glob(filepath.Join(escape(dir), prefix+"*"+manifestSuffix))
	if err != nil {
		return nil, err
	}
	var list []*Manifest
	for _, path := range paths {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), prefix), manifestSuffix)
		month, err := ParseMonth(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		of, err := readManifest(dir, month)
		if err != nil {
			return nil, err
		}
		list = append(list, of)
	}
	slices.SortFunc(list, func(a, b *Manifest) int { return a.Month.begin.Compare(b.Month.begin) })
	return list, nil
}

// escape makes a folder's name one that a pattern of [filepath.Match] matches only as it is.
func escape(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// writeFile has write fill a file, which takes the place of an earlier one when it is whole and on disk.
func writeFile(path string, write func(*os.File) error) error {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.part")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	if err := errors.Join(write(file), file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
