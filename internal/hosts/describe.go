package hosts

import "iasql/internal/modules"

// AccountColumn describes the column account of hosts' tables.
func AccountColumn() modules.Column {
	return modules.Column{
		Name: modules.ColumnAccount, Type: modules.TypeText, Required: true, CreateOnly: true,
		References: &modules.Reference{Table: "host", Key: "name", ByKey: true},
		Doc:        "The host that it is on, by its name in host.",
	}
}
