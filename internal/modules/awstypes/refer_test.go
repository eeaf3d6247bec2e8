package awstypes

import (
	"maps"
	"slices"
	"testing"

	"iasql/internal/aws/cfn"
	"iasql/internal/modules"
	"iasql/internal/test/cloudcontrol"
)

// TestPublishedReferences: what AWS says of the objects that properties name becomes
// references where the other type is a table.
func TestPublishedReferences(t *testing.T) {
	t.Parallel()
	published := cloudcontrol.AWS(t, "../../..")
	made := map[string]modules.Resource{}
	installed := func(name string) modules.Resource { return made[name] }
	found := map[string]string{}
	for round := range 2 { // the second time all are there
		for _, name := range slices.Sorted(maps.Keys(published)) {
			s, err := cfn.Parse(published[name])
			if err != nil {
				continue
			}
			l, err := cfn.Lay(s, cfn.Layout{}, 1, cfn.Around{Taken: func(string) bool {
				return false
			}, Refer: refer(installed)})
			if err != nil {
				t.Fatal(err)
			}
			typ, err := cfn.New(s, l, nil)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			made[name] = &resource{t: typ}
			for _, c := range typ.Table.Columns {
				if ref := c.References; round == 1 && ref != nil && ref.NameColumn != "" {
					found[typ.Table.Name+"."+c.Name] = ref.Table + "." + ref.Key
				}
			}
		}
	}
	for _, column := range slices.Sorted(maps.Keys(found)) {
		t.Logf("%s: %s", column, found[column])
	}
	if got := found["direct_connect_connection.lag_id_record"]; got != "direct_connect_lag.lag_arn" {
		t.Errorf("the LAG of a connection is %q", got)
	}
}
