package awsacm

import (
	"context"
	"maps"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// pageSize is the most results ListCertificates gives a page.
const pageSize = 1000

// newCertificate declares the table certificate. The limits are those of the page
// RequestCertificate of the ACM API Reference.
func newCertificate(c *aws.Clients) *declare.Resource {
	return declare.New(c, declare.Table[acmtypes.CertificateDetail]{
		Name: "certificate",
		Doc: "TLS certificates. Inserting a row requests one, which is issued once its domains are validated: " +
			"by the DNS records in domain_validation_records, which can be inserted into resource_record_set.",
		Service: declare.Service(acm.NewFromConfig),
		// ACM forgets its own idempotency tokens after an hour.
		Creation: modules.ByTag,
		Columns: []declare.Column{
			declare.ID("arn", "CertificateArn", "Its Amazon Resource Name (ARN); NULL until it is requested."),
			declare.Text("certificate_id", "CertificateArn",
				"The last part of the ARN.").Computed().As(declare.LastPart("/")),
			declare.Text("domain_name", "DomainName",
				"The domain it is for, such as www.example.com or *.example.com.").
				Required().CreateOnly().Same(strings.EqualFold).Length(1, 253),
			declare.Texts("subject_alternative_names", "SubjectAlternativeNames",
				"Further domains it is for, without domain_name.").
				CreateOnly().Unordered().EmptyIsNull().Check("NOT domain_name = ANY (subject_alternative_names)"),
			declare.Text("validation_method", "DomainValidationOptions[0].ValidationMethod",
				"How it is proven that the domains are one's own; DNS if left out. HTTP is for certificates that "+
					"CloudFront requests.").
				In("ValidationMethod").CreateOnly().OptionalComputed().OneOf("DNS", "EMAIL", "HTTP"),
			validationDomainsColumn(),
			declare.Text("key_algorithm", "KeyAlgorithm",
				"The algorithm of its key, such as RSA_2048 or EC_prime256v1; RSA_2048 if left out.").CreateOnly().
				OptionalComputed().As(algorithm),
			declare.Text("certificate_export", "Options.Export",
				"Whether it can be exported with its key: ENABLED, which costs, or DISABLED, if left out.").
				CreateOnly().OptionalComputed().OneOf("ENABLED", "DISABLED").Since(4),
			declare.Text("certificate_transparency_logging_preference",
				"Options.CertificateTransparencyLoggingPreference",
				"Whether it is put into the public logs of certificates: ENABLED, if left out, or DISABLED.").
				OptionalComputed().OneOf("ENABLED", "DISABLED").Since(4),
			declare.Text("certificate_type", "Type", "AMAZON_ISSUED, PRIVATE or IMPORTED.").Computed(),
			declare.Text("status", "Status",
				"PENDING_VALIDATION, ISSUED, INACTIVE, EXPIRED, VALIDATION_TIMED_OUT, REVOKED or FAILED.").Computed(),
			declare.Text("failure_reason", "FailureReason",
				"Why it could not be issued, such as DOMAIN_NOT_ALLOWED, if its status is FAILED.").Computed().Since(2),
			declare.Text("renewal_eligibility", "RenewalEligibility",
				"Whether ACM renews it by itself: ELIGIBLE or INELIGIBLE.").Computed(),
			declare.Bool("in_use", "", "Whether a load balancer or another AWS resource uses it, so that it cannot "+
				"be deleted.").Computed(),
			declare.Time("not_after", "NotAfter", "When it expires; NULL until it is issued."),
			declare.JSON("domain_validation_records", "DomainValidationOptions",
				`The DNS records that validate its domains: [{"domain": …, "name": …, "type": …, "value": …}]. AWS needs some seconds to tell them.`).
				Computed().Unordered().EmptyIsNull().As(validations),
			declare.Bool("dns_records", "",
				"Whether the records that validate it are put into the account's hosted zones, as rows of "+
					"resource_record_set (module aws_route53), when AWS tells them. "+
					"Set it in the INSERT. The rows stay when the certificate goes. AWS does not know of it.").Default(
				"false").Local().Since(3),
			declare.Tags("Tags", (*acm.Client).AddTagsToCertificate,
				(*acm.Client).RemoveTagsFromCertificate).From(
				declare.Call((*acm.Client).ListTagsForCertificate)).Together("acm", "arn"),
		},

		Checks: []string{"validation_domains IS NULL OR validation_method = 'EMAIL'"},
		Published: declare.Published{Type: "AWS::CertificateManager::Certificate", Since: 4,
			Columns: map[string]string{"DomainValidationOptions": "dns_records"},
			Docs: map[string]string{"CertificateAuthorityArn": "The ARN of the private certificate authority that " +
				"issues it; NULL: Amazon's public one does."},
		},

		// Left to itself, ListCertificates tells only of those with RSA keys of up to
		// 2048 bits.
		EventMappings: modules.EventMappings("acm.amazonaws.com",
			modules.Response("certificateArn", "ImportCertificate"),
			modules.Request("certificateArn", "UpdateCertificateOptions", "RenewCertificate"),
		),
		List: declare.Pages(acm.NewListCertificatesPaginator, "CertificateSummaryList",
			declare.With(&acm.ListCertificatesInput{
				MaxItems: awssdk.Int32(pageSize),
				Includes: &acmtypes.Filters{KeyTypes: acmtypes.KeyAlgorithm("").Values()},
			})).Names("arn", "CertificateArn"),
		Get: declare.One(declare.Call((*acm.Client).DescribeCertificate), "Certificate"),
		Row: func(_ context.Context, _ *declare.Step, c *acmtypes.CertificateDetail, row modules.Row) error {
			// AWS lists domain_name among them
			others := slices.DeleteFunc(slices.Clone(c.SubjectAlternativeNames), func(name string) bool {
				return strings.EqualFold(name, awssdk.ToString(c.DomainName))
			})
			row["subject_alternative_names"], row["in_use"] = modules.Null, modules.Bool(len(c.InUseBy) > 0)
			if len(others) > 0 {
				row["subject_alternative_names"] = modules.Strings(others)
			}
			return nil
		},
		Create: declare.Call((*acm.Client).RequestCertificate,
			declare.With(&acm.RequestCertificateInput{ValidationMethod: acmtypes.ValidationMethodDns}),
			declare.Edit(ofItsDomains)),
		Updates: []declare.Update{declare.Modify(declare.Call((*acm.Client).UpdateCertificateOptions),
			"certificate_transparency_logging_preference")},
		Delete: declare.Call((*acm.Client).DeleteCertificate),
		// While its status is PENDING_VALIDATION it waits for somebody's DNS, but only once
		// AWS tells the records, which takes some seconds (page RequestCertificate).
		Unready: func(have modules.Row) bool {
			return have["status"].String() == string(acmtypes.CertificateStatusPendingValidation) &&
				have["domain_validation_records"].IsNull() &&
				have["validation_method"].String() != string(acmtypes.ValidationMethodEmail)
		},
		Failed: declare.In("status", string(acmtypes.CertificateStatusFailed)).Because("failure_reason"),
	})
}

// algorithm reads RSA-2048, which answers say, as RSA_2048, which requests do.
var algorithm = declare.Reads(func(member any) (modules.Value, error) {
	return modules.NonEmpty(strings.ReplaceAll(string(member.(acmtypes.KeyAlgorithm)), "-", "_")), nil
})

// validation is one of the DNS records that validate a certificate's domains.
type validation struct {
	Domain string `json:"domain"`
	Name   string `json:"name"`
	Type   string `json:"type"`
	Value  string `json:"value"`
}

// validations reads the DNS records that validate a certificate's domains.
var validations = declare.Codec{Decode: func(member any) (modules.Value, error) {
	var records []validation
	for _, v := range member.([]acmtypes.DomainValidation) {
		if record := v.ResourceRecord; record != nil {
			records = append(records, validation{
				awssdk.ToString(v.DomainName), awssdk.ToString(record.Name), string(record.Type),
				awssdk.ToString(record.Value),
			})
		}
	}
	if len(records) == 0 {
		return modules.Null, nil
	}
	slices.SortFunc(records, func(a, b validation) int { return strings.Compare(a.Domain, b.Domain) })
	return modules.JSON(records)
}}

// validationDomainsColumn says to which domains the mails go that ask whether a certificate may be issued.
func validationDomainsColumn() declare.Column {
	return declare.JSON("validation_domains", "DomainValidationOptions",
		`Where validation_method is EMAIL: to which domain above it the mails for a domain go: {"testing.example.com": "example.com"}. One that is left out gets its own.`).
		CreateOnly().OptionalComputed().EmptyIsNull().Check("jsonb_typeof(validation_domains) = 'object'").
		Check("NOT jsonb_path_exists(validation_domains, '$.keyvalue() ? (@.key == @.value)')").
		As(validationDomains).Same(sameValidationDomains).Since(5)
}

var validationDomains = declare.Codec{
	Decode: func(member any) (modules.Value, error) {
		domains := map[string]string{}
		for _, v := range member.([]acmtypes.DomainValidation) {
			if v.ValidationMethod == acmtypes.ValidationMethodEmail && v.ValidationDomain != nil &&
				!strings.EqualFold(awssdk.ToString(v.DomainName), *v.ValidationDomain) {
				domains[awssdk.ToString(v.DomainName)] = *v.ValidationDomain
			}
		}
		if len(domains) == 0 {
			return modules.Null, nil
		}
		return modules.JSON(domains)
	},
	Encode: func(v modules.Value) (any, error) {
		domains, err := validationDomainsOf(v)
		var options []acmtypes.DomainValidationOption
		for _, domain := range slices.Sorted(maps.Keys(domains)) {
			options = append(options, acmtypes.DomainValidationOption{
				DomainName: awssdk.String(domain), ValidationDomain: awssdk.String(domains[domain])})
		}
		return options, err
	},
}

// validationDomainsOf returns where the mails of domains go, without those that go to the domain itself.
func validationDomainsOf(v modules.Value) (map[string]string, error) {
	domains := map[string]string{}
	if err := aws.ParseDocument("validation_domains", v, &domains); err != nil {
		return nil, err
	}
	others := map[string]string{}
	for domain, to := range domains {
		if !strings.EqualFold(domain, to) {
			others[strings.ToLower(domain)] = strings.ToLower(to)
		}
	}
	return others, nil
}

func sameValidationDomains(a, b string) bool {
	x, err := validationDomainsOf(modules.Text(a))
	y, failed := validationDomainsOf(modules.Text(b))
	if err != nil || failed != nil {
		return a == b
	}
	return maps.Equal(x, y)
}

// ofItsDomains leaves out the domains that the certificate is not for: a successor has others than the certificate for
// which AWS told them.
func ofItsDomains(_ context.Context, s *declare.Step, in *acm.RequestCertificateInput) error {
	names := append(s.Want["subject_alternative_names"].Strings(), s.Want["domain_name"].String())
	another := func(o acmtypes.DomainValidationOption) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, *o.DomainName) })
	}
	in.DomainValidationOptions = slices.DeleteFunc(in.DomainValidationOptions, another)
	return nil
}
