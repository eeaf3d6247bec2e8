package awsecsfargate

import (
	"context"
	"encoding/json"
	"slices"
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
		return declare.Ref(name, member, "iam_role", "role_name", doc).ByKey().CreateOnly().As(declare.LastPart("/"))
	}
	var r *declare.Resource
	r = declare.New(c, declare.Table[ecs.DescribeTaskDefinitionOutput]{
		Name: "task_definition",
		Doc: "Revisions of task definitions: which containers run together, and how. Deleting one deregisters it; what runs goes on. " +
			"Its containers are the column container_definitions, and not IaSQL's table container_definition, since a revision is registered with all of them and never changes.",
		Service:  declare.Service(ecs.NewFromConfig),
		Creation: modules.ByTag,
		Columns: []declare.Column{
			declare.ID("task_definition_arn", "TaskDefinition.TaskDefinitionArn", "Its Amazon Resource Name (ARN), with the revision; NULL until it is registered.").In("TaskDefinition", "ResourceArn"),
			declare.Text("family", "TaskDefinition.Family", "The name that its revisions have in common.").In("Family").Required().CreateOnly().Matches("^[A-Za-z0-9_-]{1,255}$"),
			declare.Integer("revision", "TaskDefinition.Revision", "Which revision of the family it is, counted from 1.").Assigned(),
			declare.Text("status", "TaskDefinition.Status", "ACTIVE. Revisions that have been deregistered are not shown.").Assigned(),
			declare.Integer("cpu", "TaskDefinition.Cpu", "Its processor units, of which a vCPU has 1024 (with memory, IaSQL's cpu_memory). Needed for Fargate.").In("Cpu").CreateOnly().Check("cpu > 0"),
			declare.Integer("memory", "TaskDefinition.Memory", "Its memory in MiB. Needed for Fargate.").In("Memory").CreateOnly().Check("memory > 0"),
			declare.Text("network_mode", "TaskDefinition.NetworkMode", "How its containers are networked; Fargate needs awsvpc, which is the default.").
				In("NetworkMode").Default("'awsvpc'").CreateOnly().OneOf("awsvpc", "bridge", "host", "none"),
			declare.Texts("requires_compatibilities", "TaskDefinition.RequiresCompatibilities", "Where it has to be able to run: FARGATE, EC2, EXTERNAL. Default FARGATE.").
				In("RequiresCompatibilities").Initially(`'{FARGATE}'`).CreateOnly().Unordered().EmptyIsNull(),
			role("task_role_name", "TaskDefinition.TaskRoleArn", "The role that its containers act as."),
			role("execution_role_name", "TaskDefinition.ExecutionRoleArn", "The role that pulls its images, reads its secrets and writes its logs."),
			declare.JSON("container_definitions", "TaskDefinition.ContainerDefinitions", `Its containers, as in the API: [{"name": "web", "image": "nginx", "portMappings": [{"containerPort": 80}]}].`).
				In("ContainerDefinitions").Required().CreateOnly().Same(sameContainers).Check(`jsonb_typeof(container_definitions) = 'array'`).As(declare.Codec{
				Decode: spelled,
				Encode: func(v modules.Value) (any, error) { return parseContainers(v.String()) },
			}),
			declare.Tags("Tags", (*ecs.Client).TagResource, (*ecs.Client).UntagResource),
		},

		List: declare.Pages(ecs.NewListTaskDefinitionsPaginator, "TaskDefinitionArns",
			declare.With(&ecs.ListTaskDefinitionsInput{MaxResults: awssdk.Int32(100), Status: ecstypes.TaskDefinitionStatusActive})).Names("task_definition_arn", ""),
		Get: declare.One(declare.Call((*ecs.Client).DescribeTaskDefinition, declare.Failed(missing),
			declare.With(&ecs.DescribeTaskDefinitionInput{Include: []ecstypes.TaskDefinitionField{ecstypes.TaskDefinitionFieldTags}})), ""),
		Gone: func(out *ecs.DescribeTaskDefinitionOutput) bool {
			return out.TaskDefinition.Status != ecstypes.TaskDefinitionStatusActive
		},
		Create: declare.Call((*ecs.Client).RegisterTaskDefinition, declare.Edit(func(ctx context.Context, s *declare.Step, in *ecs.RegisterTaskDefinitionInput) (err error) {
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
			if rows, failed := r.Get(ctx, s.Scope, []modules.Row{s.Have}); failed == nil && len(rows) == 0 {
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
	if aws.HasCode(err, "ClientException") && strings.Contains(strings.ToLower(err.Error()), "unable to describe task definition") {
		return &modules.Error{Class: modules.NotFound, Code: "ClientException", Message: err.Error(), Err: err}
	}
	return err
}

// spelled returns a value of the SDK as the API spells it, without what it has
// filled in with nothing.
func spelled(value any) (modules.Value, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return modules.Null, err
	}
	var members any
	if err := json.Unmarshal(raw, &members); err != nil {
		return modules.Null, err
	}
	return modules.JSON(spell(members))
}

// spell gives the members of JSON objects, which the SDK's structs name after
// Go's fields, the API's names: those begin in lower case. Maps of users' own
// keys stay as they are. What is null, empty or no processor share is left out.
func spell(value any) any {
	switch v := value.(type) {
	case []any:
		for i := range v {
			v[i] = spell(v[i])
		}
	case map[string]any:
		out := map[string]any{}
		for key, member := range v {
			if key != "DockerLabels" && key != "Options" {
				member = spell(member)
			}
			name := strings.ToLower(key[:1]) + key[1:]
			if !nothing(name, member) {
				out[name] = member
			}
		}
		return out
	}
	return value
}

func nothing(name string, value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	case string:
		return v == "" && name != "value" // a variable can be empty
	case float64:
		return v == 0 && name == "cpu"
	}
	return false
}

// sameContainers reports whether two lists of containers are the same once
// what ECS fills in is: a container is essential, a port is TCP and the host's
// is the container's own.
func sameContainers(a, b string) bool {
	x, okX := normalContainers(a)
	y, okY := normalContainers(b)
	return okX && okY && x == y
}

func normalContainers(text string) (string, bool) {
	list, err := parseContainers(text)
	if err != nil {
		return "", false
	}
	for i := range list {
		c := &list[i]
		if c.Essential == nil {
			c.Essential = awssdk.Bool(true)
		}
		for j := range c.PortMappings {
			p := &c.PortMappings[j]
			if p.Protocol == "" {
				p.Protocol = ecstypes.TransportProtocolTcp
			}
			if p.HostPort == nil {
				p.HostPort = p.ContainerPort
			}
		}
		slices.SortFunc(c.Environment, func(a, b ecstypes.KeyValuePair) int {
			return strings.Compare(awssdk.ToString(a.Name), awssdk.ToString(b.Name))
		})
	}
	v, err := spelled(list)
	return v.String(), err == nil
}

func parseContainers(text string) ([]ecstypes.ContainerDefinition, error) {
	var list []ecstypes.ContainerDefinition
	err := parse("container_definitions", text, &list)
	return list, err
}

// parse reads what users write as the API spells it. Members that the API does
// not have are refused, rather than ignored.
func parse(column, text string, into any) error {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return &modules.Error{Class: modules.Invalid, Code: "InvalidJSON", Message: column + ": " + err.Error(), Err: err}
	}
	return nil
}
