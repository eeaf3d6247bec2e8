package awslambda

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// newFunction declares the table lambda_function, the security groups of whose
// functions are those of groups. The ranges and defaults are those of the page
// CreateFunction of the Lambda API Reference. Runtimes are not enumerated, since
// there are new ones every year.
func newFunction(c *aws.Clients, groups *aws.Memberships) *declare.Resource {
	return declare.New(c, declare.Table[lambda.GetFunctionOutput]{
		Name:    "lambda_function",
		Doc:     "Functions, made of a zip file (zip_b64 or code_uri) or of a container image (image_uri).",
		Service: declare.Service(lambda.NewFromConfig),
		Columns: slices.Concat([]declare.Column{
			declare.Name("name", "Configuration.FunctionName",
				"The function's name: up to 64 letters, digits, hyphens and underscores.").In("FunctionName").Matches(
				"^[a-zA-Z0-9_-]{1,64}$"),
			declare.Ref("role_name", "Configuration.Role", "iam_role", "role_name",
				"The role that it runs as, which has to trust lambda.amazonaws.com. Needed to create one.").ByKey().As(
				declare.LastPart("/")).WithARN(4),
			declare.Text("zip_b64", "", "Its code, a zip file in base64. Set it to deploy; it is blanked once "+
				"pushed, and code_sha256 tells what runs. Needed to create or replace one.").
				WriteOnly().In("Code.ZipFile", "ZipFile").As(code),
			declare.Text("code_uri", "", "Where its code, a zip file, lies in S3, in a bucket of its region: "+
				"s3://builds/app.zip, or s3://builds/app.zip?versionId=3sL4k… for a version of the object. Set it to "+
				"deploy, in place of zip_b64, which takes 50 MB at most; it is blanked once pushed, too.").
				WriteOnly().Matches("^s3://[^/]+/.+$").Since(8),
			declare.Text("image_uri", "Code.ImageUri", "The container image in ECR that it runs in place of a zip "+
				"file, such as 123456789012.dkr.ecr.us-east-1.amazonaws.com/app:7, which Lambda has to be allowed to "+
				"read; handler and runtime are NULL then. A tag counts when it is set: to deploy what it has been "+
				"moved to since, say the digest, NAME@sha256:… . NULL: it is made of a zip file; the other way round "+
				"it is another function, which replaces this one.").
				In("Code.ImageUri", "ImageUri").FixedKind().Since(images),
			declare.Text("description", "Configuration.Description",
				"What it is for, up to 256 characters.").In("Description").Length(1, 256).Unset(modules.Text("")),
			declare.Text("handler", "Configuration.Handler",
				"What in the code is called, such as index.handler.").In("Handler").Length(1, 128),
			declare.Text("runtime", "Configuration.Runtime",
				"What runs the code, such as nodejs22.x, python3.13 or provided.al2023.").In("Runtime"),
			declare.Text("architecture", "Configuration.Architectures[0]",
				"The instruction set that the code is for. Default x86_64. AWS changes it only together with the "+
					"code: set zip_b64 or code_uri, too.").
				In("Architectures[0]").Default("'x86_64'").OneOf("x86_64", "arm64").Absent(modules.Text("x86_64")),
			declare.Integer("memory_size", "Configuration.MemorySize",
				"How many MB of memory it has, from 128 to 32768; processors grow with them. Default 128. AWS "+
					"refuses more than 10240 unless the function runs on Lambda Managed Instances.").In(
				"MemorySize").Default("128").Between(128, 32768),
			declare.Integer("timeout", "Configuration.Timeout",
				"After how many seconds a run is ended, from 1 to 5400. Default 3. AWS refuses more than 900 unless "+
					"the function runs on Lambda Managed Instances.").In("Timeout").Default("3").Between(1, 5400),
			declare.Integer("ephemeral_storage_size", "Configuration.EphemeralStorage.Size",
				"How many MB its directory /tmp has, from 512 to 10240. Default 512.").
				In("EphemeralStorage.Size").Default("512").Between(512, 10240).Absent(modules.Int(512)),
			declare.JSON("environment", "Configuration.Environment.Variables",
				`Its environment variables, a JSON object of strings. Everyone who may read the function sees them.`).
				In("Environment.Variables").EmptyIsNull().Check(`jsonb_typeof(environment) = 'object'`),
			declare.Texts("subnets", "Configuration.VpcConfig.SubnetIds",
				"The ids of the subnets that it reaches, such as subnet-0a1b2c3d, all of one VPC; its security "+
					"groups are in lambda_function_security_groups. NULL: it is in no VPC, and has no groups.").
				Unordered().EmptyIsNull().
				Records("subnet", "subnet_id", 6),
			declare.Integer("reserved_concurrent_executions", "Concurrency.ReservedConcurrentExecutions",
				"How many runs at the same time are kept for it, and are the most it can have; 0 stops it. NULL: "+
					"what the account has left.").
				In("ReservedConcurrentExecutions").Check("reserved_concurrent_executions >= 0"),
			declare.Bool("publish_to_latest_published", "",
				"Whether what is pushed is published, too, as the version $LATEST.PUBLISHED: that of functions on "+
					"Lambda Managed Instances. AWS refuses it of others.").
				Along().In("PublishTo").As(latestPublished).Since(5),
		}, settings(), []declare.Column{
			declare.ARN("arn", "Configuration.FunctionArn").In("FunctionArn", "Resource"),
			declare.Text("version", "Configuration.Version", "The version the row shows: always $LATEST.").Computed(),
			declare.Text("package_type", "Configuration.PackageType", "Zip or Image.").Computed(),
			declare.Text("resolved_image_uri", "Code.ResolvedImageUri",
				"What image_uri stood for when it was set, by its digest.").Computed().Since(images),
			declare.Text("code_sha256", "Configuration.CodeSha256",
				"The SHA-256 of the zip file, in base64, or the digest of the image.").Computed(),
			declare.Bigint("code_size", "Configuration.CodeSize",
				"How many bytes the zip file has; 0 of an image.").Computed(),
			declare.Text("state", "Configuration.State",
				"Pending, Active, Inactive (not called for weeks), Failed or Deleting.").Computed(),
			declare.Text("state_reason", "Configuration.StateReason",
				"Why it is in that state, if AWS says so.").Computed().Since(3),
			declare.Text("last_update_status", "Configuration.LastUpdateStatus",
				"Whether the last change has taken effect: Successful, Failed or InProgress.").Computed(),
			declare.Tags("Tags", (*lambda.Client).TagResource, (*lambda.Client).UntagResource),
		}),
		Published: declare.Published{Type: "AWS::Lambda::Function", Since: 5,
			Columns: map[string]string{"Code": "zip_b64", "Role": "role_name", "VpcConfig": "subnets"},
			Read: map[string]string{
				"CapacityProviderConfig": "Configuration.CapacityProviderConfig",
				"DeadLetterConfig":       "Configuration.DeadLetterConfig",
				"DurableConfig":          "Configuration.DurableConfig",
				"FileSystemConfigs":      "Configuration.FileSystemConfigs",
				"ImageConfig":            "Configuration.ImageConfigResponse.ImageConfig",
				"KmsKeyArn":              "Configuration.KMSKeyArn",
				"Layers":                 "Configuration.Layers[].Arn",
				"LoggingConfig":          "Configuration.LoggingConfig",
				"SnapStart":              "Configuration.SnapStart",
				"TenancyConfig":          "Configuration.TenancyConfig",
				"TracingConfig":          "Configuration.TracingConfig",
			},
			Without: map[string]string{"PackageType": "image_uri says it"},
			Filled: map[string][]string{
				"CapacityProviderConfig": {"ExecutionEnvironmentMemoryGiBPerVCpu",
					"PerExecutionEnvironmentMaxConcurrency"},
				"DurableConfig": {"RetentionPeriodInDays"},
				"LoggingConfig": {"ApplicationLogLevel", "LogFormat", "LogGroup", "SystemLogLevel"},
			},
			Docs: map[string]string{
				"DeadLetterConfig":  `Where events go that it could not be called with: {"TargetArn": "arn:…"}, a queue or topic; {} for nowhere.`,
				"FileSystemConfigs": `The file systems that it mounts: [{"Arn": "arn:…", "LocalMountPath": "/mnt/data"}], by access points of EFS; [] for none.`,
				"ImageConfig": "What of its container image is another than the image says: Command, " +
					"EntryPoint, WorkingDirectory.",
				"KmsKeyArn": "The ARN of the KMS key that its environment variables are encrypted with; " +
					"AWS's own if left out.",
				"Layers":        "The ARNs of the versions of layers that it has, in this order; {} for none.",
				"LoggingConfig": `How it logs: {"LogFormat": "JSON", "LogGroup": "/team/app"}. Text, to a group of its name, if left out.`,
				"SnapStart":     `Whether versions that are published start from a snapshot: {"ApplyOn": "PublishedVersions"} or {"ApplyOn": "None"}, the default.`,
				"TracingConfig": `Whether X-Ray traces its runs: {"Mode": "Active"}, or {"Mode": "PassThrough"}, the default: as the caller does.`,
			},
		},
		// by which its security groups name it
		Uniques: [][]string{{modules.ColumnAccount, modules.ColumnRegion, "arn"}},
		Checks: []string{"image_uri IS NULL OR num_nonnulls(handler, runtime) = 0",
			"num_nonnulls(zip_b64, code_uri) < 2"},
		DestroyBeforeCreate: true,

		// ListFunctions leaves out state, tags and concurrency. GetFunction may be
		// called 100 times a second, everything else fifteen (Lambda Developer Guide,
		// "Quotas").
		EventMappings: modules.EventMappings("lambda.amazonaws.com",
			modules.Request("functionName", "PublishVersion", "PutFunctionCodeSigningConfig",
				"DeleteFunctionCodeSigningConfig", "PutRuntimeManagementConfig", "PutFunctionRecursionConfig",
				"PutFunctionScalingConfig"),
		),
		List: declare.Pages(lambda.NewListFunctionsPaginator, "Functions",
			declare.Convert(func(f lambdatypes.FunctionConfiguration) lambda.GetFunctionOutput {
				return lambda.GetFunctionOutput{Configuration: &f}
			})).Names("name", "FunctionName"),
		Get:    declare.One(declare.Call((*lambda.Client).GetFunction), ""),
		Row:    unread,
		Create: declare.Call((*lambda.Client).CreateFunction, declare.Failed(refused), declare.Edit(completeFunction)),
		// While one change takes effect Lambda refuses the next; the code comes last,
		// because nobody can see whether it has been pushed already, and what came
		// before it is not done again.
		Updates: slices.Concat([]declare.Update{
			declare.Modify(declare.Call((*lambda.Client).UpdateFunctionConfiguration, declare.Failed(refused),
				declare.Edit(configure)),
				"role_name", "description", "handler", "runtime", "memory_size", "timeout", "ephemeral_storage_size",
				"environment", "subnets", "capacity_provider_config", "dead_letter_config", "durable_config",
				"file_system_configs", "image_config", "kms_key_arn", "layers", "logging_config", "snap_start",
				"tracing_config").
				Holding(func(s *declare.Step) func() {
					if !s.Changes("subnets") {
						return func() {}
					}
					return groups.Lock(s.Scope, s.Have["arn"].String())
				}),
			declare.Put("reserved_concurrent_executions", declare.Call((*lambda.Client).PutFunctionConcurrency),
				declare.Call((*lambda.Client).DeleteFunctionConcurrency)),
			declare.By(func(ctx context.Context, s *declare.Step) error {
				return s.UpdateTags(ctx)
			}, modules.ColumnTags),
		}, set(), []declare.Update{
			declare.Modify(declare.Call((*lambda.Client).UpdateFunctionCode, declare.Failed(refused),
				declare.Edit(func(_ context.Context, s *declare.Step, in *lambda.UpdateFunctionCodeInput) error {
					if s.Changes("code_uri") {
						fromS3(s.Want["code_uri"], &in.S3Bucket, &in.S3Key, &in.S3ObjectVersion)
					}
					if in.ZipFile == nil && in.S3Key == nil && in.ImageUri == nil { // the architecture changes
						if in.ImageUri = s.Want["image_uri"].Ptr(); in.ImageUri == nil {
							return codeToo
						}
					}
					if in.Architectures == nil {
						in.Architectures = []lambdatypes.Architecture{lambdatypes.Architecture(
							s.Have["architecture"].String())}
					}
					return nil
				})), "architecture", "image_uri", "zip_b64", "code_uri"),
		}),
		Delete:  declare.Call((*lambda.Client).DeleteFunction), // with all its versions and aliases
		Going:   declare.In("state", string(lambdatypes.StateDeleting)),
		Forming: declare.In("state", string(lambdatypes.StatePending)),
		Failed:  declare.In("state", string(lambdatypes.StateFailed)).Because("state_reason"),
	})
}

