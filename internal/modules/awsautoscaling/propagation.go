package awsautoscaling

import (
	"context"
	"fmt"
	"maps"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	astypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

const unpropagated = "tags_not_propagated"

// unpropagatedColumn are the tags that instances do not get. [readUnpropagated] reads it.
func unpropagatedColumn() declare.Column {
	return declare.Texts(unpropagated, "",
		"The keys of those tags that new instances do not get. NULL: they get all. A key that you take out of tags "+
			"has to be taken out of here, too, if you write both.").
		Unordered().EmptyIsNull().Since(5)
}

// readUnpropagated reads which of the tags that users see are not given to instances.
func readUnpropagated(_ context.Context, _ *declare.Step, g *astypes.AutoScalingGroup, row modules.Row) error {
	not := map[string]string{}
	for _, tag := range g.Tags {
		if !awssdk.ToBool(tag.PropagateAtLaunch) {
			not[awssdk.ToString(tag.Key)] = ""
		}
	}
	row[unpropagated] = modules.Null
	if keys := slices.Sorted(maps.Keys(aws.TagValue(not).StringMap())); len(keys) > 0 {
		row[unpropagated] = modules.Strings(keys)
	}
	return nil
}

// ofGroup says of tags whose they are, and whether instances get them.
func ofGroup(tags []astypes.Tag, name modules.Value, not []string) {
	for i := range tags {
		tags[i].ResourceId, tags[i].ResourceType = name.Ptr(), awssdk.String("auto-scaling-group")
		tags[i].PropagateAtLaunch = awssdk.Bool(!slices.Contains(not, awssdk.ToString(tags[i].Key)))
	}
}

// notGiven returns which tags instances are not to get. What the user has not changed is as the group has it (R35):
// CreateOrUpdateTags sets it together with the value.
func notGiven(s *declare.Step) []string {
	if s.Changes(unpropagated) {
		return s.Want[unpropagated].Strings()
	}
	return s.Have[unpropagated].Strings()
}

// setPropagation says of tags that stay whether instances get them. The values stay as they are.
func setPropagation(ctx context.Context, s *declare.Step) error {
	had, want := s.Have[unpropagated].Strings(), s.Want[unpropagated].Strings()
	if err := unpropagatedAreTags(s.Want); err != nil {
		return err
	}
	kept := s.Want[modules.ColumnTags].StringMap()
	var tags []astypes.Tag
	for key, value := range s.Have[modules.ColumnTags].StringMap() {
		if _, stays := kept[key]; stays && slices.Contains(had, key) != slices.Contains(want, key) {
			tags = append(tags, astypes.Tag{Key: &key, Value: &value})
		}
	}
	if len(tags) == 0 {
		return nil
	}
	slices.SortFunc(tags, func(a, b astypes.Tag) int { return compare(a.Key, b.Key) })
	ofGroup(tags, s.Have["auto_scaling_group_name"], want)
	_, err := declare.ClientOf[*autoscaling.Client](s).CreateOrUpdateTags(ctx,
		&autoscaling.CreateOrUpdateTagsInput{Tags: tags})
	return err
}

// unpropagatedAreTags refuses what could never come true: a key that no tag has.
func unpropagatedAreTags(want modules.Row) error {
	tags := want[modules.ColumnTags].StringMap()
	for _, key := range want[unpropagated].Strings() {
		if _, there := tags[key]; !there {
			return &modules.Error{Class: modules.Invalid, Code: "NoSuchTag",
				Message: fmt.Sprintf("%s names %q, and tags has no such key: add the tag, or take the key out",
					unpropagated, key)}
		}
	}
	return nil
}
