package watch

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"iasql/internal/test/faultproxy"
	"iasql/internal/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

const ana = "arn:aws:sts::%s:assumed-role/Admin/ana@example.com"

// world is an account with a queue that events are sent to.
type world struct {
	*harness.World
	queue string
	// Proxy counts the engine's calls, in worlds that have one.
	Proxy *faultproxy.Proxy
}

func start(t *testing.T, modules ...string) *world {
	t.Helper()
	w := &world{World: harness.Start(t, []string{"us-east-1"}, modules...)}
	w.makeQueue()
	w.addSource()
	return w
}

func (w *world) makeQueue() {
	w.Helper()
	w.queue = w.CLI("sqs", "create-queue", "--queue-name", "watch")["QueueUrl"].(string)
}

func (w *world) addSource() {
	w.Helper()
	w.PSQL(fmt.Sprintf(`INSERT INTO aws_event_source (queue) VALUES ('%s')`, w.queue))
}

// event returns an event of EventBridge about a call.
func (w *world) event(source, name, request, response string, change ...func(detail map[string]any)) string {
	now := time.Now().UTC().Format(time.RFC3339)
	detail := map[string]any{
		"eventVersion": "1.11", "eventTime": now, "eventSource": source, "eventName": name, "awsRegion": "us-east-1",
		"sourceIPAddress": "192.0.2.10",
		"userAgent":       "aws-cli/2.15.0", "requestID": uuid.NewString(), "eventID": uuid.NewString(),
		"readOnly":        false,
		"eventType":       "AwsApiCall",
		"managementEvent": true, "recipientAccountId": w.AWS.ID, "eventCategory": "Management",
		"requestParameters": json.RawMessage(request), "responseElements": json.RawMessage(response),
		"userIdentity": map[string]any{"type": "AssumedRole", "principalId": "AROAIDPPEZS35WEXAMPLE:ana@example.com",
			"arn": fmt.Sprintf(ana, w.AWS.ID), "accountId": w.AWS.ID,
			"sessionContext": map[string]any{"sessionIssuer": map[string]any{"type": "Role", "userName": "Admin"}}},
	}
	for _, f := range change {
		f(detail)
	}
	body, err := json.Marshal(map[string]any{"version": "0", "id": uuid.NewString(),
		"detail-type": "AWS API Call via CloudTrail", "source": "aws.ec2",
		"account": detail["recipientAccountId"], "time": now, "region": detail["awsRegion"], "resources": []string{},
		"detail": detail})
	if err != nil {
		w.Fatal(err)
	}
	return string(body)
}

func (w *world) send(bodies ...string) {
	w.Helper()
	for _, body := range bodies {
		w.CLI("sqs", "send-message", "--queue-url", w.queue, "--message-body", body)
	}
}

// What somebody changes with another tool is in the table when its event has come, long
// before the next listing, with who it was; also what is new, and what is gone.
func TestWhoDidIt(t *testing.T) {
	t.Parallel()
	w := start(t, "aws_vpc")
	w.PSQL(`UPDATE iasql_settings SET value = '1 day' WHERE name = 'sync_interval'`)
	w.PSQL(`SELECT iasql_sync_now()`)
	w.Eventually(20*time.Second, "the queue is read", func() bool {
		return w.Admin(`SELECT count(*) FROM iasql_internal.event_source WHERE answered IS NOT NULL`) == "1"
	})
	id, then := w.PSQL(`SELECT vpc_id FROM vpc`), w.PSQL(`SELECT clock_timestamp()`)

	w.CLI("ec2", "modify-vpc-attribute", "--vpc-id", id, "--enable-dns-hostnames", `{"Value":false}`)
	w.send(w.event("ec2.amazonaws.com", "ModifyVpcAttribute",
		fmt.Sprintf(`{"vpcId": %q, "enableDnsHostnames": {"value": false}}`, id), `{"_return": true}`))
	w.Eventually(10*time.Second, "the change is in the table", func() bool {
		return w.PSQL(`SELECT enable_dns_hostnames FROM vpc`) == "f"
	})
	said := w.PSQL(`SELECT concat_ws('|', actor, actor_session, source_address, user_agent, also IS NULL) FROM iasql_audit_log WHERE table_name = 'vpc' AND change_type = 'UPDATE'`)
	if want := fmt.Sprintf(ana, w.AWS.ID) + "|ana@example.com|192.0.2.10|aws-cli/2.15.0|t"; said != want {
		t.Errorf("it was %s, want %s", said, want)
	}

	made := w.CLI("ec2", "create-vpc", "--cidr-block", "10.9.0.0/16")["Vpc"].(map[string]any)["VpcId"].(string)
	w.send(w.event("ec2.amazonaws.com", "CreateVpc", `{"cidrBlock": "10.9.0.0/16"}`,
		fmt.Sprintf(`{"vpc": {"vpcId": %q}}`, made)))
	w.Eventually(10*time.Second, "the new VPC is in the table", func() bool {
		return w.PSQL(`SELECT count(*) FROM vpc`) == "2"
	})
	w.CLI("ec2", "delete-vpc", "--vpc-id", made)
	w.send(w.event("ec2.amazonaws.com", "DeleteVpc", fmt.Sprintf(`{"vpcId": %q}`, made), `{"_return": true}`))
	w.Eventually(10*time.Second, "the deleted VPC is not", func() bool {
		return w.PSQL(`SELECT count(*) FROM vpc`) == "1"
	})
	if got := w.PSQL(`SELECT string_agg(change_type || ' ' || actor_session, ', ' ORDER BY id) FROM iasql_audit_log
		WHERE table_name = 'vpc' AND origin = 'engine' AND actor IS NOT NULL`); strings.Join(strings.Fields(got), " ") != "UPDATE ana@example.com, INSERT ana@example.com, DELETE ana@example.com" {
		t.Errorf("the audit log has %s", got)
	}
	if got, want := w.PSQL(`SELECT string_agg(concat_ws(' ', action, by_whom, from_where, how_known), ', ') FROM iasql_changes_since(now() - interval '1 hour') WHERE table_name = 'vpc'`),
		strings.ReplaceAll("update ANA account default event of the cloud, insert ANA account default event of the cloud, delete ANA account default event of the cloud",
			"ANA", fmt.Sprintf(ana, w.AWS.ID)); got != want {
		t.Errorf("what has changed: %s\nwant %s", got, want)
	}
	// What somebody has changed there is as it was.
	w.PSQL(`CALL iasql_restore('vpc', `+w.PSQL(`SELECT id FROM vpc`)+`, '`+then+`')`, `CALL iasql_commit()`)
	if got := w.CLI("ec2", "describe-vpc-attribute", "--vpc-id", id, "--attribute", "enableDnsHostnames")["EnableDnsHostnames"].(map[string]any)["Value"]; got != true {
		t.Errorf("after the restore it is %v", got)
	}
}
