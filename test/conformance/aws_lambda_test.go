package conformance

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
)

var awsLambda = Module{
	Name: "aws_lambda",
	Setup: []string{
		`INSERT INTO iam_role (role_name, assume_role_policy_document) SELECT name, '` + trust("lambda") + `' FROM unnest('{first,second,third}'::text[]) name`,
	},
	Vars: map[string]string{
		"subnet": `ec2 describe-subnets --query Subnets[0].SubnetId`, "other_subnet": `ec2 describe-subnets --query Subnets[1].SubnetId`,
		"group": `ec2 describe-security-groups --query SecurityGroups[0].GroupId`,
	},
	Tables: []Table{{
		Name: "lambda_function", Identity: "name", ID: "function-$n",
		Insert: `(name, role_name, runtime, handler, zip_b64) VALUES ('$id', 'first', 'python3.12', 'index.handler', '` + zipped("1") + `')`,
		See:    `lambda get-function --function-name $id`,
		Create: run(`lambda create-function --function-name $id --role arn:aws:iam::$account:role/first --runtime python3.12 --handler index.handler --zip-file fileb://testdata/index.zip`),
		Delete: run(`lambda delete-function --function-name $id`),
		Change: []Change{
			{
				"role_name", `'second'`, `lambda get-function-configuration --function-name $id --query Role`, "arn:aws:iam::$account:role/second",
				run(`lambda update-function-configuration --function-name $id --role arn:aws:iam::$account:role/third`), `'third'`,
			},
			{Column: "zip_b64", SQL: `'` + zipped("2") + `'`, See: `lambda get-function-configuration --function-name $id --query CodeSha256`, Want: hash(zipped("2"))},
			functionSetting("description", `'by sql'`, "Description", `--description 'by cli'`, `'by cli'`),
			functionSetting("handler", `'index.sql'`, "Handler", `--handler index.cli`, `'index.cli'`),
			functionSetting("runtime", `'python3.13'`, "Runtime", `--runtime python3.11`, `'python3.11'`),
			functionSetting("memory_size", `256`, "MemorySize", `--memory-size 512`, `512`),
			functionSetting("timeout", `10`, "Timeout", `--timeout 11`, `11`),
			functionSetting("ephemeral_storage_size", `600`, "EphemeralStorage.Size", `--ephemeral-storage Size=700`, `700`),
			functionSetting("environment", `'{"BY": "sql"}'`, "Environment.Variables", `--environment Variables={BY=cli}`, `'{"BY": "cli"}'`),
			functionSetting("subnets", `'{$subnet}'`, "VpcConfig.SubnetIds|[0]", `--vpc-config SubnetIds=$other_subnet,SecurityGroupIds=$group`, `'{$other_subnet}'`),
			functionSetting("security_group_ids", `'{$group}'`, "VpcConfig.SecurityGroupIds|[0]", `--vpc-config SubnetIds=$other_subnet,SecurityGroupIds=$group`, `'{$group}'`),
			{
				"reserved_concurrent_executions", `5`, `lambda get-function-concurrency --function-name $id --query ReservedConcurrentExecutions`, "",
				run(`lambda put-function-concurrency --function-name $id --reserved-concurrent-executions 6`), `6`,
			},
			tags(`lambda list-tags --resource $arn --query Tags`, `lambda tag-resource --resource $arn --tags by=cli`),
		},
		Replace: Replace{Column: "name", SQL: `'function-other'`, With: `zip_b64 = '` + zipped("3") + `'`, ID: "function-other"},
		Skip: map[string]string{
			"ephemeral_storage_size by SQL":     "moto: UpdateFunctionConfiguration does not keep EphemeralStorage",
			"ephemeral_storage_size by the CLI": "moto: UpdateFunctionConfiguration does not keep EphemeralStorage",
		},
	}},
}

func functionSetting(column, sql, member, option, then string) Change {
	c := Change{
		column, sql, `lambda get-function-configuration --function-name $id --query ` + member, "",
		run(`lambda update-function-configuration --function-name $id ` + option), then,
	}
	if sql[:2] == "'{" && sql[2] == '$' { // a list of one
		c.Want = sql[2 : len(sql)-2]
	}
	return c
}

// zipped is a function's code.
func zipped(result string) string {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, err := w.Create("index.py")
	if err == nil {
		_, err = f.Write([]byte("def handler(event, context):\n    return " + result + "\n"))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil { // a buffer takes everything
		panic(err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// hash is the code's hash as Lambda tells it.
func hash(zipped string) string {
	code, err := base64.StdEncoding.DecodeString(zipped)
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(code)
	return base64.StdEncoding.EncodeToString(sum[:])
}
