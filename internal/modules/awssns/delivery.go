package awssns

import (
	"encoding/json"
	"reflect"
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
