package aws

import (
	"strings"

	"iasql/internal/modules"
)

// unprefixed are the prefixes that the same code has in one protocol and not
// in another.
var unprefixed = []string{"AWS.SimpleQueueService.", "Client.", "Server."}

// codes are the classes of API error codes that no pattern below tells.
//
// Sources: "Error codes for the Amazon EC2 API" (EC2 Developer Guide), "Error
// responses" (Amazon S3 API Reference), "Common Error Types" (Amazon SQS API
// Reference) and the Errors section of each operation.
var codes = map[string]modules.Class{
	// Asked to slow down: the request was turned away before it was looked at.
	"BandwidthLimitExceeded":                 modules.Throttled,
	"EC2ThrottledException":                  modules.Throttled,
	"PriorRequestNotComplete":                modules.Throttled,
	"ProvisionedThroughputExceededException": modules.Throttled,
	"RequestLimitExceeded":                   modules.Throttled,
	"RequestThrottled":                       modules.Throttled,
	"RequestThrottledException":              modules.Throttled,
	"SlowDown":                               modules.Throttled,
	"TooManyRequests":                        modules.Throttled,
	"TooManyRequestsException":               modules.Throttled,
	"TransactionInProgressException":         modules.Throttled,
	"APICallRateForCustomerExceeded":         modules.Throttled, // ElastiCache
	"APICallRateForCustomerExceededFault":    modules.Throttled, // MemoryDB
	"KMSThrottlingException":                 modules.Throttled, // Kinesis, of the KMS key that it uses
	"KMSThrottling":                          modules.Throttled, // SNS, likewise
	"KmsThrottled":                           modules.Throttled, // SQS, likewise

	// Not there.
	"NotFound":            modules.NotFound, // S3, answers to HEAD
	"NonExistentQueue":    modules.NotFound,
	"QueueDoesNotExist":   modules.NotFound,
	"Gateway.NotAttached": modules.NotFound,

	// There already.
	"BucketAlreadyOwnedByYou":    modules.Exists,
	"QueueNameExists":            modules.Exists,
	"ResourceExistsException":    modules.Exists, // Secrets Manager
	"QueueAlreadyExists":         modules.Exists,
	"InvalidSubnet.Conflict":     modules.Exists,
	"Resource.AlreadyAssociated": modules.Exists,
	"PipelineNameInUseException": modules.Exists, // CodePipeline
	// Elastic Load Balancing.
	"DuplicateListener":         modules.Exists,
	"DuplicateLoadBalancerName": modules.Exists,
	"DuplicateTargetGroupName":  modules.Exists,
	// Somebody else's: the name has to change, there is nothing to adopt.
	"BucketAlreadyExists": modules.Invalid,

	// Something else has to come or go first.
	"BucketNotEmpty":            modules.Dependency,
	"DeleteConflict":            modules.Dependency,
	"DeleteConflictException":   modules.Dependency,
	"DependencyViolation":       modules.Dependency,
	"IncorrectInstanceState":    modules.Dependency,
	"IncorrectState":            modules.Dependency,
	"OperationAborted":          modules.Dependency, // S3: a conflicting operation is in progress
	"OperationAbortedException": modules.Dependency, // CloudWatch Logs: likewise
	"ConcurrentAccess":          modules.Dependency, // SNS: likewise
	"QueueDeletedRecently":      modules.Dependency,
	"ResourceConflictException": modules.Dependency,
	"ResourceNotReady":          modules.Dependency,
	"VolumeInUse":               modules.Dependency,
	// A volume's earlier change is under way, or less than six hours old.
	"IncorrectModificationState":     modules.Dependency,
	"VolumeModificationRateExceeded": modules.Dependency,
	"InvalidBucketState":             modules.Dependency,
	"InvalidTargetBucketForLogging":  modules.Dependency, // it is not there yet, or lets nobody log into it
	// Caches: ElastiCache, and those with Fault at the end MemoryDB.
	"InvalidCacheClusterState":        modules.Dependency,
	"InvalidCacheParameterGroupState": modules.Dependency,
	"InvalidReplicationGroupState":    modules.Dependency,
	"InvalidClusterStateFault":        modules.Dependency,
	"InvalidParameterGroupStateFault": modules.Dependency,
	"InvalidACLStateFault":            modules.Dependency,
	// Auto Scaling: an activity or another change is under way.
	"ScalingActivityInProgress": modules.Dependency,
	"ResourceContention":        modules.Dependency,
	// CloudFront: another change came between reading and writing; the distribution is
	// not disabled everywhere yet; another distribution has the name and may give it up.
	"CNAMEAlreadyExists":      modules.Dependency,
	"DistributionNotDisabled": modules.Dependency,
	"InvalidIfMatchVersion":   modules.Dependency,
	"PreconditionFailed":      modules.Dependency,
	// Lambda: likewise, where a call names the revision that it changes (page
	// UpdateFunctionCode, Errors).
	"PreconditionFailedException": modules.Dependency,
	// The state of a KMS key is in the way: it is being made, or disabled, or has no
	// material yet (KMS Developer Guide, "Key states of AWS KMS keys"). It may change
	// with a record of its own. By the codes of KMS, of Kinesis and Lambda, of S3, of
	// SNS and of SQS (section Errors of SetQueueAttributes, for one).
	"DisabledException":            modules.Dependency,
	"KMSInvalidStateException":     modules.Dependency,
	"KMSDisabledException":         modules.Dependency,
	"KMS.DisabledException":        modules.Dependency,
	"KMS.KMSInvalidStateException": modules.Dependency,
	"KMSDisabled":                  modules.Dependency,
	"KMSInvalidState":              modules.Dependency,
	"KmsDisabled":                  modules.Dependency,
	"KmsInvalidState":              modules.Dependency,
	// S3: an archived object has to be restored first. The status is 403 ("Error
	// responses"), and nobody lacks a permission.
	"InvalidObjectState": modules.Dependency,
	// EKS: a role that it has made itself is not known everywhere yet.
	"ResourcePropagationDelayException": modules.Dependency,

	// Cloud Control: another operation on the object is under way; the same request is
	// being made with the same client token.
	"ConcurrentOperationException": modules.Dependency,
	"ClientTokenConflictException": modules.Dependency,
	// Neither says anything of an object.
	"TypeNotFoundException":         modules.Invalid,
	"RequestTokenNotFoundException": modules.Invalid,
	// What a handler has met ("Errors" of GetResource).
	"GeneralServiceException":     modules.Transient,
	"NotStabilizedException":      modules.Transient,
	"InvalidCredentialsException": modules.Denied,

	// Not allowed.
	"AccountProblem":                      modules.Denied,
	"AllAccessDisabled":                   modules.Denied,
	"AuthFailure":                         modules.Denied,
	"Blocked":                             modules.Denied,
	"ExpiredToken":                        modules.Denied,
	"ExpiredTokenException":               modules.Denied,
	"Forbidden":                           modules.Denied, // S3, answers to HEAD
	"IncompleteSignature":                 modules.Denied,
	"InvalidAccessKeyId":                  modules.Denied,
	"InvalidClientTokenId":                modules.Denied,
	"InvalidSecurity":                     modules.Denied,
	"InvalidSignatureException":           modules.Denied,
	"InvalidToken":                        modules.Denied,
	"MissingAuthenticationToken":          modules.Denied,
	"MissingAuthenticationTokenException": modules.Denied,
	"NotAuthorized":                       modules.Denied,
	"NotSignedUp":                         modules.Denied,
	"OptInRequired":                       modules.Denied,
	"RegionDisabledException":             modules.Denied,
	"RequestExpired":                      modules.Denied,
	"RequestTimeTooSkewed":                modules.Denied,
	"SignatureDoesNotMatch":               modules.Denied,
	"UnauthorizedOperation":               modules.Denied,
	"UnrecognizedClientException":         modules.Denied,
	"KMSAccessDeniedException":            modules.Denied, // Kinesis and Lambda, of the KMS key that they use
	"KMSAccessDenied":                     modules.Denied, // SNS, likewise
	"KmsAccessDenied":                     modules.Denied, // SQS, likewise

	// A limit of the account.
	"OverLimit":                     modules.Quota,
	"TooManyBuckets":                modules.Quota,
	"LimitExceededException":        modules.Quota,
	"ServiceQuotaExceededException": modules.Quota,
	"TooManyDistributions":          modules.Quota, // CloudFront
	"TooManyOriginAccessControls":   modules.Quota, // CloudFront

	// EC2 answers these with status 500, and has made nothing.
	"InsufficientAddressCapacity":          modules.Transient,
	"InsufficientCapacity":                 modules.Transient,
	"InsufficientHostCapacity":             modules.Transient,
	"InsufficientInstanceCapacity":         modules.Transient,
	"InsufficientReservedInstanceCapacity": modules.Transient,
	"InsufficientVolumeCapacity":           modules.Transient,
	"InsufficientFreeAddressesInSubnet":    modules.Dependency,
	// RDS: likewise, with status 400 (pages CreateDBInstance and CreateDBCluster, Errors).
	"InsufficientDBInstanceCapacity":     modules.Transient,
	"InsufficientDBClusterCapacityFault": modules.Transient,
	"InsufficientStorageClusterCapacity": modules.Transient,
	// ElastiCache and MemoryDB: likewise.
	"InsufficientCacheClusterCapacity": modules.Transient,
	"InsufficientClusterCapacityFault": modules.Transient,

	// The request was turned away, and will not be in a while: AWS looks at a new account, which takes up to four hours
	// (page "Error codes for the Amazon EC2 API"); another change of the same is under way.
	"PendingVerification":             modules.Dependency,
	"ConcurrentMutationLimitExceeded": modules.Throttled,
	"ConcurrentTagAccess":             modules.Dependency,
	"ConcurrentTagAccessException":    modules.Dependency,
	"StaleTag":                        modules.Dependency, // SNS: somebody else has just changed the tags
	"StaleTagException":               modules.Dependency,
	"InvalidStateTransition":          modules.Dependency, // a peering connection that is being made or accepted

	// No wait heals these, whatever their names have in common with others.
	"InvalidDBSubnetGroupFault": modules.Invalid,
	"DefaultVpcDoesNotExist":    modules.Invalid,
	"NoSuchOrigin":              modules.Invalid, // CloudFront: of those that the request itself has
	// S3, with status 501 ("Error responses"): nothing has happened, and nothing will
	// where a server does not have what the request asks for.
	"NotImplemented": modules.Invalid,

	// What it names may not be visible yet (see [modules.NotFound]).
	"InvalidSecurityGroup": modules.NotFound, // Elastic Load Balancing
}

