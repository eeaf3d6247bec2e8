package awsecsfargate

import (
	"context"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// runTask is the function ecs_run_task.
func runTask(c *aws.Clients) *modules.Function {
	return &modules.Function{
		Name:   "ecs_run_task",
		Doc:    "Starts tasks that run to their end, without a service, and returns them.",
		Sample: `SELECT task_arn, last_status FROM ecs_run_task('jobs', 'nightly', ARRAY(SELECT subnet_id FROM subnet WHERE default_for_az AND region = default_aws_region()))`,
		Given: `INSERT INTO cluster (cluster_name) VALUES ('jobs');
INSERT INTO task_definition (family, cpu, memory, container_definitions) VALUES ('nightly', 256, 512, '[{"name": "report", "image": "busybox"}]')`,
		Demo:  modules.FailsInDemo + "its emulator's RunTask answers otherwise than AWS.",
		Table: "cluster",
		Right: "UPDATE",
		Parameters: []modules.Parameter{
			{Name: "cluster_name", Type: modules.TypeText, Names: "cluster_name", Doc: "The cluster they run in."},
			{Name: "task_definition", Type: modules.TypeText,
				Doc: "What they run: a family, of which the newest revision is taken, family:revision, or an ARN."},
			{Name: "subnets", Type: modules.TypeTexts, Default: "NULL",
				Doc: "The ids of the subnets they are put into; needed for Fargate."},
			{Name: "security_group_ids", Type: modules.TypeTexts, Default: "NULL",
				Doc: "The ids of their security groups; the VPC's default group if left out."},
			{Name: "assign_public_ip", Type: modules.TypeText, Default: "'DISABLED'",
				Doc: "Whether they get public addresses: DISABLED or ENABLED."},
			{Name: "task_count", Type: modules.TypeInteger, Default: "1", Doc: "How many, up to 10."},
			{Name: "launch_type", Type: modules.TypeText, Default: "'FARGATE'",
				Doc: "Where they run: FARGATE, EC2 or EXTERNAL."},
			{Name: "overrides", Type: modules.TypeJSON, Default: "NULL",
				Doc: `What is different from the task definition, as in the API: {"containerOverrides": [{"name": "web", "command": ["backup"]}]}.`},
		},
		Returns: []modules.Result{
			{Name: "task_arn", Type: modules.TypeText, Doc: "The task's Amazon Resource Name (ARN)."},
			{Name: "last_status", Type: modules.TypeText, Doc: "Its status, such as PROVISIONING."},
			{Name: "task_definition_arn", Type: modules.TypeText, Doc: "The revision it runs."},
		},
		Call: func(ctx context.Context, i modules.Invocation) ([]modules.Row, error) {
			c, scope, args := c.Permitted(i.Permit), i.Scope, i.Arguments
			client, err := declare.Client(ctx, c, scope, ecs.NewFromConfig)
			if err != nil {
				return nil, err
			}
			in := &ecs.RunTaskInput{
				Cluster: args["cluster_name"].Ptr(), TaskDefinition: args["task_definition"].Ptr(),
				Count:                args["task_count"].Int32Ptr(),
				LaunchType:           ecstypes.LaunchType(args["launch_type"].String()),
				NetworkConfiguration: network(args, args["security_group_ids"].Strings()),
			}
			if overrides := args["overrides"]; !overrides.IsNull() {
				if err := parse("overrides", overrides.String(), &in.Overrides); err != nil {
					return nil, err
				}
			}
			out, err := client.RunTask(ctx, in)
			if err != nil {
				return nil, err
			}
			// Some may run and others not: what runs must be known.
			if len(out.Failures) > 0 && len(out.Tasks) == 0 {
				return nil, aws.ErrorOf(awssdk.ToString(out.Failures[0].Reason),
					awssdk.ToString(out.Failures[0].Detail))
			}
			var rows []modules.Row
			for _, t := range out.Tasks {
				rows = append(rows, modules.Row{
					"task_arn": modules.TextPtr(t.TaskArn), "last_status": modules.TextPtr(t.LastStatus),
					"task_definition_arn": modules.TextPtr(t.TaskDefinitionArn),
				})
			}
			for _, f := range out.Failures {
				rows = append(rows, modules.Row{
					"task_arn": modules.Null, "last_status": modules.Text("FAILED: " + awssdk.ToString(f.Reason)),
					"task_definition_arn": modules.Null,
				})
			}
			return rows, nil
		},
	}
}

// deployService is the function deploy_service.
func deployService(c *aws.Clients) *modules.Function {
	return &modules.Function{
		Name: "deploy_service",
		Doc: "Starts a service's tasks anew, by a deployment of what it runs already: so that they take a newer " +
			"image of the same tag.",
		Sample: `SELECT deploy_service(arn) FROM service WHERE name = 'web'`,
		Table:  "service",
		Right:  "UPDATE",
		Parameters: []modules.Parameter{
			{Name: "service_arn", Type: modules.TypeText, Names: "arn",
				Doc: "The service's Amazon Resource Name (ARN)."},
		},
		Returns: []modules.Result{
			{Name: "arn", Type: modules.TypeText, Doc: "The service's ARN."},
			{Name: "status", Type: modules.TypeText, Doc: "The service's status."},
			{Name: "message", Type: modules.TypeText, Doc: "The id of the deployment."},
		},
		Call: func(ctx context.Context, i modules.Invocation) ([]modules.Row, error) {
			c, scope, args := c.Permitted(i.Permit), i.Scope, i.Arguments
			client, err := declare.Client(ctx, c, scope, ecs.NewFromConfig)
			if err != nil {
				return nil, err
			}
			// arn:aws:ecs:region:account:service/cluster/name
			parts := strings.Split(args["service_arn"].String(), ":")
			if len(parts) != 6 || parts[3] != scope.Region {
				return nil, &modules.Error{Class: modules.Invalid, Code: "service_arn",
					Message: "is no ARN of a service in " + scope.Region + ": say in which region it is"}
			}
			in := &ecs.UpdateServiceInput{Service: args["service_arn"].Ptr(), ForceNewDeployment: true}
			if path := strings.Split(parts[5], "/"); len(path) == 3 {
				in.Cluster = &path[1]
			}
			out, err := client.UpdateService(ctx, in)
			if err != nil {
				return nil, err
			}
			row := modules.Row{"arn": modules.TextPtr(out.Service.ServiceArn),
				"status": modules.TextPtr(out.Service.Status), "message": modules.Null}
			if len(out.Service.Deployments) > 0 {
				row["message"] = modules.TextPtr(out.Service.Deployments[0].Id)
			}
			return []modules.Row{row}, nil
		},
	}
}
