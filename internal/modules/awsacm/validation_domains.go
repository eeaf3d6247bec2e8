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
