package awsautoscaling

import (
	"context"
	"maps"
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
		Same(declare.Alike(byTopic)).Born(modules.Null).Since(4).
		From(declare.Call((*autoscaling.Client).DescribeNotificationConfigurations,
			declare.From("AutoScalingGroupNames[0]", "auto_scaling_group_name"), declare.IfAllowed(), declare.Rarely()))
}

// notifications are read as one member for each topic: AWS tells one for each topic and type of events.
var notifications = declare.Codec{
	Decode: func(member any) (modules.Value, error) {
		var list []notified
		for _, n := range member.([]astypes.NotificationConfiguration) {
			list = append(list, notified{n.TopicARN, []string{awssdk.ToString(n.NotificationType)}})
		}
		if len(list) == 0 {
			return modules.Null, nil
		}
		byTopic(&list)
		return aws.Document(list)
	},
}

// byTopic makes one member of those of each topic. Topics, and the types of events that they are told, are put in
// order.
func byTopic(list *[]notified) {
	types := map[string][]string{}
	for _, n := range *list {
		topic := awssdk.ToString(n.TopicARN)
		types[topic] = append(types[topic], n.NotificationTypes...)
	}
	*list = nil
	for _, topic := range slices.Sorted(maps.Keys(types)) {
		slices.Sort(types[topic])
		*list = append(*list, notified{awssdk.String(topic), slices.Compact(types[topic])})
	}
}

func compare(a, b *string) int { return strings.Compare(awssdk.ToString(a), awssdk.ToString(b)) }

// setNotifications puts the topics that are new or told of other events, which takes the place of what a topic was told
// before (page PutNotificationConfiguration), and then deletes those that are told no longer.
func setNotifications(ctx context.Context, s *declare.Step) error {
	have, want, err := declare.Both(s, "notification_configurations", byTopic)
	if err != nil {
		return err
	}
	client, name := declare.ClientOf[*autoscaling.Client](s), s.Have["auto_scaling_group_name"].Ptr()
	return declare.Parts(have, want, func(n notified) string { return *n.TopicARN },
		func(a, b notified) bool { return slices.Equal(a.NotificationTypes, b.NotificationTypes) },
		func(n notified, _ *notified) error {
			_, err := client.PutNotificationConfiguration(ctx, &autoscaling.PutNotificationConfigurationInput{
				AutoScalingGroupName: name, TopicARN: n.TopicARN, NotificationTypes: n.NotificationTypes})
			return err
		}, func(n notified) error {
			_, err := client.DeleteNotificationConfiguration(ctx, &autoscaling.DeleteNotificationConfigurationInput{
				AutoScalingGroupName: name, TopicARN: n.TopicARN})
			return err
		})
}
