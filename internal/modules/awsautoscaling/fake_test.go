package awsautoscaling

import (
	"encoding/xml"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"iasql/internal/aws"
	"iasql/internal/test/awstest"
)

// node is a member of a request of the query protocol, and of its answers: a text,
// a structure or a list.
type node struct {
	text    string
	members map[string]*node
}

func (n *node) member(name string) *node {
	if n.members == nil {
		n.members = map[string]*node{}
	}
	if n.members[name] == nil {
		n.members[name] = &node{}
	}
	return n.members[name]
}

// get returns the text at a path, "" where there is none.
func (n *node) get(path ...string) string {
	for _, name := range path {
		if n.members[name] == nil {
			return ""
		}
		n = n.members[name]
	}
	return n.text
}

// list returns the members of a list in their order.
func (n *node) list(name string) []*node {
	members := n.member(name).member("member").members
	var list []*node
	for i := 1; i <= len(members); i++ {
		list = append(list, members[strconv.Itoa(i)])
	}
	return list
}

func (n *node) setList(name string, list []*node) {
	all := &node{}
	for i, one := range list {
		all.member("member").member(strconv.Itoa(i+1)).members,
			all.member("member").member(strconv.Itoa(i+1)).text = one.members, one.text
	}
	*n.member(name) = *all
}

func (n *node) xml(w *strings.Builder) {
	_ = xml.EscapeText(w, []byte(n.text))
	for _, name := range slices.Sorted(maps.Keys(n.members)) {
		if name == "member" {
			for i := range len(n.members[name].members) {
				w.WriteString("<member>")
				n.members[name].members[strconv.Itoa(i+1)].xml(w)
				w.WriteString("</member>")
			}
			continue
		}
		w.WriteString("<" + name + ">")
		n.members[name].xml(w)
		w.WriteString("</" + name + ">")
	}
}

func parsed(form url.Values) *node {
	root := &node{}
	for key, values := range form {
		at := root
		for _, name := range strings.Split(key, ".") {
			at = at.member(name)
		}
		at.text = values[0]
	}
	return root
}

// fakeGroups keeps groups as the Amazon EC2 Auto Scaling API Reference has it.
// moto's UpdateAutoScalingGroup keeps neither cooldown nor termination policies
// and further ones, and forgets the mixed instances policy. Pages have one group.
type fakeGroups struct {
	sync.Mutex
	groups map[string]*node
	told   map[string][]string // types of events, by group and topic
	hooks  map[string]*node    // by group and name
}

func newFake(t *testing.T, groups map[string]*node) *aws.Clients {
	t.Helper()
	server := httptest.NewServer(&fakeGroups{groups: groups, told: map[string][]string{},
		hooks: map[string]*node{}})
	t.Cleanup(server.Close)
	return awstest.Fake(server.URL)
}

func (f *fakeGroups) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.Lock()
	defer f.Unlock()
	_ = r.ParseForm()
	in := parsed(r.Form)
	action, name := in.get("Action"), in.get("AutoScalingGroupName")
	fail := func(code, message string) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, "<ErrorResponse><Error><Code>%s</Code><Message>%s</Message></Error></ErrorResponse>",
			code, message)
	}
	answer := &node{}
	group := f.groups[name]
	switch {
	case action == "DescribeAutoScalingGroups":
		f.describe(in, answer)
	case action == "DescribeLifecycleHooks":
		var list []*node
		for _, key := range slices.Sorted(maps.Keys(f.hooks)) {
			if of, _, _ := strings.Cut(key, " "); of == name {
				list = append(list, f.hooks[key])
			}
		}
		answer.setList("LifecycleHooks", list)
	case action == "DescribeNotificationConfigurations":
		f.notifications(in, answer)
	case action == "CreateOrUpdateTags" || action == "DeleteTags":
		for _, tag := range in.list("Tags") {
			group := f.groups[tag.get("ResourceId")]
			tags := slices.DeleteFunc(group.list("Tags"), func(n *node) bool { return n.get("Key") == tag.get("Key") })
			if action == "CreateOrUpdateTags" {
				tags = append(tags, tag)
			}
			group.setList("Tags", tags)
		}
	case action == "CreateAutoScalingGroup" && group != nil:
		fail("AlreadyExists", "AutoScalingGroup by this name already exists")
		return
	case action == "CreateAutoScalingGroup":
		group = parsed(url.Values{"HealthCheckType": {"EC2"}, "DefaultCooldown": {"300"},
			"DesiredCapacity": {in.get("MinSize")}, "TerminationPolicies.member.1": {"Default"},
			"AutoScalingGroupARN": {"arn:aws:autoscaling:us-east-1:123456789012:autoScalingGroup:1:autoScalingGroupName/" + name}})
		f.groups[name] = group
		for _, hook := range in.list("LifecycleHookSpecificationList") {
			f.putHook(name, hook)
		}
		delete(in.members, "LifecycleHookSpecificationList")
		change(group, in)
	case group == nil:
		fail("ValidationError", "AutoScalingGroup name not found - AutoScalingGroup '"+name+"' not found")
		return
	case action == "PutLifecycleHook":
		f.putHook(name, in)
	case action == "DeleteLifecycleHook":
		delete(f.hooks, name+" "+in.get("LifecycleHookName"))
	case action == "PutWarmPool":
		pool := group.member("WarmPoolConfiguration")
		for _, member := range []string{"PoolState", "MinSize", "MaxGroupPreparedCapacity", "InstanceReusePolicy"} {
			if to := in.members[member]; to != nil {
				*pool.member(member) = *to
			}
		}
		if pool.get("MaxGroupPreparedCapacity") == "-1" {
			delete(pool.members, "MaxGroupPreparedCapacity")
		}
	case action == "DeleteWarmPool":
		delete(group.members, "WarmPoolConfiguration")
	case action == "PutNotificationConfiguration":
		var types []string
		for _, n := range in.list("NotificationTypes") {
			types = append(types, n.text)
		}
		f.told[name+" "+in.get("TopicARN")] = types
	case action == "DeleteNotificationConfiguration":
		delete(f.told, name+" "+in.get("TopicARN"))
	case action == "UpdateAutoScalingGroup":
		change(group, in)
	case action == "AttachLoadBalancerTargetGroups":
		group.setList("TargetGroupARNs", append(group.list("TargetGroupARNs"), in.list("TargetGroupARNs")...))
	case action == "DetachLoadBalancerTargetGroups":
		group.setList("TargetGroupARNs", slices.DeleteFunc(group.list("TargetGroupARNs"), func(n *node) bool {
			return n.text == in.list("TargetGroupARNs")[0].text
		}))
	case action == "DeleteAutoScalingGroup" && in.get("ForceDelete") != "true" && group.get("DesiredCapacity") != "0":
		fail("ResourceInUse", "You cannot delete an AutoScalingGroup while there are instances or pending Spot "+
			"instance request(s) still in the group.")
		return
	case action == "DeleteAutoScalingGroup":
		delete(f.groups, name)
	}
	var b strings.Builder
	answer.xml(&b)
	fmt.Fprintf(w, "<%sResponse><%sResult>%s</%sResult></%sResponse>", action, action, b.String(), action, action)
}

