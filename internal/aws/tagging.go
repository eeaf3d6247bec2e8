package aws

import (
	"context"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	tagging "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"

	"iasql/internal/modules"
)

// taggingPage is the most results that a page may have (page GetResources of the
// Resource Groups Tagging API Reference).
const taggingPage = 100

// TagsOf returns the tags of a region's objects of a type by their ARNs, such as
// sqs:queue or sqs. What is not in it has no tags. The Resource Groups Tagging API
// tells those of a hundred objects a call, of services that tell those of one. It may
// be late: AWS documents no bound for how long a change takes to be seen there.
func (c *Clients) TagsOf(ctx context.Context, scope modules.Scope, kind string) (map[string]map[string]string, error) {
	client, err := Client(ctx, c, scope, func(cfg awssdk.Config) *tagging.Client { return tagging.NewFromConfig(cfg) })
	if err != nil {
		return nil, err
	}
	found := map[string]map[string]string{}
	in := &tagging.GetResourcesInput{ResourceTypeFilters: []string{kind}, ResourcesPerPage: awssdk.Int32(taggingPage)}
	err = Pages(ctx, tagging.NewGetResourcesPaginator(client, in), func(out *tagging.GetResourcesOutput) error {
		for _, r := range out.ResourceTagMappingList {
			tags := make(map[string]string, len(r.Tags))
			for _, tag := range r.Tags {
				tags[awssdk.ToString(tag.Key)] = awssdk.ToString(tag.Value)
			}
			found[awssdk.ToString(r.ResourceARN)] = tags
		}
		return nil
	})
	return found, err
}
