package awsec2

import (
	"fmt"
	"strings"
	"testing"

	"iasql/internal/modules"
	"iasql/internal/test/awstest"
)

// A volume is made as a copy of another where the row says of which: in that one's zone, and with the token that a copy
// of the request has, too.
func TestVolumeCopy(t *testing.T) {
	t.Parallel()
	var sent []map[string]string
	r := newVolume(fake(t, func(form map[string]string) (int, string) {
		switch form["Action"] {
		case "DescribeVolumes":
			return 200, `<DescribeVolumesResponse><volumeSet><item><volumeId>vol-1</volumeId><availabilityZone>us-east-1a</availabilityZone></item></volumeSet></DescribeVolumesResponse>`
		case "CopyVolumes":
			sent = append(sent, form)
			return 200, `<CopyVolumesResponse><volumeSet><item><volumeId>vol-2</volumeId></item></volumeSet></CopyVolumesResponse>`
		}
		return 500, ""
	}))
	want := modules.Row{"availability_zone": text("us-east-1a"), "source_volume_id": text("vol-1"), "volume_type": text("gp3"),
		"size": modules.Int(20), "tags": tags("Name", "copy")}
	row, err := awstest.Create(t.Context(), r, awstest.Permit(), east, want, "token")
	if err != nil || row["volume_id"] != text("vol-2") || len(sent) != 1 {
		t.Fatalf("got %v, %v, sent %v", row, err, sent)
	}
	for member, value := range map[string]string{"SourceVolumeId": "vol-1", "VolumeType": "gp3", "Size": "20",
		"ClientToken": "token", "TagSpecification.1.ResourceType": "volume"} {
		if sent[0][member] != value {
			t.Errorf("%s is %q, want %q: %v", member, sent[0][member], value, sent[0])
		}
	}
	want["availability_zone"] = text("us-east-1b")
	if _, err := awstest.Create(t.Context(), r, awstest.Permit(), east, want, "token"); modules.ClassOf(err) != modules.Invalid ||
		len(sent) != 1 || !strings.Contains(err.Error(), "us-east-1a") {
		t.Errorf("a copy in another zone: %v, sent %v", err, sent)
	}
}

// Whether a volume is used although its data may be inconsistent is read of each, and set.
func TestVolumeAttribute(t *testing.T) {
	t.Parallel()
	var sent []string
	r := newVolume(fake(t, func(form map[string]string) (int, string) {
		switch form["Action"] {
		case "DescribeVolumes":
			return 200, `<DescribeVolumesResponse><volumeSet><item><volumeId>vol-1</volumeId><volumeType>gp3</volumeType><status>available</status></item></volumeSet></DescribeVolumesResponse>`
		case "DescribeVolumeAttribute":
			if form["Attribute"] != "autoEnableIO" {
				return 500, ""
			}
			return 200, `<DescribeVolumeAttributeResponse><volumeId>vol-1</volumeId><autoEnableIO><value>true</value></autoEnableIO></DescribeVolumeAttributeResponse>`
		case "ModifyVolumeAttribute":
			sent = append(sent, form["VolumeId"]+" "+form["AutoEnableIO.Value"])
			return 200, `<ModifyVolumeAttributeResponse><return>true</return></ModifyVolumeAttributeResponse>`
		}
		return 200, `<DescribeVolumesModificationsResponse><volumeModificationSet/></DescribeVolumesModificationsResponse>`
	}))
	have := get(t, r, modules.Row{"volume_id": text("vol-1")})
	if have["auto_enable_io"] != yes {
		t.Errorf("got %v", have)
	}
	want := have.Clone()
	want["auto_enable_io"] = no
	if err := awstest.Update(t.Context(), r, awstest.Permit(), east, have, want, []string{"auto_enable_io"}); err != nil ||
		fmt.Sprint(sent) != "[vol-1 false]" {
		t.Errorf("%v, sent %v", err, sent)
	}
}

// The volumes that are made with an instance get its tags where the row says so, and never the mark of its creation.
func TestTagsOfVolumes(t *testing.T) {
	t.Parallel()
	for propagate, want := range map[modules.Value]string{modules.Null: "", no: "", yes: "volume Name a"} {
		var got string
		r := newInstance(fake(t, func(form map[string]string) (int, string) {
			if form["Action"] != "RunInstances" {
				return 500, ""
			}
			if form["TagSpecification.2.ResourceType"] != "" {
				got = fmt.Sprint(form["TagSpecification.2.ResourceType"], " ", form["TagSpecification.2.Tag.1.Key"], " ",
					form["TagSpecification.2.Tag.1.Value"], form["TagSpecification.2.Tag.2.Key"])
			}
			return 200, `<RunInstancesResponse><instancesSet><item><instanceId>i-1</instanceId></item></instancesSet></RunInstancesResponse>`
		}))
		row := modules.Row{"ami": text("ami-1"), "instance_type": text("m5.large"), "tags": tags("Name", "a"),
			"propagate_tags_to_volume_on_creation": propagate}
		if _, err := awstest.Create(t.Context(), r, awstest.Permit(), east, row, "token"); err != nil || got != want {
			t.Errorf("%s: %v, got %q, want %q", propagate, err, got, want)
		}
	}
}
