// Package awstypes makes modules of the resource types that an AWS account describes
// itself (CloudFormation's registry), one of each type, whose objects AWS Cloud Control API
// makes, reads, changes and deletes.
//
// [Source] finds types and their schemas. Package cfn makes the tables; resource.go is what
// they all have in common, list.go lists, and progress.go waits for what Cloud Control has
// been asked to do.
package awstypes
