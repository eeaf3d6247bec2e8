package likeness

import (
	"path"
	"strings"
	"time"

	"iasql/internal/test/faultproxy"
)

// Queues are SQS's queues in time (pages of the Amazon SQS API Reference).
//
//   - For 60 seconds after a deletion no queue of that name is made (CreateQueue:
//     QueueDeletedRecently).
//   - The deletion itself takes up to 60 seconds, in which the queue may still be listed
//     (DeleteQueue), and a new queue is listed after a while (ListQueues).
//   - A change of attributes takes up to 60 seconds to be seen (SetQueueAttributes).
type Queues struct {
	// Deleted is how long a name is taken, Listing how long listings lag, Changing how long
	// changes are not seen.
	Deleted, Listing, Changing time.Duration
	memory
}

// Apply implements [Rule].
func (r *Queues) Apply(c Call) faultproxy.Fault {
	if c.Service != "sqs" {
		return faultproxy.Fault{}
	}
	url := c.said("QueueUrl")
	name := path.Base(url)
	switch c.Action {
	case "CreateQueue":
		name := c.said("QueueName")
		if r.young("deleted "+c.Region+name, r.Deleted) {
			return refusal(400, "AWS.SimpleQueueService.QueueDeletedRecently",
				"You must wait 60 seconds after deleting a queue before you can create another with the same name.")
		}
		return learn(func(string) {
			r.forget("deleted " + c.Region + name)
			r.begin("created " + c.Region + name)
		})
	case "DeleteQueue":
		return learn(func(string) {
			r.restart("deleted " + c.Region + name)
			r.set("deleted "+c.Region+name, url)
			r.forget("created " + c.Region + name)
			r.forget("changed " + c.Region + name)
			r.forget("attributes " + c.Region + name)
		})
	case "ListQueues":
		return faultproxy.Fault{Rewrite: document(func(answer map[string]any) {
			r.list(c.Region, c.said("QueueNamePrefix"), answer)
		})}
	case "SetQueueAttributes":
		return learn(func(string) { r.begin("changed " + c.Region + name) })
	case "GetQueueAttributes":
		return rewrite(func(answer string) string { return r.attributes(c.Region+name, answer) })
	}
	return faultproxy.Fault{}
}

// list leaves out what is new, and adds what has just been deleted.
func (r *Queues) list(region, prefix string, answer map[string]any) {
	all, _ := answer["QueueUrls"].([]any)
	shown := []any{}
	for _, one := range all {
		if url, _ := one.(string); !r.young("created "+region+path.Base(url), r.Listing) {
			shown = append(shown, url)
		}
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	for key, at := range r.times {
		name, gone := strings.CutPrefix(key, "deleted "+region)
		if gone && time.Since(at) < r.Listing && strings.HasPrefix(name, prefix) {
			shown = append(shown, r.texts[key])
		}
	}
	answer["QueueUrls"] = shown
}

// attributes are what they were before a change that is still on its way.
func (r *Queues) attributes(queue, answer string) string {
	if before := r.get("attributes " + queue); before != "" && r.young("changed "+queue, r.Changing) {
		return before
	}
	r.forget("changed " + queue)
	r.set("attributes "+queue, answer)
	return answer
}
