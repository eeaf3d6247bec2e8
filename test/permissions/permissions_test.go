package permissions

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"iasql/internal/test/faultproxy"
	"iasql/internal/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

type document struct {
	Version   string
	Statement []struct {
		Sid, Effect string
		Action      []string
		Resource    any
	}
}

// policy runs engine iam-policy.
func policy(t *testing.T, args ...string) document {
	t.Helper()
	out, err := exec.Command(harness.Engine(), append([]string{"iam-policy"}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("engine iam-policy %s: %v: %s", strings.Join(args, " "), err, out)
	}
	var doc document
	if err := json.Unmarshal(out, &doc); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return doc
}

func (d document) actions() map[string]bool {
	all := map[string]bool{}
	for _, s := range d.Statement {
		for _, action := range s.Action {
			all[action] = true
		}
	}
	return all
}

// The documents are as IAM wants them.
func TestDocuments(t *testing.T) {
	t.Parallel()
	all, reads, some := policy(t), policy(t, "--read-only"),
		policy(t, "aws_ecs_fargate", "--assume-role", "arn:aws:iam::123456789012:role/engine")
	sids := map[string]bool{}
	for _, doc := range []document{all, reads, some} {
		clear(sids)
		if doc.Version != "2012-10-17" {
			t.Errorf("version %s", doc.Version)
		}
		for _, s := range doc.Statement {
			if sids[s.Sid] || !regexp.MustCompile(`^[A-Za-z0-9]+$`).MatchString(s.Sid) || s.Effect != "Allow" ||
				len(s.Action) == 0 || !slices.IsSorted(s.Action) || s.Resource == nil {
				t.Errorf("statement %+v", s)
			}
			sids[s.Sid] = true
			for _, action := range s.Action {
				if !regexp.MustCompile(`^[a-z0-9-]+:[A-Z][A-Za-z0-9]+$`).MatchString(action) {
					t.Errorf("action %s", action)
				}
			}
		}
	}
	for action := range reads.actions() {
		if _, name, _ := strings.Cut(action, ":"); !regexp.MustCompile(`^(BatchGet|Describe|Get|GET|List|Filter|Head)`).MatchString(name) {
			t.Errorf("reads may %s", action)
		}
	}
	if got := some.actions(); !sids["AwsIamRead"] || !sids["AwsEcsFargateWrite"] || sids["AwsS3Read"] ||
		!got["iam:PassRole"] || !got["sts:AssumeRole"] {
		t.Errorf("with dependencies: %v", sids)
	}
	if out, err := exec.Command(harness.Engine(), "iam-policy", "aws_sq").CombinedOutput(); err == nil ||
		strings.Count(string(out), "\n") > 1 || !strings.Contains(string(out), "aws_sqs") {
		t.Errorf("an unknown module: %v %s", err, out)
	}
}

// Every worked example settles with what the policy of its module allows, and
// an account in TRACK is read with what --read-only does.
func TestPoliciesSuffice(t *testing.T) {
	t.Parallel()
	// Other worlds' modules need no policy of AWS's.
	files, err := filepath.Glob("../../examples/modules/aws_*.sql")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		module := strings.TrimSuffix(filepath.Base(file), ".sql")
		t.Run(module, func(t *testing.T) {
			t.Parallel()
			w := harness.NewWorld(t)
			proxy := faultproxy.Start(t, w.AWS.Endpoint)
			w.Endpoint = proxy.URL
			var lock sync.Mutex
			refused := map[string]bool{}
			allow := func(doc document) {
				allowed := doc.actions()
				proxy.Set(func(c faultproxy.Call) faultproxy.Fault {
					for _, action := range needed(c) {
						if !allowed[action] {
							lock.Lock()
							refused[action] = true
							lock.Unlock()
							return faultproxy.Fault{Status: 403, Code: "AccessDenied",
								Message: "is not authorized to perform: " + action}
						}
					}
					return faultproxy.Fault{}
				})
			}
			t.Cleanup(func() {
				if len(refused) > 0 {
					t.Errorf("refused: %v", refused)
				}
			})
			args := []string{module}
			if module == "aws_account" { // its example has an account with a role
				args = append(args, "--assume-role", "arn:aws:iam::123456789012:role/engine")
			}
			allow(policy(t, args...))
			w.Serve()
			w.Install([]string{"us-east-1"}, module)
			if out, err := exec.Command("psql", "-X", "-v", "ON_ERROR_STOP=1", "--echo-queries", "-f", file,
				w.UserURL).CombinedOutput(); err != nil {
				t.Fatalf("%v:\n%s", err, out)
			}
			w.Settled()
			// What has gone with something else is gone at once, not late to show up.
			w.PSQL(`UPDATE iasql_settings SET value = '0 seconds' WHERE name = 'consistency_window'`,
				`INSERT INTO iasql_mode (mode) VALUES ('TRACK')`)
			allow(policy(t, append(args, "--read-only")...))
			w.PSQL(`SELECT iasql_sync_now()`)
			w.Settled()
		})
	}
}

