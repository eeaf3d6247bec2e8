package likeness

import (
	"cmp"
	"maps"
	"slices"

	"iasql/internal/test/faultproxy"
)

// TaskDefinitions answer as ECS does: with the defaults of what was left out (page
// ContainerDefinition of the Amazon ECS API Reference, and the example of
// DescribeTaskDefinition's), and with containers, variables and secrets in an order of
// its own, which clients such as Terraform's provider therefore compare sorted. A
// health check has its intervals (page HealthCheck), a volume of EFS its root directory
// (page EFSVolumeConfiguration), a Docker volume its driver and scope (page
// DockerVolumeConfiguration).
type TaskDefinitions struct{}

// Apply implements [Rule].
func (TaskDefinitions) Apply(c Call) faultproxy.Fault {
	if c.Service != "ecs" || c.Action != "RegisterTaskDefinition" && c.Action != "DescribeTaskDefinition" {
		return faultproxy.Fault{}
	}
	return faultproxy.Fault{Rewrite: document(func(answer map[string]any) {
		definition, _ := answer["taskDefinition"].(map[string]any)
		containers := list(definition["containerDefinitions"])
		byNameBackwards(containers)
		for _, container := range containers {
			completeContainer(container, definition["networkMode"])
		}
		for _, volume := range list(definition["volumes"]) {
			if efs, ok := volume["efsVolumeConfiguration"].(map[string]any); ok {
				orElse(efs, "rootDirectory", "/")
			}
			if docker, ok := volume["dockerVolumeConfiguration"].(map[string]any); ok {
				orElse(docker, "scope", "task")
				orElse(docker, "driver", "local")
			}
		}
	})}
}

// completeContainer adds what ECS fills in.
func completeContainer(container map[string]any, mode any) {
	orElse(container, "cpu", 0)
	orElse(container, "essential", true)
	for _, name := range []string{"environment", "mountPoints", "volumesFrom", "systemControls", "portMappings"} {
		orElse(container, name, []any{})
	}
	byNameBackwards(list(container["environment"]))
	byNameBackwards(list(container["secrets"]))
	for _, port := range list(container["portMappings"]) {
		orElse(port, "protocol", "tcp")
		if mode == "awsvpc" || mode == "host" {
			orElse(port, "hostPort", port["containerPort"])
		} else {
			orElse(port, "hostPort", 0)
		}
	}
	if check, ok := container["healthCheck"].(map[string]any); ok {
		orElse(check, "interval", 30)
		orElse(check, "timeout", 5)
		orElse(check, "retries", 3)
	}
}

// list is a list of objects, whose changes are changes of what it is from.
func list(value any) []map[string]any {
	all, _ := value.([]any)
	var found []map[string]any
	for _, one := range all {
		if object, ok := one.(map[string]any); ok {
			found = append(found, object)
		}
	}
	return found
}

// byNameBackwards gives a list's objects another order.
func byNameBackwards(objects []map[string]any) {
	sorted := make([]map[string]any, len(objects))
	for i, o := range objects {
		sorted[i] = maps.Clone(o)
	}
	slices.SortStableFunc(sorted, func(a, b map[string]any) int {
		x, _ := a["name"].(string)
		y, _ := b["name"].(string)
		return cmp.Compare(y, x)
	})
	for i, o := range objects {
		clear(o)
		maps.Copy(o, sorted[i])
	}
}

// orElse sets a member that is not there.
func orElse(object map[string]any, name string, value any) {
	if v, ok := object[name]; !ok || v == nil {
		object[name] = value
	}
}
