package aws

import (
	"context"
	"maps"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"

	"iasql/internal/modules"
)

// TagType converts between one of the SDK's tag types, of which every service
// has its own, and maps of strings.
type TagType[T any] struct {
	Split func(T) (key, value *string)
	Join  func(key, value *string) T
}

// EC2Tags are the tags of EC2 objects.
var EC2Tags = TagType[ec2types.Tag]{
	Split: func(t ec2types.Tag) (key, value *string) { return t.Key, t.Value },
	Join:  func(key, value *string) ec2types.Tag { return ec2types.Tag{Key: key, Value: value} },
}

// S3Tags are the tags of buckets and their objects.
var S3Tags = TagType[s3types.Tag]{
	Split: func(t s3types.Tag) (key, value *string) { return t.Key, t.Value },
	Join:  func(key, value *string) s3types.Tag { return s3types.Tag{Key: key, Value: value} },
}

// Map returns tags as a map, those that users do not see included.
func (tt TagType[T]) Map(tags []T) map[string]string {
	m := make(map[string]string, len(tags))
	for _, t := range tags {
		key, value := tt.Split(t)
		m[awssdk.ToString(key)] = awssdk.ToString(value)
	}
	return m
}

// List returns a map as tags, sorted by key.
func (tt TagType[T]) List(m map[string]string) []T {
	tags := make([]T, 0, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		tags = append(tags, tt.Join(awssdk.String(key), awssdk.String(m[key])))
	}
	return tags
}

// Value returns tags as the column tags holds them.
func (tt TagType[T]) Value(tags []T) modules.Value { return TagValue(tt.Map(tags)) }

// TagValue returns a map of tags as the column tags holds it: without those
// that users do not see.
func TagValue(m map[string]string) modules.Value {
	visible := make(map[string]string, len(m))
	for key, value := range m {
		if !hiddenTag(key) {
			visible[key] = value
		}
	}
	return modules.StringMap(visible)
}

// hiddenTag reports whether a tag is AWS's own or the engine's.
func hiddenTag(key string) bool {
	return key == TokenTag || key == RestartTag || len(key) >= 4 && strings.EqualFold(key[:4], "aws:")
}

// HiddenTags returns the tags of m that users do not see: for APIs that can
// only replace all tags, which must keep these.
func HiddenTags(m map[string]string) map[string]string {
	hidden := map[string]string{}
	for key, value := range m {
		if hiddenTag(key) {
			hidden[key] = value
		}
	}
	return hidden
}

// MostTags is how many tags an object may have ("Tag naming limits and requirements", Tagging AWS Resources User
// Guide), the engine's own included.
const MostTags = 50

// TagsOf returns the tags that a new object is created with: those of the row,
// and the token if there is one. Where there is no room for that, the last tag is left to the update that follows the
// creation.
func TagsOf(want modules.Row, token string) map[string]string {
	tags := maps.Clone(want[modules.ColumnTags].StringMap())
	if tags == nil {
		tags = map[string]string{}
	}
	if token != "" {
		if len(tags) >= MostTags {
			delete(tags, slices.Max(slices.Collect(maps.Keys(tags))))
		}
		tags[TokenTag] = token
	}
	return tags
}

// TagChanges returns what makes the tags have become want: the tags to set, and
// the keys to remove, sorted. Tags that users do not see are never among them.
func TagChanges(have, want modules.Value) (set map[string]string, remove []string) {
	old, wanted := have.StringMap(), want.StringMap()
	set = map[string]string{}
	for key, value := range wanted {
		if had, ok := old[key]; !hiddenTag(key) && (!ok || had != value) {
			set[key] = value
		}
	}
	for key := range old {
		if _, keep := wanted[key]; !keep && !hiddenTag(key) {
			remove = append(remove, key)
		}
	}
	slices.Sort(remove)
	return set, remove
}

// UpdateTags makes the column tags of an object have what it holds in want, by
// at most one call of each function. It removes before it sets, since an object
// that has as many tags as AWS allows (50) has no room for a new one.
func UpdateTags(ctx context.Context, have, want modules.Row,
	set func(ctx context.Context, tags map[string]string) error,
	remove func(ctx context.Context, keys []string) error,
) error {
	add, gone := TagChanges(have[modules.ColumnTags], want[modules.ColumnTags])
	if len(gone) > 0 {
		if err := remove(ctx, gone); err != nil {
			return err
		}
	}
	if len(add) > 0 {
		return set(ctx, add)
	}
	return nil
}
