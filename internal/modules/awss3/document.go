package awss3

import (
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// analytics and metrics are configurations whose filters the SDK has as one of several types.
type (
	analytics struct {
		Id                   *string
		StorageClassAnalysis *s3types.StorageClassAnalysis `json:",omitempty"`
		Filter               *analyzed                     `json:",omitempty"`
	}
	analyzed struct {
		And    *s3types.AnalyticsAndOperator `json:",omitempty"`
		Prefix *string                       `json:",omitempty"`
		Tag    *s3types.Tag                  `json:",omitempty"`
	}
	metrics struct {
		Id     *string
		Filter *measured `json:",omitempty"`
	}
	measured struct {
		AccessPointArn *string                     `json:",omitempty"`
		And            *s3types.MetricsAndOperator `json:",omitempty"`
		Prefix         *string                     `json:",omitempty"`
		Tag            *s3types.Tag                `json:",omitempty"`
	}
)

func (c analytics) configuration() *s3types.AnalyticsConfiguration {
	out := &s3types.AnalyticsConfiguration{Id: c.Id, StorageClassAnalysis: c.StorageClassAnalysis}
	if out.StorageClassAnalysis == nil {
		out.StorageClassAnalysis = &s3types.StorageClassAnalysis{} // which AWS requires
	}
	switch f := c.Filter; {
	case f == nil:
	case f.And != nil:
		out.Filter = &s3types.AnalyticsFilterMemberAnd{Value: *f.And}
	case f.Tag != nil:
		out.Filter = &s3types.AnalyticsFilterMemberTag{Value: *f.Tag}
	case f.Prefix != nil:
		out.Filter = &s3types.AnalyticsFilterMemberPrefix{Value: *f.Prefix}
	}
	return out
}

func analyticsOf(c s3types.AnalyticsConfiguration) analytics {
	out := analytics{Id: c.Id, StorageClassAnalysis: c.StorageClassAnalysis}
	switch f := c.Filter.(type) {
	case *s3types.AnalyticsFilterMemberAnd:
		out.Filter = &analyzed{And: &f.Value}
	case *s3types.AnalyticsFilterMemberTag:
		out.Filter = &analyzed{Tag: &f.Value}
	case *s3types.AnalyticsFilterMemberPrefix:
		out.Filter = &analyzed{Prefix: &f.Value}
	}
	return out
}

func (c metrics) configuration() *s3types.MetricsConfiguration {
	out := &s3types.MetricsConfiguration{Id: c.Id}
	switch f := c.Filter; {
	case f == nil:
	case f.And != nil:
		out.Filter = &s3types.MetricsFilterMemberAnd{Value: *f.And}
	case f.Tag != nil:
		out.Filter = &s3types.MetricsFilterMemberTag{Value: *f.Tag}
	case f.AccessPointArn != nil:
		out.Filter = &s3types.MetricsFilterMemberAccessPointArn{Value: *f.AccessPointArn}
	case f.Prefix != nil:
		out.Filter = &s3types.MetricsFilterMemberPrefix{Value: *f.Prefix}
	}
	return out
}

func metricsOf(c s3types.MetricsConfiguration) metrics {
	out := metrics{Id: c.Id}
	switch f := c.Filter.(type) {
	case *s3types.MetricsFilterMemberAnd:
		out.Filter = &measured{And: &f.Value}
	case *s3types.MetricsFilterMemberTag:
		out.Filter = &measured{Tag: &f.Value}
	case *s3types.MetricsFilterMemberAccessPointArn:
		out.Filter = &measured{AccessPointArn: &f.Value}
	case *s3types.MetricsFilterMemberPrefix:
		out.Filter = &measured{Prefix: &f.Value}
	}
	return out
}

// converted reads a list of the SDK's structures as the column has them.
func converted[S, C any](of func(S) C) declare.Codec {
	return declare.Codec{Decode: func(member any) (modules.Value, error) {
		var list []C
		for _, c := range member.([]S) {
			list = append(list, of(c))
		}
		return asDocument(list)
	}}
}

// structure are documents in which an empty object says something: that there is one.
func structure[T any](fill func(*T)) declare.Codec {
	return declare.Codec{
		Decode: func(member any) (modules.Value, error) { return asDocument(member) },
		Encode: func(v modules.Value) (any, error) {
			var t T
			err := aws.ParseDocument("", v, &t)
			if fill != nil {
				fill(&t)
			}
			return t, err
		},
	}
}

// asDocument returns a structure of the SDK's as JSON, without what is not there.
func asDocument(v any) (modules.Value, error) {
	members, err := parsed(v)
	if err != nil {
		return modules.Null, err
	}
	members = there(members)
	switch m := members.(type) {
	case nil:
		return modules.Null, nil
	case []any:
		if len(m) == 0 {
			return modules.Null, nil
		}
	case map[string]any:
		if len(m) == 0 {
			return modules.Null, nil
		}
	}
	return modules.JSON(members)
}

func parsed(v any) (members any, err error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return members, json.Unmarshal(text, &members)
}

// there leaves out of JSON what is null or an empty text.
func there(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = there(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = there(v[name])
		}
		maps.DeleteFunc(v, func(_ string, member any) bool { return member == nil || member == "" })
	}
	return v
}