// images is the version of the module that added functions made of images.
const images = 7

// noCode is the error of a function without code.
var noCode = &modules.Error{Class: modules.Invalid, Code: "InvalidCode",
	Message: "zip_b64 must hold the code, a zip file in base64, code_uri say where in S3 that lies, or " +
		"image_uri name a container image"}

// codeToo is the error of a change of the architecture alone, which
// UpdateFunctionCode refuses: it takes no architecture without code.
var codeToo = &modules.Error{Class: modules.Invalid, Code: "InvalidCode",
	Message: "AWS changes architecture only together with the code: set zip_b64 or code_uri, too"}

// latestPublished is what a version that is published is called.
var latestPublished = declare.Codec{Encode: func(v modules.Value) (any, error) {
	if !v.Bool() {
		return lambdatypes.FunctionVersionLatestPublished(""), nil
	}
	return lambdatypes.FunctionVersionLatestPublishedLatestPublished, nil
}}

// code is a zip file in base64.
var code = declare.Codec{Encode: func(v modules.Value) (any, error) {
	zip, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(v.String()), ""))
	if err != nil || len(zip) == 0 {
		return nil, noCode
	}
	return zip, nil
}}

// fromS3 says where in S3 the code lies.
func fromS3(uri modules.Value, bucket, key, version **string) {
	at, of, versioned := strings.Cut(strings.TrimPrefix(uri.String(), "s3://"), "?versionId=")
	in, name, _ := strings.Cut(at, "/")
	*bucket, *key = &in, &name
	if versioned {
		*version = &of
	}
}

