package aws

import (
	"context"
	"fmt"
	"strings"
	"sync"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"iasql/internal/modules"
)

// codeWrongAccount is the code of the error of credentials that are not of the account they are to be of.
const codeWrongAccount = "WrongAccount"

// mostKeys bounds the access keys that are remembered of an account: those of a role's sessions are new every quarter
// of an hour.
const mostKeys = 32

// keyring is what is known of the access keys that an account has been used with. An access key is of one account for
// ever, and so is each that comes with a role's session.
type keyring struct {
	lock sync.Mutex
	// said is what STS said of each, as [Clients.Identify] spells it.
	said map[string]string
	// accepted is what the account was found to be last; "" before anybody has asked.
	accepted string
}

func (k *keyring) of(key string) (said string, known bool) {
	k.lock.Lock()
	defer k.lock.Unlock()
	said, known = k.said[key]
	return said, known
}

func (k *keyring) add(key, said string) {
	k.lock.Lock()
	defer k.lock.Unlock()
	if k.said == nil || len(k.said) >= mostKeys {
		k.said = map[string]string{}
	}
	k.said[key] = said
}

func (k *keyring) accept(said string) {
	k.lock.Lock()
	defer k.lock.Unlock()
	k.accepted = said
}

func (k *keyring) current() string {
	k.lock.Lock()
	defer k.lock.Unlock()
	return k.accepted
}

// Identify implements [modules.World]: an AWS account is its partition and its account id, as GetCallerIdentity tells
// (AWS STS API Reference, GetCallerIdentity, which takes no permission and cannot be denied by a policy of IAM). Calls
// that are made afterwards with other credentials, since those of a role's session have ended or somebody has changed
// them, are refused unless they are of the same account.
func (c *Clients) Identify(ctx context.Context, scope modules.Scope, fresh bool) (modules.Identity, error) {
	none := modules.Identity{}
	a, err := c.account(ctx, scope)
	if err != nil {
		return none, err
	}
	cfg, provider, expected := a.region("").cfg, a.source, a.creds.AccountID
	a.mu.Unlock()
	got, err := provider.Retrieve(ctx)
	if err != nil {
		return none, Classify(err, false, false)
	}
	said, vouched := a.keys.of(got.AccessKeyID)
	if fresh || !vouched {
		if said, err = c.whose(ctx, a, cfg, got); err != nil {
			return modules.Identity{Vouched: vouched}, err
		}
	}
	if _, id, _ := strings.Cut(said, ":"); expected != "" && id != expected {
		return none, &modules.Error{Class: modules.Denied, Code: codeWrongAccount,
			Message: fmt.Sprintf("the credentials are of AWS account %s, and aws_account.account_id of %s says %s: "+
				"correct either", id, scope.Account, expected)}
	}
	a.keys.accept(said)
	return modules.Identity{Said: said, Vouched: true}, nil
}

// whose asks STS whose credentials are.
func (c *Clients) whose(ctx context.Context, a *account, cfg awssdk.Config,
	credentials awssdk.Credentials) (string, error) {
	cfg.Credentials = awssdk.CredentialsProviderFunc(func(context.Context) (awssdk.Credentials, error) {
		return credentials, nil
	})
	who, err := sts.NewFromConfig(cfg).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return "", err
	}
	name, err := arn.Parse(awssdk.ToString(who.Arn))
	if id := awssdk.ToString(who.Account); err != nil || id == "" || name.AccountID != id {
		return "", &modules.Error{Class: modules.Transient, Code: "NoIdentity",
			Message: fmt.Sprintf("what answers GetCallerIdentity names no account: account %q, ARN %q; look at the "+
				"endpoint", id, awssdk.ToString(who.Arn))}
	}
	said := name.Partition + ":" + name.AccountID
	a.keys.add(credentials.AccessKeyID, said)
	return said, nil
}

// identified returns the provider of credentials that the account's clients use: once the account has been identified,
// it hands out none of another account (R27).
func (c *Clients) identified(a *account, cfg awssdk.Config,
	source awssdk.CredentialsProvider) awssdk.CredentialsProvider {
	return awssdk.CredentialsProviderFunc(func(ctx context.Context) (awssdk.Credentials, error) {
		got, err := source.Retrieve(ctx)
		accepted := a.keys.current()
		if err != nil || accepted == "" {
			return got, err
		}
		said, known := a.keys.of(got.AccessKeyID)
		if !known {
			if said, err = c.whose(ctx, a, cfg, got); err != nil {
				return awssdk.Credentials{}, err
			}
		}
		if said != accepted {
			return awssdk.Credentials{}, &modules.Error{Class: modules.Denied, Code: codeWrongAccount,
				Message: fmt.Sprintf("the credentials have changed to those of %s, and the account is %s",
					said, accepted)}
		}
		return got, nil
	})
}
