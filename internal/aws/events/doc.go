// Package events reads the records that AWS CloudTrail keeps of calls, and says which
// tables and objects a call touches.
//
// [Parse] reads a message of a queue that a rule of EventBridge sends to, [Records] a file
// that a trail has delivered. [Hints] says where to look: at an object, or at a table in a
// scope.
//
// An event is a hint to look, and never a fact about an object: it comes late, twice, in
// any order or not at all, and whoever may write to the queue can forge one. So nothing
// here is believed. What a message says is bounded in size, cleaned and copied; a hint
// costs one read whose answer decides. The one thing that is taken from an event is who
// made a call, and that is shown as what the event said.
//
// AWS documents the form: CloudTrail User Guide, "CloudTrail record contents" and
// "CloudTrail userIdentity element"; EventBridge User Guide, "AWS service events delivered
// via AWS CloudTrail".
package events
