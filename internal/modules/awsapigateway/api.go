// Package awsapigateway is the module aws_api_gateway: HTTP and WebSocket APIs of
// Amazon API Gateway, version 2 of its API.
//
// It promises what the contract in package modules asks of its table. AWS
// assigns the id of an API, and allows any number of APIs of one name, so that
// a creation is found again by a tag.
package awsapigateway

import (
	"context"
	"fmt"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2"
	agtypes "github.com/aws/aws-sdk-go-v2/service/apigatewayv2/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// Module returns the module aws_api_gateway, whose calls go through c.
func Module(c *aws.Clients) *modules.Module {
	return &modules.Module{
		Name: "aws_api_gateway", Version: 2, Doc: "HTTP and WebSocket APIs (API Gateway).",
		Dependencies: []string{"aws_account"}, Resources: []modules.Resource{newAPI(c)},
	}
}

// newAPI declares the table api. The limits are those of the page Apis of the API
// Gateway Version 2 API Reference, and of the model of AWS::ApiGatewayV2::Api.
func newAPI(c *aws.Clients) *declare.Resource {
	empty := modules.Text("")
	return declare.New(c, declare.Table[agtypes.Api]{
		Name:     "api",
		Doc:      "HTTP and WebSocket APIs. Deleting one deletes its routes, integrations and stages.",
		Service:  declare.Service(apigatewayv2.NewFromConfig),
		Creation: modules.ByTag,
		Columns: []declare.Column{
			declare.ID("api_id", "ApiId", "The API's id; NULL until it is created."),
			declare.Text("name", "Name",
				"Its name, up to 128 characters, which other APIs can have, too.").Required().Length(1, 128),
			declare.Text("description", "Description", "What it is for, up to 1024 characters.").Length(1,
				1024).Unset(empty),
			declare.Text("protocol_type", "ProtocolType",
				"HTTP (the default) or WEBSOCKET.").Default("'HTTP'").OneOf("HTTP", "WEBSOCKET").CreateOnly(),
			declare.Bool("disable_execute_api_endpoint", "DisableExecuteApiEndpoint",
				"Whether it is not reached under api_endpoint, but only under domain names of one's own.").Default(
				"false"),
			declare.Text("version", "Version", "A name of its version, up to 64 characters.").Length(1,
				64).Unset(empty),
			declare.Text("route_selection_expression", "RouteSelectionExpression",
				"What routes are found by. Needed for WEBSOCKET, such as $request.body.action; for HTTP it is "+
					"${request.method} ${request.path}.").OptionalComputed(),
			declare.Text("api_key_selection_expression", "ApiKeySelectionExpression",
				"Where API keys are found; for WEBSOCKET only.").OptionalComputed(),
			declare.Bool("disable_schema_validation", "DisableSchemaValidation",
				"Whether models are not checked at a deployment; for WEBSOCKET only.").Default("false").Usual(
				modules.Bool(false)),
			declare.JSON("cors_configuration", "CorsConfiguration",
				`From which other sites browsers may call it, for HTTP only: {"AllowOrigins": ["https://example.com"], "AllowMethods": ["GET"], "MaxAge": 300}.`).
				Same(declare.Alike[agtypes.Cors](nil)),
			declare.Text("ip_address_type", "IpAddressType", "ipv4 or dualstack.").OptionalComputed().OneOf("dualstack",
				"ipv4"),
			declare.Text("api_endpoint", "ApiEndpoint", "Where it is reached.").Computed(),
			declare.Bool("managed", "ApiGatewayManaged",
				"Whether API Gateway manages the API, which then cannot be changed.").Computed().Absent(
				modules.Bool(false)),
			declare.ARN("arn", ""),
			declare.Tags("Tags", (*apigatewayv2.Client).TagResource, (*apigatewayv2.Client).UntagResource),
		},
		Published: declare.Published{Type: "AWS::ApiGatewayV2::Api", Since: 2,
			Along: []string{"CredentialsArn", "RouteKey", "Target"},
			Docs: map[string]string{
				"CredentialsArn": "The ARN of the role by which the integration that target makes calls an AWS " +
					"service.",
				"RouteKey": "The route that target makes, such as GET /pets; $default if left out.",
				"Target": "For HTTP: the URL, or the ARN of a Lambda function, that a first route, an " +
					"integration and a stage are made for (quick create).",
			},
			Without: map[string]string{"BasePath": imported, "Body": imported, "BodyS3Location": imported,
				"FailOnWarnings": imported},
		},
		Checks: []string{"protocol_type = 'HTTP' OR route_selection_expression IS NOT NULL"},

		EventMappings: modules.EventMappings("apigateway.amazonaws.com",
			modules.Response("apiId", "ImportApi"),
			modules.Request("apiId", "ReimportApi"),
		),
		List: declare.Follow(declare.Call((*apigatewayv2.Client).GetApis,
			declare.With(&apigatewayv2.GetApisInput{MaxResults: awssdk.String("500")})), "Items"),
		Get: declare.One(declare.Call((*apigatewayv2.Client).GetApi,
			declare.Convert(func(out apigatewayv2.GetApiOutput) agtypes.Api {
				return agtypes.Api{
					Name: out.Name, ProtocolType: out.ProtocolType,
					RouteSelectionExpression: out.RouteSelectionExpression,
					ApiEndpoint:              out.ApiEndpoint,
					ApiGatewayManaged:        out.ApiGatewayManaged, ApiId: out.ApiId,
					ApiKeySelectionExpression: out.ApiKeySelectionExpression,
					CorsConfiguration:         out.CorsConfiguration, Description: out.Description,
					DisableExecuteApiEndpoint: out.DisableExecuteApiEndpoint,
					DisableSchemaValidation:   out.DisableSchemaValidation, IpAddressType: out.IpAddressType,
					Tags:    out.Tags,
					Version: out.Version,
				}
			})), ""),
		Row: func(_ context.Context, s *declare.Step, api *agtypes.Api, row modules.Row) error {
			row["arn"] = modules.Text(arn(s.Scope.Region, awssdk.ToString(api.ApiId)))
			return nil
		},
		Create: declare.Call((*apigatewayv2.Client).CreateApi),
		Updates: []declare.Update{
			declare.Put("cors_configuration", declare.Call((*apigatewayv2.Client).UpdateApi),
				declare.Call((*apigatewayv2.Client).DeleteCorsConfiguration)),
			declare.Modify(declare.Call((*apigatewayv2.Client).UpdateApi)),
		},
		Delete:    declare.Call((*apigatewayv2.Client).DeleteApi),
		Protected: declare.IfTrue("managed", "API Gateway manages it"),
	})
}

// arn returns the ARN of an API, which the calls about its tags take and no
// answer has (API Gateway Developer Guide, "Amazon Resource Name (ARN) reference").
func arn(region, id string) string {
	partition := "aws"
	switch {
	case strings.HasPrefix(region, "cn-"):
		partition = "aws-cn"
	case strings.HasPrefix(region, "us-gov-"):
		partition = "aws-us-gov"
	}
	return fmt.Sprintf("arn:%s:apigateway:%s::/apis/%s", partition, region, id)
}

// imported says why no column imports an API.
const imported = declare.Deed + ": an import makes routes and integrations, which are other objects"
