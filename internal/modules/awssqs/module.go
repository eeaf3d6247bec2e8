// Package awssqs is the module aws_sqs: message queues.
//
// It promises what the contract in package modules asks of its table queue. A
// queue's name is its identity, and CreateQueue with the same name and the same
// attributes returns the queue there is, so that creations are found again by
// name.
//
// It is long because two columns are documents that AWS completes, and a function sends messages.
package awssqs

import (
	"iasql/internal/aws"
	"iasql/internal/modules"
)

// Module returns the module aws_sqs, whose calls go through c.
func Module(c *aws.Clients) *modules.Module {
	return &modules.Module{
		Name:         "aws_sqs",
		Version:      4,
		Doc:          "Message queues of the Simple Queue Service (SQS).",
		Dependencies: []string{"aws_account"},
		Resources:    []modules.Resource{newQueue(c)},
		Functions:    []*modules.Function{send(c)},
	}
}
