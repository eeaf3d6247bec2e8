package conformance

import "strings"

var awsAppSync = Module{
	Name: "aws_appsync",
	Tables: []Table{{
		Name: "graphql_api", Identity: "api_id", Find: `name LIKE 'api-$n%'`,
		Insert: `(name, authentication_type) VALUES ('api-$n', 'API_KEY')`,
		See:    `appsync get-graphql-api --api-id $id`,
		Create: run(`appsync create-graphql-api --name api-$n --authentication-type API_KEY --query graphqlApi.apiId`),
		Delete: run(`appsync delete-graphql-api --api-id $id`),
		Change: []Change{
			apiSetting("name", `'api-$n-sql'`, "name", "", `--name api-$n-cli`, `'api-$n-cli'`),
			apiSetting("authentication_type", `'AWS_IAM'`, "authenticationType", "", `--name api-$n-cli`, `'API_KEY'`),
			apiSetting("lambda_authorizer_config",
				`'{"AuthorizerUri": "arn:aws:lambda:us-east-1:$account:function:sql"}'`,
				"lambdaAuthorizerConfig.authorizerUri",
				`arn:aws:lambda:us-east-1:$account:function:sql`,
				`--name api-$n-cli --lambda-authorizer-config authorizerUri=arn:aws:lambda:us-east-1:$account:function:cli`,
				`'{"AuthorizerUri": "arn:aws:lambda:us-east-1:$account:function:cli", "AuthorizerResultTtlInSeconds": 0}'`),
			apiSetting("open_id_connect_config", `'{"Issuer": "https://sql.example.com"}'`,
				"openIDConnectConfig.issuer", `https://sql.example.com`,
				`--name api-$n-cli --open-id-connect-config issuer=https://cli.example.com`,
				`'{"Issuer": "https://cli.example.com", "AuthTTL": 0, "IatTTL": 0}'`),
			apiSetting("user_pool_config",
				`'{"UserPoolId": "us-east-1_sql", "AwsRegion": "us-east-1", "DefaultAction": "ALLOW"}'`,
				"userPoolConfig.userPoolId", `us-east-1_sql`,
				`--name api-$n-cli --user-pool-config userPoolId=us-east-1_cli,awsRegion=us-east-1,defaultAction=DENY`,
				`'{"UserPoolId": "us-east-1_cli", "AwsRegion": "us-east-1", "DefaultAction": "DENY"}'`),
			apiSetting("additional_authentication_providers", `'[{"AuthenticationType": "AWS_IAM"}]'`,
				"additionalAuthenticationProviders[].authenticationType", `["AWS_IAM"]`,
				`--name api-$n-cli --additional-authentication-providers authenticationType=AWS_LAMBDA`,
				`'[{"AuthenticationType": "AWS_LAMBDA"}]'`),
			apiSetting("log_config", `'{"FieldLogLevel": "ERROR", "CloudWatchLogsRoleArn": "arn:aws:iam::$account:role/sql"}'`, "logConfig.fieldLogLevel", `ERROR`,
				`--name api-$n-cli --log-config fieldLogLevel=ALL,cloudWatchLogsRoleArn=arn:aws:iam::$account:role/cli`,
				`'{"FieldLogLevel": "ALL", "ExcludeVerboseContent": false, "CloudWatchLogsRoleArn": "arn:aws:iam::$account:role/cli"}'`),
			apiSetting("xray_enabled", `true`, "xrayEnabled", "", `--name api-$n-cli --no-xray-enabled`, `false`),
			tags(`appsync list-tags-for-resource --resource-arn $arn --query tags`,
				`appsync tag-resource --resource-arn $arn --tags by=cli`),
		},
		Replace: Replace{Column: "visibility", SQL: `'PRIVATE'`},
		Skip: skipAll("moto: CreateGraphqlApi and UpdateGraphqlApi do not keep it; there is no PutGraphqlApiEnvironmentVariables",
			"environment_variables by SQL", "environment_variables by the CLI",
			"enhanced_metrics_config by SQL", "enhanced_metrics_config by the CLI", "introspection_config by SQL",
			"introspection_config by the CLI",
			"query_depth_limit by SQL", "query_depth_limit by the CLI", "resolver_count_limit by SQL",
			"resolver_count_limit by the CLI",
			"owner_contact by SQL", "owner_contact by the CLI", "merged_api_execution_role_name by SQL",
			"merged_api_execution_role_name by the CLI", "api_type replaced"),
	}},
}

func apiSetting(column, sql, member, want, options, then string) Change {
	if !strings.Contains(options, "--authentication-type") {
		options += ` --authentication-type API_KEY`
	}
	return Change{
		column, sql, `appsync get-graphql-api --api-id $id --query graphqlApi.` + member, want,
		run(`appsync update-graphql-api --api-id $id ` + options), then,
	}
}

// skipAll are checks that are skipped for the same reason.
func skipAll(why string, checks ...string) map[string]string {
	skip := map[string]string{}
	for _, check := range checks {
		skip[check] = why
	}
	return skip
}
