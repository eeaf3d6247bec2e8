package declare

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/acm"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"

	"iasql/internal/modules"
)

// issuedLately is how long a certificate that has been issued may not be known to all of AWS.
const issuedLately = 10 * time.Minute

// Unissued tells a certificate that AWS has yet to issue, which is waited for, from one that cannot be used: services
// have one code for both, such as UnsupportedCertificate (page CreateListener of Elastic Load Balancing) and
// InvalidViewerCertificate (page CreateDistribution of CloudFront). A certificate that has just been issued may not be
// known everywhere. column has the certificate's ARN, and region is where it is, "" for that of the object. It is for
// [Failed].
func Unissued(code, column, region string) func(context.Context, *Step, error) error {
	return func(ctx context.Context, s *Step, err error) error {
		var e *modules.Error
		certificate := s.Want[column].Ptr()
		if !errors.As(err, &e) || e.Code != code || certificate == nil {
			return err
		}
		scope := s.Scope
		if region != "" {
			scope = modules.Scope{Account: s.Scope.Account, Region: region}
		}
		client, failed := Client(ctx, s.Clients, scope, acm.NewFromConfig)
		if failed != nil {
			return err
		}
		out, failed := client.DescribeCertificate(ctx, &acm.DescribeCertificateInput{CertificateArn: certificate})
		if failed != nil {
			return err
		}
		switch c := out.Certificate; c.Status {
		case acmtypes.CertificateStatusPendingValidation:
			return &modules.Error{Class: modules.Dependency, Code: e.Code, Err: err,
				Message: "waits until its certificate is issued, for which the records in the certificate's " +
					"domain_validation_records have to be in the DNS"}
		case acmtypes.CertificateStatusIssued:
			at := c.IssuedAt
			if at == nil {
				at = c.ImportedAt
			}
			if at != nil && time.Since(*at) < issuedLately {
				return &modules.Error{Class: modules.NotFound, Code: e.Code, Err: err, Message: e.Message}
			}
		}
		return err
	}
}
