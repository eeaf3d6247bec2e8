package awsec2

import (
	"context"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// newKeyPair declares the table key_pair. The limits are those of the page
// ImportKeyPair. Instances that were made with a pair keep the public key when
// it is deleted.
func newKeyPair(c *aws.Clients) *declare.Resource {
	return declare.New(c, declare.Table[ec2types.KeyPairInfo]{
		Name: "key_pair",
		Doc: "Key pairs, with which people log in to instances. Only the public key is here: the private one " +
			"stays with whoever made the pair, or is where key_pair_request has put it.",
		Service: declare.Service(ec2.NewFromConfig),
		Columns: []declare.Column{
			declare.Name("name", "KeyName", "The pair's name, unique in the region, up to 255 characters.").Length(1,
				255),
			declare.Text("public_key", "PublicKey",
				"The public key, as OpenSSH writes it: ssh-ed25519 AAAA… someone. Needed to make a row; its comment "+
					"does not count. NULL for pairs so old that AWS no longer has it.").
				CreateOnly().Same(sameKey).In("PublicKeyMaterial").As(publicKey),
			declare.Text("key_pair_id", "KeyPairId", "The pair's id, such as key-0a1b2c3d.").Computed(),
			declare.Text("type", "KeyType", "The kind of key: ed25519 or rsa.").Computed().OneOf("ed25519", "rsa"),
			declare.Text("fingerprint", "KeyFingerprint",
				"Its fingerprint: SHA-256 of an ed25519 key, MD5 of an RSA key that was imported, SHA-1 of one that "+
					"AWS made.").Computed(),
			declare.EC2Tags(ec2types.ResourceTypeKeyPair).Owner("key_pair_id"),
		},
		Published: declare.Published{Type: "AWS::EC2::KeyPair", Since: 5,
			Columns: map[string]string{"KeyFormat": "key_pair_request"},
			Without: map[string]string{"KeyType": "public_key says it"},
		},
		// Two pairs cannot have the same name.
		DestroyBeforeCreate: true,

		EventMappings: modules.EventMappings("ec2.amazonaws.com",
			modules.Request("keyName", "CreateKeyPair"),
			modules.Request("keyName", "DeleteKeyPair"),
			modules.Request("keyPairId", "DeleteKeyPair").In("key_pair_id"),
		),
		List: declare.Once(declare.Call((*ec2.Client).DescribeKeyPairs,
			declare.With(&ec2.DescribeKeyPairsInput{IncludePublicKey: awssdk.Bool(true)})), "KeyPairs"),
		Get: declare.EC2Filter("key-name"),
		Create: declare.Call((*ec2.Client).ImportKeyPair,
			declare.Edit(func(_ context.Context, _ *declare.Step, in *ec2.ImportKeyPairInput) error {
				if in.PublicKeyMaterial == nil {
					return &modules.Error{Class: modules.Invalid, Code: "MissingPublicKey",
						Message: "public_key is needed: a pair that AWS makes comes with a private key, which has no " +
							"place in a table: key_pair_request makes one and puts the private key into the " +
							"Parameter Store"}
				}
				return nil
			})),
		Delete: declare.Call((*ec2.Client).DeleteKeyPair),
	})
}

var publicKey = declare.Codec{
	Decode: func(member any) (modules.Value, error) {
		return modules.NonEmpty(strings.TrimSpace(member.(string))), nil
	},
	Encode: func(v modules.Value) (any, error) { return []byte(v.String()), nil },
}

// sameKey reports whether two keys are equal but for their comments: AWS writes
// the pair's name there (page DescribeKeyPairs).
func sameKey(a, b string) bool {
	x, y := strings.Fields(a), strings.Fields(b)
	return len(x) > 1 && len(y) > 1 && slices.Equal(x[:2], y[:2])
}

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
