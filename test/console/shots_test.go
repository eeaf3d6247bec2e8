package console

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/chromedp/chromedp"

	"iasql/internal/test/harness"
)

var (
	// shots is where the pictures go that the documentation shows.
	shots = flag.String("screenshots", "", "a `folder` to write the documentation's pictures to")
	// every is where each page goes, narrow and wide, light and dark, for whoever changes how the console looks.
	every = flag.String("every-page", "", "a `folder` to write pictures of every page to, in each width and scheme")
)

// shoot takes a picture of the page as it is, at a width.
func (b *browser) shoot(name string, width int64, dark bool) {
	b.Helper()
	if *shots == "" {
		return
	}
	b.size(width, dark)
	var picture []byte
	b.until(ready)
	b.do("picture of "+name, chromedp.CaptureScreenshot(&picture))
	b.write(*shots, name, picture)
	b.size(1440, false)
}

func (b *browser) write(folder, name string, picture []byte) {
	b.Helper()
	if err := os.MkdirAll(folder, 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name+".png"), picture, 0o644); err != nil {
		b.Fatal(err)
	}
}

// shootEvery takes pictures of a page as a whole, in each width and scheme.
func (b *browser) shootEvery(name, path, says string) {
	b.Helper()
	for _, dark := range []bool{false, true} {
		for _, width := range []int64{1440, 820, 390} {
			b.size(width, dark)
			b.open(path)
			b.says(says)
			var picture []byte
			b.do("picture of "+path, chromedp.FullScreenshot(&picture, 100))
			scheme := map[bool]string{false: "light", true: "dark"}[dark]
			b.write(*every, fmt.Sprintf("%s-%d-%s", name, width, scheme), picture)
		}
	}
	b.size(1440, false)
}

// shownPage is a page, and what it says once it is there.
type shownPage struct{ name, path, says string }

// furnish makes a world in which every page has something to show, and returns the
// pages; undo takes it back.
func furnish(w *harness.World) (pages []shownPage, undo func()) {
	w.PSQL(`INSERT INTO subnet (vpc_id, cidr_block) SELECT id, '172.30.3.0/24' FROM vpc WHERE cidr_block = '10.9.0.0/16'`)
	subnet := w.PSQL(`SELECT id FROM subnet WHERE cidr_block = '172.30.3.0/24'`)
	w.Becomes(patience, "t", `SELECT review FROM iasql_status WHERE table_name = 'subnet' AND record_id = `+subnet)
	w.PSQL(`CALL iasql_begin('over')`, `INSERT INTO queue (name) VALUES ('never')`, `CALL iasql_rollback()`)
	w.PSQL(`CALL iasql_begin('shop network')`,
		`INSERT INTO vpc (cidr_block, tags) VALUES ('10.30.0.0/16', '{"Name": "shop"}')`,
		`UPDATE queue SET visibility_timeout = 90 WHERE name = 'orders'`,
		`UPDATE queue SET name = 'invoices-2' WHERE name = 'salaries'`, `DELETE FROM queue WHERE name = 'staged'`)
	w.PSQL(`CALL iasql_begin('second thoughts')`, `INSERT INTO queue (name) VALUES ('later')`)
	batch := w.PSQL(`SELECT max(id) FROM iasql_batches WHERE name = 'shop network'`)
	queue := w.PSQL(`SELECT id FROM queue WHERE name = 'orders'`)
	vpc := w.PSQL(`SELECT id FROM vpc WHERE cidr_block = '10.9.0.0/16'`)
	pages = []shownPage{
		{"overview", "/", "needs you"}, {"records", "/records", "every managed table"},
		{"list", "/records/queue", "shop orders"}, {"failed", "/records/subnet/" + subnet, "it needs you"},
		{"record", "/records/queue/" + queue, "visibility_timeout"}, {"batches", "/batches", "shop network"},
		{"batch", "/batches/" + batch, "decide"}, {"pending", "/batches/pending", "no batch is reviewed"},
		{"map", "/map", "what lies in what"}, {"map-record", "/map/vpc/" + vpc, "subnet"},
		{"map-tables", "/map?tables", "what hangs on what"}, {"map-deletes", "/map/vpc/" + vpc + "?deletes", "refused"},
		{"activity", "/activity", "SQS.CreateQueue"}, {"changes", "/activity?show=changes", "queue"},
		{"changed", "/changes?hours=1", "Take it back"},
		{"chips", "/changes?hours=1&table=queue&kind=edit", "kind edit"},
		{"between", "/changes?hours=1&between=1", "created"}, {"cycles", "/activity?show=cycles", "full"},
		{"conflicts", "/activity?show=conflicts", "conflicts"}, {"modules", "/modules", "aws_sqs"},
		{"manual", "/modules/aws_vpc", "nat_gateway"}, {"as-of", "/as-of?table=queue", "created"},
		{"nothing", "/records/none", "no managed table"}, {"diagram", "/map?module=aws_vpc", "module aws_vpc"},
		{"closed", "/batches/" + w.PSQL(`SELECT id FROM iasql_batches WHERE name = 'over'`), "over"},
	}
	return pages, func() {
		w.PSQL(`CALL iasql_join('shop network')`, `CALL iasql_rollback()`)
		w.PSQL(`CALL iasql_join('second thoughts')`, `CALL iasql_rollback()`)
		w.PSQL(`DELETE FROM subnet WHERE id = ` + subnet)
	}
}

// everyPage takes pictures of all pages, in a world where there is something to see.
func everyPage(b *browser, w *harness.World) {
	if *every == "" {
		return
	}
	pages, undo := furnish(w)
	for _, p := range pages {
		b.shootEvery(p.name, p.path, p.says)
	}
	undo()
}
