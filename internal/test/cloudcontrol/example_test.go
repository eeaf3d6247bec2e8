package cloudcontrol

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestExamples(t *testing.T) {
	schemas := AWS(t, "../../..")
	for _, full := range []bool{false, true} {
		passed, failed := 0, map[string][]string{}
		for _, name := range slices.Sorted(maps.Keys(schemas)) {
			typ, err := NewType(schemas[name])
			if err == nil {
				_, err = typ.Example(1, full)
			}
			if err == nil {
				passed++
				continue
			}
			reason, _, _ := strings.Cut(err.Error(), "\n")
			failed[reason] = append(failed[reason], name)
		}
		t.Logf("full=%t: %d of %d", full, passed, len(schemas))
		for reason, names := range failed {
			t.Log(fmt.Sprint(names), reason)
		}
	}
}
