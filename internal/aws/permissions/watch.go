package permissions

import (
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/arn"
)

// readsQueue is what reading a queue of events takes, on that queue alone: GetQueueUrl finds
// one that is named by its ARN, and UntagQueue, of a tag that the queue does not have, is the
// call whose event shows that events come.
var readsQueue = []string{"sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage", "sqs:UntagQueue"}

// addWatch adds what reading events takes that are in these queues and folders of buckets.
func (d *Document) addWatch(arns []string) error {
	var queues, folders []string
	for _, text := range arns {
		parsed, err := arn.Parse(text)
		switch {
		case err == nil && parsed.Resource != "" && !strings.ContainsAny(text, "*? ") && parsed.Service == "sqs":
			queues = append(queues, text)
		case err == nil && parsed.Resource != "" && !strings.ContainsAny(text, "*? ") && parsed.Service == "s3":
			folders = append(folders, text)
		default:
			return fmt.Errorf("%q is no ARN of a queue or of a trail's bucket", text)
		}
	}
	if len(queues) > 0 {
		d.Statement = append(d.Statement,
			Statement{Sid: "WatchQueue", Effect: "Allow", Action: readsQueue, Resource: queues})
	}
	for i, folder := range folders {
		bucket, prefix, _ := strings.Cut(strings.TrimSuffix(folder, "/"), "/")
		if prefix != "" {
			prefix += "/"
		}
		sid := "WatchTrail"
		if i > 0 {
			sid = fmt.Sprintf("WatchTrail%d", i+1)
		}
		d.Statement = append(d.Statement,
			Statement{Sid: sid + "Where", Effect: "Allow", Action: []string{"s3:GetBucketLocation"},
				Resource: []string{bucket}},
			Statement{Sid: sid + "List", Effect: "Allow", Action: []string{"s3:ListBucket"}, Resource: []string{bucket},
				Condition: map[string]map[string]string{"StringLike": {"s3:prefix": prefix + "AWSLogs/*"}}},
			Statement{Sid: sid + "Read", Effect: "Allow", Action: []string{"s3:GetObject"},
				Resource: []string{bucket + "/" + prefix + "AWSLogs/*"}})
	}
	return nil
}
