package awss3

import (
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
)

// newPublicAccessBlock declares the table public_access_block.
func newPublicAccessBlock(c *aws.Clients) *declare.Resource {
	// a bucket without has the error NoSuchPublicAccessBlockConfiguration
	read := declare.Call((*s3.Client).GetPublicAccessBlock, declare.Proves())
	flag := func(name, member, doc string) declare.Column {
		return declare.Bool(name, "PublicAccessBlockConfiguration."+member,
			doc+" Default true.").Default("true").From(read)
	}
	return part(c, declare.Table[s3types.Bucket]{
		Name: "public_access_block",
		Doc: "What keeps buckets from becoming public by mistake. AWS gives every new bucket one with all four " +
			"columns true (since April 2023). Deleting a record allows what it blocks.",
		Columns: []declare.Column{
			flag("block_public_acls", "BlockPublicAcls",
				"Whether access control lists that make the bucket or objects public are refused."),
			flag("ignore_public_acls", "IgnorePublicAcls", "Whether such lists, where there are any, have no effect."),
			flag("block_public_policy", "BlockPublicPolicy",
				"Whether policies that make the bucket public are refused."),
			flag("restrict_public_buckets", "RestrictPublicBuckets",
				"Whether a public policy lets in only AWS services and the owner's account."),
		},
		Delete: declare.Call((*s3.Client).DeletePublicAccessBlock),
	}, declare.Call((*s3.Client).PutPublicAccessBlock))
}
