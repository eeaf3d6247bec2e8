// Package cfn makes tables from the schemas by which resource types of AWS
// CloudFormation describe themselves ("Resource type schema", CloudFormation CLI
// User Guide), and turns the properties of their objects into rows and back.
//
// It is pure: it reads no account and no database. A schema may come from any
// publisher, so nothing in it is trusted: [Parse] bounds what it takes, names become
// identifiers by a rule ([ColumnName], [TableName]), texts become SQL literals, and a
// constraint that PostgreSQL might read otherwise than AWS is left out ([Pattern]).
//
//	schema, err := cfn.Parse(text)
//	layout, err := cfn.Lay(schema, cfn.Layout{}, 1, around) // names, which stay what they are
//	t, err := cfn.New(schema, layout)                   // the table, and what its columns mean
package cfn
