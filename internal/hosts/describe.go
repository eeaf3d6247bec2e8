package hosts

import (
	"embed"

	"iasql/internal/modules"
)

// Module completes a module of what is on hosts, as far as scopes name it. sql has functions.sql, which says what
// scopes name and makes the triggers, and drop.sql, which takes that away. The functions are made with version 1, and
// anew with those after it up to changed.
func Module(sql embed.FS, changed int, m modules.Module) *modules.Module {
	text := func(name string) string {
		all, err := sql.ReadFile("sql/" + name + ".sql")
		if err != nil {
			panic(err) // it is a part of the program
		}
		return string(all)
	}
	m.Dependencies, m.Migrations, m.Drop = []string{"host"}, map[int]string{}, text("drop")
	for version := range changed {
		m.Migrations[version+1] = text("functions")
	}
	return &m
}

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
