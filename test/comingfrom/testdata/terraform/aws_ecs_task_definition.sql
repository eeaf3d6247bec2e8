INSERT INTO task_definition (family, container_definitions, placement_constraints, proxy_configuration, volumes) VALUES ('stow',
    '[{"name": "first", "image": "busybox", "cpu": 10, "memory": 256, "essential": true, "portMappings": [{"containerPort": 80, "hostPort": 80}]}]',
    '[{"type": "memberOf", "expression": "attribute:ecs.availability-zone in [us-east-1a]"}]',
    '{"type": "APPMESH", "containerName": "first", "properties": [{"name": "AppPorts", "value": "8080"}, {"name": "IgnoredUID", "value": "1337"}]}',
    '[{"name": "deck", "host": {"sourcePath": "/ecs/deck"}},
      {"name": "shared", "dockerVolumeConfiguration": {"scope": "shared", "autoprovision": true, "driver": "local", "driverOpts": {"type": "nfs", "o": "ro"}}},
      {"name": "hold", "efsVolumeConfiguration": {"fileSystemId": "fs-0a1b2c3d", "rootDirectory": "/", "transitEncryption": "ENABLED", "transitEncryptionPort": 2999,
        "authorizationConfig": {"accessPointId": "fsap-0a1b2c3d4e5f60718", "iam": "ENABLED"}}},
      {"name": "office", "fsxWindowsFileServerVolumeConfiguration": {"fileSystemId": "fs-0b1b2c3d", "rootDirectory": "\\data",
        "authorizationConfig": {"credentialsParameter": "arn:aws:secretsmanager:us-east-1:123456789012:secret:office", "domain": "office.example.com"}}}]');
INSERT INTO task_definition (family, requires_compatibilities, network_mode, cpu, memory, operating_system_family, cpu_architecture, container_definitions)
VALUES ('stow-alone', '{FARGATE}', 'awsvpc', 1024, 2048, 'WINDOWS_SERVER_2022_CORE', 'X86_64',
    '[{"name": "first", "image": "mcr.microsoft.com/windows/servercore/iis", "cpu": 1024, "memory": 2048, "essential": true}]');
