package aws

import (
	"strings"

	"iasql/internal/modules"
)

// ColumnARN is the column that has an object's ARN, in most tables that have one.
const ColumnARN = "arn"

// ARNColumn returns the column of a table that has an object's ARN; "" if there is none, or
// more than one.
func ARNColumn(t *modules.Table) string {
	found := ""
	for i := range t.Columns {
		c := &t.Columns[i]
		switch {
		case !c.Computed || c.References != nil:
		case c.Name == ColumnARN:
			return c.Name
		case strings.HasSuffix(c.Name, "_"+ColumnARN):
			if found != "" {
				return ""
			}
			found = c.Name
		}
	}
	return found
}
