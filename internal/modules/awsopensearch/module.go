// Package awsopensearch is the module aws_opensearch: domains of Amazon
// OpenSearch Service, and their security groups.
//
// It promises what the contract in package modules asks of its tables. The name
// of a domain is its identity, by which a creation is found again.
//
// It is long because UpdateDomainConfig replaces each part it is told, a version is raised by a call of its own that
// takes steps, and a domain's network is one member of two tables.
package awsopensearch

import (
	"iasql/internal/aws"
	"iasql/internal/modules"
)

// Module returns the module aws_opensearch, whose calls go through c.
func Module(c *aws.Clients) *modules.Module {
	groups := newSecurityGroups(c)
	return &modules.Module{
		Name: "aws_opensearch", Version: 3, Doc: "Domains of OpenSearch Service: clusters for search and analytics.",
		Dependencies: []string{"aws_acm", "aws_security_group"},
		Resources:    []modules.Resource{newDomain(c, groups), groups},
	}
}
