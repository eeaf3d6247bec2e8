// Package awssns is the module aws_sns: topics and their subscriptions.
//
// It promises what the contract in package modules asks of its tables. A topic's
// name is its identity, a subscription's are its topic, protocol and endpoint:
// AWS makes neither twice, so that creations are found again by these.
//
// It is long because the half of it is two functions and delivery policies, documents that AWS completes; and a
// subscription that waits to be confirmed has no id.
package awssns

import (
	"iasql/internal/aws"
	"iasql/internal/modules"
)

// Module returns the module aws_sns, whose calls go through c.
func Module(c *aws.Clients) *modules.Module {
	return &modules.Module{
		Name:         "aws_sns",
		Version:      2,
		Doc:          "Topics and subscriptions of the Simple Notification Service (SNS).",
		Dependencies: []string{"aws_account"},
		Resources:    []modules.Resource{newTopic(c), newSubscription(c)},
		Functions:    []*modules.Function{publish(c), confirm(c)},
	}
}
