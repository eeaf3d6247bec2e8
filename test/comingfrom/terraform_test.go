package comingfrom

import (
	"encoding/csv"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"iasql/internal/aws"
	"iasql/internal/modules"
	"iasql/internal/modules/all"
	"iasql/internal/test/harness"
)

// What the examples of Terraform's documentation use, and where it is here: terraform.csv has the arguments,
// terraform_pages.csv the pages that they are of, terraform_examples.sql ten examples in SQL that the engine carries
// out, and testdata/terraform all arguments of each resource in SQL. The files hold facts, and no text of these pages.
const (
	terraformPage  = "../../docs/coming-from-terraform.md"
	argumentsBegin = "<!-- arguments: made by go test ./test/comingfrom -run TestTerraformArguments -args -update -->\n"
	argumentsEnd   = "<!-- end of arguments -->\n"

	leastResources = 30
	// leastShare is what percentage of the arguments has a column at least. The goal is 95, and terraform.csv says of each of
	// the others why it has none, and which of them are missing.
	leastShare = 95.0
)

// An argument without a column has a reason, which begins with what it is.
const (
	terraformsOwn = "Terraform's own" // it tells Terraform what to do, and is not counted at all
	asType        = "type"            // no module has it; the table of a type does (docs/every-type.md)
)

var kindsOfReason = []string{terraformsOwn, asType, "deed", "deprecated", "missing"}

// argument is a row of terraform.csv.
type argument struct{ resource, name, table, column, note, reason string }

// kind is what a reason begins with.
func (a argument) kind() string {
	k, _, _ := strings.Cut(a.reason, ":")
	return k
}

// tally counts arguments.
type tally struct{ all, column, asType int }

func (n *tally) add(a argument) {
	switch {
	case a.kind() == terraformsOwn:
		return
	case a.column != "":
		n.column++
	case a.kind() == asType:
		n.asType++
	}
	n.all++
}

func (n tally) share() float64 { return 100 * float64(n.column) / float64(n.all) }

// facts returns the rows of a file of this folder, without its header.
func facts(t *testing.T, file string, header ...string) [][]string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) == 0 || !slices.Equal(rows[0], header) {
		t.Fatalf("%s does not begin with the header %q", file, header)
	}
	return rows[1:]
}

// arguments returns the rows of terraform.csv.
func arguments(t *testing.T) []argument {
	t.Helper()
	var list []argument
	for _, row := range facts(t, "terraform.csv", "resource", "argument", "table", "column", "path_or_note", "reason") {
		list = append(list, argument{row[0], row[1], row[2], row[3], row[4], row[5]})
	}
	return list
}

// described returns the descriptions of all tables. It takes neither a database nor a cloud.
func described(t *testing.T) *modules.Registry {
	t.Helper()
	registry, err := modules.NewRegistry(all.Modules(aws.New(aws.Options{}))...)
	if err != nil {
		t.Fatal(err)
	}
	return registry
}

// writable tells why users cannot write the column, "" if they can.
func writable(registry *modules.Registry, table, column string) string {
	description := registry.Table(table)
	if description == nil {
		return "there is no table " + table
	}
	switch c := description.Column(column); {
	case c == nil:
		return fmt.Sprintf("the table %s has no column %s", table, column)
	case c.Computed:
		return fmt.Sprintf("%s.%s is assigned by the cloud", table, column)
	}
	return ""
}

// Every argument has a column that sets the same, or a reason why there is none.
func TestTerraformArguments(t *testing.T) {
	t.Parallel()
	registry := described(t)
	arguments, seen := arguments(t), map[string]bool{}
	for _, a := range arguments {
		name := a.resource + "." + a.name
		if seen[name] {
			t.Errorf("%s is there twice", name)
		}
		seen[name] = true
		switch {
		case (a.table == "") != (a.column == ""):
			t.Errorf("%s has a table without a column, or the other way round", name)
		case (a.column == "") == (a.reason == ""):
			t.Errorf("%s has to have either a column or a reason", name)
		case a.reason != "" && !slices.Contains(kindsOfReason, a.kind()):
			t.Errorf("%s: the reason %q does not begin with one of %q", name, a.reason, kindsOfReason)
		case a.reason != "" && (a.note != "" || len(a.reason) < len(a.kind())+3):
			t.Errorf("%s: the reason does not say why, or there is a note beside it", name)
		case a.column != "":
			if why := writable(registry, a.table, a.column); why != "" {
				t.Errorf("%s: %s", name, why)
			}
		}
	}

	commit, from := regexp.MustCompile(`^[0-9a-f]{40}$`), map[string]bool{}
	for _, row := range facts(t, "terraform_pages.csv", "resource", "page", "commit") {
		if from[row[0]] || !strings.HasPrefix(row[1], "website/docs/") || !commit.MatchString(row[2]) {
			t.Errorf("%s has two pages, or none of a commit", row[0])
		}
		from[row[0]] = true
	}

	var total tally
	of, order := map[string]*tally{}, []string(nil)
	for _, a := range arguments {
		if of[a.resource] == nil {
			of[a.resource], order = new(tally), append(order, a.resource)
		}
		of[a.resource].add(a)
		total.add(a)
	}
	var b strings.Builder
	b.WriteString(argumentsBegin + "| resource | arguments | with a column | only in the table of a type |\n|---|---|---|---|\n")
	for _, name := range order {
		n := of[name]
		if !from[name] {
			t.Errorf("nobody says of which page the arguments of %s are", name)
		}
		fmt.Fprintf(&b, "| `%s` | %d | %d | %d |\n", name, n.all, n.column, n.asType)
	}
	fmt.Fprintf(&b, "| all %d | %d | %d (%.1f %%) | %d |\n", len(order), total.all, total.column, total.share(), total.asType)
	t.Log("\n" + b.String())
	for _, a := range arguments {
		if a.reason != "" {
			t.Logf("%s.%s: %s", a.resource, a.name, a.reason)
		}
	}
	if len(order) < leastResources || len(from) != len(order) {
		t.Errorf("there are %d resources and %d pages, want %d at least, and a page of each", len(order), len(from), leastResources)
	}
	tell(t, b.String())
	if total.share() < leastShare {
		t.Errorf("%.1f %% of the arguments have a column, want %.0f %%", total.share(), leastShare)
	}
}

