package platform

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"iasql/internal/modules"
)

// notComposable is the code of a composition that cannot be as its folder says.
const notComposable = "IA032"

// Compositions returns those of the names that are compositions, installed or not, and the others.
func Compositions(ctx context.Context, pool *pgxpool.Pool, names []string) (compositions, others []string, err error) {
	rows, err := pool.Query(ctx, `SELECT name FROM iasql_internal.composition WHERE name = ANY ($1)`, names)
	if err != nil {
		return nil, nil, err
	}
	if compositions, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
		return nil, nil, err
	}
	others = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.Contains(compositions,
			name)
	})
	return compositions, others, nil
}

// registerComposition queues the statements that tell the database of a composition.
func registerComposition(batch *pgx.Batch, c *modules.Composition, own bool) {
	batch.Queue(registration, c.Name, c.Version, c.Doc, append([]string{}, c.Needs...), []string{c.Name}, []string{})
	batch.Queue(`INSERT INTO iasql_internal.composition (name, own) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET own = excluded.own
		WHERE composition.own <> excluded.own`, c.Name, own)
}

// InstallComposition makes the interface and the parts of a composition that the engine brings, whose needs are
// installed. It reports whether it was not there.
func InstallComposition(ctx context.Context, pool *pgxpool.Pool, c *modules.Composition) (made bool, err error) {
	err = inDDL(ctx, pool, func(tx pgx.Tx) error {
		made, err = compose(ctx, tx, c)
		return err
	})
	return made, err
}

// TakeComposition installs a composition, or brings the one that is installed to a later version, in a transaction of
// the administrator's, who is a member of iasql_engine: what a composition is made of runs with the rights of whoever
// writes it, and its defaults and checks with the engine's as well. What a later version changes in the parts of
// instances is staged in a batch that it opens; it returns the batch, 0 if it has opened none.
func TakeComposition(ctx context.Context, tx pgx.Tx, c *modules.Composition, own bool) (batch int64, err error) {
	var member, brought bool
	var from int
	if err := tx.QueryRow(ctx, `SELECT pg_has_role(current_user, 'iasql_engine', 'MEMBER')`).Scan(&member); err != nil {
		return 0, err
	}
	if !member {
		return 0, &UserError{Code: "42501",
			Message: "permission denied: to install a composition from a folder, or a later version of one, takes a " +
				"member of iasql_engine",
			Hint: "Its defaults and checks run with the engine's rights. Let an administrator do it."}
	}
	if err := tx.QueryRow(ctx, `SELECT coalesce(max(m.installed), 0), count(*) FILTER (WHERE c.own IS NOT TRUE) > 0
		FROM iasql_internal.module m LEFT JOIN iasql_internal.composition c USING (name) WHERE m.name = $1`, c.Name).Scan(&from, &brought); err != nil {
		return 0, err
	}
	switch {
	case brought && own:
		return 0, &UserError{Code: "IA016", Message: fmt.Sprintf("there is a module %s, which the engine brings",
			c.Name),
			Hint: "Give your composition another name."}
	case from >= c.Version:
		return 0, &UserError{Code: "IA016",
			Message: fmt.Sprintf("composition %s is installed in version %d already, and this is version %d", c.Name,
				from, c.Version),
			Hint: "A change of a composition is a later version: raise version in manifest.json."}
	case from > 0:
		return upgradeComposition(ctx, tx, c, own)
	}
	return 0, asEngine(ctx, tx, func() error {
		if err := tellOf(ctx, tx, c, own); err != nil {
			return err
		}
		_, err := compose(ctx, tx, c)
		return err
	})
}

// asEngine does something as the role that owns what the engine makes.
func asEngine(ctx context.Context, tx pgx.Tx, do func() error) error {
	if _, err := tx.Exec(ctx, `SET LOCAL ROLE iasql_engine; SET LOCAL search_path = pg_catalog, pg_temp; SET LOCAL lock_timeout = '5s'`); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `SET LOCAL ROLE NONE`)
	return err
}

// tellOf tells the database of a composition.
func tellOf(ctx context.Context, tx pgx.Tx, c *modules.Composition, own bool) error {
	batch := &pgx.Batch{}
	registerComposition(batch, c, own)
	return tx.SendBatch(ctx, batch).Close()
}

