package console

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"iasql/internal/test/stopwatch"
)

// TestEveryModule has all modules installed: each of their tables has its pages, and
// some are looked at in a browser.
func TestEveryModule(t *testing.T) {
	w, _, _, base := start(t, "aws_account")
	names := strings.Fields(w.PSQL(`SELECT module_name FROM iasql_modules_list()`))
	for i, name := range names {
		names[i] = strings.SplitN(name, "|", 2)[0]
	}
	// What the emulator does not know cannot be imported; the tables are there all the same.
	_, _ = w.TryPSQL(w.UserURL, `SELECT * FROM iasql_install('`+strings.Join(names, "','")+`')`)
	tables := strings.Fields(w.PSQL(`SELECT "table" FROM iasql_tables`))
	if len(tables) < 90 {
		t.Fatalf("%d tables", len(tables))
	}
	v := newVisitor(t, base)
	if status := v.signIn(w.UserURL); status != http.StatusSeeOther {
		t.Fatalf("signing in: %d", status)
	}
	slowest, slow := time.Duration(0), ""
	timed := func(path string) string {
		began := stopwatch.Start()
		page := v.get(path)
		if took := began.Took(); took > slowest {
			slowest, slow = took, path
		}
		return page
	}
	for _, name := range tables {
		page := timed("/records/" + name)
		if !strings.Contains(page, "What the columns mean") {
			t.Errorf("%s does not say what its columns mean", name)
		}
		forms := []string{"/records/" + name + "/new"}
		if id := w.PSQL(`SELECT min(id) FROM ` + name); id != "" {
			timed("/records/" + name + "/" + id)
			timed("/map/" + name + "/" + id + "?deletes")
			forms = append(forms, "/records/"+name+"/"+id+"/edit", "/records/"+name+"/"+id+"/duplicate")
		}
		for _, path := range forms {
			if status, body, _ := v.send(http.MethodGet, path, nil); status != http.StatusOK && status != http.StatusForbidden {
				t.Errorf("GET %s: %d\n%s", path, status, body)
			}
		}
	}
	// A list of references is made of records that one chooses.
	list := strings.Split(w.Admin(`SELECT m.name || '|' || l."column" || '|' || l.target FROM iasql_internal.managed_table m CROSS JOIN LATERAL iasql_internal.lists_in(m.name) l
		WHERE m.can_insert AND l.target = 'subnet' ORDER BY 1 LIMIT 1`), "|")
	listed := "/records/" + list[0] + "/new"
	form := formIn(t, v.get(listed), listed)
	subnets := strings.Fields(w.PSQL(`SELECT id FROM subnet ORDER BY id LIMIT 2`))
	form["v."+list[1]][0], form["v."+list[1]][2] = subnets[1], subnets[0]
	form.Set("how", "sql")
	for _, column := range strings.Fields(w.Admin(`SELECT a.attname FROM pg_attribute a JOIN iasql_internal.managed_table m ON m.name = '` + list[0] + `'
		WHERE a.attrelid = m.name::regclass AND a.attnum > 0 AND NOT a.atthasdef AND (a.attnotnull OR a.attname = ANY (m.required))`)) {
		if _, is := form["v."+column]; is && form.Get("v."+column) == "" {
			form.Set("v."+column, "1")
		}
	}
	if _, page, _ := v.send(http.MethodPost, listed, form); !strings.Contains(page, html.EscapeString(`'{"`+subnets[1]+`","`+subnets[0]+`"}'`)) {
		t.Errorf("a list of subnets in %s becomes\n%s", list[0], said(page))
	}
	for _, path := range []string{"/", "/records", "/modules", "/map", "/map?tables", "/map.svg", "/map?tag=Name",
		"/map?in=subnet." + subnets[0], "/activity"} {
		timed(path)
	}
	// What lists subnets lies in their VPC, and what refers to such a group lies where that does.
	silently(w, `INSERT INTO db_subnet_group (account, region, name, description, subnets, subnets_records) SELECT account, region, 'both', 'both', '{a,b}', ARRAY[`+subnets[0]+`, `+subnets[1]+`]
			FROM subnet WHERE id = `+subnets[0],
		`INSERT INTO rds (account, region, db_instance_identifier, db_subnet_group_id, engine, db_instance_class) SELECT account, region, 'shop-db', id, 'postgres', 'db.t3.micro'
			FROM db_subnet_group WHERE name = 'both'`)
	shapes := shapesOf(v, timed("/map"))
	group, database := called(v, shapes, "db_subnet_group both"), called(v, shapes, "rds shop-db")
	if vpc := called(v, shapes, "vpc "); !group.in(vpc) || !database.in(vpc) {
		t.Errorf("a group of subnets and its database are not in the VPC: %+v %+v %+v", group, database, vpc)
	}
	if page := timed("/map/subnet/" + subnets[0] + "?deletes"); !strings.Contains(page, "which refuses the deletion") || !strings.Contains(page, "shop-db") {
		t.Errorf("what a deletion of a subnet breaks has no group of subnets, or not its database")
	}
	page := v.get("/modules")
	for _, says := range []string{`id="iam_policy"`, "AWS::IAM::ManagedPolicy", "a customer managed policy", "iasql_install(&#39;iam_policy&#39;)"} {
		if !strings.Contains(page, says) {
			t.Errorf("the page of modules does not have %s, of a resource type with a name", says)
		}
	}
	for _, name := range names {
		timed("/map?module=" + name)
		manual := timed("/modules/" + name)
		if !strings.Contains(manual, "<h2") || strings.Contains(manual, "mermaid") ||
			strings.Contains(manual, `.md"`) || strings.Contains(manual, "<!--") {
			t.Errorf("the documentation of %s is not made for the console", name)
		}
	}
	// A composition's instance is shown as one, and a part of it says of what.
	w.PSQL(`INSERT INTO network (name, zones, nat) VALUES ('parts', 1, 'none')`)
	instance := w.PSQL(`SELECT '/records/network/' || id FROM network WHERE name = 'parts'`)
	vpc := w.PSQL(`SELECT '/records/vpc/' || p.record_id FROM iasql_parts p WHERE p.composition = 'network' AND p.part = 'vpc'`)
	if page := v.get(instance); !strings.Contains(page, "Its parts") || !strings.Contains(page, `href="`+vpc+`"`) {
		t.Errorf("the page of an instance does not have its VPC: %s", page)
	}
	if page := v.get(vpc); !strings.Contains(page, "Part of") || !strings.Contains(page, `href="`+instance+`"`) {
		t.Errorf("the page of a part does not say of what: %s", page)
	}
	t.Logf("the slowest page is %s: %s", slow, slowest)
	t.Run("questions", func(t *testing.T) { testQuestions(t, w, base) })
	t.Run("browser", func(t *testing.T) {
		b := newBrowser(t, newChromium(t), base)
		b.signIn(w.UserURL)
		for path, text := range map[string]string{"/": "aws_lambda", "/modules": "diagram",
			"/map?module=aws_ecs_fargate": "ecs", "/records/lambda_function": "what the columns mean",
			"/records/iam_role": "what the columns mean",
			"/modules/aws_vpc":  "nat_gateway", "/records/availability_zone": "what the columns mean"} {
			for _, width := range []int64{1440, 390} {
				b.size(width, false)
				b.open(path)
				b.says(text)
				if b.eval("document.documentElement.scrollWidth <= window.innerWidth") != "true" {
					t.Errorf("%s is wider than a window of %d pixels", path, width)
				}
			}
		}
		// The last one is narrow: each record of a table is a card, whose values bear their column's name.
		b.open("/records/availability_zone")
		b.says("region")
		if label := b.eval(`getComputedStyle(document.querySelector(".list td[data-label=region]"), "::before").content`); !strings.Contains(label, "region") {
			t.Errorf("a narrow page says %s of what a value is", label)
		}
	})
}
