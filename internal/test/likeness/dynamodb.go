package likeness

import (
	"time"

	"iasql/internal/test/faultproxy"
)

// Tables are DynamoDB's tables in time (pages of the Amazon DynamoDB API Reference).
//
//   - A table is CREATING, UPDATING and DELETING for a while, and takes no other change
//     meanwhile (CreateTable, UpdateTable, DeleteTable, TagResource: ResourceInUseException).
//     DELETING it can still be described, and its name is taken.
//   - The time to live is changed at most once an hour (UpdateTimeToLive: "Any additional
//     UpdateTimeToLive calls for the same table during this one hour duration result in a
//     ValidationException").
//   - Tags are seen after a while (TagResource: "If you issue a ListTagsOfResource request
//     immediately after a TagResource request, DynamoDB might return your previous tag set").
type Tables struct {
	// Creating, Updating and Deleting are how long that takes. Hour is the hour of the time
	// to live, Tagging how long tags lag.
	Creating, Updating, Deleting, Hour, Tagging time.Duration
	// Endpoint is the emulator's, to which deletions go in the end.
	Endpoint string
	memory
}

// Apply implements [Rule].
func (r *Tables) Apply(c Call) faultproxy.Fault {
	if c.Service != "dynamodb" {
		return faultproxy.Fault{}
	}
	name := c.said("TableName")
	if arn := c.said("ResourceArn"); arn != "" {
		name = lastPart(arn)
	}
	key := c.Region + " " + name
	switch c.Action {
	case "CreateTable":
		return r.create(key, name)
	case "DescribeTable", "ListTagsOfResource", "DescribeTimeToLive":
		return r.read(c, key)
	case "UpdateTable", "UpdateTimeToLive", "TagResource", "UntagResource", "DeleteTable":
		if busy := r.busy(key); busy != "" {
			return refusal(400, "ResourceInUseException",
				"Attempt to change a resource which is still in use: Table is being %s: %s", busy, name)
		}
	}
	switch c.Action {
	case "UpdateTimeToLive":
		if r.young("ttl "+key, r.Hour) {
			return refusal(400, "ValidationException",
				"Time to live has been modified multiple times within a fixed interval")
		}
		return learn(func(string) { r.restart("ttl " + key) })
	case "TagResource", "UntagResource":
		return learn(func(string) { r.restart("tagged " + key) })
	case "UpdateTable":
		return faultproxy.Fault{Rewrite: document(func(answer map[string]any) {
			r.restart("updated " + key)
			r.show(key, answer["TableDescription"])
		})}
	case "DeleteTable":
		return r.remove(c, key, name)
	}
	return faultproxy.Fault{}
}

// busy says what is done to a table just now.
func (r *Tables) busy(key string) string {
	switch {
	case r.young("deleted "+key, r.Deleting):
		return "deleted"
	case r.young("created "+key, r.Creating):
		return "created"
	case r.young("updated "+key, r.Updating):
		return "updated"
	}
	return ""
}

func (r *Tables) create(key, name string) faultproxy.Fault {
	if r.young("deleted "+key, r.Deleting) {
		return refusal(400, "ResourceInUseException", "Table is being deleted: %s", name)
	}
	return faultproxy.Fault{Rewrite: document(func(answer map[string]any) {
		for _, what := range []string{"deleted ", "updated ", "tagged ", "ttl ", "tags "} {
			r.forget(what + key)
		}
		r.restart("created " + key)
		r.show(key, answer["TableDescription"])
	})}
}

// read answers as things are by now.
func (r *Tables) read(c Call, key string) faultproxy.Fault {
	if c.Action != "ListTagsOfResource" {
		return faultproxy.Fault{Rewrite: document(func(answer map[string]any) { r.show(key, answer["Table"]) })}
	}
	return rewrite(func(answer string) string {
		if before := r.get("tags " + key); before != "" && r.young("tagged "+key, r.Tagging) {
			return before
		}
		r.set("tags "+key, answer)
		return answer
	})
}

// remove has the emulator delete the table when AWS would be done with it.
func (r *Tables) remove(c Call, key, name string) faultproxy.Fault {
	header := c.Header.Clone()
	return faultproxy.Fault{Instead: c.become("DescribeTable", map[string]any{"TableName": name}),
		Rewrite: document(func(answer map[string]any) {
			r.restart("deleted " + key)
			later(r.Deleting, r.Endpoint, "POST", header, c.Body)
			r.show(key, answer["Table"])
			answer["TableDescription"] = answer["Table"]
			delete(answer, "Table")
		})}
}

// show gives a table the state that it is in.
func (r *Tables) show(key string, table any) {
	description, ok := table.(map[string]any)
	if !ok {
		return
	}
	switch r.busy(key) {
	case "deleted":
		description["TableStatus"] = "DELETING"
	case "created":
		description["TableStatus"] = "CREATING"
	case "updated":
		description["TableStatus"] = "UPDATING"
	}
}
