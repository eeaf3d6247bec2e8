package testaws

import (
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
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
