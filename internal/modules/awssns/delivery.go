package awssns

import (
	"context"
	"encoding/json"
	"reflect"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"

	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// usualDelivery is what SNS means by what a topic's delivery policy leaves out,
// and adds to it ("Amazon SNS message delivery retries", SNS Developer Guide, for
// the defaults; page SetTopicAttributes, DeliveryPolicy). A throttle policy
// without a rate is none.
var usualDelivery = map[string]any{"http": map[string]any{
	"defaultHealthyRetryPolicy": map[string]any{
		"minDelayTarget": 20.0, "maxDelayTarget": 20.0, "numRetries": 3.0, "numNoDelayRetries": 0.0,
		"numMinDelayRetries": 0.0, "numMaxDelayRetries": 0.0, "backoffFunction": "linear",
	},
	"disableSubscriptionOverrides": false,
	"defaultThrottlePolicy":        map[string]any{},
	"defaultRequestPolicy":         map[string]any{"headerContentType": "text/plain; charset=UTF-8"},
}}

// usualRetries is what SNS means by what a subscription's delivery policy leaves out.
var usualRetries = map[string]any{
	"healthyRetryPolicy": usualDelivery["http"].(map[string]any)["defaultHealthyRetryPolicy"],
	"throttlePolicy":     map[string]any{},
	"requestPolicy":      usualDelivery["http"].(map[string]any)["defaultRequestPolicy"],
	"guaranteed":         false,
}

// sameRetries reports whether two delivery policies of subscriptions mean the same.
func sameRetries(a, b string) bool {
	var x, y map[string]any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return false
	}
	return reflect.DeepEqual(filled(x, usualRetries), filled(y, usualRetries))
}

// logged are the protocols whose deliveries can be logged, as CloudFormation calls them, and what the names of their
// attributes begin with (page SetTopicAttributes).
var logged = [][2]string{{"http/s", "HTTP"}, {"sqs", "SQS"}, {"lambda", "Lambda"}, {"firehose", "Firehose"},
	{"application", "Application"}}

// feedback is what the names end with.
var feedback = []string{"SuccessFeedbackRoleArn", "FailureFeedbackRoleArn", "SuccessFeedbackSampleRate"}

// logging reads the column delivery_status_logging of a topic's attributes.
var logging = declare.Codec{Decode: func(member any) (modules.Value, error) {
	attributes := member.(map[string]string)
	var all []map[string]string
	for _, protocol := range logged {
		one := map[string]string{}
		for _, name := range feedback {
			if value := attributes[protocol[1]+name]; value != "" {
				one[name] = value
			}
		}
		if one[feedback[0]] != "" || one[feedback[1]] != "" {
			one["Protocol"] = protocol[0]
			all = append(all, one)
		}
	}
	if all == nil {
		return modules.Null, nil
	}
	return modules.JSON(all)
}}

// loggings reads the column's members by protocol.
func loggings(v modules.Value) (map[string]map[string]string, error) {
	var all []map[string]string
	if !v.IsNull() {
		if err := json.Unmarshal([]byte(v.String()), &all); err != nil {
			return nil, err
		}
	}
	byProtocol := map[string]map[string]string{}
	for _, one := range all {
		byProtocol[one["Protocol"]] = one
	}
	return byProtocol, nil
}

// sameLogging reports whether the same is logged. A rate that is left out AWS fills in.
func sameLogging(a, b string) bool {
	x, err := loggings(modules.Text(a))
	y, failed := loggings(modules.Text(b))
	if err != nil || failed != nil || len(x) != len(y) {
		return a == b
	}
	for protocol, one := range x {
		other := y[protocol]
		rate := feedback[2]
		if one[feedback[0]] != other[feedback[0]] || one[feedback[1]] != other[feedback[1]] ||
			one[rate] != other[rate] && one[rate] != "" && other[rate] != "" {
			return false
		}
	}
	return true
}

// setLogging sets the attributes that differ.
func setLogging(ctx context.Context, s *declare.Step) error {
	have, err := loggings(s.Have["delivery_status_logging"])
	if err != nil {
		return err
	}
	want, err := loggings(s.Want["delivery_status_logging"])
	if err != nil {
		return &modules.Error{Class: modules.Invalid, Code: "InvalidJSON",
			Message: "delivery_status_logging: " + err.Error(), Err: err}
	}
	for _, protocol := range logged {
		for _, name := range feedback {
			value := want[protocol[0]][name]
			if value == have[protocol[0]][name] || value == "" && name == feedback[2] {
				continue
			}
			if _, err := declare.ClientOf[*sns.Client](s).SetTopicAttributes(ctx, &sns.SetTopicAttributesInput{
				TopicArn: s.Have["arn"].Ptr(), AttributeName: awssdk.String(protocol[1] + name),
				AttributeValue: &value}); err != nil {
				return err
			}
		}
	}
	return nil
}

// sameDelivery reports whether two delivery policies mean the same.
func sameDelivery(a, b string) bool {
	var x, y map[string]any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return false
	}
	return reflect.DeepEqual(filled(x, usualDelivery), filled(y, usualDelivery))
}

// filled returns an object with what is usual added where it says nothing.
func filled(object, usual map[string]any) map[string]any {
	all := map[string]any{}
	for name, value := range object {
		if value != nil {
			all[name] = value
		}
	}
	for name, value := range usual {
		below, nested := value.(map[string]any)
		has, there := all[name]
		inner, isObject := has.(map[string]any)
		switch {
		case nested && (!there || isObject):
			all[name] = filled(inner, below)
		case !there:
			all[name] = value
		}
	}
	return all
}
