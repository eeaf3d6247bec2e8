// Package cloudcontrol is a fake of AWS Cloud Control API and of the CloudFormation
// registry, for tests: an HTTP server that answers as AWS documents it, over the
// schemas that a test gives it.
//
//	fake := cloudcontrol.Start(t, cloudcontrol.Options{Schemas: cloudcontrol.AWS(t, "../..")})
//	client := cc.NewFromConfig(fake.Config("us-east-1"))
//
// What it does, with where AWS says so:
//
//   - The actions of Cloud Control ("Cloud Control API Reference"): CreateResource,
//     GetResource, UpdateResource, DeleteResource, ListResources,
//     GetResourceRequestStatus, ListResourceRequests, CancelResourceRequest.
//   - ListTypes and DescribeType of the registry ("CloudFormation API Reference"),
//     with public, private and activated types (registry.go).
//   - What an engine asks at its start: STS's GetCallerIdentity, EC2's
//     DescribeRegions. Every other service answers UnknownOperationException, and
//     says which service it was.
//   - Objects belong to an account and a region. A signature's access key tells the
//     account: [Options.Account] says how, or else it is a number made of the key.
//   - Desired states are checked against the type's schema as draft-07 (validate.go).
//     Read-only properties are refused, and assigned when an object is made
//     (assign.go). Write-only properties are kept and never told. An update applies
//     its patch to what a read tells, so that write-only properties that the patch
//     does not have are lost, and are missed if they are required ("Updating a
//     resource" in the Cloud Control API User Guide).
//   - A creation, update or deletion is a request that makes progress (request.go).
//     It takes [Options.Takes], which is nothing at first: the answer says
//     IN_PROGRESS, and the first question how far it is finds it done.
//
// Knobs: [Server.Inject] and its short forms [Server.Fail], [Server.Drop] and
// [Server.Hold] break calls and hold requests; [Server.Put], [Server.Edit] and
// [Server.Remove] are the hands of somebody else in the account; [Server.Calls]
// counts. [Type.Example] and [Type.Another] make up objects and changes.
//
// Where AWS documents no text or order, the fake does what real answers show that
// were recorded or that people quoted; such places name it.
package cloudcontrol
