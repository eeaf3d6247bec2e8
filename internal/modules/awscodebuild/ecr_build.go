package awscodebuild

import (
	"context"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/codebuild"
	cbtypes "github.com/aws/aws-sdk-go-v2/service/codebuild/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// imageSpec builds an image and pushes it (page "Build specification reference" of the AWS CodeBuild
// User Guide). What the caller has given is in variables, and never text of a command. The
// registry of public images is logged in to in us-east-1 (page "Registry authentication" of the Amazon ECR Public User
// Guide).
const imageSpec = `version: 0.2
phases:
  pre_build:
    commands:
      - |
        case "$REPOSITORY_URI" in
          public.ecr.aws/*) aws ecr-public get-login-password --region us-east-1 ;;
          *) aws ecr get-login-password --region "$(echo "$REPOSITORY_URI" | cut -d . -f 4)" ;;
        esac | docker login --username AWS --password-stdin "${REPOSITORY_URI%%/*}"
  build:
    commands:
      - docker build --tag "$REPOSITORY_URI:$IMAGE_TAG" -- "$BUILD_PATH"
      - docker push "$REPOSITORY_URI:$IMAGE_TAG"
`

// buildImage is the function ecr_build.
func buildImage(c *aws.Clients) *modules.Function {
	return &modules.Function{
		Name: "ecr_build",
		Doc: "Builds a container image with a project, from what the project's source is or another, and pushes it " +
			"to a repository. The project says where that " +
			"runs; its role must be allowed to push. codebuild_build_list shows the build from the next cycle on, " +
			"and how it ended.",
		Given: `INSERT INTO iam_role (role_name, assume_role_policy_document) VALUES ('image-builder',
    '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "codebuild.amazonaws.com"}, "Action": "sts:AssumeRole"}]}');
INSERT INTO codebuild_project (project_name, source_type, source_location, service_role_name) VALUES ('images', 'GITHUB', 'https://github.com/example/app', 'image-builder')`,
		Sample: `SELECT aws_id, build_status FROM ecr_build('images', '123456789012.dkr.ecr.us-east-1.amazonaws.com/app', build_path => 'server', image_tag => 'v1')`,
		Table:  "codebuild_project",
		Right:  "UPDATE",
		Parameters: []modules.Parameter{
			{Name: "project_name", Type: modules.TypeText, Names: "project_name", Doc: "The project that builds."},
			{Name: "repository_uri", Type: modules.TypeText,
				Doc: "Where the image goes: repository_uri of a row of repository or public_repository."},
			{Name: "build_path", Type: modules.TypeText, Default: "'.'",
				Doc: "The folder of the Dockerfile, within the source."},
			{Name: "image_tag", Type: modules.TypeText, Default: "'latest'", Doc: "The image's tag."},
			{Name: "source_version", Type: modules.TypeText, Default: "NULL",
				Doc: "The branch, tag or commit; the project's if left out."},
			{Name: "source_location", Type: modules.TypeText, Default: "NULL",
				Doc: "Another source of the project's source_type, such as https://github.com/example/other; the " +
					"project's if left out."},
		},
		Returns: startedBuild,
		Call: func(ctx context.Context, i modules.Invocation) ([]modules.Row, error) {
			c, scope, args := c.Permitted(i.Permit), i.Scope, i.Arguments
			in := &codebuild.StartBuildInput{
				ProjectName: args["project_name"].Ptr(), SourceVersion: args["source_version"].Ptr(),
				SourceLocationOverride: args["source_location"].Ptr(),
				BuildspecOverride:      awssdk.String(imageSpec),
				PrivilegedModeOverride: awssdk.Bool(true), // a build of images needs it (page StartBuild)
			}
			for name, parameter := range map[string]string{"REPOSITORY_URI": "repository_uri",
				"BUILD_PATH": "build_path", "IMAGE_TAG": "image_tag"} {
				in.EnvironmentVariablesOverride = append(in.EnvironmentVariablesOverride,
					cbtypes.EnvironmentVariable{Name: &name, Value: args[parameter].Ptr(),
						Type: cbtypes.EnvironmentVariableTypePlaintext})
			}
			return startBuild(ctx, c, scope, in)
		},
	}
}
