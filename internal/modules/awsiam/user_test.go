package awsiam

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"iasql/internal/modules"
	"iasql/internal/test/awstest"
)

// aUser is a user as AWS keeps it (IAM API Reference): moto takes no permissions boundary for a user, nor a change of
// PasswordResetRequired without a password.
type aUser struct {
	lock            sync.Mutex
	boundary        string
	password, reset string // "" of none
	groups          []string
	calls           []string // that changed it
}

func (u *aUser) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	u.lock.Lock()
	defer u.lock.Unlock()
	_ = r.ParseForm()
	action, body, in := r.Form.Get("Action"), "", r.Form.Get
	if !strings.HasPrefix(action, "Get") && !strings.HasPrefix(action, "List") {
		u.calls = append(u.calls, action)
	}
	fail := func(code string) {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, "<ErrorResponse><Error><Code>%s</Code><Message>no</Message></Error></ErrorResponse>", code)
	}
	boundary, groups, names := "", "", ""
	if u.boundary != "" {
		boundary = "<PermissionsBoundary><PermissionsBoundaryType>Policy</PermissionsBoundaryType>" +
			"<PermissionsBoundaryArn>" + u.boundary + "</PermissionsBoundaryArn></PermissionsBoundary>"
	}
	for _, group := range u.groups {
		groups += "<member><GroupName>" + group + "</GroupName></member>"
		names += "<member>" + group + "</member>"
	}
	user := "<UserName>ann</UserName><Path>/</Path><UserId>AIDA1</UserId><Arn>arn:aws:iam::1:user/ann</Arn>" + boundary
	switch action {
	case "GetUser":
		body = "<User>" + user + "</User>"
	case "GetAccountAuthorizationDetails":
		body = "<UserDetailList><member>" + user + "<GroupList>" + names + "</GroupList></member></UserDetailList>"
	case "ListGroupsForUser":
		body = "<Groups>" + groups + "</Groups>"
	case "PutUserPermissionsBoundary":
		u.boundary = in("PermissionsBoundary")
	case "DeleteUserPermissionsBoundary":
		u.boundary = ""
	case "AddUserToGroup":
		u.groups = append(u.groups, in("GroupName"))
	case "RemoveUserFromGroup":
		u.groups = slices.DeleteFunc(u.groups, func(group string) bool { return group == in("GroupName") })
	case "GetLoginProfile":
		if u.password == "" {
			fail("NoSuchEntity")
			return
		}
		body = "<LoginProfile><UserName>ann</UserName><PasswordResetRequired>" + u.reset +
			"</PasswordResetRequired></LoginProfile>"
	case "CreateLoginProfile":
		if u.password != "" {
			fail("EntityAlreadyExists")
			return
		}
		u.password, u.reset = in("Password"), "false"
		if in("PasswordResetRequired") != "" {
			u.reset = in("PasswordResetRequired")
		}
		body = "<LoginProfile><UserName>ann</UserName><CreateDate>2026-01-01T00:00:00Z</CreateDate></LoginProfile>"
	case "UpdateLoginProfile":
		if u.password == "" {
			fail("NoSuchEntity")
			return
		}
		if in("Password") != "" {
			u.password = in("Password")
		}
		u.reset = in("PasswordResetRequired")
	case "DeleteLoginProfile":
		u.password, u.reset = "", ""
	}
	fmt.Fprintf(w, "<%sResponse><%sResult>%s</%sResult></%sResponse>", action, action, body, action, action)
}

