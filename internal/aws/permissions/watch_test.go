package permissions

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestWatch(t *testing.T) {
	doc, err := Policy([]string{"aws_account"},
		Options{ReadOnly: true, Watch: []string{"arn:aws:sqs:eu-west-1:123456789012:iasql-events",
			"arn:aws:s3:::trails/all", "arn:aws:s3:::others"}})
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	enc := json.NewEncoder(&got)
	if err := enc.Encode(doc.Statement[1:]); err != nil {
		t.Fatal(err)
	}
	want := `[{"Sid":"WatchQueue","Effect":"Allow","Action":["sqs:DeleteMessage","sqs:GetQueueUrl","sqs:ReceiveMessage","sqs:UntagQueue"],"Resource":["arn:aws:sqs:eu-west-1:123456789012:iasql-events"]},` +
		`{"Sid":"WatchTrailWhere","Effect":"Allow","Action":["s3:GetBucketLocation"],"Resource":["arn:aws:s3:::trails"]},` +
		`{"Sid":"WatchTrailList","Effect":"Allow","Action":["s3:ListBucket"],"Resource":["arn:aws:s3:::trails"],"Condition":{"StringLike":{"s3:prefix":"all/AWSLogs/*"}}},` +
		`{"Sid":"WatchTrailRead","Effect":"Allow","Action":["s3:GetObject"],"Resource":["arn:aws:s3:::trails/all/AWSLogs/*"]},` +
		`{"Sid":"WatchTrail2Where","Effect":"Allow","Action":["s3:GetBucketLocation"],"Resource":["arn:aws:s3:::others"]},` +
		`{"Sid":"WatchTrail2List","Effect":"Allow","Action":["s3:ListBucket"],"Resource":["arn:aws:s3:::others"],"Condition":{"StringLike":{"s3:prefix":"AWSLogs/*"}}},` +
		`{"Sid":"WatchTrail2Read","Effect":"Allow","Action":["s3:GetObject"],"Resource":["arn:aws:s3:::others/AWSLogs/*"]}]`
	if strings.TrimSpace(got.String()) != want {
		t.Errorf("got %s", got.String())
	}
	for _, arn := range []string{"", "queue", "arn:aws:sqs:eu-west-1:123456789012:", "arn:aws:sqs:*:123456789012:q",
		"arn:aws:sns:eu-west-1:123456789012:t"} {
		if _, err := Policy([]string{"aws_account"}, Options{Watch: []string{arn}}); err == nil {
			t.Errorf("%q is taken", arn)
		}
	}
}
