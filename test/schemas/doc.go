// Package schemas compares the tables that the modules declare with what AWS
// publishes of the same objects.
//
// It has two sources. The resource type schemas of CloudFormation say which
// properties are fixed at creation, read only and write only, which are
// required, what identifies an object, and which values there are. The SDK's own
// enumerations say which values the API knows.
//
// AWS's schemas are test data that stays outside of the repository. The test
// looks for them in the file that the environment variable RESOURCE_SCHEMAS
// names, or else in ../shared/cfn-schemas/all.jsonl.gz seen from the project's
// root. Where the file is absent the test compares the SDK's enumerations alone.
//
// Declarations may differ from AWS's schemas: a schema tells what CloudFormation
// does, and that is sometimes less than the API can. The file differences.md
// lists every difference with its reason. The test fails for a difference that
// the file does not list, and for one that it lists and that is not there.
package schemas