// upgradeComposition takes a later version: what instances want by it otherwise than by the one before is written in a
// batch.
func upgradeComposition(ctx context.Context, tx pgx.Tx, c *modules.Composition, own bool) (batch int64, err error) {
	table := pgx.Identifier{"public", c.Name}.Sanitize()
	if _, err := tx.Exec(ctx, `CALL public.iasql_begin($1)`, fmt.Sprintf("composition %s version %d", c.Name, c.Version)); err != nil {
		return 0, err
	}
	if err := tx.QueryRow(ctx, `SELECT iasql_internal.session_batch()`).Scan(&batch); err != nil {
		return 0, err
	}
	if _, err := tx.Exec(ctx, "LOCK TABLE "+table+" IN SHARE ROW EXCLUSIVE MODE"); err != nil {
		return 0, err
	}
	var had, was []byte
	if err := tx.QueryRow(ctx, `SELECT h.had, iasql_internal.wanted_parts($1, i.rows, h.had)
		FROM (SELECT jsonb_agg(to_jsonb(t)) AS rows, array_agg(t.id) AS ids FROM `+table+` t) i
		CROSS JOIN LATERAL (SELECT iasql_internal.parts_of($1, i.ids) AS had) h`, c.Name).Scan(&had, &was); err != nil {
		return 0, err
	}
	if err := asEngine(ctx, tx, func() error { return renewComposition(ctx, tx, c, own) }); err != nil {
		return 0, err
	}
	_, err = tx.Exec(ctx, `SELECT iasql_internal.compose_rows($1, $2, $3, i.rows)
		FROM (SELECT jsonb_agg(to_jsonb(t)) AS rows FROM `+table+` t) i WHERE i.rows IS NOT NULL`, c.Name, was, had)
	return batch, err
}

// renewComposition brings interface and functions to a later version.
func renewComposition(ctx context.Context, tx pgx.Tx, c *modules.Composition, own bool) error {
	var from int
	var moved *string
	tables := make([]string, len(c.Parts))
	parts := make([]string, len(c.Parts))
	for i, p := range c.Parts {
		parts[i], tables[i] = p.Name, p.Table
	}
	if err := tx.QueryRow(ctx, `SELECT installed, (SELECT min(o.part) FROM iasql_internal.composition_part o
			JOIN unnest($2::text[], $3::text[]) n (part, table_name) ON n.part = o.part AND n.table_name <> o.table_name WHERE o.composition = m.name)
		FROM iasql_internal.module m WHERE m.name = $1`, c.Name, parts, tables).Scan(&from, &moved); err != nil {
		return err
	}
	if moved != nil {
		return &UserError{Code: notComposable,
			Message: fmt.Sprintf("composition %s: part %s is of another table than it was", c.Name, *moved),
			Hint:    "Give the part another name: the records of the old one are deleted then."}
	}
	if err := dropParts(ctx, tx, c.Name); err != nil {
		return err
	}
	for v := from + 1; v <= c.Version; v++ {
		if err := exec(ctx, tx, c.Upgrades[v]); err != nil {
			return sayWhere(err, c, fmt.Sprintf("upgrade_%d.sql", v))
		}
	}
	if err := checkInterface(ctx, tx, c); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `UPDATE iasql_internal.managed_table m SET columns = ARRAY(
			SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = to_regclass($2) AND a.attnum > 0 AND NOT a.attisdropped AND a.attname <> 'id' ORDER BY a.attnum)
		WHERE m.name = $1`, c.Name, pgx.Identifier{"public", c.Name}.Sanitize()); err != nil {
		return err
	}
	if err := tellOf(ctx, tx, c, own); err != nil {
		return err
	}
	return makeParts(ctx, tx, c)
}

// compose installs a composition that is registered, unless it is installed.
func compose(ctx context.Context, tx pgx.Tx, c *modules.Composition) (bool, error) {
	have, err := installed(ctx, tx)
	if err != nil {
		return false, err
	}
	if _, ok := have[c.Name]; ok {
		return false, nil
	}
	for _, name := range c.Needs {
		if _, ok := have[name]; !ok {
			return false, &UserError{Code: "IA009", Message: fmt.Sprintf(
				"composition %s needs module %s, which is not installed", c.Name, name),
				Hint: fmt.Sprintf("SELECT * FROM iasql_install('%s')", name)}
		}
	}
	if err := makeInterface(ctx, tx, c); err != nil {
		return false, err
	}
	return true, makeParts(ctx, tx, c)
}

// makeParts makes the functions of the parts; the composition is installed then.
func makeParts(ctx context.Context, tx pgx.Tx, c *modules.Composition) error {
	for i := range c.Parts {
		if err := makePart(ctx, tx, c, i); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, `UPDATE iasql_internal.module SET installed = $2 WHERE name = $1`, c.Name, c.Version)
	return err
}

