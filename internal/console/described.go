package console

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"iasql/internal/modules"
)

// What a record is called in a plan: its name, or else what it says, by the columns that tell it
// from others and those that people write. A rule of a firewall has no name of its own.

// teller is a column of which a record may be called.
type teller struct {
	name, kind            string
	naming, telling, free bool // people name it so; it tells one from another; people write it
	readable              bool
	refers                *target
}

// mostTold is how many columns a record without a name is described by.
const mostTold = 5

// loadTellers reads the columns of tables, those of all with one query.
func loadTellers(ctx context.Context, tx pgx.Tx, tables []string) (map[string][]teller, error) {
	rows, err := tx.Query(ctx, `
		SELECT c.relname, a.attname, format_type(a.atttypid, NULL),
			a.attname = ANY (m.names) OR `+namesIt+`, a.attname = ANY (m.natural_key),
			NOT (a.attname = ANY (m.assigned) OR a.attname = ANY (m.identity) OR a.attname = ANY (m.write_only) OR a.attgenerated <> '' OR a.attidentity = 'a'),
			has_column_privilege(c.oid, a.attnum, 'SELECT'), f.relname, f.attname, f.kind, f.names, f.identity
		FROM iasql_internal.managed_table m
		JOIN pg_class c ON c.relname = m.name AND c.relnamespace = 'public'::regnamespace
		JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
		LEFT JOIN LATERAL (
			SELECT d.relname, b.attname, format_type(b.atttypid, NULL) AS kind, o.names, o.identity
			FROM pg_constraint k
			CROSS JOIN LATERAL unnest(k.conkey, k.confkey) x (mine, other)
			JOIN pg_class d ON d.oid = k.confrelid AND d.relnamespace = 'public'::regnamespace
			JOIN iasql_internal.managed_table o ON o.name = d.relname
			JOIN pg_attribute b ON b.attrelid = k.confrelid AND b.attnum = x.other
			WHERE k.conrelid = c.oid AND k.contype = 'f' AND x.mine = a.attnum LIMIT 1) f ON a.attname NOT IN ('account', 'region')
		WHERE m.name = ANY ($1) ORDER BY 1, a.attnum`, tables)
	if err != nil {
		return nil, err
	}
	found := map[string][]teller{}
	for rows.Next() {
		var name string
		var t teller
		var to, key, kind *string
		var names, identity []string
		if err := rows.Scan(&name, &t.name, &t.kind, &t.naming, &t.telling, &t.free, &t.readable, &to, &key, &kind,
			&names, &identity); err != nil {
			return nil, err
		}
		if to != nil {
			t.refers = &target{table: *to, key: *key, kind: *kind, names: names, identity: identity}
		}
		found[name] = append(found[name], t)
	}
	return found, rows.Err()
}

// describe gives steps what their records are called, as far as the visitor may see that: of
// those that are gone by what the plan itself says.
func describe(ctx context.Context, tx pgx.Tx, steps []step) error {
	ids := map[string][]int64{}
	for _, s := range steps {
		if s.id != nil {
			ids[s.table] = append(ids[s.table], *s.id)
		}
	}
	tables := make([]string, 0, len(ids))
	for name := range ids {
		tables = append(tables, name)
	}
	slices.Sort(tables)
	if len(tables) == 0 {
		return nil
	}
	tellers, err := loadTellers(ctx, tx, tables)
	if err != nil {
		return err
	}
	images, err := loadImages(ctx, tx, tables, tellers, ids)
	if err != nil {
		return err
	}
	// References are called by what they lead to.
	targets := map[string]*target{}
	wanted := map[*target][]string{}
	for i := range steps {
		s := &steps[i]
		if s.image = s.of(images); s.image == nil {
			continue
		}
		for _, t := range tellers[s.table] {
			if value := s.image[t.name]; t.refers != nil && value != nil && (t.telling || t.free) {
				to := t.refers
				if targets[to.name()] == nil {
					targets[to.name()] = to
				}
				wanted[targets[to.name()]] = append(wanted[targets[to.name()]], compact(value))
			}
		}
	}
	names, err := loadLabels(ctx, tx, wanted)
	if err != nil {
		return err
	}
	for i := range steps {
		if steps[i].image != nil {
			steps[i].label = label(steps[i].image, tellers[steps[i].table], names)
		}
		steps[i].image = nil
	}
	return nil
}

