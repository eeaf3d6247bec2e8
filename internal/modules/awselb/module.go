// Package awselb is the module aws_elb: load balancers, what they listen for,
// and the groups of targets that they send it to.
//
// It promises what the contract in package modules asks of its tables. Objects
// are named by their ARNs and created with a tag that holds the creation's
// token. The names of load balancers and target groups, and the ports of
// listeners, AWS allows once: what bears one already is taken over.
//
// It is long because actions are documents that AWS completes, the addresses of a network load balancer are given for
// all its subnets at once, and a creation that finds its name taken has to tell whether it was its own.
package awselb

import (
	_ "embed"
	"maps"
	"slices"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

const (
	// mostNames is how many names or ARNs a Describe operation takes (page
	// DescribeLoadBalancers of the Elastic Load Balancing API Reference, and
	// page DescribeTags).
	mostNames = 20
	// pageSize is the most results a page has (likewise).
	pageSize = 400
)

var (
	//go:embed sql/functions.sql
	functions string
	//go:embed sql/after.sql
	after string
	//go:embed sql/drop.sql
	drop string
)

// Module returns the module aws_elb, whose calls go through c.
func Module(c *aws.Clients) *modules.Module {
	return &modules.Module{
		Name:    "aws_elb",
		Version: 7,
		Doc: "Elastic Load Balancing: application, network and gateway load balancers, their listeners and " +
			"target groups.",
		Dependencies: []string{"aws_acm", "aws_security_group", "aws_vpc"},
		Resources:    []modules.Resource{newTargetGroup(c), newLoadBalancer(c), newSecurityGroups(c), newListener(c)},
		Migrations:   map[int]string{7: functions + after},
		Drop:         drop,
	}
}

// arn declares the identity, by which calls name an object in singular.
func arn(column, member string) declare.Column {
	return declare.ID(column, member, "Its Amazon Resource Name (ARN); NULL until it is created.").In(member,
		"ResourceArns[0]")
}

// tagged declares the column tags of objects that are named by a column.
func tagged(column string) declare.Column {
	return declare.Tags("", (*elb.Client).AddTags, (*elb.Client).RemoveTags).
		TagsInBulk(declare.Call((*elb.Client).DescribeTags), "ResourceArns", mostNames, column, "TagDescriptions",
			"ResourceArn", "Tags")
}

// attributes declares the column attributes: the API's own keys, of which AWS
// adds new ones every year. AWS returns all of them, users say some.
func attributes(read *declare.Op, doc string) declare.Column {
	return declare.JSON("attributes", "Attributes",
		doc+" Attributes that are left out stay as they are.").From(read).As(declare.Pairs).
		OptionalComputed().EmptyIsNull().Same(sameShared).
		Check(`jsonb_typeof(attributes) = 'object' AND NOT jsonb_path_exists(attributes, 'strict $.* ? (@.type() != "string")', '{}', true)`)
}

// sameShared reports whether one map says what the other says of all its keys.
func sameShared(a, b string) bool {
	x, errX := modules.JSONText(a)
	y, errY := modules.JSONText(b)
	if errX != nil || errY != nil {
		return false
	}
	small, large := x.StringMap(), y.StringMap()
	if len(small) > len(large) {
		small, large = large, small
	}
	for key, value := range small {
		if other, ok := large[key]; !ok || other != value {
			return false
		}
	}
	return true
}

// changes returns the attributes that differ from those that there are, sorted.
func changes(have, want modules.Value) (keys []string, values map[string]string) {
	old := have.StringMap()
	values = want.StringMap()
	maps.DeleteFunc(values, func(key, value string) bool {
		had, ok := old[key]
		return ok && had == value
	})
	return slices.Sorted(maps.Keys(values)), values
}
