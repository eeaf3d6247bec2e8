package conformance

const noDeploy = "moto: no UpdateApplication, DeleteApplication, UpdateDeploymentGroup and DeleteDeploymentGroup"

var awsCodeDeploy = Module{
	Name: "aws_codedeploy",
	CLI: []string{
		`iam create-role --role-name deployer --assume-role-policy-document '` + assumedBy("codedeploy") + `'`,
		`deploy create-application --application-name home --compute-platform Server`,
		`deploy create-deployment-group --application-name home --deployment-group-name home --service-role-arn arn:aws:iam::$account:role/deployer`,
	},
	Tables: []Table{
		{
			Name: "codedeploy_application", Identity: "name", ID: "app-$n",
			Insert: `(name) VALUES ('$id')`,
			See:    `deploy get-application --application-name $id`,
			Create: run(`deploy create-application --application-name $id --compute-platform Server`),
			Change: []Change{codeDeployTags("application:$id")},
			Skip: skipAll(noDeploy, deleteBySQL, deleteByCLI, replace, move, track, "name replaced",
				"compute_platform replaced"),
		},
		{
			Name: "codedeploy_deployment_group", Identity: "name", ID: "group-$n",
			Insert: `(application_id, name, role_name, deployment_config_name) SELECT id, '$id', 'deployer', 'CodeDeployDefault.OneAtATime' FROM codedeploy_application WHERE name = 'home'`,
			See:    `deploy get-deployment-group --application-name home --deployment-group-name $id`,
			Create: run(`deploy create-deployment-group --application-name home --deployment-group-name $id --service-role-arn arn:aws:iam::$account:role/deployer --deployment-config-name CodeDeployDefault.OneAtATime`),
			Change: []Change{codeDeployTags("deploymentgroup:home/$id")},
			Skip: skipAll(noDeploy, deleteBySQL, deleteByCLI, replace, move, track, "application_id replaced",
				"name replaced", "deployment_config_name by SQL", "deployment_config_name by the CLI",
				"deployment_style by SQL", "deployment_style by the CLI", "ec2_tag_filters by SQL",
				"ec2_tag_filters by the CLI", "auto_scaling_groups by SQL", "auto_scaling_groups by the CLI",
				"role_name by SQL", "role_name by the CLI"),
		},
		{
			Name: "codedeploy_deployment", Identity: "deployment_id", Find: `description = '$n'`,
			See:    `deploy list-deployments --query deployments[?@==\'$id\']`,
			Create: run(`deploy create-deployment --application-name home --deployment-group-name home --description $n --s3-location bucket=releases,key=app.zip,bundleType=zip --query deploymentId`),
			Skip:   skipAll("aws: deployments are not deleted", deleteBySQL, deleteByCLI, track),
		},
	},
}

func codeDeployTags(resource string) Change {
	arn := `arn:aws:codedeploy:us-east-1:$account:` + resource
	return tags(`deploy list-tags-for-resource --resource-arn `+arn+` --query Tags`,
		`deploy tag-resource --resource-arn `+arn+` --tags Key=by,Value=cli`)
}
