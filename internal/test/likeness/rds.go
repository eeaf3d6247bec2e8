package likeness

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"iasql/internal/test/faultproxy"
)

// DBInstances are RDS's database instances in time. An instance is creating for a
// while and has neither endpoint nor availability zone meanwhile; it is deleting for a
// while, in which its name is taken (CreateDBInstance: DBInstanceAlreadyExists) and it
// takes no other deletion (DeleteDBInstance: InvalidDBInstanceState). After a change it is
// modifying, in which it takes no other (ModifyDBInstance: InvalidDBInstanceState); after
// one of its storage also storage-optimization, in which it takes no other of that
// (InvalidParameterCombination; "Working with storage for Amazon RDS DB instances" in the
// Amazon RDS User Guide). A final snapshot needs an instance that is available
// (DeleteDBInstance: InvalidDBInstanceState). A subnet group must exist
// (CreateDBInstance: DBSubnetGroupNotFoundFault), and neither it nor a parameter group is
// deleted while an instance has it (InvalidDBSubnetGroupStateFault,
// InvalidDBParameterGroupState). See "Viewing Amazon RDS DB instance status" in the
// User Guide, and the pages of the calls in the Amazon RDS API Reference.
type DBInstances struct {
	Creating, Modifying, Optimizing, Deleting time.Duration
	// Endpoint is the emulator's, to which deletions go in the end.
	Endpoint   string
	Interfaces *Interfaces
	memory
}

// Failover has an instance fail over to another zone ("Failover process for Amazon RDS" in the
// Amazon RDS User Guide): from now on it says that it is there.
func (r *DBInstances) Failover(region, identifier, zone string) {
	r.set("zone "+region+" "+identifier, zone)
}

// Apply implements [Rule].
func (r *DBInstances) Apply(c Call) faultproxy.Fault {
	if c.Service != "rds" {
		return faultproxy.Fault{}
	}
	id := c.Params.Get("DBInstanceIdentifier")
	key := c.Region + " " + id
	switch c.Action {
	case "CreateDBInstance":
		return r.create(c, key)
	case "ModifyDBInstance":
		return r.modify(c, key)
	case "DeleteDBInstance":
		return r.delete(c, id, key)
	case "DeleteDBSubnetGroup":
		if group := c.Params.Get("DBSubnetGroupName"); r.uses(c, "DBSubnetGroupName", group) {
			return refused("InvalidDBSubnetGroupStateFault",
				fmt.Sprintf("Cannot delete the subnet group '%s' because at least one database instance is still "+
					"using it.", group))
		}
	case "DeleteDBParameterGroup":
		if group := c.Params.Get("DBParameterGroupName"); r.uses(c, "DBParameterGroupName", group) {
			return refused("InvalidDBParameterGroupState",
				fmt.Sprintf("One or more database instances are still members of this parameter group %s, so the "+
					"group cannot be deleted", group))
		}
	}
	return r.shown(c)
}

// shown has every instance of an answer say how it is now.
func (r *DBInstances) shown(c Call) faultproxy.Fault {
	return faultproxy.Fault{Rewrite: element("DBInstance", func(text string) string { return r.show(c, text) })}
}

func (r *DBInstances) create(c Call, key string) faultproxy.Fault {
	if _, deleting := r.since("deleting " + key); deleting {
		return refused("DBInstanceAlreadyExists", "DB instance already exists")
	}
	if group := c.Params.Get("DBSubnetGroupName"); group != "" &&
		!slices.Contains(members(emulator(r.Endpoint).query(c, "rds", "DescribeDBSubnetGroups"), "DBSubnetGroupName"),
			group) {
		return faultproxy.Fault{Status: http.StatusNotFound, Code: "DBSubnetGroupNotFoundFault",
			Message: fmt.Sprintf("DB subnet group '%s' does not exist.", group)}
	}
	return faultproxy.Fault{Rewrite: func(body []byte) []byte {
		r.set("gone "+key, "")
		r.forget("modifying " + key)
		r.forget("optimizing " + key)
		r.restart("creating " + key)
		return r.shown(c).Rewrite(body)
	}}
}

