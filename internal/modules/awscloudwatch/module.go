// Package awscloudwatch is the module aws_cloudwatch: log groups.
//
// It promises what the contract in package modules asks of its table log_group.
// A log group's name is its identity and unique in the account and region, so
// that creations are found again by name.
package awscloudwatch

import (
	"iasql/internal/aws"
	"iasql/internal/modules"
)

// Module returns the module aws_cloudwatch, whose calls go through c.
func Module(c *aws.Clients) *modules.Module {
	return &modules.Module{
		Name:         "aws_cloudwatch",
		Version:      1,
		Doc:          "Log groups of CloudWatch Logs.",
		Dependencies: []string{"aws_account"},
		Resources:    []modules.Resource{newLogGroup(c)},
	}
}
