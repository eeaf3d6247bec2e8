package console

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// statement is one statement that a button runs. Its values travel as parameters;
// what is shown is the same statement with the values as literals, which can be
// pasted into psql.
//
// Parameters are cast to exactly what the functions take, and all are given: a
// function of the same name that somebody has made for other arguments is then
// never the better match (manual, section 10.3), and nobody's code is called with
// the visitor's rights (R20).
type statement struct {
	sql  string // with $1::text, $2::bigint, …
	args []any
}

// run returns the statement as it is sent: what is the product's is looked for in
// schema public, which no session's search_path has.
func (s statement) run() string { return ours.ReplaceAllString(s.sql, "public.$0") }

var (
	ours  = regexp.MustCompile(`\biasql_[a-z_]+`)
	casts = regexp.MustCompile(`::[a-z]+(\[\])?`)
)

// String returns the statement as somebody would type it.
func (s statement) String() string {
	text := casts.ReplaceAllString(s.sql, "")
	for i := len(s.args); i > 0; i-- { // $12 before $1
		text = strings.ReplaceAll(text, "$"+strconv.Itoa(i), "\x00"+strconv.Itoa(i)+"\x00")
	}
	for i, arg := range s.args {
		shown := literal(arg)
		// as people write it
		if list, ok := arg.([]string); ok && strings.Contains(text, "VARIADIC \x00"+strconv.Itoa(i+1)+"\x00") {
			text = strings.ReplaceAll(text, "VARIADIC \x00"+strconv.Itoa(i+1), "\x00"+strconv.Itoa(i+1))
			shown = strings.TrimSuffix(strings.TrimPrefix(literal(list), "ARRAY["), "]")
		}
		text = strings.ReplaceAll(text, "\x00"+strconv.Itoa(i+1)+"\x00", shown)
	}
	return text
}

func literal(value any) string {
	switch value := value.(type) {
	case nil:
		return "NULL"
	case *string:
		if value == nil {
			return "NULL"
		}
		return literal(*value)
	case string:
		quoted := "'" + strings.ReplaceAll(value, "'", "''") + "'"
		if strings.Contains(value, `\`) {
			return "E" + strings.ReplaceAll(quoted, `\`, `\\`)
		}
		return quoted
	case []string:
		parts := make([]string, len(value))
		for i, v := range value {
			parts[i] = literal(v)
		}
		return "ARRAY[" + strings.Join(parts, ", ") + "]"
	case []int64:
		parts := make([]string, len(value))
		for i, v := range value {
			parts[i] = number(v)
		}
		return "ARRAY[" + strings.Join(parts, ", ") + "]"
	}
	return fmt.Sprint(value)
}

func ident(name string) string { return pgx.Identifier{name}.Sanitize() }

func table(name string) string { return pgx.Identifier{"public", name}.Sanitize() }

// action is something that a person may have done: what the button says, and the
// statement.
type action struct {
	name string // by which a form asks for it
	text string
	statement
	danger bool
	batch  int64  // the batch it is about, which the session has to join first; 0: none
	why    string // what it comes to
	opens  bool   // it opens a batch, unless there is nothing to do: the review of that comes next
}
