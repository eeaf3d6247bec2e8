package aws

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"iasql/internal/modules"
)

// mask stands in for a secret wherever one would be shown.
const mask = "********"

// expiryWindow is how long before its end an assumed role's session is renewed: a
// call that is signed by one that is about to end comes too late. Sessions are 15
// minutes long, the SDK's default.
const expiryWindow = 2 * time.Minute

// sessionName is what CloudTrail shows for the engine's assumed roles.
const sessionName = "iasql"

// Credentials say how the engine logs in to an account. The zero value is the
// SDK's default chain: environment, shared files, container, instance role.
type Credentials struct {
	AccessKeyID     string
	SecretAccessKey string
	SessionToken    string
	RoleARN         string // assumed with the credentials above, or with those of the chain
	ExternalID      string // what the role's trust policy may ask for
	Profile         string // of the shared configuration files
	AccountID       string // the only account that they may be of; "" for any
}

// Accounts returns the credentials of an account, by the name the tables give
// it. It is asked again from time to time, so that credentials changed in the
// tables take effect.
type Accounts func(ctx context.Context, account string) (Credentials, error)

// String shows the credentials without their secrets.
func (c Credentials) String() string {
	return fmt.Sprintf("{access_key_id:%s secret_access_key:%s session_token:%s role_arn:%s external_id:%s profile:%s}",
		c.AccessKeyID, masked(c.SecretAccessKey), masked(c.SessionToken), c.RoleARN, masked(c.ExternalID), c.Profile)
}

// GoString is String: %#v shows no secrets either.
func (c Credentials) GoString() string { return "aws.Credentials" + c.String() }

// LogValue shows the credentials without their secrets.
func (c Credentials) LogValue() slog.Value { return slog.StringValue(c.String()) }

func masked(s string) string {
	if s == "" {
		return ""
	}
	return mask
}

// check reports what is wrong with the credentials before any call is made.
func (c Credentials) check() error {
	switch {
	case c.AccessKeyID != "" && c.SecretAccessKey == "":
		return denied("access_key_id is set and secret_access_key is not: set both")
	case c.AccessKeyID == "" && (c.SecretAccessKey != "" || c.SessionToken != ""):
		return denied("secret_access_key is set and access_key_id is not: set both")
	case c.AccessKeyID != "" && c.Profile != "":
		return denied("access_key_id and profile are both set: keep one")
	}
	return nil
}

func denied(message string) error {
	return &modules.Error{Class: modules.Denied, Code: codeCredentials, Message: message}
}

// load returns the options by which the SDK finds the credentials.
func (c Credentials) load() []func(*config.LoadOptions) error {
	var options []func(*config.LoadOptions) error
	if c.AccessKeyID != "" {
		options = append(options, config.WithCredentialsProvider(
			credentials.NewStaticCredentialsProvider(c.AccessKeyID, c.SecretAccessKey, c.SessionToken)))
	}
	if c.Profile != "" {
		options = append(options, config.WithSharedConfigProfile(c.Profile))
	}
	return options
}

// assume returns the provider that cfg's clients use: the role's if there is a
// role, and in any case one whose errors can be told from those of the call.
func (c Credentials) assume(cfg awssdk.Config) awssdk.CredentialsProvider {
	provider := cfg.Credentials
	if c.RoleARN != "" {
		provider = awssdk.NewCredentialsCache(stscreds.NewAssumeRoleProvider(sts.NewFromConfig(cfg), c.RoleARN,
			func(o *stscreds.AssumeRoleOptions) {
				o.RoleSessionName = sessionName
				if c.ExternalID != "" {
					o.ExternalID = &c.ExternalID
				}
			}), func(o *awssdk.CredentialsCacheOptions) { o.ExpiryWindow = expiryWindow })
	}
	return awssdk.CredentialsProviderFunc(func(ctx context.Context) (awssdk.Credentials, error) {
		if provider == nil {
			return awssdk.Credentials{}, &credentialsError{errors.New("none found")}
		}
		got, err := provider.Retrieve(ctx)
		if err != nil {
			return got, &credentialsError{err}
		}
		return got, nil
	})
}

// Login is how the engine logs in to an account. None of it is secret.
type Login struct {
	// Source is the SDK's name of what the credentials came from, such as
	// EnvConfigCredentials, SSOProvider or EC2RoleProvider.
	Source string
	// Expires is when the session ends; zero for credentials that do not expire.
	// The SDK renews those of a role before that.
	Expires time.Time
}

// Login obtains the credentials of the scope's account, and says where they come
// from. Whether AWS takes them, it does not say.
func (c *Clients) Login(ctx context.Context, scope modules.Scope) (Login, error) {
	a, err := c.account(ctx, scope)
	if err != nil {
		return Login{}, err
	}
	provider := a.base.Credentials
	a.mu.Unlock()
	got, err := provider.Retrieve(ctx)
	if err != nil {
		return Login{}, Classify(err, false, false)
	}
	l := Login{Source: got.Source}
	if got.CanExpire {
		l.Expires = got.Expires
	}
	return l, nil
}

// credentialsError is a failure to obtain credentials, before a call is signed.
type credentialsError struct{ err error }

func (e *credentialsError) Error() string { return "no credentials: " + e.err.Error() }
func (e *credentialsError) Unwrap() error { return e.err }
