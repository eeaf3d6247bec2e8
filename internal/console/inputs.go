package console

import (
	"slices"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// blankRows are empty rows at the end of a list that one can add to.
const blankRows = 3

// draw is the input of a column with its name, what the column is for, and what is wrong
// with what was typed.
func (f *field) draw(t *formTable, e entry, c choices, fresh bool) g.Node {
	id := "f-" + f.name
	body := []g.Node{
		h.Input(h.Type("hidden"), h.Name("m."+f.name), h.Value(e.as)),
		g.If(e.was != "", h.Input(h.Type("hidden"), h.Name("w."+f.name), h.Value(e.was))),
		f.input(t, e, c, id, fresh),
	}
	if e.failed != "" {
		body = append(body, h.P(h.Class("message bad"), h.Role("alert"), h.ID(id+"-bad"),
			g.Text(shorten(e.failed, 3000))))
	}
	if e.clash {
		body = append(body, h.Div(h.Class("alert bad"),
			h.P(g.Text("Somebody else has changed it since you opened this page. It is now:")),
			h.P(orNull(e.now)), h.P(g.Text("What you typed is above. Save again to write it all the same."))))
	}
	if f.doc != "" || f.hint != "" {
		body = append(body, h.P(h.Class("muted small"), h.ID(id+"-doc"), g.Text(shorten(f.help(), 600))))
	}
	label := h.Label(h.For(id), broken(f.name))
	if e.as == asMap || e.as == asRefs {
		label = h.Span(h.Class("label"), h.ID(id+"-name"), broken(f.name))
	}
	class := "field"
	if e.failed != "" || e.clash {
		class += " wrong"
	}
	return h.Div(h.Class(class), h.Div(h.Class("name"), label, f.marks(fresh)), h.Div(h.Class("body"), g.Group(body)))
}

// replaced says what a replacement of a record takes along; "" if nothing does, or no column
// replaces one.
func (t *formTable) replaced() string {
	text := ""
	if !slices.ContainsFunc(t.fields, func(f *field) bool {
		return f.writable(false) && (f.fixed || len(f.fixedWithin) > 0)
	}) {
		return text
	}
	if len(t.parts) > 0 {
		text = "If a change replaces the record, what is part of its old object goes with that: " +
			strings.Join(t.parts, ", ") + "."
	}
	if t.holdsData {
		text += " The old object's data is lost: a replacement is refused unless the record is unprotected."
	}
	return strings.TrimSpace(text)
}

// broken lets a long name go on in the next line after an underscore.
func broken(name string) g.Node {
	parts := strings.SplitAfter(name, "_")
	return g.Map(parts, func(part string) g.Node { return g.Group([]g.Node{g.Text(part), g.El("wbr")}) })
}

// help is what the column is for, and which values it may have, without what the form
// says by other means.
func (f *field) help() string {
	text := f.doc
	for _, said := range []string{" (changing it replaces the object)", " (write-only)"} {
		text = strings.TrimSuffix(text, said)
	}
	phrase := strings.TrimSuffix(strings.TrimPrefix(f.hint, "It must be "), ".")
	if f.hint == "" || len(f.allowed) > 0 || strings.Contains(text, phrase) ||
		strings.Contains(phrase, "regular expression") || strings.Contains(phrase, "JSON") ||
		strings.HasPrefix(phrase, "It must hold that") {
		return text
	}
	return strings.TrimSpace(text + " " + f.hint)
}

func (f *field) marks(fresh bool) g.Node {
	var marks []g.Node
	mark := func(class, text, why string) {
		marks = append(marks, h.Span(h.Class("mark "+class), g.Attr("title", why), g.Text(text)))
	}
	if f.required && fresh {
		mark("needed", "required", "A record needs it.")
	}
	if !fresh && f.fixed {
		mark("replaces", "a change replaces the record", "Its object is deleted, and made anew.")
	} else if !fresh && len(f.fixedWithin) > 0 {
		mark("replaces", "a change of "+shorten(strings.Join(f.fixedWithin, ", "), 60)+" replaces the record",
			"Its object is deleted, and made anew.")
	}
	if f.secret {
		mark("", "secret", "It is never shown.")
	}
	return g.Group(marks)
}

// described connects an input with what is said about it.
func (f *field) described(e entry, id string) g.Node {
	var about []string
	if e.failed != "" {
		about = append(about, id+"-bad")
	}
	if f.doc != "" || f.hint != "" {
		about = append(about, id+"-doc")
	}
	return g.Group([]g.Node{g.If(len(about) > 0, h.Aria("describedby", strings.Join(about, " "))),
		g.If(e.failed != "", h.Aria("invalid", "true"))})
}

// empty is what an input without a value means.
func (f *field) empty(fresh bool) string {
	switch {
	case fresh && f.fallback != "":
		return "default: " + shorten(f.fallback, 60)
	case f.nullable && !f.required:
		return "NULL"
	}
	return ""
}

func (f *field) input(t *formTable, e entry, c choices, id string, fresh bool) g.Node {
	attributes := []g.Node{h.ID(id), h.Name("v." + f.name), f.described(e, id)}
	add := func(more ...g.Node) []g.Node { return append(slices.Clone(attributes), more...) }
	placeholder := g.If(f.empty(fresh) != "", h.Placeholder(f.empty(fresh)))
	switch e.as {
	case asBool:
		return f.choice(add(), e.text, []string{"true", "false"}, fresh)
	case asChoice:
		return f.choice(add(), e.text, f.allowed, fresh)
	case asNumber:
		step := "any"
		if slices.Contains([]string{"smallint", "integer", "bigint"}, f.kind) {
			step = "1"
		}
		return h.Input(add(h.Type("number"), h.Step(step), g.If(f.least != "", h.Min(f.least)),
			g.If(f.most != "", h.Max(f.most)), h.Value(e.text), placeholder)...)
	case asTime:
		return h.Input(add(h.Type("text"), h.Value(e.text), h.Placeholder(timeSample(f.kind)),
			h.AutoComplete("off"))...)
	case asSecret:
		state := "not set"
		if e.set {
			state = "set; leave it blank to keep it"
		}
		return g.Group([]g.Node{g.If(e.set, h.Input(h.Type("hidden"), h.Name("s."+f.name), h.Value("1"))),
			h.Input(add(h.Type("password"), h.Placeholder(state), h.AutoComplete("new-password"))...),
			g.If(e.set && f.nullable && !f.required && !fresh, f.box(e, "remove it", "It becomes NULL."))})
	case asJSON:
		return area(add(h.Class("mono"), g.Attr("spellcheck", "false"), placeholder), e.text, 4)
	case asLines:
		return g.Group([]g.Node{area(add(h.Placeholder(f.listSample(fresh))), e.text, 2),
			f.emptyBox(e, "empty list", fresh)})
	case asArray:
		return g.Group([]g.Node{area(add(h.Class("mono"), h.Placeholder("{a,b}")), e.text, 2),
			f.emptyBox(e, "empty list", fresh)})
	case asMap:
		return f.rows(e, id)
	case asRef:
		return f.reference(t, add(), e.text, c, id, fresh)
	case asRefs:
		return f.references(t, e, c, id)
	}
	control := h.Input(add(h.Type("text"), h.Value(e.text), placeholder, h.AutoComplete("off"))...)
	if strings.Contains(e.text, "\n") || len(e.text) > 120 {
		control = area(add(), e.text, 3)
	}
	return g.Group([]g.Node{control, f.emptyBox(e, "empty text", fresh)})
}

// area is an input of several lines. HTML drops the first line feed.
func area(attributes []g.Node, text string, least int) g.Node {
	rows := min(max(strings.Count(text, "\n")+2, least), 20)
	return h.Textarea(append(attributes, h.Rows(number(int64(rows))), g.Text("\n"+text))...)
}

// listSample says how a list is written, and what an empty one means.
func (f *field) listSample(fresh bool) string {
	if text := f.empty(fresh); text != "" {
		return "one a line; " + text + " if empty"
	}
	return "one a line"
}

func timeSample(kind string) string {
	switch kind {
	case "date":
		return "2026-01-31"
	case "interval":
		return "1 day 02:00:00"
	case "time without time zone", "time with time zone":
		return "13:30:00"
	}
	return "2026-01-31 13:30:00+00"
}

// box is ticked for an empty value; the style hides it while the input has something.
func (f *field) box(e entry, text, why string) g.Node {
	return h.Label(h.Class("box"), g.Attr("title", why), h.Input(h.Type("checkbox"), h.Name("b."+f.name), h.Value("1"),
		g.If(e.box, h.Checked())), g.Text(" "+text))
}

// emptyBox tells an empty value from NULL, or from the default.
func (f *field) emptyBox(e entry, text string, fresh bool) g.Node {
	if !f.boxed(e.as) {
		return nil
	}
	return f.box(e, text, "An empty field is "+f.empty(fresh)+"; ticked, it is an "+text+".")
}

func (f *field) choice(attributes []g.Node, now string, allowed []string, fresh bool) g.Node {
	options := []g.Node{}
	blank := f.empty(fresh)
	if blank != "" || fresh {
		if blank == "" {
			blank = "choose…"
		}
		options = append(options, h.Option(h.Value(""), g.If(now == "", h.Selected()), g.Text(blank)))
	}
	if now != "" && !slices.Contains(allowed, now) { // newer than the list
		allowed = append([]string{now}, allowed...)
	}
	for _, value := range allowed {
		options = append(options, h.Option(h.Value(value), g.If(value == now, h.Selected()), g.Text(value)))
	}
	return h.Select(append(attributes, options...)...)
}

// rows are keys and values. A row without a key counts for nothing.
func (f *field) rows(e entry, id string) g.Node {
	pairs := append(slices.Clone(e.pairs), make([][2]string, blankRows)...)
	cell := func(name, text, what string) g.Node {
		return h.Input(h.Name(name+"."+f.name), h.Value(text), h.Placeholder(what), h.Aria("label", what),
			h.AutoComplete("off"))
	}
	return h.Div(h.Class("pairs"), h.ID(id), h.Role("group"), h.Aria("labelledby", id+"-name"),
		g.Map(pairs, func(p [2]string) g.Node {
			return h.Div(h.Class("pair"), cell("k", p[0], "key"), cell("v", p[1], "value"))
		}))
}

// reference is where one picks a record: a list, or of many an input that searches.
func (f *field) reference(t *formTable, attributes []g.Node, now string, c choices, id string, fresh bool) g.Node {
	options, blank := c.of[f.refers.name()], f.empty(fresh)
	at := slices.IndexFunc(options, func(o option) bool { return o.value == now })
	if c.many[f.refers.name()] {
		said := g.Node(nil)
		if at >= 0 {
			said = h.Span(h.Class("muted small"), g.Text(options[at].text(f.refers.key)))
		}
		return g.Group([]g.Node{
			h.Input(append(attributes, h.Type("text"), h.Value(now), g.Attr("list", id+"-list"), h.AutoComplete("off"),
				h.Placeholder("name or "+f.refers.key+" of a record of "+f.refers.table), h.MaxLength("500"),
				g.Attr("hx-get", "/pick/"+t.name+"/"+f.name), g.Attr("hx-trigger", "input changed delay:150ms"),
				g.Attr("hx-target", "#"+id+"-list"), g.Attr("hx-swap", "innerHTML"),
				g.Attr("hx-sync", "this:replace"))...),
			said,
			h.DataList(h.ID(id+"-list"), g.Map(options, func(o option) g.Node {
				return h.Option(h.Value(o.value), g.Text(o.text(f.refers.key)))
			}))})
	}
	if blank == "" {
		blank = "choose…"
	}
	list := []g.Node{h.Option(h.Value(""), g.If(now == "", h.Selected()), g.Text(blank))}
	if now != "" && at < 0 { // one that the visitor may not see, or that is gone
		list = append(list, h.Option(h.Value(now), h.Selected(), g.Text(now)))
	}
	for _, o := range options {
		list = append(list, h.Option(h.Value(o.value), g.If(o.value == now, h.Selected()),
			g.Text(o.text(f.refers.key))))
	}
	return h.Select(append(attributes, list...)...)
}

func (f *field) references(t *formTable, e entry, c choices, id string) g.Node {
	items := append(slices.Clone(e.items), make([]string, blankRows)...)
	var rows []g.Node
	for i, item := range items {
		one := id + "-" + number(int64(i))
		attributes := []g.Node{h.ID(one), h.Name("v." + f.name), h.Aria("labelledby", id+"-name")}
		rows = append(rows, f.reference(t, attributes, item, c, one, false))
	}
	return h.Div(h.Class("items"), h.ID(id), h.Role("group"), h.Aria("labelledby", id+"-name"), g.Group(rows))
}