// rest are the actions of the services that speak REST, by method and path (AWS
// Lambda, Amazon Route 53, Amazon CloudFront, Amazon OpenSearch Service, Amazon
// EKS, Amazon EFS and AWS AppSync API References; of API Gateway the actions are
// the methods).
var rest = []struct{ service, method, path, action string }{
	{"lambda", "GET", `/functions/?`, "ListFunctions"}, {"lambda", "POST", `/functions/?`, "CreateFunction"},
	{"lambda", "GET", `/functions/[^/]+`, "GetFunction"}, {"lambda", "DELETE", `/functions/[^/]+`, "DeleteFunction"},
	{"lambda", "PUT", `/functions/[^/]+/code`, "UpdateFunctionCode"},
	{"lambda", "PUT", `/functions/[^/]+/configuration`, "UpdateFunctionConfiguration"},
	{"lambda", "GET", `/functions/[^/]+/configuration`, "GetFunctionConfiguration"},
	{"lambda", "POST", `/functions/[^/]+/invocations`, "InvokeFunction"},
	{"lambda", "GET", `/tags/.+`, "ListTags"}, {"lambda", "POST", `/tags/.+`, "TagResource"},
	{"lambda", "DELETE", `/tags/.+`, "UntagResource"},
	{"lambda", "PUT", `/functions/[^/]+/concurrency`, "PutFunctionConcurrency"},
	{"lambda", "DELETE", `/functions/[^/]+/concurrency`, "DeleteFunctionConcurrency"},
	{"lambda", "GET", `/functions/[^/]+/code-signing-config`, "GetFunctionCodeSigningConfig"},
	{"lambda", "GET", `/functions/[^/]+/recursion-config`, "GetFunctionRecursionConfig"},
	{"lambda", "GET", `/functions/[^/]+/runtime-management-config`, "GetRuntimeManagementConfig"},
	{"lambda", "GET", `/functions/[^/]+/concurrency`, "GetFunctionConcurrency"},
	{"route53", "GET", `/hostedzone`, "ListHostedZones"}, {"route53", "POST", `/hostedzone`, "CreateHostedZone"},
	{"route53", "GET", `/hostedzone/[^/]+`, "GetHostedZone"},
	{"route53", "DELETE", `/hostedzone/[^/]+`, "DeleteHostedZone"},
	{"route53", "POST", `/hostedzone/[^/]+`, "UpdateHostedZoneComment"},
	{"route53", "GET", `/hostedzone/[^/]+/rrset`, "ListResourceRecordSets"},
	{"route53", "POST", `/hostedzone/[^/]+/rrset/?`, "ChangeResourceRecordSets"},
	{"route53", "POST", `/tags/hostedzone`, "ListTagsForResources"},
	{"route53", "POST", `/tags/hostedzone/[^/]+`, "ChangeTagsForResource"},
	{"route53", "GET", `/tags/hostedzone/[^/]+`, "ListTagsForResource"},
	{"route53", "POST", `/hostedzone/[^/]+/associatevpc`, "AssociateVPCWithHostedZone"},
	{"route53", "POST", `/hostedzone/[^/]+/disassociatevpc`, "DisassociateVPCFromHostedZone"},
	{"route53", "POST", `/hostedzone/[^/]+/features`, "UpdateHostedZoneFeatures"},
	{"route53", "GET", `/queryloggingconfig`, "ListQueryLoggingConfigs"},
	{"route53", "POST", `/queryloggingconfig`, "CreateQueryLoggingConfig"},
	{"route53", "DELETE", `/queryloggingconfig/[^/]+`, "DeleteQueryLoggingConfig"},
	{"cloudfront", "GET", `/distribution`, "ListDistributions"},
	{"cloudfront", "POST", `/distribution`, "CreateDistribution"},
	{"cloudfront", "GET", `/distribution/[^/]+`, "GetDistribution"},
	{"cloudfront", "DELETE", `/distribution/[^/]+`, "DeleteDistribution"},
	{"cloudfront", "GET", `/distribution/[^/]+/config`, "GetDistributionConfig"},
	{"cloudfront", "PUT", `/distribution/[^/]+/config`, "UpdateDistribution"},
	{"cloudfront", "GET", `/origin-access-control`, "ListOriginAccessControls"},
	{"cloudfront", "POST", `/origin-access-control`, "CreateOriginAccessControl"},
	{"cloudfront", "GET", `/origin-access-control/[^/]+`, "GetOriginAccessControl"},
	{"cloudfront", "DELETE", `/origin-access-control/[^/]+`, "DeleteOriginAccessControl"},
	{"cloudfront", "PUT", `/origin-access-control/[^/]+/config`, "UpdateOriginAccessControl"},
	{"cloudfront", "GET", `/tagging`, "ListTagsForResource"},
	{"cloudfront", "POST", `/tagging`, "TagResource"}, // or UntagResource, as the query tells
	{"apigateway", "GET", `/v2/.+`, "GET"}, {"apigateway", "POST", `/v2/.+`, "POST"},
	{"apigateway", "PATCH", `/v2/.+`, "PATCH"}, {"apigateway", "DELETE", `/v2/.+`, "DELETE"},
	{"es", "GET", `/domain`, "ListDomainNames"}, {"es", "POST", `/opensearch/domain-info`, "DescribeDomains"},
	{"es", "POST", `/opensearch/domain`, "CreateDomain"}, {"es", "GET", `/opensearch/domain/[^/]+`, "DescribeDomain"},
	{"es", "DELETE", `/opensearch/domain/[^/]+`, "DeleteDomain"},
	{"es", "POST", `/opensearch/domain/[^/]+/config`, "UpdateDomainConfig"},
	{"es", "POST", `/opensearch/upgradeDomain`, "UpgradeDomain"}, {"es", "GET", `/tags/?`, "ListTags"},
	{"es", "POST", `/tags`, "AddTags"}, {"es", "POST", `/tags-removal`, "RemoveTags"},
	{"eks", "GET", `/clusters`, "ListClusters"}, {"eks", "POST", `/clusters`, "CreateCluster"},
	{"eks", "GET", `/clusters/[^/]+`, "DescribeCluster"},
	{"eks", "DELETE", `/clusters/[^/]+`, "DeleteCluster"},
	{"eks", "POST", `/clusters/[^/]+/update-config`, "UpdateClusterConfig"},
	{"eks", "POST", `/clusters/[^/]+/updates`, "UpdateClusterVersion"},
	{"eks", "GET", `/clusters/[^/]+/node-groups`, "ListNodegroups"},
	{"eks", "POST", `/clusters/[^/]+/node-groups`, "CreateNodegroup"},
	{"eks", "GET", `/clusters/[^/]+/node-groups/[^/]+`, "DescribeNodegroup"},
	{"eks", "DELETE", `/clusters/[^/]+/node-groups/[^/]+`, "DeleteNodegroup"},
	{"eks", "POST", `/clusters/[^/]+/node-groups/[^/]+/update-config`, "UpdateNodegroupConfig"},
	{"eks", "POST", `/clusters/[^/]+/node-groups/[^/]+/update-version`, "UpdateNodegroupVersion"},
	{"eks", "POST", `/tags/.+`, "TagResource"}, {"eks", "DELETE", `/tags/.+`, "UntagResource"},
	{"elasticfilesystem", "GET", `/file-systems`, "DescribeFileSystems"},
	{"elasticfilesystem", "GET", `/file-systems/replication-configurations`, "DescribeReplicationConfigurations"},
	{"elasticfilesystem", "POST", `/file-systems`, "CreateFileSystem"},
	{"elasticfilesystem", "PUT", `/file-systems/[^/]+`, "UpdateFileSystem"},
	{"elasticfilesystem", "DELETE", `/file-systems/[^/]+`, "DeleteFileSystem"},
	{"elasticfilesystem", "GET", `/file-systems/[^/]+/lifecycle-configuration`, "DescribeLifecycleConfiguration"},
	{"elasticfilesystem", "PUT", `/file-systems/[^/]+/lifecycle-configuration`, "PutLifecycleConfiguration"},
	{"elasticfilesystem", "GET", `/file-systems/[^/]+/policy`, "DescribeFileSystemPolicy"},
	{"elasticfilesystem", "PUT", `/file-systems/[^/]+/policy`, "PutFileSystemPolicy"},
	{"elasticfilesystem", "DELETE", `/file-systems/[^/]+/policy`, "DeleteFileSystemPolicy"},
	{"elasticfilesystem", "GET", `/file-systems/[^/]+/backup-policy`, "DescribeBackupPolicy"},
	{"elasticfilesystem", "PUT", `/file-systems/[^/]+/backup-policy`, "PutBackupPolicy"},
	{"elasticfilesystem", "PUT", `/file-systems/[^/]+/protection`, "UpdateFileSystemProtection"},
	{"elasticfilesystem", "GET", `/mount-targets`, "DescribeMountTargets"},
	{"elasticfilesystem", "POST", `/mount-targets`, "CreateMountTarget"},
	{"elasticfilesystem", "DELETE", `/mount-targets/[^/]+`, "DeleteMountTarget"},
	{"elasticfilesystem", "GET", `/mount-targets/[^/]+/security-groups`, "DescribeMountTargetSecurityGroups"},
	{"elasticfilesystem", "PUT", `/mount-targets/[^/]+/security-groups`, "ModifyMountTargetSecurityGroups"},
	{"elasticfilesystem", "POST", `/resource-tags/.+`, "TagResource"},
	{"elasticfilesystem", "DELETE", `/resource-tags/.+`, "UntagResource"},
	{"appsync", "GET", `/v1/apis`, "ListGraphqlApis"}, {"appsync", "POST", `/v1/apis`, "CreateGraphqlApi"},
	{"appsync", "GET", `/v1/apis/[^/]+`, "GetGraphqlApi"},
	{"appsync", "GET", `/v1/apis/[^/]+/environmentVariables`, "GetGraphqlApiEnvironmentVariables"},
	{"appsync", "PUT", `/v1/apis/[^/]+/environmentVariables`, "PutGraphqlApiEnvironmentVariables"},
	{"appsync", "POST", `/v1/apis/[^/]+`, "UpdateGraphqlApi"},
	{"appsync", "DELETE", `/v1/apis/[^/]+`, "DeleteGraphqlApi"},
	{"appsync", "POST", `/v1/tags/.+`, "TagResource"}, {"appsync", "DELETE", `/v1/tags/.+`, "UntagResource"},
}

