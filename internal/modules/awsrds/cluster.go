package awsrds

import (
	"context"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/rds"
	rdstypes "github.com/aws/aws-sdk-go-v2/service/rds/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// cluster is the table db_cluster.
type cluster struct {
	clients     *aws.Clients
	description *modules.Table
}

func newCluster(c *aws.Clients) *cluster {
	return &cluster{clients: c, description: describeCluster()}
}

// What is for which kind of cluster is said by the pages CreateDBCluster and
// ModifyDBCluster of the Amazon RDS API Reference; it is left to AWS to check.
func describeCluster() *modules.Table {
	flag := func(name, doc string) modules.Column {
		return modules.Column{Name: name, Type: modules.TypeBool, Required: true, Default: "false", Doc: doc}
	}
	public := flag("publicly_accessible", "Whether the names of a Multi-AZ DB cluster resolve to public addresses; false for Aurora, where instances have the setting.")
	public.CreateOnly = true
	encrypted := flag("storage_encrypted", "Whether its storage is encrypted.")
	encrypted.CreateOnly = true
	return &modules.Table{
		Name: "db_cluster",
		Doc: "Database clusters. A Multi-AZ DB cluster (mysql, postgres) needs db_cluster_instance_class, allocated_storage, iops and subnet_group_id; " +
			"AWS makes its instances, and they are deleted with it. An Aurora cluster needs none of these, and gets its instances as rows of rds. " +
			"Clusters of Neptune and DocumentDB are listed too. Changes are applied at once, not in the next maintenance window. " +
			"Deleting one deletes its data, and takes no final snapshot: deletion_protection keeps it.",
		Provider: aws.Provider,
		Reach:    modules.PerRegion,
		Creation: modules.ByName,
		Columns: aws.Regional(
			nameColumn("db_cluster_identifier", "The cluster's name: up to 63 lowercase letters, digits and hyphens, and up to 52 of a Multi-AZ DB cluster."),
			modules.Column{Name: "engine", Type: modules.TypeText, Required: true, CreateOnly: true,
				Doc: "The database engine: mysql or postgres for a Multi-AZ DB cluster, aurora-mysql or aurora-postgresql for Aurora."},
			modules.Column{Name: "engine_version", Type: modules.TypeText, Chosen: true, Equal: sameVersion,
				Doc: "The engine's version, such as 16.4; 16 means the latest of them. The engine's default if left out."},
			modules.Column{Name: "db_cluster_instance_class", Type: modules.TypeText, Chosen: true,
				Doc: "What each instance of a Multi-AZ DB cluster runs on, such as db.m6gd.large. NULL for Aurora, where instances have classes of their own."},
			modules.Column{Name: "allocated_storage", Type: modules.TypeInteger, Chosen: true, Check: "allocated_storage > 0",
				Doc: "How many GiB of storage each instance of a Multi-AZ DB cluster has. NULL for Aurora, whose storage grows by itself."},
			modules.Column{Name: "iops", Type: modules.TypeInteger, Chosen: true,
				Doc: "How many input and output operations a second the storage of each instance of a Multi-AZ DB cluster is made for. NULL for Aurora."},
			modules.Column{Name: "storage_type", Type: modules.TypeText, Chosen: true,
				Doc: "The kind of storage: io1, io2 or gp3 for a Multi-AZ DB cluster, aurora or aurora-iopt1 for Aurora. The first of them if left out."},
			modules.Column{Name: "serverless_min_capacity", Type: modules.TypeDouble, Chosen: true, Check: "serverless_min_capacity BETWEEN 0 AND 256",
				Doc: "The least capacity of an Aurora cluster's instances of class db.serverless, in Aurora capacity units (2 GiB of memory each), in steps of a half."},
			modules.Column{Name: "serverless_max_capacity", Type: modules.TypeDouble, Chosen: true, Check: "serverless_max_capacity BETWEEN 1 AND 256",
				Doc: "The most capacity of these instances, in the same units. Once set, AWS has no way to take the two away: NULL leaves what there is."},
			encrypted,
			modules.Column{Name: "database_name", Type: modules.TypeText, CreateOnly: true, Chosen: true,
				Doc: "The database that is made with it."},
			modules.Column{Name: "master_username", Type: modules.TypeText, CreateOnly: true, Chosen: true,
				Doc: "The name of its first user. Needed to create one."},
			modules.Column{Name: "master_user_password", Type: modules.TypeText, WriteOnly: true,
				Doc: "The password of that user. Needed to create or replace one."},
			modules.Column{Name: "port", Type: modules.TypeInteger, Chosen: true, Check: "port BETWEEN 1 AND 65535",
				Doc: "The port it listens on; the engine's own if left out. AWS can change that of an existing Aurora cluster, and of no other."},
			modules.Column{Name: "subnet_group_id", Type: modules.TypeBigint, CreateOnly: true, Chosen: true,
				References: &modules.Reference{Table: "db_subnet_group", Key: "name"},
				Doc:        "The subnets that its instances are put into; those of the default VPC if left out."},
			public,
			modules.Column{Name: "backup_retention_period", Type: modules.TypeInteger, Required: true, Default: "1",
				Check: "backup_retention_period BETWEEN 1 AND 35",
				Doc:   "How many days backups are kept, from 1 to 35. Default 1."},
			flag("deletion_protection", "Whether it cannot be deleted."),
			modules.Column{Name: "status", Type: modules.TypeText, Assigned: true,
				Doc: "What it is doing, such as creating, available, modifying or deleting."},
			modules.Column{Name: "endpoint_addr", Type: modules.TypeText, Assigned: true,
				Doc: "The name by which its writer is connected to."},
			modules.Column{Name: "reader_endpoint_addr", Type: modules.TypeText, Assigned: true,
				Doc: "The name by which its readers are connected to, in turn."},
			modules.Column{Name: "endpoint_hosted_zone_id", Type: modules.TypeText, Assigned: true,
				Doc: "The id of the DNS zone that both names are in, for aliases."},
			modules.Column{Name: "arn", Type: modules.TypeText, Assigned: true,
				Doc: "Its Amazon Resource Name (ARN)."},
			aws.TagsColumn(),
		),
		Checks: []string{
			"db_cluster_instance_class IS NOT NULL OR NOT publicly_accessible",
			"db_cluster_instance_class IS NULL OR serverless_max_capacity IS NULL",
			"(serverless_min_capacity IS NULL) = (serverless_max_capacity IS NULL)",
			"serverless_min_capacity <= serverless_max_capacity",
		},
		DestroyBeforeCreate: true,
	}
}

// Table returns the description.
func (r *cluster) Table() *modules.Table { return r.description }

// List gives every cluster of the scope to page.
func (r *cluster) List(ctx context.Context, scope modules.Scope, page func([]modules.Row) error) error {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	return describeClusters(ctx, client, nil, func(clusters []rdstypes.DBCluster) error { return page(clusterRows(clusters)) })
}

// Get reads the clusters with these names.
func (r *cluster) Get(ctx context.Context, scope modules.Scope, identities []modules.Row) ([]modules.Row, error) {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return nil, err
	}
	page, rows := aws.Collector()
	err = describeClusters(ctx, client, aws.Column(identities, "db_cluster_identifier"), func(clusters []rdstypes.DBCluster) error {
		return page(clusterRows(clusters))
	})
	return rows(), err
}