// makeInterface makes the table whose rows are the instances.
func makeInterface(ctx context.Context, tx pgx.Tx, c *modules.Composition) error {
	if err := exec(ctx, tx, c.Interface); err != nil {
		return sayWhere(err, c, "interface.sql")
	}
	if err := checkInterface(ctx, tx, c); err != nil {
		return err
	}
	name := pgx.Identifier{"public", c.Name}.Sanitize()
	if _, err := tx.Exec(ctx, `INSERT INTO public.iasql_tables ("table", module) VALUES ($1, $1)`, c.Name); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `
		INSERT INTO iasql_internal.managed_table (name, settings, composition, identity, natural_key, names, assigned, write_only, columns,
			can_insert, can_delete, regional)
		SELECT $1, true, true, n.names, n.names, n.names, '{}', '{}', array_agg(a.attname::text ORDER BY a.attnum) FILTER (WHERE a.attname <> 'id'),
			true, true, bool_or(a.attname = 'region')
		FROM pg_attribute a, (SELECT coalesce(array_agg(b.attname::text), '{}') AS names FROM pg_attribute b
		                      WHERE b.attrelid = $2::text::regclass AND b.attname = 'name' AND NOT b.attisdropped) n
		WHERE a.attrelid = $2::text::regclass AND a.attnum > 0 AND NOT a.attisdropped GROUP BY n.names`, c.Name, name); err != nil {
		return err
	}
	statements := append([]string{
		"COMMENT ON TABLE " + name + " IS " + literal(c.Doc),
		"COMMENT ON COLUMN " + name + ".id IS 'Identity of the instance, stable for life.'",
	}, c.TriggerDDL()...)
	if err := exec(ctx, tx, strings.Join(statements, ";\n")); err != nil {
		return fmt.Errorf("make table %s: %w", c.Name, err)
	}
	t := &modules.Table{Name: c.Name}
	if err := numberOn(ctx, tx, t); err != nil {
		return err
	}
	return grant(ctx, tx, t)
}

// checkInterface fails if the table has not what every interface has.
func checkInterface(ctx context.Context, tx pgx.Tx, c *modules.Composition) error {
	var identity, account bool
	if err := tx.QueryRow(ctx, `
		SELECT coalesce(bool_or(a.attname = 'id' AND a.atttypid = 'bigint'::regtype AND a.attidentity = 'd'
		                        AND EXISTS (SELECT FROM pg_index i WHERE i.indrelid = a.attrelid AND i.indisprimary AND i.indkey::text = a.attnum::text)), false),
		       coalesce(bool_or(a.attname = 'account' AND a.atttypid = 'text'::regtype AND a.attnotnull), false)
		FROM pg_attribute a WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped`,
		pgx.Identifier{"public", c.Name}.Sanitize()).Scan(&identity, &account); err != nil {
		return err
	}
	if !identity || !account {
		return &UserError{Code: notComposable,
			Message: fmt.Sprintf("composition %s: interface.sql does not make a table public.%[1]s "+
				"with the columns that every interface has", c.Name),
			Hint: "It has id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY and account text NOT NULL, and may " +
				"have region and name."}
	}
	return nil
}

// probe is a view that shows which columns a part's SELECT has.
const probe = "iasql_composition.probe"

