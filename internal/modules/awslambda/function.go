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
	"iasql/internal/modules"
)

// function is the table lambda_function.
type function struct {
	clients     *aws.Clients
	groups      *aws.Memberships
	description *modules.Table
}

func newFunction(c *aws.Clients, groups *aws.Memberships) *function {
	return &function{clients: c, groups: groups, description: describeFunction()}
}

// The ranges and defaults are those of the page CreateFunction of the Lambda API
// Reference. Runtimes are not enumerated, since there are new ones every year.
func describeFunction() *modules.Table {
	return &modules.Table{
		Name:     "lambda_function",
		Doc:      "Functions. Those made from a container image are shown and can be changed; those created here are made from a zip file.",
		Provider: aws.Provider,
		Reach:    modules.PerRegion,
		Creation: modules.ByName,
		Columns: aws.Regional(
			modules.Column{Name: "name", Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true,
				Check: `name ~ '^[a-zA-Z0-9_-]{1,64}$'`,
				Doc:   "The function's name: up to 64 letters, digits, hyphens and underscores."},
			modules.Column{Name: "role_name", Type: modules.TypeText,
				References: &modules.Reference{Table: "iam_role", Key: "role_name", ByKey: true},
				Doc:        "The role that it runs as, which has to trust lambda.amazonaws.com. Needed to create one."},
			modules.Column{Name: "zip_b64", Type: modules.TypeText, WriteOnly: true,
				Doc: "Its code, a zip file in base64. Set it to deploy; it is blanked once pushed, and code_sha256 tells what runs. Needed to create or replace one."},
			modules.Column{Name: "description", Type: modules.TypeText, Check: "length(description) BETWEEN 1 AND 256",
				Doc: "What it is for, up to 256 characters."},
			modules.Column{Name: "handler", Type: modules.TypeText, Check: "length(handler) BETWEEN 1 AND 128",
				Doc: "What in the code is called, such as index.handler."},
			modules.Column{Name: "runtime", Type: modules.TypeText,
				Doc: "What runs the code, such as nodejs22.x, python3.13 or provided.al2023."},
			modules.Column{Name: "architecture", Type: modules.TypeText, Required: true, Default: "'x86_64'", CreateOnly: true,
				Enum: []string{"x86_64", "arm64"},
				Doc:  "The instruction set that the code is for. Default x86_64."},
			modules.Column{Name: "memory_size", Type: modules.TypeInteger, Required: true, Default: "128",
				Check: "memory_size BETWEEN 128 AND 10240",
				Doc:   "How many MB of memory it has, from 128 to 10240; processors grow with them. Default 128."},
			modules.Column{Name: "timeout", Type: modules.TypeInteger, Required: true, Default: "3",
				Check: "timeout BETWEEN 1 AND 900",
				Doc:   "After how many seconds a run is ended, from 1 to 900. Default 3."},
			modules.Column{Name: "ephemeral_storage_size", Type: modules.TypeInteger, Required: true, Default: "512",
				Check: "ephemeral_storage_size BETWEEN 512 AND 10240",
				Doc:   "How many MB its directory /tmp has, from 512 to 10240. Default 512."},
			modules.Column{Name: "environment", Type: modules.TypeJSON, EmptyIsNull: true, Check: `jsonb_typeof(environment) = 'object'`,
				Doc: `Its environment variables, a JSON object of strings. Everyone who may read the function sees them.`},
			modules.Column{Name: "subnets", Type: modules.TypeTexts, Unordered: true, EmptyIsNull: true,
				Doc: "The ids of the subnets that it reaches, such as subnet-0a1b2c3d, all of one VPC; its security groups are in lambda_function_security_groups. NULL: it is in no VPC, and has no groups."},
			modules.Column{Name: "reserved_concurrent_executions", Type: modules.TypeInteger, Check: "reserved_concurrent_executions >= 0",
				Doc: "How many runs at the same time are kept for it, and are the most it can have; 0 stops it. NULL: what the account has left."},
			modules.Column{Name: "arn", Type: modules.TypeText, Assigned: true,
				Doc: "Its Amazon Resource Name (ARN)."},
			modules.Column{Name: "version", Type: modules.TypeText, Assigned: true,
				Doc: "The version the row shows: always $LATEST."},
			modules.Column{Name: "package_type", Type: modules.TypeText, Assigned: true,
				Doc: "Zip or Image."},
			modules.Column{Name: "code_sha256", Type: modules.TypeText, Assigned: true,
				Doc: "The SHA-256 of the zip file, in base64."},
			modules.Column{Name: "code_size", Type: modules.TypeBigint, Assigned: true,
				Doc: "How many bytes the zip file has."},
			modules.Column{Name: "state", Type: modules.TypeText, Assigned: true,
				Doc: "Pending, Active, Inactive (not called for weeks) or Failed."},
			modules.Column{Name: "last_update_status", Type: modules.TypeText, Assigned: true,
				Doc: "Whether the last change has taken effect: Successful, Failed or InProgress."},
			aws.TagsColumn(),
		),
		Uniques:             [][]string{{modules.ColumnAccount, modules.ColumnRegion, "arn"}}, // by which its security groups name it
		DestroyBeforeCreate: true,
	}
}

