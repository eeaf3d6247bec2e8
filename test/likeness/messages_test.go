package likeness

import (
	"testing"
	"time"

	"iasql/internal/test/likeness"
)

// SNS adds to a delivery policy, says that a subscription exists with other attributes, and
// has no ARN for one that nobody has confirmed: none of it is a change or an error (finding B14).
func TestTopics(t *testing.T) {
	t.Parallel()
	w, l := start(t, of(&likeness.Topics{}, &likeness.Queues{}), "aws_sns", "aws_sqs")
	w.PSQL(`BEGIN`,
		`INSERT INTO topic (name, delivery_policy) VALUES ('news', '{"http": {"defaultHealthyRetryPolicy": {"minDelayTarget": 20, "maxDelayTarget": 20, "numRetries": 5}}}')`,
		`INSERT INTO queue (name) VALUES ('reader')`,
		`INSERT INTO subscription (topic, protocol, endpoint) VALUES ('news', 'email', 'somebody@example.com')`,
		`INSERT INTO subscription (topic, protocol, endpoint, raw_message_delivery) VALUES ('news', 'sqs', 'arn:aws:sqs:us-east-1:`+w.AWS.ID+`:reader', true)`,
		`COMMIT`)
	settles(t, w, "topic and subscriptions to be made")
	set := l.Proxy.Count("SetTopicAttributes")
	w.PSQL(`SELECT iasql_sync_now()`, `SELECT iasql_sync_now()`)
	w.Settled()
	if again := l.Proxy.Count("SetTopicAttributes"); again != set {
		t.Errorf("the delivery policy was set %d more times", again-set)
	}
	if got := w.PSQL(`SELECT string_agg(protocol || ' ' || (arn IS NOT NULL), ', ' ORDER BY protocol) FROM subscription`); got != "email false, sqs true" {
		t.Errorf("the subscriptions are %s", got)
	}
	// One that is there with other attributes, which no listing has shown yet.
	other := w.AWS
	other.Endpoint = l.URL
	w.PSQL(`INSERT INTO topic (name) VALUES ('theirs')`)
	w.Settled()
	endpoint := "arn:aws:sqs:us-east-1:" + w.AWS.ID + ":reader"
	other.CLI(t, "sns", "subscribe", "--topic-arn", "arn:aws:sns:us-east-1:"+w.AWS.ID+":theirs", "--protocol", "sqs",
		"--notification-endpoint", endpoint)
	w.PSQL(`INSERT INTO subscription (topic, protocol, endpoint, raw_message_delivery) VALUES ('theirs', 'sqs', '` +
		endpoint + `', true)`)
	settles(t, w, "the subscription to be adopted")
	if got := w.PSQL(`SELECT raw_message_delivery FROM subscription WHERE topic = 'theirs'`); got != "t" {
		t.Errorf("raw message delivery is %s", got)
	}
}

// A policy that names a role of the same transaction is refused until IAM has told everybody
// of the role: nobody is asked, in any of the services.
func TestNewPrincipal(t *testing.T) {
	t.Parallel()
	w, _ := start(t, of(&likeness.Identities{Spreading: 4 * time.Second, Listing: 2 * time.Second}), "aws_iam",
		"aws_sqs", "aws_sns", "aws_s3", "aws_ecr")
	role := `arn:aws:iam::` + w.AWS.ID + `:role/reader`
	policy := func(action, resource string) string {
		return `'{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"AWS": "` + role +
			`"}, "Action": "` + action + `", "Resource": "` + resource + `"}]}'`
	}
	w.PSQL(`BEGIN`,
		`INSERT INTO iam_role (role_name, assume_role_policy_document) VALUES ('reader', '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}]}')`,
		`INSERT INTO iam_role (role_name, assume_role_policy_document) VALUES ('second', '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"AWS": "`+role+`"}, "Action": "sts:AssumeRole"}]}')`,
		`INSERT INTO queue (name, policy) VALUES ('q', `+
			policy("sqs:SendMessage", "arn:aws:sqs:us-east-1:"+w.AWS.ID+":q")+`)`,
		`INSERT INTO topic (name, policy) VALUES ('t', `+policy("sns:Publish", "arn:aws:sns:us-east-1:"+w.AWS.ID+":t")+
			`)`,
		`INSERT INTO bucket (name, policy) VALUES ('b-`+w.AWS.ID+`', `+
			policy("s3:GetObject", "arn:aws:s3:::b-"+w.AWS.ID+"/*")+`)`,
		`INSERT INTO repository (repository_name) VALUES ('images')`,
		`INSERT INTO repository_policy (repository_id, policy) SELECT id, '{"Version": "2012-10-17", "Statement": [{"Sid": "pull", "Effect": "Allow", "Principal": {"AWS": "`+role+`"}, "Action": "ecr:BatchGetImage"}]}' FROM repository`,
		`COMMIT`)
	asked := ""
	w.Eventually(60*time.Second, "all to be there", func() bool {
		if got := w.PSQL(`SELECT string_agg(concat_ws(' ', table_name, message), E'\n') FROM iasql_status WHERE review`); got != "" {
			asked = got
		}
		return w.PSQL(`SELECT count(*) FROM iasql_audit_log WHERE NOT settled`) == "0" && w.PSQL(unsettled) == ""
	})
	if asked != "" {
		t.Errorf("a person was asked: %s", asked)
	}
}
