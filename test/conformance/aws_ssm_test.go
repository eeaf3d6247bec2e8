package conformance

var awsSSM = Module{
	Name: "aws_ssm",
	Tables: []Table{
		parameter("", "String", `(name, value) VALUES ('$id', 'first')`,
			parameterSetting("description", `'by sql'`, "Description", `--description 'by cli'`, `'by cli'`),
			parameterSetting("allowed_pattern", `'^[a-z]+$'`, "AllowedPattern", `--allowed-pattern ^[a-z0-9]+$`,
				`'^[a-z0-9]+$'`),
			parameterSetting("data_type", `'aws:ec2:image'`, "DataType", `--data-type text`, `'text'`),
			parameterSetting("tier", `'Advanced'`, "Tier", `--tier Standard`, `'Standard'`),
			Change{"value", `'second'`, `ssm get-parameter --name $id --query Parameter.Value`, "",
				run(`ssm put-parameter --name $id --overwrite --value third`), `'third'`},
			tags(`ssm list-tags-for-resource --resource-type Parameter --resource-id $id --query TagList`,
				`ssm add-tags-to-resource --resource-type Parameter --resource-id $id --tags Key=by,Value=cli`)),
		parameter("with a secret", "SecureString", `(name, type, secure_value) VALUES ('$id', 'SecureString', 'first')`,
			Change{Column: "secure_value", SQL: `'second'`,
				See: `ssm get-parameter --name $id --with-decryption --query Parameter.Value`},
			parameterSetting("key_id", `'alias/sql'`, "KeyId", `--value third --key-id alias/cli`, `'alias/cli'`)),
	},
}

// parameter describes parameters of a type.
func parameter(kind, is, insert string, changes ...Change) Table {
	t := Table{
		Name: "ssm_parameter", Kind: kind, Identity: "name", ID: "/" + is + "/$n",
		Insert:  insert,
		See:     `ssm describe-parameters --parameter-filters Key=Name,Values=$id --query Parameters`,
		Create:  run(`ssm put-parameter --name $id --type ` + is + ` --value first`),
		Delete:  run(`ssm delete-parameter --name $id`),
		Change:  changes,
		Replace: Replace{Column: "name", SQL: `'/` + is + `/other'`, ID: "/" + is + "/other"},
	}
	t.Skip = map[string]string{
		"policies by SQL":     "moto: it answers with policies that are no texts",
		"policies by the CLI": "moto: it answers with policies that are no texts",
	}
	if kind == "" {
		t.Apart = []Apart{{
			Set: []Change{{Column: "type", SQL: `'StringList'`,
				See: `ssm get-parameter --name $id --query Parameter.Type`}},
		}}
	} else {
		t.Replace.With = `secure_value = 'other'` // which nobody reads
	}
	return t
}

func parameterSetting(column, sql, member, cli, then string) Change {
	return Change{
		column, sql, `ssm describe-parameters --parameter-filters Key=Name,Values=$id --query Parameters[0].` +
			member, "",
		run(`ssm put-parameter --name $id --overwrite --value cli ` + cli), then,
	}
}
