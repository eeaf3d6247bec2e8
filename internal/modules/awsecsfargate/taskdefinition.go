package awsecsfargate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// taskDefinition is the table task_definition.
type taskDefinition struct {
	clients     *aws.Clients
	description *modules.Table
}

func newTaskDefinition(c *aws.Clients) *taskDefinition {
	return &taskDefinition{clients: c, description: describeTaskDefinition()}
}

// The columns follow the page RegisterTaskDefinition of the Amazon ECS API
// Reference.
func describeTaskDefinition() *modules.Table {
	role := func(name, doc string) modules.Column {
		return modules.Column{Name: name, Type: modules.TypeText, CreateOnly: true,
			References: &modules.Reference{Table: "iam_role", Key: "role_name", ByKey: true}, Doc: doc}
	}
	return &modules.Table{
		Name: "task_definition",
		Doc: "Revisions of task definitions: which containers run together, and how. Deleting one deregisters it; what runs goes on. " +
			"Its containers are the column container_definitions, and not IaSQL's table container_definition, since a revision is registered with all of them and never changes.",
		Provider: aws.Provider,
		Reach:    modules.PerRegion,
		Creation: modules.ByTag,
		Columns: aws.Regional(
			modules.Column{Name: "task_definition_arn", Type: modules.TypeText, Identity: true, Assigned: true,
				Doc: "Its Amazon Resource Name (ARN), with the revision; NULL until it is registered."},
			modules.Column{Name: "family", Type: modules.TypeText, Required: true, CreateOnly: true,
				Check: `family ~ '^[A-Za-z0-9_-]{1,255}$'`,
				Doc:   "The name that its revisions have in common."},
			modules.Column{Name: "revision", Type: modules.TypeInteger, Assigned: true,
				Doc: "Which revision of the family it is, counted from 1."},
			modules.Column{Name: "status", Type: modules.TypeText, Assigned: true,
				Doc: "ACTIVE. Revisions that have been deregistered are not shown."},
			modules.Column{Name: "cpu", Type: modules.TypeInteger, CreateOnly: true, Check: "cpu > 0",
				Doc: "Its processor units, of which a vCPU has 1024 (with memory, IaSQL's cpu_memory). Needed for Fargate."},
			modules.Column{Name: "memory", Type: modules.TypeInteger, CreateOnly: true, Check: "memory > 0",
				Doc: "Its memory in MiB. Needed for Fargate."},
			modules.Column{Name: "network_mode", Type: modules.TypeText, Required: true, Default: "'awsvpc'", CreateOnly: true,
				Enum: []string{"awsvpc", "bridge", "host", "none"},
				Doc:  "How its containers are networked; Fargate needs awsvpc, which is the default."},
			modules.Column{Name: "requires_compatibilities", Type: modules.TypeTexts, Default: `'{FARGATE}'`, CreateOnly: true, Unordered: true, EmptyIsNull: true,
				Doc: "Where it has to be able to run: FARGATE, EC2, EXTERNAL. Default FARGATE."},
			role("task_role_name", "The role that its containers act as."),
			role("execution_role_name", "The role that pulls its images, reads its secrets and writes its logs."),
			modules.Column{Name: "container_definitions", Type: modules.TypeJSON, Required: true, CreateOnly: true, Equal: sameContainers,
				Check: `jsonb_typeof(container_definitions) = 'array'`,
				Doc:   `Its containers, as in the API: [{"name": "web", "image": "nginx", "portMappings": [{"containerPort": 80}]}].`},
			aws.TagsColumn(),
		),
	}
}

// Table returns the description.
func (r *taskDefinition) Table() *modules.Table { return r.description }

// List gives every active revision of the scope to page.
func (r *taskDefinition) List(ctx context.Context, scope modules.Scope, page func([]modules.Row) error) error {
	return r.list(ctx, scope, func(found []taskRow) error {
		rows := make([]modules.Row, len(found))
		for i, f := range found {
			rows[i] = f.row
		}
		return page(rows)
	})
}

// taskRow is a row and the token it was created with.
type taskRow struct {
	row   modules.Row
	token string
}

func (r *taskDefinition) list(ctx context.Context, scope modules.Scope, page func([]taskRow) error) error {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	return aws.Pages(ctx, ecs.NewListTaskDefinitionsPaginator(client, &ecs.ListTaskDefinitionsInput{
		MaxResults: awssdk.Int32(100), Status: ecstypes.TaskDefinitionStatusActive,
	}), func(out *ecs.ListTaskDefinitionsOutput) error {
		found := make([]taskRow, len(out.TaskDefinitionArns))
		index := make([]int, len(found))
		for i := range index {
			index[i] = i
		}
		err := aws.Each(ctx, aws.Breadth, index, func(ctx context.Context, i int) (err error) {
			found[i].row, found[i].token, err = readTask(ctx, client, out.TaskDefinitionArns[i])
			return err
		})
		if err != nil {
			return err
		}
		return page(slices.DeleteFunc(found, func(f taskRow) bool { return f.row == nil }))
	})
}

