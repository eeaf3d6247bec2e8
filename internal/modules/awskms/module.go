// Package awskms is the module aws_kms: keys of the Key Management Service and
// their aliases.
package awskms

import (
	"iasql/internal/aws"
	"iasql/internal/modules"
)

// Module returns the module aws_kms, whose calls go through c.
func Module(c *aws.Clients) *modules.Module {
	return &modules.Module{
		Name: "aws_kms", Version: 2, Doc: "Keys of the Key Management Service (KMS), and their aliases.",
		Dependencies: []string{"aws_account"}, Resources: []modules.Resource{newKey(c), newAlias(c)},
	}
}
