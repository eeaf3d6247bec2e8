package console

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"iasql/internal/test/harness"
)

// formIn returns what a browser without scripts would send of a page's form, and where to.
func formIn(t *testing.T, page, action string) url.Values {
	t.Helper()
	document, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	form := url.Values{}
	var found bool
	var walk func(n *html.Node, inside bool)
	walk = func(n *html.Node, inside bool) {
		if n.Data == "form" && n.Type == html.ElementNode && attribute(n, "action") == action {
			inside, found = true, true
		}
		if inside && n.Type == html.ElementNode {
			if name := attribute(n, "name"); name != "" {
				switch kind := attribute(n, "type"); {
				case n.Data == "textarea":
					form.Add(name, strings.ReplaceAll(strings.TrimPrefix(inner(n), "\n"), "\n", "\r\n"))
				case n.Data == "select":
					form.Add(name, selected(n))
				case n.Data == "input" && kind != "checkbox" || n.Data == "input" && has(n, "checked"):
					form.Add(name, attribute(n, "value"))
				}
			}
		}
		for child := n.FirstChild; child != nil; child = child.NextSibling {
			walk(child, inside)
		}
	}
	walk(document, false)
	if !found {
		t.Fatalf("there is no form for %s:\n%s", action, page)
	}
	return form
}

func has(n *html.Node, name string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func inner(n *html.Node) (text string) {
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		text += child.Data
	}
	return text
}

// selected is the value of the option that is selected, or else of the first one.
func selected(n *html.Node) string {
	var options []*html.Node
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		if n.Data == "option" {
			options = append(options, n)
		}
		for child := n.FirstChild; child != nil; child = child.NextSibling {
			walk(child)
		}
	}
	walk(n)
	for _, o := range options {
		if has(o, "selected") {
			return attribute(o, "value")
		}
	}
	if len(options) == 0 {
		return ""
	}
	return attribute(options[0], "value")
}

// editor is somebody who changes records by forms, without scripts.
type editor struct {
	*visitor
	w *harness.World
}

func newEditor(t *testing.T, w *harness.World, base, database string) *editor {
	t.Helper()
	v := newVisitor(t, base)
	if status := v.signIn(database); status != http.StatusSeeOther {
		t.Fatalf("signing in: %d", status)
	}
	return &editor{v, w}
}

// open returns the form of a page.
func (e *editor) open(path, action string) url.Values {
	e.Helper()
	return formIn(e.T, e.get(path), action)
}

// send sends a form by a button.
func (e *editor) press(action, how string, form url.Values) (status int, page, next string) {
	e.Helper()
	form.Set("how", how)
	status, page, answer := e.visitor.send(http.MethodPost, action, form)
	return status, page, answer.Header.Get("Location")
}

// said is what a page says, without its tags.
func said(page string) string {
	_, page, _ = strings.Cut(page, "<main")
	page, _, _ = strings.Cut(page, "<dialog")
	return strings.TrimSpace(regexp.MustCompile(`(\s*<[^>]*>\s*)+`).ReplaceAllString(page, "\n"))
}

// refused presses a button that must not do anything, and returns the page.
func (e *editor) refused(action, how string, form url.Values, status int, says ...string) string {
	e.Helper()
	got, page, _ := e.press(action, how, form)
	if got != status {
		e.Errorf("%s: %d, not %d\n%s", action, got, status, said(page))
	}
	for _, text := range says {
		if !strings.Contains(page, html.EscapeString(text)) {
			e.Errorf("%s does not say %q:\n%s", action, text, said(page))
		}
	}
	return page
}

// done presses a button that must do its work, and returns where the page leads to.
func (e *editor) done(action, how string, form url.Values) string {
	e.Helper()
	status, page, next := e.press(action, how, form)
	if status != http.StatusSeeOther {
		e.Fatalf("%s: %d\n%s", action, status, said(page))
	}
	return next
}

