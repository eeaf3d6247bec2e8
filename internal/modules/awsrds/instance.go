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

// instance is the table rds.
type instance struct {
	clients     *aws.Clients
	description *modules.Table
}

func newInstance(c *aws.Clients) *instance {
	return &instance{clients: c, description: describeInstance()}
}

// ofCluster are the columns of what a member's cluster decides ("managed by the
// DB cluster", page CreateDBInstance of the Amazon RDS API Reference).
var ofCluster = []string{
	"engine_version", "allocated_storage", "storage_type", "storage_encrypted", "db_name", "master_username", "master_user_password",
	"multi_az", "backup_retention_period", "deletion_protection",
}

// The limits are those of the page CreateDBInstance; what depends on the engine
// is left to AWS to check.
func describeInstance() *modules.Table {
	flag := func(name, def, doc string) modules.Column {
		return modules.Column{Name: name, Type: modules.TypeBool, Required: true, Default: def, Doc: doc}
	}
	return &modules.Table{
		Name: "rds",
		Doc: "Database instances. Changes are applied at once, not in the next maintenance window. " +
			"Deleting one deletes its data, and takes no final snapshot: deletion_protection keeps it. " +
			"What a cluster decides for its members is NULL in their rows: " + strings.Join(ofCluster, ", ") + ".",
		Provider: aws.Provider,
		Reach:    modules.PerRegion,
		Creation: modules.ByName,
		Columns: aws.Regional(
			nameColumn("db_instance_identifier", "The instance's name: up to 63 lowercase letters, digits and hyphens."),
			modules.Column{Name: "engine", Type: modules.TypeText, Required: true, CreateOnly: true,
				Doc: "The database engine, such as postgres, mysql or mariadb; that of its cluster for a member."},
			modules.Column{Name: "db_cluster_id", Type: modules.TypeBigint, CreateOnly: true, Chosen: true,
				References: &modules.Reference{Table: "db_cluster", Key: "db_cluster_identifier", Part: modules.PartAlong, PartIf: "made_by_cluster"},
				Doc:        "The Aurora cluster that it is made in, or the Multi-AZ DB cluster that AWS made it with; NULL for all others."},
			modules.Column{Name: "made_by_cluster", Type: modules.TypeBool, Assigned: true,
				Doc: "Whether AWS made it with its Multi-AZ DB cluster, with which alone it is deleted."},
			modules.Column{Name: "engine_version", Type: modules.TypeText, Chosen: true, Equal: sameVersion,
				Doc: "The engine's version, such as 16.4; 16 means the latest of them. The engine's default if left out."},
			modules.Column{Name: "db_instance_class", Type: modules.TypeText, Required: true,
				Doc: "What it runs on, such as db.t4g.micro."},
			modules.Column{Name: "allocated_storage", Type: modules.TypeInteger, Chosen: true, Check: "allocated_storage > 0",
				Doc: "How many GiB of storage it has. Needed to create one that is not in a cluster. Can only grow."},
			modules.Column{Name: "storage_type", Type: modules.TypeText, Chosen: true,
				Doc: "The kind of storage: gp2, gp3, io1, io2 or standard. The engine's default if left out."},
			modules.Column{Name: "storage_encrypted", Type: modules.TypeBool, CreateOnly: true, Chosen: true,
				Doc: "Whether its storage is encrypted; it is not if left out."},
			modules.Column{Name: "db_name", Type: modules.TypeText, CreateOnly: true, Chosen: true,
				Doc: "The database that is made with it."},
			modules.Column{Name: "master_username", Type: modules.TypeText, CreateOnly: true, Chosen: true,
				Doc: "The name of its first user. Needed to create one that is not in a cluster."},
			modules.Column{Name: "master_user_password", Type: modules.TypeText, WriteOnly: true,
				Doc: "The password of that user. Needed to create or replace one that is not in a cluster."},
			modules.Column{Name: "availability_zone", Type: modules.TypeText, CreateOnly: true, Chosen: true,
				Doc: "Its availability zone, such as us-east-1a; AWS picks one if left out."},
			modules.Column{Name: "multi_az", Type: modules.TypeBool, Chosen: true,
				Doc: "Whether a standby is kept in another availability zone; none is if left out."},
			modules.Column{Name: "db_subnet_group_id", Type: modules.TypeBigint, CreateOnly: true, Chosen: true,
				References: &modules.Reference{Table: "db_subnet_group", Key: "name"},
				Doc:        "The subnets that it is put into; those of its cluster or of the default VPC if left out."},
			flag("publicly_accessible", "false", "Whether its name resolves to a public address. Default false, as nobody should have one by mistake."),
			modules.Column{Name: "parameter_group_id", Type: modules.TypeBigint, Chosen: true,
				References: &modules.Reference{Table: "parameter_group", Key: "name"},
				Doc:        "The settings of its engine; AWS's own group if left out."},
			modules.Column{Name: "backup_retention_period", Type: modules.TypeInteger, Chosen: true,
				Check: "backup_retention_period BETWEEN 0 AND 35",
				Doc:   "How many days backups are kept, up to 35; 0 makes none. 1 if left out."},
			flag("auto_minor_version_upgrade", "true", "Whether AWS installs minor versions of the engine by itself."),
			modules.Column{Name: "deletion_protection", Type: modules.TypeBool, Chosen: true,
				Doc: "Whether it cannot be deleted; it can be if left out."},
			modules.Column{Name: "db_instance_status", Type: modules.TypeText, Assigned: true,
				Doc: "What it is doing, such as creating, available, modifying or deleting."},
			modules.Column{Name: "endpoint_addr", Type: modules.TypeText, Assigned: true,
				Doc: "The name it is connected to by; NULL until it is available."},
			modules.Column{Name: "endpoint_port", Type: modules.TypeInteger, Assigned: true,
				Doc: "The port it listens on."},
			modules.Column{Name: "endpoint_hosted_zone_id", Type: modules.TypeText, Assigned: true,
				Doc: "The id of the DNS zone that endpoint_addr is in, for aliases."},
			modules.Column{Name: "arn", Type: modules.TypeText, Assigned: true,
				Doc: "Its Amazon Resource Name (ARN)."},
			aws.TagsColumn(),
		),
		Checks:              []string{"db_cluster_id IS NULL OR num_nonnulls(" + strings.Join(ofCluster, ", ") + ") = 0"},
		DestroyBeforeCreate: true,
	}
}

