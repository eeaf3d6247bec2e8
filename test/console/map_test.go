package console

import (
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"iasql/internal/test/harness"
	"iasql/internal/test/stopwatch"
)

// TestMap: the map of resources, in a world of a shop's network and of much else. Most of it stands in the
// tables alone: what is in the cloud is of no matter here.
func TestMap(t *testing.T) {
	w, _, _, base := start(t, "aws_vpc", "aws_security_group", "aws_ec2", "aws_sqs")
	shopNetwork(w)
	w.PSQL(`INSERT INTO iasql_mode (mode) VALUES ('PAUSE')`) // no cycle takes away what the cloud does not have
	v := newVisitor(t, base)
	if status := v.signIn(w.UserURL); status != http.StatusSeeOther {
		t.Fatalf("signing in: %d", status)
	}
	t.Run("nested", func(t *testing.T) { v.T = t; testNested(v, w) })
	t.Run("breaks", func(t *testing.T) { v.T = t; testBreaks(v, w) })
	t.Run("choices", func(t *testing.T) { v.T = t; testChoices(v, w) })
	t.Run("alone", func(t *testing.T) { v.T = t; testAlone(v) })
	t.Run("policies", func(t *testing.T) { testMapPolicies(t, w, base) })
	t.Run("browser", func(t *testing.T) { testMapBrowser(newBrowser(t, newChromium(t), base), w) })
	t.Run("three thousand", func(t *testing.T) { v.T = t; testManyOnMap(v, w) })
	t.Run("states", func(t *testing.T) { v.T = t; testMapStates(v, w) })
}

// silently writes as the engine does, so that nothing is pushed.
func silently(w *harness.World, statements ...string) {
	w.Admin(append([]string{`SET session_replication_role = replica`}, statements...)...)
}

const scope = `(SELECT account, region FROM vpc LIMIT 1) s`

// shopNetwork makes a VPC with two subnets, instances in them, and a queue of a hostile name.
func shopNetwork(w *harness.World) {
	w.PSQL(`INSERT INTO queue (name) VALUES ('first')`, `SELECT iasql_wait_for_all(120)`)
	silently(w,
		`INSERT INTO vpc (account, region, vpc_id, cidr_block, tags) SELECT account, region, 'vpc-5a0b', '10.20.0.0/16', '{"Name": "shop", "team": "web"}' FROM `+scope,
		`INSERT INTO subnet (account, region, subnet_id, vpc_id, cidr_block, tags)
		 SELECT s.account, s.region, 'subnet-' || n, v.id, ('10.20.' || n || '.0/24')::cidr, jsonb_build_object('Name', 'shop-' || n)
		 FROM `+scope+`, vpc v, generate_series(1, 2) n WHERE v.vpc_id = 'vpc-5a0b'`,
		`INSERT INTO security_group (account, region, group_id, group_name, description, vpc_id)
		 SELECT s.account, s.region, 'sg-' || n, n, n, v.id FROM `+scope+`, vpc v, unnest('{web,data}'::text[]) n WHERE v.vpc_id = 'vpc-5a0b'`,
		`INSERT INTO instance (account, region, instance_id, ami, instance_type, subnet_id, tags)
		 SELECT s.account, s.region, 'i-' || u.subnet_id || '-' || n, 'ami-1', 't3.micro', u.id, jsonb_build_object('Name', 'server ' || u.subnet_id || ' ' || n, 'team', 'web')
		 FROM `+scope+`, subnet u, generate_series(1, 3) n WHERE u.subnet_id IN ('subnet-1', 'subnet-2')`,
		`INSERT INTO instance_security_groups (account, region, instance_id, security_group_id)
		 SELECT i.account, i.region, i.id, g.id FROM instance i, security_group g WHERE g.group_id = 'sg-web'`,
		fmt.Sprintf(`INSERT INTO queue (account, region, name, tags) SELECT account, region, 'evil', jsonb_build_object('Name', %s, 'team', 'web') FROM `, "$q$"+hostile+"$q$")+scope,
		`INSERT INTO iasql_internal.record_state (account, table_name, record_id, state, review, message)
		 SELECT i.account, 'instance', i.id, 'CreateFailed', true, 'InsufficientInstanceCapacity' FROM instance i WHERE i.instance_id = 'i-subnet-1-1'`)
}

