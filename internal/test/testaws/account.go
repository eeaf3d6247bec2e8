package testaws

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"iasql/internal/devenv"
)

// Account is an AWS account in the emulator, and the way into it.
type Account struct {
	ID              string // twelve digits
	AccessKeyID     string
	SecretAccessKey string
	SessionToken    string // empty: the credentials are long-lived
	Endpoint        string // for every service
}

// Config configures the clients of the AWS SDK for this account.
func (a Account) Config(region string) aws.Config {
	return aws.Config{
		Region:       region,
		BaseEndpoint: aws.String(a.Endpoint),
		Credentials:  credentials.NewStaticCredentialsProvider(a.AccessKeyID, a.SecretAccessKey, a.SessionToken),
	}
}

// Env returns the environment variables, "NAME=value", that lead any AWS client
// into this account, to the region us-east-1, and away from what the machine is
// configured for.
func (a Account) Env() []string {
	env := []string{
		"AWS_ENDPOINT_URL=" + a.Endpoint,
		"AWS_ACCESS_KEY_ID=" + a.AccessKeyID,
		"AWS_SECRET_ACCESS_KEY=" + a.SecretAccessKey,
		"AWS_DEFAULT_REGION=us-east-1",
		"AWS_REGION=us-east-1",
		"AWS_PAGER=",
		"AWS_CONFIG_FILE=" + os.DevNull,
		"AWS_SHARED_CREDENTIALS_FILE=" + os.DevNull,
		"AWS_EC2_METADATA_DISABLED=true",
	}
	if a.SessionToken != "" {
		env = append(env, "AWS_SESSION_TOKEN="+a.SessionToken)
	}
	return env
}

// CLI runs the aws command with the given arguments in this account and returns
// what it prints, as JSON. The test fails with the command's message if it fails.
// A call takes about a second, most of it to start Python: set up larger scenes
// through an SDK.
func (a Account) CLI(t testing.TB, args ...string) string {
	t.Helper()
	program, err := devenv.FindTool("aws")
	if err != nil {
		t.Fatalf("testaws: %v", err)
	}
	cmd := exec.CommandContext(t.Context(), program, append([]string{"--endpoint-url", a.Endpoint, "--output", "json"}, args...)...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "AWS_") })
	cmd.Env = append(cmd.Env, a.Env()...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("aws %s: %v: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String()
}
