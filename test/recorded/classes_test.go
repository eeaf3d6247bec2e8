package recorded

import (
	"strings"

	"iasql/internal/modules"
)

// documented are the classes that the codes of errors have by what AWS documents
// of them: in the section Errors of the pages of a service's operations, in
// "Common Errors" of its API reference, and for S3 in "Error responses". A code is
// named with the folder of its recordings.
var documented = []struct {
	class modules.Class
	codes string
}{
	{modules.NotFound, `
		apigateway:NotFoundException apigateway:NoSuchKey cloudwatch:ResourceNotFound dynamodb:ResourceNotFoundException
		events:ResourceNotFoundException iam:NoSuchEntity kms:NotFoundException lambda_:ResourceNotFoundException
		lambda_:CodeSigningConfigNotFoundException lambda_:ProvisionedConcurrencyConfigNotFoundException logs:ResourceNotFoundException
		route53:NoSuchHostedZone s3:404 s3:NoSuchBucket s3:NoSuchBucketPolicy s3:NoSuchCORSConfiguration s3:NoSuchConfiguration
		s3:NoSuchKey s3:NoSuchLifecycleConfiguration s3:NoSuchObjectLockConfiguration s3:NoSuchPublicAccessBlockConfiguration
		s3:NoSuchTagSet s3:NoSuchUpload s3:NoSuchVersion s3:NoSuchWebsiteConfiguration s3:ObjectLockConfigurationNotFoundError
		s3:OwnershipControlsNotFoundError s3:ReplicationConfigurationNotFoundError s3:KMS.NotFoundException
		secretsmanager:ResourceNotFoundException sns:NotFound sqs:AWS.SimpleQueueService.NonExistentQueue sqs:ResourceNotFoundException`},
	{modules.Exists, `
		events:ResourceAlreadyExistsException logs:ResourceAlreadyExistsException s3:BucketAlreadyOwnedByYou
		secretsmanager:ResourceExistsException sqs:QueueAlreadyExists`},
	// Another change, or the state of something, is in the way.
	{modules.Dependency, `
		apigateway:ConflictException iam:DeleteConflict lambda_:ResourceConflictException lambda_:PreconditionFailedException
		kms:DisabledException kms:KMSInvalidStateException s3:KMS.DisabledException s3:KMS.KMSInvalidStateException s3:BucketNotEmpty s3:ConditionalRequestConflict s3:InvalidBucketState
		s3:InvalidObjectState s3:InvalidTargetBucketForLogging s3:PreconditionFailed s3:412`},
	{modules.Throttled, `lambda_:TooManyRequestsException`},
	{modules.Quota, `events:LimitExceededException kms:LimitExceededException logs:LimitExceededException`},
	{modules.Denied, `
		lambda_:AccessDeniedException logs:AccessDeniedException s3:403 s3:AccessDenied s3:CrossLocationLoggingProhibitted
		secretsmanager:AccessDeniedException`},
	{modules.Transient, `s3:InternalError`},
	{modules.Invalid, `
		apigateway:BadRequestException apigateway:SerializationException apigateway:ValidationException
		cloudwatch:InvalidParameterCombination cloudwatch:InvalidParameterValue cloudwatch:ValidationError
		dynamodb:ConditionalCheckFailedException dynamodb:ValidationException ec2:InvalidParameter ec2:MissingParameter
		events:InvalidEventPatternException events:ValidationException iam:InvalidInput iam:MalformedPolicyDocument iam:ValidationError
		kms:DryRunOperationException kms:IncorrectKeyException kms:InvalidCiphertextException kms:InvalidKeyUsageException
		kms:KMSInvalidMacException kms:KMSInvalidSignatureException kms:TagException kms:UnsupportedOperationException kms:ValidationException
		lambda_:InvalidParameterValueException lambda_:InvalidRequestContentException lambda_:RequestEntityTooLargeException
		lambda_:ValidationException logs:InvalidParameterException logs:ValidationException route53:InvalidVPCId
		s3:304 s3:400 s3:405 s3:BadDigest s3:EntityTooSmall s3:IdMismatch
		s3:IllegalLocationConstraintException s3:IllegalVersioningConfigurationException s3:InvalidArgument s3:InvalidBucketName
		s3:InvalidBucketOwnerAWSAccountID s3:InvalidDigest s3:InvalidEncryptionAlgorithmError s3:InvalidLocationConstraint s3:InvalidPart
		s3:InvalidPartNumber s3:InvalidPartOrder s3:InvalidRange s3:InvalidRequest s3:InvalidS3DestinationBucket s3:InvalidStorageClass
		s3:InvalidTag s3:MalformedACLError s3:MalformedPolicy s3:MalformedXML
		s3:MethodNotAllowed s3:MissingSecurityHeader s3:NotImplemented s3:UnexpectedContent
		secretsmanager:InvalidRequestException secretsmanager:ValidationException
		sns:BatchEntryIdsNotDistinct sns:BatchRequestTooLong sns:InvalidBatchEntryId sns:InvalidParameter sns:ParameterValueInvalid
		sns:TooManyEntriesInBatchRequest sns:ValidationError
		sqs:AWS.SimpleQueueService.BatchRequestTooLong sqs:AWS.SimpleQueueService.InvalidBatchEntryId
		sqs:AWS.SimpleQueueService.TooManyEntriesInBatchRequest sqs:InvalidAttributeName sqs:InvalidAttributeValue sqs:InvalidParameterValue
		sqs:MissingParameter sts:InvalidParameterValue sts:ValidationError`},
}

// otherwise are the errors that have another class than their code, by what their
// message says, and why.
var otherwise = []struct {
	code, message string
	class         modules.Class
	why           string
}{
	{"lambda_:InvalidParameterValueException", ".NotFound. EC2 Error Message:", modules.NotFound,
		"a subnet or a security group that Lambda does not see, or not yet"},
}

// present are errors that speak of something that does not exist and are not of the
// class NotFound, and why.
var present = []struct{ code, message, why string }{
	{"apigateway:BadRequestException", "", "of deployments and canaries, which no module has"},
	{"events:ValidationException", "Archive", "of archives, which no module has"},
	{"lambda_:InvalidParameterValueException", "S3 Error Code",
		"of code in S3, and functions get theirs from a zip file"},
	{"lambda_:InvalidParameterValueException", "Layer version", "of layers, which no module has"},
	{"lambda_:InvalidParameterValueException", "Function does not exist",
		"of event source mappings, which no module has"},
	{"logs:InvalidParameterException", "The given bucket does not exist", "of deliveries, which no module has"},
	{"s3:InvalidPart", "", "of uploads in parts, which no module makes"},
	{"s3:InvalidTargetBucketForLogging", "", "the bucket that another one logs to may be there later"},
}

// outside are errors that no reader or change of ours can meet, and why.
var outside = map[string]string{
	"sqs:AWS.SimpleQueueService.PurgeQueueInProgress": "of PurgeQueue, which no module calls",
}

// classes are the documented classes by code.
func classes() map[string]modules.Class {
	all := map[string]modules.Class{}
	for _, d := range documented {
		for code := range strings.FieldsSeq(d.codes) {
			all[code] = d.class
		}
	}
	return all
}

// expected returns the class of an error, false where nothing is known of its code.
func expected(all map[string]modules.Class, f failure) (modules.Class, bool) {
	code := f.folder + ":" + f.code
	for _, o := range otherwise {
		if o.code == code && strings.Contains(f.message, o.message) {
			return o.class, true
		}
	}
	class, known := all[code]
	return class, known
}