// shape is a box or a leaf of a drawing.
type shape struct {
	class, title, text string
	x, y, w, h         int
	href               string
}

func shapesOf(v *visitor, page string) (shapes []shape) {
	v.Helper()
	i, j := strings.Index(page, `<svg xmlns=`), strings.LastIndex(page, "</svg>")
	if i < 0 || j < i {
		v.Fatalf("there is no drawing: %.2000s", page)
	}
	d := xml.NewDecoder(strings.NewReader(page[i : j+6]))
	var within []shape
	var element string
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return shapes
		}
		if err != nil {
			v.Fatalf("the drawing is no XML: %v", err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			element = token.Name.Local
			value := func(name string) string {
				for _, a := range token.Attr {
					if a.Name.Local == name {
						return a.Value
					}
				}
				return ""
			}
			if element == "a" || element == "g" {
				within = append(within, shape{class: value("class"), href: value("href")})
			}
			if element == "rect" && len(within) > 0 {
				s := &within[len(within)-1]
				for name, into := range map[string]*int{"x": &s.x, "y": &s.y, "width": &s.w, "height": &s.h} {
					*into, _ = strconv.Atoi(value(name))
				}
			}
		case xml.CharData:
			if len(within) > 0 && element == "title" {
				within[len(within)-1].title += string(token)
			} else if len(within) > 0 {
				within[len(within)-1].text += string(token) + " "
			}
		case xml.EndElement:
			if element = ""; token.Name.Local == "a" || token.Name.Local == "g" {
				shapes, within = append(shapes, within[len(within)-1]), within[:len(within)-1]
			}
		}
	}
}

// called finds the shape with a title that begins so.
func called(v *visitor, shapes []shape, title string) shape {
	v.Helper()
	i := slices.IndexFunc(shapes, func(s shape) bool { return strings.HasPrefix(s.title, title) })
	if i < 0 {
		var all []string
		for _, s := range shapes {
			all = append(all, s.title)
		}
		v.Fatalf("nothing is called %q, but %q", title, all)
	}
	return shapes[i]
}

func (s shape) in(o shape) bool {
	return s.x > o.x && s.y > o.y && s.x+s.w < o.x+o.w && s.y+s.h < o.y+o.h
}

func testNested(v *visitor, w *harness.World) {
	page := v.get("/map")
	shapes := shapesOf(v, page)
	region, vpc := called(v, shapes, "region us-east-1"), called(v, shapes, "vpc shop")
	one, two := called(v, shapes, "subnet shop-1"), called(v, shapes, "subnet shop-2")
	group, queue := called(v, shapes, "security_group web"), called(v, shapes, "queue first")
	for _, p := range []struct {
		what      string
		in        bool
		inner, of shape
	}{{"the VPC in the region", true, vpc, region}, {"a subnet in the VPC", true, one, vpc}, {"the other in the VPC",
		true, two, vpc},
		{"an instance in its subnet", true, called(v, shapes, "instance server subnet-1 2"), one},
		{"an instance in the other subnet", false, called(v, shapes, "instance server subnet-1 2"), two},
		{"a security group in the VPC", true, group, vpc}, {"a security group in a subnet", false, group, one},
		{"a queue in the region", true, queue, region}, {"a queue in the VPC", false, queue, vpc}} {
		if p.inner.in(p.of) != p.in {
			v.Errorf("%s: %t (%+v in %+v)", p.what, !p.in, p.inner, p.of)
		}
	}
	failed := called(v, shapes, "instance server subnet-1 1")
	if !strings.Contains(failed.class, "bad") || !strings.Contains(failed.title, "failed: InsufficientInstanceCapacity") ||
		!strings.Contains(failed.text, "▲ failed") {
		v.Errorf("what has failed is not marked: %+v", failed)
	}
	if id := w.PSQL(`SELECT id FROM instance WHERE instance_id = 'i-subnet-1-2'`); called(v, shapes, "instance server subnet-1 2").href != "/records/instance/"+id {
		v.Errorf("a node leads to %s", called(v, shapes, "instance server subnet-1 2").href)
	}
	// A row that only joins two others is the line between them.
	if !strings.Contains(page, "<title>server subnet-1 2 → web</title>") || strings.Contains(page,
		"instance_security_groups") {
		v.Error("membership of a group is not a line")
	}
	if strings.Contains(page, "<script>window.hostile") || !strings.Contains(page, "&lt;script&gt;") {
		v.Error("a hostile name is not escaped")
	}
}

