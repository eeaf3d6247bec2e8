package likeness

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"iasql/internal/test/faultproxy"
)

// DBInstances are RDS's database instances in time. An instance is creating for a
// while and has neither endpoint nor availability zone meanwhile; it is deleting for a
// while, in which its name is taken (CreateDBInstance: DBInstanceAlreadyExists) and it
// takes no other deletion (DeleteDBInstance: InvalidDBInstanceState). See "Viewing
// Amazon RDS DB instance status" in the Amazon RDS User Guide, and the pages of both
// calls in the Amazon RDS API Reference.
type DBInstances struct {
	Creating, Deleting time.Duration
	// Endpoint is the emulator's, to which deletions go in the end.
	Endpoint string
	memory
}

// Failover has an instance fail over to another zone ("Failover process for Amazon RDS" in the
// Amazon RDS User Guide): from now on it says that it is there.
func (r *DBInstances) Failover(identifier, zone string) { r.set("zone "+identifier, zone) }

// Apply implements [Rule].
func (r *DBInstances) Apply(c Call) faultproxy.Fault {
	if c.Service != "rds" {
		return faultproxy.Fault{}
	}
	id := c.Params.Get("DBInstanceIdentifier")
	since, deleting := r.since("deleting " + id)
	switch {
	case c.Action == "CreateDBInstance" && deleting && since < r.Deleting:
		return faultproxy.Fault{Status: 400, Code: "DBInstanceAlreadyExists", Message: "DB instance already exists"}
	case c.Action == "CreateDBInstance":
		r.forget("deleting " + id)
		r.forget("creating " + id)
		r.begin("creating " + id)
	case c.Action == "DeleteDBInstance" && deleting && since < r.Deleting:
		return faultproxy.Fault{Status: 400, Code: "InvalidDBInstanceState", Message: fmt.Sprintf("Instance %s is already being deleted.", id)}
	case c.Action == "DeleteDBInstance" && !deleting:
		return faultproxy.Fault{Instead: r.describe(c), Rewrite: func(body []byte) []byte {
			r.begin("deleting " + id)
			header := c.Header.Clone()
			time.AfterFunc(r.Deleting, func() { r.remove(header, c.Body) })
			answer := strings.ReplaceAll(string(body), "DescribeDBInstances", "DeleteDBInstance")
			answer = strings.NewReplacer("<DBInstances>", "", "</DBInstances>", "").Replace(answer)
			return []byte(put(answer, "DBInstanceStatus", "deleting"))
		}}
	}
	return faultproxy.Fault{Rewrite: element("DBInstance", r.show)}
}

// show is what an instance says of itself now.
func (r *DBInstances) show(text string) string {
	id := member(text, "DBInstanceIdentifier")
	if zone := r.get("zone " + id); zone != "" {
		text = put(text, "AvailabilityZone", zone)
	}
	if _, deleting := r.since("deleting " + id); deleting {
		return put(text, "DBInstanceStatus", "deleting")
	}
	if since, creating := r.since("creating " + id); creating && since < r.Creating {
		text = put(text, "DBInstanceStatus", "creating")
		text = strings.Replace(text, "<AvailabilityZone>"+member(text, "AvailabilityZone")+"</AvailabilityZone>", "", 1)
	}
	return text
}

// describe is the call that reads what is to be deleted.
func (r *DBInstances) describe(c Call) string {
	return "Action=DescribeDBInstances&Version=2014-10-31&DBInstanceIdentifier=" + c.Params.Get("DBInstanceIdentifier")
}

// remove has the emulator delete the instance.
func (r *DBInstances) remove(header http.Header, body string) {
	request, err := http.NewRequest(http.MethodPost, r.Endpoint, strings.NewReader(body))
	if err != nil {
		return
	}
	request.Header = header.Clone()
	if answer, err := http.DefaultClient.Do(request); err == nil {
		_ = answer.Body.Close()
	}
}