// unread leaves out what Lambda could not read of a function: its tags (page
// GetFunction, TagsError), its environment (page EnvironmentResponse, Error). What it cannot have is NULL.
func unread(_ context.Context, _ *declare.Step, f *lambda.GetFunctionOutput, row modules.Row) error {
	if f.TagsError != nil {
		delete(row, modules.ColumnTags)
	}
	if c := f.Configuration; c != nil && c.Environment != nil && c.Environment.Error != nil {
		delete(row, "environment")
	}
	inapplicable(row)
	return nil
}

// refused gives its class to what has another under the same code, or with the
// same status: a name that is taken is a conflict like an update that is under
// way; a key that a new role may not use yet is answered with status 502 (page
// Invoke, Errors), which of any other code may have had its effect.
func refused(_ context.Context, _ *declare.Step, err error) error {
	switch {
	case aws.HasCode(err, "ResourceConflictException") && strings.Contains(err.Error(), "already exist"):
		return &modules.Error{Class: modules.Exists, Code: "ResourceConflictException", Message: err.Error(), Err: err}
	case aws.HasCode(err, "KMSAccessDeniedException"):
		return &modules.Error{Class: modules.Dependency, Code: "KMSAccessDeniedException",
			Message: err.Error(), Err: err}
	}
	return err
}

