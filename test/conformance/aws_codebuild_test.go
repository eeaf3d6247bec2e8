package conformance

var awsCodeBuild = Module{
	Name: "aws_codebuild",
	Setup: []string{`INSERT INTO iam_role (role_name, assume_role_policy_document) VALUES ('builder', '` +
		assumedBy("codebuild") + `')`},
	Tables: []Table{
		{
			Name: "codebuild_project", Identity: "project_name", ID: "project-$n",
			Insert: `(project_name, source_type, source_location, service_role_name)
				VALUES ('$id', 'GITHUB', 'https://github.com/example/app', 'builder')`,
			See: `codebuild batch-get-projects --names $id --query projects`,
			Create: run(`codebuild create-project --name $id --source type=GITHUB,location=https://github.com/example/app --artifacts type=NO_ARTIFACTS
				--environment type=LINUX_CONTAINER,image=aws/codebuild/standard:7.0,computeType=BUILD_GENERAL1_SMALL
				--service-role arn:aws:iam::$account:role/builder --timeout-in-minutes 60 --queued-timeout-in-minutes 480`),
			Delete:  run(`codebuild delete-project --name $id`),
			Replace: Replace{Column: "project_name", SQL: `'project-other'`, ID: "project-other"},
			Skip: skipChanges("moto: no UpdateProject", "description", "source_type", "source_location",
				"source_version", "build_spec", "image", "compute_type", "environment_type",
				"environment_variables", "privileged_mode", "artifacts", "timeout_in_minutes",
				"queued_timeout_in_minutes", "service_role_name", "tags"),
		},
		{Name: "source_credentials_list",
			Missing: "moto: no ListSourceCredentials, nor any other call of source credentials"},
		{
			Name: "codebuild_build_list", Identity: "aws_id", See: `codebuild list-builds --query ids`,
			Skip: skipAll("moto: no BatchDeleteBuilds, and BatchGetBuilds makes up another end of a build each time",
				createBySQL, createByCLI, deleteByCLI, deleteBySQL),
		},
	},
}

// assumedBy is the policy of a role that a service assumes.
func assumedBy(service string) string {
	return `{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "` + service +
		`.amazonaws.com"}, "Action": "sts:AssumeRole"}]}`
}

// skipChanges skips the changes of columns, from both sides.
func skipChanges(why string, columns ...string) map[string]string {
	skip := map[string]string{}
	for _, column := range columns {
		skip[column+" by SQL"], skip[column+" by the CLI"] = why, why
	}
	return skip
}