// TestEditing changes records by forms, first without scripts, then in a browser.
func TestEditing(t *testing.T) {
	w, _, _, base := start(t, "aws_ec2", "aws_sqs", "aws_secrets_manager")
	w.PSQL(`INSERT INTO vpc (cidr_block, tags) VALUES ('10.7.0.0/16', '{"Name": "shop"}')`,
		`INSERT INTO queue (name, tags) VALUES ('orders', '{"Name": "shop orders", "team": "web"}')`,
		`INSERT INTO secret (name, value) VALUES ('key', 'first-secret')`)
	w.PSQL(fmt.Sprintf(`INSERT INTO vpc (cidr_block, tags) VALUES ('10.8.0.0/16', jsonb_build_object('Name', %s))`, "$q$"+hostile+"$q$"))
	w.PSQL(`INSERT INTO instance (ami, instance_type, subnet_id, tags)
		SELECT 'resolve:ssm:/aws/service/ami-amazon-linux-latest/amzn2-ami-hvm-x86_64-gp2', 't3.micro', s.id, jsonb_build_object('Name', 'web-' || i, 'team', 'web')
		FROM generate_series(1, 10) i, (SELECT id FROM subnet WHERE default_for_az AND region = default_aws_region() ORDER BY 1 LIMIT 1) s`)
	w.PSQL(`SELECT iasql_wait_for_all(240)`)
	e := newEditor(t, w, base, w.UserURL)
	for _, c := range []struct {
		name string
		test func(*testing.T, *editor)
	}{{"new", testNew}, {"one column", testOneColumn}, {"duplicate", testDuplicate}, {"wrong", testWrong}, {"clash", testClash},
		{"secret", testSecret}, {"staged", testStaged}, {"many", testManyRows}, {"many clash", testManyClash}, {"rights", testEditRights}, {"strange", testStrange},
		{"reference", testReference}, {"lists", testLists}} {
		t.Run(c.name, func(t *testing.T) {
			world := *w
			world.T = t
			c.test(t, &editor{&visitor{t, e.base, e.client}, &world})
		})
	}
	t.Run("browser", func(t *testing.T) { testEditBrowser(newBrowser(t, newChromium(t), base), w) })
	t.Run("tasks", func(t *testing.T) { testTasks(newBrowser(t, newChromium(t), base), w) })
}

func testNew(t *testing.T, e *editor) {
	page := e.get("/records/subnet")
	if !strings.Contains(page, `href="/records/subnet/new"`) {
		t.Error("the list does not lead to the form of a new record")
	}
	page = e.get("/records/subnet/new")
	if strings.Contains(page, "<script>window.hostile") || !strings.Contains(page, html.EscapeString(hostile)) {
		t.Error("what a VPC is called is not shown as text")
	}
	form := formIn(t, page, "/records/subnet/new")
	vpc := e.w.PSQL(`SELECT id FROM vpc WHERE cidr_block = '10.7.0.0/16'`)
	form.Set("v.vpc_id", vpc)
	form["k.tags"][0], form["v.tags"][0] = "Name", "made by a form"
	form.Set("v.cidr_block", "10.7.1.0/24")
	shown := e.refused("/records/subnet/new", "sql", form, http.StatusOK,
		`INSERT INTO subnet (vpc_id, cidr_block, tags) VALUES ('`+vpc+`', '10.7.1.0/24', '{"Name":"made by a form"}');`)
	if n := e.w.PSQL(`SELECT count(*) FROM subnet WHERE cidr_block = '10.7.1.0/24'`); n != "0" {
		t.Errorf("to show the SQL made %s records:\n%s", n, shown)
	}
	next := e.done("/records/subnet/new", "now", form)
	if got := e.w.PSQL(`SELECT '/records/subnet/' || id FROM subnet WHERE tags ->> 'Name' = 'made by a form'`); got != next {
		t.Errorf("it leads to %s, and the record is %s", next, got)
	}
	// A value that is not allowed is said at its column, and what was typed stays.
	form = e.open("/records/queue/new", "/records/queue/new")
	e.refused("/records/queue/new", "now", form, http.StatusUnprocessableEntity, "It needs a value.")
	form.Set("v.name", "from-a-form")
	form.Set("v.visibility_timeout", "99999")
	e.refused("/records/queue/new", "now", form, http.StatusUnprocessableEntity, "from-a-form", "99999", "from 0 to 43200")
	form.Set("v.visibility_timeout", "many")
	e.refused("/records/queue/new", "now", form, http.StatusUnprocessableEntity, "See visibility_timeout.", "invalid input syntax for type integer")
	form.Set("v.visibility_timeout", "45")
	form.Set("v.name", "orders")
	e.refused("/records/queue/new", "now", form, http.StatusUnprocessableEntity, "already exists")
}

// written are the columns that the newest change of a record has written.
func (e *editor) written(table, id string) string {
	return e.w.PSQL(`SELECT string_agg(k, ' ' ORDER BY k) FROM jsonb_object_keys((SELECT l.change -> 'change' FROM iasql_audit_log l
		WHERE l.table_name = '` + table + `' AND l.record_id = ` + id + ` AND l.origin = 'user' ORDER BY l.id DESC LIMIT 1)) k`)
}

