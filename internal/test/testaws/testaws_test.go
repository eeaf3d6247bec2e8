package testaws

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

func TestMain(m *testing.M) { Main(m) }

// accounts know who they are and see nothing of each other.
func TestAccountsAreIsolated(t *testing.T) {
	t.Parallel()
	for i := range 8 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			account := NewAccount(t)
			cfg := account.Config("us-east-1")
			who, err := sts.NewFromConfig(cfg).GetCallerIdentity(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := aws.ToString(who.Account); got != account.ID {
				t.Errorf("account %s, want %s", got, account.ID)
			}
			client := sqs.NewFromConfig(cfg)
			queue, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("same-name")})
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(aws.ToString(queue.QueueUrl), account.ID) {
				t.Errorf("queue %s is not in account %s", aws.ToString(queue.QueueUrl), account.ID)
			}
			queues, err := client.ListQueues(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(queues.QueueUrls) != 1 {
				t.Errorf("queues of others are seen: %q", queues.QueueUrls)
			}
		})
	}
}

// bodies pass through the proxy, presigned requests find their account.
func TestS3(t *testing.T) {
	t.Parallel()
	account, other := NewAccount(t), NewAccount(t)
	client := s3.NewFromConfig(account.Config("us-east-1"))
	bucket, key := aws.String("bucket-"+account.ID), aws.String("some/key")
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: bucket}); err != nil {
		t.Fatal(err)
	}
	content := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	if _, err := client.PutObject(t.Context(),
		&s3.PutObjectInput{Bucket: bucket, Key: key, Body: bytes.NewReader(content)}); err != nil {
		t.Fatal(err)
	}
	signed, err := s3.NewPresignClient(client).PresignGetObject(t.Context(),
		&s3.GetObjectInput{Bucket: bucket, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Get(signed.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, content) {
		t.Errorf("%s: %d bytes, want %d", resp.Status, len(got), len(content))
	}
	buckets, err := s3.NewFromConfig(other.Config("us-east-1")).ListBuckets(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(buckets.Buckets) != 0 {
		t.Errorf("another account sees %d buckets", len(buckets.Buckets))
	}
}

func TestCLI(t *testing.T) {
	t.Parallel()
	account := NewAccount(t)
	var created struct {
		Vpc struct{ VpcId, OwnerId string }
	}
	out := account.CLI(t, "ec2", "create-vpc", "--cidr-block", "10.77.0.0/16")
	if err := json.Unmarshal([]byte(out), &created); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if created.Vpc.VpcId == "" || created.Vpc.OwnerId != account.ID {
		t.Errorf("got %s", out)
	}
}

// a failing command fails the test, with the command's message.
func TestCLIFails(t *testing.T) {
	t.Parallel()
	out := rerun(t, "TestInnerCLI", "TESTAWS_INNER=1", endpointEnv+"="+Endpoint(t))
	if !strings.Contains(out, "InvalidVpcID.NotFound") || !strings.Contains(out, "--- FAIL") {
		t.Error(out)
	}
}

func TestInnerCLI(t *testing.T) {
	if os.Getenv("TESTAWS_INNER") == "" {
		return // only a part of TestCLIFails
	}
	NewAccount(t).CLI(t, "ec2", "describe-vpcs", "--vpc-ids", "vpc-00000000000000000")
}

// without an emulator tests fail, they are not skipped.
func TestNoEmulator(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ env, want string }{
		"no program":      {"IASQL_MOTO_SERVER=/nonexistent/moto_server", "/nonexistent/moto_server cannot be run"},
		"not answering":   {endpointEnv + "=http://127.0.0.1:1", "does not answer"},
		"not an endpoint": {endpointEnv + "=nonsense", "is not a URL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := rerun(t, "TestAccountsAreIsolated", endpointEnv+"=", c.env)
			if !strings.Contains(out, c.want) || !strings.Contains(out, "--- FAIL") || strings.Contains(out, "SKIP") {
				t.Error(out)
			}
		})
	}
}

// rerun runs one test in a process of its own, which must fail.
func rerun(t *testing.T, name string, env ...string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.v", "-test.run=^"+name+"$")
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Errorf("%s passed with %q", name, env)
	}
	return string(out)
}