// sayings are the classes of answers that only their text tells from others of
// the same code; "" stands for any code. A principal that a policy names is found
// a while after it was made ("IAM is eventually consistent": IAM User Guide,
// "Troubleshoot IAM").
var sayings = []struct {
	code, text string
	class      modules.Class
}{
	{"InvalidParameterCombination", "storage change is being optimized", modules.Dependency}, // RDS
	// ECS, which has just made it
	{"InvalidParameterException", "Unable to assume the service linked role", modules.Dependency},
	{"ValidationError", "AutoScalingGroup name not found", modules.NotFound}, // Auto Scaling
	// Lambda: the role, or what it may do, is not known everywhere yet. With its
	// rights Lambda makes network interfaces (Lambda Developer Guide, "Giving Lambda
	// functions access to resources in an Amazon VPC") and the grant of a key.
	{"InvalidParameterValueException", "cannot be assumed by Lambda", modules.Dependency},
	{"InvalidParameterValueException", "execution role does not have permissions", modules.Dependency},
	{"InvalidParameterValueException", "unable to configure access to your environment variables because",
		modules.Dependency},
	{"InvalidParameterValueException", "throttled by EC2", modules.Throttled},
	// Lambda, of the subnets and security groups that it is told: EC2 may not know new
	// ones everywhere yet ("Eventual consistency": EC2 Developer Guide).
	{"InvalidParameterValueException", ".NotFound. EC2 Error Message:", modules.NotFound},
	// The internet gateway is made and attached beside what needs it: public load
	// balancers (InvalidSubnet) and databases (InvalidVPCNetworkStateFault; AWS
	// CloudFormation User Guide, "DependsOn attribute", VPC-gateway attachment).
	{"", "has no internet gateway", modules.NotFound},
	// EC2, of a route to a gateway whose attachment is not known everywhere yet: CreateRoute.
	{"InvalidParameterValue", "belong to different networks", modules.NotFound},
	{"InvalidParameterValue", "is not attached", modules.NotFound},
	{"", "Too many concurrent attempts", modules.Throttled},                    // ECS
	{"MalformedPolicyDocument", "nvalid principal", modules.NotFound},          // IAM
	{"MalformedPolicyDocumentException", "nvalid principal", modules.NotFound}, // KMS, Secrets Manager
	{"MalformedPolicy", "nvalid principal", modules.NotFound},                  // S3
	{"InvalidParameter", "PrincipalNotFound", modules.NotFound},                // SNS
	{"InvalidParameterException", "rincipal not found", modules.NotFound},      // ECR
	// ECR, which names no principal
	{"InvalidParameterException", "nvalid repository policy", modules.NotFound},
	{"InvalidAttributeValue", "Invalid value for the parameter Policy", modules.NotFound}, // SQS
	{"InvalidParameterValue", "Invalid value for the parameter Policy", modules.NotFound},
}

