package awsec2

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// whileStopped are the columns that AWS changes of instances that are stopped.
var whileStopped = []string{"instance_type", "user_data", "ebs_optimized", "kernel_id", "ramdisk_id", "affinity",
	"host_id", "tenancy"}

// place says on which host an instance is.
func place(ctx context.Context, s *declare.Step) error {
	in := &ec2.ModifyInstancePlacementInput{InstanceId: s.Have["instance_id"].Ptr()}
	if s.Changes("affinity") {
		in.Affinity = ec2types.Affinity(s.Want["affinity"].String())
	}
	if s.Changes("host_id") {
		in.HostId = s.Want["host_id"].Ptr()
	}
	if s.Changes("tenancy") {
		in.Tenancy = ec2types.HostTenancy(s.Want["tenancy"].String())
	}
	_, err := declare.ClientOf[*ec2.Client](s).ModifyInstancePlacement(ctx, in)
	return err
}

// burstable reports whether instances of a type have CPU credits: those of the types T.
func burstable(kind string) bool {
	return strings.HasPrefix(kind, "t") && !strings.HasPrefix(kind, "trn")
}

// credits reads which instances may use more credits than they have: one call for a page of instances.
func credits(ctx context.Context, s *declare.Step, rows []modules.Row) error {
	var ids []string
	for _, row := range rows {
		row["cpu_credits"] = modules.Null
		if burstable(row["instance_type"].String()) {
			ids = append(ids, row["instance_id"].String())
		}
	}
	if len(ids) == 0 {
		return nil
	}
	all, err := declare.Find[ec2types.InstanceCreditSpecification](ctx, s.Source(),
		declare.Pages(ec2.NewDescribeInstanceCreditSpecificationsPaginator, "InstanceCreditSpecifications"),
		"instance-id", ids...)
	if err != nil {
		return err
	}
	for _, c := range all {
		for _, row := range rows {
			if row["instance_id"] == modules.TextPtr(c.InstanceId) {
				row["cpu_credits"] = modules.TextPtr(c.CpuCredits)
			}
		}
	}
	return nil
}

// setCredits says whether an instance may use more credits than it has. Its failure is told as a success.
func setCredits(ctx context.Context, s *declare.Step) error {
	if s.Want["cpu_credits"].IsNull() {
		return nil
	}
	out, err := declare.ClientOf[*ec2.Client](s).ModifyInstanceCreditSpecification(ctx,
		&ec2.ModifyInstanceCreditSpecificationInput{
			InstanceCreditSpecifications: []ec2types.InstanceCreditSpecificationRequest{
				{InstanceId: s.Have["instance_id"].Ptr(), CpuCredits: s.Want["cpu_credits"].Ptr()}},
		})
	if err != nil {
		return err
	}
	for _, u := range out.UnsuccessfulInstanceCreditSpecifications {
		if u.Error != nil {
			return aws.ErrorOf(string(u.Error.Code), awssdk.ToString(u.Error.Message))
		}
	}
	return nil
}

// setNames says what an instance's private name is made of.
func setNames(ctx context.Context, s *declare.Step) error {
	const column = "private_dns_name_options"
	if s.Want[column].IsNull() {
		return nil
	}
	var want ec2types.PrivateDnsNameOptionsRequest
	if err := aws.ParseDocument(column, s.Want[column], &want); err != nil {
		return err
	}
	_, err := declare.ClientOf[*ec2.Client](s).ModifyPrivateDnsNameOptions(ctx, &ec2.ModifyPrivateDnsNameOptionsInput{
		InstanceId: s.Have["instance_id"].Ptr(), EnableResourceNameDnsAAAARecord: want.EnableResourceNameDnsAAAARecord,
		EnableResourceNameDnsARecord: want.EnableResourceNameDnsARecord, PrivateDnsHostnameType: want.HostnameType,
	})
	return err
}

// usualCores leaves out the cores and threads that an instance's type has by itself: AWS refuses them of many a type.
func usualCores(ctx context.Context, client *ec2.Client, in *ec2.RunInstancesInput) error {
	o := in.CpuOptions
	if o == nil || o.AmdSevSnp != "" || o.NestedVirtualization != "" || o.CoreCount == nil || o.ThreadsPerCore == nil {
		return nil
	}
	out, err := client.DescribeInstanceTypes(ctx,
		&ec2.DescribeInstanceTypesInput{InstanceTypes: []ec2types.InstanceType{in.InstanceType}})
	if err != nil {
		return err
	}
	for _, t := range out.InstanceTypes {
		if v := t.VCpuInfo; v != nil && awssdk.ToInt32(v.DefaultCores) == *o.CoreCount &&
			awssdk.ToInt32(v.DefaultThreadsPerCore) == *o.ThreadsPerCore {
			in.CpuOptions = nil
		}
	}
	return nil
}

func setMonitoring(ctx context.Context, s *declare.Step) (err error) {
	client, ids := declare.ClientOf[*ec2.Client](s), []string{s.Have["instance_id"].String()}
	if s.Want["monitoring"].Bool() {
		_, err = client.MonitorInstances(ctx, &ec2.MonitorInstancesInput{InstanceIds: ids})
	} else {
		_, err = client.UnmonitorInstances(ctx, &ec2.UnmonitorInstancesInput{InstanceIds: ids})
	}
	return err
}

