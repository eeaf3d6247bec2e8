package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/jackc/pgx/v5"
)

// outsider is somebody who edits the account with other tools. Its own way to
// the cloud has no faults, so that it knows what it did.
type outsider struct {
	w      *world
	ec2    *ec2.Client
	sqs    *sqs.Client
	dynamo *dynamodb.Client
	serial int
	edits  int
	vpcs   map[string]*outsideVPC
	queues map[string]*outsideQueue
	things map[string]*outsideThing
	shared map[string]map[string]string // what it last set on records of SQL users: name, field
}

type outsideVPC struct {
	id   string
	word string
	gone bool
}

type outsideQueue struct {
	url     string
	delay   int
	gone    bool
	lasting bool
}

func newOutsider(w *world) *outsider {
	cfg := w.outside.Config("us-east-1")
	return &outsider{w: w, ec2: ec2.NewFromConfig(cfg), sqs: sqs.NewFromConfig(cfg),
		dynamo: dynamodb.NewFromConfig(cfg),
		vpcs:   map[string]*outsideVPC{}, queues: map[string]*outsideQueue{}, things: map[string]*outsideThing{},
		shared: map[string]map[string]string{}}
}

// act edits until it is told to stop. The last it does before each lull is to delete, so
// that there is something which the full cycles of the lull have to notice.
func (o *outsider) act(random *rand.Rand, stop <-chan struct{}) {
	resting := false
	for pause(stop, time.Duration(50+random.IntN(400))*time.Millisecond) {
		edits := []func(context.Context, *rand.Rand) (bool, error){o.edit}
		switch lull := o.w.lull(); {
		case lull && resting:
			continue
		case lull:
			edits = []func(context.Context, *rand.Rand) (bool, error){o.deleteVPC, o.deleteQueue}
			resting = true
		default:
			resting = false
		}
		for _, edit := range edits {
			done, err := edit(context.Background(), random)
			if err != nil {
				o.w.t.Logf("outsider: %v", err)
			}
			if done {
				o.edits++
			}
		}
	}
}

func (o *outsider) edit(ctx context.Context, random *rand.Rand) (done bool, err error) {
	o.serial++
	switch random.IntN(16) {
	case 0:
		return o.createVPC(ctx)
	case 1, 2, 3:
		return o.tagVPC(ctx)
	case 4:
		return o.deleteVPC(ctx, random)
	case 5:
		return o.createQueue(ctx, random)
	case 6, 7:
		return o.delayQueue(ctx, random)
	case 8:
		return o.deleteQueue(ctx, random)
	case 9, 10:
		return o.changeShared(ctx, random, "queue")
	case 11:
		return o.changeShared(ctx, random, "vpc")
	}
	return o.editThing(ctx, random)
}

// recorded returns a query's texts: what has a row. Most of what somebody deletes outside has
// been there for a while, and so has one; of what has none nobody here would ever know. It
// returns nil, for anything, one time in four, and where there is no database just now.
func (o *outsider) recorded(ctx context.Context, random *rand.Rand, query string) map[string]bool {
	if random.IntN(4) == 0 {
		return nil
	}
	rows, err := o.w.admin.Query(ctx, query)
	if err != nil {
		return nil
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil
	}
	there := map[string]bool{}
	for _, name := range names {
		there[name] = true
	}
	return there
}

// someVPC returns a VPC that is there; of some, unless that is nil.
func (o *outsider) someVPC(of map[string]bool) *outsideVPC {
	for _, v := range o.vpcs { // in no order
		if !v.gone && (of == nil || of[v.id]) {
			return v
		}
	}
	return nil
}

func (o *outsider) createVPC(ctx context.Context) (bool, error) {
	alive := 0
	for _, v := range o.vpcs {
		if !v.gone {
			alive++
		}
	}
	if alive >= 6 {
		return false, nil
	}
	name := fmt.Sprintf("b%d-vpc", o.serial)
	out, err := o.ec2.CreateVpc(ctx,
		&ec2.CreateVpcInput{CidrBlock: aws.String(fmt.Sprintf("172.%d.0.0/16", 16+o.serial%16)),
			TagSpecifications: []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeVpc,
				Tags: []ec2types.Tag{{Key: aws.String("Name"), Value: &name},
					{Key: aws.String("v"), Value: aws.String("new")}}}}})
	if err != nil {
		return false, err
	}
	o.vpcs[name] = &outsideVPC{id: *out.Vpc.VpcId, word: "new"}
	return true, nil
}

