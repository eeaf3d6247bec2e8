package declare_test

import (
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"testing"

	"iasql/internal/aws/declare"
	"iasql/internal/modules/all"
)

func TestLife(t *testing.T) {
	shapes, clients := declare.NewShapes()
	columns := 0
	for _, m := range all.Modules(clients) {
		for _, r := range m.Resources {
			declared, ok := r.(*declare.Resource)
			if !ok {
				continue
			}
			t.Run(declared.Table().Name, func(t *testing.T) {
				defer func() {
					if p := recover(); p != nil {
						fmt.Printf("WRONG %s: PANIC %v %s\n", declared.Table().Name, p, debug.Stack())
					}
				}()
				changed, wrong := shapes.Live(t, declared)
				columns += len(changed)
				for _, c := range slices.Sorted(maps.Keys(wrong)) {
					for _, w := range wrong[c] {
						fmt.Printf("WRONG %s.%s: %.300s\n", declared.Table().Name, c, w)
					}
				}
			})
		}
	}
	fmt.Println("COLUMNS", columns)
}
