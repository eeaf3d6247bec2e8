package comingfrom

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"iasql/internal/test/everytable"
)

// Each file of this folder has one resource in SQL: all arguments of its page's examples that have a column, with
// values of our own. Several examples can be one statement. given.sql is what they stand on.
const inSQL = "testdata/terraform/"

var (
	inserted = regexp.MustCompile(`(?m)^INSERT INTO (\w+) \(([\w,\s]+)\)`)
	aPath    = regexp.MustCompile(`^[\w.\[\]]+$`)
	aStep    = regexp.MustCompile(`^(\w*)((?:\[\d*\])?)$`)
)

// paths returns where in a column of JSON the argument is, as the note says it: "Rules[].Name and Rules[].Value, …".
// There are none if the note says it in words.
func (a argument) paths() []string {
	note := strings.FieldsFunc(a.note, func(r rune) bool { return r == ',' || r == ';' })
	if len(note) == 0 {
		return nil
	}
	list := strings.Split(note[0], " and ")
	if slices.ContainsFunc(list, func(path string) bool { return !aPath.MatchString(path) }) {
		return nil
	}
	return list
}

// jsonPath returns the path in PostgreSQL's language: Rules[].Name is $."Rules"[*]."Name".
func jsonPath(path string) string {
	var b strings.Builder
	b.WriteString("$")
	for _, step := range strings.Split(path, ".") {
		parts := aStep.FindStringSubmatch(step)
		if parts == nil {
			continue
		}
		if parts[1] != "" {
			b.WriteString(`."` + parts[1] + `"`)
		}
		b.WriteString(strings.Replace(parts[2], "[]", "[*]", 1))
	}
	return b.String()
}

// columnsOf returns the columns of each table that the statements write.
func columnsOf(sql string) map[string][]string {
	columns := map[string][]string{}
	for _, into := range inserted.FindAllStringSubmatch(sql, -1) {
		for _, column := range strings.Split(into[2], ",") {
			columns[into[1]] = append(columns[into[1]], strings.TrimSpace(column))
		}
	}
	return columns
}

// Every argument that has a column is written in SQL, by a user, in one transaction for each resource. The tables
// accept it, and what is written is found in the column, and in the path within it.
func TestTerraformArgumentsAreWritten(t *testing.T) {
	t.Parallel()
	w := everytable.NewWorld(t)
	w.Admin(`SET iasql.origin = 'engine'`,
		`INSERT INTO aws_regions (region, is_default, is_enabled) VALUES ('us-east-1', true, true)`,
		`INSERT INTO availability_zone (region, name) VALUES ('us-east-1', 'us-east-1a'), ('us-east-1', 'us-east-1b')`)
	conn, err := pgx.Connect(t.Context(), w.UserURL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())

	var order []string
	of := map[string][]argument{}
	for _, a := range arguments(t) {
		if of[a.resource] == nil {
			order = append(order, a.resource)
		}
		of[a.resource] = append(of[a.resource], a)
	}
	files, err := filepath.Glob(inSQL + "aws_*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if name := strings.TrimSuffix(filepath.Base(file), ".sql"); of[name] == nil {
			t.Errorf("%s has no arguments in terraform.csv", name)
		}
	}
	var b strings.Builder
	for _, name := range order {
		var n tally
		for _, a := range of[name] {
			n.add(a)
		}
		written := write(t, conn, name, of[name])
		if written != n.column {
			t.Errorf("%s: %d arguments are written, want %d", name, written, n.column)
		}
		fmt.Fprintf(&b, "%s: %d arguments, %d with a column, %d written\n", name, n.all, n.column, written)
		for _, a := range of[name] {
			if a.reason != "" {
				fmt.Fprintf(&b, "    %s: %s\n", a.name, a.reason)
			}
		}
	}
	t.Log("\n" + b.String())
}

// write runs the examples of a resource in a transaction that it takes back, and returns how many of the arguments
// they set.
func write(t *testing.T, conn *pgx.Conn, resource string, list []argument) int {
	t.Helper()
	read := func(name string) string {
		text, err := os.ReadFile(inSQL + name + ".sql")
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	given, sql := read("given"), read(resource)
	if _, err := conn.PgConn().Exec(t.Context(), given).ReadAll(); err != nil {
		t.Fatalf("given: %v", err)
	}
	columns := columnsOf(sql)
	before := map[string]int64{} // the last record of given.sql
	for table := range columns {
		var last int64
		newest := `SELECT coalesce(max(id), 0) FROM ` + pgx.Identifier{table}.Sanitize()
		if err := tx.QueryRow(t.Context(), newest).Scan(&last); err != nil {
			t.Errorf("%s: %v", resource, err)
			return 0
		}
		before[table] = last
	}
	if _, err := conn.PgConn().Exec(t.Context(), sql+`; SET CONSTRAINTS ALL IMMEDIATE`).ReadAll(); err != nil {
		t.Errorf("%s: %v", resource, err)
		return 0
	}
	written := 0
	for _, a := range list {
		if a.column == "" {
			continue
		}
		// A list is written by ids of the cloud or by records (R36).
		column := a.column
		if !slices.Contains(columns[a.table], column) {
			column += "_records"
		}
		if !slices.Contains(columns[a.table], column) {
			t.Errorf("%s.%s: no statement writes %s.%s", resource, a.name, a.table, a.column)
			continue
		}
		is, err := holds(t.Context(), tx, a, column, before[a.table])
		if err != nil {
			t.Fatalf("%s.%s: %v", resource, a.name, err)
		}
		if !is {
			t.Errorf("%s.%s: no row of %s has it in %s (%s)", resource, a.name, a.table, a.column, a.note)
			continue
		}
		written++
	}
	return written
}

// holds tells whether a later record than the given one has the argument in the column.
func holds(ctx context.Context, tx pgx.Tx, a argument, column string, after int64) (bool, error) {
	c, table := pgx.Identifier{column}.Sanitize(), pgx.Identifier{a.table}.Sanitize()
	found := c + ` IS NOT NULL`
	if strings.HasPrefix(a.note, "NULL is ") {
		found = `true`
	}
	var kind string
	err := tx.QueryRow(ctx, `SELECT pg_typeof(`+c+`)::text FROM `+table+` WHERE id > $1 LIMIT 1`, after).Scan(&kind)
	if err != nil {
		return false, err
	}
	paths := a.paths()
	if kind != "jsonb" || len(paths) == 0 {
		var is bool
		err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM `+table+` WHERE id > $1 AND `+found+`)`, after).Scan(&is)
		return is, err
	}
	// A path is one of members, or a member's name that has dots, as attributes of load balancers have.
	jsonPaths := make([]string, len(paths))
	for i, path := range paths {
		jsonPaths[i] = jsonPath(path)
	}
	var is bool
	err = tx.QueryRow(ctx, `SELECT bool_and(EXISTS (SELECT FROM `+table+` t WHERE t.id > $1 AND
		(jsonb_path_exists(t.`+c+`, p.json_path::jsonpath) OR t.`+c+` ? p.name)))
		FROM unnest($2::text[], $3::text[]) p (name, json_path)`, after, paths, jsonPaths).Scan(&is)
	return is, err
}