// A user's boundary, groups and password are read, by the listing too, set, changed and taken away, with no more
// calls than differ.
func TestUserBesidesPolicies(t *testing.T) {
	t.Parallel()
	ann := &aUser{}
	server := httptest.NewServer(ann)
	t.Cleanup(server.Close)
	r, permit, scope := newUser(awstest.Fake(server.URL)), awstest.Permit(), awstest.Scope("")
	if err := r.Validate(); err != nil {
		t.Fatal(err)
	}
	identity := modules.Row{"user_name": modules.Text("ann")}
	read := func() modules.Row {
		t.Helper()
		rows, err := awstest.Get(t.Context(), r, scope, []modules.Row{identity})
		if err != nil || len(rows) != 1 {
			t.Fatalf("got %v, %v", rows, err)
		}
		if err := awstest.List(t.Context(), r, scope, func(listed []modules.Row) error {
			for _, column := range []string{"permissions_boundary", "groups", "password_reset_required"} {
				if listed[0][column] != rows[0][column] {
					t.Errorf("%s: listed %v, read %v", column, listed[0][column], rows[0][column])
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return rows[0]
	}
	for _, change := range []struct {
		column   string
		value    modules.Value
		password string
		calls    []string
	}{
		{"permissions_boundary", modules.Text(readOnly), "", []string{"PutUserPermissionsBoundary"}},
		{"permissions_boundary", modules.Text(billing), "", []string{"PutUserPermissionsBoundary"}},
		{"permissions_boundary", modules.Null, "", []string{"DeleteUserPermissionsBoundary"}},
		{"groups", modules.Strings([]string{"a", "b"}), "", []string{"AddUserToGroup", "AddUserToGroup"}},
		{"groups", modules.Strings([]string{"b", "c"}), "", []string{"AddUserToGroup", "RemoveUserFromGroup"}},
		{"groups", modules.Null, "", []string{"RemoveUserFromGroup", "RemoveUserFromGroup"}},
		{"password_reset_required", modules.Bool(true), "one", []string{"CreateLoginProfile"}},
		{"password_reset_required", modules.Bool(false), "", []string{"UpdateLoginProfile"}},
		{"password_reset_required", modules.Bool(true), "two", []string{"UpdateLoginProfile"}},
		{"password_reset_required", modules.Null, "", []string{"DeleteLoginProfile"}},
	} {
		have := read()
		want := have.Clone()
		want[change.column], want["password"] = change.value, modules.NonEmpty(change.password)
		columns := []string{change.column}
		if change.password != "" {
			columns = append(columns, "password")
		}
		ann.calls = nil
		if err := awstest.Update(t.Context(), r, permit, scope, have, want, columns); err != nil {
			t.Fatalf("%s to %v: %v", change.column, change.value, err)
		}
		if !slices.Equal(ann.calls, change.calls) {
			t.Errorf("%s to %v made the calls %v, want %v", change.column, change.value, ann.calls, change.calls)
		}
		if got := read()[change.column]; !r.Table().Column(change.column).Same(got, change.value) {
			t.Errorf("%s: got %v, want %v", change.column, got, change.value)
		}
		if change.password != "" && ann.password != change.password {
			t.Errorf("the password is %q, want %q", ann.password, change.password)
		}
	}
}

// A first password is not half said; a password that came meanwhile is replaced; a user who had to choose another
// password has chosen one.
func TestPassword(t *testing.T) {
	t.Parallel()
	ann := &aUser{}
	server := httptest.NewServer(ann)
	t.Cleanup(server.Close)
	r, permit, scope := newUser(awstest.Fake(server.URL)), awstest.Permit(), awstest.Scope("")
	name, none := modules.Text("ann"), modules.Row{"user_name": modules.Text("ann"), "password_reset_required": modules.Null}
	for _, want := range []modules.Row{
		{"user_name": name, "password": modules.Text("one")},
		{"user_name": name, "password_reset_required": modules.Bool(true)},
	} {
		err := awstest.Update(t.Context(), r, permit, scope, none, want, []string{"password", "password_reset_required"})
		if err == nil || modules.ClassOf(err) != modules.Invalid || len(ann.calls) > 0 {
			t.Errorf("%v: got %v and the calls %v", want, err, ann.calls)
		}
	}
	ann.password, ann.reset = "another", "false"
	want := modules.Row{"user_name": name, "password": modules.Text("two"), "password_reset_required": modules.Bool(true)}
	if err := awstest.Update(t.Context(), r, permit, scope, none, want, []string{"password", "password_reset_required"}); err != nil ||
		ann.password != "two" || ann.reset != "true" {
		t.Errorf("got %v, password %q, reset %q", err, ann.password, ann.reset)
	}
	reset := r.Table().Column("password_reset_required")
	if yes, no := modules.Bool(true), modules.Bool(false); !reset.HasPassed(yes, no) || reset.HasPassed(no, yes) {
		t.Error("it passes the wrong way")
	}
}
