SELECT 'task' AS key, w.account, w.region, w.name AS family, w.cpu, w.memory, w.name || '-' || w.region || '-execution' AS execution_role_name,
       jsonb_build_array(jsonb_build_object('name', 'web', 'image', w.image, 'essential', true,
           'portMappings', jsonb_build_array(jsonb_build_object('containerPort', w.port, 'protocol', 'tcp')),
           'environment', (SELECT coalesce(jsonb_agg(jsonb_build_object('name', e.key, 'value', e.value) ORDER BY e.key), '[]') FROM jsonb_each_text(w.environment) e),
           'logConfiguration', jsonb_build_object('logDriver', 'awslogs', 'options', jsonb_build_object('awslogs-group', '/web_service/' || w.name,
               'awslogs-region', w.region, 'awslogs-stream-prefix', 'web')))) AS container_definitions, w.tags
FROM web_service w
