// Package weblinks says where AWS's own console shows what a record stands for. It is given to
// the console of this product by the wiring, and knows nothing of a database.
package weblinks

import (
	"net/url"
	"regexp"
	"strings"
)

// pages are the addresses by table, without the host. {column} is the value of a column, escaped
// as JavaScript's encodeURIComponent does; {column:arn} leaves the colons and slashes of an ARN,
// {column:log} escapes as the pages of CloudWatch Logs want it, and {column:last} is what follows
// the last slash.
var pages = map[string]string{
	"instance":               "/ec2/home?region={region}#InstanceDetails:instanceId={instance_id}",
	"general_purpose_volume": "/ec2/home?region={region}#VolumeDetails:volumeId={volume_id}",
	"key_pair":               "/ec2/home?region={region}#KeyPairs:keyPairId={key_pair_id}",
	"elastic_ip":             "/ec2/home?region={region}#ElasticIpDetails:AllocationId={allocation_id}",
	"launch_template":        "/ec2/home?region={region}#LaunchTemplateDetails:launchTemplateId={launch_template_id}",
	"auto_scaling_group":     "/ec2/home?region={region}#AutoScalingGroupDetails:id={auto_scaling_group_name};view=details",
	"load_balancer":          "/ec2/home?region={region}#LoadBalancer:loadBalancerArn={load_balancer_arn:arn}",
	"target_group":           "/ec2/home?region={region}#TargetGroup:targetGroupArn={target_group_arn:arn}",
	"security_group":         "/vpcconsole/home?region={region}#SecurityGroup:groupId={group_id}",
	"vpc":                    "/vpcconsole/home?region={region}#VpcDetails:VpcId={vpc_id}",
	"subnet":                 "/vpcconsole/home?region={region}#SubnetDetails:subnetId={subnet_id}",
	"route_table":            "/vpcconsole/home?region={region}#RouteTableDetails:RouteTableId={route_table_id}",
	"internet_gateway":       "/vpcconsole/home?region={region}#InternetGateway:internetGatewayId={internet_gateway_id}",
	"nat_gateway":            "/vpcconsole/home?region={region}#NatGatewayDetails:natGatewayId={nat_gateway_id}",
	"bucket":                 "/s3/buckets/{name}?region={region}",
	"iam_role":               "/iam/home#/roles/details/{role_name}",
	"iam_user":               "/iam/home#/users/details/{user_name}",
	"rds":                    "/rds/home?region={region}#database:id={db_instance_identifier};is-cluster=false",
	"db_cluster":             "/rds/home?region={region}#database:id={db_cluster_identifier};is-cluster=true",
	"dynamo_table":           "/dynamodbv2/home?region={region}#table?name={table_name}",
	"lambda_function":        "/lambda/home?region={region}#/functions/{name}",
	"queue":                  "/sqs/v3/home?region={region}#/queues/{url}",
	"topic":                  "/sns/v3/home?region={region}#/topic/{arn:arn}",
	"cluster":                "/ecs/v2/clusters/{cluster_name}/services?region={region}",
	"eks_cluster":            "/eks/clusters/{cluster_name}?region={region}",
	"log_group":              "/cloudwatch/home?region={region}#logsV2:log-groups/log-group/{log_group_name:log}",
	"metric_alarm":           "/cloudwatch/home?region={region}#alarmsV2:alarm/{alarm_name}",
	"hosted_zone":            "/route53/v2/hostedzones#ListRecordSets/{hosted_zone_id:last}",
	"kms_key":                "/kms/home?region={region}#/kms/keys/{key_id}",
	"secret":                 "/secretsmanager/secret?name={name}&region={region}",
	"repository":             "/ecr/repositories/private/{registry_id}/{repository_name}?region={region}",
	"certificate":            "/acm/home?region={region}#/certificates/{certificate_id}",
	"distribution":           "/cloudfront/v4/home#/distributions/{distribution_id}",
	"state_machine":          "/states/home?region={region}#/statemachines/view/{arn:arn}",
}

// hosts are the consoles of the partitions
// (https://docs.aws.amazon.com/general/latest/gr/aws-arns-and-namespaces.html).
var hosts = map[string]string{"aws": "https://console.aws.amazon.com", "aws-cn": "https://console.amazonaws.cn",
	"aws-us-gov": "https://console.amazonaws-us-gov.com"}

var (
	place  = regexp.MustCompile(`\{(\w+)(?::(\w+))?\}`)
	region = regexp.MustCompile(`^[a-z]{2}(-[a-z]+)+-\d+$`)
)

// Of returns the page of AWS's console that shows a record, by its table and its columns as text;
// "" if none is known, or if the record has no object yet that one could show.
func Of(table string, columns map[string]string) string {
	page, known := pages[table]
	host := hosts[partition(columns)]
	if !known || host == "" {
		return ""
	}
	whole := true
	path := place.ReplaceAllStringFunc(page, func(match string) string {
		m := place.FindStringSubmatch(match)
		value := columns[m[1]]
		if value == "" || m[1] == "region" && !region.MatchString(value) {
			whole = false
		}
		return escape(value, m[2])
	})
	if !whole {
		return ""
	}
	return host + path
}

// partition is that of an ARN among the columns, or of the region. What has neither is a hosted
// zone, whose name servers tell.
func partition(columns map[string]string) string {
	for _, name := range []string{"arn", "cluster_arn", "load_balancer_arn", "target_group_arn", "log_group_arn",
		"alarm_arn",
		"repository_arn", "subnet_arn"} {
		if part, is := strings.CutPrefix(columns[name], "arn:"); is {
			part, _, _ = strings.Cut(part, ":")
			return part
		}
	}
	where := columns["region"]
	switch {
	case strings.HasPrefix(where, "cn-"), where == "" && strings.Contains(columns["name_servers"], "awsdns-cn"):
		return "aws-cn"
	case strings.HasPrefix(where, "us-gov-"), where == "" && strings.Contains(columns["name_servers"], "awsdns-us-gov"):
		return "aws-us-gov"
	case strings.HasPrefix(where, "us-iso"), strings.HasPrefix(where, "eu-isoe"), strings.HasPrefix(where, "eusc-"):
		return "" // their consoles are elsewhere
	}
	return "aws"
}

func escape(value, how string) string {
	component := strings.ReplaceAll(url.QueryEscape(value), "+", "%20")
	switch how {
	case "arn":
		return strings.NewReplacer("%3A", ":", "%2F", "/").Replace(component)
	case "log":
		return strings.ReplaceAll(strings.ReplaceAll(url.QueryEscape(component), "+", "%20"), "%", "$")
	case "last":
		return strings.ReplaceAll(url.QueryEscape(value[strings.LastIndex(value, "/")+1:]), "+", "%20")
	}
	return component
}
