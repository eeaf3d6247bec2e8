package conformance

var awsAPIGateway = Module{
	Name: "aws_api_gateway",
	Tables: []Table{{
		Name: "api", Identity: "api_id", Find: `name LIKE 'api-$n%'`,
		Insert: `(name) VALUES ('api-$n')`,
		See:    `apigatewayv2 get-api --api-id $id`,
		Create: run(`apigatewayv2 create-api --name api-$n --protocol-type HTTP --query ApiId`),
		Delete: run(`apigatewayv2 delete-api --api-id $id`),
		Change: []Change{
			gatewaySetting("name", `'api-$n-sql'`, "Name", `--name api-$n-cli`, `'api-$n-cli'`),
			gatewaySetting("description", `'by sql'`, "Description", `--description 'by cli'`, `'by cli'`),
			gatewaySetting("version", `'1'`, "Version", `--api-version 2`, `'2'`),
			gatewaySetting("disable_execute_api_endpoint", `false`, "DisableExecuteApiEndpoint",
				`--disable-execute-api-endpoint`, `true`),
			gatewaySetting("disable_schema_validation", `true`, "DisableSchemaValidation",
				`--disable-schema-validation`, `true`),
			gatewaySetting("route_selection_expression", `'by.sql'`, "RouteSelectionExpression",
				`--route-selection-expression by.cli`, `'by.cli'`),
			gatewaySetting("api_key_selection_expression", `'by.sql'`, "ApiKeySelectionExpression",
				`--api-key-selection-expression by.cli`, `'by.cli'`),
			{
				"cors_configuration", `'{"AllowOrigins": ["https://sql.example.com"]}'`,
				`apigatewayv2 get-api --api-id $id --query CorsConfiguration.AllowOrigins[0]`,
				"https://sql.example.com",
				run(`apigatewayv2 update-api --api-id $id --cors-configuration AllowOrigins=https://cli.example.com`),
				`'{"AllowOrigins": ["https://cli.example.com"]}'`,
			},
			tags(`apigatewayv2 get-api --api-id $id --query Tags`,
				`apigatewayv2 tag-resource --resource-arn $arn --tags by=cli`),
		},
		Replace: Replace{Column: "protocol_type", SQL: `'WEBSOCKET'`,
			With: `route_selection_expression = 'request.body.action'`},
		Skip: unkept("moto: CreateApi and UpdateApi do not keep IpAddressType", "ip_address_type"),
	}},
}

func gatewaySetting(column, sql, member, option, then string) Change {
	return Change{column, sql, `apigatewayv2 get-api --api-id $id --query ` + member, "",
		run(`apigatewayv2 update-api --api-id $id ` + option), then}
}
