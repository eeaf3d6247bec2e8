package awstypes

import (
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol/types"

	"iasql/internal/modules"
	"iasql/internal/test/awstest"
	"iasql/internal/test/cloudcontrol"
)

// thing is a type whose objects users name.
const thing = `{"typeName": "Example::Thing::Thing", "description": "A thing.", "additionalProperties": false,
	"properties": {"Name": {"type": "string"}, "Size": {"type": "integer"}},
	"required": ["Name"], "primaryIdentifier": ["/properties/Name"], "createOnlyProperties": ["/properties/Name"],
	"handlers": {"create": {"permissions": []}, "read": {"permissions": []}, "update": {"permissions": []}, "delete": {"permissions": []}, "list": {"permissions": []}}}`

func newThing(t *testing.T) (*resource, *cloudcontrol.Server) {
	t.Helper()
	const name = "Example::Thing::Thing"
	fake := cloudcontrol.Start(t, cloudcontrol.Options{Schemas: map[string][]byte{name: []byte(thing)}})
	source := &Source{Clients: awstest.Fake(fake.URL)}
	d, err := source.Describe(t.Context(), awstest.Scope("us-east-1"), name)
	if err != nil {
		t.Fatal(err)
	}
	d.Revision = 1
	if err := source.Lay(&d, func(string) bool {
		return false
	}, func(string) modules.Resource { return nil }); err != nil {
		t.Fatal(err)
	}
	m, err := source.Module(&d)
	if err != nil {
		t.Fatal(err)
	}
	return m.Resources[0].(*resource), fake
}

func TestEveryHandlerErrorCodeHasAClass(t *testing.T) {
	t.Parallel()
	for _, code := range types.HandlerErrorCode("").Values() {
		if _, known := classes[code]; !known {
			t.Errorf("%s has none", code)
		}
	}
}

// TestAbsenceIsProven: only the answer that an object is not there says so.
func TestAbsenceIsProven(t *testing.T) {
	t.Parallel()
	r, fake := newThing(t)
	scope, ask := awstest.Scope("us-east-1"), []modules.Row{{"name": modules.Text("none")}}
	if rows, err := awstest.Get(t.Context(), r, scope, ask); err != nil || len(rows) > 0 {
		t.Errorf("%v, %v", rows, err)
	}
	for _, code := range []string{"TypeNotFoundException", "UnsupportedActionException", "AccessDenied",
		"InvalidRequest", "ServiceInternalError",
		"GeneralServiceException", "NotStabilized", "ResourceConflict", "InvalidCredentials",
		"RequestTokenNotFoundException"} {
		fake.Fail("GetResource", "", -1, code)
		rows, err := awstest.Get(t.Context(), r, scope, ask)
		if err == nil {
			t.Errorf("%s: %v", code, rows)
		}
		if modules.ClassOf(err) == modules.NotFound {
			t.Errorf("%s is taken for absence", code)
		}
		fake.Clear()
	}
}

// TestOneThatCannotBeRead does not hide the others of a listing.
func TestOneThatCannotBeRead(t *testing.T) {
	t.Parallel()
	r, fake := newThing(t)
	at := fake.ScopeFor("AKIAFAKE", "us-east-1")
	for _, name := range []string{"a", "b", "c"} {
		if _, err := fake.Put(at, r.t.Name, map[string]any{"Name": name}); err != nil {
			t.Fatal(err)
		}
	}
	fake.Fail("GetResource", "", 1, "InvalidRequest")
	n := 0
	err := awstest.List(t.Context(), r, awstest.Scope("us-east-1"), func(rows []modules.Row) error {
		n += len(rows)
		return nil
	})
	var unread *modules.Unread
	if !errors.As(err, &unread) || len(unread.Objects) != 1 || n != 2 {
		t.Errorf("%d were read: %v", n, err)
	}
}

// TestTurns: of many objects a listing reads those whose turn it is, and shows the others.
func TestTurns(t *testing.T) {
	t.Parallel()
	r, fake := newThing(t)
	at := fake.ScopeFor("AKIAFAKE", "us-east-1")
	const objects = 70
	for i := range objects {
		if _, err := fake.Put(at, r.t.Name, map[string]any{"Name": fmt.Sprintf("n%02d", i), "Size": i}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		due   func(modules.Row) bool
		reads int
	}{
		{nil, objects},
		{func(o modules.Row) bool { return o["name"].String() < "n05" }, 5},
	} {
		before, whole, shown := fake.Calls("GetResource", r.t.Name), 0, 0
		err := awstest.ListAs(t.Context(), r, modules.ListRequest{Scope: awstest.Scope("us-east-1"), Due: c.due},
			func(rows []modules.Row) error {
				for _, row := range rows {
					shown++
					if _, read := row["size"]; read {
						whole++
					}
				}
				return nil
			})
		if n := fake.Calls("GetResource", r.t.Name) - before; err != nil || shown != objects || whole != c.reads ||
			n != c.reads {
			t.Errorf("%d are shown, %d whole, by %d reads, not %d: %v", shown, whole, n, c.reads, err)
		}
	}
}
