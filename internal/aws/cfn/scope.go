package cfn

import "strings"

// globals are the services whose objects belong to an account and to no region, by where
// Cloud Control reaches them ("" for the region that the account's calls go to by default,
// since every region answers alike). The schemas do not say it. Sources: "Service endpoints
// and quotas" (AWS General Reference), the pages of these services.
var globals = map[string]string{
	"AWS::AccountManagement":          "us-east-1",
	"AWS::BCMDataExports":             "us-east-1",
	"AWS::Billing":                    "us-east-1",
	"AWS::BillingConductor":           "us-east-1",
	"AWS::Budgets":                    "us-east-1",
	"AWS::CE":                         "us-east-1",
	"AWS::CloudFront":                 "us-east-1",
	"AWS::CUR":                        "us-east-1",
	"AWS::FMS":                        "us-east-1",
	"AWS::GlobalAccelerator":          "us-west-2",
	"AWS::IAM":                        "us-east-1",
	"AWS::Invoicing":                  "us-east-1",
	"AWS::NetworkManager":             "us-west-2",
	"AWS::Organizations":              "us-east-1",
	"AWS::Route53":                    "us-east-1",
	"AWS::Route53RecoveryControl":     "us-west-2",
	"AWS::Route53RecoveryReadiness":   "us-west-2",
	"AWS::Shield":                     "us-east-1",
	"AWS::SupportApp":                 "us-east-1",
	"AWS::ECR::PublicRepository":      "us-east-1",
	"AWS::S3::MultiRegionAccessPoint": "us-west-2",
}

// Global reports whether the objects of a type belong to no region.
func Global(typeName string) bool {
	_, ok := home(typeName)
	return ok
}

// Home returns the region in which the objects of a type are reached that belong to none.
func Home(typeName string) string {
	region, _ := home(typeName)
	return region
}

func home(typeName string) (string, bool) {
	if region, ok := globals[typeName]; ok {
		return region, true
	}
	region, ok := globals[typeName[:max(0, strings.LastIndex(typeName, "::"))]]
	return region, ok
}
