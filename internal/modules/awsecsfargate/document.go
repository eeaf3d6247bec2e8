package awsecsfargate

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// hostPorts is the check of a task definition's containers. What a host port that
// is left out means depends on the network mode (page PortMapping of the Amazon
// ECS API Reference, hostPort): the container's own port, or any that is free. One
// may be left out only where it means the first.
const hostPorts = `jsonb_typeof(container_definitions) = 'array' AND CASE WHEN network_mode IN ('awsvpc', 'host')
	THEN NOT jsonb_path_exists(container_definitions, '$[*].portMappings[*] ? (exists(@.hostPort) && @.hostPort != @.containerPort)')
	ELSE NOT jsonb_path_exists(container_definitions, '$[*].portMappings[*] ? (exists(@.containerPort) && !exists(@.hostPort))') END`

// structure declares a column that holds a structure of the API as it spells it,
// and is fixed when a revision is registered. complete adds what ECS fills in; nil
// where that is nothing.
func structure[T any](name, member, doc, kind string, complete func(*T)) declare.Column {
	same := func(text string) (modules.Value, bool) {
		var v T
		if parse(name, text, &v) != nil {
			return modules.Null, false
		}
		if complete != nil {
			complete(&v)
		}
		value, err := spelled(v)
		return value, err == nil
	}
	return declare.JSON(name, "TaskDefinition."+member,
		doc+" As in the API.").In(member).CreateOnly().OptionalComputed().EmptyIsNull().Since(3).Unordered().
		Check("jsonb_typeof(" + name + ") = '" + kind + "'").As(api[T](name)).Same(func(a, b string) bool {
		x, okX := same(a)
		y, okY := same(b)
		return okX && okY && x == y
	})
}