// buckets are the actions of S3 on buckets, by method and the query that names a
// subresource (Amazon S3 User Guide, "Required permissions for Amazon S3 API
// operations").
var buckets = []struct{ method, query, action string }{
	{"GET", "tagging", "GetBucketTagging"}, {"PUT", "tagging", "PutBucketTagging"},
	{"DELETE", "tagging", "PutBucketTagging"},
	{"GET", "policy", "GetBucketPolicy"}, {"PUT", "policy", "PutBucketPolicy"},
	{"DELETE", "policy", "DeleteBucketPolicy"},
	{"GET", "versioning", "GetBucketVersioning"}, {"PUT", "versioning", "PutBucketVersioning"},
	{"GET", "location", "GetBucketLocation"},
	{"GET", "website", "GetBucketWebsite"}, {"PUT", "website", "PutBucketWebsite"},
	{"DELETE", "website", "DeleteBucketWebsite"},
	{"GET", "publicAccessBlock", "GetBucketPublicAccessBlock"},
	{"PUT", "publicAccessBlock", "PutBucketPublicAccessBlock"},
	{"DELETE", "publicAccessBlock", "PutBucketPublicAccessBlock"},
	{"GET", "encryption", "GetEncryptionConfiguration"}, {"PUT", "encryption", "PutEncryptionConfiguration"},
	{"DELETE", "encryption", "PutEncryptionConfiguration"},
	{"GET", "cors", "GetBucketCORS"}, {"PUT", "cors", "PutBucketCORS"}, {"DELETE", "cors", "PutBucketCORS"},
	{"GET", "lifecycle", "GetLifecycleConfiguration"}, {"PUT", "lifecycle", "PutLifecycleConfiguration"},
	{"DELETE", "lifecycle", "PutLifecycleConfiguration"},
	{"GET", "logging", "GetBucketLogging"}, {"PUT", "logging", "PutBucketLogging"},
	{"GET", "notification", "GetBucketNotification"}, {"PUT", "notification", "PutBucketNotification"},
	{"GET", "ownershipControls", "GetBucketOwnershipControls"},
	{"PUT", "ownershipControls", "PutBucketOwnershipControls"},
	{"DELETE", "ownershipControls", "PutBucketOwnershipControls"},
	{"GET", "object-lock", "GetBucketObjectLockConfiguration"},
	{"PUT", "object-lock", "PutBucketObjectLockConfiguration"},
	{"GET", "replication", "GetReplicationConfiguration"}, {"PUT", "replication", "PutReplicationConfiguration"},
	{"DELETE", "replication", "PutReplicationConfiguration"},
	{"GET", "accelerate", "GetAccelerateConfiguration"}, {"PUT", "accelerate", "PutAccelerateConfiguration"},
	{"GET", "analytics", "GetAnalyticsConfiguration"}, {"PUT", "analytics", "PutAnalyticsConfiguration"},
	{"DELETE", "analytics", "PutAnalyticsConfiguration"},
	{"GET", "inventory", "GetInventoryConfiguration"}, {"PUT", "inventory", "PutInventoryConfiguration"},
	{"DELETE", "inventory", "PutInventoryConfiguration"},
	{"GET", "metrics", "GetMetricsConfiguration"}, {"PUT", "metrics", "PutMetricsConfiguration"},
	{"DELETE", "metrics", "PutMetricsConfiguration"},
	{"GET", "intelligent-tiering", "GetIntelligentTieringConfiguration"},
	{"PUT", "intelligent-tiering", "PutIntelligentTieringConfiguration"},
	{"DELETE", "intelligent-tiering", "PutIntelligentTieringConfiguration"},
	{"GET", "list-type", "ListBucket"}, {"HEAD", "", "ListBucket"}, {"PUT", "", "CreateBucket"},
	{"DELETE", "", "DeleteBucket"},
}

