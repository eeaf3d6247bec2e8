package likeness

import (
	"encoding/json"
	"html"
	"net/url"
	"slices"
	"strings"

	"iasql/internal/test/faultproxy"
)

// Topics are SNS's topics and subscriptions as it keeps them.
//
//   - A delivery policy comes back with what it leaves out, disableSubscriptionOverrides
//     among it ("Amazon SNS message delivery retries" in the Amazon SNS Developer Guide).
//   - A subscription that is there with other attributes is not made again (Subscribe:
//     InvalidParameter, "Subscription already exists with different attributes").
//   - One by HTTP or email has no ARN before somebody has confirmed it (Subscribe:
//     SubscriptionArn is "pending confirmation"; ListSubscriptions: PendingConfirmation).
type Topics struct{ memory }

// Apply implements [Rule].
func (r *Topics) Apply(c Call) faultproxy.Fault {
	if c.Service != "sns" {
		return faultproxy.Fault{}
	}
	switch c.Action {
	case "GetTopicAttributes":
		return faultproxy.Fault{Rewrite: element("entry", effective)}
	case "Subscribe":
		return r.subscribe(c.Params)
	case "SetSubscriptionAttributes", "Unsubscribe":
		return learn(func(string) { r.forget("attributes " + r.get("of "+c.Params.Get("SubscriptionArn"))) })
	case "ListSubscriptions", "ListSubscriptionsByTopic":
		return faultproxy.Fault{Rewrite: element("member", func(text string) string {
			if waits(member(text, "Protocol")) && r.get("confirmed "+member(text, "TopicArn")) == "" {
				return put(text, "SubscriptionArn", "PendingConfirmation")
			}
			return text
		})}
	case "ConfirmSubscription":
		return learn(func(string) { r.set("confirmed "+c.Params.Get("TopicArn"), "yes") })
	}
	return faultproxy.Fault{}
}

// waits reports whether endpoints of a protocol have to confirm.
func waits(protocol string) bool {
	return slices.Contains([]string{"http", "https", "email", "email-json"}, protocol)
}

// subscribe refuses what is there with other attributes.
func (r *Topics) subscribe(p url.Values) faultproxy.Fault {
	what := strings.Join([]string{p.Get("TopicArn"), p.Get("Protocol"), p.Get("Endpoint")}, " ")
	attributes := url.Values{}
	for name, values := range p {
		if strings.HasPrefix(name, "Attributes.") {
			attributes[name] = values
		}
	}
	text := "attributes: " + attributes.Encode()
	if there := r.get("attributes " + what); there != "" && there != text {
		return refusal(400, "InvalidParameter",
			"Invalid parameter: Attributes Reason: Subscription already exists with different attributes")
	}
	return rewrite(func(answer string) string {
		r.set("attributes "+what, text)
		r.set("of "+member(answer, "SubscriptionArn"), what)
		if waits(p.Get("Protocol")) && p.Get("ReturnSubscriptionArn") != "true" {
			return put(answer, "SubscriptionArn", "pending confirmation")
		}
		return answer
	})
}

// effective is an attribute of a topic as SNS keeps it.
func effective(entry string) string {
	var policy map[string]map[string]any
	if member(entry, "key") != "DeliveryPolicy" ||
		json.Unmarshal([]byte(html.UnescapeString(member(entry, "value"))), &policy) != nil || policy["http"] == nil {
		return entry
	}
	if _, told := policy["http"]["disableSubscriptionOverrides"]; !told {
		policy["http"]["disableSubscriptionOverrides"] = false
	}
	if retries, ok := policy["http"]["defaultHealthyRetryPolicy"].(map[string]any); ok {
		for name, usual := range map[string]any{"minDelayTarget": 20, "maxDelayTarget": 20, "numRetries": 3,
			"numMaxDelayRetries": 0,
			"numNoDelayRetries":  0, "numMinDelayRetries": 0, "backoffFunction": "linear"} {
			if _, told := retries[name]; !told {
				retries[name] = usual
			}
		}
	}
	text, err := json.Marshal(policy)
	if err != nil {
		return entry
	}
	return put(entry, "value", escaped(string(text)))
}
