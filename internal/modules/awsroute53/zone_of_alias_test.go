package awsroute53

import (
	"testing"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// The zone of an alias means the same with the prefix that some calls of Route 53 give it.
func TestZoneOfAlias(t *testing.T) {
	t.Parallel()
	for _, r := range Module(aws.New(aws.Options{})).Resources {
		if c := r.Table().Column("alias_hosted_zone_id"); c != nil {
			if !c.Same(modules.Text("/hostedzone/Z1"), modules.Text("Z1")) ||
				c.Same(modules.Text("Z1"), modules.Text("Z2")) {
				t.Error("the ids of zones are not compared as such")
			}
			return
		}
	}
	t.Error("there is no such column")
}