func testOneColumn(t *testing.T, e *editor) {
	id := e.w.PSQL(`SELECT id FROM queue WHERE name = 'orders'`)
	path := "/records/queue/" + id + "/edit"
	if page := e.get("/records/queue/" + id); !strings.Contains(page, `href="`+path+`"`) {
		t.Error("the record does not lead to its form")
	}
	form := e.open(path, path)
	e.refused(path, "now", form, http.StatusUnprocessableEntity, "Nothing was changed.")
	form.Set("v.delay_seconds", "7")
	e.refused(path, "sql", form, http.StatusOK, "UPDATE queue SET delay_seconds = '7' WHERE id = "+id+";")
	if next := e.done(path, "now", form); next != "/records/queue/"+id {
		t.Errorf("it leads to %s", next)
	}
	if columns := e.written("queue", id); columns != "delay_seconds" {
		t.Errorf("it has written %s", columns)
	}
	// A document, as it is indented in the form.
	form = e.open(path, path)
	form.Set("v.policy", `{"Version": "2012-10-17", "Statement": []`)
	e.refused(path, "now", form, http.StatusUnprocessableEntity, "This is no JSON", "line 1, column")
	// An empty text and NULL.
	form = e.open(path, path)
	form.Set("v.kms_master_key_id", "alias/aws/sqs")
	e.refused(path, "sql", form, http.StatusOK, "SET kms_master_key_id = 'alias/aws/sqs' WHERE")
	form.Set("v.kms_master_key_id", "")
	e.refused(path, "sql", form, http.StatusUnprocessableEntity, "Nothing was changed.") // it was NULL before
	form.Set("b.kms_master_key_id", "1")
	e.refused(path, "sql", form, http.StatusOK, "SET kms_master_key_id = '' WHERE")
	form = e.open(path, path)
	for i, key := range form["k.tags"] {
		if key == "team" {
			form["k.tags"][i] = ""
		}
	}
	e.refused(path, "sql", form, http.StatusOK, `SET tags = '{"Name":"shop orders"}' WHERE`)
	form.Add("k.tags", "Name")
	form.Add("v.tags", "twice")
	e.refused(path, "sql", form, http.StatusUnprocessableEntity, `The key "Name" is there twice.`)
}

func testDuplicate(t *testing.T, e *editor) {
	id := e.w.PSQL(`SELECT id FROM instance WHERE tags ->> 'Name' = 'web-1'`)
	form := e.open("/records/instance/"+id+"/duplicate", "/records/instance/new")
	if form.Get("v.instance_type") != "t3.micro" || form.Get("v.ami") == "" || !slices.Contains(form["v.tags"], "web-1") {
		t.Errorf("the form of the copy has %v", form)
	}
	if _, is := form["v.instance_id"]; is {
		t.Error("what the cloud assigns is taken over")
	}
	queue := e.w.PSQL(`SELECT id FROM queue WHERE name = 'orders'`)
	form = e.open("/records/queue/"+queue+"/duplicate", "/records/queue/new")
	if form.Get("v.name") != "" || form.Get("v.delay_seconds") == "" {
		t.Errorf("the form of the copy has %v", form)
	}
	form.Set("v.name", "copy")
	next := e.done("/records/queue/new", "now", form)
	e.w.PSQL(`SELECT iasql_wait_for_all(120)`)
	// And away.
	if page := e.get(next); !strings.Contains(page, "DELETE FROM queue WHERE id = "+next[strings.LastIndex(next, "/")+1:]+";") {
		t.Error("the button does not show what it runs")
	}
	form = e.open(next, next+"/delete")
	if list := e.done(next+"/delete", "now", form); list != "/records/queue" {
		t.Errorf("it leads to %s", list)
	}
	if n := e.w.PSQL(`SELECT count(*) FROM queue WHERE name = 'copy'`); n != "0" {
		t.Errorf("%s records are left", n)
	}
}