func testChoices(v *visitor, w *harness.World) {
	vpc := w.PSQL(`SELECT id FROM vpc WHERE vpc_id = 'vpc-5a0b'`)
	for address, has := range map[string][2]string{
		"in=vpc." + vpc: {"server subnet-2 3", "queue first"},
		"in=subnet." + w.PSQL(`SELECT id FROM subnet WHERE subnet_id = 'subnet-1'`): {"server subnet-1 3", "server subnet-2 3"},
		"tag=team%3Dweb":              {"server subnet-2 3", "queue first"},
		"tag=team":                    {"server subnet-2 3", "queue first"},
		"account=default":             {"queue first", "none"},
		"account=default&tag=team%3D": {"Nothing matches", "server"},
		"configuration=none":          {"Nothing matches", "server"},
		"in=vpc.99999999":             {"Nothing matches", "server"},
		"in=pg_class.1":               {"Nothing matches", "server"},
		"account=other":               {"Nothing matches", "server"},
	} {
		page := v.get("/map?" + address)
		if !strings.Contains(page, has[0]) || strings.Contains(page, has[1]) {
			v.Errorf("/map?%s has %s: %t, and %s: %t", address, has[0], strings.Contains(page, has[0]), has[1],
				strings.Contains(page, has[1]))
		}
	}
	for _, evil := range []string{hostile, "'; DROP TABLE vpc; --", "x='; SELECT 1; --", "\x00=\x01", strings.Repeat("é",
		1000), "%", "="} {
		for _, name := range []string{"tag", "account", "configuration", "in", "open"} {
			if status, body, _ := v.send(http.MethodGet, "/map?"+url.Values{name: {evil}}.Encode(),
				nil); status != http.StatusOK ||
				strings.Contains(body, "<script>window") {
				v.Errorf("%s %.60q: %d", name, evil, status)
			}
		}
	}
}

// testAlone: the drawing is a document by itself.
func testAlone(v *visitor) {
	status, body, answer := v.send(http.MethodGet, "/map.svg?tag=team", nil)
	if status != http.StatusOK || !strings.HasPrefix(answer.Header.Get("Content-Type"), "image/svg+xml") {
		v.Fatalf("%d %s: %s", status, answer.Header.Get("Content-Type"), body)
	}
	d := xml.NewDecoder(strings.NewReader(body))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			v.Fatalf("it is no XML: %v", err)
		}
	}
	for _, want := range []string{"<title>Map of resources, tag team</title>", "<style>", "vpc shop", `xmlns="http://www.w3.org/2000/svg"`} {
		if !strings.Contains(body, want) {
			v.Errorf("there is no %s", want)
		}
	}
	if strings.Contains(body, "href") {
		v.Error("links of the console are in it")
	}
}

