package awstypes

import (
	"slices"
	"strings"

	"iasql/internal/aws/cfn"
	"iasql/internal/modules"
)

// refer returns a function that finds the installed table, of a module or of a type, that
// has records of the objects of a type.
func refer(installed func(name string) modules.Resource) func(typeName, property string,
	regional bool) (cfn.Target, bool) {
	return func(typeName, property string, regional bool) (cfn.Target, bool) {
		name := typeName
		if Native(typeName) != "" {
			name = Native(typeName)
		}
		of := installed(name)
		if of == nil {
			return cfn.Target{}, false
		}
		t := of.Table()
		if t.Reach == modules.PerRegion && !regional { // of which region is not said
			return cfn.Target{}, false
		}
		for _, key := range keys(of, typeName, property) {
			if c := t.Column(key); c != nil && c.Type == modules.TypeText && modules.NamesObjects(t, key) == nil {
				return cfn.Target{Table: t.Name, Key: key}, true
			}
		}
		return cfn.Target{}, false
	}
}

// keys returns what the column is called that holds a property. Tables of modules call it
// as the schema does, with or without the resource in front: the CertificateArn of
// AWS::CertificateManager::Certificate is arn.
func keys(of modules.Resource, typeName, property string) []string {
	if r, made := of.(*resource); made {
		return []string{r.t.Named(property)}
	}
	name := cfn.ColumnName(typeName, property)
	resource := cfn.ColumnName(typeName, typeName[strings.LastIndex(typeName, ":")+1:]) + "_"
	return slices.Compact([]string{name, strings.TrimPrefix(name, resource)})
}
