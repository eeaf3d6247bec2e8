package awssecuritygroup

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"iasql/internal/modules"
	"iasql/internal/test/awstest"
)

// cloud is what EC2 does with the rules of groups, all or nothing in each call (page
// AuthorizeSecurityGroupIngress; its answer has every rule).
type cloud struct {
	lock   sync.Mutex
	calls  map[string]int
	rules  []url.Values // as they were asked for
	tagged int          // tags of objects that were set or removed
	lost   bool         // the answer to what is done
	terse  bool         // the answer has the last rule only
}

func (e *cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	e.lock.Lock()
	defer e.lock.Unlock()
	action := r.Form.Get("Action")
	e.calls[action]++
	refuse := func(code string) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `<Response><Errors><Error><Code>%s</Code><Message>it is so</Message></Error></Errors></Response>`, code)
	}
	var told []url.Values
	switch {
	case strings.HasPrefix(action, "Authorize"):
		var asked []url.Values
		for i := 1; r.Form.Get(fmt.Sprintf("IpPermissions.%d.IpProtocol", i)) != ""; i++ {
			at := fmt.Sprintf("IpPermissions.%d.", i)
			rule := url.Values{"group": {r.Form.Get("GroupId")}, "protocol": {r.Form.Get(at + "IpProtocol")},
				"from": {r.Form.Get(at + "FromPort")}, "to": {r.Form.Get(at + "ToPort")},
				"cidr": {r.Form.Get(at + "IpRanges.1.CidrIp")}, "tag": {r.Form.Get("TagSpecification.1.Tag.1.Value")},
				"egress": {fmt.Sprint(strings.HasSuffix(action, "Egress"))}}
			if rule.Get("from") == "13" {
				refuse("InvalidParameterValue")
				return
			}
			if slices.ContainsFunc(e.rules, func(other url.Values) bool {
				return other.Get("from") == rule.Get("from") && other.Get("group") == rule.Get("group")
			}) {
				refuse("InvalidPermission.Duplicate")
				return
			}
			rule.Set("id", fmt.Sprintf("sgr-%d", len(e.rules)+len(asked)+1))
			asked = append(asked, rule)
		}
		e.rules = append(e.rules, asked...)
		if told = asked; e.terse {
			told = asked[len(asked)-1:]
		}
	case strings.HasPrefix(action, "Revoke"):
		for i := 1; r.Form.Get(fmt.Sprintf("SecurityGroupRuleId.%d", i)) != ""; i++ {
			id := r.Form.Get(fmt.Sprintf("SecurityGroupRuleId.%d", i))
			if !slices.ContainsFunc(e.rules, func(rule url.Values) bool { return rule.Get("id") == id }) {
				refuse("InvalidSecurityGroupRuleId.NotFound")
				return
			}
			told = append(told, url.Values{"id": {id}})
		}
		e.rules = slices.DeleteFunc(e.rules, func(rule url.Values) bool {
			return slices.ContainsFunc(told, func(gone url.Values) bool { return gone.Get("id") == rule.Get("id") })
		})
		told = nil
	case strings.HasSuffix(action, "Tags"):
		for i := 1; r.Form.Get(fmt.Sprintf("ResourceId.%d", i)) != ""; i++ {
			if r.Form.Get(fmt.Sprintf("ResourceId.%d", i)) == "sgr-none" {
				refuse("InvalidID")
				return
			}
			e.tagged += len(r.Form["Tag.1.Key"])
		}
	case action == "DescribeSecurityGroupRules":
		told = e.rules
	}
	if e.lost && action != "DescribeSecurityGroupRules" {
		conn, _, _ := w.(http.Hijacker).Hijack()
		conn.Close()
		return
	}
	set := "securityGroupRuleSet"
	fmt.Fprintf(w, `<%sResponse><return>true</return><%s>`, action, set)
	for _, rule := range told {
		fmt.Fprintf(w, `<item><securityGroupRuleId>%s</securityGroupRuleId><groupId>%s</groupId><isEgress>%s</isEgress><ipProtocol>%s</ipProtocol><fromPort>%s</fromPort><toPort>%s</toPort><cidrIpv4>%s</cidrIpv4><tagSet><item><key>iasql:token</key><value>%s</value></item></tagSet></item>`,
			rule.Get("id"), rule.Get("group"), rule.Get("egress"), rule.Get("protocol"), rule.Get("from"),
			rule.Get("to"), rule.Get("cidr"), rule.Get("tag"))
	}
	fmt.Fprintf(w, `</%s></%sResponse>`, set, action)
}

