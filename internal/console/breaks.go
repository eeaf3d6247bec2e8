package console

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// What a deletion would break: what refers to a record, and to that, level by level.

const (
	mostBroken  = 500 // records that the walk finds
	mostLevels  = 12
	mostPicture = 60
)

// effect is what the deletion of what it refers to means for a record.
type effect int

const (
	goesAlong effect = iota
	refuses
	refusedByCloud
	setNull
)

func (e effect) class() string {
	switch e {
	case goesAlong:
		return "busy"
	case setNull:
		return "mode"
	}
	return "bad"
}

func (e effect) words() string {
	return [...]string{"is deleted along", "refuses", "refuses, and so does the cloud", "loses the reference"}[e]
}

// says is the effect in a sentence, of a column that refers.
func (b *breakage) says() string {
	of := b.by.table + " " + number(b.by.id)
	switch b.effect {
	case goesAlong:
		if b.tie.part {
			return "is a part of " + of + " and is deleted with it"
		}
		return "is deleted with " + of + ": the foreign key of " + b.tie.column + " cascades"
	case refusedByCloud:
		return "is in " + of + ", which the cloud deletes only when it is empty"
	case setNull:
		return "stays: its " + b.tie.column + " no longer names " + of
	}
	if b.tie.list {
		return "has " + of + " in its list " + b.tie.column + ", which refuses the deletion"
	}
	return "refers to " + of + " by " + b.tie.column + ": the foreign key refuses the deletion"
}

// breakage is a record that a deletion reaches.
type breakage struct {
	recordKey
	level  int
	by     recordKey // what it refers to
	tie    *tie
	effect effect
}

func (k *tie) effect(part bool) effect {
	switch {
	case k.contents && part:
		return refusedByCloud
	case k.part && part || k.deletes == "c":
		return goesAlong
	case k.deletes == "n" || k.deletes == "d":
		return setNull
	}
	return refuses
}

// loadBroken walks from a record to those that refer to it, a query for each level. more says
// that there are more than are looked for.
func loadBroken(ctx context.Context, tx pgx.Tx, start recordKey) (found []*breakage, more bool, err error) {
	ties, err := loadTies(ctx, tx)
	if err != nil {
		return nil, false, err
	}
	references := make([]reference, len(ties))
	for i := range ties {
		references[i] = ties[i].reference
	}
	quiet := noise(references)
	seen := map[recordKey]bool{start: true}
	frontier := map[string][]int64{start.table: {start.id}}
	for level := 1; level <= mostLevels && len(frontier) > 0; level++ {
		var parts []string
		args := []any{pgx.QueryExecModeExec}
		for i := range ties {
			k := &ties[i]
			ids := frontier[k.to]
			if len(ids) == 0 || quiet[k.from] {
				continue
			}
			args = append(args, ids)
			same, part := k.same("f", "t"), "true"
			if k.list {
				same = "f." + ident(k.column) + " @> ARRAY[t.id]"
			}
			if k.partIf != "" {
				part = "coalesce(f." + ident(k.partIf) + ", false)"
			}
			parts = append(parts,
				fmt.Sprintf("(SELECT %d, t.id, f.id, %s FROM %s t JOIN %s f ON %s WHERE t.id = ANY ($%d::bigint[]) "+
					"ORDER BY f.id LIMIT %d)",
					i, part, table(k.to), table(k.from), same, len(args)-1, mostBroken+1))
		}
		if len(parts) == 0 {
			break
		}
		rows, err := tx.Query(ctx, strings.Join(parts, " UNION ALL "), args...)
		if err != nil {
			return nil, false, err
		}
		at := map[recordKey]*breakage{}
		var i int
		var target, id int64
		var part bool
		if _, err := pgx.ForEachRow(rows, []any{&i, &target, &id, &part}, func() error {
			k := &ties[i]
			key := recordKey{k.from, id}
			if seen[key] {
				return nil
			}
			e := k.effect(part)
			if b := at[key]; b != nil {
				if e < b.effect { // what is deleted along is in nobody's way
					b.by, b.tie, b.effect = recordKey{k.to, target}, k, e
				}
				return nil
			}
			if len(found)+len(at) >= mostBroken {
				more = true
				return nil
			}
			at[key] = &breakage{recordKey: key, level: level, by: recordKey{k.to, target}, tie: k, effect: e}
			return nil
		}); err != nil {
			return nil, false, err
		}
		frontier = map[string][]int64{}
		var these []*breakage
		for key, b := range at {
			seen[key] = true
			these = append(these, b)
			if b.effect != setNull { // it stays, and so does what refers to it
				frontier[key.table] = append(frontier[key.table], key.id)
			}
		}
		slices.SortFunc(these, func(a, b *breakage) int {
			return cmp.Or(cmp.Compare(a.table, b.table), cmp.Compare(a.effect, b.effect), cmp.Compare(a.id, b.id))
		})
		found = append(found, these...)
	}
	return found, more, nil
}

