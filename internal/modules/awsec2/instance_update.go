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
	if !s.Changes("instance_type", "user_data") {
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
	for _, column := range s.Columns { // one attribute a call
		in := &ec2.ModifyInstanceAttributeInput{InstanceId: id}
		switch column {
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