// vpcConfig returns the configuration of a function in these subnets. Lambda
// takes subnets and groups together or none of them: the groups are those that
// the function has, or the VPC's default group if it comes from elsewhere.
func vpcConfig(ctx context.Context, s *declare.Step, subnets []string,
	have *lambdatypes.VpcConfigResponse) (*lambdatypes.VpcConfig, error) {
	if len(subnets) == 0 { // IPv6, which no column shows, goes with the subnets: Lambda refuses it without
		none := &lambdatypes.VpcConfig{SubnetIds: []string{}, SecurityGroupIds: []string{}}
		if have != nil && awssdk.ToBool(have.Ipv6AllowedForDualStack) {
			none.Ipv6AllowedForDualStack = awssdk.Bool(false)
		}
		return none, nil
	}
	vpc, err := s.Clients.VPCOf(ctx, s.Scope, subnets[0])
	if err != nil {
		return nil, err
	}
	if have != nil && len(have.SubnetIds) > 0 {
		was, err := s.Clients.VPCOf(ctx, s.Scope, have.SubnetIds[0])
		if err != nil {
			return nil, err
		}
		if was == vpc {
			return &lambdatypes.VpcConfig{SubnetIds: subnets, SecurityGroupIds: have.SecurityGroupIds,
				Ipv6AllowedForDualStack: have.Ipv6AllowedForDualStack}, nil
		}
	}
	group, err := s.Clients.DefaultGroup(ctx, s.Scope, vpc)
	return &lambdatypes.VpcConfig{SubnetIds: subnets, SecurityGroupIds: []string{group}}, err
}

