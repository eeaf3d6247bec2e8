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

// newTaskDefinition declares the table task_definition. The columns follow the
// page RegisterTaskDefinition of the Amazon ECS API Reference.
func newTaskDefinition(c *aws.Clients) *declare.Resource {
	role := func(name, member, doc string) declare.Column {
		return declare.Ref(name, member, "iam_role", "role_name",
			doc).ByKey().CreateOnly().As(declare.LastPart("/")).WithARN(4)
	}
	text := func(name, member, doc string) declare.Column {
		return declare.Text(name, "TaskDefinition."+member, doc).In(member).CreateOnly().OptionalComputed().Since(3)
	}
	var r *declare.Resource
	r = declare.New(c, declare.Table[ecs.DescribeTaskDefinitionOutput]{
		Name: "task_definition",
		Doc: "Revisions of task definitions: which containers run together, and how. Deleting one deregisters it; " +
			"what runs goes on. " +
			"Its containers are the column container_definitions, and not IaSQL's table container_definition, since " +
			"a revision is registered with all of them and never changes.",
		Service:  declare.Service(ecs.NewFromConfig),
		Creation: modules.ByTag,
		Columns: []declare.Column{
			declare.ID("task_definition_arn", "TaskDefinition.TaskDefinitionArn",
				"Its Amazon Resource Name (ARN), with the revision; NULL until it is registered.").In("TaskDefinition",
				"ResourceArn"),
			declare.Text("family", "TaskDefinition.Family",
				"The name that its revisions have in common.").In("Family").Required().CreateOnly().Matches(
				"^[A-Za-z0-9_-]{1,255}$"),
			declare.Integer("revision", "TaskDefinition.Revision",
				"Which revision of the family it is, counted from 1.").Computed(),
			declare.Text("status", "TaskDefinition.Status",
				"ACTIVE. Revisions that have been deregistered are not shown.").Computed(),
			declare.Integer("cpu", "TaskDefinition.Cpu",
				"Its processor units, of which a vCPU has 1024 (with memory, IaSQL's cpu_memory). Needed for Fargate.").
				In("Cpu").CreateOnly().Check("cpu > 0"),
			declare.Integer("memory", "TaskDefinition.Memory",
				"Its memory in MiB. Needed for Fargate.").In("Memory").CreateOnly().Check("memory > 0"),
			declare.Text("network_mode", "TaskDefinition.NetworkMode",
				"How its containers are networked; Fargate needs awsvpc, which is the default.").
				In("NetworkMode").Default("'awsvpc'").CreateOnly().OneOf("awsvpc", "bridge", "host", "none"),
			declare.Texts("requires_compatibilities", "TaskDefinition.RequiresCompatibilities",
				"Where it has to be able to run: FARGATE, EC2, EXTERNAL. Default FARGATE.").
				In("RequiresCompatibilities").Initially(`'{FARGATE}'`).CreateOnly().Unordered().EmptyIsNull(),
			text("cpu_architecture", "RuntimePlatform.CpuArchitecture",
				"The processors that it runs on: X86_64 (AWS's default) or ARM64.").OneOf("X86_64", "ARM64"),
			text("operating_system_family", "RuntimePlatform.OperatingSystemFamily",
				"The operating system that it runs on, such as LINUX (AWS's default for Fargate) or "+
					"WINDOWS_SERVER_2022_CORE."),
			declare.Integer("ephemeral_storage", "TaskDefinition.EphemeralStorage.SizeInGiB",
				"The size of its tasks' own storage in GiB, from 21 to 200; Fargate's default, 20, if left out.").
				In("EphemeralStorage.SizeInGiB").CreateOnly().OptionalComputed().Since(3).Between(21, 200),
			structure[[]ecstypes.Volume]("volumes", "Volumes",
				`What its containers can mount: [{"name": "data", "efsVolumeConfiguration": {"fileSystemId": "fs-0a1b2c3d"}}].`, "array", completeVolumes),
			text("pid_mode", "PidMode", "Whose processes its containers see: those of the host or of the task; each "+
				"its own if left out.").OneOf("host", "task"),
			text("ipc_mode", "IpcMode", "Whose inter-process communication its containers share: the host's, the "+
				"task's or none.").OneOf("host", "task", "none"),
			structure[[]ecstypes.TaskDefinitionPlacementConstraint]("placement_constraints", "PlacementConstraints",
				`Where on EC2 it may be placed: [{"type": "memberOf", "expression": "attribute:ecs.instance-type =~ t3.*"}].`, "array", nil),
			structure[ecstypes.ProxyConfiguration]("proxy_configuration", "ProxyConfiguration",
				"The App Mesh proxy of its tasks.", "object",
				func(p *ecstypes.ProxyConfiguration) { byName(p.Properties) }),
			declare.Bool("enable_fault_injection", "TaskDefinition.EnableFaultInjection",
				"Whether its tasks accept faults that are injected into them; AWS's default, false, if left out.").
				In("EnableFaultInjection").CreateOnly().OptionalComputed().Since(3),
			role("task_role_name", "TaskDefinition.TaskRoleArn", "The role that its containers act as."),
			role("execution_role_name", "TaskDefinition.ExecutionRoleArn",
				"The role that pulls its images, reads its secrets and writes its logs."),
			declare.JSON("container_definitions", "TaskDefinition.ContainerDefinitions",
				`Its containers, as in the API: [{"name": "web", "image": "nginx", "portMappings": [{"containerPort": 80}]}]. `+
					`With network_mode awsvpc or host, a hostPort is left out or the containerPort; with another it is given, 0 for any free port.`).
				In("ContainerDefinitions").Required().CreateOnly().Same(sameContainers).Check(hostPorts).As(
				api[[]ecstypes.ContainerDefinition]("container_definitions")),
			declare.Tags("Tags", (*ecs.Client).TagResource, (*ecs.Client).UntagResource),
		},
		Published: declare.Published{Type: "AWS::ECS::TaskDefinition", Since: 5,
			Columns: map[string]string{"ExecutionRoleArn": "execution_role_name", "TaskRoleArn": "task_role_name"},
			Without: map[string]string{"InferenceAccelerators": declare.Deprecated},
		},

		Kind: "task-definition/",
		EventMappings: modules.EventMappings("ecs.amazonaws.com",
			modules.Response("taskDefinition.taskDefinitionArn", "RegisterTaskDefinition", "DeregisterTaskDefinition"),
			modules.Response("taskDefinitions.taskDefinitionArn", "DeleteTaskDefinitions"),
		),
		List: declare.Pages(ecs.NewListTaskDefinitionsPaginator, "TaskDefinitionArns",
			declare.With(&ecs.ListTaskDefinitionsInput{MaxResults: awssdk.Int32(100),
				Status: ecstypes.TaskDefinitionStatusActive})).Names("task_definition_arn", ""),
		Get: declare.One(declare.Call((*ecs.Client).DescribeTaskDefinition, declare.Failed(missing),
			declare.With(
				&ecs.DescribeTaskDefinitionInput{Include: []ecstypes.TaskDefinitionField{
					ecstypes.TaskDefinitionFieldTags}})), ""),
		Gone: func(out *ecs.DescribeTaskDefinitionOutput) bool {
			return out.TaskDefinition.Status != ecstypes.TaskDefinitionStatusActive
		},
		Row: func(_ context.Context, _ *declare.Step, out *ecs.DescribeTaskDefinitionOutput, row modules.Row) error {
			return sayHostPorts(out.TaskDefinition, row)
		},
		Create: declare.Call((*ecs.Client).RegisterTaskDefinition,
			declare.Edit(func(ctx context.Context, s *declare.Step, in *ecs.RegisterTaskDefinitionInput) (err error) {
				if in.TaskRoleArn, err = aws.RoleARN(ctx, s.Clients, s.Scope, s.Want["task_role_name"]); err != nil {
					return err
				}
				in.ExecutionRoleArn, err = aws.RoleARN(ctx, s.Clients, s.Scope, s.Want["execution_role_name"])
				return err
			})),
		Delete: declare.Call((*ecs.Client).DeregisterTaskDefinition),
		DeleteBy: func(ctx context.Context, s *declare.Step) error {
			err := s.Delete(ctx)
			if err == nil {
				return nil
			}
			// Deregistering what is not active is refused in words.
			if all, failed := r.Get(ctx, modules.GetRequest{Scope: s.Scope,
				Identities: []modules.Row{s.Have}}); failed == nil && len(all) == 0 {
				return nil
			}
			return err
		},
	})
	return r
}

// missing gives the error that there is no such revision, which ECS says in
// words, its class.
func missing(_ context.Context, _ *declare.Step, err error) error {
	if aws.HasCode(err, "ClientException") &&
		strings.Contains(strings.ToLower(err.Error()), "unable to describe task definition") {
		return &modules.Error{Class: modules.NotFound, Code: "ClientException", Message: err.Error(), Err: err}
	}
	return err
}
