package awsacm

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"

	"iasql/internal/modules"
	"iasql/internal/test/awstest"
)

// A request says to which domains the mails go, of its own domains alone. moto does not keep them.
func TestValidationDomains(t *testing.T) {
	t.Parallel()
	var sent struct {
		DomainValidationOptions []struct{ DomainName, ValidationDomain string }
		ValidationMethod        string
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewDecoder(r.Body).Decode(&sent)
		fmt.Fprint(w, `{"CertificateArn": "arn:aws:acm:us-east-1:123456789012:certificate/1"}`)
	}))
	t.Cleanup(server.Close)
	want := modules.Row{"domain_name": modules.Text("a.example.com"), "validation_method": modules.Text("EMAIL"),
		"validation_domains": modules.Text(`{"a.example.com": "example.com", "gone.example.com": "example.com", "example.com": "example.com"}`)}
	if _, err := awstest.Create(t.Context(), newCertificate(awstest.Fake(server.URL)), awstest.Permit(),
		awstest.Scope("us-east-1"), want, "token"); err != nil {
		t.Fatal(err)
	}
	if len(sent.DomainValidationOptions) != 1 || sent.DomainValidationOptions[0].DomainName != "a.example.com" ||
		sent.DomainValidationOptions[0].ValidationDomain != "example.com" || sent.ValidationMethod != "EMAIL" {
		t.Errorf("sent %+v", sent)
	}

	read := func(method acmtypes.ValidationMethod) string {
		v, err := validationDomains.Decode([]acmtypes.DomainValidation{
			{DomainName: awssdk.String("a.example.com"), ValidationDomain: awssdk.String("example.com"), ValidationMethod: method},
			{DomainName: awssdk.String("b.example.com"), ValidationDomain: awssdk.String("b.example.com"), ValidationMethod: method}})
		if err != nil {
			t.Fatal(err)
		}
		return v.String()
	}
	if got := read("DNS"); got != "" {
		t.Errorf("without mails: %s", got)
	}
	if got := read("EMAIL"); !sameValidationDomains(got, `{"A.example.com": "Example.com"}`) ||
		sameValidationDomains(got, `{}`) || sameValidationDomains(got, `{"b.example.com": "example.com"}`) {
		t.Errorf("with mails: %s", got)
	}
}