// Table returns the description.
func (r *function) Table() *modules.Table { return r.description }

// List gives every function of the scope to page.
func (r *function) List(ctx context.Context, scope modules.Scope, page func([]modules.Row) error) error {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	return aws.Pages(ctx, lambda.NewListFunctionsPaginator(client, &lambda.ListFunctionsInput{}), func(out *lambda.ListFunctionsOutput) error {
		rows, err := aws.Read(ctx, out.Functions, func(ctx context.Context, f lambdatypes.FunctionConfiguration) (modules.Row, error) {
			return read(ctx, client, f.FunctionName)
		})
		if err != nil {
			return err
		}
		return page(rows)
	})
}

// Get reads the functions with these names.
func (r *function) Get(ctx context.Context, scope modules.Scope, identities []modules.Row) ([]modules.Row, error) {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return nil, err
	}
	return aws.Read(ctx, identities, func(ctx context.Context, identity modules.Row) (modules.Row, error) {
		return read(ctx, client, identity["name"].Ptr())
	})
}

// read reads a function with what ListFunctions leaves out: tags and
// concurrency. GetFunction may be called 100 times a second, everything else
// fifteen (Lambda Developer Guide, "Quotas").
func read(ctx context.Context, client *lambda.Client, name *string) (modules.Row, error) {
	out, err := client.GetFunction(ctx, &lambda.GetFunctionInput{FunctionName: name})
	if err != nil {
		return nil, err
	}
	f := out.Configuration
	row := modules.Row{
		"name":                           modules.TextPtr(f.FunctionName),
		"role_name":                      aws.RoleName(f.Role),
		"description":                    modules.NonEmpty(awssdk.ToString(f.Description)),
		"handler":                        modules.NonEmpty(awssdk.ToString(f.Handler)),
		"runtime":                        modules.NonEmpty(f.Runtime),
		"architecture":                   modules.Text("x86_64"),
		"memory_size":                    modules.IntPtr(f.MemorySize),
		"timeout":                        modules.IntPtr(f.Timeout),
		"ephemeral_storage_size":         modules.Int(512),
		"environment":                    modules.Null,
		"subnets":                        modules.Null,
		"reserved_concurrent_executions": modules.Null,
		"arn":                            modules.TextPtr(f.FunctionArn),
		"version":                        modules.TextPtr(f.Version),
		"package_type":                   modules.NonEmpty(f.PackageType),
		"code_sha256":                    modules.TextPtr(f.CodeSha256),
		"code_size":                      modules.Int(f.CodeSize),
		"state":                          modules.NonEmpty(f.State),
		"last_update_status":             modules.NonEmpty(f.LastUpdateStatus),
		"tags":                           aws.TagValue(out.Tags),
	}
	if len(f.Architectures) > 0 {
		row["architecture"] = modules.NonEmpty(f.Architectures[0])
	}
	if f.EphemeralStorage != nil && f.EphemeralStorage.Size != nil {
		row["ephemeral_storage_size"] = modules.IntPtr(f.EphemeralStorage.Size)
	}
	if f.Environment != nil {
		row["environment"] = modules.StringMap(f.Environment.Variables)
	}
	if vpc := f.VpcConfig; vpc != nil && len(vpc.SubnetIds) > 0 {
		row["subnets"] = modules.Strings(vpc.SubnetIds)
	}
	if out.Concurrency != nil {
		row["reserved_concurrent_executions"] = modules.IntPtr(out.Concurrency.ReservedConcurrentExecutions)
	}
	return row, nil
}

