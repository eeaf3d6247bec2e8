package permissions

import (
	"fmt"
	"strings"
)

// readsQueue is what reading a queue of events takes, on that queue alone: GetQueueUrl finds
// one that is named by its ARN, and UntagQueue, of a tag that the queue does not have, is the
// call whose event shows that events come.
var readsQueue = []string{"sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage", "sqs:UntagQueue"}

// addWatch adds what reading events takes that are in these queues and folders of buckets.
func (d *Document) addWatch(arns []string) error {
	var queues, folders []string
	for _, arn := range arns {
		parts := strings.SplitN(arn, ":", 6)
		switch {
		case len(parts) != 6 || parts[0] != "arn" || parts[5] == "" || strings.ContainsAny(arn, "*? "):
			return fmt.Errorf("%q is no ARN of a queue or of a trail's bucket", arn)
		case parts[2] == "sqs":
			queues = append(queues, arn)
		case parts[2] == "s3":
			folders = append(folders, arn)
		default:
			return fmt.Errorf("%q is no ARN of a queue or of a trail's bucket", arn)
		}
	}
	if len(queues) > 0 {
		d.Statement = append(d.Statement, Statement{Sid: "WatchQueue", Effect: "Allow", Action: readsQueue, Resource: queues})
	}
	for i, arn := range folders {
		bucket, prefix, _ := strings.Cut(strings.TrimSuffix(arn, "/"), "/")
		if prefix != "" {
			prefix += "/"
		}
		sid := "WatchTrail"
		if i > 0 {
			sid = fmt.Sprintf("WatchTrail%d", i+1)
		}
		d.Statement = append(d.Statement,
			Statement{Sid: sid + "Where", Effect: "Allow", Action: []string{"s3:GetBucketLocation"}, Resource: []string{bucket}},
			Statement{Sid: sid + "List", Effect: "Allow", Action: []string{"s3:ListBucket"}, Resource: []string{bucket},
				Condition: map[string]map[string]string{"StringLike": {"s3:prefix": prefix + "AWSLogs/*"}}},
			Statement{Sid: sid + "Read", Effect: "Allow", Action: []string{"s3:GetObject"}, Resource: []string{bucket + "/" + prefix + "AWSLogs/*"}})
	}
	return nil
}
