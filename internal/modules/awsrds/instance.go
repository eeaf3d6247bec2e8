package awsrds

import (
	"context"
	"slices"

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

// The limits are those of the page CreateDBInstance of the Amazon RDS API
// Reference; what depends on the engine is left to AWS to check.
func describeInstance() *modules.Table {
	flag := func(name, def, doc string) modules.Column {
		return modules.Column{Name: name, Type: modules.TypeBool, Required: true, Default: def, Doc: doc}
	}
	encrypted := flag("storage_encrypted", "false", "Whether its storage is encrypted.")
	encrypted.CreateOnly = true
	return &modules.Table{
		Name: "rds",
		Doc: "Database instances. Changes are applied at once, not in the next maintenance window. " +
			"Deleting one deletes its data, and takes no final snapshot: deletion_protection keeps it.",
		Provider: aws.Provider,
		Reach:    modules.PerRegion,
		Creation: modules.ByName,
		Columns: aws.Regional(
			nameColumn("db_instance_identifier", "The instance's name: up to 63 lowercase letters, digits and hyphens."),
			modules.Column{Name: "engine", Type: modules.TypeText, Required: true, CreateOnly: true,
				Doc: "The database engine, such as postgres, mysql or mariadb."},
			modules.Column{Name: "engine_version", Type: modules.TypeText, Chosen: true, Equal: sameVersion,
				Doc: "The engine's version, such as 16.4; 16 means the latest of them. The engine's default if left out."},
			modules.Column{Name: "db_instance_class", Type: modules.TypeText, Required: true,
				Doc: "What it runs on, such as db.t4g.micro."},
			modules.Column{Name: "allocated_storage", Type: modules.TypeInteger, Required: true, Check: "allocated_storage > 0",
				Doc: "How many GiB of storage it has. Can only grow."},
			modules.Column{Name: "storage_type", Type: modules.TypeText, Chosen: true,
				Doc: "The kind of storage: gp2, gp3, io1, io2 or standard. The engine's default if left out."},
			encrypted,
			modules.Column{Name: "db_name", Type: modules.TypeText, CreateOnly: true, Chosen: true,
				Doc: "The database that is made with it."},
			modules.Column{Name: "master_username", Type: modules.TypeText, CreateOnly: true, Chosen: true,
				Doc: "The name of its first user. Needed to create one."},
			modules.Column{Name: "master_user_password", Type: modules.TypeText, WriteOnly: true,
				Doc: "The password of that user. Needed to create or replace one."},
			modules.Column{Name: "availability_zone", Type: modules.TypeText, CreateOnly: true, Chosen: true,
				Doc: "Its availability zone, such as us-east-1a; AWS picks one if left out."},
			flag("multi_az", "false", "Whether a standby is kept in another availability zone."),
			modules.Column{Name: "db_subnet_group_id", Type: modules.TypeBigint, CreateOnly: true, Chosen: true,
				References: &modules.Reference{Table: "db_subnet_group", Key: "name"},
				Doc:        "The subnets that it is put into; those of the default VPC if left out."},
			modules.Column{Name: "vpc_security_group_ids", Type: modules.TypeTexts, Unordered: true, Chosen: true,
				Doc: "The ids of its security groups; the VPC's default group if left out. Ids, and not IaSQL's table rds_security_groups, since RDS sets them all at once."},
			flag("publicly_accessible", "false", "Whether its name resolves to a public address. Default false, as nobody should have one by mistake."),
			modules.Column{Name: "parameter_group_id", Type: modules.TypeBigint, Chosen: true,
				References: &modules.Reference{Table: "parameter_group", Key: "name"},
				Doc:        "The settings of its engine; AWS's own group if left out."},
			modules.Column{Name: "backup_retention_period", Type: modules.TypeInteger, Required: true, Default: "1",
				Check: "backup_retention_period BETWEEN 0 AND 35",
				Doc:   "How many days backups are kept, up to 35; 0 makes none. Default 1."},
			flag("auto_minor_version_upgrade", "true", "Whether AWS installs minor versions of the engine by itself."),
			flag("deletion_protection", "false", "Whether it cannot be deleted."),
			modules.Column{Name: "db_instance_status", Type: modules.TypeText, Assigned: true,
				Doc: "What it is doing, such as creating, available, modifying or deleting."},
			modules.Column{Name: "db_cluster_identifier", Type: modules.TypeText, Assigned: true,
				Doc: "The cluster it is a member of; NULL for all others."},
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
	return describeInstances(ctx, client, nil, page)
}

// Get reads the instances with these names: a filter, unlike a name, does not
// fail when there is none.
func (r *instance) Get(ctx context.Context, scope modules.Scope, identities []modules.Row) ([]modules.Row, error) {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return nil, err
	}
	page, rows := aws.Collector()
	for names := range slices.Chunk(aws.Column(identities, "db_instance_identifier"), pageSize) {
		if err := describeInstances(ctx, client, []rdstypes.Filter{{Name: awssdk.String("db-instance-id"), Values: names}}, page); err != nil {
			return nil, err
		}
	}
	return rows(), nil
}

func describeInstances(ctx context.Context, client *rds.Client, filters []rdstypes.Filter, page func([]modules.Row) error) error {
	return aws.Pages(ctx, rds.NewDescribeDBInstancesPaginator(client, &rds.DescribeDBInstancesInput{Filters: filters, MaxRecords: awssdk.Int32(pageSize)}),
		func(out *rds.DescribeDBInstancesOutput) error {
			rows := make([]modules.Row, len(out.DBInstances))
			for i, db := range out.DBInstances {
				rows[i] = instanceRow(db)
			}
			return page(rows)
		})
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
		"db_cluster_identifier":      modules.NonEmpty(awssdk.ToString(db.DBClusterIdentifier)),
		"endpoint_addr":              modules.Null,
		"endpoint_port":              modules.Null,
		"endpoint_hosted_zone_id":    modules.Null,
		"arn":                        modules.TextPtr(db.DBInstanceArn),
		"tags":                       rdsTags.Value(db.TagList),
	}
	groups := []string{}
	for _, g := range db.VpcSecurityGroups {
		groups = append(groups, awssdk.ToString(g.VpcSecurityGroupId))
	}
	row["vpc_security_group_ids"] = modules.Strings(groups)
	if db.DBSubnetGroup != nil {
		row["db_subnet_group_id"] = modules.TextPtr(db.DBSubnetGroup.DBSubnetGroupName)
	}
	if len(db.DBParameterGroups) > 0 {
		row["parameter_group_id"] = modules.TextPtr(db.DBParameterGroups[0].DBParameterGroupName)
	}
	if e := db.Endpoint; e != nil {
		row["endpoint_addr"], row["endpoint_port"], row["endpoint_hosted_zone_id"] = modules.TextPtr(e.Address), modules.IntPtr(e.Port), modules.TextPtr(e.HostedZoneId)
	}
	// What has been asked for and is under way, so that it is not asked again.
	if p := db.PendingModifiedValues; p != nil {
		for column, pending := range map[string]modules.Value{
			"engine_version":          modules.TextPtr(p.EngineVersion),
			"db_instance_class":       modules.TextPtr(p.DBInstanceClass),
			"allocated_storage":       modules.IntPtr(p.AllocatedStorage),
			"storage_type":            modules.TextPtr(p.StorageType),
			"multi_az":                modules.BoolPtr(p.MultiAZ),
			"backup_retention_period": modules.IntPtr(p.BackupRetentionPeriod),
		} {
			if !pending.IsNull() {
				row[column] = pending
			}
		}
	}
	return row
}

// Create creates an instance.
func (r *instance) Create(ctx context.Context, scope modules.Scope, want modules.Row, _ string) (modules.Row, error) {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return nil, err
	}
	_, err = client.CreateDBInstance(ctx, &rds.CreateDBInstanceInput{
		DBInstanceIdentifier:    want["db_instance_identifier"].Ptr(),
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
		VpcSecurityGroupIds:     want["vpc_security_group_ids"].Strings(),
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

func boolPtr(v modules.Value) *bool {
	if v.IsNull() {
		return nil
	}
	return awssdk.Bool(v.Bool())
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
		case "vpc_security_group_ids":
			in.VpcSecurityGroupIds = v.Strings()
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

// Delete begins to delete an instance, without a final snapshot. One that is
// being deleted is refused by its state, which is no error.
func (r *instance) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	_, err = client.DeleteDBInstance(ctx, &rds.DeleteDBInstanceInput{
		DBInstanceIdentifier: have["db_instance_identifier"].Ptr(), SkipFinalSnapshot: awssdk.Bool(true),
	})
	if err == nil || modules.ClassOf(err) != modules.Dependency {
		return aws.IfExists(err)
	}
	rows, failed := r.Get(ctx, scope, []modules.Row{have})
	if failed == nil && (len(rows) == 0 || rows[0]["db_instance_status"].String() == "deleting") {
		return nil
	}
	return err
}