func (e *cloud) count(verb string) (n int) {
	e.lock.Lock()
	defer e.lock.Unlock()
	for action, calls := range e.calls {
		if strings.HasPrefix(action, verb) {
			n += calls
		}
	}
	return n
}

func newCloud(t *testing.T) (*cloud, string) {
	e := &cloud{calls: map[string]int{}}
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	return e, server.URL
}

func wanted(port int) modules.Row {
	return modules.Row{"security_group_id": text("sg-1"), "is_egress": modules.Bool(false), "ip_protocol": text("6"),
		"from_port": modules.Int(port), "to_port": modules.Int(port), "cidr_ipv4": text("10.0.0.0/8")}
}

// atOnce does something about several ports as the operations of one plan.
func atOnce(t *testing.T, ports []int, do func(r modules.Resource, i int, port int) error, r modules.Resource) []error {
	t.Helper()
	errs := make([]error, len(ports))
	var all sync.WaitGroup
	for i, port := range ports {
		all.Go(func() { errs[i] = do(r, i, port) })
	}
	all.Wait()
	return errs
}

// Rules of a group that are made at once are made by few calls, each with an intent and an
// id of its own. One that is refused holds up none of the others.
func TestRulesTogether(t *testing.T) {
	t.Parallel()
	for name, terse := range map[string]bool{"all are answered": false, "the last is answered": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, endpoint := newCloud(t)
			e.terse = terse
			r := newRule(awstest.Fake(endpoint))
			journals := make([]awstest.Journal, 41)
			rows := make([]modules.Row, 41)
			token := "first-"
			create := func(r modules.Resource, i, port int) (err error) {
				ctx, permit := t.Context(), &modules.Permit{Journal: &journals[i], Accompanied: true}
				rows[i], err = awstest.Create(ctx, r.(modules.Creator), permit, scope, wanted(port),
					fmt.Sprint(token, port))
				return err
			}
			var ports []int
			for i := range 40 {
				ports = append(ports, 100+i)
			}
			ids := map[string]bool{}
			for i, err := range atOnce(t, ports, create, r) {
				calls, _ := journals[i].Take()
				if err != nil || len(calls) != 1 {
					t.Fatalf("port %d: %v, in the intent log: %v", ports[i], err, calls)
				}
				ids[rows[i]["security_group_rule_id"].String()] = true
				for _, rule := range e.rules {
					if rule.Get("id") == rows[i]["security_group_rule_id"].String() &&
						rule.Get("from") != fmt.Sprint(ports[i]) {
						t.Errorf("the rule of port %d is taken for that of %s", ports[i], rule.Get("from"))
					}
					if len(rule.Get("tag")) > longestTag {
						t.Errorf("a tag has %d characters", len(rule.Get("tag")))
					}
				}
			}
			if len(ids) != 40 || e.count("Authorize") > 8 {
				t.Errorf("%d rules by %d calls", len(ids), e.count("Authorize"))
			}
			// One is refused, one is there already.
			token = "second-"
			errs := atOnce(t, []int{1, 13, 100, 2}, create, r)
			if errs[0] != nil || modules.ClassOf(errs[1]) != modules.Invalid ||
				modules.ClassOf(errs[2]) != modules.Exists || errs[3] != nil {
				t.Errorf("two of four are refused: %v", errs)
			}
			// They go together, too; that one is not there keeps none of the others.
			before := e.count("Revoke")
			remove := func(r modules.Resource, i, port int) error {
				have := wanted(port)
				have["security_group_rule_id"] = text(fmt.Sprint("sgr-", port))
				return awstest.Delete(t.Context(), r.(modules.Deleter),
					&modules.Permit{Journal: &awstest.Journal{}, Accompanied: true}, scope, have)
			}
			for i, err := range atOnce(t, []int{1, 2, 3, 4, 5, 6, 7, 8}, remove, r) {
				if err != nil {
					t.Errorf("delete sgr-%d: %v", i+1, err)
				}
			}
			if n := e.count("Revoke") - before; n > 3 || len(e.rules) != 34 {
				t.Errorf("8 rules were deleted by %d calls, and %d are left", n, len(e.rules))
			}
			for _, err := range atOnce(t, []int{9, 999, 10}, remove, r) {
				if err != nil {
					t.Errorf("delete what may have gone: %v", err)
				}
			}
			if len(e.rules) != 32 {
				t.Errorf("%d rules are left", len(e.rules))
			}
		})
	}
}

