package awscodebuild

import (
	"context"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/codebuild"
	cbtypes "github.com/aws/aws-sdk-go-v2/service/codebuild/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// newBuild declares the table codebuild_build_list.
func newBuild(c *aws.Clients) *declare.Resource {
	return declare.New(c, declare.Table[cbtypes.Build]{
		Name: "codebuild_build_list",
		Doc: "Builds of the last year. codebuild_start_build starts one, which is what IaSQL's table " +
			"codebuild_build_import did. " +
			"Deleting a row deletes what AWS keeps of the build, which has to have ended.",
		Service: service,
		Columns: []declare.Column{
			declare.ID("aws_id", "Id", "The build's id: the project's name, a colon and a UUID."),
			declare.Text("project_name", "ProjectName",
				"The project it is of. Builds stay when their project is deleted, so that this is no reference as "+
					"IaSQL's was.").Computed(),
			declare.Integer("build_number", "BuildNumber",
				"Which build of the project it is, counted from 1.").Computed(),
			declare.Text("build_status", "BuildStatus",
				"IN_PROGRESS, SUCCEEDED, FAILED, FAULT, TIMED_OUT or STOPPED.").Computed(),
			declare.Text("source_version", "SourceVersion", "The branch, tag or commit that was asked for.").Computed(),
			declare.Time("start_time", "StartTime", "When it was started."),
			declare.Time("end_time", "EndTime", "When it ended; NULL while it runs."),
			declare.ARN("arn", "Arn"),
		},

		EventMappings: modules.EventMappings("codebuild.amazonaws.com",
			modules.Response("build.id", "StartBuild", "StopBuild", "RetryBuild"),
			modules.Request("ids", "BatchDeleteBuilds"),
		),
		List: declare.Pages(codebuild.NewListBuildsPaginator, "Ids").Names("aws_id", ""),
		Get:  declare.Batch(declare.Call((*codebuild.Client).BatchGetBuilds), "Ids", "aws_id", most, "Builds"),
		Delete: declare.Call((*codebuild.Client).BatchDeleteBuilds,
			declare.Fill(func(s *declare.Step, in *codebuild.BatchDeleteBuildsInput) {
				in.Ids = []string{s.Have["aws_id"].String()}
			}),
			declare.Checked(func(out *codebuild.BatchDeleteBuildsOutput) error {
				if len(out.BuildsNotDeleted) == 0 { // one was named
					return nil
				}
				return &modules.Error{Class: modules.Dependency,
					Code:    awssdk.ToString(out.BuildsNotDeleted[0].StatusCode),
					Message: "the build could not be deleted; one that is in progress has to end first"}
			})),
		Going: declare.In("build_status"), // never: but one that is not deleted because it is gone is let go
	})
}

// start is the function codebuild_start_build.
func start(c *aws.Clients) *modules.Function {
	return &modules.Function{
		Name:   "codebuild_start_build",
		Doc:    "Starts a build of a project. codebuild_build_list shows it from the next cycle on.",
		Sample: `SELECT aws_id, build_status FROM codebuild_start_build('app', source_version => 'main')`,
		Given: `INSERT INTO iam_role (role_name, assume_role_policy_document) VALUES ('builder',
    '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "codebuild.amazonaws.com"}, "Action": "sts:AssumeRole"}]}');
INSERT INTO codebuild_project (project_name, source_type, source_location, service_role_name) VALUES ('app', 'GITHUB', 'https://github.com/example/app', 'builder')`,
		Table: "codebuild_project",
		Right: "UPDATE",
		Parameters: []modules.Parameter{
			{Name: "project_name", Type: modules.TypeText, Names: "project_name", Doc: "The project."},
			{Name: "source_version", Type: modules.TypeText, Default: "NULL",
				Doc: "The branch, tag or commit; the project's if left out."},
		},
		Returns: startedBuild,
		Call: func(ctx context.Context, i modules.Invocation) ([]modules.Row, error) {
			c, scope, args := c.Permitted(i.Permit), i.Scope, i.Arguments
			return startBuild(ctx, c, scope,
				&codebuild.StartBuildInput{ProjectName: args["project_name"].Ptr(),
					SourceVersion: args["source_version"].Ptr()})
		},
	}
}

// startedBuild is what functions return that start a build.
var startedBuild = []modules.Result{
	{Name: "aws_id", Type: modules.TypeText, Doc: "The build's id."},
	{Name: "build_status", Type: modules.TypeText, Doc: "IN_PROGRESS."},
}

// startBuild starts a build, and returns it as startedBuild says.
func startBuild(ctx context.Context, c *aws.Clients, scope modules.Scope,
	in *codebuild.StartBuildInput) ([]modules.Row, error) {
	client, err := declare.Client(ctx, c, scope, codebuild.NewFromConfig)
	if err != nil {
		return nil, err
	}
	out, err := client.StartBuild(ctx, in)
	if err != nil {
		return nil, err
	}
	return []modules.Row{{"aws_id": modules.TextPtr(out.Build.Id),
		"build_status": modules.Text(string(out.Build.BuildStatus))}}, nil
}