func setState(ctx context.Context, client *ec2.Client, id, state string) error {
	if state == running {
		_, err := client.StartInstances(ctx, &ec2.StartInstancesInput{InstanceIds: []string{id}})
		return err
	}
	in := &ec2.StopInstancesInput{InstanceIds: []string{id}}
	if state == hibernate {
		in.Hibernate = awssdk.Bool(true)
	}
	_, err := client.StopInstances(ctx, in)
	return err
}

// change changes what can be changed only while the instance is stopped
// (page ModifyInstanceAttribute), and leaves the instance in the state that is
// wanted. Stopping takes minutes, which nobody waits for: the change is made when
// the engine comes back to it.
func (u *userData) change(ctx context.Context, s *declare.Step) error {
	client, id, want := declare.ClientOf[*ec2.Client](s), s.Have["instance_id"].Ptr(), s.Want
	if !s.Changes(whileStopped...) {
		return setState(ctx, client, *id, want["state"].String())
	}
	now, err := one(ctx, client, *id)
	if err != nil {
		return err
	}
	if status(now) == ec2types.InstanceStateNameRunning {
		// Before it is stopped, so that nobody ever takes that for what is wanted.
		if want["state"].String() == running {
			if err := setRestart(ctx, client, now); err != nil {
				return err
			}
		}
		if err := setState(ctx, client, *id, stopped); err != nil {
			return err
		}
		if now, err = one(ctx, client, *id); err != nil {
			return err
		}
	}
	if is := status(now); is != ec2types.InstanceStateNameStopped {
		return &modules.Error{Class: modules.Dependency, Code: "IncorrectInstanceState",
			Message: fmt.Sprintf("the instance is changed when it has stopped: it is %s", is)}
	}
	if s.Changes("affinity", "host_id", "tenancy") {
		if err := place(ctx, s); err != nil {
			return err
		}
	}
	for _, column := range s.Columns { // one attribute a call
		in := &ec2.ModifyInstanceAttributeInput{InstanceId: id}
		if want[column].IsNull() && column != "user_data" {
			continue // AWS's to choose
		}
		switch column {
		case "ebs_optimized":
			in.EbsOptimized = &ec2types.AttributeBooleanValue{Value: awssdk.Bool(want[column].Bool())}
		case "kernel_id":
			in.Kernel = &ec2types.AttributeValue{Value: want[column].Ptr()}
		case "ramdisk_id":
			in.Ramdisk = &ec2types.AttributeValue{Value: want[column].Ptr()}
		case "instance_type":
			in.InstanceType = &ec2types.AttributeValue{Value: want[column].Ptr()}
		case "user_data":
			in.UserData = &ec2types.SecureBlobAttributeValue{Value: []byte(want[column].String())}
			u.forget(*id)
		default:
			continue
		}
		if _, err := client.ModifyInstanceAttribute(ctx, in); err != nil {
			return err
		}
	}
	if want["state"].String() == running {
		if err := setState(ctx, client, *id, running); err != nil {
			return err
		}
	}
	if _, marked := tagged(now); !marked {
		return nil
	}
	_, err = client.DeleteTags(ctx,
		&ec2.DeleteTagsInput{Resources: []string{*id}, Tags: []ec2types.Tag{{Key: awssdk.String(aws.RestartTag)}}})
	return err
}

// one returns an instance.
func one(ctx context.Context, client *ec2.Client, id string) (ec2types.Instance, error) {
	found, err := declare.Find[ec2types.Instance](ctx, declare.Source{Client: client}, instances(), "instance-id", id)
	if err == nil && len(found) == 0 {
		err = &modules.Error{Class: modules.NotFound, Code: "InvalidInstanceID.NotFound",
			Message: "there is no instance " + id}
	}
	if err != nil {
		return ec2types.Instance{}, err
	}
	return found[0], nil
}

// restartTime is how long an instance that was stopped to be changed is taken
// for one that is to run. An engine that was killed in between picks it up again
// well before; should the change be withdrawn meanwhile, nobody starts the
// instance, and it is shown as stopped from then on.
const restartTime = 15 * time.Minute

// setRestart marks an instance as one that is stopped to be started again, with
// the time until which that counts and the type that it is shown with: one that
// differs from what is wanted, until it has been started.
func setRestart(ctx context.Context, client *ec2.Client, i ec2types.Instance) error {
	value := fmt.Sprintf("%d %s", time.Now().Add(restartTime).Unix(), i.InstanceType)
	_, err := client.CreateTags(ctx, &ec2.CreateTagsInput{
		Resources: []string{*i.InstanceId}, Tags: aws.EC2Tags.List(map[string]string{aws.RestartTag: value}),
	})
	return err
}

func tagged(i ec2types.Instance) (string, bool) {
	value, ok := aws.EC2Tags.Map(i.Tags)[aws.RestartTag]
	return value, ok
}

// restarting returns the type that an instance had before it was stopped to be
// changed, if that is under way.
func restarting(i ec2types.Instance) (before string, ok bool) {
	value, ok := tagged(i)
	until, before, cut := strings.Cut(value, " ")
	unix, err := strconv.ParseInt(until, 10, 64)
	return before, ok && cut && err == nil && time.Now().Before(time.Unix(unix, 0)) &&
		status(i) != ec2types.InstanceStateNameShuttingDown
}
