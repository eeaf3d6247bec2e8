package awsacm

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/acm"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

func certificateResults(status string) []modules.Result {
	return []modules.Result{
		{Name: "arn", Type: modules.TypeText, Doc: "The certificate's Amazon Resource Name (ARN)."},
		{Name: "status", Type: modules.TypeText, Doc: "Its status: " + status + "."},
		{Name: "message", Type: modules.TypeText, Doc: "What has been done."},
	}
}

func certificateResult(arn *string, status, message string) []modules.Row {
	return []modules.Row{{"arn": modules.TextPtr(arn), "status": modules.Text(status),
		"message": modules.Text(message)}}
}

// here describes the parameter region where IaSQL has it: before options.
func here() modules.Parameter {
	return modules.Parameter{Name: modules.ColumnRegion, Type: modules.TypeText, Default: "public.default_aws_region()",
		Names: modules.ColumnRegion,
		Doc:   "The region; the default one if left out."}
}

// options reads a parameter of options, for which "" means none.
func options(v modules.Value, into any) error {
	if strings.TrimSpace(v.String()) == "" {
		return nil
	}
	return aws.ParseDocument("options", v, into)
}

// importCertificate is the function certificate_import.
func importCertificate(c *aws.Clients) *modules.Function {
	return &modules.Function{
		Name: "certificate_import",
		Doc: "Imports a certificate of one's own. Its row appears a moment later. The private key is kept nowhere " +
			"but in AWS.",
		Sample: `SELECT arn FROM certificate_import('-----BEGIN CERTIFICATE-----…', '-----BEGIN PRIVATE KEY-----…')`,
		Table:  "certificate",
		Right:  "INSERT",
		Parameters: []modules.Parameter{
			{Name: "certificate", Type: modules.TypeText, Doc: "The certificate, in PEM."},
			{Name: "private_key", Type: modules.TypeText, Doc: "Its private key, in PEM, without a password."},
			here(),
			{Name: "options", Type: modules.TypeText, Default: "''",
				Doc: `A JSON object: {"chain": "the certificates of the authorities, in PEM", "arn": "of the imported certificate that it replaces"}.`},
		},
		Returns: certificateResults("ISSUED"),
		Call: func(ctx context.Context, i modules.Invocation) ([]modules.Row, error) {
			c, scope, args := c.Permitted(i.Permit), i.Scope, i.Arguments
			var o struct {
				Chain string  `json:"chain"`
				ARN   *string `json:"arn"`
			}
			if err := options(args["options"], &o); err != nil {
				return nil, err
			}
			client, err := declare.Client(ctx, c, scope, acm.NewFromConfig)
			if err != nil {
				return nil, err
			}
			in := &acm.ImportCertificateInput{
				Certificate: []byte(args["certificate"].String()), PrivateKey: []byte(args["private_key"].String()),
				CertificateArn: o.ARN,
			}
			if o.Chain != "" {
				in.CertificateChain = []byte(o.Chain)
			}
			out, err := client.ImportCertificate(ctx, in)
			if err != nil {
				return nil, err
			}
			return certificateResult(out.CertificateArn, string(acmtypes.CertificateStatusIssued),
				"Imported the certificate successfully"), nil
		},
	}
}

// requestCertificate is the function certificate_request.
func requestCertificate(c *aws.Clients) *modules.Function {
	return &modules.Function{
		Name: "certificate_request",
		Doc: "Requests a certificate, as inserting a row into certificate does. Its row appears a moment later, with " +
			"the DNS records that validate it. " +
			"(IaSQL made and removed these records itself; a certificate whose records stay is renewed by AWS.)",
		Sample: `SELECT arn FROM certificate_request('www.example.com')`,
		Table:  "certificate",
		Right:  "INSERT",
		Parameters: []modules.Parameter{
			{Name: "domain_name", Type: modules.TypeText, Doc: "The domain."},
			{Name: "validation_method", Type: modules.TypeText, Default: "'DNS'", Doc: "DNS or EMAIL."},
			here(),
			{Name: "options", Type: modules.TypeText, Default: "''",
				Doc: `A JSON object: {"subjectAlternativeNames": ["example.com"], "arn": "of a private certificate authority"}.`},
			{Name: "tags", Type: modules.TypeJSON, Default: "NULL", Doc: "Its tags."},
		},
		Returns: certificateResults("PENDING_VALIDATION"),
		Call: func(ctx context.Context, i modules.Invocation) ([]modules.Row, error) {
			c, scope, args := c.Permitted(i.Permit), i.Scope, i.Arguments
			var o struct {
				Names []string `json:"subjectAlternativeNames"`
				ARN   *string  `json:"arn"`
			}
			if err := options(args["options"], &o); err != nil {
				return nil, err
			}
			client, err := declare.Client(ctx, c, scope, acm.NewFromConfig)
			if err != nil {
				return nil, err
			}
			in := &acm.RequestCertificateInput{
				DomainName: args["domain_name"].Ptr(), SubjectAlternativeNames: o.Names, CertificateAuthorityArn: o.ARN,
			}
			if o.ARN == nil {
				in.ValidationMethod = acmtypes.ValidationMethod(args["validation_method"].String())
			}
			for key, value := range aws.TagsOf(args, "") {
				in.Tags = append(in.Tags, acmtypes.Tag{Key: &key, Value: &value})
			}
			out, err := client.RequestCertificate(ctx, in)
			if err != nil {
				return nil, err
			}
			return certificateResult(out.CertificateArn, string(acmtypes.CertificateStatusPendingValidation),
				"SELECT domain_validation_records FROM certificate tells the DNS records that validate it; by EMAIL "+
					"AWS sends what to do"), nil
		},
	}
}
