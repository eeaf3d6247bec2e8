package awstypes

import (
	"strings"
	"testing"

	"iasql/internal/aws"
	"iasql/internal/aws/cfn"
	"iasql/internal/modules"
	"iasql/internal/modules/all"
	"iasql/internal/test/cloudcontrol"
)

// TestNamesOfModules: no module, table or function has a name that people know a type by, and
// no module has such a type.
func TestNamesOfModules(t *testing.T) {
	t.Parallel()
	registry, err := modules.NewRegistry(all.Modules(aws.New(aws.Options{}))...)
	if err != nil {
		t.Fatal(err)
	}
	if err := registry.NameTypes(cfn.Known()); err != nil {
		t.Error(err)
	}
	for _, k := range cfn.Known() {
		if table := Native(k.Type); table != "" {
			t.Errorf("%s: the objects of %s are managed by the table %s", k.Name, k.Type, table)
		}
		names := cfn.TableNames(k.Type)
		for _, pattern := range []string{k.Name, names[len(names)-1], k.Type, strings.ToUpper(k.Name)} {
			if !Matches(pattern, k.Type) {
				t.Errorf("%s is not found as %s", k.Type, pattern)
			}
		}
	}
	for pattern, typeName := range map[string]string{"ENI": "AWS::EC2::NetworkInterface",
		"trigger": "AWS::Lambda::EventSourceMapping", "mfa": "AWS::IAM::VirtualMFADevice",
		"customer*policy": "AWS::IAM::ManagedPolicy", "cron": "AWS::Scheduler::Schedule"} {
		if !Matches(pattern, typeName) {
			t.Errorf("%s is not found by what people call it, %s", typeName, pattern)
		}
	}
}

// TestNamesOfPublishedTypes: each name is of a published type whose objects can be read, and no
// other type's table has that name by the rule.
func TestNamesOfPublishedTypes(t *testing.T) {
	t.Parallel()
	published := cloudcontrol.AWS(t, "../../..")
	for _, k := range cfn.Known() {
		schema, err := cfn.Parse(published[k.Type])
		if err != nil {
			t.Errorf("%s: %s: %v", k.Name, k.Type, err)
		} else if !schema.Can("read") || !schema.Can("create") || !schema.Can("delete") {
			t.Errorf("%s: the objects of %s cannot be made, read and deleted", k.Name, k.Type)
		}
	}
	tables := map[string]string{}
	for typeName := range published {
		names := cfn.TableNames(typeName)
		if cfn.Sentence(typeName) == "" && len(names) < 2 { // only aws_… is left of them
			t.Errorf("the name of the table of %s is one that people know another type by", typeName)
		}
		if other := tables[names[0]]; other != "" {
			t.Errorf("%s and %s are both the table %s", typeName, other, names[0])
		}
		tables[names[0]] = typeName
	}
}