// tell has the page for users say what there is.
func tell(t *testing.T, table string) {
	t.Helper()
	text, err := os.ReadFile(terraformPage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), argumentsBegin)
	_, after, ended := strings.Cut(rest, argumentsEnd)
	if !found || !ended {
		t.Fatalf("%s has no place for the table", terraformPage)
	}
	now := before + table + argumentsEnd + after
	switch {
	case now == string(text):
	case !*update:
		t.Errorf("%s is not what there is: go test ./test/comingfrom -run TestTerraformArguments -args -update", terraformPage)
	default:
		if err := os.WriteFile(terraformPage, []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

var (
	exampleOf  = regexp.MustCompile(`(?m)^-- (aws_\w+)\n`)
	insertInto = regexp.MustCompile(`^INSERT INTO (\w+) \(([\w,\s]+)\)`)
)

// example is a section of terraform_examples.sql.
type example struct{ resource, sql string }

func examples(t *testing.T) []example {
	t.Helper()
	text, err := os.ReadFile("terraform_examples.sql")
	if err != nil {
		t.Fatal(err)
	}
	names, sections := exampleOf.FindAllStringSubmatch(string(text), -1), exampleOf.Split(string(text), -1)
	if len(names) != 10 {
		t.Errorf("there are %d examples, want 10", len(names))
	}
	list := make([]example, len(names))
	for i, name := range names {
		list[i] = example{name[1], sections[i+1]}
	}
	return list
}

// The ten examples insert, and do nothing else, into columns that users can write.
func TestTerraformArgumentsInSQL(t *testing.T) {
	t.Parallel()
	registry := described(t)
	known := map[string]bool{}
	for _, row := range facts(t, "terraform_pages.csv", "resource", "page", "commit") {
		known[row[0]] = true
	}
	for _, e := range examples(t) {
		name := e.resource
		if !known[name] {
			t.Errorf("%s has no arguments in terraform.csv", name)
		}
		delete(known, name)
		statements := 0
		for _, statement := range strings.Split(e.sql, ";\n") {
			if statement = strings.TrimSpace(statement); statement == "" {
				continue
			}
			statements++
			into := insertInto.FindStringSubmatch(statement)
			if into == nil {
				t.Errorf("%s: this is no INSERT: %s", name, statement)
				continue
			}
			for _, column := range strings.Split(into[2], ",") {
				if why := writable(registry, into[1], strings.TrimSpace(column)); why != "" {
					t.Errorf("%s: %s", name, why)
				}
			}
		}
		if statements == 0 {
			t.Errorf("%s has no statement", name)
		}
	}
}

// Each of the ten examples is accepted by the tables, in one transaction, and the engine makes what it says. The emulator
// has all of it. It does not look at what only AWS can: whether a load balancer may write into the bucket of its logs.
func TestTerraformExamplesRun(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, []string{"us-east-1"}, "aws_ec2", "aws_elb", "aws_rds", "aws_s3", "aws_lambda", "aws_dynamo")
	for _, e := range examples(t) {
		made := strings.Count(e.sql, "INSERT INTO ")
		out := w.PSQL("BEGIN", e.sql, "COMMIT")
		if strings.Count(out, "INSERT 0 ") != made || strings.Contains(out, "INSERT 0 0") {
			t.Errorf("%s: %d statements insert something each, and psql says: %s", e.resource, made, out)
		}
		if out, err := w.TryPSQL(w.UserURL, "SELECT iasql_wait_for_all(120)"); err != nil {
			t.Errorf("%s: %v: %s\n%s", e.resource, err, out,
				w.PSQL(`SELECT table_name, record_id, state, message FROM public.iasql_status WHERE state <> 'Present'`))
		}
	}
	w.Settled()
}