// makePart checks that the columns of a part are there, may be written and get what fits, and makes its function.
func makePart(ctx context.Context, tx pgx.Tx, c *modules.Composition, place int) error {
	p := &c.Parts[place]
	where := "parts/" + p.Name + ".sql"
	var there bool
	if err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM iasql_internal.managed_table m WHERE m.name = $1 AND m.can_insert AND m.can_delete AND NOT m.settings)`,
		p.Table).Scan(&there); err != nil {
		return err
	}
	if !there {
		return &UserError{Code: notComposable,
			Message: fmt.Sprintf("composition %s: part %s is of table %s, which is not there, or whose records "+
				"cannot be made", c.Name, p.Name, p.Table),
			Hint: `SELECT "table", module FROM iasql_tables lists the tables. The manifest's needs are the modules that have those of the parts.`}
	}
	if _, err := tx.Exec(ctx, c.ProbeDDL(p, probe)); err != nil {
		return sayWhere(err, c, where)
	}
	columns, types, err := partColumns(ctx, tx, c, p)
	if err != nil {
		return err
	}
	if err := exec(ctx, tx, "DROP VIEW "+probe); err != nil {
		return err
	}
	if err := exec(ctx, tx, c.FunctionDDL(p, append([]string{"key"}, columns...),
		append([]string{"text"}, types...))); err != nil {
		return sayWhere(err, c, where)
	}
	signature := fmt.Sprintf("iasql_composition.%s(%s, iasql_composition.part[])", c.FunctionName(p),
		pgx.Identifier{"public", c.Name}.Sanitize())
	if err := exec(ctx, tx, fmt.Sprintf("COMMENT ON FUNCTION %s IS %s; GRANT EXECUTE ON FUNCTION %[1]s TO iasql_reader",
		signature,
		literal("Part "+p.Name+" of composition "+c.Name+": the records of "+p.Table+
			" that an instance has."))); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO iasql_internal.composition_part (composition, part, place, table_name, columns) VALUES ($1, $2, $3, $4, $5)`,
		c.Name, p.Name, place, p.Table, columns)
	return err
}

// partColumns returns the columns that a part writes, with the types that its SELECT has.
func partColumns(ctx context.Context, tx pgx.Tx, c *modules.Composition, p *modules.CompositionPart) (columns,
	types []string, err error) {
	rows, err := tx.Query(ctx, `
		SELECT v.attname::text, format_type(v.atttypid, v.atttypmod), coalesce(format_type(t.atttypid, t.atttypmod), ''),
		       v.attname = 'id' OR v.attname = ANY (m.assigned) OR t.attgenerated <> '',
		       v.atttypid = t.atttypid OR EXISTS (SELECT FROM pg_cast k WHERE k.castsource = v.atttypid AND k.casttarget = t.atttypid AND k.castcontext <> 'e')
		FROM pg_attribute v JOIN iasql_internal.managed_table m ON m.name = $2
		LEFT JOIN pg_attribute t ON t.attrelid = $3::text::regclass AND t.attname = v.attname AND t.attnum > 0 AND NOT t.attisdropped
		WHERE v.attrelid = $1::text::regclass AND v.attnum > 0 ORDER BY v.attnum`, probe, p.Table, pgx.Identifier{"public", p.Table}.Sanitize())
	if err != nil {
		return nil, nil, err
	}
	var name, has, takes string
	var assigned, fits *bool
	var key bool
	var wrong *UserError
	say := func(problem, hint string) {
		if wrong == nil {
			wrong = &UserError{Code: notComposable, Message: fmt.Sprintf("composition %s: part %s %s", c.Name, p.Name,
				problem), Hint: hint}
		}
	}
	_, err = pgx.ForEachRow(rows, []any{&name, &has, &takes, &assigned, &fits}, func() error {
		switch {
		case name == "key":
			key = has == "text"
			return nil
		case takes == "":
			say(fmt.Sprintf("gives column %s, which table %s does not have", name, p.Table),
				fmt.Sprintf("SELECT * FROM iasql_help() describes the columns of %s.", p.Table))
		case assigned != nil && *assigned:
			say(fmt.Sprintf("gives column %s of %s, which the cloud decides", name, p.Table),
				"Leave it out of the SELECT.")
		case fits == nil || !*fits:
			say(fmt.Sprintf("gives a value of type %s for column %s of %s, which is of type %s", has, name, p.Table,
				takes),
				fmt.Sprintf("Write CAST (… AS %s).", takes))
		}
		columns, types = append(columns, name), append(types, has)
		return nil
	})
	if !key {
		say("has no column key of type text", "It tells the records of an instance apart that are of this part.")
	}
	if len(columns) == 0 {
		say("gives no column besides key", "It gives those that a record is inserted with.")
	}
	switch {
	case err != nil:
		return nil, nil, err
	case wrong != nil:
		return nil, nil, wrong
	}
	return columns, types, nil
}

// sayWhere says of an error of PostgreSQL's which file of a composition has it.
func sayWhere(err error, c *modules.Composition, file string) error {
	var pg *pgconn.PgError
	// locks, and a table that is there, inDDL explains
	if !errors.As(err, &pg) || pg.Code == "55P03" || pg.Code == "40P01" || pg.Code == "42P07" {
		return err
	}
	hint := pg.Hint
	if hint == "" {
		hint = "Names outside of pg_catalog are written with their schema, such as public.t; those of the interface " +
			"and of part are not."
	}
	return &UserError{Code: notComposable, Message: fmt.Sprintf("composition %s: %s: %s", c.Name, file, pg.Message),
		Hint: hint}
}

// UninstallComposition drops the interface of a composition without instances, and its parts' functions.
func UninstallComposition(ctx context.Context, pool *pgxpool.Pool, name string) (Dropped, error) {
	dropped := Dropped{Module: name, Table: name}
	err := inDDL(ctx, pool, func(tx pgx.Tx) error {
		table := pgx.Identifier{"public", name}.Sanitize()
		if err := removable(ctx, tx, name, table); err != nil {
			return err
		}
		if err := dropParts(ctx, tx, name); err != nil {
			return err
		}
		for _, statement := range []string{
			`INSERT INTO iasql_internal.hidden_table (name) SELECT s.name FROM iasql_internal.secured(ARRAY[` + literal(name) + `]) s ON CONFLICT DO NOTHING`,
			`DELETE FROM public.iasql_tables WHERE "table" = ` + literal(name),
		} {
			if err := exec(ctx, tx, statement); err != nil {
				return err
			}
		}
		if err := keepNumber(ctx, tx, &modules.Table{Name: name}); err != nil {
			return err
		}
		if err := exec(ctx, tx, "DROP TABLE "+table); err != nil {
			return err
		}
		return exec(ctx, tx, fmt.Sprintf(`UPDATE iasql_internal.module SET installed = NULL WHERE name = %[1]s;
			DELETE FROM iasql_internal.module m USING iasql_internal.composition c WHERE c.name = m.name AND c.own AND m.name = %[1]s`, literal(name)))
	})
	return dropped, err
}

// dropParts drops the functions of the parts of a composition.
func dropParts(ctx context.Context, tx pgx.Tx, name string) error {
	rows, err := tx.Query(ctx, `
		SELECT p.oid::regprocedure::text FROM pg_proc p JOIN iasql_internal.composition_part c ON p.proname = c.composition || '.' || c.part
		WHERE c.composition = $1 AND p.pronamespace = 'iasql_composition'::regnamespace`, name)
	if err != nil {
		return err
	}
	functions, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	return exec(ctx, tx, "DROP FUNCTION "+strings.Join(functions, ", ")+
		"; DELETE FROM iasql_internal.composition_part WHERE composition = "+literal(name))
}

// removable fails unless a composition is installed and has no instances, not even such as a rollback would bring back.
func removable(ctx context.Context, tx pgx.Tx, name, table string) error {
	have, err := installed(ctx, tx)
	if err != nil {
		return err
	}
	if _, ok := have[name]; !ok {
		return &UserError{Code: "IA009", Message: fmt.Sprintf("module %s is not installed", name),
			Hint: "SELECT * FROM iasql_modules_installed() lists the installed ones."}
	}
	if err := exec(ctx, tx, "LOCK TABLE "+table+" IN ACCESS EXCLUSIVE MODE"); err != nil {
		return err
	}
	var n int
	var batch *string
	if err := tx.QueryRow(ctx, `SELECT (SELECT count(*) FROM `+table+`),
		(SELECT iasql_internal.batch_text(min(s.batch)) FROM iasql_internal.staged s WHERE s.table_name = $1)`, name).Scan(&n, &batch); err != nil {
		return err
	}
	switch {
	case batch != nil:
		return &UserError{Code: "IA020",
			Message: fmt.Sprintf("composition %s cannot be uninstalled: instances of it are staged in %s", name,
				*batch),
			Hint: "Wait until that is committed or rolled back; SELECT * FROM iasql_batches shows it."}
	case n > 0:
		return &UserError{Code: "IA016",
			Message: fmt.Sprintf("composition %s cannot be uninstalled: it has %d instances", name, n),
			Hint:    fmt.Sprintf("DELETE FROM %s deletes them and their parts, in the cloud too.", table)}
	}
	return nil
}

// composed fails if a composition that is installed needs one of these modules.
func composed(ctx context.Context, tx pgx.Tx, names []string) error {
	var composition, module string
	err := tx.QueryRow(ctx, `
		SELECT m.name, n.name FROM iasql_internal.composition c JOIN iasql_internal.module m ON m.name = c.name
		CROSS JOIN LATERAL unnest(m.dependencies) n (name)
		WHERE m.installed IS NOT NULL AND n.name = ANY ($1) ORDER BY m.name LIMIT 1`, names).Scan(&composition, &module)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for compositions: %w", err)
	}
	return &UserError{Code: "IA016", Message: fmt.Sprintf("module %s cannot be uninstalled: composition %s needs it",
		module, composition),
		Hint: fmt.Sprintf("SELECT * FROM iasql_uninstall('%s') first.", composition)}
}