// Table returns the description.
func (r *instance) Table() *modules.Table { return r.description }

// List gives every instance of the scope to page.
func (r *instance) List(ctx context.Context, scope modules.Scope, page func([]modules.Row) error) error {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	return describeInstances(ctx, client, nil, func(instances []rdstypes.DBInstance) error { return page(instanceRows(instances)) })
}

// Get reads the instances with these names.
func (r *instance) Get(ctx context.Context, scope modules.Scope, identities []modules.Row) ([]modules.Row, error) {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return nil, err
	}
	page, rows := aws.Collector()
	err = describeInstances(ctx, client, aws.Column(identities, "db_instance_identifier"), func(instances []rdstypes.DBInstance) error {
		return page(instanceRows(instances))
	})
	return rows(), err
}

// describeInstances gives the instances with these names to page, all of them if
// names is nil. They are named by a filter, which, unlike a name, does not fail
// when there is none.
func describeInstances(ctx context.Context, client *rds.Client, names []string, page func([]rdstypes.DBInstance) error) error {
	return filtered("db-instance-id", names, func(filters []rdstypes.Filter) error {
		return aws.Pages(ctx, rds.NewDescribeDBInstancesPaginator(client, &rds.DescribeDBInstancesInput{Filters: filters, MaxRecords: awssdk.Int32(pageSize)}),
			func(out *rds.DescribeDBInstancesOutput) error { return page(out.DBInstances) })
	})
}

func instanceRows(instances []rdstypes.DBInstance) []modules.Row {
	rows := make([]modules.Row, len(instances))
	for i, db := range instances {
		rows[i] = instanceRow(db)
	}
	return rows
}

