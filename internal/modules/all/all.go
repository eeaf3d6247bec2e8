// Package all lists the modules that the engine has.
package all

import (
	"iasql/internal/aws"
	"iasql/internal/modules"
	"iasql/internal/modules/awsaccount"
	"iasql/internal/modules/awsacm"
	"iasql/internal/modules/awscloudwatch"
	"iasql/internal/modules/awsdynamo"
	"iasql/internal/modules/awsec2"
	"iasql/internal/modules/awsec2metadata"
	"iasql/internal/modules/awsecr"
	"iasql/internal/modules/awsecsfargate"
	"iasql/internal/modules/awselb"
	"iasql/internal/modules/awsiam"
	"iasql/internal/modules/awslambda"
	"iasql/internal/modules/awsrds"
	"iasql/internal/modules/awsroute53"
	"iasql/internal/modules/awss3"
	"iasql/internal/modules/awssecretsmanager"
	"iasql/internal/modules/awssecuritygroup"
	"iasql/internal/modules/awssns"
	"iasql/internal/modules/awssqs"
	"iasql/internal/modules/awsvpc"
)

// Modules returns every module. Their calls go through c.
func Modules(c *aws.Clients) []*modules.Module {
	return []*modules.Module{
		awsaccount.Module(c),
		awsacm.Module(c),
		awscloudwatch.Module(c),
		awsdynamo.Module(c),
		awsec2.Module(c),
		awsec2metadata.Module(c),
		awsecr.Module(c),
		awsecsfargate.Module(c),
		awselb.Module(c),
		awsiam.Module(c),
		awslambda.Module(c),
		awsrds.Module(c),
		awsroute53.Module(c),
		awss3.Module(c),
		awssecretsmanager.Module(c),
		awssecuritygroup.Module(c),
		awssns.Module(c),
		awssqs.Module(c),
		awsvpc.Module(c),
	}
}