func testBreaks(v *visitor, w *harness.World) {
	vpc := w.PSQL(`SELECT id FROM vpc WHERE vpc_id = 'vpc-5a0b'`)
	page := v.get("/map/vpc/" + vpc + "?deletes")
	text := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, " ")
	for _, want := range []string{"What breaks if you delete vpc " + vpc, "The deletion is refused as long as",
		"Refers to it",
		"Refers to that, 2 steps away", "server subnet-2 3", "shop-1", "refers to vpc " + vpc +
			" by vpc_id: the foreign key refuses the deletion"} {
		if !strings.Contains(html.UnescapeString(text), want) {
			v.Errorf("it does not say %s: %s", want, page)
		}
	}
	// A member of a group is a part of the instance that has it.
	instance := w.PSQL(`SELECT id FROM instance WHERE instance_id = 'i-subnet-1-2'`)
	page = html.UnescapeString(v.get("/map/instance/" + instance + "?deletes"))
	if !strings.Contains(page, "is a part of instance "+instance+" and is deleted with it") || strings.Contains(page,
		"is refused as long") {
		v.Errorf("what goes with an instance: %s", page)
	}
	if page := v.get("/map/queue/" + w.PSQL(`SELECT id FROM queue WHERE name = 'first'`) + "?deletes"); !strings.Contains(page, "Nothing refers to it") {
		v.Errorf("what refers to a queue: %s", page)
	}
	if status, _, _ := v.send(http.MethodGet, "/map/queue/99999999?deletes", nil); status != http.StatusNotFound {
		v.Errorf("a record that is not there: %d", status)
	}
	if page := v.get("/records/vpc/" + vpc); !strings.Contains(page, `href="/map/vpc/`+vpc+`?deletes"`) {
		v.Error("the record's page does not lead there")
	}
	// A walk has an end.
	silently(w, `INSERT INTO subnet (account, region, subnet_id, vpc_id, cidr_block) SELECT s.account, s.region, 'subnet-many-' || n, v.id, '10.20.3.0/24'
		FROM `+scope+`, vpc v, generate_series(1, 600) n WHERE v.vpc_id = 'vpc-5a0b'`)
	if page := v.get("/map/vpc/" + vpc + "?deletes"); !strings.Contains(page, "only the first 500") {
		v.Error("it does not say that there are more")
	}
	silently(w, `DELETE FROM subnet WHERE subnet_id LIKE 'subnet-many-%'`)
}

func testMapPolicies(t *testing.T, w *harness.World, base string) {
	limited := w.Login("limited", "iasql_user")
	w.Admin(`ALTER TABLE instance ENABLE ROW LEVEL SECURITY`,
		`CREATE POLICY his ON instance USING (instance_id LIKE 'i-subnet-2%' OR current_user LIKE 'user%')`)
	defer w.Admin(`DROP POLICY his ON instance`, `ALTER TABLE instance DISABLE ROW LEVEL SECURITY`)
	v := newVisitor(t, base)
	if status := v.signIn(limited); status != http.StatusSeeOther {
		t.Fatalf("signing in: %d", status)
	}
	vpc := w.PSQL(`SELECT id FROM vpc WHERE vpc_id = 'vpc-5a0b'`)
	for _, path := range []string{"/map", "/map.svg", "/map?tag=team%3Dweb", "/map?in=vpc." + vpc, "/map/vpc/" + vpc +
		"?deletes"} {
		page := v.get(path)
		if strings.Contains(page, "server subnet-1") || strings.Contains(page, "InsufficientInstanceCapacity") {
			t.Errorf("%s shows what is hidden", path)
		}
		if !strings.Contains(page, "server subnet-2 1") {
			t.Errorf("%s does not show what is his", path)
		}
	}
	// Who may read some columns alone sees what he may, and no error.
	some := w.Login("columns", "iasql_reader")
	w.Admin(`REVOKE SELECT ON subnet, route_table FROM iasql_reader`, `GRANT SELECT (id, cidr_block) ON subnet TO iasql_reader`)
	defer w.Admin(`GRANT SELECT ON subnet, route_table TO iasql_reader`)
	c := newVisitor(t, base)
	if status := c.signIn(some); status != http.StatusSeeOther {
		t.Fatalf("signing in: %d", status)
	}
	for _, path := range []string{"/map", "/map/vpc/" + w.PSQL(`SELECT id FROM vpc WHERE vpc_id = 'vpc-5a0b'`) + "?deletes"} {
		if page := c.get(path); strings.Contains(page, "shop-1") || strings.Contains(page, "subnet-1<") {
			t.Errorf("%s shows what columns say that are hidden", path)
		}
	}
}

