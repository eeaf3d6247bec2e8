package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// TryPSQL runs each statement by its own in a session of its own, and returns what
// psql -At prints of them, columns separated by |, or says of the first that fails
// (VERBOSITY=verbose). It speaks as psql does, by the simple query protocol, and is
// psql itself only for what that alone can do: a process for each of some ten thousand
// statements takes longer than the statements.
func (w *World) TryPSQL(url string, statements ...string) (string, error) {
	for _, s := range statements {
		if s = strings.TrimSpace(s); strings.HasPrefix(s, `\`) || strings.HasPrefix(strings.ToUpper(s), "COPY") {
			return w.execPSQL(url, statements...)
		}
	}
	config, err := pgconn.ParseConfig(url)
	if err != nil {
		return "", err
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "psql"
	}
	var said strings.Builder
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { said.WriteString(verbose((*pgconn.PgError)(n))) }
	conn, err := pgconn.ConnectConfig(w.Context(), config)
	if err != nil {
		return "", fmt.Errorf("psql: error: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(w.Context())) }()
	var out []string
	for _, s := range statements {
		printed, err := printed(w.Context(), conn, s, true)
		if out = append(out, printed...); err != nil {
			var refused *pgconn.PgError
			if errors.As(err, &refused) {
				said.WriteString(verbose(refused))
			} else {
				said.WriteString(err.Error())
			}
			return strings.Join(out, "\n"), errors.New(strings.TrimSpace(said.String()))
		}
	}
	return strings.TrimSpace(strings.Join(out, "\n")), nil
}

// execPSQL is TryPSQL by the program psql.
func (w *World) execPSQL(url string, statements ...string) (string, error) {
	args := []string{"-X", "-At", "-v", "ON_ERROR_STOP=1", "-v", "VERBOSITY=verbose", url}
	for _, s := range statements {
		args = append(args, "-c", s)
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(w.Context(), "psql", args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), errors.New(strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(stdout.String()), nil
}

// printed runs a query and returns the lines that psql -At prints of it: rows, and of
// what has changed something, if tags are wanted, how much.
func printed(ctx context.Context, conn *pgconn.PgConn, query string, tags bool) ([]string, error) {
	results, err := conn.Exec(ctx, query).ReadAll()
	var lines []string
	for _, result := range results {
		for _, row := range result.Rows {
			lines = append(lines, string(bytes.Join(row, []byte("|"))))
		}
		if tag := result.CommandTag.String(); tags && tag != "" && told(tag, len(result.Rows) > 0) {
			lines = append(lines, tag)
		}
	}
	return lines, err
}

// told reports whether psql prints the tag of a command: not of what returns rows, unless it
// has changed them.
func told(tag string, rows bool) bool {
	verb, _, _ := strings.Cut(tag, " ")
	switch verb {
	case "INSERT", "UPDATE", "DELETE", "MERGE":
		return true
	case "SELECT", "SHOW", "FETCH", "EXPLAIN":
		return false
	}
	return !rows
}

// verbose returns a message as libpq formats it with PQERRORS_VERBOSE.
func verbose(e *pgconn.PgError) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:  %s: %s\n", e.Severity, e.Code, e.Message)
	for _, part := range []struct{ name, text string }{
		{"DETAIL", e.Detail}, {"HINT", e.Hint}, {"QUERY", e.InternalQuery}, {"CONTEXT", e.Where}, {"SCHEMA NAME", e.SchemaName},
		{"TABLE NAME", e.TableName}, {"COLUMN NAME", e.ColumnName}, {"DATATYPE NAME", e.DataTypeName}, {"CONSTRAINT NAME", e.ConstraintName},
	} {
		if part.text != "" {
			fmt.Fprintf(&b, "%s:  %s\n", part.name, part.text)
		}
	}
	if e.Routine != "" {
		fmt.Fprintf(&b, "LOCATION:  %s, %s:%d\n", e.Routine, e.File, e.Line)
	}
	return b.String()
}
