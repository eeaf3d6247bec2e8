package awsec2

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
	"iasql/internal/test/awstest"
	"iasql/internal/test/testaws"
)

func TestMain(m *testing.M) { testaws.Main(m) }

var east = awstest.Scope("us-east-1")

const (
	ubuntu = "ami-1e749f67" // one of moto's, whose root device is where moto puts it: /dev/sda1
	keyA   = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPcXVGCQmBKFHkGfbkPlmdPXo0rTAd6hhsbYuMLF+uI8"
)

func text(s string) modules.Value { return modules.Text(s) }

func tags(pairs ...string) modules.Value {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return modules.StringMap(m)
}

var (
	yes        = modules.Bool(true)
	no         = modules.Bool(false)
	tagChanges = []modules.Value{tags("a", "1", "b", "2"), modules.Null}
)

func api(t *testing.T, c *aws.Clients) *ec2.Client {
	t.Helper()
	client, err := c.Permitted(awstest.Permit()).EC2(t.Context(), east)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// build creates an object that a test needs, and returns its row.
func build(t *testing.T, r modules.Resource, want modules.Row) modules.Row {
	t.Helper()
	row, err := awstest.Create(t.Context(), r.(modules.Creator), awstest.Permit(), east, want, t.Name())
	if err != nil {
		t.Fatal(err)
	}
	return get(t, r, row)
}

func get(t *testing.T, r modules.Resource, identity modules.Row) modules.Row {
	t.Helper()
	rows, err := awstest.Get(t.Context(), r, east, []modules.Row{identity})
	if err != nil || len(rows) != 1 {
		t.Fatalf("get %v: %v, %v", identity, rows, err)
	}
	return rows[0]
}

func all(t *testing.T, r modules.Resource) []modules.Row {
	t.Helper()
	page, rows := aws.Collector()
	if err := awstest.List(t.Context(), r, east, page); err != nil {
		t.Fatal(err)
	}
	return rows()
}

func TestModule(t *testing.T) {
	for _, table := range Module(aws.New(aws.Options{})).Tables() {
		if err := table.Validate(); err != nil {
			t.Error(err)
		}
	}
}

func TestKeyPairLifecycle(t *testing.T) {
	t.Parallel()
	c := awstest.Clients(t)
	awstest.Lifecycle(t, awstest.Case{
		Resource: newKeyPair(c),
		Scope:    east,
		Want:     modules.Row{"name": text("life"), "public_key": text(keyA + " someone"), "tags": tags("env", "test")},
		Changes:  map[string][]modules.Value{"tags": tagChanges},
		Calls:    map[string]int{"tags": 2},
	})
	if _, err := awstest.Create(t.Context(), newKeyPair(c), awstest.Permit(), east, modules.Row{"name": text("none")},
		""); err == nil || modules.ClassOf(err) != modules.Invalid {
		t.Errorf("a pair without a public key: %v", err)
	}
	if !sameKey(keyA, keyA+" life") || sameKey(keyA, keyA[:60]) || sameKey("", "") {
		t.Error("keys are compared wrongly")
	}
}

// moto's volumes change at once.
func TestVolumeLifecycle(t *testing.T) {
	t.Parallel()
	awstest.Lifecycle(t, awstest.Case{
		Resource: newVolume(awstest.Clients(t)),
		Scope:    east,
		Want: modules.Row{
			"availability_zone": text("us-east-1b"), "volume_type": text("gp3"), "size": modules.Int(10),
			"iops": modules.Int(3000), "throughput": modules.Int(125),
			"encrypted": no, "tags": tags("env", "test"),
		},
		Changes: map[string][]modules.Value{
			"size": {modules.Int(20)}, "iops": {modules.Int(4000)}, "throughput": {modules.Int(250)},
			"volume_type": {text("gp2")}, "tags": tagChanges,
		},
		Elsewhere: []string{"auto_enable_io"}, // moto has no ModifyVolumeAttribute: TestVolumeAttribute
		Calls:     map[string]int{"tags": 2},
	})
}

// newTestInstance starts an instance, and returns its row.
func newTestInstance(t *testing.T, c *aws.Clients) (*declare.Resource, modules.Row) {
	t.Helper()
	r := newInstance(c)
	return r, build(t, r, modules.Row{
		"ami": text(ubuntu), "instance_type": text("t3.micro"), "key_pair_name": newKey(t, c), "state": text(running),
		"monitoring": no, "hibernation_enabled": no,
	})
}

// newKey makes a key pair: as it is set, moto starts no instance without one.
func newKey(t *testing.T, c *aws.Clients) modules.Value {
	t.Helper()
	return build(t, newKeyPair(c), modules.Row{"name": text("key"), "public_key": text(keyA)})["name"]
}

// moto's hibernated instances look like any that are stopped.
func TestInstanceLifecycle(t *testing.T) {
	t.Parallel()
	c := awstest.Clients(t)
	out, err := api(t, c).DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{})
	if err != nil {
		t.Fatal(err)
	}
	awstest.Lifecycle(t, awstest.Case{
		Resource: newInstance(c),
		Scope:    east,
		Want: modules.Row{
			"ami": text(ubuntu), "instance_type": text("t3.micro"), "key_pair_name": newKey(t, c),
			"state":     text(running),
			"user_data": text("#!/bin/sh\necho hello"), "hibernation_enabled": no,
			"subnet_id":  text(*out.Subnets[0].SubnetId),
			"monitoring": yes, "source_dest_check": yes, "metadata_http_endpoint": text("enabled"),
			"metadata_http_tokens": text("required"),
			"metadata_hop_limit":   modules.Int(2), "metadata_tags": text("enabled"), "tags": tags("Name", "life"),
		},
		Changes: map[string][]modules.Value{
			"instance_type":          {text("t3.small")},
			"state":                  {text(stopped), text(running), text(hibernate), text(running)},
			"source_dest_check":      {no, yes},
			"metadata_http_endpoint": {text("disabled")},
			"metadata_http_tokens":   {text("optional")},
			"metadata_hop_limit":     {modules.Int(1)},
			"metadata_tags":          {text("disabled")},
			"tags":                   tagChanges,
		},
		Calls: map[string]int{"tags": 2, "instance_type": 5}, // mark, stop, modify, start, unmark
		// role_name: see TestInstanceRole. moto has neither MonitorInstances nor
		// UnmonitorInstances: see TestInstanceRow. Its ModifyInstanceAttribute
		// wants user data that is encoded twice: see TestChangeOfAnInstanceThatRuns.
		// It has no ModifyInstanceCreditSpecification, and its ModifyInstanceAttribute
		// does not keep InstanceInitiatedShutdownBehavior.
		Elsewhere: []string{"role_name", "monitoring", "user_data", "cpu_credits",
			"instance_initiated_shutdown_behavior"},
	})
}

