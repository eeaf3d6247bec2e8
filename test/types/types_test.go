package types

import (
	"embed"
	"encoding/json"
	"io/fs"
	"strings"
	"testing"

	"iasql/internal/test/cloudcontrol"
	"iasql/internal/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

//go:embed schemas
var schemas embed.FS

const (
	sender = "Example::Mail::Sender"
	list   = "Example::Mail::List"
)

// world is a database, an engine, and a fake account that has the types of the folder
// schemas.
type world struct {
	*harness.World
	fake   *cloudcontrol.Server
	at     cloudcontrol.Scope
	engine *harness.Process
}

func start(t *testing.T, options cloudcontrol.Options, types ...string) *world {
	t.Helper()
	return startBeside(t, options, nil, types...)
}

// startBeside does the same with modules, if there are any, whose calls go to the emulator.
func startBeside(t *testing.T, options cloudcontrol.Options, modules []string, types ...string) *world {
	t.Helper()
	w := &world{World: harness.NewWorld(t)}
	if options.Schemas == nil {
		folder, err := fs.Sub(schemas, "schemas")
		if err != nil {
			t.Fatal(err)
		}
		if options.Schemas, err = cloudcontrol.FromFS(folder); err != nil {
			t.Fatal(err)
		}
	}
	options.Account = func(string) string { return "123456789012" }
	w.fake = cloudcontrol.Start(t, options)
	w.at = cloudcontrol.Scope{Account: "123456789012", Region: "us-east-1"}
	w.Endpoint = w.fake.URL
	if len(modules) > 0 {
		w.Endpoint = w.fake.Beside(t, w.AWS.Endpoint)
	}
	w.engine = w.Serve()
	w.Install([]string{"us-east-1"}, modules...)
	if len(types) > 0 {
		w.PSQL(`SELECT * FROM iasql_install('` + strings.Join(types, "', '") + `')`)
	}
	return w
}

// only returns the one object that there is of a type, with its secrets.
func (w *world) only(typeName string) (id string, object map[string]any) {
	w.Helper()
	all := w.fake.Secrets(w.at, typeName)
	if len(all) != 1 {
		w.Fatalf("there are %d objects of %s: %v", len(all), typeName, all)
	}
	for id, object = range all {
	}
	return id, object
}

// holds fails unless the object of a type holds what the JSON object says.
func (w *world) holds(typeName, want string) (id string) {
	w.Helper()
	id, object := w.only(typeName)
	var members map[string]any
	if err := json.Unmarshal([]byte(want), &members); err != nil {
		w.Fatal(err)
	}
	for name, value := range members {
		wanted, _ := json.Marshal(value)
		got, _ := json.Marshal(object[name])
		if string(got) != string(wanted) {
			w.Errorf("%s of %s is %s, not %s", name, typeName, got, wanted)
		}
	}
	return id
}

func (w *world) is(want, query string) {
	w.Helper()
	if got := w.PSQL(query); got != want {
		w.Errorf("%s: %s instead of %s", query, got, want)
	}
}

// refused fails unless a statement fails and says something.
func (w *world) refused(says, statement string) {
	w.Helper()
	if said := w.Refused(statement); !strings.Contains(said, says) {
		w.Errorf("%s: does not say %q: %s", statement, says, said)
	}
}

// edit changes the object of a type as somebody else does.
func (w *world) edit(typeName string, change func(map[string]any)) {
	w.Helper()
	id, _ := w.only(typeName)
	if err := w.fake.Edit(w.at, typeName, id, change); err != nil {
		w.Fatal(err)
	}
}