func instanceRow(db rdstypes.DBInstance) modules.Row {
	row := modules.Row{
		"db_instance_identifier":     modules.TextPtr(db.DBInstanceIdentifier),
		"engine":                     modules.TextPtr(db.Engine),
		"engine_version":             modules.TextPtr(db.EngineVersion),
		"db_instance_class":          modules.TextPtr(db.DBInstanceClass),
		"allocated_storage":          modules.IntPtr(db.AllocatedStorage),
		"storage_type":               modules.TextPtr(db.StorageType),
		"storage_encrypted":          modules.Bool(awssdk.ToBool(db.StorageEncrypted)),
		"db_name":                    modules.NonEmpty(awssdk.ToString(db.DBName)),
		"master_username":            modules.TextPtr(db.MasterUsername),
		"availability_zone":          modules.TextPtr(db.AvailabilityZone),
		"multi_az":                   modules.Bool(awssdk.ToBool(db.MultiAZ)),
		"db_subnet_group_id":         modules.Null,
		"publicly_accessible":        modules.Bool(awssdk.ToBool(db.PubliclyAccessible)),
		"parameter_group_id":         modules.Null,
		"backup_retention_period":    modules.Int(awssdk.ToInt32(db.BackupRetentionPeriod)),
		"auto_minor_version_upgrade": modules.Bool(awssdk.ToBool(db.AutoMinorVersionUpgrade)),
		"deletion_protection":        modules.Bool(awssdk.ToBool(db.DeletionProtection)),
		"db_instance_status":         modules.TextPtr(db.DBInstanceStatus),
		"db_cluster_id":              modules.NonEmpty(awssdk.ToString(db.DBClusterIdentifier)),
		"endpoint_addr":              modules.Null,
		"endpoint_port":              modules.Null,
		"endpoint_hosted_zone_id":    modules.Null,
		"arn":                        modules.TextPtr(db.DBInstanceArn),
		"tags":                       rdsTags.Value(db.TagList),
	}
	if db.DBSubnetGroup != nil {
		row["db_subnet_group_id"] = modules.TextPtr(db.DBSubnetGroup.DBSubnetGroupName)
	}
	if len(db.DBParameterGroups) > 0 {
		row["parameter_group_id"] = modules.TextPtr(db.DBParameterGroups[0].DBParameterGroupName)
	}
	if e := db.Endpoint; e != nil {
		row["endpoint_addr"], row["endpoint_port"], row["endpoint_hosted_zone_id"] = modules.TextPtr(e.Address), modules.IntPtr(e.Port), modules.TextPtr(e.HostedZoneId)
	}
	if p := db.PendingModifiedValues; p != nil {
		underWay(row, modules.Row{
			"engine_version":          modules.TextPtr(p.EngineVersion),
			"db_instance_class":       modules.TextPtr(p.DBInstanceClass),
			"allocated_storage":       modules.IntPtr(p.AllocatedStorage),
			"storage_type":            modules.TextPtr(p.StorageType),
			"multi_az":                modules.BoolPtr(p.MultiAZ),
			"backup_retention_period": modules.IntPtr(p.BackupRetentionPeriod),
		})
	}
	row["made_by_cluster"] = modules.Bool(false)
	if !row["db_cluster_id"].IsNull() {
		row["made_by_cluster"] = modules.Bool(!hasOwnInstances(awssdk.ToString(db.Engine)))
		for _, column := range ofCluster {
			if _, told := row[column]; told {
				row[column] = modules.Null
			}
		}
	}
	return row
}

// hasOwnInstances reports whether instances are made one by one in the clusters
// of an engine. In those of other engines, Multi-AZ DB clusters, AWS makes them
// (Amazon RDS User Guide, "Multi-AZ DB cluster deployments").
func hasOwnInstances(engine string) bool {
	return strings.HasPrefix(engine, auroraPrefix) || engine == "neptune" || engine == "docdb"
}

