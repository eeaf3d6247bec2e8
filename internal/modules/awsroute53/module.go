// Package awsroute53 is the module aws_route53: DNS zones and their records.
//
// It promises what the contract in package modules asks of its tables. A
// record set's identity is its zone, name, type and set identifier; names are
// kept as Route 53 gives them, in lower case and with a dot at the end, however
// they are written. The two records that AWS makes with a zone are shown and
// can be changed, and go only with the zone.
package awsroute53

import (
	_ "embed"
	"strings"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

var (
	//go:embed sql/after.sql
	after string
	//go:embed sql/drop.sql
	drop string
)

// Module returns the module aws_route53, whose calls go through c.
func Module(c *aws.Clients) *modules.Module {
	return &modules.Module{
		Name:         "aws_route53",
		Version:      1,
		Doc:          "DNS zones and their records (Route 53).",
		Dependencies: []string{"aws_account"},
		Resources:    []modules.Resource{newZone(c), newRecord(c)},
		Migrations:   map[int]string{1: after},
		Drop:         drop,
	}
}

// normalName returns a DNS name as the tables hold it. Route 53 writes the
// asterisk as \052 ("DNS domain name format", Route 53 Developer Guide).
func normalName(name string) string {
	return strings.TrimRight(strings.ToLower(strings.ReplaceAll(name, `\052`, "*")), ".") + "."
}

// sameName reports whether two DNS names are the same.
func sameName(a, b string) bool { return normalName(a) == normalName(b) }

// dnsName reads names as the tables hold them.
var dnsName = declare.Codec{
	Decode: func(member any) (modules.Value, error) {
		return modules.Text(normalName(member.(string))), nil
	},
	Encode: func(v modules.Value) (any, error) { return v.String(), nil },
}