func testWrong(t *testing.T, e *editor) {
	for _, path := range []string{"/records/none/new", "/records/queue/0/edit", "/records/queue/x/edit", "/records/queue/99999999/duplicate",
		"/records/pg_authid/new", "/records/pg_authid/1/edit", "/pick/queue/name", "/pick/none/x"} {
		if status, body, _ := e.visitor.send(http.MethodGet, path, nil); status != http.StatusNotFound {
			t.Errorf("%s: %d\n%s", path, status, body)
		}
	}
	// A table that is only read.
	if status, _, _ := e.visitor.send(http.MethodGet, "/records/availability_zone/new", nil); status != http.StatusForbidden {
		t.Errorf("a record of a table that is only read: %d", status)
	}
	// What PostgreSQL says with a hint.
	id := e.w.PSQL(`SELECT id FROM vpc WHERE cidr_block = '10.7.0.0/16'`)
	form := e.open("/records/vpc/"+id, "/records/vpc/"+id+"/delete")
	e.w.PSQL(`SELECT iasql_protect('vpc', ` + id + `)`)
	e.done("/records/vpc/"+id+"/delete", "now", form)
	if page := e.get("/records/vpc/" + id); !strings.Contains(page, "protected") || !strings.Contains(page, "iasql_unprotect") {
		t.Errorf("the page does not say why the record is not deleted:\n%s", page)
	}
	e.w.PSQL(`SELECT iasql_unprotect('vpc', ` + id + `)`)
}

func testClash(t *testing.T, e *editor) {
	id := e.w.PSQL(`SELECT id FROM queue WHERE name = 'orders'`)
	path := "/records/queue/" + id + "/edit"
	form := e.open(path, path)
	form.Set("v.message_retention_period", "777")
	e.w.PSQL(`UPDATE queue SET message_retention_period = 888, receive_message_wait_time_seconds = 3 WHERE id = ` + id)
	page := e.refused(path, "now", form, http.StatusConflict, "Somebody else has changed it", "777", "888")
	if got := e.w.PSQL(`SELECT message_retention_period FROM queue WHERE id = ` + id); got != "888" {
		t.Errorf("it was written all the same: %s", got)
	}
	// Somebody else's change of another column does not matter, and stays.
	e.done(path, "now", formIn(t, page, path))
	if got := e.w.PSQL(`SELECT message_retention_period || ' ' || receive_message_wait_time_seconds FROM queue WHERE id = ` + id); got != "777 3" {
		t.Errorf("after the second time: %s", got)
	}
	if columns := e.written("queue", id); columns != "message_retention_period" {
		t.Errorf("it has written %s", columns)
	}
}

func testSecret(t *testing.T, e *editor) {
	id := e.w.PSQL(`SELECT id FROM secret WHERE name = 'key'`)
	path := "/records/secret/" + id + "/edit"
	page := e.get(path)
	if strings.Contains(page, "first-secret") || !strings.Contains(page, `type="password"`) {
		t.Errorf("the form of a secret:\n%s", page)
	}
	form := formIn(t, page, path)
	form.Set("v.description", "a word")
	e.done(path, "now", form)
	if columns := e.written("secret", id); columns != "description" {
		t.Errorf("it has written %s", columns)
	}
	form = e.open(path, path)
	form.Set("v.value", "second-secret")
	form.Set("v.description", "another word")
	page = e.refused(path, "sql", form, http.StatusOK, "value = '…'")
	if strings.Contains(page, "second-secret") {
		t.Error("the page has the secret that was typed")
	}
	next := e.done(path, "now", form)
	if page := e.get(next); strings.Contains(page, "second-secret") {
		t.Error("the page has the secret that was written")
	}
	if columns := e.written("secret", id); columns != "description value" {
		t.Errorf("it has written %s", columns)
	}
	e.w.PSQL(`SELECT iasql_wait_for_all(120)`)
}

func testStaged(t *testing.T, e *editor) {
	id := e.w.PSQL(`SELECT id FROM queue WHERE name = 'orders'`)
	path := "/records/queue/" + id + "/edit"
	form := e.open(path, path)
	form.Set("v.visibility_timeout", "55")
	review := e.done(path, "stage", form)
	if !strings.HasPrefix(review, "/batches/") {
		t.Fatalf("it leads to %s", review)
	}
	if page := e.get(review); !strings.Contains(page, "Staged in batch") {
		t.Errorf("the review does not say what was staged:\n%s", page)
	}
	if page := e.get(review + "?preview=1"); !strings.Contains(page, "visibility_timeout") || !strings.Contains(page, "Commit") {
		t.Errorf("the review does not show the change:\n%s", page)
	}
	// The next one goes into the same batch.
	form = e.open(path, path)
	if "/batches/"+form.Get("batch") != review {
		t.Errorf("the form offers batch %q", form.Get("batch"))
	}
	form.Set("v.delay_seconds", "8")
	if again := e.done(path, "stage", form); again != review {
		t.Errorf("it was staged in %s and not in %s", again, review)
	}
	if open := e.w.PSQL(`SELECT count(*) FROM iasql_batches WHERE phase = 'open'`); open != "1" {
		t.Errorf("%s batches are open", open)
	}
	// At once it cannot be: the batch has it.
	form = e.open(path, path)
	form.Set("v.delay_seconds", "9")
	e.refused(path, "now", form, http.StatusUnprocessableEntity, "it is staged in batch")
	e.w.PSQL(`CALL iasql_join('`+strings.TrimPrefix(review, "/batches/")+`')`, `CALL iasql_rollback()`)
	// A batch that is gone meanwhile.
	e.refused(path, "stage", form, http.StatusUnprocessableEntity, "is open")
}