func (o *outsider) tagVPC(ctx context.Context) (bool, error) {
	v := o.someVPC(nil)
	if v == nil {
		return false, nil
	}
	word := fmt.Sprintf("o%d", o.serial)
	_, err := o.ec2.CreateTags(ctx,
		&ec2.CreateTagsInput{Resources: []string{v.id}, Tags: []ec2types.Tag{{Key: aws.String("v"), Value: &word}}})
	if err == nil {
		v.word = word
	}
	return err == nil, err
}

func (o *outsider) deleteVPC(ctx context.Context, random *rand.Rand) (bool, error) {
	v := o.someVPC(o.recorded(ctx, random, `SELECT vpc_id FROM vpc WHERE vpc_id IS NOT NULL`))
	if v == nil {
		return false, nil
	}
	_, err := o.ec2.DeleteVpc(ctx, &ec2.DeleteVpcInput{VpcId: &v.id})
	if err == nil {
		v.gone = true
	}
	return err == nil, err
}

// createQueue makes a queue; a lasting one is for an SQL user to edit as well.
func (o *outsider) createQueue(ctx context.Context, random *rand.Rand) (bool, error) {
	alive := 0
	for _, q := range o.queues {
		if !q.gone {
			alive++
		}
	}
	if alive >= 10 {
		return false, nil
	}
	name, lasting := fmt.Sprintf("b%d-queue", o.serial), false
	if alive < 5 {
		name, lasting = fmt.Sprintf("b%d-lasting-%d", o.serial, random.IntN(users)), true
	}
	out, err := o.sqs.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &name})
	if err != nil {
		return false, err
	}
	o.queues[name] = &outsideQueue{url: *out.QueueUrl, lasting: lasting}
	return true, nil
}

// someQueue returns a queue that is there; of some, by their names, unless that is nil.
func (o *outsider) someQueue(deletable bool, of map[string]bool) *outsideQueue {
	for name, q := range o.queues {
		if !q.gone && !(q.lasting && deletable) && (of == nil || of[name]) {
			return q
		}
	}
	return nil
}

func (o *outsider) setDelay(ctx context.Context, url string, seconds int) error {
	_, err := o.sqs.SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{QueueUrl: &url,
		Attributes: map[string]string{string(sqstypes.QueueAttributeNameDelaySeconds): strconv.Itoa(seconds)}})
	return err
}

func (o *outsider) delayQueue(ctx context.Context, random *rand.Rand) (bool, error) {
	q := o.someQueue(false, nil)
	if q == nil {
		return false, nil
	}
	seconds := random.IntN(900)
	err := o.setDelay(ctx, q.url, seconds)
	if err == nil {
		q.delay = seconds
	}
	return err == nil, err
}

func (o *outsider) deleteQueue(ctx context.Context, random *rand.Rand) (bool, error) {
	q := o.someQueue(true, o.recorded(ctx, random, `SELECT name FROM queue`))
	if q == nil {
		return false, nil
	}
	_, err := o.sqs.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: &q.url})
	if err == nil {
		q.gone = true
	}
	return err == nil, err
}

// changeShared changes what an SQL user made, in a column no SQL user touches
// once it has been created.
func (o *outsider) changeShared(ctx context.Context, random *rand.Rand, kind string) (bool, error) {
	var name string
	if err := o.w.admin.QueryRow(ctx, `
		SELECT name FROM chaos.object o WHERE shared AND kind = $1 AND batch IS NULL AND NOT gone AND EXISTS (
			SELECT FROM iasql_audit_log l WHERE l.table_name = o.kind AND l.record_id = o.record AND l.change_type = 'INSERT' AND l.settled)
		ORDER BY random() LIMIT 1`, kind).Scan(&name); err != nil {
		return false, nil // none yet, or no database just now
	}
	var value string
	if kind == "queue" {
		out, err := o.sqs.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &name})
		if err != nil {
			return false, nil // not there yet
		}
		seconds := random.IntN(900)
		if err := o.setDelay(ctx, *out.QueueUrl, seconds); err != nil {
			return false, err
		}
		value = strconv.Itoa(seconds)
	} else {
		out, err := o.ec2.DescribeVpcs(ctx,
			&ec2.DescribeVpcsInput{Filters: []ec2types.Filter{{Name: aws.String("tag:Name"), Values: []string{name}}}})
		if err != nil || len(out.Vpcs) != 1 {
			return false, err
		}
		on := random.IntN(2) == 0
		if _, err := o.ec2.ModifyVpcAttribute(ctx,
			&ec2.ModifyVpcAttributeInput{VpcId: out.Vpcs[0].VpcId,
				EnableDnsHostnames: &ec2types.AttributeBooleanValue{Value: &on}}); err != nil {
			return false, err
		}
		value = strconv.FormatBool(on)
	}
	if o.shared[name] == nil {
		o.shared[name] = map[string]string{}
	}
	o.shared[name][map[string]string{"queue": "delay", "vpc": "hostnames"}[kind]] = value
	return true, nil
}

