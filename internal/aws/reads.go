package aws

import (
	"slices"
	"strings"
	"unicode"
)

// readVerbs are the first words of operations that only read. AWS names its
// operations by this convention; IAM's access level "Read"/"List" follows it
// (Service Authorization Reference), with the exceptions below. AssumeRole
// changes nothing: it is how the engine logs in.
var readVerbs = []string{"Get", "List", "Describe", "Head", "BatchGet", "Lookup", "Search", "Scan", "Query",
	"AssumeRole"}

// notReads are operations that are named like reads and change something, or
// hand out credentials, which the engine has no reason to ask for.
var notReads = []string{
	"BatchGetSecretValue",                       // Secrets Manager: secrets
	"GetAuthorizationToken",                     // ECR, CodeArtifact: credentials
	"GetClusterCredentials",                     // Redshift: credentials; creates the user with AutoCreate
	"GetClusterCredentialsWithIAM",              // Redshift: credentials
	"GetCredentials",                            // Redshift Serverless: credentials
	"GetCredentialsForIdentity",                 // Cognito: credentials
	"GetDelegatedAccessToken",                   // STS: credentials
	"GetFederationToken",                        // STS, Connect: credentials
	"GetId",                                     // Cognito: creates the identity
	"GetInstanceAccessDetails",                  // Lightsail: keys
	"GetOpenIdToken",                            // Cognito: credentials
	"GetOpenIdTokenForDeveloperIdentity",        // Cognito: creates the identity
	"GetPasswordData",                           // EC2: a password
	"GetRelationalDatabaseMasterUserPassword",   // Lightsail: a password
	"GetRoleCredentials",                        // SSO: credentials
	"GetSecretValue",                            // Secrets Manager: secrets
	"GetSessionToken",                           // STS: credentials
	"GetVpnConnectionDeviceSampleConfiguration", // EC2: pre-shared keys
	"GetWebIdentityToken",                       // STS: credentials
}

// alsoReads are operations that only read and are not named like it.
var alsoReads = []string{
	"FilterLogEvents", // CloudWatch Logs
}

// IsRead reports whether an API operation is known to change nothing and to
// hand out no credentials. Everything unknown is taken for a mutation.
func IsRead(action string) bool {
	if slices.Contains(notReads, action) {
		return false
	}
	if slices.Contains(alsoReads, action) {
		return true
	}
	for _, verb := range readVerbs {
		rest, ok := strings.CutPrefix(action, verb)
		// The verb must end there: "Getaway" is no Get.
		if ok && (rest == "" || unicode.IsUpper(rune(rest[0]))) {
			return true
		}
	}
	return false
}