func (f *fakeGroups) describe(in, answer *node) {
	names := slices.Sorted(maps.Keys(f.groups))
	if asked := in.list("AutoScalingGroupNames"); len(asked) > 0 {
		names = slices.DeleteFunc(names, func(name string) bool {
			return !slices.ContainsFunc(asked, func(n *node) bool { return n.text == name })
		})
	}
	first, _ := strconv.Atoi(in.get("NextToken"))
	if first < len(names) {
		answer.member("AutoScalingGroups")
		answer.setList("AutoScalingGroups", []*node{f.groups[names[first]]})
	}
	if first+1 < len(names) {
		answer.member("NextToken").text = strconv.Itoa(first + 1)
	}
}

// putHook makes a hook, or changes what is said of the one that there is (page PutLifecycleHook).
func (f *fakeGroups) putHook(group string, in *node) {
	key := group + " " + in.get("LifecycleHookName")
	if f.hooks[key] == nil {
		f.hooks[key] = parsed(url.Values{"AutoScalingGroupName": {group}, "HeartbeatTimeout": {"3600"},
			"GlobalTimeout": {"172800"}, "DefaultResult": {"ABANDON"}})
	}
	for _, name := range []string{"LifecycleHookName", "LifecycleTransition", "HeartbeatTimeout", "DefaultResult",
		"NotificationMetadata", "NotificationTargetARN", "RoleARN"} {
		if to := in.members[name]; to != nil {
			*f.hooks[key].member(name) = *to
		}
	}
}

// notifications tells one type of events of one topic a page.
func (f *fakeGroups) notifications(in, answer *node) {
	var all []*node
	for _, key := range slices.Sorted(maps.Keys(f.told)) {
		group, topic, _ := strings.Cut(key, " ")
		for _, kind := range f.told[key] {
			if group == in.list("AutoScalingGroupNames")[0].text {
				all = append(all, parsed(url.Values{"TopicARN": {topic}, "NotificationType": {kind}, "AutoScalingGroupName": {group}}))
			}
		}
	}
	first, _ := strconv.Atoi(in.get("NextToken"))
	answer.member("NotificationConfigurations")
	if first < len(all) {
		answer.setList("NotificationConfigurations", []*node{all[first]})
	}
	if first+1 < len(all) {
		answer.member("NextToken").text = strconv.Itoa(first + 1)
	}
}

// change makes a group what the request says. What it leaves out stays.
func change(group, in *node) {
	for name, to := range in.members {
		switch {
		case name == "Action" || name == "Version":
		case name == "PlacementGroup" && to.text == "", name == "MaxInstanceLifetime" && to.text == "0",
			name == "DefaultInstanceWarmup" && to.text == "-1",
			name == "InstanceMaintenancePolicy" && to.get("MinHealthyPercentage") == "-1":
			delete(group.members, name)
		default:
			group.members[name] = to
		}
		if slices.Contains(sources, name) {
			for _, other := range sources {
				if other != name {
					delete(group.members, other)
				}
			}
		}
	}
}

// sources are the members one of which says what instances are made from.
var sources = []string{"LaunchTemplate", "MixedInstancesPolicy", "LaunchConfigurationName"}
