package awss3

import (
	"context"
	"reflect"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// since is the version of the module that added the columns of a bucket's configurations.
const since = 6

// newly is what S3 encrypts the objects of a new bucket with (S3 User Guide, "Setting default server-side encryption
// behavior for Amazon S3 buckets").
const newly = `{"Rules": [{"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}, "BucketKeyEnabled": false}]}`

// configurations are the columns of what is configured of a bucket by calls of its own. Each is a document in the words
// of the API, which one call sets as a whole. A new bucket has none but what is said to be born with it.
func configurations() []declare.Column {
	lock := declare.Call((*s3.Client).GetObjectLockConfiguration,
		rarely("ObjectLockConfigurationNotFoundError")...)
	lifecycle := declare.Call((*s3.Client).GetBucketLifecycleConfiguration,
		rarely("NoSuchLifecycleConfiguration")...)
	configured := func(name, member, doc string, read *declare.Op) declare.Column {
		return declare.JSON(name, member, doc).From(read).EmptyIsNull().Born(modules.Null).Since(since)
	}
	return []declare.Column{
		configured("bucket_encryption", "ServerSideEncryptionConfiguration",
			"How S3 encrypts new objects that are not said to be encrypted otherwise. NULL: as AWS does, with its own "+
				`keys (AES256). Such as {"Rules": [{"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": "arn:…"}, "BucketKeyEnabled": true}]}.`,
			declare.Call((*s3.Client).GetBucketEncryption,
				rarely("ServerSideEncryptionConfigurationNotFoundError")...)).
			OptionalComputed().Same(sameEncryption).Born(born(newly)),
		configured("cors_configuration", "CORSRules",
			"Which pages of other sites may read the bucket from a browser: an array of rules (CORS).",
			declare.Call((*s3.Client).GetBucketCors, rarely("NoSuchCORSConfiguration")...)).
			In("CORSConfiguration.CORSRules").Same(sameRules[s3types.CORSRule](true, nil)),
		configured("lifecycle_configuration", "Rules",
			`When objects expire or move to another storage class: an array of rules, such as [{"ID": "logs", "Status": "Enabled", "Filter": {"Prefix": "logs/"}, "Expiration": {"Days": 30}}].`,
			lifecycle).As(structure[[]s3types.LifecycleRule](nil)).Same(sameRules[s3types.LifecycleRule](false, nil)),
		declare.Text("transition_default_minimum_object_size", "TransitionDefaultMinimumObjectSize",
			"From which size on lifecycle_configuration moves objects: all_storage_classes_128K, which is AWS's "+
				"default, or varies_by_storage_class. There is none without a lifecycle_configuration.").
			OneOf(declare.Values(s3types.TransitionDefaultMinimumObjectSize("").Values())...).
			OptionalComputed().From(lifecycle).Born(modules.Null).Since(since),
		configured("logging_configuration", "LoggingEnabled",
			`To which bucket S3 logs the requests for this one: {"TargetBucket": "logs", "TargetPrefix": "site/"}.`,
			declare.Call((*s3.Client).GetBucketLogging, rarely()...)).As(structure(func(l *s3types.LoggingEnabled) {
			if l.TargetPrefix == nil {
				l.TargetPrefix = awssdk.String("") // which AWS requires
			}
		})).
			In("BucketLoggingStatus.LoggingEnabled").Same(same[s3types.LoggingEnabled](nil)),
		configured("notification_configuration", "NotificationConfiguration",
			`What is told of events: {"QueueConfigurations": [{"QueueArn": "arn:…", "Events": ["s3:ObjectCreated:*"]}]}, TopicConfigurations, LambdaFunctionConfigurations, and "EventBridgeConfiguration": {} for EventBridge.`,
			notifications()).As(structure[s3types.NotificationConfiguration](nil)).Same(sameNotifications),
		configured("ownership_controls", "OwnershipControls.Rules",
			`Who owns objects that others upload: [{"ObjectOwnership": "BucketOwnerEnforced"}], as of new buckets, in which no access control lists count, BucketOwnerPreferred or ObjectWriter.`,
			declare.Call((*s3.Client).GetBucketOwnershipControls, rarely("OwnershipControlsNotFoundError")...)).
			OptionalComputed().Born(born(`[{"ObjectOwnership": "BucketOwnerEnforced"}]`)),
		declare.Bool("object_lock_enabled", "ObjectLockConfiguration.ObjectLockEnabled",
			"Whether versions of objects can be locked. Needs versioning_enabled. It cannot be turned off.").
			As(declare.Is("Enabled")).In("ObjectLockEnabledForBucket").OptionalComputed().Absent(modules.Bool(false)).
			From(lock).Born(modules.Bool(false)).Since(since),
		configured("object_lock_configuration", "ObjectLockConfiguration.Rule",
			`For how long new objects are locked by default: {"DefaultRetention": {"Mode": "GOVERNANCE", "Days": 7}}. Needs object_lock_enabled.`,
			lock).Same(same[s3types.ObjectLockRule](nil)),
		configured("replication_configuration", "ReplicationConfiguration",
			`Where objects are copied to, and by which role: {"Role": "arn:…", "Rules": […]}. Needs versioning_enabled.`,
			declare.Call((*s3.Client).GetBucketReplication, rarely("ReplicationConfigurationNotFoundError")...)).As(
			structure(func(c *s3types.ReplicationConfiguration) {
				for i := range c.Rules {
					//lint:ignore SA1019 A rule that has it may have no filter.
					if c.Rules[i].Filter == nil && c.Rules[i].Prefix == nil {
						c.Rules[i].Filter = &s3types.ReplicationRuleFilter{Prefix: awssdk.String("")} // all objects
					}
				}
			})).Same(sameReplication),
		declare.Text("accelerate_configuration", "Status",
			"Enabled: objects can be moved by way of CloudFront's locations (Transfer Acceleration). Suspended, as of "+
				"new buckets: they cannot.").
			In("AccelerateConfiguration.Status").OneOf("Enabled", "Suspended").OptionalComputed().
			Absent(modules.Text("Suspended")).Born(modules.Text("Suspended")).
			// which not every region has
			From(declare.Call((*s3.Client).GetBucketAccelerateConfiguration,
				rarely("MethodNotAllowed", "UnsupportedArgument")...)).Since(since),
		configured("analytics_configurations", "AnalyticsConfigurationList",
			`Of which objects S3 analyzes the accesses, by Id: [{"Id": "all", "StorageClassAnalysis": {}}].`,
			declare.Call((*s3.Client).ListBucketAnalyticsConfigurations, rarely()...)).
			As(converted(analyticsOf)).Unordered().Same(sameRules[analytics](false, nil)),
		configured("inventory_configurations", "InventoryConfigurationList",
			"Which lists of objects S3 writes, and to where, by Id.",
			declare.Call((*s3.Client).ListBucketInventoryConfigurations, rarely()...)).Unordered().
			Same(sameRules[s3types.InventoryConfiguration](false, nil)),
		configured("metrics_configurations", "MetricsConfigurationList",
			`For which objects CloudWatch has metrics of requests, by Id: [{"Id": "all"}].`,
			declare.Call((*s3.Client).ListBucketMetricsConfigurations, rarely()...)).
			As(converted(metricsOf)).Unordered().Same(sameRules[metrics](false, nil)),
		configured("intelligent_tiering_configurations", "IntelligentTieringConfigurationList",
			"Which objects of the class INTELLIGENT_TIERING are archived, and when, by Id.",
			declare.Call((*s3.Client).ListBucketIntelligentTieringConfigurations, rarely()...)).Unordered().
			Same(sameRules[s3types.IntelligentTieringConfiguration](false, nil)),
	}
}

// rarely are the options of a call that reads a configuration: which errors say that there is none of it. Most buckets
// are configured once, and each configuration takes a call for each bucket.
func rarely(none ...string) []declare.Option {
	return []declare.Option{declare.None(none...), declare.IfAllowed(), declare.Rarely()}
}

// born is a document of a new bucket.
func born(text string) modules.Value {
	v, err := modules.JSONText(text)
	if err != nil {
		panic(err) // it is a part of the program
	}
	return v
}

// notified is what a bucket tells of events, in the shape in which it is set.
type notified struct {
	NotificationConfiguration *s3types.NotificationConfiguration
}

func notifications() *declare.Op {
	return declare.Call(func(client *s3.Client, ctx context.Context, in *s3.GetBucketNotificationConfigurationInput,
		options ...func(*s3.Options)) (*notified, error) {
		out, err := client.GetBucketNotificationConfiguration(ctx, in, options...)
		if err != nil {
			return nil, err
		}
		return &notified{&s3types.NotificationConfiguration{
			EventBridgeConfiguration:     out.EventBridgeConfiguration,
			LambdaFunctionConfigurations: out.LambdaFunctionConfigurations,
			QueueConfigurations:          out.QueueConfigurations,
			TopicConfigurations:          out.TopicConfigurations,
		}}, nil
	}, rarely()...)
}

// configure are the updates of those columns.
func configure() []declare.Update {
	return []declare.Update{
		declare.Put("bucket_encryption", declare.Call((*s3.Client).PutBucketEncryption),
			declare.Call((*s3.Client).DeleteBucketEncryption)),
		declare.Put("cors_configuration", declare.Call((*s3.Client).PutBucketCors),
			declare.Call((*s3.Client).DeleteBucketCors)),
		declare.By(changeLifecycle, "lifecycle_configuration", "transition_default_minimum_object_size"),
		declare.Put("logging_configuration", declare.Call((*s3.Client).PutBucketLogging),
			declare.Call((*s3.Client).PutBucketLogging,
				declare.With(&s3.PutBucketLoggingInput{BucketLoggingStatus: &s3types.BucketLoggingStatus{}}))),
		declare.Put("notification_configuration", declare.Call((*s3.Client).PutBucketNotificationConfiguration),
			declare.Call((*s3.Client).PutBucketNotificationConfiguration,
				declare.With(&s3.PutBucketNotificationConfigurationInput{
					NotificationConfiguration: &s3types.NotificationConfiguration{}}))),
		declare.Put("ownership_controls", declare.Call((*s3.Client).PutBucketOwnershipControls),
			declare.Call((*s3.Client).DeleteBucketOwnershipControls)),
		declare.By(changeLock, "object_lock_enabled", "object_lock_configuration"),
		declare.Put("replication_configuration", declare.Call((*s3.Client).PutBucketReplication),
			declare.Call((*s3.Client).DeleteBucketReplication)),
		declare.Modify(declare.Call((*s3.Client).PutBucketAccelerateConfiguration), "accelerate_configuration"),
		eachByID("analytics_configurations", func(c analytics) *string { return c.Id },
			func(bucket *string, c analytics) *s3.PutBucketAnalyticsConfigurationInput {
				return &s3.PutBucketAnalyticsConfigurationInput{Bucket: bucket, Id: c.Id,
					AnalyticsConfiguration: c.configuration()}
			}, (*s3.Client).PutBucketAnalyticsConfiguration,
			declare.Call((*s3.Client).DeleteBucketAnalyticsConfiguration)),
		eachByID("inventory_configurations", func(c s3types.InventoryConfiguration) *string { return c.Id },
			func(bucket *string, c s3types.InventoryConfiguration) *s3.PutBucketInventoryConfigurationInput {
				return &s3.PutBucketInventoryConfigurationInput{Bucket: bucket, Id: c.Id, InventoryConfiguration: &c}
			}, (*s3.Client).PutBucketInventoryConfiguration,
			declare.Call((*s3.Client).DeleteBucketInventoryConfiguration)),
		eachByID("metrics_configurations", func(c metrics) *string { return c.Id },
			func(bucket *string, c metrics) *s3.PutBucketMetricsConfigurationInput {
				return &s3.PutBucketMetricsConfigurationInput{Bucket: bucket, Id: c.Id,
					MetricsConfiguration: c.configuration()}
			}, (*s3.Client).PutBucketMetricsConfiguration,
			declare.Call((*s3.Client).DeleteBucketMetricsConfiguration)),
		eachByID("intelligent_tiering_configurations",
			func(c s3types.IntelligentTieringConfiguration) *string { return c.Id },
			func(bucket *string,
				c s3types.IntelligentTieringConfiguration) *s3.PutBucketIntelligentTieringConfigurationInput {
				return &s3.PutBucketIntelligentTieringConfigurationInput{Bucket: bucket, Id: c.Id,
					IntelligentTieringConfiguration: &c}
			}, (*s3.Client).PutBucketIntelligentTieringConfiguration,
			declare.Call((*s3.Client).DeleteBucketIntelligentTieringConfiguration)),
	}
}

// changeLifecycle sets the rules and, with them, from which size on they move objects: a call that leaves that out
// makes it AWS's default.
func changeLifecycle(ctx context.Context, s *declare.Step) error {
	client, bucket := declare.ClientOf[*s3.Client](s), s.Have["name"].Ptr()
	wanted := func(column string) modules.Value {
		if v, known := s.Have[column]; known && !s.Changes(column) {
			return v
		}
		return s.Want[column]
	}
	var rules []s3types.LifecycleRule
	if err := aws.ParseDocument("lifecycle_configuration", wanted("lifecycle_configuration"), &rules); err != nil {
		return err
	}
	if len(rules) == 0 {
		if !s.Changes("lifecycle_configuration") {
			return &modules.Error{Class: modules.Invalid, Code: "NoSuchLifecycleConfiguration",
				Message: "transition_default_minimum_object_size: the bucket has no lifecycle_configuration"}
		}
		_, err := client.DeleteBucketLifecycle(ctx, &s3.DeleteBucketLifecycleInput{Bucket: bucket})
		return aws.IfExists(err)
	}
	for i := range rules {
		//lint:ignore SA1019 A rule that has it may have no filter.
		if rules[i].Filter == nil && rules[i].Prefix == nil {
			rules[i].Filter = &s3types.LifecycleRuleFilter{} // of all objects
		}
	}
	size := wanted("transition_default_minimum_object_size")
	if size.IsNull() {
		size = s.Have["transition_default_minimum_object_size"]
	}
	_, err := client.PutBucketLifecycleConfiguration(ctx, &s3.PutBucketLifecycleConfigurationInput{
		Bucket: bucket, LifecycleConfiguration: &s3types.BucketLifecycleConfiguration{Rules: rules},
		TransitionDefaultMinimumObjectSize: s3types.TransitionDefaultMinimumObjectSize(size.String()),
	})
	return err
}

// changeLock turns locks on, and sets or removes the default.
func changeLock(ctx context.Context, s *declare.Step) error {
	enabled := s.Want["object_lock_enabled"]
	if enabled.IsNull() {
		enabled = s.Have["object_lock_enabled"]
	}
	if s.Have["object_lock_enabled"].Bool() && !enabled.Bool() {
		return &modules.Error{Class: modules.Invalid, Code: "InvalidBucketState",
			Message: "object_lock_enabled: AWS does not turn it off (page PutObjectLockConfiguration)"}
	}
	var rule *s3types.ObjectLockRule
	if v := s.Want["object_lock_configuration"]; !v.IsNull() {
		rule = &s3types.ObjectLockRule{}
		if err := aws.ParseDocument("object_lock_configuration", v, rule); err != nil {
			return err
		}
	}
	if !enabled.Bool() && rule == nil {
		return nil
	}
	_, err := declare.ClientOf[*s3.Client](s).PutObjectLockConfiguration(ctx, &s3.PutObjectLockConfigurationInput{
		Bucket: s.Have["name"].Ptr(), ObjectLockConfiguration: &s3types.ObjectLockConfiguration{
			ObjectLockEnabled: s3types.ObjectLockEnabledEnabled, Rule: rule},
	})
	return err
}

// eachByID changes a list of configurations that have an Id: it sets those that are new or differ, and removes those
// that are not wanted any more.
func eachByID[C, In, Out any](column string, id func(C) *string, input func(bucket *string, c C) *In,
	put func(*s3.Client, context.Context, *In, ...func(*s3.Options)) (*Out, error),
	remove *declare.Op) declare.Update {
	return declare.By(func(ctx context.Context, s *declare.Step) error {
		have, want, err := declare.Both[[]C](s, column, nil)
		if err != nil {
			return err
		}
		client, bucket := declare.ClientOf[*s3.Client](s), s.Have["name"].Ptr()
		name := func(c C) string { return awssdk.ToString(id(c)) }
		slices.SortFunc(have, func(a, b C) int { return strings.Compare(name(a), name(b)) })
		return declare.Parts(have, want, name,
			func(a, b C) bool { return reflect.DeepEqual(plain(a), plain(b)) },
			func(c C, _ *C) error {
				_, err := put(client, ctx, input(bucket, c))
				return err
			}, func(c C) error {
				_, err := s.Ask(ctx, remove, map[string]string{"Id": name(c)})
				return err
			})
	}, column)
}