// aboutCredentials are the codes of what is denied for the credentials' sake (IAM User
// Guide, "Troubleshooting"; "Common Errors" of the services' API references).
var aboutCredentials = []string{
	"AuthFailure", codeCredentials, "ExpiredToken", "ExpiredTokenException", "IncompleteSignature",
	"InvalidAccessKeyId", "InvalidClientTokenId",
	"InvalidSecurity", "InvalidSignatureException", "InvalidToken", "MissingAuthenticationToken",
	"MissingAuthenticationTokenException",
	"RequestExpired", "RequestTimeTooSkewed", "SignatureDoesNotMatch", "UnrecognizedClientException",
}

// patterns are the classes of families of codes, the first match counting.
var patterns = []struct {
	match func(code string) bool
	class modules.Class
}{
	{prefix("Throttl"), modules.Throttled}, // Throttling, ThrottlingException, ThrottledException
	{suffix("RateExceeded"), modules.Throttled},
	{prefix("AccessDenied"), modules.Denied},
	{prefix("NoSuch"), modules.NotFound},
	{contains("NotFound"), modules.NotFound}, // InvalidVpcID.NotFound, ResourceNotFoundException
	{contains("DoesNotExist"), modules.NotFound},
	{contains(".Duplicate"), modules.Exists},
	{contains("AlreadyExist"), modules.Exists},
	{contains("InUse"), modules.Dependency},    // ResourceInUseException, InvalidIPAddress.InUse
	{contains("NotEmpty"), modules.Dependency}, // RepositoryNotEmptyException, HostedZoneNotEmpty
	{contains(".IncorrectState"), modules.Dependency},
	{prefix("ConcurrentModification"), modules.Dependency},
	{prefix("ClusterContains"), modules.Dependency}, // ECS: ClusterContainsServicesException, …TasksException
	{prefix("InvalidDB"), modules.Dependency},       // RDS: InvalidDBInstanceState, InvalidDBSubnetGroupStateFault
	{contains("LimitExceeded"), modules.Quota},      // VpcLimitExceeded; RequestLimitExceeded is above
	{contains("QuotaExceeded"), modules.Quota},
	{contains("QuotaFor"), modules.Quota},         // ClusterQuotaForCustomerExceeded, NodeQuotaForClusterExceededFault
	{contains("AssociationLimit"), modules.Quota}, // Elastic Load Balancing
	{elbLimit, modules.Quota},
}