// of is the record of a step: as the table has it, with what the plan says of it.
func (s step) of(images map[string]map[int64]map[string]any) map[string]any {
	if s.id == nil {
		return nil
	}
	image := map[string]any{}
	for column, c := range s.changes {
		image[column] = c.To
		if s.action == "delete" || c.To == nil {
			image[column] = c.From
		}
	}
	for column, value := range images[s.table][*s.id] {
		image[column] = value
	}
	return image
}

// loadImages reads records, those of all tables with one query: the columns that may tell.
func loadImages(ctx context.Context, tx pgx.Tx, tables []string, tellers map[string][]teller,
	ids map[string][]int64) (map[string]map[int64]map[string]any, error) {
	var parts []string
	args := []any{pgx.QueryExecModeExec}
	for _, name := range tables {
		var list []string
		seen := false
		for _, t := range tellers[name] {
			seen = seen || t.name == "id" && t.readable
			if t.readable && (t.naming || t.telling || t.free && !strings.HasSuffix(t.kind, "[]") &&
				t.kind != "jsonb" && t.kind != "bytea" || t.name == "tags") {
				list = append(list, "s."+ident(t.name))
			}
		}
		if !seen || len(list) == 0 {
			continue
		}
		args = append(args, ids[name])
		parts = append(parts, fmt.Sprintf(`SELECT %s, t.n, to_jsonb(t) - 'n' FROM (SELECT s.id AS n, %s FROM %s s WHERE s.id = ANY ($%d::bigint[])) t`,
			literal(name), strings.Join(list, ", "), table(name), len(args)-1))
	}
	images := map[string]map[int64]map[string]any{}
	if len(parts) == 0 {
		return images, nil
	}
	rows, err := tx.Query(ctx, strings.Join(parts, " UNION ALL "), args...)
	if err != nil {
		return nil, err
	}
	var name string
	var id int64
	var text []byte
	_, err = pgx.ForEachRow(rows, []any{&name, &id, &text}, func() error {
		var image map[string]any
		if err := decode(text, &image); err != nil {
			return err
		}
		if images[name] == nil {
			images[name] = map[int64]map[string]any{}
		}
		images[name][id] = image
		return nil
	})
	return images, err
}

// label is what a record is called: its tag called name, a column that names it, or what it says.
func label(image map[string]any, tellers []teller, names labels) string {
	if tags, ok := image["tags"].(map[string]any); ok {
		for key, value := range tags {
			if text, ok := value.(string); ok && strings.EqualFold(key, "name") && text != "" {
				return shorten(text, 100)
			}
		}
	}
	for _, t := range tellers {
		if text, ok := image[t.name].(string); ok && t.naming && text != "" && t.refers == nil {
			return shorten(text, 100)
		}
	}
	var said []string
	done := map[string]bool{"id": true, "tags": true, modules.ColumnAccount: true, modules.ColumnRegion: true}
	for _, telling := range []bool{true, false} { // what tells comes first
		for _, t := range tellers {
			if len(said) == mostTold {
				break
			}
			if done[t.name] || telling && !t.telling || !telling && !t.free {
				continue
			}
			done[t.name] = true
			if text := t.says(image, names, done); text != "" {
				said = append(said, text)
			}
		}
	}
	return shorten(strings.Join(said, ", "), 160)
}

// says is a column and its value in a few words; what it says of other columns too is done.
func (t teller) says(image map[string]any, names labels, done map[string]bool) string {
	value := image[t.name]
	switch v := value.(type) {
	case nil, []any, map[string]any:
		return ""
	case bool:
		if !v {
			return ""
		}
		return strings.ReplaceAll(t.name, "_", " ")
	}
	text := compact(value)
	if t.refers != nil {
		if r, seen := names[t.refers.name()][text]; seen && r.label != "" {
			return strings.TrimSuffix(t.name, "_id") + " " + shorten(brief(r.label), 48)
		}
		return t.name + " " + text
	}
	if len(text) > 60 {
		return ""
	}
	// A range is one thing.
	if what, is := strings.CutPrefix(t.name, "from_"); is && image["to_"+what] != nil {
		done["to_"+what] = true
		if last := compact(image["to_"+what]); last != text {
			return what + "s " + text + "–" + last
		}
		return what + " " + text
	}
	return t.name + " " + text
}
