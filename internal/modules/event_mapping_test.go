package modules

import (
	"slices"
	"strings"
	"testing"
)

type touched struct {
	Resource
	table *Table
}

func (t touched) Table() *Table { return t.table }

func columns(more ...Column) []Column {
	return append([]Column{{Name: "account", Type: TypeText, Doc: "x"}}, more...)
}

// Parts are touched by what makes and deletes their whole, and that by what makes and
// deletes its own; in the whole's words where the part has them.
func TestPartsAreTouched(t *testing.T) {
	network := &Table{Name: "network", Doc: "x",
		Columns: columns(Column{Name: "network_id", Type: TypeText, Doc: "x", Identity: true}),
		EventMappings: EventMappings("ec2.amazonaws.com", Response("network.networkId", "CreateNetwork"),
			Request("networkId", "DeleteNetwork", "ModifyNetwork"))}
	group := &Table{Name: "groups", Doc: "x",
		Columns: columns(Column{Name: "group_id", Type: TypeText, Doc: "x", Identity: true},
			Column{Name: "network", Type: TypeBigint, Doc: "x",
				References: &Reference{Table: "network", Key: "network_id", Part: PartAlong}}),
		EventMappings: EventMappings("ec2.amazonaws.com", Response("groupId", "CreateGroup"),
			Request("groupId", "DeleteGroup"), Unnamed("DeleteNetwork"))}
	rule := &Table{Name: "rules", Doc: "x",
		Columns: columns(Column{Name: "rule_id", Type: TypeText, Doc: "x", Identity: true},
			Column{Name: "of", Type: TypeBigint, Doc: "x",
				References: &Reference{Table: "groups", Key: "group_id", Part: PartFirst}})}
	r, err := NewRegistry(&Module{Name: "m", Version: 1, Doc: "x",
		Resources: []Resource{touched{table: rule}, touched{table: group}, touched{table: network}}})
	if err != nil {
		t.Fatal(err)
	}
	for call, want := range map[string][]string{
		"CreateNetwork": {"rules ", "groups network@responseElements.network.networkId",
			"network @responseElements.network.networkId"},
		"DeleteNetwork": {"rules ", "groups ", "network @requestParameters.networkId"}, // its own counts
		"ModifyNetwork": {"network @requestParameters.networkId"},
		"CreateGroup":   {"rules of@responseElements.groupId", "groups @responseElements.groupId"},
		"DropGroup":     nil,
	} {
		var got []string
		for _, touching := range r.Touched("ec2.amazonaws.com", call+"20260102v2") {
			text := touching.Table.Name + " " + touching.EventMapping.Column
			if len(touching.EventMapping.At) > 0 {
				text += "@" + strings.Join(touching.EventMapping.At, ",")
			}
			got = append(got, text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s touches %q, want %q", call, got, want)
		}
	}
	if !r.HasEventMappings("ec2.amazonaws.com") || r.HasEventMappings("s3.amazonaws.com") {
		t.Error("the services are others")
	}
}

func TestEventMappingsAreChecked(t *testing.T) {
	for why, mapping := range map[string]EventMapping{
		"no call":   {Source: "EC 2", Name: "CreateVpc"},
		"called so": {Source: "lambda.amazonaws.com", Name: "CreateFunction20150331"},
		"no column": {Source: "ec2.amazonaws.com", Name: "CreateVpc", At: []string{"responseElements.vpc.vpcId"},
			Column: "nothing"},
		"has no path":   {Source: "ec2.amazonaws.com", Name: "CreateVpc", Column: "name"},
		"no record has": {Source: "ec2.amazonaws.com", Name: "CreateVpc", At: []string{"vpc.vpcId"}},
	} {
		table := &Table{Name: "t", Doc: "x",
			Columns:       columns(Column{Name: "name", Type: TypeText, Doc: "x", Identity: true}),
			EventMappings: []EventMapping{mapping}}
		if err := table.Validate(); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%+v: %v, want %s", mapping, err, why)
		}
	}
}
