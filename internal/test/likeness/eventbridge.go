package likeness

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// deliver takes a record to the targets of the rules that it matches, of the default bus of
// its account and region, and of buses that those are.
func (t *Trail) deliver(r record) {
	t.lock.Lock()
	stopped := t.stopped
	t.lock.Unlock()
	if stopped {
		return
	}
	t.put(r.text("recipientAccountId"), r.text("awsRegion"), "default", r.event(), 0)
}

// event is what EventBridge makes of a record.
func (r record) event() map[string]any {
	return map[string]any{
		"version": "0", "id": uuid(), "detail-type": "AWS API Call via CloudTrail",
		"source":  "aws." + strings.TrimSuffix(r.text("eventSource"), ".amazonaws.com"),
		"account": r.text("recipientAccountId"), "time": r.text("eventTime"), "region": r.text("awsRegion"),
		"resources": []any{}, "detail": map[string]any(r),
	}
}

// mostBuses is how many buses an event passes: one may send to another, and that to no third
// (EventBridge User Guide, "Sending and receiving events between AWS accounts").
const mostBuses = 2

func (t *Trail) put(account, region, bus string, event map[string]any, passed int) {
	if passed >= mostBuses {
		return
	}
	rules, err := t.rules.of(t, account, region, bus)
	if err != nil {
		t.fail(err.Error())
		return
	}
	for _, rule := range rules {
		if !rule.matches(event) {
			continue
		}
		for _, target := range rule.targets {
			if err := t.send(target, event, passed); err != nil {
				t.fail(fmt.Sprintf("rule %s: target %s: %v", rule.name, target, err))
			}
		}
	}
}

// send sends an event to a target: a queue, a topic or a bus.
func (t *Trail) send(arn string, event map[string]any, passed int) error {
	parts := strings.SplitN(arn, ":", 6)
	if len(parts) != 6 {
		return fmt.Errorf("it is no ARN")
	}
	region, account, name := parts[3], parts[4], parts[5]
	body, err := json.Marshal(event)
	if err != nil {
		return err
	}
	switch parts[2] {
	case "events":
		t.put(account, region, strings.TrimPrefix(name, "event-bus/"), event, passed+1)
		return nil
	case "sqs":
		url, err := t.queue(account, region, name)
		if err != nil {
			return err
		}
		if _, err = t.json(account, region, "sqs", "AmazonSQS.SendMessage",
			map[string]any{"QueueUrl": url, "MessageBody": string(body)}); err != nil {
			return err
		}
	case "sns":
		answer := t.emulator.query(t.as(account, region, "sns"), "sns", "Publish", "TopicArn", arn, "Message",
			string(body))
		if answer == "" {
			return fmt.Errorf("nothing was published")
		}
	default:
		return nil // functions and the like, which nobody looks at
	}
	t.lock.Lock()
	t.counts.Sent++
	t.lock.Unlock()
	return nil
}

func (t *Trail) queue(account, region, name string) (string, error) {
	answer, err := t.json(account, region, "sqs", "AmazonSQS.GetQueueUrl", map[string]any{"QueueName": name})
	if err != nil {
		return "", err
	}
	url, _ := answer["QueueUrl"].(string)
	return url, nil
}

// as is a call of an account's own, in its region.
func (t *Trail) as(account, region, service string) Call {
	var c Call
	c.Service, c.Region, c.Header = service, region, http.Header{}
	c.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=AKIAMOTO"+account+"/20260101/"+region+"/"+service+
		"/aws4_request, SignedHeaders=host, Signature=0")
	c.Header.Set("X-Amz-Date", "20260101T000000Z")
	c.Header.Set("X-Moto-Account-Id", account) // where no proxy of the tests' says so
	return c
}

// json asks the emulator in the JSON protocol.
func (t *Trail) json(account, region, service, target string, input any) (map[string]any, error) {
	body, err := json.Marshal(input)
	if err != nil {
		return nil, err
	}
	c := t.as(account, region, service)
	c.Header.Set("X-Amz-Target", target)
	c.Header.Set("Content-Type", "application/x-amz-json-1.0")
	text := t.emulator.send(c.Header, string(body))
	var answer map[string]any
	if json.Unmarshal([]byte(text), &answer) != nil {
		return nil, fmt.Errorf("%s was not answered", target)
	}
	return answer, nil
}

// busRule is a rule of EventBridge with its targets.
type busRule struct {
	name    string
	all     bool // also of calls that only read
	pattern map[string]any
	targets []string
}

func (r *busRule) matches(event map[string]any) bool {
	if detail, _ := event["detail"].(map[string]any); detail["readOnly"] == true && !r.all {
		return false
	}
	return matches(r.pattern, event)
}

// matches reports whether an event has what a pattern asks for (EventBridge User Guide,
// "Creating Amazon EventBridge event patterns").
func matches(pattern, event map[string]any) bool {
	for name, want := range pattern {
		got, there := event[name]
		switch want := want.(type) {
		case map[string]any:
			inner, _ := got.(map[string]any)
			if !matches(want, inner) {
				return false
			}
		case []any:
			if !slices.ContainsFunc(want, func(one any) bool { return matchesOne(one, got, there) }) {
				return false
			}
		}
	}
	return true
}

