package conformance

import "strings"

var awsCodePipeline = Module{
	Name: "aws_codepipeline",
	Setup: []string{`INSERT INTO iam_role (role_name, assume_role_policy_document)
		SELECT name, '` + assumedBy("codepipeline") +
		`' FROM unnest('{releaser,other-releaser,third-releaser}'::text[]) name`},
	Tables: []Table{{
		Name: "pipeline_declaration", Identity: "name", ID: "pipeline-$n",
		Insert: `(name, artifact_store, stages, service_role_name) VALUES ('$id', '{"Type": "S3", "Location": "artifacts"}', '` + stages("app.zip") + `', 'releaser')`,
		See:    `codepipeline get-pipeline --name $id`,
		Create: run(`codepipeline create-pipeline --pipeline '` + pipeline("releaser", "artifacts", "app.zip", "") +
			`'`),
		Delete: run(`codepipeline delete-pipeline --name $id`),
		Change: []Change{
			pipelineChange("artifact_store", `'{"Type": "S3", "Location": "sql"}'`, "artifactStore.location", "sql",
				`'{"Type": "S3", "Location": "cli"}'`),
			pipelineChange("stages", `'`+stages("sql.zip")+`'`, "stages[0].actions[0].configuration.S3ObjectKey",
				"sql.zip",
				`'`+strings.ReplaceAll(stages("cli.zip"), `"ActionTypeId"`, `"RunOrder": 1, "ActionTypeId"`)+`'`),
			pipelineChange("service_role_name", `'other-releaser'`, "roleArn",
				`arn:aws:iam::$account:role/other-releaser`, `'third-releaser'`),
			pipelineChange("pipeline_type", `'V2'`, "pipelineType", "", `'V1'`),
			pipelineChange("execution_mode", `'QUEUED'`, "executionMode", "", `'PARALLEL'`),
			pipelineChange("triggers", `'[{"ProviderType": "CodeStarSourceConnection", "GitConfiguration": {"SourceActionName": "Source"}}]'`, "triggers[0].gitConfiguration.sourceActionName", "Source",
				`'[{"ProviderType": "CodeStarSourceConnection", "GitConfiguration": {"SourceActionName": "Other"}}]'`),
			pipelineChange("variables", `'[{"Name": "BY", "DefaultValue": "sql"}]'`, "variables[0].defaultValue", "sql",
				`'[{"Name": "BY", "DefaultValue": "cli"}]'`),
			tags(`codepipeline list-tags-for-resource --resource-arn $arn --query tags`,
				`codepipeline tag-resource --resource-arn $arn --tags key=by,value=cli`),
		},
		Replace: Replace{Column: "name", SQL: `'pipeline-other'`, ID: "pipeline-other"},
		Skip: map[string]string{
			"artifact_stores by SQL":     "aws: a pipeline has either one store or several, and TestPipelineLifecycle goes from one to several",
			"artifact_stores by the CLI": "aws: a pipeline has either one store or several, and TestPipelineLifecycle goes from one to several",
			// TestTransitions in internal/modules/awscodepipeline has a fake of it
			"disable_inbound_stage_transitions by SQL":     "moto: there is no DisableStageTransition",
			"disable_inbound_stage_transitions by the CLI": "moto: there is no DisableStageTransition",
		},
	}},
}

// pipelineChange is a change of a declaration, which the CLI replaces as a whole.
func pipelineChange(column, sql, member, want, then string) Change {
	return Change{
		column, sql, `codepipeline get-pipeline --name $id --query pipeline.` + member, want,
		run(`codepipeline update-pipeline --pipeline '` +
			pipeline("third-releaser", "cli", "cli.zip", `"pipelineType": "V1", "executionMode": "PARALLEL",
			"triggers": [{"providerType": "CodeStarSourceConnection", "gitConfiguration": {"sourceActionName": "Other"}}], "variables": [{"name": "BY", "defaultValue": "cli"}],`) + `'`), then,
	}
}

// stages are those of a pipeline that releases what is put into a bucket once
// somebody approves of it.
func stages(key string) string {
	return `[{"Name": "Source", "Actions": [{"Name": "Source", "ActionTypeId": {"Category": "Source", "Owner": "AWS", "Provider": "S3", "Version": "1"}, "Configuration": {"S3Bucket": "b", "S3ObjectKey": "` + key +
		`"}, "OutputArtifacts": [{"Name": "source"}]}]}, {"Name": "Approval", "Actions": [{"Name": "Approval", "ActionTypeId": {"Category": "Approval", "Owner": "AWS", "Provider": "Manual", "Version": "1"}}]}]`
}

// pipeline is the declaration of such a pipeline as the aws command takes it.
func pipeline(role, bucket, key, more string) string {
	lower := strings.NewReplacer(`"Name"`, `"name"`, `"Actions"`, `"actions"`, `"ActionTypeId"`, `"actionTypeId"`,
		`"Category"`, `"category"`, `"Owner"`, `"owner"`,
		`"Provider"`, `"provider"`, `"Version"`, `"version"`, `"Configuration"`, `"configuration"`, `"OutputArtifacts"`,
		`"outputArtifacts"`)
	return `{"name": "$id", "roleArn": "arn:aws:iam::$account:role/` + role +
		`", "artifactStore": {"type": "S3", "location": "` + bucket + `"}, ` + more + ` "stages": ` +
		lower.Replace(stages(key)) + `}`
}