// testMapStates: a configuration has its records, and what is staged is marked, also in a fold.
func testMapStates(v *visitor, w *harness.World) {
	silently(w, `DELETE FROM queue WHERE name ~ '^(big|more)-'`)
	w.PSQL(`DELETE FROM iasql_mode`)
	w.PSQL(`CALL iasql_declare('mapped')`, `INSERT INTO queue (name) VALUES ('declared')`, `CALL iasql_declared()`)
	w.PSQL(`SELECT iasql_wait_for_all(120)`)
	page := v.get("/map?configuration=mapped")
	if !strings.Contains(page, ">declared<") || strings.Contains(page, ">first<") || !strings.Contains(page, `<option value="mapped" selected>`) {
		v.Errorf("the map of a configuration: %s", page)
	}
	w.PSQL(`CALL iasql_begin('on the map')`, `UPDATE queue SET visibility_timeout = 77 WHERE name = 'first'`)
	shapes := shapesOf(v, v.get("/map"))
	if staged := called(v, shapes, "queue first"); !strings.Contains(staged.class, "staged") || !strings.Contains(staged.text, "✎ staged") ||
		!strings.Contains(staged.title, "staged in a batch") {
		v.Errorf("what is staged: %+v", staged)
	}
	w.PSQL(`CALL iasql_join('on the map')`, `CALL iasql_rollback()`)
	silently(w, `INSERT INTO iasql_conflicts (table_name, record_id, column_name, audit_id) SELECT 'queue', id, 'visibility_timeout', 1 FROM queue WHERE name = 'first'`)
	if drift := called(v, shapesOf(v, v.get("/map")), "queue first"); !strings.Contains(drift.class, "bad") || !strings.Contains(drift.text, "▲ drift") {
		v.Errorf("what was changed on both sides: %+v", drift)
	}
}

func testMapBrowser(b *browser, w *harness.World) {
	b.signIn(w.UserURL)
	b.open("/map")
	b.until(`document.querySelector(".map-tools") !== null`)
	width := func() string {
		b.Helper()
		return b.eval(`Math.round(document.querySelector("#map svg").getBoundingClientRect().width)`)
	}
	was := width()
	b.do("focus", chromedp.Focus("#map", chromedp.ByQuery))
	b.press("+")
	if width() == was {
		b.Error("+ does not zoom")
	}
	b.press("-")
	if width() != was {
		b.Errorf("- does not zoom back: %s, %s", was, width())
	}
	b.size(390, false)
	b.press("0")
	if b.eval(`document.querySelector("#map").scrollWidth <= document.querySelector("#map").clientWidth + 40`) != "true" {
		b.Error("0 does not show all of it")
	}
	b.size(1440, false)
	b.accessible("/map")
	vpc := w.PSQL(`SELECT id FROM vpc WHERE vpc_id = 'vpc-5a0b'`)
	b.open("/map?in=vpc." + vpc)
	b.shoot("map-light", 1440, false)
	b.open("/map/vpc/" + vpc + "?deletes")
	b.accessible("/map?deletes")
	if *every != "" {
		b.shootEvery("map", "/map", "us-east-1")
		b.shootEvery("map-vpc", "/map?in=vpc."+vpc, "shop")
		b.shootEvery("map-breaks", "/map/vpc/"+vpc+"?deletes", "refused")
		b.shootEvery("map-tables", "/map?tables", "hangs")
	}
}

