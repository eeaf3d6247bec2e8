package conformance

var awsElastiCache = Module{
	Name: "aws_elasticache",
	Tables: []Table{{
		Name: "cache_cluster", Identity: "cluster_id", ID: "cache-$n",
		Insert: `(cluster_id, node_type) VALUES ('$id', 'cache.t4g.micro')`,
		See:    `elasticache describe-cache-clusters --cache-cluster-id $id`,
		Create: run(`elasticache create-cache-cluster --cache-cluster-id $id --engine redis --num-cache-nodes 1 --cache-node-type cache.t4g.micro --auto-minor-version-upgrade`),
		Change: []Change{tags(`elasticache list-tags-for-resource --resource-name $arn --query TagList`,
			`elasticache add-tags-to-resource --resource-name $arn --tags Key=by,Value=cli`)},
		Skip: cacheSkips(),
	}},
}

func cacheSkips() map[string]string {
	skip := skipChanges("moto: no ModifyCacheCluster", "node_type", "num_nodes", "engine_version",
		"cache_parameter_group_name", "security_group_ids",
		"auto_minor_version_upgrade", "maintenance_window", "snapshot_retention_limit",
		"log_delivery_configurations")
	for _, check := range []string{
		deleteBySQL, deleteByCLI, replace, move, track, "cluster_id replaced", "engine replaced", "port replaced",
		"cache_subnet_group_name replaced",
		"availability_zone replaced", "transit_encryption_enabled replaced",
	} {
		skip[check] = "moto: DeleteCacheCluster leaves the cluster deleting for ever"
	}
	return skip
}