// rowsOf are the ids of the rows that a list has boxes for.
func boxes(page string) (ids []string) {
	for _, m := range regexp.MustCompile(`name="row" value="(\d+)"`).FindAllStringSubmatch(page, -1) {
		ids = append(ids, m[1])
	}
	return ids
}

func testManyRows(t *testing.T, e *editor) {
	const many = "/records/instance/many"
	page := e.get("/records/instance?c=tags&o=has&v=web-")
	form := formIn(t, page, many)
	e.refused(many, "now", form, http.StatusBadRequest, "No row is ticked")
	form["row"] = boxes(page)
	if len(form["row"]) != 10 {
		t.Fatalf("%d rows have boxes:\n%s", len(form["row"]), page)
	}
	e.refused(many, "stage", form, http.StatusUnprocessableEntity, "its key is empty", "web-10")
	form.Set("key", "team")
	form.Set("text", "data 'n' more")
	e.refused(many, "sql", form, http.StatusOK, `UPDATE instance SET tags = coalesce(tags, '{}') || '{"team":"data ''n'' more"}' WHERE id IN (`)
	review := e.done(many, "stage", form)
	if got := e.w.PSQL(`SELECT count(*) FROM instance WHERE tags ->> 'team' = $$data 'n' more$$ AND tags ? 'Name'`); got != "10" {
		t.Errorf("%s instances have the tag", got)
	}
	// Removed again, in the same batch: the list is made anew, or else it clashes with what was written.
	form["made"] = formIn(t, e.get("/records/instance?c=tags&o=has&v=web-"), many)["made"]
	form.Set("do", "untag")
	form.Set("batch", strings.TrimPrefix(review, "/batches/"))
	e.done(many, "stage", form)
	if got := e.w.PSQL(`SELECT count(*) FROM instance WHERE tags ? 'team'`); got != "0" {
		t.Errorf("%s instances have the tag", got)
	}
	e.w.PSQL(`CALL iasql_join('`+form.Get("batch")+`')`, `CALL iasql_rollback()`)
	form["made"] = formIn(t, e.get("/records/instance?c=tags&o=has&v=web-"), many)["made"]
	// A column: the next page asks for the value, by the column's own input.
	form.Set("do", "column")
	form.Set("column", "instance_type")
	form.Set("batch", "")
	page = e.refused(many, "now", form, http.StatusOK, "Set instance_type on 10 records of instance")
	asked := formIn(t, page, many)
	if len(asked["row"]) != 10 {
		t.Errorf("the page has %d rows", len(asked["row"]))
	}
	e.refused(many, "now", asked, http.StatusUnprocessableEntity, "It needs a value.")
	asked.Set("v.instance_type", "t3.small")
	e.refused(many, "sql", asked, http.StatusOK, "SET instance_type = 't3.small' WHERE id IN (")
	// One that is gone meanwhile: nothing is written.
	asked["row"] = append(asked["row"], "99999999")
	e.refused(many, "now", asked, http.StatusUnprocessableEntity, "Of 11 records 10 are there")
	form.Set("do", "delete")
	e.refused(many, "now", form, http.StatusOK, "Delete on 10 records of instance", "The objects go from the cloud, too.") // it asks again
	for i := range 501 {
		form.Add("row", fmt.Sprint(i))
	}
	e.refused(many, "now", form, http.StatusBadRequest, "at most 500")
	form["row"] = []string{"1; DROP TABLE instance"}
	e.refused(many, "now", form, http.StatusBadRequest, "is no id")
	if got := e.w.PSQL(`SELECT count(*) FROM instance WHERE tags ->> 'team' = 'web' AND instance_type = 't3.micro'`); got != "10" {
		t.Errorf("%s instances are as they were", got)
	}
}