// cloudObject is an object as the outsider sees it.
type cloudObject struct {
	kind, name string
	fields     map[string]string
}

// look reads the whole account.
func (o *outsider) look(ctx context.Context) (objects []cloudObject, err error) {
	tags := func(list []ec2types.Tag) (name, word string) {
		for _, t := range list {
			switch aws.ToString(t.Key) {
			case "Name":
				name = aws.ToString(t.Value)
			case "v":
				word = aws.ToString(t.Value)
			}
		}
		return name, word
	}
	vpcs, err := o.ec2.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{})
	if err != nil {
		return nil, err
	}
	theirs := map[string]bool{}
	for _, v := range vpcs.Vpcs {
		if aws.ToBool(v.IsDefault) {
			theirs[*v.VpcId] = true
			continue
		}
		name, word := tags(v.Tags)
		hostnames, err := o.ec2.DescribeVpcAttribute(ctx,
			&ec2.DescribeVpcAttributeInput{VpcId: v.VpcId, Attribute: ec2types.VpcAttributeNameEnableDnsHostnames})
		if err != nil {
			return nil, err
		}
		objects = append(objects, cloudObject{"vpc", name, map[string]string{"v": word, "id": *v.VpcId,
			"hostnames": strconv.FormatBool(aws.ToBool(hostnames.EnableDnsHostnames.Value))}})
	}
	subnets, err := o.ec2.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{})
	if err != nil {
		return nil, err
	}
	for _, s := range subnets.Subnets {
		if theirs[*s.VpcId] {
			continue
		}
		name, word := tags(s.Tags)
		objects = append(objects, cloudObject{"subnet", name,
			map[string]string{"v": word, "cidr": *s.CidrBlock,
				"public": strconv.FormatBool(aws.ToBool(s.MapPublicIpOnLaunch))}})
	}
	groups, err := o.ec2.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{})
	if err != nil {
		return nil, err
	}
	for _, g := range groups.SecurityGroups {
		if *g.GroupName == "default" {
			continue
		}
		_, word := tags(g.Tags)
		objects = append(objects, cloudObject{"group", *g.GroupName,
			map[string]string{"v": word, "description": *g.Description}})
	}
	if objects, err = o.tables(ctx, objects); err != nil {
		return nil, err
	}
	queues, err := o.sqs.ListQueues(ctx, &sqs.ListQueuesInput{})
	if err != nil {
		return nil, err
	}
	for _, url := range queues.QueueUrls {
		got, err := o.sqs.GetQueueAttributes(ctx,
			&sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []sqstypes.QueueAttributeName{"All"}})
		if err != nil {
			return nil, err
		}
		name := url[strings.LastIndex(url, "/")+1:]
		objects = append(objects, cloudObject{"queue", name, map[string]string{"name": name,
			"visibility": got.Attributes["VisibilityTimeout"], "delay": got.Attributes["DelaySeconds"]}})
	}
	return append(objects, o.w.thingsThere()...), nil
}

// tables adds the DynamoDB tables.
func (o *outsider) tables(ctx context.Context, objects []cloudObject) ([]cloudObject, error) {
	list, err := o.dynamo.ListTables(ctx, &dynamodb.ListTablesInput{})
	if err != nil {
		return nil, err
	}
	for _, name := range list.TableNames {
		table, err := o.dynamo.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
		if err != nil {
			return nil, err
		}
		tags, err := o.dynamo.ListTagsOfResource(ctx,
			&dynamodb.ListTagsOfResourceInput{ResourceArn: table.Table.TableArn})
		if err != nil {
			return nil, err
		}
		fields := map[string]string{"name": name}
		for _, t := range tags.Tags {
			if aws.ToString(t.Key) == "v" {
				fields["v"] = aws.ToString(t.Value)
			}
		}
		objects = append(objects, cloudObject{"table", name, fields})
	}
	return objects, nil
}