// code returns the zip file of a row.
func code(want modules.Row) ([]byte, error) {
	zip, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(want["zip_b64"].String()), ""))
	if err != nil || len(zip) == 0 {
		return nil, &modules.Error{Class: modules.Invalid, Code: "InvalidCode", Message: "zip_b64 must hold the code, a zip file in base64"}
	}
	return zip, nil
}

// refused gives what Lambda says in words under codes of several meanings its
// class: a name that is taken is a conflict like an update that is under way,
// and a new role, which is not yet known everywhere, an invalid value.
func refused(err error) error {
	switch {
	case aws.HasCode(err, "ResourceConflictException") && strings.Contains(err.Error(), "already exist"):
		return &modules.Error{Class: modules.Exists, Code: "ResourceConflictException", Message: err.Error(), Err: err}
	case aws.HasCode(err, "InvalidParameterValueException") && strings.Contains(err.Error(), "cannot be assumed"):
		return &modules.Error{Class: modules.Dependency, Code: "InvalidParameterValueException", Message: err.Error(), Err: err}
	}
	return err
}

func environment(want modules.Row) *lambdatypes.Environment {
	variables := want["environment"].StringMap()
	if variables == nil {
		variables = map[string]string{} // removes what there is
	}
	return &lambdatypes.Environment{Variables: variables}
}

// vpcConfig returns the configuration of a function in these subnets. Lambda
// takes subnets and groups together or none of them: the groups are those that
// the function has, or the VPC's default group if it comes from elsewhere.
func (r *function) vpcConfig(ctx context.Context, scope modules.Scope, subnets []string, have *lambdatypes.VpcConfigResponse) (*lambdatypes.VpcConfig, error) {
	if len(subnets) == 0 {
		return &lambdatypes.VpcConfig{SubnetIds: []string{}, SecurityGroupIds: []string{}}, nil
	}
	vpc, err := r.clients.VPCOf(ctx, scope, subnets[0])
	if err != nil {
		return nil, err
	}
	if have != nil && len(have.SubnetIds) > 0 {
		was, err := r.clients.VPCOf(ctx, scope, have.SubnetIds[0])
		if err != nil {
			return nil, err
		}
		if was == vpc {
			return &lambdatypes.VpcConfig{SubnetIds: subnets, SecurityGroupIds: have.SecurityGroupIds}, nil
		}
	}
	group, err := r.clients.DefaultGroup(ctx, scope, vpc)
	return &lambdatypes.VpcConfig{SubnetIds: subnets, SecurityGroupIds: []string{group}}, err
}

// Create creates a function. reserved_concurrent_executions, which
// CreateFunction does not take, is left to Update.
func (r *function) Create(ctx context.Context, scope modules.Scope, want modules.Row, _ string) (modules.Row, error) {
	zip, err := code(want)
	if err != nil {
		return nil, err
	}
	role, err := aws.RoleARN(ctx, r.clients, scope, want["role_name"])
	if err != nil {
		return nil, err
	}
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return nil, err
	}
	in := &lambda.CreateFunctionInput{
		FunctionName:  want["name"].Ptr(),
		Role:          role,
		Code:          &lambdatypes.FunctionCode{ZipFile: zip},
		PackageType:   lambdatypes.PackageTypeZip,
		Description:   want["description"].Ptr(),
		Handler:       want["handler"].Ptr(),
		Runtime:       lambdatypes.Runtime(want["runtime"].String()),
		Architectures: []lambdatypes.Architecture{lambdatypes.Architecture(want["architecture"].String())},
		MemorySize:    want["memory_size"].Int32Ptr(),
		Timeout:       want["timeout"].Int32Ptr(),
		Environment:   environment(want),
		Tags:          aws.TagsOf(want, ""),
	}
	if size := want["ephemeral_storage_size"]; !size.IsNull() {
		in.EphemeralStorage = &lambdatypes.EphemeralStorage{Size: size.Int32Ptr()}
	}
	if !want["subnets"].IsNull() {
		if in.VpcConfig, err = r.vpcConfig(ctx, scope, want["subnets"].Strings(), nil); err != nil {
			return nil, err
		}
	}
	out, err := client.CreateFunction(ctx, in)
	if err != nil {
		return nil, refused(err)
	}
	return modules.Row{"name": want["name"], "arn": modules.TextPtr(out.FunctionArn)}, nil
}

