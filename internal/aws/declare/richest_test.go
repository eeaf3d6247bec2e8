package declare_test

import (
	"testing"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules/all"
)

// TestRichest takes the richest object of each declared table through its life. The API's own shapes stand for AWS: no
// emulator has all of what AWS lets one set. What a call does with it is for the tests of the modules.
func TestRichest(t *testing.T) {
	t.Parallel()
	tables, columns := 0, 0
	for _, m := range all.Modules(aws.New(aws.Options{})) {
		for _, r := range m.Resources {
			declared, ok := r.(*declare.Resource)
			if !ok || len(declared.Made()) == 0 {
				continue
			}
			tables++
			t.Run(declared.Table().Name, func(t *testing.T) { columns += declared.Rehearse(t) })
		}
	}
	t.Logf("%d tables, %d columns changed alone", tables, columns)
}