// describeClusters gives the clusters with these names to page, all of them if
// names is nil. They are named by a filter, which, unlike a name, does not fail
// when there is none.
func describeClusters(ctx context.Context, client *rds.Client, names []string, page func([]rdstypes.DBCluster) error) error {
	return filtered("db-cluster-id", names, func(filters []rdstypes.Filter) error {
		return aws.Pages(ctx, rds.NewDescribeDBClustersPaginator(client, &rds.DescribeDBClustersInput{Filters: filters, MaxRecords: awssdk.Int32(pageSize)}),
			func(out *rds.DescribeDBClustersOutput) error { return page(out.DBClusters) })
	})
}

func clusterRows(clusters []rdstypes.DBCluster) []modules.Row {
	rows := make([]modules.Row, len(clusters))
	for i, c := range clusters {
		rows[i] = clusterRow(c)
	}
	return rows
}

func clusterRow(c rdstypes.DBCluster) modules.Row {
	row := modules.Row{
		"db_cluster_identifier":     modules.TextPtr(c.DBClusterIdentifier),
		"engine":                    modules.TextPtr(c.Engine),
		"engine_version":            modules.TextPtr(c.EngineVersion),
		"db_cluster_instance_class": modules.TextPtr(c.DBClusterInstanceClass),
		"allocated_storage":         modules.IntPtr(c.AllocatedStorage),
		"iops":                      modules.IntPtr(c.Iops),
		"storage_type":              modules.TextPtr(c.StorageType),
		"storage_encrypted":         modules.Bool(awssdk.ToBool(c.StorageEncrypted)),
		"database_name":             modules.NonEmpty(awssdk.ToString(c.DatabaseName)),
		"master_username":           modules.NonEmpty(awssdk.ToString(c.MasterUsername)),
		"port":                      modules.IntPtr(c.Port),
		"subnet_group_id":           modules.TextPtr(c.DBSubnetGroup),
		"publicly_accessible":       modules.Bool(awssdk.ToBool(c.PubliclyAccessible)),
		"backup_retention_period":   modules.Int(awssdk.ToInt32(c.BackupRetentionPeriod)),
		"deletion_protection":       modules.Bool(awssdk.ToBool(c.DeletionProtection)),
		"status":                    modules.TextPtr(c.Status),
		"endpoint_addr":             modules.NonEmpty(awssdk.ToString(c.Endpoint)),
		"reader_endpoint_addr":      modules.NonEmpty(awssdk.ToString(c.ReaderEndpoint)),
		"endpoint_hosted_zone_id":   modules.NonEmpty(awssdk.ToString(c.HostedZoneId)),
		"arn":                       modules.TextPtr(c.DBClusterArn),
		"tags":                      rdsTags.Value(c.TagList),
	}
	row["serverless_min_capacity"], row["serverless_max_capacity"] = modules.Null, modules.Null
	if v2 := c.ServerlessV2ScalingConfiguration; v2 != nil {
		row["serverless_min_capacity"], row["serverless_max_capacity"] = modules.FloatPtr(v2.MinCapacity), modules.FloatPtr(v2.MaxCapacity)
	}
	if p := c.PendingModifiedValues; p != nil {
		underWay(row, modules.Row{
			"engine_version":          modules.TextPtr(p.EngineVersion),
			"allocated_storage":       modules.IntPtr(p.AllocatedStorage),
			"iops":                    modules.IntPtr(p.Iops),
			"storage_type":            modules.TextPtr(p.StorageType),
			"backup_retention_period": modules.IntPtr(p.BackupRetentionPeriod),
		})
	}
	if c.DBClusterInstanceClass == nil {
		// No Multi-AZ DB cluster: what AWS says of its storage, 1 or what it has
		// grown to, is nobody's setting.
		row["allocated_storage"] = modules.Null
	}
	if strings.HasPrefix(row["engine"].String(), auroraPrefix) && row["storage_type"].IsNull() {
		row["storage_type"] = modules.Text("aurora") // which is not returned (page CreateDBCluster)
	}
	return row
}

