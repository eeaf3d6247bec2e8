package console

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// mapOptions are what the map may be narrowed to.
type mapOptions struct {
	accounts, configurations []string
	networks                 []called
}

const mostNetworks = 200

func (c *Console) loadMapOptions(ctx context.Context, tx pgx.Tx, d *mapData, choice mapChoice) (o mapOptions,
	err error) {
	where, err := loadScopes(ctx, tx)
	if err != nil {
		return o, err
	}
	o.accounts = where.accounts
	rows, err := tx.Query(ctx, `SELECT c.name FROM public.iasql_configurations c ORDER BY 1 LIMIT 200`)
	if err != nil {
		return o, err
	}
	if o.configurations, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil || len(d.containers) == 0 {
		return o, err
	}
	t := d.of[d.containers[0]]
	if choice.within == "" && choice.account == "" { // they have all been read
		for _, r := range d.records {
			if r.table == t && len(o.networks) < mostNetworks {
				o.networks = append(o.networks, called{id: r.id, label: r.label})
			}
		}
	} else {
		rows, err = tx.Query(ctx, "SELECT t.id, "+t.called()+" FROM "+table(t.name)+" t ORDER BY t.id LIMIT "+
			strconv.Itoa(mostNetworks),
			pgx.QueryExecModeExec)
		if err != nil {
			return o, err
		}
		if o.networks, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (called, error) {
			var n called
			return n, row.Scan(&n.id, &n.label)
		}); err != nil {
			return o, err
		}
	}
	slices.SortFunc(o.networks, func(a, b called) int { return compareNames(a.label, b.label) })
	return o, nil
}

