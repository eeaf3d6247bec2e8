// Package awseventbridge is the module aws_eventbridge: event buses, their rules,
// and what the rules send events to.
package awseventbridge

import (
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// Module returns the module aws_eventbridge, whose calls go through c.
func Module(c *aws.Clients) *modules.Module {
	return &modules.Module{
		Name: "aws_eventbridge", Version: 3, Doc: "Event buses of EventBridge, their rules and targets.",
		Dependencies: []string{"aws_account", "aws_iam"},
		Resources:    []modules.Resource{newBus(c), newRule(c), newTarget(c)},
	}
}

// buses lists the event buses.
func buses() *declare.Listing {
	return declare.Follow(declare.Call((*eventbridge.Client).ListEventBuses), "EventBuses")
}

// rules lists the rules of all event buses.
func rules() *declare.Listing {
	return declare.Follow(declare.Call((*eventbridge.Client).ListRules), "Rules").Within(buses(), "Name",
		"EventBusName")
}

// keepManaged keeps what an AWS service has made and uses.
func keepManaged(have modules.Row) string {
	if service := have["managed_by"]; !service.IsNull() {
		return "the service " + service.String() + " manages it, and deletes it when it is no longer needed"
	}
	return ""
}
