// Package awsappsync is the module aws_appsync: GraphQL APIs.
//
// It promises what the contract in package modules asks of its table. AWS
// assigns the id of an API, and allows any number of APIs of one name, so that
// a creation is found again by a tag.
package awsappsync

import (
	"github.com/aws/aws-sdk-go-v2/service/appsync"
	astypes "github.com/aws/aws-sdk-go-v2/service/appsync/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// pageSize is the most APIs ListGraphqlApis gives a page.
const pageSize = 25

// Module returns the module aws_appsync, whose calls go through c.
func Module(c *aws.Clients) *modules.Module {
	return &modules.Module{
		Name: "aws_appsync", Version: 3, Doc: "GraphQL APIs (AppSync).",
		Dependencies: []string{"aws_iam"}, Resources: []modules.Resource{newGraphqlAPI(c)},
	}
}

// newGraphqlAPI declares the table graphql_api. The limits are those of the page
// CreateGraphqlApi of the AWS AppSync API Reference. UpdateGraphqlApi sets all
// that its input has, and so every member of it has a column.
func newGraphqlAPI(c *aws.Clients) *declare.Resource {
	text := modules.Text
	return declare.New(c, declare.Table[astypes.GraphqlApi]{
		Name:     "graphql_api",
		Doc:      "GraphQL APIs. Deleting one deletes its schema, its resolvers and its keys.",
		Service:  declare.Service(appsync.NewFromConfig),
		Creation: modules.ByTag,
		Columns: []declare.Column{
			declare.ID("api_id", "ApiId", "The API's id; NULL until it is created."),
			declare.Text("name", "Name", "Its name, which other APIs can have, too.").Required().Check("name <> ''"),
			declare.Text("authentication_type", "AuthenticationType",
				"How callers are known: by a key, as users or roles of AWS, or as the configuration of that "+
					"type says.").
				Required().OneOf(declare.Values(astypes.AuthenticationType("").Values())...),
			declare.JSON("lambda_authorizer_config", "LambdaAuthorizerConfig",
				`For AWS_LAMBDA: {"AuthorizerUri": "arn:aws:lambda:…", "AuthorizerResultTtlInSeconds": 300}.`).
				Same(declare.Alike[astypes.LambdaAuthorizerConfig](nil)),
			declare.JSON("open_id_connect_config", "OpenIDConnectConfig",
				`For OPENID_CONNECT: {"Issuer": "https://example.com", "ClientId": "app"}.`).
				Same(declare.Alike[astypes.OpenIDConnectConfig](nil)),
			declare.JSON("user_pool_config", "UserPoolConfig",
				`For AMAZON_COGNITO_USER_POOLS: {"UserPoolId": "us-east-1_a1B2c3", "AwsRegion": "us-east-1", "DefaultAction": "ALLOW"}.`).
				Same(declare.Alike[astypes.UserPoolConfig](nil)),
			declare.JSON("additional_authentication_providers", "AdditionalAuthenticationProviders",
				`Further ways in which callers are known: [{"AuthenticationType": "AWS_IAM"}], each with its configuration.`).
				Check("jsonb_typeof(additional_authentication_providers) = 'array'").EmptyIsNull().Unordered().Same(
				declare.Alike[[]astypes.AdditionalAuthenticationProvider](nil)),
			declare.JSON("log_config", "LogConfig",
				`What is logged to CloudWatch: {"FieldLogLevel": "ERROR", "CloudWatchLogsRoleArn": "arn:aws:iam::…"}. NULL: nothing.`).
				Same(declare.Alike[astypes.LogConfig](nil)),
			declare.JSON("enhanced_metrics_config", "EnhancedMetricsConfig",
				"Which metrics are sent to CloudWatch besides the usual ones, in the words of the API. NULL: none.").
				Same(declare.Alike[astypes.EnhancedMetricsConfig](nil)),
			declare.Bool("xray_enabled", "XrayEnabled", "Whether X-Ray traces its requests.").Default("false"),
			declare.Text("introspection_config", "IntrospectionConfig",
				"Whether callers can ask for the schema: ENABLED (the default) or DISABLED.").
				Default("'ENABLED'").OneOf("ENABLED", "DISABLED").Usual(text("ENABLED")),
			declare.Integer("query_depth_limit", "QueryDepthLimit",
				"How many levels a query can have, up to 75. 0, the default, is no limit.").Default("0").Between(0, 75),
			declare.Integer("resolver_count_limit", "ResolverCountLimit",
				"How many resolvers a request can invoke, up to 10000. 0, the default, is 10000.").Default(
				"0").Between(0, 10000),
			declare.Text("owner_contact", "OwnerContact", "Whom to ask about it, up to 256 characters.").Length(1, 256),
			declare.Text("api_type", "ApiType",
				"GRAPHQL, the default, or MERGED: an API made of others.").Default("'GRAPHQL'").OneOf("GRAPHQL",
				"MERGED").CreateOnly().Usual(text("GRAPHQL")),
			declare.Role("merged_api_execution_role_name", "MergedApiExecutionRoleArn",
				"The role as which a merged API uses those that it is made of.").WithARN(2),
			declare.Text("visibility", "Visibility",
				"GLOBAL, the default, or PRIVATE: only from VPCs.").Default("'GLOBAL'").OneOf("GLOBAL",
				"PRIVATE").CreateOnly().Usual(text("GLOBAL")),
			declare.JSON("environment_variables", "EnvironmentVariables",
				`What its resolvers read as ctx.env: {"TABLE": "orders"}. Everybody who reads the row reads them. NULL: none.`).
				EmptyIsNull().Check("jsonb_typeof(environment_variables) = 'object'").Born(modules.Null).Since(3).
				From(declare.Call((*appsync.Client).GetGraphqlApiEnvironmentVariables, declare.IfAllowed(),
					declare.Rarely())),
			declare.JSON("uris", "Uris", `Where it is called: {"GRAPHQL": "https://…", "REALTIME": "wss://…"}.`).Computed(),
			declare.ARN("arn", "Arn"),
			declare.Tags("Tags", (*appsync.Client).TagResource, (*appsync.Client).UntagResource),
		},

		Published: declare.Published{Type: "AWS::AppSync::GraphQLApi", Since: 3,
			Columns: map[string]string{"MergedApiExecutionRoleArn": "merged_api_execution_role_name"}},
		List: declare.Pages(appsync.NewListGraphqlApisPaginator, "GraphqlApis",
			declare.With(&appsync.ListGraphqlApisInput{MaxResults: pageSize, Owner: astypes.OwnershipCurrentAccount})),
		Get:    declare.One(declare.Call((*appsync.Client).GetGraphqlApi), "GraphqlApi"),
		Create: declare.Call((*appsync.Client).CreateGraphqlApi, declare.Answer("GraphqlApi")),
		Updates: []declare.Update{declare.Replace(declare.Call((*appsync.Client).UpdateGraphqlApi)),
			declare.Modify(declare.Call((*appsync.Client).PutGraphqlApiEnvironmentVariables), "environment_variables")},
		Delete: declare.Call((*appsync.Client).DeleteGraphqlApi),
	})
}