// api reads and writes a structure as the API spells it.
func api[T any](column string) declare.Codec {
	return declare.Codec{
		Decode: func(member any) (modules.Value, error) {
			v, err := spelled(member)
			if text := v.String(); text == "[]" || text == "{}" || text == "null" {
				v = modules.Null
			}
			return v, err
		},
		Encode: func(v modules.Value) (any, error) {
			var members T
			err := parse(column, v.String(), &members)
			return members, err
		},
	}
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
			if !slices.Contains([]string{"DockerLabels", "Options", "DriverOpts", "Labels"}, key) {
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

// parse reads what users write as the API spells it. Members that the API does
// not have are refused, rather than ignored.
func parse(column, text string, into any) error {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return &modules.Error{Class: modules.Invalid, Code: "InvalidJSON",
			Message: column + ": " + err.Error(), Err: err}
	}
	return nil
}

// sayHostPorts adds the host ports that ECS leaves out where [hostPorts] wants
// them: 0, which stands for any free port.
func sayHostPorts(t *ecstypes.TaskDefinition, row modules.Row) (err error) {
	if t.NetworkMode == ecstypes.NetworkModeAwsvpc || t.NetworkMode == ecstypes.NetworkModeHost {
		return nil
	}
	for i := range t.ContainerDefinitions {
		for j := range t.ContainerDefinitions[i].PortMappings {
			if p := &t.ContainerDefinitions[i].PortMappings[j]; p.ContainerPort != nil && p.HostPort == nil {
				p.HostPort = awssdk.Int32(0)
			}
		}
	}
	row["container_definitions"], err = spelled(t.ContainerDefinitions)
	return err
}

// sameContainers reports whether two lists of containers are the same once what
// ECS fills in and puts into its own order is: a container is essential, a port is
// TCP and the host's is the container's own where it may be left out (see
// [hostPorts]); checks of health have intervals. Containers, variables and secrets have
// no order of their own.
func sameContainers(a, b string) bool {
	x, okX := completeContainers(a)
	y, okY := completeContainers(b)
	if !okX || !okY || len(x) != len(y) {
		return false
	}
	for i := range x {
		if len(x[i].PortMappings) != len(y[i].PortMappings) {
			return false
		}
		for j := range x[i].PortMappings {
			leaveOut(&x[i].PortMappings[j], &y[i].PortMappings[j])
		}
	}
	one, errX := spelled(x)
	two, errY := spelled(y)
	return errX == nil && errY == nil && one == two
}

// leaveOut removes the host's port of a mapping that one side leaves out, if it is
// what ECS fills in: the container's, or any.
func leaveOut(a, b *ecstypes.PortMapping) {
	for _, p := range [][2]*ecstypes.PortMapping{{a, b}, {b, a}} {
		if said := p[1].HostPort; p[0].HostPort == nil && said != nil &&
			(*said == 0 || p[1].ContainerPort != nil && *said == *p[1].ContainerPort) {
			p[1].HostPort = nil
		}
	}
}

// completeContainers reads containers, sorts what has no order, and adds the
// defaults of page ContainerDefinition and those it leads to of the Amazon ECS
// API Reference.
func completeContainers(text string) ([]ecstypes.ContainerDefinition, bool) {
	var list []ecstypes.ContainerDefinition
	if parse("container_definitions", text, &list) != nil {
		return nil, false
	}
	slices.SortStableFunc(list, func(a, b ecstypes.ContainerDefinition) int { return compare(a.Name, b.Name) })
	for i := range list {
		c := &list[i]
		declare.Or(&c.Essential, true)
		for j := range c.PortMappings {
			c.PortMappings[j].Protocol = cmp.Or(c.PortMappings[j].Protocol, ecstypes.TransportProtocolTcp)
		}
		slices.SortStableFunc(c.PortMappings, func(a, b ecstypes.PortMapping) int {
			return cmp.Or(cmp.Compare(awssdk.ToInt32(a.ContainerPort), awssdk.ToInt32(b.ContainerPort)),
				cmp.Compare(a.Protocol, b.Protocol), compare(a.ContainerPortRange, b.ContainerPortRange))
		})
		if h := c.HealthCheck; h != nil {
			declare.Or(&h.Interval, 30)
			declare.Or(&h.Timeout, 5)
			declare.Or(&h.Retries, 3)
		}
		byName(c.Environment)
		secretsByName(c.Secrets)
		if c.LogConfiguration != nil {
			secretsByName(c.LogConfiguration.SecretOptions)
		}
	}
	return list, true
}

// completeVolumes sorts volumes and adds the defaults of pages
// DockerVolumeConfiguration and EFSVolumeConfiguration of the Amazon ECS API
// Reference.
func completeVolumes(list *[]ecstypes.Volume) {
	slices.SortStableFunc(*list, func(a, b ecstypes.Volume) int { return compare(a.Name, b.Name) })
	for i := range *list {
		if d := (*list)[i].DockerVolumeConfiguration; d != nil {
			d.Scope = cmp.Or(d.Scope, ecstypes.ScopeTask)
			declare.Or(&d.Driver, "local")
		}
		if e := (*list)[i].EfsVolumeConfiguration; e != nil {
			declare.Or(&e.RootDirectory, "/")
			e.TransitEncryption = cmp.Or(e.TransitEncryption, ecstypes.EFSTransitEncryptionDisabled)
			if a := e.AuthorizationConfig; a != nil {
				a.Iam = cmp.Or(a.Iam, ecstypes.EFSAuthorizationConfigIAMDisabled)
			}
		}
	}
}

func compare(a, b *string) int { return strings.Compare(awssdk.ToString(a), awssdk.ToString(b)) }

func byName(list []ecstypes.KeyValuePair) {
	slices.SortStableFunc(list, func(a, b ecstypes.KeyValuePair) int { return compare(a.Name, b.Name) })
}

func secretsByName(list []ecstypes.Secret) {
	slices.SortStableFunc(list, func(a, b ecstypes.Secret) int { return compare(a.Name, b.Name) })
}
