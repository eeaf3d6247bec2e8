// Package awssns is the module aws_sns: topics and their subscriptions.
//
// It promises what the contract in package modules asks of its tables. A topic's
// name is its identity, a subscription's are its topic, protocol and endpoint:
// AWS makes neither twice, so that creations are found again by these.
package awssns

import (
	"context"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// Module returns the module aws_sns, whose calls go through c.
func Module(c *aws.Clients) *modules.Module {
	return &modules.Module{
		Name:         "aws_sns",
		Version:      1,
		Doc:          "Topics and subscriptions of the Simple Notification Service (SNS).",
		Dependencies: []string{"aws_account"},
		Resources:    []modules.Resource{newTopic(c), newSubscription(c)},
		Functions:    []*modules.Function{publish(c), confirm(c)},
	}
}

// client returns the SNS client of the scope.
func client(ctx context.Context, c *aws.Clients, scope modules.Scope) (*sns.Client, error) {
	return aws.Client(ctx, c, scope, func(cfg awssdk.Config) *sns.Client { return sns.NewFromConfig(cfg) })
}
