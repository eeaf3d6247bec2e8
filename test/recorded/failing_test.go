package recorded

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"iasql/internal/modules"
)

// nothing are the errors that say of an object that it has nothing of the kind: the
// columns are NULL then, and known. A policy of IAM's was named a moment before.
var nothing = []string{
	"iam:GetRolePolicy NoSuchEntity",
	"iam:GetUserPolicy NoSuchEntity",
	"s3:GetBucketPolicy NoSuchBucketPolicy",
	"s3:GetBucketTagging NoSuchTagSet",
	"kms:GetKeyRotationStatus UnsupportedOperationException",
}

// failing has every operation that a reader asks answer with every recorded error of
// its service. The reader fails, or has all its objects: that one is not there is
// only ever said by an error of the class NotFound. What the operation would have
// said of an object is unknown then.
func (r *reading) failing(all []failure) {
	told := slices.DeleteFunc(slices.Clone(all), func(f failure) bool { return f.status == 0 })
	byFolder := met(distinct(told, func(f failure) string { return f.folder + f.code }), map[string]int{})
	seen, asked := map[string]bool{}, 0
	for i, reader := range readers {
		if r.sample[i] == nil {
			r.Errorf("%s by %s: no answer had objects", reader.table, reader.op)
			continue
		}
		w, rows, err := r.attempt(i, "", failure{})
		if err != nil {
			r.Errorf("%s by %s: %v", reader.table, reader.op, err)
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(w.asked)) {
			// What one reader has asked besides its own operation is asked by others, too.
			once := fmt.Sprintf("%s %s %t", reader.table, name, reader.get == nil)
			if name != reader.op && seen[once] {
				continue
			}
			seen[once] = true
			for _, f := range byFolder[r.cloud.folder(name)] {
				if _, operation, _ := strings.Cut(name, ":"); f.of(operation) {
					r.fails(i, rows, name, f)
					asked++
				}
			}
		}
	}
	r.Logf("%d times an operation of a reader answered an error", asked)
}

// fails has an operation of a reader answer an error; rows are what the reader has
// otherwise.
func (r *reading) fails(i int, rows []modules.Row, name string, f failure) {
	class, _ := expected(r.classes, f)
	what := fmt.Sprintf("%s by %s: %s answers %s (%s)", readers[i].table, readers[i].op, name, f.code, class)
	_, left, err := r.attempt(i, name, f)
	switch {
	case err != nil && modules.ClassOf(err) != class:
		r.Errorf("%s: the error is of class %s: %v", what, modules.ClassOf(err), err)
	case err == nil && class != modules.NotFound && len(left) < len(rows):
		r.Errorf("%s: %d objects are left of %d", what, len(left), len(rows))
	case err == nil && !slices.Contains(nothing, name+" "+f.code):
		unknownOrSame(r.T, what, r.registry.Resource(readers[i].table).Table(), rows, left)
	}
}

// unknownOrSame checks that what is said of objects after an error was said without
// it, too.
func unknownOrSame(t *testing.T, what string, table *modules.Table, rows, left []modules.Row) {
	t.Helper()
	was := map[string]modules.Row{}
	for _, row := range rows {
		key, _ := table.Key(row)
		was[key] = row
	}
	for _, row := range left {
		key, _ := table.Key(row)
		for column, v := range row {
			if old, known := was[key][column]; !known || old != v {
				t.Errorf("%s: column %s is %q, and %q otherwise", what, column, v, old)
			}
		}
	}
}

// attempt has a reader read its sample while an operation fails.
func (r *reading) attempt(i int, failing string, f failure) (*world, []modules.Row, error) {
	w, out, err := r.world(i, r.sample[i])
	if err != nil {
		return nil, nil, err
	}
	w.failing, w.fault = failing, f
	rows, err := r.objects(readers[i], w, out)
	return w, rows, err
}

// folder returns where the recordings of an operation's service are.
func (c *cloud) folder(name string) string {
	for _, o := range c.byName {
		if o.String() == name {
			return o.service.folder
		}
	}
	return ""
}
