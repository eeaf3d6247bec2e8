package cells

import (
	"maps"
	"reflect"
	"strings"
	"testing"
)

func TestServerOptions(t *testing.T) {
	t.Setenv("PGSERVICEFILE", "testdata/pg_service.conf")
	for connection, want := range map[string]map[string]string{
		"postgres://u@db/iasql": {"host": "db", "port": "5432", "dbname": "iasql"},
		"postgres://u@a:1,b/iasql?target_session_attrs=read-write&connect_timeout=9": {"host": "a,b", "port": "1,5432",
			"dbname": "iasql", "target_session_attrs": "read-write", "connect_timeout": "9"},
		"postgresql://u@[::1]:7/iasql":                  {"host": "::1", "port": "7", "dbname": "iasql"},
		"postgres:///iasql?host=/run/postgresql&user=u": {"host": "/run/postgresql", "dbname": "iasql"},
		"postgres:///?service=eu":                       {"service": "eu"},
	} {
		all := maps.Clone(defaultParameters)
		maps.Copy(all, want)
		if got, err := serverOptions(connection); err != nil || !reflect.DeepEqual(got, all) {
			t.Errorf("%s: %v, %v", connection, got, err)
		}
	}
	for connection, want := range map[string]string{
		"postgres://u:hidden@db/iasql":          "has a password",
		"postgres://u@db/iasql?password=hidden": "has a password",
		"host=db password=hidden":               "is a URL",
		"postgres://u:%zz@db/hidden":            "is a URL",
		"postgres:///iasql":                     "does not say its host",
		"postgres://u@db":                       "does not say its dbname",
		"postgres://u@db/iasql?passfile=/x":     `parameter "passfile"`,
		"postgres://u@db/iasql?updatable=true":  `parameter "updatable"`,
		"postgres:///?service=nowhere":          "nowhere",
	} {
		_, err := serverOptions(connection)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: %v, want %q", connection, err, want)
		}
	}
}

func TestColumnsOfAllCells(t *testing.T) {
	t.Parallel()
	cell := func(name, why string, columns ...column) *unionCell {
		return &unionCell{Cell: Cell{Name: name}, why: why, local: map[string][]column{"queue": columns}}
	}
	id, name := column{"id", "bigint"}, column{"name", "text"}
	u := &union{cells: []*unionCell{
		cell("eu", "", id, name, column{"rank", "integer"}, column{"cell", "text"}),
		cell("us", "", id, column{"rank", "text"}, name, column{"own", "jsonb"}),
		cell("gone", "marked lost", id, column{"old", "date"}),
	}}
	existing := []column{{"cell", "text"}, name, id}
	columns := merged(u.cells, "queue", existing)
	want := []column{name, id, {"rank", "text"}, {"own", "jsonb"}, {"old", "date"}}
	if !reflect.DeepEqual(columns, want) {
		t.Errorf("columns: %v", columns)
	}
	if !extends(columns, existing) || extends(columns[1:], existing) || extends(columns[:1], existing) {
		t.Error("which views can be replaced is told wrong")
	}
	if got := u.query("queue", columns); got != `SELECT 'eu'::text AS cell, "name", "id", "rank"::text AS "rank", `+
		`NULL::jsonb AS "own", NULL::date AS "old" FROM "cell_eu"."queue"
UNION ALL
SELECT 'us'::text AS cell, "name", "id", "rank", "own", NULL::date AS "old" FROM "cell_us"."queue"` {
		t.Errorf("the view: %s", got)
	}
	u.cells = u.cells[2:]
	if got := u.query("queue", columns[:1]); got != `SELECT NULL::text AS cell, NULL::text AS "name" WHERE false` {
		t.Errorf("the view of no cells: %s", got)
	}
}

func TestOptionChanges(t *testing.T) {
	t.Parallel()
	have := map[string]string{"host": "a", "port": "1", "passfile": "/x", "sslmode": "require"}
	want := map[string]string{"host": "it's", "port": "1", "dbname": "d"}
	if got := optionChanges(have, want); got != `ADD "dbname" 'd', DROP "sslmode", SET "host" 'it''s'` {
		t.Error(got)
	}
}

func TestDifferences(t *testing.T) {
	t.Parallel()
	like := func(change func(*facts)) *facts {
		f := &facts{Version: "1.0.0", Modules: map[string]int{"aws_sqs": 3}, Rules: []string{"iasql_mode {}"},
			Columns:  map[string]map[string]string{"queue": {"id": "bigint", "team": "text"}},
			Settings: map[string]string{"drift": "pull"}}
		change(f)
		return f
	}
	why := "it was restored"
	for want, change := range map[string]func(*facts){
		"": func(*facts) {},
		"cell eu has version 1.0.0, and cell us version 1.1.0: upgrade the older one": func(f *facts) {
			f.Version = "1.1.0"
		},
		"cell us has no module aws_sqs: SELECT * FROM iasql_install('aws_sqs') there": func(f *facts) {
			f.Modules, f.Columns = nil, nil
		},
		"module aws_sqs has version 3 in cell eu, and 4 in cell us: engine migrate upgrades the older one": func(f *facts) {
			f.Modules["aws_sqs"] = 4
		},
		"table queue has no column team in cell us: ALTER TABLE queue ADD COLUMN team text there": func(f *facts) {
			delete(f.Columns["queue"], "team")
			f.Columns["queue"]["own"] = "text" // which the target alone has
		},
		"column team of table queue is text in cell eu, and integer in cell us: give it one type": func(f *facts) {
			f.Columns["queue"]["team"] = "integer"
		},
		"cell eu has the rule iasql_mode {}, and cell us has not: insert it there, or delete it here": func(f *facts) {
			f.Rules = nil
		},
		"cell us has the rule iasql_ignore {}, and cell eu has not: insert it there, or delete it here": func(f *facts) {
			f.Rules = append(f.Rules, "iasql_ignore {}")
		},
		"setting drift is pull in cell eu, and ask in cell us: make them the same": func(f *facts) {
			f.Settings["drift"] = "ask"
		},
		"cell us: it was restored: SELECT iasql_confirm('restored') there first": func(f *facts) { f.Restored = &why },
	} {
		if got := strings.Join(differences("eu", "us", like(func(*facts) {}), like(change)), "\n"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestWithUser(t *testing.T) {
	t.Parallel()
	for connection, want := range map[string]string{
		"postgres://u@db/iasql":              "postgres://u@db/iasql?user=a%26b",
		"postgres:///?service=eu":            "postgres:///?service=eu&user=a%26b",
		"postgres://u@a,b:7/iasql?sslmode=x": "postgres://u@a,b:7/iasql?sslmode=x&user=a%26b",
	} {
		if got := withUser(connection, "a&b"); got != want {
			t.Errorf("%s: %s, want %s", connection, got, want)
		}
	}
}
