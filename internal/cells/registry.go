package cells

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"iasql/internal/postgres"
)

//go:embed registry.sql
var registrySQL string

// State says whether a cell is asked.
type State string

// The states of a cell.
const (
	Active State = "active"
	Lost   State = "lost" // nobody asks it, and the union leaves it out
)

// Cell is one installation: a database for a group of accounts, with its engines.
type Cell struct {
	Name       string
	Connection string // a URL without a password
	State      State
}

// Registry is the database that knows the cells.
type Registry struct{ conn *pgx.Conn }

// Open connects to the registry, which [Registry.Init] may not have made yet. It fails if somebody
// else could change what stands in it.
func Open(ctx context.Context, url string) (*Registry, error) {
	conn, err := postgres.Open(ctx, url)
	if err == nil {
		if err = trusted(ctx, conn, []string{"iasql_cells"}, ""); err == nil {
			return &Registry{conn}, nil
		}
		_ = conn.Close(context.WithoutCancel(ctx))
	}
	return nil, fmt.Errorf("the registry of cells (--registry-url): %s", err)
}

// trusted fails if one of the schemas, a table of the registry, or a foreign server whose name
// begins so belongs to somebody who is neither the caller nor a superuser: what they put there
// would run with the caller's rights.
func trusted(ctx context.Context, conn *pgx.Conn, schemas []string, servers string) error {
	var what string
	err := conn.QueryRow(ctx, `
		SELECT coalesce(string_agg(format('%s, which belongs to %s', o.what, r.rolname), '; '), '')
		FROM (SELECT 'schema ' || n.nspname, n.nspowner FROM pg_namespace n WHERE n.nspname = ANY ($1)
			UNION ALL SELECT format('%s.%s', n.nspname, c.relname), c.relowner
			FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ANY ($1)
				AND n.nspname = 'iasql_cells'
			UNION ALL SELECT 'server ' || s.srvname, s.srvowner
			FROM pg_foreign_server s WHERE $2 <> '' AND starts_with(s.srvname, $2)) o (what, owner)
		JOIN pg_roles r ON r.oid = o.owner WHERE r.rolname <> current_user AND NOT r.rolsuper`, schemas,
		servers).Scan(&what)
	if err == nil && what != "" {
		err = fmt.Errorf("there is %s: it could be changed to act with the rights of who runs this. Look what is in "+
			"it, and drop it, or run this as its owner", what)
	}
	return err
}

// Close ends the connection.
func (r *Registry) Close(ctx context.Context) { _ = r.conn.Close(ctx) }

