package awsec2

import (
	"fmt"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"iasql/internal/modules"
	"iasql/internal/test/awstest"
)

func TestAddressAssociationLifecycle(t *testing.T) {
	t.Parallel()
	c := awstest.Clients(t)
	ctx := t.Context()
	address, err := api(t, c).AllocateAddress(ctx, &ec2.AllocateAddressInput{Domain: "vpc"})
	if err != nil {
		t.Fatal(err)
	}
	launched, err := api(t, c).RunInstances(ctx, &ec2.RunInstancesInput{
		ImageId: awssdk.String(ubuntu), InstanceType: "t3.micro", MinCount: awssdk.Int32(2), MaxCount: awssdk.Int32(2),
	})
	if err != nil {
		t.Fatal(err)
	}
	subnet := launched.Instances[0].SubnetId
	made := make([]*ec2.CreateNetworkInterfaceOutput, 2)
	for i := range made {
		if made[i], err = api(t, c).CreateNetworkInterface(ctx, &ec2.CreateNetworkInterfaceInput{SubnetId: subnet}); err != nil {
			t.Fatal(err)
		}
	}
	awstest.Lifecycle(t, awstest.Case{Resource: newAddressAssociation(c), Scope: east,
		Want:    modules.Row{"elastic_ip_id": text(*address.AllocationId), "instance_id": text(*launched.Instances[0].InstanceId)},
		Changes: map[string][]modules.Value{"instance_id": {text(*launched.Instances[1].InstanceId)}},
		// moto takes the first private address: TestAddressAssociationCalls
		Elsewhere: []string{"network_interface_id", "private_ip_address"},
		Unsaid:    []string{"network_interface_id", "private_ip_address"},
	})
	awstest.Lifecycle(t, awstest.Case{Resource: newAddressAssociation(c), Scope: east,
		Want: modules.Row{"elastic_ip_id": text(*address.AllocationId),
			"network_interface_id": text(*made[0].NetworkInterface.NetworkInterfaceId)},
		Changes:   map[string][]modules.Value{"network_interface_id": {text(*made[1].NetworkInterface.NetworkInterfaceId)}},
		Elsewhere: []string{"instance_id", "private_ip_address"}, Unsaid: []string{"private_ip_address"},
	})
}

