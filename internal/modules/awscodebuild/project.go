package awscodebuild

import (
	"cmp"
	"context"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/codebuild"
	cbtypes "github.com/aws/aws-sdk-go-v2/service/codebuild/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// newProject declares the table codebuild_project. The limits are those of the
// page CreateProject of the AWS CodeBuild API Reference. UpdateProject leaves
// alone what its input leaves out, but for the members of a structure: what no
// column shows of the environment and the source is sent as it is (keepRest).
func newProject(c *aws.Clients) *declare.Resource {
	none := modules.Text("")
	role := declare.Heals("sts:AssumeRole") // a role that has just been made
	return declare.New(c, declare.Table[cbtypes.Project]{
		Name: "codebuild_project",
		Doc: "Projects that build software. What AWS keeps of a project and no column shows stays as it is when " +
			"the project is changed. Deleting one keeps its builds.",
		Service: service,
		Columns: []declare.Column{
			declare.Name("project_name", "Name",
				"The project's name: 2 to 150 letters, digits, hyphens and underscores.").Matches(
				`^[A-Za-z0-9][A-Za-z0-9_-]{1,149}$`),
			declare.Text("description", "Description", "What it builds, up to 255 characters.").Length(1,
				255).Unset(none),
			declare.Text("source_type", "Source.Type",
				"Where the source is: GITHUB, S3, CODEPIPELINE (a pipeline brings it), NO_SOURCE or one of the "+
					"others that AWS has.").
				Required().OneOf(declare.Values(cbtypes.SourceType("").Values())...),
			declare.Text("source_location", "Source.Location",
				"Where it is exactly: the address of a repository, or bucket/path. NULL for CODEPIPELINE and "+
					"NO_SOURCE."),
			declare.Text("source_version", "SourceVersion",
				"The branch, tag or commit. NULL: the newest of the default branch.").Unset(none),
			declare.Text("build_spec", "Source.Buildspec",
				"What is done: a buildspec, or the path of one in the source. NULL: buildspec.yml there."),
			declare.Text("image", "Environment.Image",
				"The image builds run in. Default aws/codebuild/standard:7.0 (IaSQL's was 6.0).").Default(
				"'aws/codebuild/standard:7.0'").Length(1, 1000),
			declare.Text("compute_type", "Environment.ComputeType",
				"How large the machine is. Default BUILD_GENERAL1_SMALL.").
				Default("'BUILD_GENERAL1_SMALL'").OneOf(declare.Values(cbtypes.ComputeType("").Values())...),
			declare.Text("environment_type", "Environment.Type",
				"Which kind of machine it is. Default LINUX_CONTAINER.").
				Default("'LINUX_CONTAINER'").OneOf(declare.Values(cbtypes.EnvironmentType("").Values())...),
			declare.JSON("environment_variables", "Environment.EnvironmentVariables",
				`What builds find in their environment: [{"Name": "STAGE", "Value": "test"}]. The Type of one can be PARAMETER_STORE or SECRETS_MANAGER, whose Value is then a name. Everybody who reads the project reads the others.`).
				Check("jsonb_typeof(environment_variables) = 'array'").EmptyIsNull().Same(declare.Alike(plain)),
			declare.Bool("privileged_mode", "Environment.PrivilegedMode",
				"Whether builds can run Docker. Default false, as in AWS (IaSQL's was true).").Default("false"),
			declare.JSON("artifacts", "Artifacts",
				`What becomes of the output: {"Type": "S3", "Location": "bucket", "Name": "output"}. NULL: nothing, or what the pipeline does with it.`).
				As(artifacts).Same(declare.Alike(packed)),
			declare.Integer("timeout_in_minutes", "TimeoutInMinutes",
				"After how many minutes a build is stopped, from 5 to 2160. Default 60.").Default("60").Between(5,
				2160),
			declare.Integer("queued_timeout_in_minutes", "QueuedTimeoutInMinutes",
				"How many minutes a build waits for its turn, from 5 to 480. Default 480.").Default("480").Between(5,
				480),
			declare.Role("service_role_name", "ServiceRole",
				"The role as which builds run, which codebuild.amazonaws.com may assume. Needed to create a project.").
				OptionalComputed().WithARN(2),
			declare.ARN("arn", "Arn"),
			// see setTags
			declare.TagsBy("Tags", declare.Call((*codebuild.Client).UpdateProject),
				declare.Call((*codebuild.Client).UpdateProject)),
		},
		DestroyBeforeCreate: true,

		EventMappings: modules.EventMappings("codebuild.amazonaws.com",
			modules.Request("projectArn", "UpdateProjectVisibility"),
			modules.Request("projectName", "CreateWebhook", "UpdateWebhook", "DeleteWebhook"),
		),
		List: declare.Pages(codebuild.NewListProjectsPaginator, "Projects").Names("project_name", ""),
		Get: declare.Batch(declare.Call((*codebuild.Client).BatchGetProjects), "Names", "project_name", most,
			"Projects"),
		Create: declare.Call((*codebuild.Client).CreateProject, role, declare.Edit(complete)),
		Updates: []declare.Update{
			declare.By(setTags, modules.ColumnTags),
			declare.Replace(declare.Call((*codebuild.Client).UpdateProject, role, declare.Edit(keepRest))),
		},
		Delete: declare.Call((*codebuild.Client).DeleteProject),
	})
}

// complete says what becomes of the output where the column does not.
func complete(_ context.Context, _ *declare.Step, in *codebuild.CreateProjectInput) error {
	in.Artifacts = orNone(in.Artifacts, in.Source)
	return nil
}

func orNone(a *cbtypes.ProjectArtifacts, source *cbtypes.ProjectSource) *cbtypes.ProjectArtifacts {
	switch {
	case a != nil:
		return a
	case source.Type == cbtypes.SourceTypeCodepipeline:
		return &cbtypes.ProjectArtifacts{Type: cbtypes.ArtifactsTypeCodepipeline}
	}
	return &cbtypes.ProjectArtifacts{Type: cbtypes.ArtifactsTypeNoArtifacts}
}

// keepRest adds to an update what no column shows of the environment and the
// source, which are replaced as a whole.
func keepRest(ctx context.Context, s *declare.Step, in *codebuild.UpdateProjectInput) error {
	in.Artifacts = orNone(in.Artifacts, in.Source)
	out, err := declare.ClientOf[*codebuild.Client](s).BatchGetProjects(ctx,
		&codebuild.BatchGetProjectsInput{Names: []string{*in.Name}})
	if err != nil || len(out.Projects) == 0 {
		return err // the update then says that there is no project
	}
	if env := out.Projects[0].Environment; env != nil {
		env.Image, env.ComputeType, env.Type = in.Environment.Image, in.Environment.ComputeType, in.Environment.Type
		env.EnvironmentVariables, env.PrivilegedMode = in.Environment.EnvironmentVariables,
			in.Environment.PrivilegedMode
		in.Environment = env
	}
	if source := out.Projects[0].Source; source != nil && source.Type == in.Source.Type {
		source.Location, source.Buildspec = in.Source.Location, in.Source.Buildspec
		in.Source = source
	}
	return nil
}

// setTags replaces the tags, which have no calls of their own.
func setTags(ctx context.Context, s *declare.Step) error {
	tags := aws.TagType[cbtypes.Tag]{Join: func(key, value *string) cbtypes.Tag {
		return cbtypes.Tag{Key: key, Value: value}
	}}
	_, err := declare.ClientOf[*codebuild.Client](s).UpdateProject(ctx, &codebuild.UpdateProjectInput{
		Name: s.Have["project_name"].Ptr(), Tags: tags.List(aws.TagsOf(s.Want, "")),
	})
	return err
}

// artifacts are NULL where there is no output, or a pipeline takes it.
var artifacts = declare.Reads(func(member any) (modules.Value, error) {
	a := member.(cbtypes.ProjectArtifacts)
	if a.Type != cbtypes.ArtifactsTypeS3 {
		return modules.Null, nil
	}
	return aws.Document(a)
})

// packed fills in what AWS does about artifacts that the document leaves out
// (page ProjectArtifacts).
func packed(a *cbtypes.ProjectArtifacts) {
	a.NamespaceType = cmp.Or(a.NamespaceType, cbtypes.ArtifactNamespaceNone)
	a.Packaging = cmp.Or(a.Packaging, cbtypes.ArtifactPackagingNone)
	declare.Or(&a.EncryptionDisabled, false)
	declare.Or(&a.OverrideArtifactName, false)
}

// plain fills in the type of environment variables, whose order means nothing.
func plain(variables *[]cbtypes.EnvironmentVariable) {
	for i := range *variables {
		if v := &(*variables)[i]; v.Type == "" {
			v.Type = cbtypes.EnvironmentVariableTypePlaintext
		}
	}
	slices.SortFunc(*variables, func(x, y cbtypes.EnvironmentVariable) int {
		return strings.Compare(awssdk.ToString(x.Name), awssdk.ToString(y.Name))
	})
}