func matchesOne(want, got any, there bool) bool {
	if list, ok := got.([]any); ok {
		return slices.ContainsFunc(list, func(one any) bool { return matchesOne(want, one, true) })
	}
	condition, ok := want.(map[string]any)
	if !ok {
		return there && want == got
	}
	text, _ := got.(string)
	for kind, value := range condition {
		switch kind {
		case "exists":
			return there == (value == true)
		case "prefix":
			prefix, _ := value.(string)
			return there && strings.HasPrefix(text, prefix)
		case "suffix":
			suffix, _ := value.(string)
			return there && strings.HasSuffix(text, suffix)
		case "wildcard":
			wildcard, _ := value.(string)
			return there && regexp.MustCompile("^"+strings.ReplaceAll(regexp.QuoteMeta(wildcard), `\*`, ".*")+
				"$").MatchString(text)
		case "anything-but":
			switch value := value.(type) {
			case []any:
				return there && !slices.Contains(value, got)
			case map[string]any:
				return there && !matchesOne(value, got, there)
			}
			return there && value != got
		}
	}
	return false
}

// ruleCache remembers rules for a moment: an account of a thousand changes a minute is not
// to have them all looked up for each.
type ruleCache struct {
	lock  sync.Mutex
	known map[string]cachedRules
}

type cachedRules struct {
	at    time.Time
	rules []busRule
}

// RulesTakeEffect is how long a new rule or target may have no effect ("Allow a short period
// of time for changes to take effect": EventBridge API Reference, PutRule and PutTargets).
const RulesTakeEffect = 500 * time.Millisecond

func (c *ruleCache) of(t *Trail, account, region, bus string) ([]busRule, error) {
	key := account + " " + region + " " + bus
	c.lock.Lock()
	defer c.lock.Unlock()
	if known, ok := c.known[key]; ok && time.Since(known.at) < RulesTakeEffect {
		return known.rules, nil
	}
	asked := time.Now()
	rules, err := t.lookUp(account, region, bus)
	if err != nil {
		return nil, err
	}
	if c.known == nil {
		c.known = map[string]cachedRules{}
	}
	c.known[key] = cachedRules{asked, rules}
	return rules, nil
}

func (t *Trail) lookUp(account, region, bus string) ([]busRule, error) {
	answer, err := t.json(account, region, "events", "AWSEvents.ListRules", map[string]any{"EventBusName": bus})
	if err != nil {
		return nil, err
	}
	var rules []busRule
	all, _ := answer["Rules"].([]any)
	for _, one := range all {
		object, _ := one.(map[string]any)
		state, _ := object["State"].(string)
		text, _ := object["EventPattern"].(string)
		r := busRule{all: state == "ENABLED_WITH_ALL_CLOUDTRAIL_MANAGEMENT_EVENTS"}
		r.name, _ = object["Name"].(string)
		if state == "DISABLED" || text == "" || json.Unmarshal([]byte(text), &r.pattern) != nil {
			continue
		}
		answer, err := t.json(account, region, "events", "AWSEvents.ListTargetsByRule",
			map[string]any{"Rule": r.name, "EventBusName": bus})
		if err != nil {
			return nil, err
		}
		targets, _ := answer["Targets"].([]any)
		for _, target := range targets {
			object, _ := target.(map[string]any)
			if arn, _ := object["Arn"].(string); arn != "" {
				r.targets = append(r.targets, arn)
			}
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// Keep has records kept for [Trail.Deliver], those that EventBridge loses among them.
func (t *Trail) Keep() {
	t.lock.Lock()
	defer t.lock.Unlock()
	t.keep = true
}

func (t *Trail) remember(r record) {
	t.lock.Lock()
	defer t.lock.Unlock()
	if key := r.text("recipientAccountId") + "/" + r.text("awsRegion"); t.keep && len(t.kept[key]) < 100_000 {
		t.kept[key] = append(t.kept[key], r)
	}
}

// Deliver puts the records that have been kept into files of a bucket, as a trail does every
// five minutes or so (CloudTrail User Guide, "Finding your CloudTrail log files"). put is
// given each file's key and what it holds.
func (t *Trail) Deliver(put func(key string, file []byte) error) error {
	t.lock.Lock()
	kept := t.kept
	t.kept = map[string][]record{}
	t.lock.Unlock()
	for place, records := range kept {
		account, region, _ := strings.Cut(place, "/")
		var zipped bytes.Buffer
		w := gzip.NewWriter(&zipped)
		if err := json.NewEncoder(w).Encode(map[string]any{"Records": records}); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		now := time.Now().UTC()
		key := fmt.Sprintf("AWSLogs/%s/CloudTrail/%s/%s/%s_CloudTrail_%s_%s_%s.json.gz", account, region,
			now.Format("2006/01/02"), account, region, now.Format("20060102T1504Z"), uuid()[:8])
		if err := put(key, zipped.Bytes()); err != nil {
			return err
		}
	}
	return nil
}
