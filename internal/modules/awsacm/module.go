// Package awsacm is the module aws_acm: TLS certificates.
//
// It promises what the contract in package modules asks of its table
// certificate. Certificates can be requested here; ones imported into ACM by
// other means are shown, tagged and deleted like them. A private key never
// comes near the engine.
//
// It is long because the half of it is two functions, which request and import certificates, and the domains at which a
// request is validated belong to the request alone.
package awsacm

import (
	_ "embed"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

var (
	// functions makes what the triggers of certificates run, and those of distributions.
	//
	//go:embed sql/functions.sql
	functions string
	//go:embed sql/after.sql
	after string
	//go:embed sql/drop.sql
	drop string
)

// Module returns the module aws_acm, whose calls go through c.
func Module(c *aws.Clients) *modules.Module {
	return &modules.Module{
		Name:         "aws_acm",
		Version:      6,
		Doc:          "TLS certificates (Certificate Manager, ACM).",
		Dependencies: []string{"aws_account"},
		Resources:    []modules.Resource{newCertificate(c)},
		Functions:    []*modules.Function{importCertificate(c), requestCertificate(c)},
		Migrations:   map[int]string{3: functions + after, 6: functions},
		Drop:         drop,
	}
}