// Create creates an instance.
func (r *instance) Create(ctx context.Context, scope modules.Scope, want modules.Row, _ string) (modules.Row, error) {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return nil, err
	}
	_, err = client.CreateDBInstance(ctx, &rds.CreateDBInstanceInput{
		DBInstanceIdentifier:    want["db_instance_identifier"].Ptr(),
		DBClusterIdentifier:     want["db_cluster_id"].Ptr(),
		Engine:                  want["engine"].Ptr(),
		EngineVersion:           want["engine_version"].Ptr(),
		DBInstanceClass:         want["db_instance_class"].Ptr(),
		AllocatedStorage:        want["allocated_storage"].Int32Ptr(),
		StorageType:             want["storage_type"].Ptr(),
		StorageEncrypted:        boolPtr(want["storage_encrypted"]),
		DBName:                  want["db_name"].Ptr(),
		MasterUsername:          want["master_username"].Ptr(),
		MasterUserPassword:      want["master_user_password"].Ptr(),
		AvailabilityZone:        want["availability_zone"].Ptr(),
		MultiAZ:                 boolPtr(want["multi_az"]),
		DBSubnetGroupName:       want["db_subnet_group_id"].Ptr(),
		PubliclyAccessible:      boolPtr(want["publicly_accessible"]),
		DBParameterGroupName:    want["parameter_group_id"].Ptr(),
		BackupRetentionPeriod:   want["backup_retention_period"].Int32Ptr(),
		AutoMinorVersionUpgrade: boolPtr(want["auto_minor_version_upgrade"]),
		DeletionProtection:      boolPtr(want["deletion_protection"]),
		Tags:                    rdsTags.List(aws.TagsOf(want, "")),
	})
	if err != nil {
		return nil, err
	}
	return modules.Row{"db_instance_identifier": want["db_instance_identifier"]}, nil
}

// Update changes everything but tags in one call.
func (r *instance) Update(ctx context.Context, scope modules.Scope, have, want modules.Row, columns []string) error {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	in := &rds.ModifyDBInstanceInput{DBInstanceIdentifier: have["db_instance_identifier"].Ptr(), ApplyImmediately: awssdk.Bool(true)}
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
		case "db_instance_class":
			in.DBInstanceClass = v.Ptr()
		case "allocated_storage":
			in.AllocatedStorage = v.Int32Ptr()
		case "storage_type":
			in.StorageType = v.Ptr()
		case "master_user_password":
			in.MasterUserPassword = v.Ptr()
		case "multi_az":
			in.MultiAZ = boolPtr(v)
		case "publicly_accessible":
			in.PubliclyAccessible = boolPtr(v)
		case "parameter_group_id":
			in.DBParameterGroupName = v.Ptr()
		case "backup_retention_period":
			in.BackupRetentionPeriod = v.Int32Ptr()
		case "auto_minor_version_upgrade":
			in.AutoMinorVersionUpgrade = boolPtr(v)
		case "deletion_protection":
			in.DeletionProtection = boolPtr(v)
		}
	}
	if modify {
		if _, err := client.ModifyDBInstance(ctx, in); err != nil {
			return err
		}
	}
	if slices.Contains(columns, modules.ColumnTags) {
		return updateTags(ctx, client, have, want)
	}
	return nil
}

// Delete begins to delete an instance, without a final snapshot.
func (r *instance) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	if err := aws.Keep(r.Protected(have)); err != nil {
		return err
	}
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	_, err = client.DeleteDBInstance(ctx, &rds.DeleteDBInstanceInput{
		DBInstanceIdentifier: have["db_instance_identifier"].Ptr(), SkipFinalSnapshot: awssdk.Bool(true),
	})
	return unlessDeleting(ctx, r, scope, have, "db_instance_status", err)
}

// Protected keeps what AWS made with a Multi-AZ DB cluster.
func (r *instance) Protected(have modules.Row) string {
	if have["made_by_cluster"].Bool() {
		return "it is a part of the Multi-AZ DB cluster " + have["db_cluster_id"].String() + ", and deleted with that"
	}
	return ""
}
