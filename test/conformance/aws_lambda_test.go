package conformance

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"os"
)

var awsLambda = Module{
	Name: "aws_lambda",
	CLI: []string{`s3api create-bucket --bucket builds`,
		`s3api put-object --bucket builds --key first.zip --body testdata/other.zip`,
		`s3api put-object --bucket builds --key second.zip --body testdata/index.zip`},
	Setup: []string{
		`INSERT INTO iam_role (role_name, assume_role_policy_document, attached_policies_arns) SELECT name, '` +
			trust("lambda") + `', '{arn:aws:iam::aws:policy/service-role/AWSLambdaVPCAccessExecutionRole}' FROM unnest('{first,second,third}'::text[]) name`,
		`INSERT INTO security_group (group_name, description, vpc_id) SELECT name, 'of a test', id FROM vpc, unnest('{base,sql,cli,adopted,tracked,other,apart}'::text[]) name WHERE is_default`,
		`INSERT INTO lambda_function (name, role_name, runtime, handler, zip_b64, subnets) SELECT name, 'first', 'python3.12', 'index.handler', '` + zipped("0") + `', ARRAY[subnet_id]
			FROM subnet, unnest('{home,other-home}'::text[]) name WHERE default_for_az AND availability_zone = 'us-east-1a'`,
		`INSERT INTO lambda_function_security_groups (lambda_function_id, security_group_id) SELECT f.id, g.id FROM lambda_function f, security_group g WHERE f.name LIKE '%home' AND g.group_name = 'base'`,
	},
	Vars: map[string]string{
		"subnet":       `SELECT subnet_id FROM subnet WHERE default_for_az AND availability_zone = 'us-east-1a'`,
		"other_subnet": `SELECT subnet_id FROM subnet WHERE default_for_az AND availability_zone = 'us-east-1b'`,
		"group":        `SELECT group_id FROM security_group WHERE group_name = 'base'`,
	},
	Tables: []Table{
		{
			Name: "lambda_function", Identity: "name", ID: "function-$n",
			Insert: `(name, role_name, runtime, handler, zip_b64) VALUES ('$id', 'first', 'python3.12', 'index.handler', '` + zipped("1") + `')`,
			See:    `lambda get-function --function-name $id`,
			Create: run(`lambda create-function --function-name $id --role arn:aws:iam::$account:role/first --runtime python3.12 --handler index.handler --zip-file fileb://testdata/index.zip`),
			Delete: run(`lambda delete-function --function-name $id`),
			Change: []Change{
				{
					"role_name", `'second'`, `lambda get-function-configuration --function-name $id --query Role`,
					"arn:aws:iam::$account:role/second",
					run(`lambda update-function-configuration --function-name $id --role arn:aws:iam::$account:role/third`), `'third'`,
				},
				{Column: "zip_b64", SQL: `'` + zipped("2") + `'`,
					See:  `lambda get-function-configuration --function-name $id --query CodeSha256`,
					Want: hash(zipped("2"))},
				functionSetting("description", `'by sql'`, "Description", `--description 'by cli'`, `'by cli'`),
				functionSetting("handler", `'index.sql'`, "Handler", `--handler index.cli`, `'index.cli'`),
				functionSetting("runtime", `'python3.13'`, "Runtime", `--runtime python3.11`, `'python3.11'`),
				functionSetting("memory_size", `256`, "MemorySize", `--memory-size 512`, `512`),
				functionSetting("timeout", `10`, "Timeout", `--timeout 11`, `11`),
				functionSetting("ephemeral_storage_size", `600`, "EphemeralStorage.Size",
					`--ephemeral-storage Size=700`, `700`),
				functionSetting("environment", `'{"BY": "sql"}'`, "Environment.Variables",
					`--environment Variables={BY=cli}`, `'{"BY": "cli"}'`),
				functionSetting("subnets", `'{$subnet}'`, "VpcConfig.SubnetIds|[0]",
					`--vpc-config SubnetIds=$other_subnet,SecurityGroupIds=$group`, `'{$other_subnet}'`),
				{
					"reserved_concurrent_executions", `5`,
					`lambda get-function-concurrency --function-name $id --query ReservedConcurrentExecutions`, "",
					run(`lambda put-function-concurrency --function-name $id --reserved-concurrent-executions 6`), `6`,
				},
				tags(`lambda list-tags --resource $arn --query Tags`,
					`lambda tag-resource --resource $arn --tags by=cli`),
			},
			Replace: Replace{
				Column: "name", SQL: `'function-other'`, With: `zip_b64 = '` + zipped("3") + `'`, ID: "function-other",
				Child:      `INSERT INTO lambda_function_security_groups (lambda_function_id, security_group_id) SELECT $row, id FROM security_group WHERE group_name = 'other'`,
				Dependents: `SELECT string_agg(group_name, ' ' ORDER BY group_name) FROM lambda_function_security_groups m JOIN security_group g ON g.id = m.security_group_id WHERE lambda_function_id = $row`,
			},
			Skip: both(unkept("moto: UpdateFunctionCode does not keep Architectures", "architecture"),
				unkept("moto: UpdateFunctionConfiguration does not keep EphemeralStorage", "ephemeral_storage_size"),
				unkept("moto: no PutFunctionCodeSigningConfig, PutFunctionScalingConfig, PutFunctionRecursionConfig and "+
					"PutRuntimeManagementConfig", "code_signing_config_arn", "function_scaling_config", "recursive_loop",
					"runtime_management_config")),
		},
		{
			Name: "lambda_function", Kind: "of code in S3", Identity: "name", ID: "stored-$n",
			Insert: `(name, role_name, runtime, handler, code_uri) VALUES ('$id', 'first', 'python3.12', 'index.handler', 's3://builds/first.zip')`,
			See:    `lambda get-function --function-name $id`,
			Create: run(`lambda create-function --function-name $id --role arn:aws:iam::$account:role/first --runtime python3.12 --handler index.handler --code S3Bucket=builds,S3Key=first.zip`),
			Delete: run(`lambda delete-function --function-name $id`),
			Change: []Change{{
				Column: "code_uri", SQL: `'s3://builds/second.zip'`,
				See:  `lambda get-function-configuration --function-name $id --query CodeSha256`,
				Want: hash(inFile("testdata/index.zip")),
			}},
			Replace: Replace{Column: "name", SQL: `'stored-other'`, With: `code_uri = 's3://builds/first.zip'`, ID: "stored-other"},
		},
		{
			Name: "lambda_function", Kind: "of an image", Identity: "name", ID: "image-$n",
			Insert: `(name, role_name, image_uri) VALUES ('$id', 'first', '$account.dkr.ecr.us-east-1.amazonaws.com/app:1')`,
			See:    `lambda get-function --function-name $id`,
			Create: run(`lambda create-function --function-name $id --role arn:aws:iam::$account:role/first --package-type Image --code ImageUri=$account.dkr.ecr.us-east-1.amazonaws.com/app:1`),
			Delete: run(`lambda delete-function --function-name $id`),
			Change: []Change{{
				"image_uri", `'$account.dkr.ecr.us-east-1.amazonaws.com/app:2'`, `lambda get-function --function-name $id --query Code.ImageUri`,
				`$account.dkr.ecr.us-east-1.amazonaws.com/app:2`,
				run(`lambda update-function-code --function-name $id --image-uri $account.dkr.ecr.us-east-1.amazonaws.com/app:3`),
				`'$account.dkr.ecr.us-east-1.amazonaws.com/app:3'`,
			}},
			Replace: Replace{Column: "name", SQL: `'image-other'`, ID: "image-other"},
		},
		{
			Name: "lambda_function_security_groups", ID: `SELECT group_id FROM security_group WHERE group_name = '$n'`,
			Find:   `security_group_id = (SELECT id FROM security_group WHERE group_id = '$id')`,
			Insert: `(lambda_function_id, security_group_id) SELECT f.id, g.id FROM lambda_function f, security_group g WHERE f.name = 'home' AND g.group_id = '$id'`,
			See:    `lambda get-function-configuration --function-name home --query VpcConfig.SecurityGroupIds[?@==\'$id\']`,
			Create: []string{
				`groups := lambda get-function-configuration --function-name home --query join(\',\',VpcConfig.SecurityGroupIds)`,
				`lambda update-function-configuration --function-name home --vpc-config SubnetIds=$subnet,SecurityGroupIds=$id,$groups`,
			},
			Delete: []string{
				`groups := lambda get-function-configuration --function-name home --query join(\',\',VpcConfig.SecurityGroupIds[?@!=\'$id\'])`,
				`lambda update-function-configuration --function-name home --vpc-config SubnetIds=$subnet,SecurityGroupIds=$groups`,
			},
			Replace: Replace{
				Column: "security_group_id", SQL: `(SELECT id FROM security_group WHERE group_name = 'other')`,
				ID: `SELECT group_id FROM security_group WHERE group_name = 'other'`,
			},
			Apart: []Apart{{
				Left: true,
				Set: []Change{{
					Column: "lambda_function_id", SQL: `(SELECT id FROM lambda_function WHERE name = 'other-home')`,
					See: `lambda get-function-configuration --function-name other-home --query VpcConfig.SecurityGroupIds[?@==\'$id\']|[0]`, Want: `$id`,
				}},
			}},
		},
	},
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

// inFile is a function's code that is in a file.
func inFile(name string) string {
	content, err := os.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return base64.StdEncoding.EncodeToString(content)
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