// Create creates a cluster.
func (r *cluster) Create(ctx context.Context, scope modules.Scope, want modules.Row, _ string) (modules.Row, error) {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return nil, err
	}
	in := &rds.CreateDBClusterInput{
		DBClusterIdentifier:    want["db_cluster_identifier"].Ptr(),
		Engine:                 want["engine"].Ptr(),
		EngineVersion:          want["engine_version"].Ptr(),
		DBClusterInstanceClass: want["db_cluster_instance_class"].Ptr(),
		AllocatedStorage:       want["allocated_storage"].Int32Ptr(),
		Iops:                   want["iops"].Int32Ptr(),
		StorageType:            want["storage_type"].Ptr(),
		StorageEncrypted:       boolPtr(want["storage_encrypted"]),
		DatabaseName:           want["database_name"].Ptr(),
		MasterUsername:         want["master_username"].Ptr(),
		MasterUserPassword:     want["master_user_password"].Ptr(),
		Port:                   want["port"].Int32Ptr(),
		DBSubnetGroupName:      want["subnet_group_id"].Ptr(),
		BackupRetentionPeriod:  want["backup_retention_period"].Int32Ptr(),
		DeletionProtection:     boolPtr(want["deletion_protection"]),
		Tags:                   rdsTags.List(aws.TagsOf(want, "")),
	}
	in.ServerlessV2ScalingConfiguration = capacity(want)
	// Aurora knows no such setting, and the default of others depends on the
	// subnet group.
	if want["publicly_accessible"].Bool() || in.DBClusterInstanceClass != nil {
		in.PubliclyAccessible = boolPtr(want["publicly_accessible"])
	}
	if _, err = client.CreateDBCluster(ctx, in); err != nil {
		return nil, err
	}
	return modules.Row{"db_cluster_identifier": want["db_cluster_identifier"]}, nil
}

