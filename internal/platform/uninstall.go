package platform

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"iasql/internal/modules"
)

// Dropped is a table that Uninstall dropped.
type Dropped struct {
	Module string `json:"module_name"`
	Table  string `json:"dropped_table_name"`
	Count  int64  `json:"record_count"`
}

// Uninstall drops the tables of modules. The cloud stays as it is. It is
// refused while a module that stays depends on one of them.
func Uninstall(ctx context.Context, pool *pgxpool.Pool, registry *modules.Registry, names []string) ([]Dropped, error) {
	var dropped []Dropped
	err := inDDL(ctx, pool, func(tx pgx.Tx) error {
		going, err := uninstallable(ctx, tx, registry, names)
		if err != nil {
			return err
		}
		if dropped, err = countRecords(ctx, tx, going); err != nil {
			return err
		}
		tables := make([]string, len(dropped))
		for i, d := range dropped {
			tables[i] = d.Table
		}
		// What was hidden in a table stays hidden in what is left of its history.
		if _, err := tx.Exec(ctx, `
			INSERT INTO iasql_internal.hidden_table (name) SELECT s.name FROM iasql_internal.secured($1) s ON CONFLICT DO NOTHING`, tables); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM public.iasql_tables WHERE "table" = ANY ($1)`, tables); err != nil {
			return err
		}
		if err := renewRecords(ctx, tx); err != nil {
			return err
		}
		for _, m := range going {
			if err := drop(ctx, tx, registry, m); err != nil {
				return err
			}
		}
		if err := forgetTypes(ctx, tx, names); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `
			UPDATE public.iasql_audit_log SET settled = true, settled_at = clock_timestamp() WHERE NOT settled AND table_name = ANY ($1)`, tables); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `
			UPDATE public.iasql_operations SET ended = clock_timestamp(), result = 'abandoned' WHERE ended IS NULL AND table_name = ANY ($1)`, tables)
		return err
	})
	return dropped, err
}

// uninstallable returns the modules of these names, dependents first, unless
// something keeps them.
func uninstallable(ctx context.Context, tx pgx.Tx, registry *modules.Registry,
	names []string) ([]*modules.Module, error) {
	if err := unstaged(ctx, tx, registry, names); err != nil {
		return nil, err
	}
	if err := composed(ctx, tx, names); err != nil {
		return nil, err
	}
	have, err := installed(ctx, tx)
	if err != nil {
		return nil, err
	}
	var going []*modules.Module
	for _, m := range registry.Modules() {
		if _, ok := have[m.Name]; !ok {
			if slices.Contains(names, m.Name) {
				return nil, &UserError{Code: "IA009", Message: fmt.Sprintf("module %s is not installed", m.Name),
					Hint: "SELECT * FROM iasql_modules_installed() lists the installed ones."}
			}
			continue
		}
		if slices.Contains(names, m.Name) {
			going = append(going, m)
			continue
		}
		for _, dep := range needs(registry, m) {
			if slices.Contains(names, dep) {
				return nil, &UserError{Code: "IA016",
					Message: fmt.Sprintf("module %s cannot be uninstalled: %s depends on it", dep, m.Name),
					Hint:    fmt.Sprintf("SELECT * FROM iasql_uninstall('%s', '%s')", m.Name, dep)}
			}
		}
	}
	return dependentsFirst(registry, going), nil
}

// dependentsFirst returns modules so that each comes before those it needs.
func dependentsFirst(registry *modules.Registry, list []*modules.Module) []*modules.Module {
	var ordered []*modules.Module
	seen := map[*modules.Module]bool{}
	var visit func(m *modules.Module)
	visit = func(m *modules.Module) {
		if m == nil || seen[m] {
			return
		}
		seen[m] = true
		for _, name := range needs(registry, m) {
			visit(registry.Module(name))
		}
		if slices.Contains(list, m) {
			ordered = append(ordered, m)
		}
	}
	for _, m := range list {
		visit(m)
	}
	slices.Reverse(ordered)
	return ordered
}

// needs returns the modules that a module depends on, by what it says and by what its
// tables refer to.
func needs(registry *modules.Registry, m *modules.Module) []string {
	names := slices.Clone(m.Dependencies)
	for _, t := range m.Tables() {
		for _, parent := range t.Parents() {
			if owner := registry.Owner(parent); owner != nil && owner != m && !slices.Contains(names, owner.Name) {
				names = append(names, owner.Name)
			}
		}
	}
	return names
}

// unstaged fails if a batch has staged records of tables of these modules.
func unstaged(ctx context.Context, tx pgx.Tx, registry *modules.Registry, names []string) error {
	var tables []string
	for _, m := range registry.Modules() {
		if slices.Contains(names, m.Name) {
			for _, t := range m.Tables() {
				tables = append(tables, t.Name)
			}
		}
	}
	var table, batch string
	err := tx.QueryRow(ctx, `
		SELECT s.table_name, iasql_internal.batch_text(s.batch) FROM iasql_internal.staged s
		WHERE s.table_name = ANY ($1) ORDER BY s.table_name, s.batch LIMIT 1`, tables).Scan(&table, &batch)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for staged records: %w", err)
	}
	return &UserError{Code: "IA020",
		Message: fmt.Sprintf("table %s cannot be dropped: it has records that are staged in %s", table, batch),
		Hint:    "Wait until that is committed or rolled back; SELECT * FROM iasql_batches shows it."}
}

// children returns a module's tables, those that refer to others first.
func children(m *modules.Module) []*modules.Table {
	list := modules.Order(m.Tables())
	slices.Reverse(list)
	return list
}

// countRecords counts what the tables of modules hold.
func countRecords(ctx context.Context, tx pgx.Tx, going []*modules.Module) ([]Dropped, error) {
	var dropped []Dropped
	for _, m := range going {
		for _, t := range children(m) {
			d := Dropped{Module: m.Name, Table: t.Name}
			if err := tx.QueryRow(ctx, `SELECT count(*) FROM `+
				pgx.Identifier{"public", t.Name}.Sanitize()).Scan(&d.Count); err != nil {
				return nil, err
			}
			dropped = append(dropped, d)
		}
	}
	return dropped, nil
}

// keepNumber keeps the last number that a record of the table has been given.
func keepNumber(ctx context.Context, tx pgx.Tx, t *modules.Table) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO iasql_internal.last_number (table_name, last)
		SELECT $2, l.last FROM pg_sequence_last_value(pg_get_serial_sequence($1, 'id')::regclass) l (last) WHERE l.last IS NOT NULL
		ON CONFLICT (table_name) DO UPDATE SET last = excluded.last`,
		pgx.Identifier{"public", t.Name}.Sanitize(), t.Name)
	if err != nil {
		return fmt.Errorf("keep the last number of table %s: %w", t.Name, err)
	}
	return nil
}

// drop drops what a module has in the database.
func drop(ctx context.Context, tx pgx.Tx, registry *modules.Registry, m *modules.Module) error {
	for _, f := range m.Functions {
		if err := exec(ctx, tx, f.DropDDL(registry.Table(f.Table))); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM iasql_internal.module_function WHERE name = $1`, f.Name); err != nil {
			return err
		}
	}
	for _, t := range children(m) {
		if err := keepNumber(ctx, tx, t); err != nil {
			return err
		}
		for _, statement := range t.DropDDL() {
			if err := exec(ctx, tx, statement); err != nil {
				return err
			}
		}
	}
	for _, t := range children(m) {
		if t.DefinesAccounts {
			if _, err := tx.Exec(ctx, `DELETE FROM iasql_internal.account WHERE provider = $1`, t.Provider); err != nil {
				return err
			}
		}
	}
	if err := exec(ctx, tx, m.Drop); err != nil {
		return fmt.Errorf("uninstall module %s: %w", m.Name, err)
	}
	_, err := tx.Exec(ctx, `UPDATE iasql_internal.module SET installed = NULL WHERE name = $1`, m.Name)
	return err
}
