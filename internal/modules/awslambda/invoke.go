package awslambda

import (
	"context"
	"fmt"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// longestRun is how long an invocation may take, with some time for its answer:
// a function runs for 15 minutes at most (Lambda Developer Guide, "Quotas").
const longestRun = 16 * time.Minute

// patient is a client that waits until a function has run.
type patient struct{ *lambda.Client }

// invoke is the function lambda_function_invoke.
func invoke(c *aws.Clients) *modules.Function {
	return &modules.Function{
		Name: "lambda_function_invoke",
		Doc: "Calls a function and waits for its answer. A function that fails is no error here: the column error " +
			"says so.",
		Sample: `SELECT status, payload, error FROM lambda_function_invoke('greet', '{"name": "world"}')`,
		Given: `INSERT INTO iam_role (role_name, assume_role_policy_document) VALUES ('greeter',
    '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}]}');
INSERT INTO lambda_function (name, role_name, runtime, handler, zip_b64) VALUES ('greet', 'greeter', 'python3.12', 'index.handler',
    'UEsDBBQAAAAAAAAAIVy0CHBpLgAAAC4AAAAIAAAAaW5kZXgucHlkZWYgaGFuZGxlcihldmVudCwgY29udGV4dCk6CiAgICByZXR1cm4gZXZlbnQKUEsBAhQDFAAAAAAAAAAhXLQIcGkuAAAALgAAAAgAAAAAAAAAAAAAAKQBAAAAAGluZGV4LnB5UEsFBgAAAAABAAEANgAAAFQAAAAAAA==')`,
		Demo:  "In `make demo` the emulator runs the function in Docker. Without Docker the column error is set.",
		Table: "lambda_function",
		Right: "UPDATE",
		Parameters: []modules.Parameter{
			{Name: "lambda_function_name", Type: modules.TypeText, Names: "name", Doc: "The function."},
			{Name: "function_payload", Type: modules.TypeJSON, Default: "'{}'", Doc: "What it is called with."},
		},
		Returns: []modules.Result{
			{Name: "function_name", Type: modules.TypeText, Doc: "The function."},
			{Name: "version", Type: modules.TypeText, Doc: "The version that has run."},
			{Name: "status", Type: modules.TypeText, Doc: "The HTTP status of the call: 200."},
			{Name: "payload", Type: modules.TypeText, Doc: "The answer: JSON, or what describes the failure."},
			{Name: "error", Type: modules.TypeText, Doc: "Handled or Unhandled if it has failed."},
		},
		Call: func(ctx context.Context, i modules.Invocation) ([]modules.Row, error) {
			c, scope, args := c.Permitted(i.Permit), i.Scope, i.Arguments
			client, err := aws.Client(ctx, c, scope, func(cfg awssdk.Config) patient {
				return patient{lambda.NewFromConfig(cfg, func(o *lambda.Options) {
					o.HTTPClient = c.Patient(longestRun)
				})}
			})
			if err != nil {
				return nil, err
			}
			out, err := client.Invoke(ctx, &lambda.InvokeInput{
				FunctionName: args["lambda_function_name"].Ptr(), Payload: []byte(args["function_payload"].String()),
			})
			if err != nil {
				return nil, err
			}
			return []modules.Row{{
				"function_name": args["lambda_function_name"],
				"version":       modules.NonEmpty(awssdk.ToString(out.ExecutedVersion)),
				"status":        modules.Text(fmt.Sprint(out.StatusCode)),
				"payload":       modules.Text(string(out.Payload)),
				"error":         modules.NonEmpty(awssdk.ToString(out.FunctionError)),
			}}, nil
		},
	}
}