// Init makes what the registry consists of, in schema iasql_cells; what is there stays.
func (r *Registry) Init(ctx context.Context) error {
	return pgx.BeginFunc(ctx, r.conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtext('iasql_cells'))`); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, registrySQL)
		return err
	})
}

// explain says what to do where there is no registry.
func explain(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && (pg.Code == pgerrcode.UndefinedTable || pg.Code == pgerrcode.InvalidSchemaName) {
		return fmt.Errorf("this database is no registry of cells: engine cells init makes it one (%w)", err)
	}
	return err
}

// Cells returns all cells by name.
func (r *Registry) Cells(ctx context.Context) ([]Cell, error) {
	rows, _ := r.conn.Query(ctx, `SELECT name, connection, state FROM iasql_cells.cell ORDER BY name`)
	cells, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Cell])
	return cells, explain(err)
}

var nameForm = regexp.MustCompile(`^[a-z][a-z0-9_]{0,30}$`)

// Add registers a cell after it has answered within the deadline, and notes its accounts. It
// fails, and nothing is registered, if the name is taken, if the database is no installation, or if
// another cell has one of its accounts.
func (r *Registry) Add(ctx context.Context, cell Cell, deadline time.Duration) (*Answer, error) {
	if !nameForm.MatchString(cell.Name) {
		return nil, fmt.Errorf("%q is no name for a cell: small letters, digits and _, 31 at most, a letter first",
			cell.Name)
	}
	if _, err := serverOptions(cell.Connection); err != nil {
		return nil, err
	}
	if _, err := r.Cells(ctx); err != nil {
		return nil, err
	}
	answer := ask(ctx, cell, deadline)
	if answer.Trouble != "" {
		return nil, fmt.Errorf("cell %s: %s", cell.Name, answer.Trouble)
	}
	err := pgx.BeginFunc(ctx, r.conn, func(tx pgx.Tx) error {
		// Two that are added at once may have an account in common.
		if _, err := tx.Exec(ctx, `LOCK TABLE iasql_cells.account IN SHARE ROW EXCLUSIVE MODE`); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, `INSERT INTO iasql_cells.cell (name, connection) VALUES ($1, $2)
			ON CONFLICT DO NOTHING`, cell.Name, cell.Connection)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return fmt.Errorf("there is a cell %s already: engine cells remove %[1]s forgets it", cell.Name)
		}
		if err := note(ctx, tx, []Answer{*answer}); err != nil {
			return err
		}
		var both string
		err = tx.QueryRow(ctx, `SELECT coalesce(string_agg(format('%s (%s) is in cell %s', a.name, a.identity, o.cell),
				'; ' ORDER BY a.name), '')
			FROM iasql_cells.account a JOIN iasql_cells.account o ON o.kind = a.kind AND o.identity = a.identity
			WHERE a.cell = $1 AND o.cell <> $1`, cell.Name).Scan(&both)
		if err == nil && both != "" {
			err = fmt.Errorf("cell %s has accounts of another cell, and two databases for one account work against "+
				"each other: %s. Delete the account in one of them, which leaves its objects as they are", cell.Name,
				both)
		}
		return err
	})
	return answer, err
}

// Remove forgets a cell. The cell itself is left as it is; the next [Registry.Union] takes its
// tables out of the union.
func (r *Registry) Remove(ctx context.Context, name string) error {
	tag, err := r.conn.Exec(ctx, `DELETE FROM iasql_cells.cell WHERE name = $1`, name)
	return r.one(ctx, name, tag, err)
}

// Mark says whether a cell is asked.
func (r *Registry) Mark(ctx context.Context, name string, state State) error {
	tag, err := r.conn.Exec(ctx, `UPDATE iasql_cells.cell SET state = $2 WHERE name = $1`, name, string(state))
	return r.one(ctx, name, tag, err)
}

// one fails if a statement about one cell has found none.
func (r *Registry) one(ctx context.Context, name string, tag pgconn.CommandTag, err error) error {
	if err != nil || tag.RowsAffected() == 1 {
		return explain(err)
	}
	cells, err := r.Cells(ctx)
	if err != nil {
		return err
	}
	names := make([]string, len(cells))
	for i, c := range cells {
		names[i] = c.Name
	}
	return fmt.Errorf("there is no cell %q; there are: %s", name, strings.Join(names, ", "))
}

// Readers adds roles to those that read the union, takes others from them, and returns all.
func (r *Registry) Readers(ctx context.Context, add, remove []string) ([]string, error) {
	_, err := r.conn.Exec(ctx, `INSERT INTO iasql_cells.reader (role) SELECT DISTINCT unnest($1::text[])
		ON CONFLICT DO NOTHING`, add)
	if err == nil {
		_, err = r.conn.Exec(ctx, `DELETE FROM iasql_cells.reader WHERE role = ANY ($1::text[])`, remove)
	}
	if err != nil {
		return nil, explain(err)
	}
	rows, _ := r.conn.Query(ctx, `SELECT role::text FROM iasql_cells.reader ORDER BY role`)
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// note keeps what cells have answered: that they did, and which accounts they have.
func note(ctx context.Context, tx pgx.Tx, answers []Answer) error {
	var cells, troubles, of, names, kinds []string
	var identities []*string
	for _, a := range answers {
		if a.State == Lost {
			continue
		}
		cells, troubles = append(cells, a.Cell), append(troubles, a.Trouble)
		for _, account := range a.Accounts {
			if account.elsewhere() {
				continue
			}
			of, names, kinds = append(of, a.Cell), append(names, account.Name), append(kinds, account.Kind)
			identities = append(identities, account.Identity)
		}
	}
	if _, err := tx.Exec(ctx, `UPDATE iasql_cells.cell c SET asked = now(), trouble = nullif(s.trouble, ''),
			answered = CASE WHEN s.trouble = '' THEN now() ELSE c.answered END
		FROM unnest($1::text[], $2::text[]) s (cell, trouble) WHERE c.name = s.cell`, cells, troubles); err != nil {
		return err
	}
	// A cell that is removed meanwhile has no accounts.
	_, err := tx.Exec(ctx, `INSERT INTO iasql_cells.account AS a (cell, name, kind, identity)
		SELECT s.* FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) s (cell, name, kind, identity)
		JOIN iasql_cells.cell c ON c.name = s.cell
		ON CONFLICT (cell, name) DO UPDATE SET kind = EXCLUDED.kind, identity = EXCLUDED.identity, seen = now()`,
		of, names, kinds, identities)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `DELETE FROM iasql_cells.account a
		USING unnest($1::text[], $2::text[]) s (cell, trouble) WHERE a.cell = s.cell AND s.trouble = ''
		AND NOT EXISTS (SELECT FROM unnest($3::text[], $4::text[]) n (cell, name)
			WHERE n.cell = a.cell AND n.name = a.name)`, cells, troubles, of, names)
	return err
}
