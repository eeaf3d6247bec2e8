package awsiam

import (
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"iasql/internal/aws/declare"
	"iasql/internal/modules"
	"iasql/internal/test/awstest"
	"iasql/internal/test/testaws"
)

func TestMain(m *testing.M) { testaws.Main(m) }

const (
	readOnly = "arn:aws:iam::aws:policy/ReadOnlyAccess"
	billing  = "arn:aws:iam::aws:policy/job-function/Billing"
)

func trust(t *testing.T, service string) modules.Value {
	return parse(t, `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"`+service+
		`"},"Action":"sts:AssumeRole"}]}`)
}

func inline(action string) string {
	return `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"` + action + `","Resource":"*"}]}`
}

func parse(t *testing.T, text string) modules.Value {
	t.Helper()
	v, err := modules.JSONText(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// policyChanges are changes that roles and users have in common.
func policyChanges(t *testing.T) map[string][]modules.Value {
	return map[string][]modules.Value{
		"attached_policies_arns": {modules.Strings([]string{billing, readOnly}), modules.Strings([]string{billing}),
			modules.Null},
		"inline_policies": {
			parse(t, `{"one":`+inline("s3:ListAllMyBuckets")+`,"two":`+inline("s3:Get*")+`}`),
			parse(t, `{"two":`+inline("s3:Put*")+`}`),
			modules.Null,
		},
		"tags": {modules.StringMap(map[string]string{"a": "1", "b": ""}), modules.Null},
	}
}

func TestRoleLifecycle(t *testing.T) {
	t.Parallel()
	changes := policyChanges(t)
	changes["assume_role_policy_document"] = []modules.Value{trust(t, "lambda.amazonaws.com")}
	changes["description"] = []modules.Value{modules.Text("50% + more"), modules.Null}
	changes["max_session_duration"] = []modules.Value{modules.Int(7200)}
	changes["permissions_boundary"] = []modules.Value{modules.Text(readOnly), modules.Null}
	awstest.Lifecycle(t, awstest.Case{
		Resource: newRole(awstest.Clients(t)),
		Scope:    awstest.Scope(""),
		Want: modules.Row{
			"role_name": modules.Text("life"), "path": modules.Text("/team/"),
			"assume_role_policy_document": trust(t, "ec2.amazonaws.com"),
			"description":                 modules.Text("a role"),
			"max_session_duration":        modules.Int(3600),
			"attached_policies_arns":      modules.Strings([]string{readOnly}),
			"inline_policies":             parse(t, `{"one":`+inline("s3:*")+`}`),
			"permissions_boundary":        modules.Null,
			"tags":                        modules.StringMap(map[string]string{"env": "test"}),
		},
		Changes: changes,
		Calls:   map[string]int{"tags": 2, "inline_policies": 2},
	})
}

func TestUserLifecycle(t *testing.T) {
	t.Parallel()
	changes := policyChanges(t)
	changes["path"] = []modules.Value{modules.Text("/"), modules.Text("/a/b/")}
	changes["groups"] = []modules.Value{modules.Strings([]string{"one", "two"}), modules.Strings([]string{"two"}), modules.Null}
	clients := awstest.Clients(t)
	c, err := declare.Client(t.Context(), clients.Permitted(awstest.Permit()), awstest.Scope(""), iam.NewFromConfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range []string{"one", "two"} {
		if _, err := c.CreateGroup(t.Context(), &iam.CreateGroupInput{GroupName: &group}); err != nil {
			t.Fatal(err)
		}
	}
	// moto keeps tags by ARN and loses them with UpdateUser's NewPath, which AWS
	// does not; so that the path changes, the user has none to begin with.
	awstest.Lifecycle(t, awstest.Case{
		Resource: newUser(clients),
		Scope:    awstest.Scope(""),
		Want: modules.Row{
			"user_name": modules.Text("life"), "path": modules.Text("/team/"),
			"attached_policies_arns": modules.Strings([]string{readOnly}),
			"inline_policies":        parse(t, `{"one":`+inline("s3:*")+`}`),
			"tags":                   modules.Null,
		},
		Changes:   changes,
		Calls:     map[string]int{"tags": 2, "inline_policies": 2, "groups": 2},
		Elsewhere: []string{"permissions_boundary", "password_reset_required"}, // TestUserBesidesPolicies
	})
}

// A policy is found to be the same however it is written.
func TestSamePolicies(t *testing.T) {
	a := `{"p":{"Statement":[{"Effect":"Allow","Action":["s3:Get*"],"Resource":"*"}]}}`
	b := `{"p":{"Statement":{"Effect":"Allow","Action":"s3:get*","Resource":["*"]}}}`
	if !samePolicies(a, b) || samePolicies(a, `{"q":`+inline("s3:Get*")+`}`) ||
		samePolicies(a, `{"p":`+inline("s3:Put*")+`}`) {
		t.Error("got the opposite")
	}
}

// The role of an instance profile of another name stays; that of its own name
// goes, with the profile. Service-linked roles are refused.
func TestDeleteRole(t *testing.T) {
	t.Parallel()
	clients, scope := awstest.Clients(t), awstest.Scope("")
	journal := &awstest.Journal{}
	ctx, permit := t.Context(), awstest.PermitBy(journal)
	r := newRole(clients)
	c, err := declare.Client(ctx, clients.Permitted(permit), scope, iam.NewFromConfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, profile := range []string{"same", "other"} {
		row := modules.Row{
			"role_name": modules.Text("same"), "path": modules.Text("/"),
			"assume_role_policy_document": trust(t, "ec2.amazonaws.com"),
		}
		if _, err := awstest.Create(ctx, r, permit, scope, row, ""); err != nil {
			t.Fatal(err)
		}
		if _, err := c.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{InstanceProfileName: &profile}); err != nil {
			t.Fatal(err)
		}
		_, err := c.AddRoleToInstanceProfile(ctx,
			&iam.AddRoleToInstanceProfileInput{InstanceProfileName: &profile, RoleName: awssdk.String("same")})
		if err != nil {
			t.Fatal(err)
		}
		err = awstest.Delete(ctx, r, permit, scope, row)
		if profile == "same" && err != nil {
			t.Errorf("with the profile of its name: %v", err)
		}
		if profile == "other" && (err == nil || modules.ClassOf(err) != modules.Dependency) {
			t.Errorf("in another profile: got %v, want class %s", err, modules.Dependency)
		}
	}
	linked, err := c.CreateServiceLinkedRole(ctx,
		&iam.CreateServiceLinkedRoleInput{AWSServiceName: awssdk.String("autoscaling.amazonaws.com")})
	if err != nil {
		t.Fatal(err)
	}
	journal.Take()
	err = awstest.Delete(ctx, r, permit, scope, modules.Row{"role_name": modules.TextPtr(linked.Role.RoleName)})
	if err == nil || modules.ClassOf(err) != modules.Invalid ||
		!strings.Contains(err.Error(), "service-linked role of autoscaling.amazonaws.com") {
		t.Errorf("service-linked role: got %v", err)
	}
	if calls, _ := journal.Take(); len(calls) > 0 {
		t.Errorf("made the calls %v", calls)
	}
}

// Keys that were made elsewhere are seen, changed and deleted; a user with keys
// is left whole.
func TestAccessKey(t *testing.T) {
	t.Parallel()
	clients, scope := awstest.Clients(t), awstest.Scope("")
	ctx, permit := t.Context(), awstest.Permit()
	r, users := newAccessKey(clients), newUser(clients)
	if r.Can().Create {
		t.Error("creates keys, whose secrets nobody gets")
	}
	if err := r.Table().Validate(); err != nil {
		t.Error(err)
	}
	c, err := declare.Client(ctx, clients.Permitted(permit), scope, iam.NewFromConfig)
	if err != nil {
		t.Fatal(err)
	}
	owner := modules.Row{"user_name": modules.Text("owner"), "path": modules.Text("/"),
		"attached_policies_arns": modules.Strings([]string{readOnly})}
	if _, err := awstest.Create(ctx, users, permit, scope, owner, ""); err != nil {
		t.Fatal(err)
	}
	if err := awstest.Update(ctx, users, permit, scope, modules.Row{"user_name": owner["user_name"]}, owner,
		[]string{"attached_policies_arns"}); err != nil {
		t.Fatal(err)
	}
	made, err := c.CreateAccessKey(ctx, &iam.CreateAccessKeyInput{UserName: owner["user_name"].Ptr()})
	if err != nil {
		t.Fatal(err)
	}
	var listed []modules.Row
	if err := awstest.List(ctx, r, scope, func(rows []modules.Row) error {
		listed = append(listed, rows...)
		return nil
	}); err != nil || len(listed) != 1 {
		t.Fatalf("listed %v, %v", listed, err)
	}
	key := listed[0]
	if key["access_key_id"].String() != *made.AccessKey.AccessKeyId || key["status"].String() != "Active" ||
		key["user_name"] != owner["user_name"] {
		t.Errorf("got %v", key)
	}
	if err := awstest.Update(ctx, r, permit, scope, key, modules.Row{"status": modules.Text("Inactive")},
		[]string{"status"}); err != nil {
		t.Fatal(err)
	}
	absent := modules.Row{"access_key_id": modules.Text("AKIANONE"), "user_name": modules.Text("nobody")}
	rows, err := awstest.Get(ctx, r, scope, []modules.Row{key, absent})
	if err != nil || len(rows) != 1 || rows[0]["status"].String() != "Inactive" {
		t.Errorf("got %v, %v", rows, err)
	}
	// moto deletes users that have keys; AWS refuses (page DeleteUser).
	if err := awstest.Delete(ctx, users, permit, scope, owner); err == nil ||
		modules.ClassOf(err) != modules.Dependency {
		t.Errorf("delete a user with keys: got %v", err)
	}
	if rows, err := awstest.Get(ctx, users, scope, []modules.Row{owner}); err != nil || len(rows) != 1 ||
		rows[0]["attached_policies_arns"].IsNull() {
		t.Errorf("after that: got %v, %v", rows, err)
	}
	for range 2 {
		if err := awstest.Delete(ctx, r, permit, scope, key); err != nil {
			t.Error(err)
		}
	}
	// All that is nothing without the user goes along.
	group := awssdk.String("group")
	if _, err := c.CreateGroup(ctx, &iam.CreateGroupInput{GroupName: group}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.AddUserToGroup(ctx, &iam.AddUserToGroupInput{GroupName: group, UserName: owner["user_name"].Ptr()}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CreateLoginProfile(ctx,
		&iam.CreateLoginProfileInput{UserName: owner["user_name"].Ptr(), Password: awssdk.String("a-Password-1!")}); err != nil {
		t.Fatal(err)
	}
	if err := awstest.Delete(ctx, users, permit, scope, owner); err != nil {
		t.Error(err)
	}
	if rows, err := awstest.Get(ctx, users, scope, []modules.Row{owner}); err != nil || len(rows) != 0 {
		t.Errorf("got %v, %v", rows, err)
	}
}