// Update changes the configuration in one call, then concurrency, tags, and the
// code. While one change takes effect Lambda refuses the next; the code comes
// last, because nobody can see whether it has been pushed already, and what
// came before it is not done again.
func (r *function) Update(ctx context.Context, scope modules.Scope, have, want modules.Row, columns []string) error {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	changed := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(columns, name) })
	}
	name := have["name"].Ptr()
	if changed("role_name", "description", "handler", "runtime", "memory_size", "timeout", "ephemeral_storage_size",
		"environment", "subnets") {
		if err := r.configure(ctx, scope, client, have, want, changed); err != nil {
			return refused(err)
		}
	}
	if changed("reserved_concurrent_executions") {
		if n := want["reserved_concurrent_executions"]; n.IsNull() {
			_, err = client.DeleteFunctionConcurrency(ctx, &lambda.DeleteFunctionConcurrencyInput{FunctionName: name})
		} else {
			_, err = client.PutFunctionConcurrency(ctx, &lambda.PutFunctionConcurrencyInput{FunctionName: name, ReservedConcurrentExecutions: n.Int32Ptr()})
		}
		if err != nil {
			return err
		}
	}
	if changed(modules.ColumnTags) {
		arn := have["arn"].Ptr()
		err := aws.UpdateTags(ctx, have, want,
			func(ctx context.Context, tags map[string]string) error {
				_, err := client.TagResource(ctx, &lambda.TagResourceInput{Resource: arn, Tags: tags})
				return err
			},
			func(ctx context.Context, keys []string) error {
				_, err := client.UntagResource(ctx, &lambda.UntagResourceInput{Resource: arn, TagKeys: keys})
				return err
			})
		if err != nil {
			return err
		}
	}
	if !changed("zip_b64") || want["zip_b64"].IsNull() {
		return nil
	}
	zip, err := code(want)
	if err != nil {
		return err
	}
	_, err = client.UpdateFunctionCode(ctx, &lambda.UpdateFunctionCodeInput{
		FunctionName: name, ZipFile: zip,
		Architectures: []lambdatypes.Architecture{lambdatypes.Architecture(have["architecture"].String())},
	})
	return err
}

// configure changes the configuration: what is left out stays as it is.
func (r *function) configure(ctx context.Context, scope modules.Scope, client *lambda.Client, have, want modules.Row, changed func(...string) bool) error {
	in := &lambda.UpdateFunctionConfigurationInput{FunctionName: have["name"].Ptr()}
	if changed("role_name") {
		role, err := aws.RoleARN(ctx, r.clients, scope, want["role_name"])
		if err != nil {
			return err
		}
		in.Role = role
	}
	if changed("description") {
		in.Description = awssdk.String(want["description"].String())
	}
	if changed("handler") {
		in.Handler = want["handler"].Ptr()
	}
	if changed("runtime") {
		in.Runtime = lambdatypes.Runtime(want["runtime"].String())
	}
	if changed("memory_size") {
		in.MemorySize = want["memory_size"].Int32Ptr()
	}
	if changed("timeout") {
		in.Timeout = want["timeout"].Int32Ptr()
	}
	if changed("ephemeral_storage_size") {
		in.EphemeralStorage = &lambdatypes.EphemeralStorage{Size: want["ephemeral_storage_size"].Int32Ptr()}
	}
	if changed("environment") {
		in.Environment = environment(want)
	}
	if changed("subnets") {
		defer r.groups.Lock(scope, have["arn"].String())()
		is, err := client.GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: in.FunctionName})
		if err != nil {
			return err
		}
		if in.VpcConfig, err = r.vpcConfig(ctx, scope, want["subnets"].Strings(), is.VpcConfig); err != nil {
			return err
		}
	}
	_, err := client.UpdateFunctionConfiguration(ctx, in)
	return err
}

// Delete deletes a function with all its versions and aliases.
func (r *function) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	_, err = client.DeleteFunction(ctx, &lambda.DeleteFunctionInput{FunctionName: have["name"].Ptr()})
	return aws.IfExists(err)
}