// plain returns what a structure of the SDK's says: without what is false, zero or empty, and with lists sorted, of
// which the order means nothing.
func plain(v any) any {
	members, err := parsed(v)
	if err != nil {
		return nil
	}
	var bare func(v any) any
	bare = func(v any) any {
		switch v := v.(type) {
		case []any:
			for i := range v {
				v[i] = bare(v[i])
			}
			slices.SortFunc(v, func(a, b any) int {
				x, _ := json.Marshal(a)
				y, _ := json.Marshal(b)
				return cmp.Compare(string(x), string(y))
			})
			if len(v) == 0 {
				return nil
			}
			return v
		case map[string]any:
			for name := range v {
				v[name] = bare(v[name])
			}
			maps.DeleteFunc(v, func(_ string, member any) bool { return member == nil })
			if len(v) == 0 {
				return nil
			}
			return v
		case string:
			if v == "" {
				return nil
			}
		case bool:
			if !v {
				return nil
			}
		case float64:
			if v == 0 {
				return nil
			}
		}
		return v
	}
	return bare(members)
}

// same tells whether two documents are the same structure; fill adds what AWS fills in.
func same[T any](fill func(*T)) func(a, b string) bool {
	return func(a, b string) bool {
		var x, y T
		if aws.ParseDocument("", modules.Text(a), &x) != nil || aws.ParseDocument("", modules.Text(b), &y) != nil {
			return a == b
		}
		if fill != nil {
			fill(&x)
			fill(&y)
		}
		return reflect.DeepEqual(plain(x), plain(y))
	}
}

// sameRules tells whether two lists have the same rules. Where one does not say what a rule is called, AWS has given it
// a name. In order means that the first rule which fits counts.
func sameRules[T any](inOrder bool, fill func(*T)) func(a, b string) bool {
	return func(a, b string) bool {
		var x, y []T
		if aws.ParseDocument("", modules.Text(a), &x) != nil || aws.ParseDocument("", modules.Text(b), &y) != nil {
			return a == b
		}
		return match(x, y, inOrder, fill)
	}
}

func match[T any](x, y []T, inOrder bool, fill func(*T)) bool {
	rule := func(t T) (id, content any) {
		if fill != nil {
			fill(&t)
		}
		members, _ := plain(t).(map[string]any)
		for _, name := range []string{"ID", "Id"} {
			if has, there := members[name]; there {
				id = has
				delete(members, name)
			}
		}
		return id, members
	}
	left := slices.Clone(y)
	for _, t := range x {
		id, content := rule(t)
		at := slices.IndexFunc(left, func(other T) bool {
			otherID, otherContent := rule(other)
			return (id == otherID || id == nil || otherID == nil) && reflect.DeepEqual(content, otherContent)
		})
		if at < 0 || inOrder && at > 0 {
			return false
		}
		left = slices.Delete(left, at, at+1)
	}
	return len(left) == 0
}

// sameEncryption: the key's ARN, and which kinds of encryption are refused, AWS fills in.
func sameEncryption(a, b string) bool {
	var x, y s3types.ServerSideEncryptionConfiguration
	if aws.ParseDocument("", modules.Text(a), &x) != nil || aws.ParseDocument("", modules.Text(b), &y) != nil ||
		len(x.Rules) != len(y.Rules) {
		return a == b
	}
	for i := range x.Rules {
		one, other := &x.Rules[i], &y.Rules[i]
		if one.BlockedEncryptionTypes == nil || other.BlockedEncryptionTypes == nil {
			one.BlockedEncryptionTypes, other.BlockedEncryptionTypes = nil, nil
		}
		if m, n := one.ApplyServerSideEncryptionByDefault, other.ApplyServerSideEncryptionByDefault; m != nil &&
			n != nil && declare.SameKey(awssdk.ToString(m.KMSMasterKeyID), awssdk.ToString(n.KMSMasterKeyID)) {
			m.KMSMasterKeyID, n.KMSMasterKeyID = nil, nil
		}
	}
	return reflect.DeepEqual(plain(x), plain(y))
}

// sameReplication: AWS names rules and, where a rule does not say so, copies no deletions.
func sameReplication(a, b string) bool {
	var x, y s3types.ReplicationConfiguration
	if aws.ParseDocument("", modules.Text(a), &x) != nil || aws.ParseDocument("", modules.Text(b), &y) != nil {
		return a == b
	}
	return awssdk.ToString(x.Role) == awssdk.ToString(y.Role) &&
		match(x.Rules, y.Rules, false, func(rule *s3types.ReplicationRule) {
			if rule.DeleteMarkerReplication == nil {
				rule.DeleteMarkerReplication = &s3types.DeleteMarkerReplication{
					Status: s3types.DeleteMarkerReplicationStatusDisabled}
			}
		})
}

// sameNotifications: AWS gives each an id, and writes the names of filters with a capital.
func sameNotifications(a, b string) bool {
	var x, y s3types.NotificationConfiguration
	if aws.ParseDocument("", modules.Text(a), &x) != nil || aws.ParseDocument("", modules.Text(b), &y) != nil {
		return a == b
	}
	lower := func(f *s3types.NotificationConfigurationFilter) *s3types.NotificationConfigurationFilter {
		if f == nil || f.Key == nil {
			return nil
		}
		rules := slices.Clone(f.Key.FilterRules)
		for i := range rules {
			rules[i].Name = s3types.FilterRuleName(strings.ToLower(string(rules[i].Name)))
		}
		return &s3types.NotificationConfigurationFilter{Key: &s3types.S3KeyFilter{FilterRules: rules}}
	}
	return (x.EventBridgeConfiguration == nil) == (y.EventBridgeConfiguration == nil) &&
		match(x.QueueConfigurations, y.QueueConfigurations, false,
			func(c *s3types.QueueConfiguration) { c.Filter = lower(c.Filter) }) &&
		match(x.TopicConfigurations, y.TopicConfigurations, false,
			func(c *s3types.TopicConfiguration) { c.Filter = lower(c.Filter) }) &&
		match(x.LambdaFunctionConfigurations, y.LambdaFunctionConfigurations, false,
			func(c *s3types.LambdaFunctionConfiguration) { c.Filter = lower(c.Filter) })
}
