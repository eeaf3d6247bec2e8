package awsopensearch

import (
	"context"
	"reflect"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/opensearch"
	ostypes "github.com/aws/aws-sdk-go-v2/service/opensearch/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// mostDomains is how many names DescribeDomains takes.
const mostDomains = 5

// sections are the members of UpdateDomainConfig with the columns that each has. A
// change sends whole sections, and those alone in which something changes.
var sections = map[string][]string{
	"ClusterConfig": {"instance_type", "instance_count", "availability_zone_count", "dedicated_master_type",
		"dedicated_master_count",
		"warm_instance_type", "warm_instance_count", "cold_storage"},
	"EBSOptions":     {"ebs_options"},
	"AccessPolicies": {"access_policy"},
	"VPCOptions":     {"subnets"},
	"DomainEndpointOptions": {"custom_endpoint", "endpoint_certificate_id", "enforce_https",
		"tls_security_policy"},
	"EncryptionAtRestOptions":       {"encryption_at_rest", "kms_key_id"},
	"NodeToNodeEncryptionOptions":   {"node_to_node_encryption"},
	"AutoTuneOptions":               {"auto_tune"},
	"AdvancedOptions":               {"advanced_options"},
	"IPAddressType":                 {"ip_address_type"},
	"AIMLOptions":                   {"aiml_options"},
	"CognitoOptions":                {"cognito_options"},
	"DeploymentStrategyOptions":     {"deployment_strategy_options"},
	"AutomatedSnapshotPauseOptions": {"automated_snapshot_pause_options"},
	"IdentityCenterOptions":         {"identity_center_options"},
	"LogPublishingOptions":          {"log_publishing_options"},
	"OffPeakWindowOptions":          {"off_peak_window_options"},
	"SnapshotOptions":               {"snapshot_options"},
	"SoftwareUpdateOptions":         {"software_update_options"},
	"AdvancedSecurityOptions": {"enable_fine_grained_access_control", "fine_grained_access_control_user_arn",
		"fine_grained_access_control_master_username", "fine_grained_access_control_master_password"},
}

// newDomain declares the table domain. groups is the table of the security groups
// of domains, which are set together with their subnets.
func newDomain(c *aws.Clients, groups *aws.Memberships) *declare.Resource {
	master := func(name, member, doc string) declare.Column {
		return declare.Text("fine_grained_access_control_"+name, "",
			doc+" It is passed on and then NULL again, as AWS does not tell it; NULL changes nothing.").
			WriteOnly().In("AdvancedSecurityOptions.MasterUserOptions." + member)
	}
	return declare.New(c, declare.Table[ostypes.DomainStatus]{
		Name: "domain",
		Doc: "Domains of OpenSearch Service. Deleting one deletes all that it holds. Most changes take AWS many " +
			"minutes, in which it takes no other. IaSQL's table domain_subnets is the column subnets.",
		Service: declare.Service(opensearch.NewFromConfig),
		Columns: []declare.Column{
			declare.Name("domain_name", "DomainName",
				"The domain's name: 3 to 28 lowercase letters, digits and hyphens, a letter first.").Matches(
				"^[a-z][a-z0-9-]{2,27}$"),
			declare.Text("version", "EngineVersion",
				"The engine and its version, such as OpenSearch_2.11. A later version upgrades the domain.").
				Required().Matches(`^(Elasticsearch_[0-9]\.[0-9]{1,2}|OpenSearch_[0-9]{1,2}\.[0-9]{1,2})$`).In(
				"EngineVersion", "TargetVersion"),
			declare.Text("instance_type", "ClusterConfig.InstanceType",
				"What data nodes run on, such as t3.small.search.").Required(),
			declare.Integer("instance_count", "ClusterConfig.InstanceCount",
				"The number of data nodes.").Required().Check("instance_count >= 1"),
			declare.Integer("availability_zone_count", "ClusterConfig.ZoneAwarenessConfig.AvailabilityZoneCount",
				"In how many availability zones they are, 1 to 3.").Default("1").Between(1, 3),
			declare.JSON("ebs_options", "EBSOptions",
				`The volumes of data nodes: {"EBSEnabled": true, "VolumeType": "gp3", "VolumeSize": 10}. Left out for instances with disks of their own.`).
				OptionalComputed().Same(declare.Alike[ostypes.EBSOptions](nil)),
			declare.Text("dedicated_master_type", "ClusterConfig.DedicatedMasterType",
				"What dedicated master nodes run on. NULL: there are none."),
			declare.Integer("dedicated_master_count", "ClusterConfig.DedicatedMasterCount",
				"The number of dedicated master nodes, 3 or 5."),
			declare.Text("warm_instance_type", "ClusterConfig.WarmType",
				"What UltraWarm nodes run on, such as ultrawarm1.medium.search. NULL: there are none."),
			declare.Integer("warm_instance_count", "ClusterConfig.WarmCount",
				"The number of UltraWarm nodes.").Check("warm_instance_count >= 1"),
			declare.Bool("cold_storage", "ClusterConfig.ColdStorageOptions.Enabled",
				"Whether there is cold storage, which UltraWarm is needed for.").Default("false"),
			declare.Bool("auto_tune", "AutoTuneOptions.State",
				"Whether Auto-Tune optimizes the domain. AWS decides if left out: instances of type t2 and t3 cannot.").
				OptionalComputed().In("AutoTuneOptions.DesiredState").As(tuned),
			declare.Bool("enable_fine_grained_access_control", "AdvancedSecurityOptions.Enabled",
				"Whether users and roles of OpenSearch are told apart. It cannot be taken back, and takes "+
					"encryption, HTTPS and a master user.").Default("false"),
			master("user_arn", "MasterUserARN", "The ARN of the user or role of IAM that is the master user."),
			master("master_username", "MasterUserName",
				"The name of the master user, where users are the domain's own.").Length(1, 64),
			master("master_password", "MasterUserPassword", "That user's password.").Length(8, 128),
			declare.JSON("access_policy", "AccessPolicies",
				"The access policy: who may do what with the domain.").As(declare.PolicyText).Same(
				aws.SamePolicy).Unset(modules.Text("")),
			declare.JSON("advanced_options", "AdvancedOptions",
				`Settings of the engine: {"rest.action.multi.allow_explicit_index": "true"}.`).OptionalComputed().EmptyIsNull(),
			declare.Texts("subnets", "VPCOptions.SubnetIds",
				"The ids of the subnets the domain is in, one for each availability zone. NULL: it is in no VPC. A "+
					"domain cannot get into a VPC, or out of one.").
				Unordered().EmptyIsNull().
				Records("subnet", "subnet_id", 3),
			declare.Text("custom_endpoint", "DomainEndpointOptions.CustomEndpoint",
				"A domain name of one's own under which it is reached, for which endpoint_certificate_id is needed."),
			declare.Ref("endpoint_certificate_id", "DomainEndpointOptions.CustomEndpointCertificateArn", "certificate",
				"arn", "The certificate of that name."),
			declare.Bool("enforce_https", "DomainEndpointOptions.EnforceHTTPS",
				"Whether requests have to be encrypted.").Default("true"),
			declare.Text("tls_security_policy", "DomainEndpointOptions.TLSSecurityPolicy",
				"How they are encrypted at least.").OptionalComputed().OneOf(
				declare.Values(ostypes.TLSSecurityPolicy("").Values())...),
			declare.Bool("encryption_at_rest", "EncryptionAtRestOptions.Enabled",
				"Whether what it holds is encrypted. It cannot be taken back.").Default("true"),
			declare.Text("kms_key_id", "EncryptionAtRestOptions.KmsKeyId",
				"The id or ARN of the KMS key that encrypts it, which cannot be changed; AWS's own if left out.").
				OptionalComputed().Same(declare.SameKey),
			declare.Bool("node_to_node_encryption", "NodeToNodeEncryptionOptions.Enabled",
				"Whether nodes talk encrypted. It cannot be taken back.").Default("true"),
			declare.Text("ip_address_type", "IPAddressType", "ipv4 or dualstack.").OptionalComputed().OneOf("dualstack",
				"ipv4"),
			declare.Text("endpoint", "Endpoints[vpc]",
				"The name under which it is reached; NULL until there is one.").Computed().First("Endpoint"),
			declare.Text("status", "DomainProcessingStatus",
				"What it is doing, such as Creating, Active, Modifying, UpgradingEngineVersion or Deleting.").
				Computed(),
			declare.ARN("arn", "ARN"),
			declare.Tags("TagList", (*opensearch.Client).AddTags,
				(*opensearch.Client).RemoveTags).From(declare.Call((*opensearch.Client).ListTags)),
		},
		Published: declare.Published{Type: "AWS::OpenSearchService::Domain", Since: 2,
			Without: map[string]string{"EngineMode": unknown, "UseCase": unknown,
				"SkipShardMigrationWait": declare.Deed + ": CloudFormation does not wait until shards have moved"},
		},
		Checks: []string{"(dedicated_master_type IS NULL) = (dedicated_master_count IS NULL)",
			"(warm_instance_type IS NULL) = (warm_instance_count IS NULL)",
			"(custom_endpoint IS NULL) = (endpoint_certificate_id IS NULL) OR endpoint_certificate_id IS NULL"},
		DestroyBeforeCreate: true, // one name is one domain

		EventMappings: modules.EventMappings("es.amazonaws.com",
			modules.Request("domainName", "UpgradeDomain", "StartServiceSoftwareUpdate", "CancelServiceSoftwareUpdate",
				"CreateElasticsearchDomain", "UpdateElasticsearchDomainConfig", "DeleteElasticsearchDomain",
				"UpgradeElasticsearchDomain"),
		),
		List: declare.Once(declare.Call((*opensearch.Client).ListDomainNames), "DomainNames").Names("domain_name",
			"DomainName"),
		Get: declare.Batch(declare.Call((*opensearch.Client).DescribeDomains), "DomainNames", "domain_name",
			mostDomains, "DomainStatusList"),
		Row: fill,
		Create: declare.Call((*opensearch.Client).CreateDomain, declare.Answer("DomainStatus"),
			declare.Fill(func(_ *declare.Step, in *opensearch.CreateDomainInput) {
				complete(in.ClusterConfig, in.DomainEndpointOptions, in.AdvancedSecurityOptions)
			})),
		Updates: []declare.Update{
			declare.By(upgrade, "version"),
			declare.Restate(declare.Call((*opensearch.Client).UpdateDomainConfig,
				declare.Edit(configure))).Holding(func(s *declare.Step) func() {
				if !s.Changes("subnets") {
					return func() {}
				}
				return groups.Lock(s.Scope, s.Have["domain_name"].String())
			}),
		},
		Delete: declare.Call((*opensearch.Client).DeleteDomain),

		Going:     declare.In("status", string(ostypes.DomainProcessingStatusTypeDeleting)),
		Forming:   declare.In("status", string(ostypes.DomainProcessingStatusTypeCreating)),
		HoldsData: true,
	})
}

// fill says what a domain has that members beside others say.
func fill(_ context.Context, _ *declare.Step, d *ostypes.DomainStatus, row modules.Row) error {
	if awssdk.ToBool(d.Deleted) {
		row["status"] = modules.Text(string(ostypes.DomainProcessingStatusTypeDeleting))
	}
	cc := d.ClusterConfig
	if cc == nil && d.DomainProcessingStatus == ostypes.DomainProcessingStatusTypeCreating {
		return nil // it has not been told yet
	} else if cc == nil {
		cc = &ostypes.ClusterConfig{}
	}
	switch {
	case !awssdk.ToBool(cc.ZoneAwarenessEnabled):
		row["availability_zone_count"] = modules.Int(1)
	case row["availability_zone_count"].IsNull():
		row["availability_zone_count"] = modules.Int(2) // page ZoneAwarenessConfig
	}
	if !awssdk.ToBool(cc.DedicatedMasterEnabled) {
		row["dedicated_master_type"], row["dedicated_master_count"] = modules.Null, modules.Null
	}
	if !awssdk.ToBool(cc.WarmEnabled) {
		row["warm_instance_type"], row["warm_instance_count"] = modules.Null, modules.Null
	}
	return nil
}

// complete says in sections what follows from other members of them.
func complete(cc *ostypes.ClusterConfig, endpoint *ostypes.DomainEndpointOptions,
	security *ostypes.AdvancedSecurityOptionsInput) {
	if cc != nil {
		zones := cc.ZoneAwarenessConfig != nil && awssdk.ToInt32(cc.ZoneAwarenessConfig.AvailabilityZoneCount) > 1
		if !zones {
			cc.ZoneAwarenessConfig = nil
		}
		cc.ZoneAwarenessEnabled, cc.DedicatedMasterEnabled, cc.WarmEnabled = &zones,
			awssdk.Bool(cc.DedicatedMasterType != ""), awssdk.Bool(cc.WarmType != "")
	}
	if endpoint != nil {
		endpoint.CustomEndpointEnabled = awssdk.Bool(endpoint.CustomEndpoint != nil)
	}
	if security != nil && security.MasterUserOptions != nil {
		security.InternalUserDatabaseEnabled = awssdk.Bool(security.MasterUserOptions.MasterUserARN == nil)
	}
}

// configure leaves of a change the sections in which something changes.
func configure(ctx context.Context, s *declare.Step, in *opensearch.UpdateDomainConfigInput) error {
	for section, columns := range sections {
		if !s.Changes(columns...) {
			reflect.ValueOf(in).Elem().FieldByName(section).SetZero()
		}
	}
	complete(in.ClusterConfig, in.DomainEndpointOptions, in.AdvancedSecurityOptions)
	if s.Changes("subnets") {
		if s.Have["subnets"].IsNull() || s.Want["subnets"].IsNull() {
			return &modules.Error{Class: modules.Invalid, Code: "VPC",
				Message: "a domain cannot get into a VPC, or out of one: it has to be made anew"}
		}
		out, err := declare.ClientOf[*opensearch.Client](s).DescribeDomain(ctx,
			&opensearch.DescribeDomainInput{DomainName: in.DomainName})
		if err != nil {
			return err
		}
		in.VPCOptions.SecurityGroupIds = out.DomainStatus.VPCOptions.SecurityGroupIds
	}
	return nil
}

// upgrade changes the version. One upgrade waits for the other, since a domain
// does not tell to which version it is being upgraded.
func upgrade(ctx context.Context, s *declare.Step) error {
	if s.Have["status"].String() == string(ostypes.DomainProcessingStatusTypeUpgrading) {
		return &modules.Error{Class: modules.Dependency, Code: "Upgrading", Message: "waits for an upgrade to end"}
	}
	_, err := declare.ClientOf[*opensearch.Client](s).UpgradeDomain(ctx,
		&opensearch.UpgradeDomainInput{DomainName: s.Have["domain_name"].Ptr(), TargetVersion: s.Want["version"].Ptr()})
	return err
}

// tuned is whether Auto-Tune is on, or about to be.
var tuned = declare.Codec{
	Decode: declare.Is(string(ostypes.AutoTuneStateEnabled), string(ostypes.AutoTuneStateEnableInProgress)).Decode,
	Encode: func(v modules.Value) (any, error) {
		if v.Bool() {
			return ostypes.AutoTuneDesiredStateEnabled, nil
		}
		return ostypes.AutoTuneDesiredStateDisabled, nil
	},
}

// unknown says why there is no column of a setting that CloudFormation alone has.
const unknown = "the API of OpenSearch Service that the SDK has knows no such member"
