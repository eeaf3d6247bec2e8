package likeness

import (
	"encoding/json"
	"testing"

	"iasql/internal/test/likeness"
)

// What ECS fills in and puts into another order is no change, and what somebody else has
// registered with a platform, storage and volumes keeps them in the next revision
// (finding B11).
func TestTaskDefinition(t *testing.T) {
	t.Parallel()
	w, l := start(t, func(string) []likeness.Rule {
		return []likeness.Rule{likeness.TaskDefinitions{}}
	}, "aws_ecs_fargate")
	w.PSQL(`INSERT INTO task_definition (family, cpu, memory, container_definitions) VALUES ('ours', 256, 512, '[{"name": "web", "image": "nginx:1", "portMappings": [{"containerPort": 80}],
		"environment": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}], "secrets": [{"name": "S", "valueFrom": "arn:aws:ssm:us-east-1:1:parameter/s"}, {"name": "T", "valueFrom": "arn:aws:ssm:us-east-1:1:parameter/t"}],
		"healthCheck": {"command": ["CMD", "true"]}}, {"name": "log", "image": "fluent:1", "essential": false}]')`,
		`INSERT INTO task_definition (family, network_mode, requires_compatibilities, memory, container_definitions) VALUES ('free', 'bridge', '{EC2}', 512,
		'[{"name": "web", "image": "nginx:1", "portMappings": [{"containerPort": 80, "hostPort": 0}]}]')`)
	w.Settled()
	w.PSQL(`INSERT INTO iasql_mode (mode) VALUES ('ENFORCE')`, `SELECT iasql_sync_now()`, `SELECT iasql_sync_now()`,
		`DELETE FROM iasql_mode`)
	if n := l.Proxy.Count("RegisterTaskDefinition"); n != 2 {
		t.Errorf("%d registrations for two revisions", n)
	}
	w.CLI("ecs", "register-task-definition", "--family", "theirs", "--cpu", "256", "--memory", "512", "--network-mode",
		"awsvpc", "--requires-compatibilities", "FARGATE",
		"--runtime-platform", "cpuArchitecture=ARM64,operatingSystemFamily=LINUX", "--ephemeral-storage",
		"sizeInGiB=40",
		"--volumes", `[{"name": "data", "efsVolumeConfiguration": {"fileSystemId": "fs-1"}}]`,
		"--container-definitions", `[{"name": "app", "image": "app:1", "mountPoints": [{"sourceVolume": "data", "containerPath": "/data"}]}]`)
	w.PSQL(`SELECT iasql_sync_now()`)
	w.PSQL(`UPDATE task_definition SET container_definitions = jsonb_set(container_definitions, '{0,image}', '"app:2"') WHERE family = 'theirs'`)
	w.Settled()
	text, err := json.Marshal(w.CLI("ecs", "describe-task-definition", "--task-definition", "theirs", "--query",
		"taskDefinition.{image:containerDefinitions[0].image,processor:runtimePlatform.cpuArchitecture,storage:ephemeralStorage.sizeInGiB,volume:volumes[0].efsVolumeConfiguration.fileSystemId}"))
	if want := `{"image":"app:2","processor":"ARM64","storage":40,"volume":"fs-1"}`; err != nil ||
		string(text) != want {
		t.Errorf("the next revision is %s, want %s", text, want)
	}
	// A host port that may be any is not one that is the container's.
	w.PSQL(`UPDATE task_definition SET container_definitions = jsonb_set(container_definitions, '{0,portMappings,0,hostPort}', '80') WHERE family = 'free'`)
	w.Settled()
	if n := l.Proxy.Count("RegisterTaskDefinition"); n != 4 {
		t.Errorf("%d registrations, of which a new host port is one", n)
	}
	w.Refused(`UPDATE task_definition SET container_definitions = '[{"name": "web", "image": "nginx:1", "portMappings": [{"containerPort": 80}]}]' WHERE family = 'free'`)
}
