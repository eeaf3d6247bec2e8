// Package awsefs is the module aws_efs: file systems and their mount targets.
//
// It is long because the replication of a file system is another file system, with calls of its own, and one column
// here.
package awsefs

import (
	"github.com/aws/aws-sdk-go-v2/service/efs"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// Module returns the module aws_efs, whose calls go through c.
func Module(c *aws.Clients) *modules.Module {
	return &modules.Module{
		Name: "aws_efs", Version: 3, Doc: "File systems of the Elastic File System (EFS), and where they are mounted.",
		Dependencies: []string{"aws_account", "aws_security_group", "aws_vpc"},
		Resources:    []modules.Resource{newFileSystem(c), newMountTarget(c)},
	}
}

// fileSystems lists the file systems.
func fileSystems() *declare.Listing {
	return declare.Pages(efs.NewDescribeFileSystemsPaginator, "FileSystems")
}
