package awsacm

import (
	"context"
	"path"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// pageSize is the most results ListCertificates gives a page.
const pageSize = 1000

var acmTags = aws.TagType[acmtypes.Tag]{
	Split: func(t acmtypes.Tag) (key, value *string) { return t.Key, t.Value },
	Join:  func(key, value *string) acmtypes.Tag { return acmtypes.Tag{Key: key, Value: value} },
}

// certificate is the table certificate.
type certificate struct {
	clients     *aws.Clients
	description *modules.Table
}

func newCertificate(c *aws.Clients) *certificate {
	return &certificate{clients: c, description: describeCertificate()}
}

// The limits are those of the page RequestCertificate of the ACM API Reference.
func describeCertificate() *modules.Table {
	return &modules.Table{
		Name: "certificate",
		Doc: "TLS certificates. Inserting a row requests one, which is issued once its domains are validated: " +
			"by the DNS records in domain_validation_records, which can be inserted into resource_record_set.",
		Provider: aws.Provider,
		Reach:    modules.PerRegion,
		// ACM forgets its own idempotency tokens after an hour.
		Creation: modules.ByTag,
		Columns: aws.Regional(
			modules.Column{Name: "arn", Type: modules.TypeText, Identity: true, Assigned: true,
				Doc: "Its Amazon Resource Name (ARN); NULL until it is requested."},
			modules.Column{Name: "certificate_id", Type: modules.TypeText, Assigned: true,
				Doc: "The last part of the ARN."},
			modules.Column{Name: "domain_name", Type: modules.TypeText, Required: true, CreateOnly: true, Equal: strings.EqualFold,
				Check: "length(domain_name) BETWEEN 1 AND 253",
				Doc:   "The domain it is for, such as www.example.com or *.example.com."},
			modules.Column{Name: "subject_alternative_names", Type: modules.TypeTexts, CreateOnly: true, Unordered: true, EmptyIsNull: true,
				Check: "NOT domain_name = ANY (subject_alternative_names)",
				Doc:   "Further domains it is for, without domain_name."},
			modules.Column{Name: "validation_method", Type: modules.TypeText, CreateOnly: true, Chosen: true, Enum: []string{"DNS", "EMAIL", "HTTP"},
				Doc: "How it is proven that the domains are one's own; DNS if left out. HTTP is for certificates that CloudFront requests."},
			modules.Column{Name: "key_algorithm", Type: modules.TypeText, CreateOnly: true, Chosen: true,
				Doc: "The algorithm of its key, such as RSA_2048 or EC_prime256v1; RSA_2048 if left out."},
			modules.Column{Name: "certificate_type", Type: modules.TypeText, Assigned: true,
				Doc: "AMAZON_ISSUED, PRIVATE or IMPORTED."},
			modules.Column{Name: "status", Type: modules.TypeText, Assigned: true,
				Doc: "PENDING_VALIDATION, ISSUED, INACTIVE, EXPIRED, VALIDATION_TIMED_OUT, REVOKED or FAILED."},
			modules.Column{Name: "renewal_eligibility", Type: modules.TypeText, Assigned: true,
				Doc: "Whether ACM renews it by itself: ELIGIBLE or INELIGIBLE."},
			modules.Column{Name: "in_use", Type: modules.TypeBool, Assigned: true,
				Doc: "Whether a load balancer or another AWS resource uses it, so that it cannot be deleted."},
			modules.Column{Name: "not_after", Type: modules.TypeTime, Assigned: true,
				Doc: "When it expires; NULL until it is issued."},
			modules.Column{Name: "domain_validation_records", Type: modules.TypeJSON, Assigned: true, Unordered: true, EmptyIsNull: true,
				Doc: `The DNS records that validate its domains: [{"domain": …, "name": …, "type": …, "value": …}]. AWS needs some seconds to tell them.`},
			aws.TagsColumn(),
		),
	}
}

// Table returns the description.
func (r *certificate) Table() *modules.Table { return r.description }

func (r *certificate) client(ctx context.Context, scope modules.Scope) (*acm.Client, error) {
	return aws.Client(ctx, r.clients, scope, func(cfg awssdk.Config) *acm.Client { return acm.NewFromConfig(cfg) })
}

// List gives every certificate of the scope to page.
func (r *certificate) List(ctx context.Context, scope modules.Scope, page func([]modules.Row) error) error {
	client, err := r.client(ctx, scope)
	if err != nil {
		return err
	}
	return eachCertificate(ctx, client, func(arns []string) error {
		rows, err := aws.Read(ctx, arns, func(ctx context.Context, arn string) (modules.Row, error) {
			row, _, err := read(ctx, client, arn)
			return row, err
		})
		if err != nil {
			return err
		}
		return page(rows)
	})
}

// eachCertificate gives the ARNs of all certificates to page. Left to itself,
// ListCertificates tells only of those with RSA keys of up to 2048 bits.
func eachCertificate(ctx context.Context, client *acm.Client, page func(arns []string) error) error {
	return aws.Pages(ctx, acm.NewListCertificatesPaginator(client, &acm.ListCertificatesInput{
		MaxItems: awssdk.Int32(pageSize), Includes: &acmtypes.Filters{KeyTypes: acmtypes.KeyAlgorithm("").Values()},
	}), func(out *acm.ListCertificatesOutput) error {
		arns := make([]string, len(out.CertificateSummaryList))
		for i, c := range out.CertificateSummaryList {
			arns[i] = awssdk.ToString(c.CertificateArn)
		}
		return page(arns)
	})
}

// Get reads the certificates with these ARNs.
func (r *certificate) Get(ctx context.Context, scope modules.Scope, identities []modules.Row) ([]modules.Row, error) {
	client, err := r.client(ctx, scope)
	if err != nil {
		return nil, err
	}
	return aws.Read(ctx, identities, func(ctx context.Context, identity modules.Row) (modules.Row, error) {
		row, _, err := read(ctx, client, identity["arn"].String())
		return row, err
	})
}

// FindCreated returns the certificates that were requested with one of the
// tokens.
func (r *certificate) FindCreated(ctx context.Context, scope modules.Scope, tokens []string) (map[string]modules.Row, error) {
	client, err := r.client(ctx, scope)
	if err != nil {
		return nil, err
	}
	found := map[string]modules.Row{}
	err = eachCertificate(ctx, client, func(arns []string) error {
		tokenOf := make([]string, len(arns))
		index := make([]int, len(arns))
		for i := range index {
			index[i] = i
		}
		rows, err := aws.Read(ctx, index, func(ctx context.Context, i int) (row modules.Row, err error) {
			row, tokenOf[i], err = read(ctx, client, arns[i])
			return row, err
		})
		if err != nil {
			return err
		}
		for _, row := range rows {
			token := tokenOf[slices.Index(arns, row["arn"].String())]
			if slices.Contains(tokens, token) {
				found[token] = row
			}
		}
		return nil
	})
	return found, err
}

// read reads a certificate and its tags, and the token it was created with.
func read(ctx context.Context, client *acm.Client, arn string) (modules.Row, string, error) {
	var (
		described *acm.DescribeCertificateOutput
		tagged    *acm.ListTagsForCertificateOutput
	)
	err := aws.Together(ctx,
		func(ctx context.Context) (err error) {
			described, err = client.DescribeCertificate(ctx, &acm.DescribeCertificateInput{CertificateArn: &arn})
			return err
		},
		func(ctx context.Context) (err error) {
			tagged, err = client.ListTagsForCertificate(ctx, &acm.ListTagsForCertificateInput{CertificateArn: &arn})
			return err
		})
	if err != nil {
		return nil, "", err
	}
	row, err := certificateRow(*described.Certificate)
	if err != nil {
		return nil, "", err
	}
	row["tags"] = acmTags.Value(tagged.Tags)
	return row, acmTags.Map(tagged.Tags)[aws.TokenTag], nil
}

// validation is one of the DNS records that validate a certificate's domains.
type validation struct {
	Domain string `json:"domain"`
	Name   string `json:"name"`
	Type   string `json:"type"`
	Value  string `json:"value"`
}

func certificateRow(c acmtypes.CertificateDetail) (modules.Row, error) {
	row := modules.Row{
		"arn":                       modules.TextPtr(c.CertificateArn),
		"certificate_id":            modules.Text(path.Base(awssdk.ToString(c.CertificateArn))),
		"domain_name":               modules.TextPtr(c.DomainName),
		"subject_alternative_names": modules.Null,
		"validation_method":         modules.Null,
		// Requests say RSA_2048 and answers RSA-2048.
		"key_algorithm":             modules.NonEmpty(strings.ReplaceAll(string(c.KeyAlgorithm), "-", "_")),
		"certificate_type":          modules.NonEmpty(c.Type),
		"status":                    modules.NonEmpty(c.Status),
		"renewal_eligibility":       modules.NonEmpty(c.RenewalEligibility),
		"in_use":                    modules.Bool(len(c.InUseBy) > 0),
		"not_after":                 modules.TimePtr(c.NotAfter),
		"domain_validation_records": modules.Null,
	}
	var others []string
	for _, name := range c.SubjectAlternativeNames { // AWS lists domain_name among them
		if !strings.EqualFold(name, awssdk.ToString(c.DomainName)) {
			others = append(others, name)
		}
	}
	row["subject_alternative_names"] = modules.Strings(others)
	var records []validation
	for _, v := range c.DomainValidationOptions {
		row["validation_method"] = modules.NonEmpty(v.ValidationMethod)
		if record := v.ResourceRecord; record != nil {
			records = append(records, validation{
				awssdk.ToString(v.DomainName), awssdk.ToString(record.Name), string(record.Type), awssdk.ToString(record.Value),
			})
		}
	}
	if len(records) > 0 {
		slices.SortFunc(records, func(a, b validation) int { return strings.Compare(a.Domain, b.Domain) })
		var err error
		if row["domain_validation_records"], err = modules.JSON(records); err != nil {
			return nil, err
		}
	}
	return row, nil
}

// Create requests a certificate.
func (r *certificate) Create(ctx context.Context, scope modules.Scope, want modules.Row, token string) (modules.Row, error) {
	client, err := r.client(ctx, scope)
	if err != nil {
		return nil, err
	}
	in := &acm.RequestCertificateInput{
		DomainName:       want["domain_name"].Ptr(),
		ValidationMethod: acmtypes.ValidationMethodDns,
		KeyAlgorithm:     acmtypes.KeyAlgorithm(want["key_algorithm"].String()),
		Tags:             acmTags.List(aws.TagsOf(want, token)),
	}
	if method := want["validation_method"]; !method.IsNull() {
		in.ValidationMethod = acmtypes.ValidationMethod(method.String())
	}
	if names := want["subject_alternative_names"].Strings(); len(names) > 0 { // an empty list is refused
		in.SubjectAlternativeNames = names
	}
	out, err := client.RequestCertificate(ctx, in)
	if err != nil {
		return nil, err
	}
	return modules.Row{"arn": modules.TextPtr(out.CertificateArn)}, nil
}

// Update changes tags.
func (r *certificate) Update(ctx context.Context, scope modules.Scope, have, want modules.Row, columns []string) error {
	client, err := r.client(ctx, scope)
	if err != nil || !slices.Contains(columns, modules.ColumnTags) {
		return err
	}
	arn := have["arn"].Ptr()
	return aws.UpdateTags(ctx, have, want,
		func(ctx context.Context, tags map[string]string) error {
			_, err := client.AddTagsToCertificate(ctx, &acm.AddTagsToCertificateInput{CertificateArn: arn, Tags: acmTags.List(tags)})
			return err
		},
		func(ctx context.Context, keys []string) error {
			tags := make([]acmtypes.Tag, len(keys))
			for i := range keys {
				tags[i].Key = &keys[i] // without a value: whatever the value is
			}
			_, err := client.RemoveTagsFromCertificate(ctx, &acm.RemoveTagsFromCertificateInput{CertificateArn: arn, Tags: tags})
			return err
		})
}

// Delete deletes a certificate, which nothing may use.
func (r *certificate) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	client, err := r.client(ctx, scope)
	if err != nil {
		return err
	}
	_, err = client.DeleteCertificate(ctx, &acm.DeleteCertificateInput{CertificateArn: have["arn"].Ptr()})
	return aws.IfExists(err)
}
