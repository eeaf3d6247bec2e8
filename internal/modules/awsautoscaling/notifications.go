package awsautoscaling

import (
	"context"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	astypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// notified is a topic of the column notification_configurations, in the words of PutNotificationConfiguration.
type notified struct {
	TopicARN          *string
	NotificationTypes []string
}

// notificationsColumn are the topics that a group tells what becomes of its instances.
func notificationsColumn() declare.Column {
	return declare.JSON("notification_configurations", "NotificationConfigurations",
		`Which topics are told what becomes of its instances: [{"TopicARN": "arn:…", "NotificationTypes": ["autoscaling:EC2_INSTANCE_LAUNCH", "autoscaling:EC2_INSTANCE_TERMINATE"]}].`).
		Unordered().EmptyIsNull().Check("jsonb_typeof(notification_configurations) = 'array'").As(notifications).
		Same(sameNotifications).Born(modules.Null).Since(4).
		From(declare.Call((*autoscaling.Client).DescribeNotificationConfigurations,
			declare.From("AutoScalingGroupNames[0]", "auto_scaling_group_name"), declare.IfAllowed(), declare.Rarely()))
}

// notifications are read as one member for each topic: AWS tells one for each topic and type of events.
var notifications = declare.Codec{
	Decode: func(member any) (modules.Value, error) {
		types := map[string][]string{}
		for _, n := range member.([]astypes.NotificationConfiguration) {
			topic := awssdk.ToString(n.TopicARN)
			types[topic] = append(types[topic], awssdk.ToString(n.NotificationType))
		}
		if len(types) == 0 {
			return modules.Null, nil
		}
		return aws.Document(listed(types))
	},
	Encode: func(v modules.Value) (any, error) { return notificationsOf(v) },
}

// listed are topics and the types of events that they are told, both in order.
func listed(types map[string][]string) []notified {
	var list []notified
	for topic, of := range types {
		slices.Sort(of)
		list = append(list, notified{awssdk.String(topic), slices.Compact(of)})
	}
	slices.SortFunc(list, func(a, b notified) int { return compare(a.TopicARN, b.TopicARN) })
	return list
}

func compare(a, b *string) int { return strings.Compare(awssdk.ToString(a), awssdk.ToString(b)) }

// notificationsOf returns the topics of the column, with the types of events.
func notificationsOf(v modules.Value) (map[string][]string, error) {
	var list []notified
	if !v.IsNull() {
		if err := aws.ParseDocument("notification_configurations", v, &list); err != nil {
			return nil, err
		}
	}
	types := map[string][]string{}
	for _, n := range list {
		topic := awssdk.ToString(n.TopicARN)
		types[topic] = append(types[topic], n.NotificationTypes...)
	}
	return types, nil
}

// sameNotifications compares topics and types of events in whatever order.
func sameNotifications(a, b string) bool {
	x, err := notificationsOf(modules.Text(a))
	y, failed := notificationsOf(modules.Text(b))
	if err != nil || failed != nil {
		return a == b
	}
	return slices.EqualFunc(listed(x), listed(y), sameTopic)
}

func sameTopic(a, b notified) bool {
	return compare(a.TopicARN, b.TopicARN) == 0 && slices.Equal(a.NotificationTypes, b.NotificationTypes)
}

// setNotifications puts the topics that are new or told of other events, which takes the place of what a topic was told
// before (page PutNotificationConfiguration), and then deletes those that are told no longer.
func setNotifications(ctx context.Context, s *declare.Step) error {
	have, err := notificationsOf(s.Have["notification_configurations"])
	if err != nil {
		return err
	}
	want, err := notificationsOf(s.Want["notification_configurations"])
	if err != nil {
		return err
	}
	had, wanted := listed(have), listed(want)
	client, name := declare.ClientOf[*autoscaling.Client](s), s.Have["auto_scaling_group_name"].Ptr()
	for _, n := range wanted {
		if slices.ContainsFunc(had, func(h notified) bool { return sameTopic(h, n) }) {
			continue
		}
		if _, err := client.PutNotificationConfiguration(ctx, &autoscaling.PutNotificationConfigurationInput{
			AutoScalingGroupName: name, TopicARN: n.TopicARN, NotificationTypes: n.NotificationTypes}); err != nil {
			return err
		}
	}
	for _, h := range had {
		if _, keep := want[*h.TopicARN]; keep {
			continue
		}
		if _, err := client.DeleteNotificationConfiguration(ctx, &autoscaling.DeleteNotificationConfigurationInput{
			AutoScalingGroupName: name, TopicARN: h.TopicARN}); aws.IfExists(err) != nil {
			return err
		}
	}
	return nil
}
