package awsec2

import (
	"context"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// keyPair is the table key_pair.
type keyPair struct {
	aws.EC2Objects[ec2types.KeyPairInfo]
}

// The limits are those of the page ImportKeyPair.
func newKeyPair(c *aws.Clients) *keyPair {
	return &keyPair{aws.EC2Objects[ec2types.KeyPairInfo]{
		Clients: c,
		Description: &modules.Table{
			Name:     "key_pair",
			Doc:      "Key pairs, with which people log in to instances. Only the public key is here: the private one stays with whoever made the pair.",
			Provider: aws.Provider,
			Reach:    modules.PerRegion,
			Creation: modules.ByName,
			Columns: aws.Regional(
				modules.Column{Name: "name", Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true,
					Check: "length(name) BETWEEN 1 AND 255",
					Doc:   "The pair's name, unique in the region, up to 255 characters."},
				modules.Column{Name: "public_key", Type: modules.TypeText, CreateOnly: true, Equal: sameKey,
					Doc: "The public key, as OpenSSH writes it: ssh-ed25519 AAAA… someone. Needed to make a row; its comment does not count. NULL for pairs so old that AWS no longer has it."},
				modules.Column{Name: "key_pair_id", Type: modules.TypeText, Assigned: true,
					Doc: "The pair's id, such as key-0a1b2c3d."},
				modules.Column{Name: "type", Type: modules.TypeText, Assigned: true, Enum: []string{"ed25519", "rsa"},
					Doc: "The kind of key: ed25519 or rsa."},
				modules.Column{Name: "fingerprint", Type: modules.TypeText, Assigned: true,
					Doc: "Its fingerprint: SHA-256 of an ed25519 key, MD5 of an RSA key that was imported, SHA-1 of one that AWS made."},
				aws.TagsColumn(),
			),
			// Two pairs cannot have the same name.
			DestroyBeforeCreate: true,
		},
		IDFilter: "key-name",
		// DescribeKeyPairs has no pages.
		Describe: func(ctx context.Context, client *ec2.Client, filters []ec2types.Filter, page func([]ec2types.KeyPairInfo) error) error {
			out, err := client.DescribeKeyPairs(ctx, &ec2.DescribeKeyPairsInput{Filters: filters, IncludePublicKey: awssdk.Bool(true)})
			if err != nil {
				return err
			}
			return page(out.KeyPairs)
		},
		Rows: func(_ context.Context, _ *ec2.Client, pairs []ec2types.KeyPairInfo) ([]modules.Row, error) {
			rows := make([]modules.Row, len(pairs))
			for i, p := range pairs {
				rows[i] = modules.Row{
					"name":        modules.TextPtr(p.KeyName),
					"public_key":  modules.NonEmpty(strings.TrimSpace(awssdk.ToString(p.PublicKey))),
					"key_pair_id": modules.TextPtr(p.KeyPairId),
					"type":        modules.NonEmpty(p.KeyType),
					"fingerprint": modules.TextPtr(p.KeyFingerprint),
					"tags":        aws.EC2Tags.Value(p.Tags),
				}
			}
			return rows, nil
		},
		Tags:  func(p ec2types.KeyPairInfo) []ec2types.Tag { return p.Tags },
		TagID: "key_pair_id",
	}}
}

// sameKey reports whether two keys are equal but for their comments: AWS writes
// the pair's name there (page DescribeKeyPairs).
func sameKey(a, b string) bool {
	x, y := strings.Fields(a), strings.Fields(b)
	return len(x) > 1 && len(y) > 1 && slices.Equal(x[:2], y[:2])
}

// Create imports a public key.
func (r *keyPair) Create(ctx context.Context, scope modules.Scope, want modules.Row, _ string) (modules.Row, error) {
	if want["public_key"].IsNull() {
		return nil, &modules.Error{Class: modules.Invalid, Code: "MissingPublicKey", Message: "public_key is needed: a pair that AWS makes comes with a private key, which has no place in a table"}
	}
	client, err := r.Clients.EC2(ctx, scope)
	if err != nil {
		return nil, err
	}
	out, err := client.ImportKeyPair(ctx, &ec2.ImportKeyPairInput{
		KeyName:           want["name"].Ptr(),
		PublicKeyMaterial: []byte(want["public_key"].String()),
		TagSpecifications: aws.EC2TagSpecification(ec2types.ResourceTypeKeyPair, want, ""),
	})
	if err != nil {
		return nil, err
	}
	return modules.Row{"name": modules.TextPtr(out.KeyName), "key_pair_id": modules.TextPtr(out.KeyPairId)}, nil
}

// Delete deletes a pair. Instances that were made with it keep the public key.
func (r *keyPair) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	return r.Remove(ctx, scope, "", func(client *ec2.Client) error {
		_, err := client.DeleteKeyPair(ctx, &ec2.DeleteKeyPairInput{KeyName: have["name"].Ptr()})
		return err
	})
}
