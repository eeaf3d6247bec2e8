package likeness

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"time"

	"iasql/internal/aws"
	"iasql/internal/test/faultproxy"
)

// record is a record of CloudTrail (CloudTrail User Guide, "CloudTrail record contents").
type record map[string]any

func (r record) text(name string) string {
	text, _ := r[name].(string)
	return text
}

// credential is where a signature names the access key.
var credential = regexp.MustCompile(`Credential=([^/]+)/`)

// worldwide are services whose calls are recorded in us-east-1 ("Global service events").
var worldwide = []string{"iam", "route53", "cloudfront", "organizations"}

// dataEvents are calls that change what objects hold, and not them: trails record them only
// if they are told to, and then in events of another category.
var dataEvents = map[string][]string{
	"dynamodb": {"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems", "ExecuteStatement"},
	"events":   {"PutEvents"},
	"kinesis":  {"PutRecord", "PutRecords", "SubscribeToShard"},
	"lambda":   {"Invoke", "InvokeAsync", "InvokeWithResponseStream"},
	"logs":     {"PutLogEvents", "StartQuery"},
	"sns":      {"Publish", "PublishBatch"},
	"sqs": {"SendMessage", "SendMessageBatch", "ReceiveMessage", "DeleteMessage", "DeleteMessageBatch",
		"ChangeMessageVisibility", "ChangeMessageVisibilityBatch"},
}

// unrecorded reports whether a call is none that the record of management events has.
func unrecorded(service, operation string) bool {
	return slices.Contains(dataEvents[service], operation) || service == "monitoring" && operation == "PutMetricData" ||
		service == "ecr" && strings.Contains(operation, "Layer")
}

// reads reports whether a call changes nothing.
func reads(operation string) bool { return aws.IsRead(operation) }

// record makes the record of a call.
func (t *Trail) record(c faultproxy.Call, a faultproxy.Answer, operation string, request any, at time.Time) record {
	who := t.caller(c)
	// A signature names the service as its permissions do.
	source, region := aws.ActionSource(c.Service), c.Region
	if slices.Contains(worldwide, c.Service) {
		region = "us-east-1"
	}
	r := record{
		"eventVersion": "1.11", "eventID": uuid(), "eventTime": at.Format(time.RFC3339), "eventSource": source,
		"eventName": eventName(c, source, operation),
		"awsRegion": region, "sourceIPAddress": cmp.Or(c.Header.Get("X-Forwarded-For"), c.Address),
		"userAgent":    c.Header.Get("User-Agent"),
		"userIdentity": who.element(accessKey(c.Header)), "requestID": requestID(a), "readOnly": reads(operation),
		"eventType":       "AwsApiCall",
		"managementEvent": true, "recipientAccountId": who.account, "eventCategory": "Management",
		"requestParameters": hidden(request), "responseElements": nil,
	}
	if a.Status >= 300 {
		r["errorCode"], r["errorMessage"] = errorOf(c, a)
	} else if !reads(operation) {
		r["responseElements"] = hidden(responseOf(c, a, operation))
	}
	return r
}

// element is the record's userIdentity ("CloudTrail userIdentity element").
func (i identity) element(key string) map[string]any {
	element := map[string]any{"type": "IAMUser", "principalId": i.id, "arn": i.arn, "accountId": i.account,
		"accessKeyId": key}
	resource := i.arn[strings.LastIndexByte(i.arn, ':')+1:]
	kind, rest, _ := strings.Cut(resource, "/")
	switch kind {
	case "root":
		element["type"] = "Root"
	case "assumed-role":
		role, _, _ := strings.Cut(rest, "/")
		element["type"] = "AssumedRole"
		id, _, _ := strings.Cut(i.id, ":")
		element["sessionContext"] = map[string]any{"sessionIssuer": map[string]any{
			"type": "Role", "principalId": id, "arn": "arn:aws:iam::" + i.account + ":role/" + role,
			"accountId": i.account, "userName": role,
		}, "attributes": map[string]any{"creationDate": time.Now().UTC().Format(time.RFC3339),
			"mfaAuthenticated": "false"}}
	default:
		element["userName"] = rest[strings.LastIndexByte(rest, '/')+1:]
	}
	return element
}

// requestID returns what AWS calls the request: the answer says so to the caller, too.
func requestID(a faultproxy.Answer) string {
	for _, name := range []string{"X-Amzn-Requestid", "X-Amz-Request-Id", "X-Amzn-Request-Id"} {
		if id := a.Header.Get(name); id != "" {
			return id
		}
	}
	if id := cmp.Or(member(string(a.Body), "RequestId"), member(string(a.Body), "requestId")); id != "" {
		return id
	}
	return uuid()
}

// errorOf returns the code and the message of an error. EC2's say whose fault it is.
func errorOf(c faultproxy.Call, a faultproxy.Answer) (code, message string) {
	var answer map[string]any
	if json.Unmarshal(a.Body, &answer) == nil {
		code, _ = answer["__type"].(string)
		code = cmp.Or(a.Header.Get("X-Amzn-ErrorType"), code)
		code, _, _ = strings.Cut(code[strings.LastIndexByte(code, '#')+1:], ":")
		message, _ = answer["message"].(string)
		if message == "" {
			message, _ = answer["Message"].(string)
		}
	} else {
		code, message = member(string(a.Body), "Code"), member(string(a.Body), "Message")
	}
	if code == "" {
		code = "InternalFailure"
	}
	if c.Service == "ec2" {
		fault := "Client."
		if a.Status >= 500 {
			fault = "Server."
		}
		code = fault + code
	}
	return code, message
}

// hidden hides the values of members that are called like secrets, as CloudTrail does.
func hidden(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			switch lower := strings.ToLower(name); {
			case strings.Contains(lower, "password"), strings.Contains(lower, "secretstring"),
				lower == "secretaccesskey", lower == "privatekey", lower == "authtoken":
				v[name] = "HIDDEN_DUE_TO_SECURITY_REASONS"
			case lower == "userdata":
				v[name] = "<sensitiveDataRemoved>"
			default:
				v[name] = hidden(inner)
			}
		}
	case []any:
		for i := range v {
			v[i] = hidden(v[i])
		}
	}
	return v
}

func uuid() string {
	id := make([]byte, 16)
	for i := range id {
		id[i] = byte(rand.Uint32()) // #nosec G404 G115 -- a name, no secret
	}
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	text := hex.EncodeToString(id)
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
}