func compareNames(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// resourceMap draws records in boxes, as they lie in each other.
func (c *Console) resourceMap(v *visit) {
	choice := parseChoice(v.r.URL.Query())
	var d *mapData
	var records []*mapRecord
	var options mapOptions
	err := v.session.read(v.ctx(), func(tx pgx.Tx) (err error) {
		if d, err = c.loadMap(v.ctx(), tx, choice); err != nil {
			return err
		}
		records = d.chosen(choice)
		if err = loadShownStates(v.ctx(), tx, statesOf(records)); err != nil {
			return err
		}
		options, err = c.loadMapOptions(v.ctx(), tx, d, choice)
		return err
	})
	if err != nil {
		v.failed(err)
		return
	}
	v.live = true
	lead := "What lies in what, and what refers to what. What is too much of a kind is folded: choose it to open it."
	chooser := c.mapForm(choice, options, d)
	if len(records) == 0 {
		sample := []string{v.installs()}
		text := "There are no records yet."
		if choice.address("/map", nil) != "/map" {
			text, sample = "Nothing matches that you may see.", nil
		}
		v.page("Map", lead, chooser, h.Div(h.Class("card"), empty(text, sample...),
			h.P(h.Class("row small"), g.Group((&drawing{}).notes(d, choice)))))
		return
	}
	drawn := build(records, choice, d.containers)
	v.page("Map", lead, chooser,
		h.Div(h.Class("card"),
			h.P(h.Class("row small"), h.Span(g.Text(plural(drawn.records, "record", "records"))),
				g.Group(drawn.notes(d, choice)),
				h.A(h.Href(choice.address("/map.svg", nil)), g.Attr("download", "map.svg"), g.Text("Download as SVG"))),
			h.Div(h.Class("graph map"), h.ID("map"), g.Attr("tabindex", "0"), h.Role("region"), h.Aria("label",
				"Map: scroll it, or zoom by + and -"),
				drawn.draw("Map of resources", false))),
		mapLegend(), h.Script(h.Src("/static/map.js"), h.Defer()))
}

// notes say what is marked on the map, and what is left out.
func (d *drawing) notes(data *mapData, choice mapChoice) (notes []g.Node) {
	classes := map[string]string{"failed": "bad", "drift": "bad", "waiting": "busy", "staged in a batch": "mode"}
	for _, words := range []string{"failed", "drift", "waiting", "staged in a batch"} {
		if n := d.worst[words]; n > 0 {
			notes = append(notes, h.Span(h.Class("state "+classes[words]), g.Text(strconv.Itoa(n)+" "+words)))
		}
	}
	muted := func(text string) { notes = append(notes, h.Span(h.Class("muted"), g.Text(text))) }
	if d.folded {
		muted("Networks are folded: there is too much to draw. Choose one to see into it.")
	}
	if d.cut {
		muted("Only the first " + strconv.Itoa(mostWires) + " lines are drawn.")
	}
	for _, t := range data.tables {
		if t.big && (choice.tag != "" && t.tagged || choice.configuration != "") {
			muted("Of " + t.name + " only the first " + grouped(lookedAt) + " records are looked at.")
		} else if t.more {
			muted("Of " + t.name + " only " + strconv.Itoa(mostOfTable) + " records are read: narrow the map.")
		}
	}
	return notes
}

func mapLegend() g.Node {
	return h.P(h.Class("muted small"), h.Span(h.Class("state bad"), g.Text("failed, or drift on both sides")),
		h.Span(h.Class("state busy"), g.Text("waiting")), h.Span(h.Class("state mode"), g.Text("staged in a batch ✎")),
		g.Text(" A line leads from what refers to what it refers to. With the map in focus: "), h.Kbd(g.Text("+")),
		g.Text(" "),
		h.Kbd(g.Text("-")), g.Text(" zoom, "), h.Kbd(g.Text("0")), g.Text(" shows all of it, arrows move it."))
}

// mapForm chooses what the map is of. It needs no script.
func (c *Console) mapForm(choice mapChoice, o mapOptions, d *mapData) g.Node {
	option := func(value, text, chosen string) g.Node {
		return h.Option(h.Value(value), g.If(value == chosen, h.Selected()), g.Text(shorten(text, 80)))
	}
	pick := func(name, label, every, chosen string, values []string) g.Node {
		if chosen != "" && !slices.Contains(values, chosen) {
			values = append(slices.Clone(values), chosen)
		}
		if len(values) == 0 {
			return nil
		}
		return g.Group([]g.Node{h.Label(h.Class("hidden"), h.For("map-"+name), g.Text(label)),
			h.Select(h.ID("map-"+name), h.Name(name), option("", every, chosen),
				g.Map(values, func(value string) g.Node { return option(value, value, chosen) }))})
	}
	var networks g.Node
	if len(o.networks) > 0 || choice.within != "" {
		t := d.containers
		var list []g.Node
		there := choice.within == ""
		for _, n := range o.networks {
			value := t[0] + "." + number(n.id)
			there = there || value == choice.in()
			text := n.label
			if text == "" {
				text = t[0] + " " + number(n.id)
			}
			list = append(list, option(value, text, choice.in()))
		}
		if !there {
			text := choice.within + " " + number(choice.withinID)
			if r := d.by[choice.within][choice.withinID]; r != nil {
				text = choice.within + " " + r.name()
			}
			list = append(list, option(choice.in(), text, choice.in()))
		}
		networks = g.Group([]g.Node{h.Label(h.Class("hidden"), h.For("map-in"), g.Text(c.options.Places.Called)),
			h.Select(h.ID("map-in"), h.Name("in"), option("", "any "+c.options.Places.Called, choice.in()),
				g.Group(list))})
	}
	var chips []g.Node
	chip := func(text string, away func(*mapChoice)) {
		chips = append(chips, h.Span(h.Class("chip on"), g.Text(shorten(text, 80)+" "), h.A(h.Class("away"),
			h.Aria("label", "Remove: "+shorten(text, 80)), h.Href(choice.address("/map", away)), g.Text("×"))))
	}
	if choice.within != "" {
		name := number(choice.withinID)
		if r := d.by[choice.within][choice.withinID]; r != nil && r.label != "" {
			name = r.label
		}
		chip("in "+choice.within+" "+name, func(m *mapChoice) { m.within = "" })
	}
	if choice.account != "" {
		chip("account "+choice.account, func(m *mapChoice) { m.account = "" })
	}
	if choice.configuration != "" {
		chip("configuration "+choice.configuration, func(m *mapChoice) { m.configuration = "" })
	}
	if choice.tag != "" {
		chip("tag "+choice.tag, func(m *mapChoice) { m.tag = "" })
	}
	if len(choice.open) > 0 {
		chip(plural(len(choice.open), "fold open", "folds open"), func(m *mapChoice) { m.open = nil })
	}
	text := "links show what a deletion breaks"
	if choice.deletes {
		chip(text, func(m *mapChoice) { m.deletes = false })
	} else {
		chips = append(chips, h.A(h.Class("chip"), h.Href(choice.address("/map",
			func(m *mapChoice) { m.deletes = true })),
			g.Text(text)))
	}
	chips = append(chips, h.A(h.Class("chip"), h.Href("/map?tables"), g.Text("map of tables")))
	return h.Div(h.Class("filters"),
		h.Form(h.Class("filter"), h.Method("get"), h.Action("/map"), h.Role("search"),
			g.If(choice.deletes, h.Input(h.Type("hidden"), h.Name("deletes"), h.Value("1"))),
			pick("account", "Account", "all accounts", choice.account, o.accounts), networks,
			pick("configuration", "Configuration", "any configuration", choice.configuration, o.configurations),
			h.Label(h.Class("hidden"), h.For("map-tag"), g.Text("Tag, as key=value")),
			h.Input(h.ID("map-tag"), h.Name("tag"), h.Type("search"), h.Value(choice.tag), h.MaxLength("400"),
				h.Placeholder("tag: key=value"), g.Attr("data-search", "")),
			h.Button(h.Type("submit"), g.Text("Show"))),
		h.Div(h.Class("chips"), g.Group(chips)))
}

// mapDownload is the map as a document of its own.
func (c *Console) mapDownload(v *visit) {
	choice := parseChoice(v.r.URL.Query())
	var d *mapData
	var records []*mapRecord
	err := v.session.read(v.ctx(), func(tx pgx.Tx) (err error) {
		if d, err = c.loadMap(v.ctx(), tx, choice); err != nil {
			return err
		}
		records = d.chosen(choice)
		return loadShownStates(v.ctx(), tx, statesOf(records))
	})
	if err != nil {
		v.failed(err)
		return
	}
	title := "Map of resources"
	if choice.account != "" {
		title += ", account " + choice.account
	}
	if r := d.by[choice.within][choice.withinID]; r != nil {
		title += ", in " + r.name()
	}
	if choice.configuration != "" {
		title += ", configuration " + choice.configuration
	}
	if choice.tag != "" {
		title += ", tag " + choice.tag
	}
	var b bytes.Buffer
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n")
	if err := build(records, choice, d.containers).draw(title, true).Render(&b); err != nil {
		v.failed(err)
		return
	}
	v.w.Header().Set("Content-Type", "image/svg+xml; charset=utf-8")
	v.w.Header().Set("Content-Disposition", `attachment; filename="map.svg"`)
	v.w.WriteHeader(http.StatusOK)
	_, _ = v.w.Write(b.Bytes())
}