// What somebody else has written since the list was made is shown, and not overwritten.
func testManyClash(t *testing.T, e *editor) {
	const many = "/records/queue/many"
	e.w.PSQL(`INSERT INTO queue (name, tags) VALUES ('clash-1', '{"a": "1"}'), ('clash-2', '{"a": "1"}')`)
	e.w.PSQL(`SELECT iasql_wait_for_all(120)`)
	load := func() url.Values {
		page := e.get("/records/queue?c=name&o=has&v=clash-")
		form := formIn(t, page, many)
		form["row"] = boxes(page)
		return form
	}
	tags := func() string {
		return e.w.PSQL(`SELECT string_agg(tags ->> 'a', ' ' ORDER BY name) FROM queue WHERE name LIKE 'clash-%'`)
	}
	form := load()
	form.Set("key", "a")
	form.Set("text", "mine")
	// Another key does not matter, and stays.
	e.w.PSQL(`UPDATE queue SET tags = tags || '{"b": "2"}' WHERE name = 'clash-1'`)
	e.w.PSQL(`UPDATE queue SET tags = tags || '{"a": "theirs"}' WHERE name = 'clash-2'`)
	page := e.refused(many, "now", form, http.StatusConflict, "somebody else has changed", "theirs", login(t, e.w.UserURL))
	if got := tags(); got != "1 theirs" {
		t.Errorf("it was written all the same: %s", got)
	}
	e.done(many, "now", formIn(t, page, many))
	if got := tags(); got != "mine mine" {
		t.Errorf("after the second time: %s", got)
	}
	if got := e.w.PSQL(`SELECT tags ->> 'b' FROM queue WHERE name = 'clash-1'`); got != "2" {
		t.Errorf("another's key is %q", got)
	}

	// A column, and a deletion.
	form = load()
	form.Set("do", "column")
	form.Set("column", "delay_seconds")
	asked := formIn(t, e.refused(many, "now", form, http.StatusOK, "Set delay_seconds"), many)
	asked.Set("v.delay_seconds", "7")
	e.w.PSQL(`UPDATE queue SET delay_seconds = 3, visibility_timeout = 44 WHERE name = 'clash-1'`)
	e.refused(many, "now", asked, http.StatusConflict, "somebody else has changed")
	form.Set("do", "delete")
	form.Set("sure", "1")
	e.refused(many, "now", form, http.StatusConflict, "Nothing was deleted")
	if got := e.w.PSQL(`SELECT string_agg(delay_seconds::text, ' ' ORDER BY name) FROM queue WHERE name LIKE 'clash-%'`); got != "3 0" {
		t.Errorf("the delays are %s", got)
	}
	for _, made := range []string{"", "x", "1:2:'; DROP TABLE queue", "99999999999999999999:1:"} {
		form.Set("made", made)
		if status, _, _ := e.press(many, "now", form); status == http.StatusSeeOther || status >= 500 {
			t.Errorf("made %q: %d", made, status)
		}
	}
	e.w.PSQL(`DELETE FROM queue WHERE name LIKE 'clash-%'`)
}

