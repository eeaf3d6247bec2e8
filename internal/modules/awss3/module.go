// Package awss3 is the module aws_s3: buckets, their objects, and what is
// configured of them.
//
// It promises what the contract in package modules asks of its tables. A
// bucket's name is its identity and unique in all of AWS, so that creations are
// found again by name; a website and a public access block are known by their
// bucket, an object by its bucket and key.
//
// It is long because most columns of a bucket are a part of it that calls of its own read, write and take away, in the
// region that only another call tells, and its documents are XML with members that are unions.
package awss3

import (
	"iasql/internal/aws"
	"iasql/internal/modules"
)

// Module returns the module aws_s3, whose calls go through c.
func Module(c *aws.Clients) *modules.Module {
	return &modules.Module{
		Name:         "aws_s3",
		Version:      6,
		Doc:          "Buckets of the Simple Storage Service (S3), their objects and their websites.",
		Dependencies: []string{"aws_account"},
		Resources:    []modules.Resource{newBucket(c), newPublicAccessBlock(c), newWebsite(c), newObject(c)},
		Functions:    []*modules.Function{uploadText(c), uploadBytes(c), download(c), endpoint(c)},
		Migrations: map[int]string{
			3: `ALTER TABLE public.bucket ALTER COLUMN versioning_enabled DROP NOT NULL`,
			// Until then the objects of all buckets were listed: what somebody sees goes on to be true.
			4: `SET LOCAL iasql.origin = 'engine';
				UPDATE public.bucket b SET list_objects = true WHERE EXISTS (SELECT FROM public.bucket_object o WHERE o.account = b.account AND o.bucket_name = b.name);
				SET LOCAL iasql.origin = '';`,
		},
	}
}