// An image that a parameter names.
func TestImageOfParameter(t *testing.T) {
	t.Parallel()
	c := awstest.Clients(t)
	name := "resolve:ssm:/aws/service/ami-amazon-linux-latest/amzn2-ami-hvm-x86_64-gp2"
	row := build(t, newInstance(c),
		modules.Row{"ami": text(name), "instance_type": text("t3.micro"), "key_pair_name": newKey(t, c)})
	if id := row["ami"].String(); len(id) < 5 || id[:4] != "ami-" || !sameImage(id, name) || sameImage(id, ubuntu) {
		t.Errorf("got %v", row)
	}
	_, err := awstest.Create(t.Context(), newInstance(c), awstest.Permit(), east,
		modules.Row{"ami": text("resolve:ssm:none"), "instance_type": text("t3.micro")}, "none")
	if !aws.IsNotFound(err) {
		t.Errorf("a parameter that does not exist: %v", err)
	}
}

// Hibernation asks for an encrypted root device.
func TestHibernation(t *testing.T) {
	t.Parallel()
	c := awstest.Clients(t)
	row := build(t, newInstance(c),
		modules.Row{"ami": text(ubuntu), "instance_type": text("m5.large"), "key_pair_name": newKey(t, c),
			"hibernation_enabled": yes})
	if !row["hibernation_enabled"].Bool() {
		t.Errorf("got %v", row)
	}
	for _, v := range all(t, newVolume(c)) {
		if v["instance_id"] == row["instance_id"] && !v["encrypted"].Bool() {
			t.Errorf("the root device is not encrypted: %v", v)
		}
	}
}