// What the role may not do is not offered, and not done.
func testEditRights(t *testing.T, e *editor) {
	id := e.w.PSQL(`SELECT id FROM queue WHERE name = 'orders'`)
	path := "/records/queue/" + id
	form := e.open(path+"/edit", path+"/edit")
	reader := newEditor(t, e.w, e.base, e.w.Login("looks", "iasql_reader"))
	for _, page := range []string{reader.get(path), reader.get("/records/queue")} {
		if strings.Contains(page, "/edit") || strings.Contains(page, "/new") || strings.Contains(page, "/many") || strings.Contains(page, "/delete") {
			t.Errorf("a reader is offered what he may not do:\n%s", page)
		}
	}
	for _, page := range []string{path + "/edit", path + "/duplicate", "/records/queue/new"} {
		if status, _, _ := reader.visitor.send(http.MethodGet, page, nil); status != http.StatusForbidden {
			t.Errorf("a reader opens %s: %d", page, status)
		}
	}
	token := csrf(reader.get("/"))
	form.Set("csrf", token)
	form.Set("v.delay_seconds", "99")
	reader.refused(path+"/edit", "now", form, http.StatusBadRequest, "that a form may write")
	reader.refused(path+"/delete", "now", url.Values{"csrf": {token}}, http.StatusForbidden)
	reader.refused("/records/queue/new", "now", url.Values{"csrf": {token}, "m.name": {"text"}, "v.name": {"x"}}, http.StatusBadRequest)
	reader.refused("/records/queue/many", "now", url.Values{"csrf": {token}, "do": {"delete"}, "row": {id}}, http.StatusBadRequest)

	// One column of one record.
	partly := e.w.Login("partly", "iasql_reader")
	e.w.Admin(`GRANT UPDATE (delay_seconds) ON queue TO `+login(t, partly), `ALTER TABLE queue ENABLE ROW LEVEL SECURITY`,
		`CREATE POLICY others ON queue USING (current_user NOT LIKE 'partly%' OR tags ->> 'team' = 'web')`)
	defer e.w.Admin(`DROP POLICY others ON queue`, `ALTER TABLE queue DISABLE ROW LEVEL SECURITY`)
	p := newEditor(t, e.w, e.base, partly)
	if page := p.get(path + "/edit"); strings.Contains(page, `value="stage"`) {
		t.Error("who may open no batch is offered to stage")
	}
	mine := p.open(path+"/edit", path+"/edit")
	if _, is := mine["v.visibility_timeout"]; is {
		t.Error("a column that he may not write has an input")
	}
	mine.Set("v.delay_seconds", "11")
	p.done(path+"/edit", "now", mine)
	if got := e.w.PSQL(`SELECT delay_seconds FROM queue WHERE id = ` + id); got != "11" {
		t.Errorf("delay_seconds is %s", got)
	}
	mine.Set("m.visibility_timeout", "number")
	mine.Set("v.visibility_timeout", "1")
	p.refused(path+"/edit", "now", mine, http.StatusBadRequest, "no column visibility_timeout that a form may write")
	hidden := e.w.PSQL(`INSERT INTO queue (name) VALUES ('hidden') RETURNING id`)
	hidden = strings.Fields(hidden)[0]
	if status, _, _ := p.visitor.send(http.MethodGet, "/records/queue/"+hidden+"/edit", nil); status != http.StatusNotFound {
		t.Errorf("a record that a policy hides: %d", status)
	}
}

// Forms that are not the page's.
func testStrange(t *testing.T, e *editor) {
	id := e.w.PSQL(`SELECT id FROM queue WHERE name = 'orders'`)
	path := "/records/queue/" + id + "/edit"
	form := e.open(path, path)
	before := e.w.PSQL(`SELECT max(id) FROM iasql_audit_log WHERE origin = 'user'`)
	for name, change := range map[string]func(url.Values){
		"a column that is not there": func(f url.Values) { f.Set(`v.x" = 1; --`, "1"); f.Set(`m.x" = 1; --`, "text") },
		"what the cloud assigns":     func(f url.Values) { f.Set("v.arn", "x"); f.Set("m.arn", "text") },
		"the id":                     func(f url.Values) { f.Set("v.id", "1") },
		"another field":              func(f url.Values) { f.Set("table", "vpc") },
		"another way":                func(f url.Values) { f.Set("m.delay_seconds", "secret") },
		"no batch":                   func(f url.Values) { f.Set("batch", "x'); --") },
	} {
		sent := url.Values{}
		for key, values := range form {
			sent[key] = slices.Clone(values)
		}
		sent.Set("v.delay_seconds", "500")
		change(sent)
		if status, page, _ := e.press(path, "now", sent); status != http.StatusBadRequest {
			t.Errorf("%s: %d\n%s", name, status, page)
		}
	}
	form.Set("v.delay_seconds", "501")
	for _, forged := range []string{"", "x"} {
		sent := url.Values{}
		for key, values := range form {
			sent[key] = values
		}
		sent.Set("csrf", forged)
		for _, to := range []string{path, "/records/queue/" + id + "/delete", "/records/queue/new", "/records/queue/many"} {
			e.refused(to, "now", sent, http.StatusForbidden)
		}
	}
	form.Set("v.policy", strings.Repeat("x", 2<<20))
	e.refused(path, "now", form, http.StatusRequestEntityTooLarge, "too large")
	if after := e.w.PSQL(`SELECT max(id) FROM iasql_audit_log WHERE origin = 'user'`); after != before {
		t.Error("something was written")
	}
}

