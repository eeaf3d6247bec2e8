package console

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds of what a download has. It is streamed; what is longer fails, since a file
// does not say that something is missing.
const (
	mostDownloadRows = 100_000
	mostDownload     = 64 << 20
	heldBack         = 1 << 20 // until so much is there, an error is a page
)

// downloadSQL runs a text read only, and sends what its last statement finds.
func (c *Console) downloadSQL(v *visit) {
	format := v.r.PostFormValue("format")
	if format != "csv" && format != "json" {
		v.problem(http.StatusBadRequest, "This is no format", "A download is CSV or JSON.")
		return
	}
	r, why := v.runOf()
	if why != "" {
		v.problem(http.StatusBadRequest, "This cannot be run", why)
		return
	}
	r.id, r.mode, r.batch, r.limit, r.started, r.done = secret()[:16], modeRead, 0, mostDownloadRows, time.Now(),
		make(chan struct{})
	if err := v.session.sql.claim(r); err != nil {
		v.problem(http.StatusConflict, "Another run is under way",
			"Wait until it has ended, or cancel it where you have started it.")
		return
	}
	defer v.session.sql.release(r, false)
	defer close(r.done)
	c.log.Info("console downloads", "role", v.session.role, "format", format, "question", r.ask)
	ctx, cancel := contextUntil(v.ctx(), v.session.ended)
	defer cancel()
	r.cancel = cancel
	_ = http.NewResponseController(v.w).SetWriteDeadline(time.Now().Add(r.timeout +
		time.Minute)) // else the server's holds
	out := &lateHeader{to: v.w, header: func() {
		kind := map[string]string{"csv": "text/csv; charset=utf-8; header=present", "json": "application/json"}[format]
		v.w.Header().Set("Content-Type", kind)
		v.w.Header().Set("Content-Disposition", `attachment; filename="result.`+format+`"`)
	}}
	file := bufio.NewWriterSize(out, heldBack)
	d := &download{file: file, json: format == "json", last: len(split(r.text)) - 1}
	v.session.performRun(ctx, r, d)
	switch {
	case r.failure == nil && d.more:
		r.failure = &sqlFailure{message: fmt.Sprintf("There are more than %s rows.", grouped(mostDownloadRows)),
			hint: "Ask for less: WHERE, LIMIT and OFFSET. Or use \\copy of psql."}
	case r.failure == nil && d.columns == nil:
		r.failure = &sqlFailure{message: "The last statement finds no rows that could be downloaded.",
			hint: "Let it be a SELECT."}
	}
	if r.failure == nil {
		d.finish()
		if file.Flush() != nil {
			panic(http.ErrAbortHandler) // the visitor has gone
		}
		return
	}
	if out.began {
		panic(http.ErrAbortHandler) // so that the file is seen to have failed
	}
	v.problem(http.StatusUnprocessableEntity, "There is nothing to download",
		strings.TrimSpace(r.failure.message+" "+r.failure.hint))
}

// lateHeader passes on what is written, and sets the header before the first of it.
type lateHeader struct {
	to     io.Writer
	header func()
	began  bool
}

// Write implements io.Writer.
func (c *lateHeader) Write(p []byte) (int, error) {
	if !c.began {
		c.header()
	}
	c.began = true
	return c.to.Write(p)
}

// download is the sink of a file.
type download struct {
	file    *bufio.Writer
	json    bool
	last    int
	now     int
	columns []sqlColumn
	names   [][]byte // in JSON, with what comes before a value
	rows    int
	written int
	more    bool
}

func (d *download) begin(n int, columns []sqlColumn) error {
	if d.now = n; n != d.last || len(columns) == 0 {
		return nil
	}
	d.columns = columns
	if !d.json {
		names := make([][]byte, len(columns))
		for i, c := range columns {
			names[i] = []byte(c.name)
		}
		return d.line(names)
	}
	used := map[string]bool{}
	for i, c := range columns {
		name := c.name
		for n := 2; used[name]; n++ { // JSON's names are different ones
			name = c.name + "_" + strconv.Itoa(n)
		}
		used[name] = true
		quoted, err := json.Marshal(name)
		if err != nil {
			return err
		}
		lead := ","
		if i == 0 {
			lead = "{"
		}
		d.names = append(d.names, []byte(lead+string(quoted)+":"))
	}
	return d.write([]byte("["))
}

func (d *download) row(values [][]byte) error {
	if d.now != d.last {
		return nil
	}
	d.rows++
	if !d.json {
		return d.line(values)
	}
	lead := ",\n"
	if d.rows == 1 {
		lead = "\n"
	}
	if err := d.write([]byte(lead)); err != nil {
		return err
	}
	for i, v := range values {
		if err := d.write(d.names[i]); err != nil {
			return err
		}
		if err := d.write(jsonValue(d.columns[i].kind, v)); err != nil {
			return err
		}
	}
	return d.write([]byte("}"))
}

func (d *download) end(_ string, more bool, _ time.Duration) {
	d.more = d.more || more && d.now == d.last
}

func (d *download) finish() {
	if d.json {
		_, _ = d.file.WriteString("\n]\n") // Flush says whether it could be written
	}
}

func (d *download) write(p []byte) error {
	if d.written += len(p); d.written > mostDownload {
		return fmt.Errorf("the file has more than %d MB: ask for less", mostDownload>>20)
	}
	_, err := d.file.Write(p)
	if err != nil {
		err = errors.New("the file could not be sent")
	}
	return err
}

// line writes a line of CSV (RFC 4180). As in PostgreSQL's own, NULL is nothing, and a
// text that is empty is quoted.
func (d *download) line(values [][]byte) error {
	for i, v := range values {
		lead := ""
		if i > 0 {
			lead = ","
		}
		text := string(v)
		if v != nil && (text == "" || strings.ContainsAny(text, "\",\r\n") || text[0] == ' ' ||
			text[len(text)-1] == ' ') {
			text = `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
		}
		if err := d.write([]byte(lead + text)); err != nil {
			return err
		}
	}
	return d.write([]byte("\r\n"))
}

// jsonValue writes a value of PostgreSQL's in JSON: numbers, truth values and documents
// as what they are, all else as text.
func jsonValue(kind uint32, v []byte) []byte {
	switch {
	case v == nil:
		return []byte("null")
	case kind == 16: // boolean
		return strconv.AppendBool(nil, string(v) == "t")
	case kind == 114, kind == 3802, // json, jsonb
		kind == 20, kind == 21, kind == 23, kind == 26, kind == 700, kind == 701,
		kind == 1700: // numbers, but for NaN and Infinity
		if json.Valid(v) {
			return v
		}
	}
	if !utf8.Valid(v) {
		v = []byte(strings.ToValidUTF8(string(v), "�"))
	}
	quoted, err := json.Marshal(string(v))
	if err != nil {
		panic(err) // a text that is UTF-8 can always be written
	}
	return quoted
}
