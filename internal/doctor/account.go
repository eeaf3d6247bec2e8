package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"iasql/internal/modules"
)

const (
	// mostSkew is how far a request's time may be from AWS's (IAM User Guide,
	// "Signature Version 4 for API requests": within five minutes).
	mostSkew = 5 * time.Minute
	// someSkew is what a clock that is kept right is never off by.
	someSkew = 30 * time.Second
	// soon is when a session is about to end that nothing renews.
	soon = time.Hour
)

// examineAccount says who the engine would be, and reports whether AWS knows it.
func (d *doctor) examineAccount(ctx context.Context) bool {
	d.Progress("logging in to AWS")
	account := &Account{}
	d.report.Account = account
	region, err := d.Clients.DefaultRegion(ctx, d.scope)
	if err == nil {
		account.Region = region
		err = d.examineCredentials(ctx, account)
	}
	if err != nil {
		d.report.add(Check{ID: "account.credentials", Status: Failure, Message: "there are none: " + said(err),
			Advice: "give the engine credentials through its environment (AWS_PROFILE, AWS_ACCESS_KEY_ID, SSO, an " +
				"instance role), or name an account of aws_account with --account"})
		return false
	}
	who, skew, err := d.callerIdentity(ctx)
	d.clock(account, skew)
	if err != nil {
		d.report.add(Check{ID: "account.identity", Status: Failure, Message: "AWS does not take the credentials: " +
			said(err), Advice: adviceOf(err)})
		return false
	}
	d.Progress("logged in as " + awssdk.ToString(who.Arn))
	caller, err := arn.Parse(awssdk.ToString(who.Arn))
	if err != nil {
		caller.Resource = "unknown"
	}
	account.ID, account.Partition = maskAccount(awssdk.ToString(who.Account)), caller.Partition
	account.Kind, _, _ = strings.Cut(caller.Resource, "/")
	check := Check{ID: "account.identity", Status: OK,
		Message: fmt.Sprintf("account %s, as %s", account.ID, account.Kind)}
	if account.Kind == "root" {
		check.Status, check.Advice = Warning,
			"do not let an engine work as the root user: make a role with what engine iam-policy prints"
	}
	d.report.add(check)
	d.partition(account)
	return true
}

// examineCredentials says where the credentials come from.
func (d *doctor) examineCredentials(ctx context.Context, account *Account) error {
	login, err := d.Clients.Login(ctx, d.scope)
	if err != nil {
		return err
	}
	// A shared file's path is part of its provider's name.
	account.Source, _, _ = strings.Cut(login.Source, ":")
	check := Check{ID: "account.credentials", Status: OK, Message: "from " + account.Source + "; they do not expire"}
	if !login.Expires.IsZero() {
		account.Expires = &login.Expires
		check.Message = fmt.Sprintf("from %s; the session ends %s", account.Source,
			login.Expires.UTC().Format("2006-01-02 15:04 UTC"))
		if time.Until(login.Expires) < soon {
			check.Message += ", and is renewed if it comes from a role"
		}
	}
	d.report.add(check)
	return nil
}

// callerIdentity asks AWS who the credentials belong to, which takes no permission
// (AWS STS API Reference, GetCallerIdentity), and measures the clock by the answer,
// whatever the answer is.
func (d *doctor) callerIdentity(ctx context.Context) (*sts.GetCallerIdentityOutput, *time.Duration, error) {
	client, err := d.Clients.STS(ctx, d.scope)
	if err != nil {
		return nil, nil, err
	}
	var lock sync.Mutex
	var skew *time.Duration
	who, err := client.GetCallerIdentity(modules.WithTrace(ctx, func(a modules.Attempt) {
		lock.Lock()
		defer lock.Unlock()
		if a.Dated {
			skew = &a.Skew
		}
	}), &sts.GetCallerIdentityInput{})
	lock.Lock()
	defer lock.Unlock()
	return who, skew, err
}

// clock judges how far AWS's clock is from this machine's.
func (d *doctor) clock(account *Account, skew *time.Duration) {
	if skew == nil {
		d.report.add(Check{ID: "account.clock", Status: Skipped,
			Message: "there is no answer of AWS to compare the clock with"})
		return
	}
	seconds := skew.Round(100 * time.Millisecond).Seconds()
	account.SkewSeconds = &seconds
	off := skew.Abs()
	check := Check{ID: "account.clock", Status: OK,
		Message: fmt.Sprintf("this machine's clock agrees with AWS's to %.0f s", max(off.Seconds(), 1))}
	if off > someSkew {
		way := "behind"
		if *skew < 0 {
			way = "ahead of"
		}
		check.Status, check.Message = Warning,
			fmt.Sprintf("this machine's clock is %s %s AWS's", off.Round(time.Second), way)
		check.Advice = "set the clock by NTP: AWS refuses calls whose time is more than 5 minutes off"
	}
	if off > mostSkew {
		check.Status = Failure
	}
	d.report.add(check)
}

// partitions are what the names of regions begin with that are not in the
// partition "aws" (AWS General Reference, "Partitions").
var partitions = []struct{ prefix, partition string }{
	{"cn-", "aws-cn"}, {"us-gov-", "aws-us-gov"}, {"us-iso-", "aws-iso"}, {"us-isob-", "aws-iso-b"},
	{"eu-isoe-", "aws-iso-e"}, {"us-isof-", "aws-iso-f"}, {"eusc-", "aws-eusc"},
}

// partitionOf returns the partition that a region is in.
func partitionOf(region string) string {
	for _, p := range partitions {
		if strings.HasPrefix(region, p.prefix) {
			return p.partition
		}
	}
	return "aws"
}

// partition compares the partition of the credentials with those of the regions.
func (d *doctor) partition(account *Account) {
	check := Check{ID: "account.partition", Status: OK, Message: account.Partition + "; calls without a region go to " +
		account.Region}
	for _, region := range append([]string{account.Region}, d.Regions...) {
		if p := partitionOf(region); p != account.Partition {
			check.Status = Failure
			check.Message = fmt.Sprintf("the credentials are of partition %s, and region %s is in %s",
				account.Partition, region, p)
			check.Advice = "set AWS_REGION to a region of the partition, or use credentials of the other"
			break
		}
	}
	d.report.add(check)
}

// adviceOf says what to do about an error of a call.
func adviceOf(err error) string {
	var e *modules.Error
	errors.As(err, &e)
	switch {
	case e == nil:
		return "run this again; if it stays so, report it to the project"
	case strings.HasPrefix(e.Code, "ExpiredToken"), e.Code == "RequestExpired":
		return "the session has expired: log in again (aws sso login), or set new credentials"
	case e.Code == "InvalidClientTokenId", e.Code == "UnrecognizedClientException", e.Code == "InvalidAccessKeyId":
		return "AWS knows no such access key: correct it, or use the region of its partition"
	case e.Code == "SignatureDoesNotMatch", e.Code == "InvalidSignatureException", e.Code == "AuthFailure":
		return "correct the secret access key, or the clock if it is off; a region that is not enabled says the same"
	case e.Class == modules.Denied:
		return "allow the call in the policies of the identity and of the organization"
	case e.Class == modules.Throttled:
		return "wait a minute and run this again"
	case e.Code == "" && e.Class != modules.Invalid:
		return "check the network, a proxy, and AWS_ENDPOINT_URL if it is set"
	}
	return "run this again; if it stays so, report it to the project"
}