// elbLimit tells the codes of limits of Elastic Load Balancing, such as
// TooManyLoadBalancers. TooManyActions and TooManyTags are about one request.
func elbLimit(code string) bool {
	for _, of := range []string{"LoadBalancers", "TargetGroups", "UniqueTargetGroupsPerLoadBalancer", "Listeners",
		"Rules", "Targets", "RegistrationsForTargetId", "Certificates"} {
		if code == "TooMany"+of {
			return true
		}
	}
	return false
}

func prefix(p string) func(string) bool {
	return func(code string) bool { return strings.HasPrefix(code, p) }
}

func suffix(s string) func(string) bool {
	return func(code string) bool { return strings.HasSuffix(code, s) }
}

func contains(s string) func(string) bool {
	return func(code string) bool { return strings.Contains(code, s) }
}

// codeCredentials is the code of errors of the engine's own credentials, found
// before AWS was asked.
const codeCredentials = "Credentials"

// loginHint says what to do when there are no credentials to call with.
const loginHint = "set access_key_id and secret_access_key, role_arn or profile in aws_account, or give the engine " +
	"credentials through its environment"

// hints say what to do about codes whose own messages do not.
var hints = map[string]string{
	"ExpiredToken": "the session has expired: set new credentials in aws_account, or a role_arn, " +
		"which renews itself",
	"ExpiredTokenException": "the session has expired: set new credentials in aws_account, or a role_arn, " +
		"which renews itself",
	"RequestExpired": "the session has expired or the engine's clock is wrong: set new credentials in " +
		"aws_account, or correct the clock",
	"InvalidToken":                "set new credentials in aws_account",
	"InvalidClientTokenId":        "there is no such access key: correct access_key_id in aws_account",
	"InvalidAccessKeyId":          "there is no such access key: correct access_key_id in aws_account",
	"UnrecognizedClientException": "there is no such access key or session: correct the credentials in aws_account",
	"SignatureDoesNotMatch":       "correct secret_access_key in aws_account",
	"InvalidSignatureException":   "correct secret_access_key in aws_account",
	"AuthFailure": "correct the credentials in aws_account; if they are right, the region is not " +
		"enabled for the account",
	"RequestTimeTooSkewed": "correct the clock of the engine's machine",
	"OptInRequired":        "the account is not subscribed to the service, or the region is not enabled for it",
	"BucketAlreadyExists":  "another account has a bucket of that name: choose another",
	"BucketNotEmpty":       "the bucket must be emptied, of all versions of its objects, before it can be deleted",
	"QueueDeletedRecently": "the name of a deleted queue can be used again after 60 seconds",
}
