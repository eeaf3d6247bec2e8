package awslambda

import (
	"context"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// settled is the version of the module that added the columns of what Lambda tells by a call of its own.
const settled = 6

// settings are the columns of what Lambda tells of a function by a call of its own for each: it takes 15 of those a
// second (Lambda Developer Guide, "Quotas"), and what they tell seldom changes.
func settings() []declare.Column {
	rarely := func(more ...declare.Option) []declare.Option {
		return append(more, declare.IfAllowed(), declare.Rarely())
	}
	return []declare.Column{
		declare.Text("code_signing_config_arn", "CodeSigningConfigArn",
			"The ARN of the code signing configuration, which says whose signatures its code needs. NULL: it "+
				"needs none.").
			Matches(`^arn:(aws[a-zA-Z-]*)?:lambda:(eusc-)?[a-z]{2}((-gov)|(-iso([a-z]?)))?-[a-z]+-\d{1}:\d{12}:code-signing-config:csc-[a-z0-9]{17}$`).
			Born(modules.Null).Since(settled).
			From(declare.Call((*lambda.Client).GetFunctionCodeSigningConfig, rarely(declare.Only(fromZip))...)),
		declare.JSON("function_scaling_config", "RequestedFunctionScalingConfig",
			`How many execution environments the version $LATEST.PUBLISHED has, of functions on Lambda Managed Instances: {"MinExecutionEnvironments": 3, "MaxExecutionEnvironments": 20}. AWS says how many if left out.`).
			In("FunctionScalingConfig").OptionalComputed().EmptyIsNull().Since(settled).
			Same(declare.Filling(declare.Alike[lambdatypes.FunctionScalingConfig](nil), "MinExecutionEnvironments",
				"MaxExecutionEnvironments")).
			From(declare.Call((*lambda.Client).GetFunctionScalingConfig, rarely(declare.Only(provided),
				declare.With(&lambda.GetFunctionScalingConfigInput{Qualifier: published()}),
				declare.None("ResourceNotFoundException"))...)), // it has not been published
		declare.Text("recursive_loop", "RecursiveLoop",
			"What Lambda does when the function is called in a loop by what it writes: Terminate, as of new "+
				"functions, stops it; Allow does nothing.").
			OneOf(declare.Values(lambdatypes.RecursiveLoop("").Values())...).OptionalComputed().
			Born(modules.Text(string(lambdatypes.RecursiveLoopTerminate))).Since(settled).
			From(declare.Call((*lambda.Client).GetFunctionRecursionConfig, rarely()...)),
		declare.JSON("runtime_management_config", "RuntimeManagementConfig",
			`When it gets a new version of its runtime: {"UpdateRuntimeOn": "Auto"}, as of new functions, {"UpdateRuntimeOn": "FunctionUpdate"}, when it is changed, or {"UpdateRuntimeOn": "Manual", "RuntimeVersionArn": "arn:…"}. NULL makes it Auto.`).
			OptionalComputed().EmptyIsNull().Born(automatic()).Same(declare.Alike[management](nil)).Since(settled).
			From(declare.Call(runtimeManagement, rarely(declare.Only(fromZip))...)),
	}
}

// set are the updates of those columns.
func set() []declare.Update {
	return []declare.Update{
		declare.Put("code_signing_config_arn", declare.Call((*lambda.Client).PutFunctionCodeSigningConfig),
			declare.Call((*lambda.Client).DeleteFunctionCodeSigningConfig)),
		declare.Modify(declare.Call((*lambda.Client).PutFunctionScalingConfig,
			declare.With(&lambda.PutFunctionScalingConfigInput{Qualifier: published()})), "function_scaling_config"),
		declare.Modify(declare.Call((*lambda.Client).PutFunctionRecursionConfig), "recursive_loop"),
		declare.By(setRuntimeManagement, "runtime_management_config"),
	}
}

// fromZip reports whether a function is made of a zip file: one that is made of an image has neither signed code nor a
// runtime of Lambda's (Lambda Developer Guide, "Using code signing to verify code integrity with Lambda" and
// "Understanding how Lambda manages runtime version updates").
func fromZip(row modules.Row) bool {
	return row["package_type"].String() != string(lambdatypes.PackageTypeImage)
}

// provided reports whether a function runs on Lambda Managed Instances.
func provided(row modules.Row) bool { return !row["capacity_provider_config"].IsNull() }

// published is the version that a function's own scaling is of: the property FunctionScalingConfig sets no other.
func published() *string {
	return awssdk.String("$LATEST.PUBLISHED")
}

// inapplicable makes NULL what a function cannot have, and is not asked for.
func inapplicable(row modules.Row) {
	if !fromZip(row) {
		row["code_signing_config_arn"], row["runtime_management_config"] = modules.Null, modules.Null
	}
	if !provided(row) {
		row["function_scaling_config"] = modules.Null
	}
}

// management is what the column runtime_management_config holds.
type management struct {
	UpdateRuntimeOn   lambdatypes.UpdateRuntimeOn
	RuntimeVersionArn *string
}

// automatic is how a new function's runtime is managed (page PutRuntimeManagementConfig).
func automatic() modules.Value {
	v, err := aws.Document(management{UpdateRuntimeOn: lambdatypes.UpdateRuntimeOnAuto})
	if err != nil {
		panic(err) // it is a part of the program
	}
	return v
}

// managed is how a function's runtime is managed, in the shape that the column has.
type managed struct{ RuntimeManagementConfig *management }

func runtimeManagement(client *lambda.Client, ctx context.Context, in *lambda.GetRuntimeManagementConfigInput,
	options ...func(*lambda.Options)) (*managed, error) {
	out, err := client.GetRuntimeManagementConfig(ctx, in, options...)
	if err != nil {
		return nil, err
	}
	of := &management{UpdateRuntimeOn: out.UpdateRuntimeOn}
	if of.UpdateRuntimeOn == lambdatypes.UpdateRuntimeOnManual { // of the others Lambda tells which it has now
		of.RuntimeVersionArn = out.RuntimeVersionArn
	}
	return &managed{of}, nil
}

// setRuntimeManagement says when a function gets a new version of its runtime.
func setRuntimeManagement(ctx context.Context, s *declare.Step) error {
	want := management{UpdateRuntimeOn: lambdatypes.UpdateRuntimeOnAuto}
	if v := s.Want["runtime_management_config"]; !v.IsNull() {
		if err := aws.ParseDocument("runtime_management_config", v, &want); err != nil {
			return err
		}
	}
	_, err := declare.ClientOf[*lambda.Client](s).PutRuntimeManagementConfig(ctx,
		&lambda.PutRuntimeManagementConfigInput{FunctionName: s.Have["name"].Ptr(),
			UpdateRuntimeOn: want.UpdateRuntimeOn, RuntimeVersionArn: want.RuntimeVersionArn})
	return err
}