// What became of rules whose call was not answered is found for each by its own token.
func TestRulesInDoubt(t *testing.T) {
	t.Parallel()
	e, endpoint := newCloud(t)
	e.lost = true
	r := newRule(awstest.Fake(endpoint))
	ports := []int{80, 443, 8080}
	for i, err := range atOnce(t, ports, func(r modules.Resource, _, port int) error {
		_, err := awstest.Create(t.Context(), r.(modules.Creator),
			&modules.Permit{Journal: &awstest.Journal{}, Accompanied: true}, scope, wanted(port),
			fmt.Sprint("token-", port))
		return err
	}, r) {
		if modules.ClassOf(err) != modules.MayHaveHappened {
			t.Errorf("port %d: %v", ports[i], err)
		}
	}
	found, err := r.FindCreated(t.Context(), scope, []string{"token-80", "token-443", "token-8080", "token-81", "80"})
	if err != nil || len(found) != len(ports) {
		t.Fatalf("found %v, %v", found, err)
	}
	for _, port := range ports {
		if row := found[fmt.Sprint("token-", port)]; row["from_port"].Int() != int64(port) {
			t.Errorf("the rule of port %d is %v", port, row)
		}
	}
	// A mark that was made for something else is none.
	e.lock.Lock()
	e.rules[0].Set("from", "1")
	e.lock.Unlock()
	if found, err = r.FindCreated(t.Context(), scope, []string{"token-80", "token-443", "token-8080"}); err != nil ||
		len(found) != 2 {
		t.Errorf("found %v, %v", found, err)
	}
}

// A rule that is alone in its plan waits for nobody.
func TestRuleAlone(t *testing.T) {
	t.Parallel()
	e, endpoint := newCloud(t)
	r := newRule(awstest.Fake(endpoint))
	ctx, permit := t.Context(), awstest.Permit()
	if _, err := awstest.Create(ctx, r, permit, scope, wanted(1), "warm"); err != nil { // connects
		t.Fatal(err)
	}
	best := time.Hour
	for i := range 10 {
		begun := time.Now()
		if _, err := awstest.Create(ctx, r, permit, scope, wanted(100+i), fmt.Sprint("token-", i)); err != nil {
			t.Fatal(err)
		}
		best = min(best, time.Since(begun))
	}
	if best >= 20*time.Millisecond {
		t.Errorf("it takes %s", best)
	}
	if e.rules[1].Get("tag") != "token-0" {
		t.Errorf("its tag is %s", e.rules[1].Get("tag"))
	}
}

// Objects that get, or lose, the same tags at once do so by few calls, and those that get
// others by others. One that is not there keeps none from theirs.
func TestTagsTogether(t *testing.T) {
	t.Parallel()
	e, endpoint := newCloud(t)
	r := newRule(awstest.Fake(endpoint))
	change := func(ids []string, from, to func(id string) map[string]string) (failed []string) {
		var lock sync.Mutex
		var all sync.WaitGroup
		for _, id := range ids {
			all.Go(func() {
				have := modules.Row{"security_group_rule_id": text(id), "security_group_id": text("sg-1"),
					"tags": tags(from(id))}
				want := have.Clone()
				want["tags"] = tags(to(id))
				journal := &awstest.Journal{}
				err := awstest.Update(t.Context(), r, &modules.Permit{Journal: journal, Accompanied: true}, scope, have,
					want, []string{"tags"})
				lock.Lock()
				defer lock.Unlock()
				if calls, _ := journal.Take(); len(calls) != 1 {
					t.Errorf("%s: in the intent log: %v", id, calls)
				}
				if err != nil {
					failed = append(failed, id)
				}
			})
		}
		all.Wait()
		return failed
	}
	var ids []string
	for i := range 40 {
		ids = append(ids, fmt.Sprint("sgr-", i))
	}
	same := func(m map[string]string) func(string) map[string]string {
		return func(string) map[string]string { return m }
	}
	if failed := change(ids, same(nil), same(map[string]string{"team": "web"})); len(failed) > 0 || e.tagged != 40 ||
		e.count("CreateTags") > 3 {
		t.Errorf("%d objects were tagged by %d calls, but for %v", e.tagged, e.count("CreateTags"), failed)
	}
	before := e.count("CreateTags")
	if failed := change(ids[:6], same(nil), func(id string) map[string]string {
		return map[string]string{"Name": id}
	}); len(failed) > 0 || e.count("CreateTags")-before != 6 {
		t.Errorf("6 different tags by %d calls, but for %v", e.count("CreateTags")-before, failed)
	}
	e.tagged = 0
	if failed := change(append(ids[:10:10], "sgr-none"), same(map[string]string{"team": "web"}), same(nil)); !slices.Equal(failed, []string{"sgr-none"}) || e.tagged < 10 {
		t.Errorf("%d of 10 lost their tag, but for %v", e.tagged, failed)
	}
}
