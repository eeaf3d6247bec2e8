// Package awsroute53 is the module aws_route53: DNS zones and their records.
//
// It promises what the contract in package modules asks of its tables. A
// record set's identity is its zone, name, type and set identifier; names are
// kept in one form, in lower case, with a dot at the end and without needless
// escape codes, however they are written. The two records that AWS makes with a zone are shown and
// can be changed, and go only with the zone.
//
// It is long because records have no id and no call about one: they are read by the name that sorts before them,
// changed as a whole with their old content, and many in one call; and a zone's networks and its log are objects of
// their own.
package awsroute53

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

var (
	// functions makes what the triggers run, and is run again when it changes.
	//
	//go:embed sql/functions.sql
	functions string
	//go:embed sql/after.sql
	after string
	//go:embed sql/drop.sql
	drop string
)

// Module returns the module aws_route53, whose calls go through c.
func Module(c *aws.Clients) *modules.Module {
	return &modules.Module{
		Name:         "aws_route53",
		Version:      4,
		Doc:          "DNS zones and their records (Route 53).",
		Dependencies: []string{"aws_account"},
		Resources:    []modules.Resource{newZone(c), newRecord(c)},
		Migrations:   map[int]string{1: functions + after, 2: functions},
		Drop:         drop,
	}
}

// normalName returns a DNS name as the tables hold it. Route 53 gives all
// characters but letters, digits, hyphens, underscores and the dots between labels
// as escape codes, \ooo, and wants them of those that cannot be printed, of a space
// and of a dot within a label ("DNS domain name format", Route 53 Developer Guide).
// The tables have the codes where it wants them, and for a backslash. The trigger
// aws_route53_name does the same to what users write.
func normalName(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		c, escaped := name[i], false
		if c == '\\' && i+3 < len(name) {
			if code, err := strconv.ParseUint(name[i+1:i+4], 8, 8); err == nil {
				c, escaped = byte(code), true
				i += 3
			}
		}
		switch {
		case c <= ' ' || c == '\\' || c == 0x7F || escaped && (c == '.' || c > 0x7F):
			fmt.Fprintf(&b, `\%03o`, c)
		case 'A' <= c && c <= 'Z':
			b.WriteByte(c + 'a' - 'A')
		default:
			b.WriteByte(c)
		}
	}
	return strings.TrimRight(b.String(), ".") + "."
}

// sameName reports whether two DNS names are the same.
func sameName(a, b string) bool { return normalName(a) == normalName(b) }

// dnsName reads names as the tables hold them.
var dnsName = declare.Reads(func(member any) (modules.Value, error) {
	return modules.Text(normalName(member.(string))), nil
})
