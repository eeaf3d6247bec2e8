// Package awscloudwatch is the module aws_cloudwatch: log groups and alarms.
//
// It promises what the contract in package modules asks of its tables. The names
// of log groups and alarms are their identities and unique in the account and
// region, so that creations are found again by name.
//
// It is long because PutMetricAlarm replaces what it is not told, two members are unions, which JSON does not tell
// apart, and one function reads the end of a log.
package awscloudwatch

import (
	"iasql/internal/aws"
	"iasql/internal/modules"
)

// Module returns the module aws_cloudwatch, whose calls go through c.
func Module(c *aws.Clients) *modules.Module {
	return &modules.Module{
		Name:         "aws_cloudwatch",
		Version:      4,
		Doc:          "Log groups of CloudWatch Logs, and alarms on metrics.",
		Dependencies: []string{"aws_account"},
		Resources:    []modules.Resource{newLogGroup(c), newMetricAlarm(c)},
		Functions:    []*modules.Function{tail(c)},
	}
}
