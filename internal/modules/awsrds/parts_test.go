package awsrds

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	rdstypes "github.com/aws/aws-sdk-go-v2/service/rds/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
	"iasql/internal/test/awstest"
)

// recorder returns clients of an RDS that takes every call, and the calls: each an action with the members of its form
// that are of interest, in the order of their names.
func recorder(t *testing.T) (clients *aws.Clients, calls func() []string) {
	var mu sync.Mutex
	var made []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		action := r.Form.Get("Action")
		var members []string
		for name, values := range r.Form {
			if name != "Action" && name != "Version" {
				members = append(members, name+"="+values[0])
			}
		}
		slices.Sort(members)
		mu.Lock()
		made = append(made, action+" "+strings.Join(members, " "))
		mu.Unlock()
		fmt.Fprintf(w, `<%[1]sResponse xmlns="http://rds.amazonaws.com/doc/2014-10-31/"><%[1]sResult><DBInstance>
			<DBInstanceIdentifier>db</DBInstanceIdentifier></DBInstance></%[1]sResult></%[1]sResponse>`, action)
	}))
	t.Cleanup(server.Close)
	return awstest.Fake(server.URL), func() []string {
		mu.Lock()
		defer mu.Unlock()
		all := made
		made = nil
		return all
	}
}

// TestInstanceParts: what the emulator does not change is asked for as the pages ModifyDBInstance, AddRoleToDBInstance
// and RestoreDBInstanceFromDBSnapshot of the Amazon RDS API Reference say.
func TestInstanceParts(t *testing.T) {
	t.Parallel()
	clients, calls := recorder(t)
	r := newInstance(clients)
	scope := awstest.Scope("us-east-1")
	json := func(text string) modules.Value {
		v, err := modules.JSONText(text)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, c := range []struct {
		column    string
		from, to  modules.Value
		beside    modules.Row
		wantCalls []string
	}{
		{"enable_cloudwatch_logs_exports", modules.Strings([]string{"error", "general"}),
			modules.Strings([]string{"error", "slowquery"}), nil, []string{
				"ModifyDBInstance ApplyImmediately=true CloudwatchLogsExportConfiguration.DisableLogTypes.member.1=general " +
					"CloudwatchLogsExportConfiguration.EnableLogTypes.member.1=slowquery DBInstanceIdentifier=db"}},
		{"port", modules.Int(5432), modules.Int(5433), nil, []string{
			"ModifyDBInstance ApplyImmediately=true DBInstanceIdentifier=db DBPortNumber=5433"}},
		{"monitoring_interval", modules.Int(0), modules.Int(60),
			modules.Row{"apply_immediately": modules.Bool(false)}, []string{
				"ModifyDBInstance ApplyImmediately=false DBInstanceIdentifier=db MonitoringInterval=60"}},
		{"engine_version", modules.Text("15.4"), modules.Text("16.1"), nil, []string{
			"ModifyDBInstance AllowMajorVersionUpgrade=true ApplyImmediately=true DBInstanceIdentifier=db EngineVersion=16.1"}},
		{"engine_version", modules.Text("15.4"), modules.Text("16.1"),
			modules.Row{"allow_major_version_upgrade": modules.Bool(false)}, []string{
				"ModifyDBInstance AllowMajorVersionUpgrade=false ApplyImmediately=true DBInstanceIdentifier=db EngineVersion=16.1"}},
		{"associated_roles", json(`[{"RoleArn": "arn:aws:iam::1:role/a", "FeatureName": "s3Import"}]`),
			json(`[{"RoleArn": "arn:aws:iam::1:role/b", "FeatureName": "s3Import"}]`), nil, []string{
				"RemoveRoleFromDBInstance DBInstanceIdentifier=db FeatureName=s3Import RoleArn=arn:aws:iam::1:role/a",
				"AddRoleToDBInstance DBInstanceIdentifier=db FeatureName=s3Import RoleArn=arn:aws:iam::1:role/b"}},
	} {
		have := modules.Row{"db_instance_identifier": modules.Text("db"), c.column: c.from}
		want := modules.Row{"db_instance_identifier": modules.Text("db"), c.column: c.to}
		for name, v := range c.beside {
			want[name] = v
		}
		if err := awstest.Update(t.Context(), r, awstest.Permit(), scope, have, want, []string{c.column}); err != nil {
			t.Errorf("%s: %v", c.column, err)
		}
		if got := calls(); !slices.Equal(got, c.wantCalls) {
			t.Errorf("%s: calls\n%s\nwant\n%s", c.column, strings.Join(got, "\n"), strings.Join(c.wantCalls, "\n"))
		}
	}
}

// TestInstanceOrigins: an instance is created from what its row says, by the call that does that.
func TestInstanceOrigins(t *testing.T) {
	t.Parallel()
	clients, calls := recorder(t)
	r := newInstance(clients)
	for _, c := range []struct {
		from modules.Row
		want string
	}{
		{modules.Row{}, "CreateDBInstance DBInstanceClass=c DBInstanceIdentifier=db Engine=postgres"},
		{modules.Row{"use_latest_restorable_time": modules.Bool(false)},
			"CreateDBInstance DBInstanceClass=c DBInstanceIdentifier=db Engine=postgres"},
		{modules.Row{"db_snapshot_identifier": modules.Text("snap")},
			"RestoreDBInstanceFromDBSnapshot DBInstanceClass=c DBInstanceIdentifier=db DBSnapshotIdentifier=snap Engine=postgres"},
		{modules.Row{"source_db_instance_identifier": modules.Text("first")},
			"CreateDBInstanceReadReplica DBInstanceClass=c DBInstanceIdentifier=db SourceDBInstanceIdentifier=first"},
		{modules.Row{"source_db_instance_identifier": modules.Text("first"),
			"use_latest_restorable_time": modules.Bool(true)},
			"RestoreDBInstanceToPointInTime DBInstanceClass=c Engine=postgres SourceDBInstanceIdentifier=first TargetDBInstanceIdentifier=db " +
				"UseLatestRestorableTime=true"},
		// What every volume of the kind has is not asked for.
		{modules.Row{"storage_type": modules.Text("gp3"), "iops": modules.Int(3000), "storage_throughput": modules.Int(125)},
			"CreateDBInstance DBInstanceClass=c DBInstanceIdentifier=db Engine=postgres StorageType=gp3"},
	} {
		want := modules.Row{"db_instance_identifier": modules.Text("db"), "engine": modules.Text("postgres"),
			"db_instance_class": modules.Text("c")}
		for name, v := range c.from {
			want[name] = v
		}
		created, err := awstest.Create(t.Context(), r, awstest.Permit(), awstest.Scope("us-east-1"), want, "")
		if err != nil || created["db_instance_identifier"].String() != "db" {
			t.Errorf("%v: created %v, %v", c.from, created, err)
		}
		if got := calls(); len(got) != 1 || got[0] != c.want {
			t.Errorf("%v: calls %q, want %q", c.from, got, c.want)
		}
	}
}

// A volume that a row names no more goes: what ModifyDBInstance is not told of stays.
func TestVolumeIsRemoved(t *testing.T) {
	t.Parallel()
	one, other := `{"VolumeName":"RDSDBDATA2","AllocatedStorage":200}`,
		`{"VolumeName":"RDSDBDATA3","AllocatedStorage":300}`
	have := modules.Row{"db_instance_identifier": modules.Text("orders"),
		"additional_storage_volumes": modules.Text("[" + one + "," + other + "]")}
	want := have.Clone()
	want["additional_storage_volumes"] = modules.Text("[" + one + "]")
	calls := awstest.Sent(t, func(c *aws.Clients) modules.Updater { return newInstance(c) }, have, want,
		`<ModifyDBInstanceResponse><ModifyDBInstanceResult/></ModifyDBInstanceResponse>`, "additional_storage_volumes")
	member := "AdditionalStorageVolumes.member.2."
	if len(calls) != 1 || !strings.Contains(calls[0], member+"SetForDelete=true&"+member+"VolumeName=RDSDBDATA3") {
		t.Errorf("made the calls %q", calls)
	}
}

// An answer always has a structure of what is pending, which lists nothing most of the time.
func TestNothingPending(t *testing.T) {
	t.Parallel()
	row, err := declare.RowOf(t.Context(), newInstance(aws.New(aws.Options{})), rdstypes.DBInstance{
		DBInstanceIdentifier: awssdk.String("orders"), PendingModifiedValues: &rdstypes.PendingModifiedValues{},
		ProcessorFeatures: []rdstypes.ProcessorFeature{{Name: awssdk.String("coreCount"), Value: awssdk.String("4")}},
		AdditionalStorageVolumes: []rdstypes.AdditionalStorageVolumeOutput{
			{VolumeName: awssdk.String("RDSDBDATA2"), AllocatedStorage: awssdk.Int32(200)}},
	})
	if err != nil || row["processor_features"].IsNull() || row["additional_storage_volumes"].IsNull() {
		t.Errorf("got %v, %v", row, err)
	}
}

// AWS wants to hear size and speed of storage together, but of small storage of the kind gp3.
func TestStorageTogether(t *testing.T) {
	t.Parallel()
	row := func(kind string, size, speed int) modules.Row {
		return modules.Row{"db_instance_identifier": modules.Text("orders"), "storage_type": modules.Text(kind),
			"allocated_storage": modules.Int(size), "iops": modules.Int(speed), "storage_throughput": modules.Int(125)}
	}
	for _, c := range []struct {
		have, want modules.Row
		column     string
		says       []string
		not        string
	}{
		{row("io1", 100, 1000), row("io1", 100, 2000), "iops",
			[]string{"AllocatedStorage=100&", "Iops=2000&"}, "StorageType"},
		{row("io1", 100, 1000), row("io1", 200, 1000), "allocated_storage",
			[]string{"AllocatedStorage=200&", "Iops=1000&"}, "StorageType"},
		{row("gp3", 100, 3000), row("gp3", 200, 3000), "allocated_storage", []string{"AllocatedStorage=200&"}, "Iops"},
		{row("gp2", 100, 300), row("gp2", 200, 300), "allocated_storage", []string{"AllocatedStorage=200&"}, "Iops"},
	} {
		calls := awstest.Sent(t, func(c *aws.Clients) modules.Updater { return newInstance(c) }, c.have, c.want,
			`<ModifyDBInstanceResponse><ModifyDBInstanceResult/></ModifyDBInstanceResponse>`, c.column)
		for _, says := range c.says {
			if len(calls) != 1 || !strings.Contains(calls[0], says) || strings.Contains(calls[0], c.not) {
				t.Errorf("%s of %v: made the calls %q", c.column, c.want, calls)
			}
		}
	}
}