// testManyOnMap: what is too much is folded, opens by a link, and neither the page nor the drawing is slow or large.
func testManyOnMap(v *visitor, w *harness.World) {
	silently(w, `INSERT INTO queue (account, region, name) SELECT account, region, 'big-' || n FROM `+scope+`, generate_series(1, 300) n`)
	page := v.get("/map")
	fold := called(v, shapesOf(v, page), "302 queue")
	if !strings.Contains(fold.class, "fold") || strings.Contains(page, "big-17") {
		v.Errorf("queues are not folded: %+v", fold)
	}
	opened := v.get(fold.href)
	if more := called(v, shapesOf(v, opened), "102 more"); !strings.Contains(opened, ">big-17<") ||
		more.href != "/records/queue" {
		v.Errorf("an opened fold: %+v", more)
	}
	silently(w,
		`INSERT INTO vpc (account, region, vpc_id, cidr_block) SELECT account, region, 'vpc-big-' || n, '10.21.0.0/16' FROM `+scope+`, generate_series(1, 20) n`,
		`INSERT INTO subnet (account, region, subnet_id, vpc_id, cidr_block) SELECT v.account, v.region, 'subnet-' || v.vpc_id || n, v.id, '10.21.1.0/24'
		 FROM vpc v, generate_series(1, 9) n WHERE v.vpc_id LIKE 'vpc-big-%'`,
		`INSERT INTO security_group (account, region, group_id, group_name, description, vpc_id) SELECT v.account, v.region, 'sg-' || v.vpc_id || n, n, n, v.id
		 FROM vpc v, generate_series(1, 4) n WHERE v.vpc_id LIKE 'vpc-big-%'`,
		`INSERT INTO instance (account, region, instance_id, ami, instance_type, subnet_id) SELECT u.account, u.region, 'i-' || u.subnet_id || n, 'ami-1', 't3.micro', u.id
		 FROM subnet u, generate_series(1, 9) n WHERE u.subnet_id LIKE 'subnet-vpc-big-%'`,
		`INSERT INTO instance_security_groups (account, region, instance_id, security_group_id)
		 SELECT i.account, i.region, i.id, g.id FROM instance i JOIN subnet u ON u.id = i.subnet_id JOIN security_group g ON g.vpc_id = u.vpc_id
		 WHERE g.group_id LIKE 'sg-vpc-big-%1' AND i.instance_id LIKE 'i-subnet-vpc-big%'`,
		`INSERT INTO queue (account, region, name) SELECT account, region, 'more-' || n FROM `+scope+`, generate_series(1, 400) n`, `ANALYZE`)
	var took []time.Duration
	for range 5 {
		began := stopwatch.Start()
		page = v.get("/map")
		took = append(took, began.Took())
	}
	slices.Sort(took)
	counted := regexp.MustCompile(`([0-9,]+) records`).FindStringSubmatch(page)
	if counted == nil {
		v.Fatalf("no count: %.3000s", page)
	}
	size := strings.LastIndex(page, "</svg>") - strings.Index(page, "<svg xmlns=")
	best := took[0] // other tests use the processors, too
	v.Logf("%s records: %s at the server, best of %v; the drawing has %d bytes", counted[1],
		best.Round(time.Millisecond), took, size)
	if n, _ := strconv.Atoi(strings.ReplaceAll(counted[1], ",", "")); n < 3000 {
		v.Errorf("there are %d records only", n)
	}
	if best > atMost {
		v.Errorf("the page takes %s", best)
	}
	if size > 300_000 {
		v.Errorf("the drawing has %d bytes", size)
	}
	if *every != "" {
		b := newBrowser(v.T, newChromium(v.T), v.base)
		b.signIn(w.UserURL)
		b.shootEvery("map-many", "/map", "us-east-1")
	}
	for _, path := range []string{"/map?tag=team%3Dweb", "/map?in=vpc." + w.PSQL(`SELECT id FROM vpc WHERE vpc_id = 'vpc-big-7'`)} {
		began := stopwatch.Start()
		page := v.get(path)
		v.Logf("%s: %s, %d bytes", path, began.Took().Round(time.Millisecond), len(page))
	}
}
