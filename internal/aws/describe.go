package aws

import "iasql/internal/modules"

// TokenTag is the key of the tag that carries a creation's token on objects
// whose table is created ByTag. Users never see it in a column tags.
const TokenTag = "iasql:token"

// RestartTag is the key of the tag on an instance that the engine has stopped to
// change what can be changed in a stopped one only, and will start again. Users
// never see it either.
const RestartTag = "iasql:restart"

// Regional returns the columns of a table that reaches per region: account,
// region, then cols.
func Regional(cols ...modules.Column) []modules.Column {
	return append([]modules.Column{AccountColumn(), RegionColumn()}, cols...)
}

// PerAccount returns the columns of a table that reaches per account: account,
// then cols.
func PerAccount(cols ...modules.Column) []modules.Column {
	return append([]modules.Column{AccountColumn()}, cols...)
}

// AccountColumn describes the column account of every AWS table.
func AccountColumn() modules.Column {
	return modules.Column{
		Name: modules.ColumnAccount, Type: modules.TypeText, Required: true, CreateOnly: true,
		Default:    "public.default_aws_account()",
		References: &modules.Reference{Table: "aws_account", Key: "name", ByKey: true},
		Doc:        "The account it is in, by its name in aws_account. The default account if left out.",
	}
}

// RegionColumn describes the column region of AWS tables that have one.
func RegionColumn() modules.Column {
	return modules.Column{
		Name: modules.ColumnRegion, Type: modules.TypeText, Required: true, CreateOnly: true,
		Default:    "public.default_aws_region()",
		References: &modules.Reference{Table: "aws_regions", Key: "region", ByKey: true},
		Doc:        "The region it is in, such as us-east-1. The default region if left out.",
	}
}

// TagsColumn describes the column tags. Keys that begin with "aws:" are AWS's
// own and can be neither set nor removed (AWS General Reference, "Tagging your
// AWS resources"); the engine's own keys are as little the user's.
func TagsColumn() modules.Column {
	return modules.Column{
		Name: modules.ColumnTags, Type: modules.TypeJSON, EmptyIsNull: true,
		// Strict: in lax mode the filter would look into arrays. Silent: what
		// strict mode finds fault with is no object, which the first test says.
		Check: `jsonb_typeof(tags) = 'object'` +
			` AND NOT jsonb_path_exists(tags, 'strict $.* ? (@.type() != "string")', '{}', true)` +
			` AND NOT jsonb_path_exists(tags, 'strict $.keyvalue() ? (@.key like_regex "^aws:" flag "i" || @.key == "` +
			TokenTag + `" || @.key == "` + RestartTag + `")', '{}', true)`,
		Doc: `Its tags, a JSON object of strings such as {"Name": "web", "env": "test"}. Keys must not begin with "aws:", which AWS keeps to itself.`,
	}
}