// capacity returns the range of capacity a row asks for, nil if it does not.
func capacity(want modules.Row) *rdstypes.ServerlessV2ScalingConfiguration {
	if want["serverless_max_capacity"].IsNull() {
		return nil
	}
	return &rdstypes.ServerlessV2ScalingConfiguration{
		MinCapacity: want["serverless_min_capacity"].Float64Ptr(), MaxCapacity: want["serverless_max_capacity"].Float64Ptr(),
	}
}

// Update changes everything but tags in one call.
func (r *cluster) Update(ctx context.Context, scope modules.Scope, have, want modules.Row, columns []string) error {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	in := &rds.ModifyDBClusterInput{DBClusterIdentifier: have["db_cluster_identifier"].Ptr(), ApplyImmediately: awssdk.Bool(true)}
	modify := false
	for _, column := range columns {
		v := want[column]
		if column == modules.ColumnTags || v.IsNull() {
			continue
		}
		modify = true
		switch column {
		case "engine_version":
			in.EngineVersion = v.Ptr()
			in.AllowMajorVersionUpgrade = awssdk.Bool(true) // the new version has been asked for by name
		case "db_cluster_instance_class":
			in.DBClusterInstanceClass = v.Ptr()
		case "allocated_storage":
			in.AllocatedStorage = v.Int32Ptr()
		case "iops":
			in.Iops = v.Int32Ptr()
		case "storage_type":
			in.StorageType = v.Ptr()
			in.Iops = want["iops"].Int32Ptr() // required with it (page ModifyDBCluster)
		case "serverless_min_capacity", "serverless_max_capacity":
			in.ServerlessV2ScalingConfiguration = capacity(want)
		case "master_user_password":
			in.MasterUserPassword = v.Ptr()
		case "port":
			in.Port = v.Int32Ptr()
		case "backup_retention_period":
			in.BackupRetentionPeriod = v.Int32Ptr()
		case "deletion_protection":
			in.DeletionProtection = boolPtr(v)
		}
	}
	if modify {
		if _, err := client.ModifyDBCluster(ctx, in); err != nil {
			return err
		}
	}
	if slices.Contains(columns, modules.ColumnTags) {
		return updateTags(ctx, client, have, want)
	}
	return nil
}

// Delete begins to delete a cluster, without a final snapshot. The instances of
// an Aurora cluster have to be deleted before, those of a Multi-AZ DB cluster go
// with it.
func (r *cluster) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	_, err = client.DeleteDBCluster(ctx, &rds.DeleteDBClusterInput{
		DBClusterIdentifier: have["db_cluster_identifier"].Ptr(), SkipFinalSnapshot: awssdk.Bool(true),
	})
	return unlessDeleting(ctx, r, scope, have, "status", err)
}