// Of a table with many records a reference takes what is typed: an id, or a name.
func testReference(t *testing.T, e *editor) {
	vpc := e.w.PSQL(`SELECT id FROM vpc WHERE cidr_block = '10.7.0.0/16'`)
	e.w.Admin(`SET session_replication_role = replica`,
		`INSERT INTO vpc (account, region, cidr_block, tags) SELECT account, region, '10.9.0.0/16', jsonb_build_object('Name', 'many-' || i) FROM generate_series(1, 250) i, (SELECT account, region FROM vpc WHERE id = `+vpc+`) v`)
	defer e.w.Admin(`SET session_replication_role = replica`, `DELETE FROM vpc WHERE tags ->> 'Name' LIKE 'many-%'`)
	page := e.get("/records/subnet/new")
	if !strings.Contains(page, `hx-get="/pick/subnet/vpc_id"`) || !strings.Contains(page, "<datalist") {
		t.Errorf("of many records the form does not search:\n%s", page)
	}
	if options := e.get("/pick/subnet/vpc_id?v.vpc_id=" + vpc); !strings.Contains(options, `<option value="`+vpc+`">shop · `+vpc) {
		t.Errorf("an id finds %s", options)
	}
	e.w.Eventually(patience, "the search finds a VPC by its name", func() bool {
		return strings.Contains(e.get("/pick/subnet/vpc_id?v.vpc_id=shop"), `<option value="`+vpc+`">`)
	})
	form := formIn(t, page, "/records/subnet/new")
	form.Set("v.cidr_block", "10.7.3.0/24")
	form.Set("v.vpc_id", "no such VPC")
	e.refused("/records/subnet/new", "sql", form, http.StatusUnprocessableEntity, `No record of vpc is called "no such VPC"`)
	form.Set("v.vpc_id", "Shop")
	e.refused("/records/subnet/new", "sql", form, http.StatusOK, "VALUES ('"+vpc+"', '10.7.3.0/24');")
	form.Set("v.vpc_id", vpc)
	e.refused("/records/subnet/new", "sql", form, http.StatusOK, "VALUES ('"+vpc+"', '10.7.3.0/24');")
}

// Lists, and columns of somebody's own.
func testLists(t *testing.T, e *editor) {
	e.w.Admin(`ALTER TABLE queue ADD COLUMN "Notes; --" text[], ADD COLUMN priority smallint NOT NULL DEFAULT 3, ADD COLUMN extra jsonb`)
	defer e.w.Admin(`ALTER TABLE queue DROP COLUMN "Notes; --", DROP COLUMN priority, DROP COLUMN extra`)
	id := e.w.PSQL(`SELECT id FROM queue WHERE name = 'orders'`)
	path := "/records/queue/" + id + "/edit"
	const notes = "v.Notes; --"
	form := e.open(path, path)
	form.Set(notes, "one \"quoted\"\r\n\r\n two, and {three}\r\n")
	form.Set("v.extra", `{"n": 12345678901234567890, "list": [1, 2]}`)
	e.done(path, "now", form)
	if got := e.w.PSQL(`SELECT to_jsonb("Notes; --") || jsonb_build_array(extra -> 'n') FROM queue WHERE id = ` + id); got != `["one \"quoted\"", "two, and {three}", 12345678901234567890]` {
		t.Errorf("it wrote %s", got)
	}
	form = e.open(path, path)
	e.refused(path, "now", form, http.StatusUnprocessableEntity, "Nothing was changed.")
	form.Set(notes, "")
	e.refused(path, "sql", form, http.StatusOK, `SET "Notes; --" = NULL WHERE`)
	form.Set("b.Notes; --", "1")
	e.refused(path, "sql", form, http.StatusOK, `SET "Notes; --" = '{}' WHERE`)
	form = e.open(path, path)
	form.Set("v.priority", "")
	e.refused(path, "now", form, http.StatusUnprocessableEntity, "It needs a value.")
	// What lines cannot show is shown as PostgreSQL writes it, and stays as it is.
	e.w.PSQL(`UPDATE queue SET "Notes; --" = ARRAY['a', NULL, E'b\nc'], extra = '{"a": "b"}' WHERE id = ` + id)
	form = e.open(path, path)
	if form.Get("m.Notes; --") != "array" || form.Get("m.extra") != "map" {
		t.Errorf("a list with NULL is shown as %q, an object of texts as %q", form.Get("m.Notes; --"), form.Get("m.extra"))
	}
	form.Set("v.priority", "4")
	e.done(path, "now", form)
	if columns := e.written("queue", id); columns != "priority" {
		t.Errorf("it has written %s", columns)
	}
}
