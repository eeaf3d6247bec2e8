package economy

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"iasql/internal/test/faultproxy"
	"iasql/internal/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// every are the modules that most accounts are looked at with.
var every = []string{
	"aws_account", "aws_acm", "aws_cloudwatch", "aws_dynamo", "aws_ec2", "aws_ec2_metadata", "aws_ecr",
	"aws_ecs_fargate", "aws_elb", "aws_iam",
	"aws_lambda", "aws_rds", "aws_route53", "aws_s3", "aws_secrets_manager", "aws_security_group", "aws_sns",
	"aws_sqs", "aws_vpc",
}

// world starts an engine whose calls are counted.
func world(t *testing.T) (*harness.World, *faultproxy.Proxy) {
	t.Helper()
	w := harness.NewWorld(t)
	proxy := faultproxy.Start(t, w.AWS.Endpoint)
	w.Endpoint = proxy.URL
	return w, proxy
}

// calls returns how many calls were made while do ran, and which most often.
func calls(proxy *faultproxy.Proxy, do func()) (n int, most string) {
	before := proxy.Counts()
	do()
	made := map[string]int{}
	for action, count := range proxy.Counts() {
		if count -= before[action]; count > 0 {
			action, _, _ = strings.Cut(action, "?")
			made[action] += count
			n += count
		}
	}
	actions := slices.SortedFunc(maps.Keys(made), func(a, b string) int { return made[b] - made[a] })
	var list []string
	for _, action := range actions[:min(len(actions), 40)] {
		list = append(list, fmt.Sprintf("%d %s", made[action], action))
	}
	return n, strings.Join(list, ", ")
}

// An account with all its regions and hardly anything in them costs few calls: to install,
// to look at as a whole, and in a minute in which nothing happens. Whatever needs it, each
// region is asked for each listing once. A minute takes a second and a half here.
func TestQuietAccount(t *testing.T) {
	t.Parallel()
	w, proxy := world(t)
	w.Serve()
	w.PSQL(`UPDATE iasql_settings SET value = '1 hour' WHERE name = 'sync_interval'`)
	count := func(what string, most int, do func()) {
		t.Helper()
		n, list := calls(proxy, do)
		t.Logf("%s: %d calls: %s", what, n, list)
		if n > most {
			t.Errorf("%s costs %d calls, more than %d: %s", what, n, most, list)
		}
	}
	count("an install", 1000, func() {
		w.PSQL(fmt.Sprintf(`SELECT * FROM iasql_install('%s')`, strings.Join(every, "','")))
	})
	regions, err := strconv.Atoi(w.PSQL(`SELECT count(*) FROM aws_regions WHERE is_enabled`))
	if err != nil || regions < 20 {
		t.Fatalf("%d regions: %v", regions, err)
	}
	before := proxy.Counts()
	count("a cycle that lists all", 36*regions+80, func() { w.PSQL(`SELECT iasql_sync_now()`) })
	for action, n := range proxy.Counts() {
		// DescribeVpcAttribute tells one attribute of one VPC.
		if n -= before[action]; n > regions && action != "DescribeVpcAttribute" && action != "DescribeRepositories" {
			t.Errorf("%d calls of %s in %d regions", n, action, regions)
		}
	}
	const minute = 1500 * time.Millisecond
	w.Admin(fmt.Sprintf(`UPDATE iasql_settings SET value = '%d seconds' WHERE name = 'max_staleness'`,
		int(10*minute/time.Second)),
		`UPDATE iasql_internal.listing SET changed = changed - interval '1 day'`)
	count("twelve quiet minutes", 12*150, func() {
		for range 12 {
			next := time.Now().Add(minute)
			count("a quiet cycle", 700, func() {
				w.Admin(`SELECT iasql_internal.enqueue_sync()`)
				w.Eventually(3*minute, "the minute to end", func() bool { return time.Now().After(next) })
			})
		}
	})
}