// Get reads the revisions with these ARNs.
func (r *taskDefinition) Get(ctx context.Context, scope modules.Scope, identities []modules.Row) ([]modules.Row, error) {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return nil, err
	}
	return aws.Read(ctx, identities, func(ctx context.Context, identity modules.Row) (modules.Row, error) {
		row, _, err := readTask(ctx, client, identity["task_definition_arn"].String())
		return row, err
	})
}

// FindCreated returns the revisions that were registered with one of the
// tokens.
func (r *taskDefinition) FindCreated(ctx context.Context, scope modules.Scope, tokens []string) (map[string]modules.Row, error) {
	found := map[string]modules.Row{}
	return found, r.list(ctx, scope, func(rows []taskRow) error {
		for _, f := range rows {
			if slices.Contains(tokens, f.token) {
				found[f.token] = f.row
			}
		}
		return nil
	})
}

// missing reports whether err says that there is no such revision, which ECS
// says in words.
func missing(err error) bool {
	return aws.IsNotFound(err) || aws.HasCode(err, "ClientException") && strings.Contains(strings.ToLower(err.Error()), "unable to describe task definition")
}

// readTask reads a revision, nil if there is none that is active.
func readTask(ctx context.Context, client *ecs.Client, arn string) (modules.Row, string, error) {
	out, err := client.DescribeTaskDefinition(ctx, &ecs.DescribeTaskDefinitionInput{
		TaskDefinition: &arn, Include: []ecstypes.TaskDefinitionField{ecstypes.TaskDefinitionFieldTags},
	})
	if missing(err) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	d := out.TaskDefinition
	if d.Status != ecstypes.TaskDefinitionStatusActive {
		return nil, "", nil
	}
	containers, err := spelled(d.ContainerDefinitions)
	if err != nil {
		return nil, "", fmt.Errorf("task definition %s: %w", arn, err)
	}
	return modules.Row{
		"task_definition_arn":      modules.TextPtr(d.TaskDefinitionArn),
		"family":                   modules.TextPtr(d.Family),
		"revision":                 modules.Int(d.Revision),
		"status":                   modules.NonEmpty(d.Status),
		"cpu":                      modules.NonEmpty(awssdk.ToString(d.Cpu)),
		"memory":                   modules.NonEmpty(awssdk.ToString(d.Memory)),
		"network_mode":             modules.NonEmpty(d.NetworkMode),
		"requires_compatibilities": modules.Strings(d.RequiresCompatibilities),
		"task_role_name":           aws.RoleName(d.TaskRoleArn),
		"execution_role_name":      aws.RoleName(d.ExecutionRoleArn),
		"container_definitions":    containers,
		"tags":                     ecsTags.Value(out.Tags),
	}, ecsTags.Map(out.Tags)[aws.TokenTag], nil
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

// Create registers a revision.
func (r *taskDefinition) Create(ctx context.Context, scope modules.Scope, want modules.Row, token string) (modules.Row, error) {
	containers, err := parseContainers(want["container_definitions"].String())
	if err != nil {
		return nil, err
	}
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return nil, err
	}
	in := &ecs.RegisterTaskDefinitionInput{
		Family: want["family"].Ptr(), Cpu: want["cpu"].Ptr(), Memory: want["memory"].Ptr(),
		NetworkMode:          ecstypes.NetworkMode(want["network_mode"].String()),
		ContainerDefinitions: containers,
		Tags:                 ecsTags.List(aws.TagsOf(want, token)),
	}
	for _, c := range want["requires_compatibilities"].Strings() {
		in.RequiresCompatibilities = append(in.RequiresCompatibilities, ecstypes.Compatibility(c))
	}
	if in.TaskRoleArn, err = aws.RoleARN(ctx, r.clients, scope, want["task_role_name"]); err != nil {
		return nil, err
	}
	if in.ExecutionRoleArn, err = aws.RoleARN(ctx, r.clients, scope, want["execution_role_name"]); err != nil {
		return nil, err
	}
	out, err := client.RegisterTaskDefinition(ctx, in)
	if err != nil {
		return nil, err
	}
	return modules.Row{"task_definition_arn": modules.TextPtr(out.TaskDefinition.TaskDefinitionArn)}, nil
}

// Update changes tags; all else is create-only.
func (r *taskDefinition) Update(ctx context.Context, scope modules.Scope, have, want modules.Row, columns []string) error {
	client, err := client(ctx, r.clients, scope)
	if err != nil || !slices.Contains(columns, modules.ColumnTags) {
		return err
	}
	return updateTags(ctx, client, have["task_definition_arn"].Ptr(), have, want)
}

// Delete deregisters a revision.
func (r *taskDefinition) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	_, err = client.DeregisterTaskDefinition(ctx, &ecs.DeregisterTaskDefinitionInput{TaskDefinition: have["task_definition_arn"].Ptr()})
	if err == nil {
		return nil
	}
	// Deregistering what is not active is refused in words.
	if row, _, failed := readTask(ctx, client, have["task_definition_arn"].String()); failed == nil && row == nil {
		return nil
	}
	return err
}
