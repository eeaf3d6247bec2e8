package aws_test

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// A call that is not known to be a read is refused unless the engine has
// permitted mutations, whoever makes it: nothing was sent.
func ExampleClients() {
	clients := aws.New(aws.Options{
		Endpoint: "http://127.0.0.1:1", // nobody answers there
		Accounts: func(context.Context, string) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "AKIAEXAMPLE", SecretAccessKey: "secret"}, nil
		},
	})
	client, err := clients.SQS(context.Background(), modules.Scope{Account: "default", Region: "us-east-1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	name := "jobs"
	_, err = client.CreateQueue(context.Background(), &sqs.CreateQueueInput{QueueName: &name})
	fmt.Println(modules.ClassOf(err))
	fmt.Println(aws.IsRead("ListQueues"), aws.IsRead("CreateQueue"), aws.IsRead("GetSecretValue"))
	// Output:
	// read only
	// true false false
}