// A role is given by the instance profile of its name, which is made. moto's
// ReplaceIamInstanceProfileAssociation does not change what DescribeInstances
// says, so that one role takes the place of none here.
func TestInstanceRole(t *testing.T) {
	t.Parallel()
	c := awstest.Clients(t)
	r, have := newTestInstance(t, c)
	client, err := declare.Client(t.Context(), c.Permitted(awstest.Permit()), east, iam.NewFromConfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one", "two"} {
		if _, err := client.CreateRole(t.Context(),
			&iam.CreateRoleInput{RoleName: &name,
				AssumeRolePolicyDocument: awssdk.String(`{"Version":"2012-10-17","Statement":[]}`)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, role := range []modules.Value{text("one"), modules.Null, text("two")} {
		if err := awstest.Update(t.Context(), r, awstest.Permit(), east, have, modules.Row{"role_name": role},
			[]string{"role_name"}); err != nil {
			t.Fatal(err)
		}
		if have = get(t, r, have); have["role_name"] != role {
			t.Errorf("got role %v, want %v", have["role_name"], role)
		}
	}
	made := build(t, r, modules.Row{"ami": text(ubuntu), "instance_type": text("t3.micro"),
		"key_pair_name": text("key"), "role_name": text("one")})
	if made["role_name"] != text("one") {
		t.Errorf("got role %v", made["role_name"])
	}
	// A profile that holds another role.
	if _, err := client.CreateInstanceProfile(t.Context(),
		&iam.CreateInstanceProfileInput{InstanceProfileName: awssdk.String("other")}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.AddRoleToInstanceProfile(t.Context(),
		&iam.AddRoleToInstanceProfileInput{InstanceProfileName: awssdk.String("other"),
			RoleName: awssdk.String("two")}); err != nil {
		t.Fatal(err)
	}
	if err := ensureProfile(t.Context(), client, "other"); err == nil || modules.ClassOf(err) != modules.Invalid {
		t.Errorf("got %v", err)
	}
	if err := profileError(&modules.Error{Class: modules.Invalid, Code: "InvalidParameterValue",
		Message: "Value (x) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name"}); modules.ClassOf(err) != modules.Dependency {
		t.Errorf("got class %s", modules.ClassOf(err))
	}
}

func TestInstanceGroupsLifecycle(t *testing.T) {
	t.Parallel()
	c := awstest.Clients(t)
	_, i := newTestInstance(t, c)
	out, err := api(t, c).DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{})
	if err != nil {
		t.Fatal(err)
	}
	group, err := api(t, c).CreateSecurityGroup(t.Context(), &ec2.CreateSecurityGroupInput{
		GroupName: awssdk.String("web"), Description: awssdk.String("of a test"),
		VpcId: out.Reservations[0].Instances[0].VpcId,
	})
	if err != nil {
		t.Fatal(err)
	}
	r := newInstanceGroups(c)
	// moto's ModifyInstanceAttribute gives an instance another group and leaves
	// the one that it was started with with its network interface.
	awstest.Lifecycle(t, awstest.Case{
		Resource: r, Scope: east,
		Want: modules.Row{"instance_id": i["instance_id"], "security_group_id": modules.TextPtr(group.GroupId)},
		// Both are the identity.
		Elsewhere: []string{"instance_id", "security_group_id"},
	})
}

func TestBlockDeviceMappingLifecycle(t *testing.T) {
	t.Parallel()
	c := awstest.Clients(t)
	_, i := newTestInstance(t, c)
	v := build(t, newVolume(c), modules.Row{"availability_zone": i["availability_zone"], "volume_type": text("gp3"),
		"size": modules.Int(9)})
	r := newMapping(c)
	awstest.Lifecycle(t, awstest.Case{
		Resource: r, Scope: east,
		Want: modules.Row{"instance_id": i["instance_id"], "device_name": text("/dev/sdf"),
			"volume_id": v["volume_id"], "delete_on_termination": yes},
		Changes: map[string][]modules.Value{"delete_on_termination": {no, yes}},
	})
	if _, err := awstest.Create(t.Context(), r, awstest.Permit(), east,
		modules.Row{"instance_id": i["instance_id"], "device_name": text("/dev/sdg")}, ""); err == nil ||
		modules.ClassOf(err) != modules.Invalid {
		t.Errorf("a mapping without a volume: %v", err)
	}
	// The root device stays, and says whose it is.
	for _, row := range all(t, r) {
		if err := awstest.Delete(t.Context(), r, awstest.Permit(), east, row); err == nil ||
			modules.ClassOf(err) != modules.Invalid || r.Protected(row) == "" {
			t.Errorf("delete of %v: %v", row, err)
		}
	}
	for _, row := range all(t, newVolume(c)) {
		if root := row["volume_id"] != v["volume_id"]; row["is_root_device"].Bool() != root ||
			(newVolume(c).Protected(row) != "") != root || row["instance_id"].IsNull() == root {
			t.Errorf("got %v", row)
		}
	}
}

// stopping is an instance that takes its time to stop, as moto's do not.
type stopping struct {
	status, kind, tag, userData string
	calls                       []string
}

func TestChangeOfAnInstanceThatRuns(t *testing.T) {
	t.Parallel()
	s := &stopping{status: "running", kind: "t3.micro"}
	r := newInstance(fake(t, func(form map[string]string) (int, string) {
		s.calls = append(s.calls, form["Action"])
		switch form["Action"] {
		case "DescribeInstances":
			s.calls = s.calls[:len(s.calls)-1]
			tag := ""
			if s.tag != "" {
				tag = "<item><key>" + aws.RestartTag + "</key><value>" + s.tag + "</value></item>"
			}
			return 200, fmt.Sprintf(`<DescribeInstancesResponse><reservationSet><item><instancesSet><item><instanceId>i-1</instanceId><instanceType>%s</instanceType>`+
				`<instanceState><name>%s</name></instanceState><tagSet>%s</tagSet></item></instancesSet></item></reservationSet></DescribeInstancesResponse>`,
				s.kind, s.status, tag)
		case "DescribeInstanceAttribute":
			s.calls = s.calls[:len(s.calls)-1]
			return 200, `<DescribeInstanceAttributeResponse><userData><value>` + s.userData +
				`</value></userData></DescribeInstanceAttributeResponse>`
		case "CreateTags":
			s.tag = form["Tag.1.Value"]
		case "DeleteTags":
			s.tag = ""
		case "StopInstances":
			s.status = "stopping"
		case "StartInstances":
			s.status = "pending"
		case "ModifyInstanceAttribute":
			if s.status != "stopped" {
				return 400, `<Response><Errors><Error><Code>IncorrectInstanceState</Code><Message>it is not stopped</Message></Error></Errors></Response>`
			}
			if kind, ok := form["InstanceType.Value"]; ok {
				s.kind = kind
			} else {
				s.userData = form["UserData.Value"]
			}
		}
		return 200, "<" + form["Action"] + "Response><return>true</return></" + form["Action"] + "Response>"
	}))
	want := modules.Row{"instance_type": text("t3.large"), "state": text(running)}
	look := func() modules.Row { return get(t, r, modules.Row{"instance_id": text("i-1")}) }
	update := func() error {
		return awstest.Update(t.Context(), r, awstest.Permit(), east, look(), want, []string{"instance_type"})
	}
	shown := func(status, kind, state string) {
		t.Helper()
		row := look()
		if row["status"] != text(status) || row["instance_type"] != text(kind) || row["state"] != text(state) ||
			!row["tags"].IsNull() {
			t.Errorf("got %v, want %s, %s, %s", row, status, kind, state)
		}
	}
	// It stops, which is not what anybody asks for: it is shown as running.
	for range 2 {
		if err := update(); modules.ClassOf(err) != modules.Dependency || err == nil {
			t.Fatalf("got %v, want class %s", err, modules.Dependency)
		}
		shown("stopping", "t3.micro", running)
	}
	if !slices.Equal(s.calls, []string{"CreateTags", "StopInstances"}) {
		t.Errorf("made the calls %v", s.calls)
	}
	// The engine is killed after the change and before the start: that is done
	// again, since the change does not show yet.
	s.status, s.kind, s.calls = "stopped", "t3.large", nil
	shown("stopped", "t3.micro", running)
	if err := update(); err != nil {
		t.Fatal(err)
	}
	shown("pending", "t3.large", running)
	if !slices.Equal(s.calls, []string{"ModifyInstanceAttribute", "StartInstances", "DeleteTags"}) || s.tag != "" {
		t.Errorf("made the calls %v, left the tag %q", s.calls, s.tag)
	}
	// One that is stopped stays so; and nothing is made of a mark that is old, or
	// of an instance that is being deleted.
	s.status, s.calls, want["state"] = "stopped", nil, text(stopped)
	if err := update(); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(s.calls, []string{"ModifyInstanceAttribute"}) {
		t.Errorf("made the calls %v", s.calls)
	}
	for _, data := range []modules.Value{text("hello"), modules.Null} {
		if err := awstest.Update(t.Context(), r, awstest.Permit(), east, look(),
			modules.Row{"user_data": data, "state": text(stopped)}, []string{"user_data"}); err != nil {
			t.Fatal(err)
		}
		if got := look()["user_data"]; got != data {
			t.Errorf("got user data %v, want %v", got, data)
		}
	}
	if s.userData = "/w=="; !look()["user_data"].IsNull() { // is no text
		t.Errorf("got %v", look())
	}
	s.tag = fmt.Sprintf("%d t3.micro", time.Now().Add(-time.Minute).Unix())
	shown("stopped", "t3.large", stopped)
	s.status, s.tag = "shutting-down", fmt.Sprintf("%d t3.micro", time.Now().Add(time.Minute).Unix())
	shown("shutting-down", "t3.large", stopped)
}

// User data of an instance that runs is read once for each of its starts.
func TestUserDataIsKept(t *testing.T) {
	t.Parallel()
	reads := 0
	var u userData
	client := api(t, fake(t, func(form map[string]string) (int, string) {
		reads++
		return 200, `<DescribeInstanceAttributeResponse><userData><value>aGVsbG8=</value></userData></DescribeInstanceAttributeResponse>`
	}))
	at := time.Now()
	for i, c := range []struct {
		state    ec2types.InstanceStateName
		launched time.Time
		reads    int
	}{
		{ec2types.InstanceStateNameRunning, at, 1},
		{ec2types.InstanceStateNameRunning, at, 1},
		{ec2types.InstanceStateNameStopped, at, 2},
		{ec2types.InstanceStateNameStopped, at, 3},
		{ec2types.InstanceStateNameRunning, at.Add(time.Second), 4},
		{ec2types.InstanceStateNameRunning, at.Add(time.Second), 4},
	} {
		data, err := u.of(t.Context(), client, ec2types.Instance{
			InstanceId: awssdk.String("i-1"), LaunchTime: &c.launched, State: &ec2types.InstanceState{Name: c.state},
		})
		if err != nil || data != "hello" || reads != c.reads {
			t.Errorf("%d: got %q, %v after %d reads, want %d", i, data, err, reads, c.reads)
		}
	}
}

// What moto does not have: MonitorInstances, UnmonitorInstances, the code of a
// hibernated instance; and an instance of an Auto Scaling group.
func TestInstanceRow(t *testing.T) {
	t.Parallel()
	var (
		calls []string
		shown string
	)
	r := newInstance(fake(t, func(form map[string]string) (int, string) {
		calls = append(calls, form["Action"])
		if form["Action"] == "DescribeInstances" {
			return 200, `<DescribeInstancesResponse><reservationSet><item><instancesSet><item><instanceId>i-1</instanceId>` + shown +
				`</item></instancesSet></item></reservationSet></DescribeInstancesResponse>`
		}
		return 200, "<" + form["Action"] + "Response/>"
	}))
	for _, on := range []modules.Value{yes, no} {
		if err := awstest.Update(t.Context(), r, awstest.Permit(), east, modules.Row{"instance_id": text("i-1")},
			modules.Row{"monitoring": on}, []string{"monitoring"}); err != nil {
			t.Error(err)
		}
	}
	if !slices.Equal(calls, []string{"MonitorInstances", "UnmonitorInstances"}) {
		t.Errorf("made the calls %v", calls)
	}
	for _, c := range []struct {
		status ec2types.InstanceStateName
		code   string
		state  string
	}{
		{"pending", "pending", running},
		{"running", "", running},
		{"stopping", "Client.UserInitiatedShutdown", stopped},
		{"stopped", "Client.UserInitiatedShutdown", stopped},
		{"stopping", "Client.UserInitiatedHibernate", hibernate},
		{"stopped", "Client.UserInitiatedHibernate", hibernate},
		{"shutting-down", "", stopped},
	} {
		shown = fmt.Sprintf("<instanceState><name>%s</name></instanceState><stateReason><code>%s</code></stateReason>",
			c.status, c.code)
		row := get(t, r, modules.Row{"instance_id": text("i-1")})
		if row["state"] != text(c.state) || row["status"] != text(string(c.status)) {
			t.Errorf("%s, %s: got %v", c.status, c.code, row)
		}
	}
	shown = "<tagSet><item><key>aws:autoscaling:groupName</key><value>web</value></item></tagSet>"
	row := get(t, r, modules.Row{"instance_id": text("i-1")})
	if err := awstest.Delete(t.Context(), r, awstest.Permit(), east, row); err == nil ||
		modules.ClassOf(err) != modules.Invalid || row["auto_scaling_group"] != text("web") || !row["tags"].IsNull() {
		t.Errorf("delete of an instance of a group: %v, %v", row, err)
	}
	if !sameState(stopped, hibernate) || sameState(running, hibernate) {
		t.Error("states are compared wrongly")
	}
}

// A change of a volume counts from when it is asked for; moto's are never under
// way.
func TestVolumeChanges(t *testing.T) {
	t.Parallel()
	r := newVolume(fake(t, func(form map[string]string) (int, string) {
		if form["Action"] == "DescribeVolumeAttribute" {
			return 200, `<DescribeVolumeAttributeResponse><autoEnableIO><value>false</value></autoEnableIO></DescribeVolumeAttributeResponse>`
		}
		if form["Action"] == "DescribeVolumes" {
			return 200, `<DescribeVolumesResponse><volumeSet><item><volumeId>vol-1</volumeId><volumeType>gp2</volumeType><size>8</size><iops>100</iops></item>` +
				`<item><volumeId>vol-2</volumeId><volumeType>io2</volumeType></item><item><volumeId>vol-3</volumeId><volumeType>gp3</volumeType><status>deleted</status></item></volumeSet></DescribeVolumesResponse>`
		}
		if form["Filter.1.Value.1"] != "modifying" {
			return 500, ""
		}
		return 200, `<DescribeVolumesModificationsResponse><volumeModificationSet><item><volumeId>vol-1</volumeId><modificationState>modifying</modificationState>` +
			`<targetVolumeType>gp3</targetVolumeType><targetSize>20</targetSize><targetIops>3000</targetIops><targetThroughput>125</targetThroughput></item></volumeModificationSet></DescribeVolumesModificationsResponse>`
	}))
	rows := all(t, r)
	if len(rows) != 1 || rows[0]["volume_type"] != text("gp3") || rows[0]["size"] != modules.Int(20) ||
		rows[0]["iops"] != modules.Int(3000) || rows[0]["throughput"] != modules.Int(125) {
		t.Errorf("got %v", rows)
	}
}

// A volume that is on its way off counts as detached; moto's are at once.
func TestDetaching(t *testing.T) {
	t.Parallel()
	for status, class := range map[string]modules.Class{"attached": modules.Dependency, "detaching": -1,
		"detached": -1, "": -1} {
		r := newMapping(fake(t, func(form map[string]string) (int, string) {
			if form["Action"] == "DetachVolume" {
				return 400, `<Response><Errors><Error><Code>IncorrectState</Code><Message>not attached</Message></Error></Errors></Response>`
			}
			device := "<item><deviceName>/dev/sdf</deviceName><ebs><volumeId>vol-1</volumeId><status>" + status +
				"</status></ebs></item>"
			if status == "" {
				device = ""
			}
			return 200, `<DescribeInstancesResponse><reservationSet><item><instancesSet><item><instanceId>i-1</instanceId><blockDeviceMapping>` + device +
				`</blockDeviceMapping></item></instancesSet></item></reservationSet></DescribeInstancesResponse>`
		}))
		err := awstest.Delete(t.Context(), r, awstest.Permit(), east,
			modules.Row{"instance_id": text("i-1"), "device_name": text("/dev/sdf"), "volume_id": text("vol-1")})
		if (err != nil) != (class >= 0) || err != nil && modules.ClassOf(err) != class {
			t.Errorf("%q: got %v", status, err)
		}
	}
}

// An instance that has several network interfaces is changed by its primary one.
func TestChangeWithSeveralInterfaces(t *testing.T) {
	t.Parallel()
	var calls []string
	c := fake(t, func(form map[string]string) (int, string) {
		switch form["Action"] {
		case "ModifyInstanceAttribute":
			return 400, `<Response><Errors><Error><Code>InvalidInstanceID</Code><Message>There are multiple interfaces attached to instance 'i-1'. Please specify an interface ID for the operation instead.</Message></Error></Errors></Response>`
		case "DescribeInstances":
			of := func(id string, index int) string {
				return fmt.Sprintf(`<item><networkInterfaceId>%s</networkInterfaceId><attachment><deviceIndex>%d</deviceIndex></attachment></item>`, id, index)
			}
			return 200, `<DescribeInstancesResponse><reservationSet><item><instancesSet><item><instanceId>i-1</instanceId><networkInterfaceSet>` + of("eni-2", 1) + of("eni-1", 0) +
				`</networkInterfaceSet></item></instancesSet></item></reservationSet></DescribeInstancesResponse>`
		case "ModifyNetworkInterfaceAttribute":
			calls = append(calls, strings.Join([]string{form["NetworkInterfaceId"], form["SecurityGroupId.1"],
				form["SourceDestCheck.Value"]}, " "))
			return 200, `<ModifyNetworkInterfaceAttributeResponse><return>true</return></ModifyNetworkInterfaceAttributeResponse>`
		}
		return 400, ""
	})
	if err := newInstanceGroups(c).Set(t.Context(), c.Permitted(awstest.Permit()), east, aws.MemberList{Owner: "i-1"},
		[]string{"sg-1"}); err != nil {
		t.Error(err)
	}
	have := modules.Row{"instance_id": text("i-1"), "source_dest_check": yes}
	if err := awstest.Update(t.Context(), newInstance(c), awstest.Permit(), east, have,
		modules.Row{"instance_id": text("i-1"), "source_dest_check": no}, []string{"source_dest_check"}); err != nil {
		t.Error(err)
	}
	if want := []string{"eni-1 sg-1 ", "eni-1  false"}; !slices.Equal(calls, want) {
		t.Errorf("called %q", calls)
	}
}