// completeFunction adds to a new function what its columns do not tell alone.
// reserved_concurrent_executions, which CreateFunction does not take, is left to
// the update.
func completeFunction(ctx context.Context, s *declare.Step, in *lambda.CreateFunctionInput) (err error) {
	if uri := s.Want["code_uri"]; !uri.IsNull() {
		in.Code = &lambdatypes.FunctionCode{}
		fromS3(uri, &in.Code.S3Bucket, &in.Code.S3Key, &in.Code.S3ObjectVersion)
	}
	if in.Code == nil {
		return noCode
	}
	in.PackageType = lambdatypes.PackageTypeZip
	if in.Code.ImageUri != nil {
		in.PackageType = lambdatypes.PackageTypeImage
	}
	if in.Role, err = aws.RoleARN(ctx, s.Clients, s.Scope, s.Want["role_name"]); err != nil {
		return err
	}
	if subnets := s.Want["subnets"]; !subnets.IsNull() {
		in.VpcConfig, err = vpcConfig(ctx, s, subnets.Strings(), nil)
	}
	return err
}

// configure adds to a change of the configuration what its columns do not tell
// alone. What is left out stays as it is.
func configure(ctx context.Context, s *declare.Step, in *lambda.UpdateFunctionConfigurationInput) (err error) {
	if s.Changes("role_name") {
		if in.Role, err = aws.RoleARN(ctx, s.Clients, s.Scope, s.Want["role_name"]); err != nil {
			return err
		}
	}
	if !s.Changes("subnets") {
		return nil
	}
	is, err := declare.ClientOf[*lambda.Client](s).GetFunctionConfiguration(ctx,
		&lambda.GetFunctionConfigurationInput{FunctionName: in.FunctionName})
	if err != nil {
		return err
	}
	in.VpcConfig, err = vpcConfig(ctx, s, s.Want["subnets"].Strings(), is.VpcConfig)
	return err
}