// needed returns the actions that a caller has to be allowed: what AWS checks,
// told from the call alone.
func needed(c faultproxy.Call) []string {
	method, uri, isREST := strings.Cut(c.Action, " ")
	service := map[string]string{"monitoring": "cloudwatch"}[c.Service]
	if service == "" {
		service = c.Service
	}
	if !isREST {
		list := []string{service + ":" + c.Action}
		if service == "ec2" && strings.HasPrefix(c.Action, "Create") && strings.Contains(c.Body, "TagSpecification.") {
			list = append(list, "ec2:CreateTags")
		}
		if service == "ec2" && strings.Contains(c.Body, "IamInstanceProfile.") || service == "ecs" &&
			regexp.MustCompile(`(?i)"(task|execution)RoleArn":`).MatchString(c.Body) {
			list = append(list, "iam:PassRole")
		}
		return list
	}
	u, err := url.Parse(uri)
	if err != nil {
		return []string{uri}
	}
	if service == "s3" {
		return []string{"s3:" + s3Action(method, u)}
	}
	for _, r := range rest {
		if r.service == service && r.method == method &&
			regexp.MustCompile(`^(/[0-9-]+)?`+r.path+`$`).MatchString(u.EscapedPath()) {
			list := []string{service + ":" + r.action}
			switch {
			case r.action == "CreateFunction":
				list = append(list, "iam:PassRole")
			case r.action == "CreateDistribution" && u.Query().Has("WithTags"):
				list = append(list, "cloudfront:TagResource")
			case service == "cloudfront" && u.Query().Get("Operation") == "Untag":
				list = []string{"cloudfront:UntagResource"}
			}
			return list
		}
	}
	return []string{fmt.Sprintf("%s:%s", service, c.Action)}
}

func s3Action(method string, u *url.URL) string {
	bucket, key, _ := strings.Cut(strings.TrimPrefix(u.EscapedPath(), "/"), "/")
	switch {
	case bucket == "":
		return "ListAllMyBuckets"
	case key != "" && (method == "GET" || method == "HEAD"):
		return "GetObject"
	case key != "" && method == "PUT":
		return "PutObject"
	case key != "" && method == "DELETE":
		return "DeleteObject"
	}
	for _, b := range buckets {
		if b.method == method && (b.query == "" || u.Query().Has(b.query)) {
			return b.action
		}
	}
	return method + " " + u.RequestURI()
}
