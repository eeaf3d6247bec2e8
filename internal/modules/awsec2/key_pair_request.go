package awsec2

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// requestKeyPair is the function key_pair_request.
func requestKeyPair(c *aws.Clients) *modules.Function {
	return &modules.Function{
		Name: "key_pair_request",
		Doc: "Has AWS make a key pair. Its row appears a moment later. The private key goes into a parameter of the " +
			"Parameter Store, a SecureString, " +
			"and nowhere else: `aws ssm get-parameter --with-decryption --name PARAMETER` tells it to whom AWS lets.",
		Sample: `SELECT key_pair_id, parameter FROM key_pair_request('operators')`,
		Table:  "key_pair",
		Right:  "INSERT",
		Parameters: []modules.Parameter{
			{Name: "name", Type: modules.TypeText, Names: "name", Doc: "The pair's name, unique in the region."},
			{Name: "region", Type: modules.TypeText, Default: "public.default_aws_region()",
				Names: modules.ColumnRegion, Doc: "The region; the default one if left out."},
			{Name: "type", Type: modules.TypeText, Default: "'rsa'", Doc: "The kind of key: rsa or ed25519."},
		},
		Returns: []modules.Result{
			{Name: "key_pair_id", Type: modules.TypeText, Doc: "The pair's id."},
			{Name: "fingerprint", Type: modules.TypeText, Doc: "Its fingerprint."},
			{Name: "parameter", Type: modules.TypeText,
				Doc: "The parameter that holds the private key: /ec2/keypair/ and the pair's id, as CloudFormation " +
					"names it."},
		},
		Call: func(ctx context.Context, i modules.Invocation) ([]modules.Row, error) {
			c, scope, args := c.Permitted(i.Permit), i.Scope, i.Arguments
			client, err := declare.Client(ctx, c, scope, ec2.NewFromConfig)
			if err != nil {
				return nil, err
			}
			pair, err := client.CreateKeyPair(ctx,
				&ec2.CreateKeyPairInput{KeyName: args["name"].Ptr(), KeyType: ec2types.KeyType(args["type"].String())})
			if err != nil {
				return nil, err
			}
			parameter := "/ec2/keypair/" + *pair.KeyPairId
			if err := declare.KeepSecret(ctx, c, scope, parameter, "Private key of key pair "+*pair.KeyName,
				*pair.KeyMaterial, func(ctx context.Context) error {
					_, err := client.DeleteKeyPair(ctx, &ec2.DeleteKeyPairInput{KeyName: pair.KeyName})
					return err
				}); err != nil {
				return nil, err
			}
			return []modules.Row{{"key_pair_id": modules.TextPtr(pair.KeyPairId),
				"fingerprint": modules.TextPtr(pair.KeyFingerprint), "parameter": modules.Text(parameter)}}, nil
		},
	}
}