// brokenMap shows what the deletion of a record would break.
func (c *Console) brokenMap(v *visit, t *tableInfo, id int64) {
	start := recordKey{t.name, id}
	var found []*breakage
	var more, protected bool
	gr := graph{}
	var names map[recordKey]called
	err := v.session.read(v.ctx(), func(tx pgx.Tx) (err error) {
		if found, more, err = loadBroken(v.ctx(), tx, start); err != nil {
			return err
		}
		keys := []recordKey{start}
		for _, b := range found {
			keys = append(keys, b.recordKey)
		}
		if names, err = loadNames(v.ctx(), tx, keys); err != nil {
			return err
		}
		at := map[recordKey]int{start: 0}
		gr.nodes = []node{{record: start, title: t.name, href: recordPath(t.name, id), class: "here"}}
		for _, b := range found {
			to, drawn := at[b.by]
			if len(gr.nodes) >= mostPicture || !drawn {
				gr.more = true
				continue
			}
			at[b.recordKey] = len(gr.nodes)
			gr.edges = append(gr.edges, edge{len(gr.nodes), to})
			gr.nodes = append(gr.nodes, node{record: b.recordKey, title: b.table, href: deletesPath(b.table, b.id),
				rank: b.level})
		}
		if err := gr.describe(v.ctx(), tx); err != nil {
			return err
		}
		return tx.QueryRow(v.ctx(), `SELECT coalesce((SELECT p.protected FROM public.iasql_protection p
			WHERE p.table_name = $1 AND (p.record_id = $2 OR p.record_id IS NULL) ORDER BY p.record_id NULLS LAST LIMIT 1), false)`, t.name,
			id).Scan(&protected)
	})
	if err != nil {
		v.failed(err)
		return
	}
	v.live = true
	title := "What breaks if you delete " + t.name + " " + number(id)
	content := []g.Node{h.P(recordLink(t.name, id), g.Text(" "+names[start].label+" · "),
		h.A(h.Href("/map/"+t.name+"/"+number(id)), g.Text("what it hangs on")), g.Text(" · "), h.A(h.Href("/map"),
			g.Text("map")))}
	if protected {
		content = append(content, h.P(h.Class("alert bad"), g.Text("It is protected: deleting it is refused.")))
	}
	if len(found) == 0 {
		content = append(content, section("Nothing refers to it", h.P(g.Text(
			"No record that you may see refers to it. The cloud may still refuse, for reasons of its own."))))
		v.page(title, "", content...)
		return
	}
	content = append(content, brokenSummary(found, more), section("Picture", gr.draw()))
	for i := 0; i < len(found); {
		end := i
		for end < len(found) && found[end].level == found[i].level {
			end++
		}
		content = append(content, brokenLevel(found[i:end], names))
		i = end
	}
	v.page(title, "Everything that refers to it, directly or through others.", content...)
}

// brokenSummary counts what is found, by table and by what becomes of it.
func brokenSummary(found []*breakage, more bool) g.Node {
	type of struct {
		table  string
		effect effect
	}
	counts := map[of]int{}
	var kinds []of
	var totals [4]int
	for _, b := range found {
		k := of{b.table, b.effect}
		if counts[k] == 0 {
			kinds = append(kinds, k)
		}
		counts[k]++
		totals[b.effect]++
	}
	slices.SortFunc(kinds, func(a, b of) int {
		return cmp.Or(cmp.Compare(a.effect.weight(), b.effect.weight()), strings.Compare(a.table, b.table))
	})
	var rows []g.Node
	for _, k := range kinds {
		rows = append(rows, h.Tr(h.Td(h.A(h.Href("/records/"+k.table), g.Text(k.table))), h.Td(h.Class("num"),
			g.Text(strconv.Itoa(counts[k]))),
			h.Td(h.Span(h.Class("state "+k.effect.class()), g.Text(k.effect.words())))))
	}
	text := "Nothing refuses the deletion."
	if n := totals[refuses] + totals[refusedByCloud]; n > 0 {
		text = fmt.Sprintf("The deletion is refused as long as %s: delete or change %s first.", plural(n,
			"record refers to it or to what goes with it",
			"records refer to it or to what goes with it"), map[bool]string{true: "it", false: "them"}[n == 1])
	}
	if n := totals[goesAlong]; n > 0 {
		text += " " + plural(n, "record is", "records are") + " deleted along."
	}
	if n := totals[setNull]; n > 0 {
		text += " " + plural(n, "record loses its", "records lose their") + " reference."
	}
	return section("In short", h.P(g.Text(text)), rowsOf([]string{"Table", "Records", "What becomes of them"}, rows),
		g.If(more, h.P(h.Class("alert busy"), g.Text("There are more: only the first "+strconv.Itoa(mostBroken)+
			" are looked at."))),
		h.P(h.Class("muted small"),
			g.Text("Records that you may not see are left out, and may refuse too. The cloud may refuse for reasons "+
				"that the database does not know.")))
}

// weight has what refuses first.
func (e effect) weight() int {
	return [...]int{goesAlong: 1, refuses: 0, refusedByCloud: 0, setNull: 2}[e]
}

func plural[N int | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return grouped(int64(n)) + " " + many
}

// brokenLevel lists what is so many steps away.
func brokenLevel(level []*breakage, names map[recordKey]called) g.Node {
	steps := "Refers to it"
	if n := level[0].level; n > 1 {
		steps = "Refers to that, " + strconv.Itoa(n) + " steps away"
	}
	return section(steps, h.Ul(h.Class("plain"), g.Map(level, func(b *breakage) g.Node {
		return h.Li(h.Span(h.Class("state "+b.effect.class()), g.Text(b.effect.words())), recordLink(b.table, b.id),
			g.Text(" "+names[b.recordKey].label+" "), h.Span(h.Class("muted small"), g.Text(b.says())))
	})))
}
