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

// NamedTable completes the description of a table of what is on hosts: of what users make, of which no two can have one
// name. t says all but that, and its columns are those besides account.
func NamedTable(t modules.Table) *modules.Table {
	t.Provider, t.Reach, t.Creation, t.DestroyBeforeCreate = Provider, modules.PerAccount, modules.ByName, true
	t.Columns = append([]modules.Column{AccountColumn()}, t.Columns...)
	return &t
}