// modify takes one change after the other.
func (r *DBInstances) modify(c Call, key string) faultproxy.Fault {
	storage := c.Params.Get("AllocatedStorage")+c.Params.Get("StorageType")+c.Params.Get("Iops") != ""
	switch {
	case r.unavailable(key):
		return refused("InvalidDBInstanceState", "Database instance is not in available state.")
	case storage && r.young("optimizing "+key, r.Modifying+r.Optimizing):
		return refused("InvalidParameterCombination",
			"You can't currently modify the storage of this DB instance because the previous storage change is being "+
				"optimized.")
	}
	return faultproxy.Fault{Rewrite: func(body []byte) []byte {
		r.restart("modifying " + key)
		if storage {
			r.restart("optimizing " + key)
		}
		return r.shown(c).Rewrite(body)
	}}
}

// delete has an instance be deleting for a while, and then go.
func (r *DBInstances) delete(c Call, id, key string) faultproxy.Fault {
	if _, deleting := r.since("deleting " + key); deleting {
		return refused("InvalidDBInstanceState", fmt.Sprintf("Instance %s is already being deleted.", id))
	}
	if c.Params.Get("SkipFinalSnapshot") != "true" && r.unavailable(key) {
		return refused("InvalidDBInstanceState",
			fmt.Sprintf("Cannot create a snapshot because the database instance %s is not currently in the "+
				"available state.", id))
	}
	describe := "Action=DescribeDBInstances&Version=" + versions["rds"] + "&DBInstanceIdentifier=" + id
	return faultproxy.Fault{Instead: describe, Rewrite: func(body []byte) []byte {
		r.begin("deleting " + key)
		r.Interfaces.release("database "+key, r.Deleting)
		emulator(r.Endpoint).later(c, r.Deleting, func() {
			r.set("gone "+key, "yes") // an answer that was on its way shows it as it was
			r.forget("deleting " + key)
		})
		answer := strings.ReplaceAll(string(body), "DescribeDBInstances", "DeleteDBInstance")
		answer = strings.NewReplacer("<DBInstances>", "", "</DBInstances>", "").Replace(answer)
		return []byte(put(answer, "DBInstanceStatus", "deleting"))
	}}
}

// unavailable reports whether an instance is being made or changed.
func (r *DBInstances) unavailable(key string) bool {
	return r.young("creating "+key, r.Creating) || r.young("modifying "+key, r.Modifying)
}

// uses reports whether an instance has a group.
func (r *DBInstances) uses(c Call, member, group string) bool {
	return slices.Contains(members(emulator(r.Endpoint).query(c, "rds", "DescribeDBInstances"), member), group)
}

// show is what an instance says of itself now.
func (r *DBInstances) show(c Call, text string) string {
	key := c.Region + " " + member(text, "DBInstanceIdentifier")
	if zone := r.get("zone " + key); zone != "" {
		text = put(text, "AvailabilityZone", zone)
	}
	if _, deleting := r.since("deleting " + key); deleting {
		return put(text, "DBInstanceStatus", "deleting")
	}
	if r.get("gone "+key) == "" {
		r.Interfaces.hold("database "+key,
			interfaces{subnets: members(text, "SubnetIdentifier"), groups: members(text, "VpcSecurityGroupId")})
	}
	switch {
	case r.young("creating "+key, r.Creating):
		text = put(text, "DBInstanceStatus", "creating")
		text = strings.Replace(text, "<AvailabilityZone>"+member(text, "AvailabilityZone")+"</AvailabilityZone>", "", 1)
	case r.young("modifying "+key, r.Modifying):
		text = put(text, "DBInstanceStatus", "modifying")
	case r.young("optimizing "+key, r.Modifying+r.Optimizing):
		text = put(text, "DBInstanceStatus", "storage-optimization")
	}
	return text
}
