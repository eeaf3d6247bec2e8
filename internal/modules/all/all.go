// Package all lists the modules that the engine has.
package all

import (
	"iasql/internal/aws"
	"iasql/internal/hosts"
	"iasql/internal/modules"
	"iasql/internal/modules/awsaccount"
	"iasql/internal/modules/awsacm"
	"iasql/internal/modules/awsapigateway"
	"iasql/internal/modules/awsappsync"
	"iasql/internal/modules/awsautoscaling"
	"iasql/internal/modules/awscloudfront"
	"iasql/internal/modules/awscloudwatch"
	"iasql/internal/modules/awscodebuild"
	"iasql/internal/modules/awscodedeploy"
	"iasql/internal/modules/awscodepipeline"
	"iasql/internal/modules/awsdynamo"
	"iasql/internal/modules/awsec2"
	"iasql/internal/modules/awsec2metadata"
	"iasql/internal/modules/awsecr"
	"iasql/internal/modules/awsecsfargate"
	"iasql/internal/modules/awsefs"
	"iasql/internal/modules/awseks"
	"iasql/internal/modules/awselasticache"
	"iasql/internal/modules/awselb"
	"iasql/internal/modules/awseventbridge"
	"iasql/internal/modules/awsiam"
	"iasql/internal/modules/awskinesis"
	"iasql/internal/modules/awskms"
	"iasql/internal/modules/awslambda"
	"iasql/internal/modules/awsmemorydb"
	"iasql/internal/modules/awsopensearch"
	"iasql/internal/modules/awsorganizations"
	"iasql/internal/modules/awsrds"
	"iasql/internal/modules/awsroute53"
	"iasql/internal/modules/awss3"
	"iasql/internal/modules/awssecretsmanager"
	"iasql/internal/modules/awssecuritygroup"
	"iasql/internal/modules/awssns"
	"iasql/internal/modules/awssqs"
	"iasql/internal/modules/awsssm"
	"iasql/internal/modules/awsstepfunctions"
	"iasql/internal/modules/awsvpc"
	"iasql/internal/modules/host"
	"iasql/internal/modules/hostcontainers"
	"iasql/internal/modules/hostfacts"
	"iasql/internal/modules/hostfiles"
	"iasql/internal/modules/hostnetwork"
	"iasql/internal/modules/hostpackages"
	"iasql/internal/modules/hostsystem"
	"iasql/internal/modules/hostunits"
	"iasql/internal/modules/hostusers"
)

// Hosts returns every module of hosts. They ask h.
func Hosts(h *hosts.Hosts) []*modules.Module {
	return []*modules.Module{
		host.Module(),
		hostcontainers.Module(h),
		hostfacts.Module(h),
		hostfiles.Module(h),
		hostnetwork.Module(h),
		hostpackages.Module(h),
		hostsystem.Module(h),
		hostunits.Module(h),
		hostusers.Module(h),
	}
}

// Modules returns every module of AWS. Their calls go through c.
func Modules(c *aws.Clients) []*modules.Module {
	return []*modules.Module{
		awsaccount.Module(c),
		awsacm.Module(c),
		awsapigateway.Module(c),
		awsappsync.Module(c),
		awsautoscaling.Module(c),
		awscloudfront.Module(c),
		awscloudwatch.Module(c),
		awscodebuild.Module(c),
		awscodedeploy.Module(c),
		awscodepipeline.Module(c),
		awsdynamo.Module(c),
		awsec2.Module(c),
		awsec2metadata.Module(c),
		awsecr.Module(c),
		awsecsfargate.Module(c),
		awsefs.Module(c),
		awseks.Module(c),
		awselasticache.Module(c),
		awselb.Module(c),
		awseventbridge.Module(c),
		awsiam.Module(c),
		awskinesis.Module(c),
		awskms.Module(c),
		awslambda.Module(c),
		awsmemorydb.Module(c),
		awsopensearch.Module(c),
		awsorganizations.Module(c),
		awsrds.Module(c),
		awsroute53.Module(c),
		awss3.Module(c),
		awssecretsmanager.Module(c),
		awssecuritygroup.Module(c),
		awssns.Module(c),
		awssqs.Module(c),
		awsssm.Module(c),
		awsstepfunctions.Module(c),
		awsvpc.Module(c),
	}
}
