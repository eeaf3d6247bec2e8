package awsec2

import (
	"context"
	"encoding/base64"
	"fmt"
	"sync"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// mostUserData is how many instances' user data is kept: at 16 KB each, 64 MB at
// the very most.
const mostUserData = 4096

// userData reads the user data of instances, a call each, and keeps that of
// those that run: it can be changed only while an instance is stopped (page
// ModifyInstanceAttribute), and with every start the launch time changes.
type userData struct {
	mu   sync.Mutex
	kept map[string]keptData // by instance
}

type keptData struct {
	launched time.Time
	data     string
}

// of returns an instance's user data.
func (u *userData) of(ctx context.Context, client *ec2.Client, i ec2types.Instance) (string, error) {
	id, launched := awssdk.ToString(i.InstanceId), awssdk.ToTime(i.LaunchTime)
	runs := status(i) == ec2types.InstanceStateNameRunning
	u.mu.Lock()
	kept, ok := u.kept[id]
	u.mu.Unlock()
	if ok && runs && kept.launched.Equal(launched) {
		return kept.data, nil
	}
	out, err := client.DescribeInstanceAttribute(ctx, &ec2.DescribeInstanceAttributeInput{
		InstanceId: &id, Attribute: ec2types.InstanceAttributeNameUserData,
	})
	if err != nil {
		return "", err
	}
	var data []byte
	if out.UserData != nil {
		if data, err = base64.StdEncoding.DecodeString(awssdk.ToString(out.UserData.Value)); err != nil {
			return "", fmt.Errorf("user data of %s: %w", id, err)
		}
	}
	if runs {
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.kept == nil || len(u.kept) >= mostUserData {
			u.kept = map[string]keptData{}
		}
		u.kept[id] = keptData{launched, string(data)}
	}
	return string(data), nil
}

// forget is for what the engine changes itself.
func (u *userData) forget(instance string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.kept, instance)
}