// What a service has associated is none of the table's. What a user has is: with an instance or with an interface.
// What follows from the instance is not said.
func TestAddressesOfServices(t *testing.T) {
	t.Parallel()
	var asked []string
	client := fake(t, func(form map[string]string) (int, string) {
		item := func(name, instance, more string) string {
			return fmt.Sprintf(`<item><allocationId>eipalloc-%s</allocationId><associationId>eipassoc-%[1]s</associationId>`+
				`<networkInterfaceId>eni-%[1]s</networkInterfaceId><privateIpAddress>10.0.0.1</privateIpAddress>%s%s</item>`,
				name, instance, more)
		}
		switch form["Action"] {
		case "DescribeAddresses":
			return 200, `<DescribeAddressesResponse><addressesSet>` +
				item("first", "<instanceId>i-1</instanceId>", "") + item("second", "<instanceId>i-1</instanceId>", "") +
				item("user", "", "") + item("nat", "", "") +
				item("other", "", "") + item("alb", "", "<serviceManaged>alb</serviceManaged>") +
				`<item><allocationId>eipalloc-free</allocationId></item></addressesSet></DescribeAddressesResponse>`
		case "DescribeNetworkInterfaces":
			for key, value := range form {
				if strings.HasPrefix(key, "Filter.1.Value.") {
					asked = append(asked, value)
				}
			}
			return 200, `<DescribeNetworkInterfacesResponse><networkInterfaceSet>` +
				`<item><networkInterfaceId>eni-user</networkInterfaceId><requesterManaged>false</requesterManaged><privateIpAddress>10.0.0.7</privateIpAddress></item>` +
				`<item><networkInterfaceId>eni-first</networkInterfaceId><privateIpAddress>10.0.0.1</privateIpAddress><attachment><instanceId>i-1</instanceId><deviceIndex>0</deviceIndex></attachment></item>` +
				`<item><networkInterfaceId>eni-second</networkInterfaceId><privateIpAddress>10.0.0.7</privateIpAddress><attachment><instanceId>i-1</instanceId><deviceIndex>1</deviceIndex></attachment></item>` +
				`<item><networkInterfaceId>eni-nat</networkInterfaceId><requesterManaged>true</requesterManaged></item>` +
				`</networkInterfaceSet></DescribeNetworkInterfacesResponse>` // eni-other is another account's
		}
		t.Errorf("call %s", form["Action"])
		return 400, ""
	})
	var got []string
	err := awstest.List(t.Context(), newAddressAssociation(client), east, func(rows []modules.Row) error {
		for _, row := range rows {
			got = append(got, strings.TrimSpace(row["elastic_ip_id"].String()+" "+row["network_interface_id"].String()+" "+
				row["private_ip_address"].String()))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := "eipalloc-first,eipalloc-second eni-second 10.0.0.1,eipalloc-user eni-user 10.0.0.1"; strings.Join(got, ",") != want {
		t.Errorf("listed %s, want %s", strings.Join(got, ","), want)
	}
	if len(asked) != 5 {
		t.Errorf("asked about the interfaces %s, want those of first, second, user, nat and other, in one call", asked)
	}
}

// A creation takes no address from what has it. A change does, and says one place.
func TestAddressAssociationCalls(t *testing.T) {
	t.Parallel()
	var sent map[string]string
	refuse := false
	c := fake(t, func(form map[string]string) (int, string) {
		if form["Action"] == "DescribeNetworkInterfaces" {
			if form["Filter.1.Value.1"] != "eni-1" {
				return 200, `<DescribeNetworkInterfacesResponse><networkInterfaceSet/></DescribeNetworkInterfacesResponse>`
			}
			return 200, `<DescribeNetworkInterfacesResponse><networkInterfaceSet><item><networkInterfaceId>eni-1</networkInterfaceId>` +
				`<attachment><instanceId>i-1</instanceId></attachment></item></networkInterfaceSet></DescribeNetworkInterfacesResponse>`
		}
		sent = form
		if refuse {
			return 400, `<Response><Errors><Error><Code>InvalidInstanceID</Code><Message>The pending instance 'i-1' is not in a valid state for this operation.</Message></Error></Errors></Response>`
		}
		return 200, `<AssociateAddressResponse><return>true</return><associationId>eipassoc-1</associationId></AssociateAddressResponse>`
	})
	r, ctx, permit := newAddressAssociation(c), t.Context(), awstest.Permit()
	want := modules.Row{"elastic_ip_id": text("eipalloc-1"), "instance_id": text("i-1"), "private_ip_address": text("10.0.0.9")}
	if _, err := awstest.Create(ctx, r, permit, east, want, ""); err != nil {
		t.Fatal(err)
	}
	check := func(what string, members ...string) {
		t.Helper()
		for i, name := range []string{"AllocationId", "InstanceId", "NetworkInterfaceId", "PrivateIpAddress", "AllowReassociation"} {
			if sent[name] != members[i] {
				t.Errorf("%s: %s is %q, want %q", what, name, sent[name], members[i])
			}
		}
	}
	check("create", "eipalloc-1", "i-1", "", "10.0.0.9", "false")
	have := want.Clone()
	have["network_interface_id"], have["association_id"] = text("eni-1"), text("eipassoc-1")
	for _, c := range []struct {
		column, to string
		members    []string
	}{
		{"instance_id", "i-2", []string{"eipalloc-1", "i-2", "", "", "true"}},
		{"network_interface_id", "eni-1", []string{"eipalloc-1", "", "eni-1", "", "true"}},
		{"network_interface_id", "eni-2", []string{"eipalloc-1", "i-1", "", "", "true"}}, // not the instance's
		{"private_ip_address", "10.0.0.8", []string{"eipalloc-1", "i-1", "", "10.0.0.8", "true"}},
	} {
		to := have.Clone()
		to[c.column] = text(c.to)
		if err := awstest.Update(ctx, r, permit, east, have, to, []string{c.column}); err != nil {
			t.Fatal(err)
		}
		check(c.column, c.members...)
	}
	// Of a record that has both, the interface counts while it is the instance's.
	both := have.Clone()
	for _, c := range []struct {
		instance string
		members  []string
	}{
		{"i-1", []string{"eipalloc-1", "", "eni-1", "10.0.0.9", "false"}},
		{"i-2", []string{"eipalloc-1", "i-2", "", "", "false"}},
	} {
		both["instance_id"] = text(c.instance)
		if _, err := awstest.Create(ctx, r, permit, east, both, ""); err != nil {
			t.Fatal(err)
		}
		check("both", c.members...)
	}
	refuse = true
	if _, err := awstest.Create(ctx, r, permit, east, want, ""); err == nil || modules.ClassOf(err) != modules.Dependency {
		t.Errorf("an instance that is being started: %v, want class %s", err, modules.Dependency)
	}
}
