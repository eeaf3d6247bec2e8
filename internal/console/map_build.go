package console

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const (
	mostAlike    = 12  // more of a kind in a box are folded
	mostDrawn    = 400 // if there are more leaves, more is folded
	mostUnfolded = 200 // what an opened fold shows
	mostWires    = 600
	mostOpen     = 50
)

// mapChoice is what the map is asked for, as its address says.
type mapChoice struct {
	account, configuration, tag string
	within                      string // the table of a container
	withinID                    int64
	open                        []string // folds
	deletes                     bool     // links lead to what a deletion would break
}

// parseChoice reads an address. What is no choice is left out.
func parseChoice(form url.Values) mapChoice {
	text := func(name string) string {
		return strings.TrimSpace(printable(strings.ToValidUTF8(shorten(form.Get(name), 400), "")))
	}
	c := mapChoice{account: text("account"), configuration: text("configuration"), tag: text("tag"),
		deletes: form.Has("deletes")}
	name, id, _ := strings.Cut(text("in"), ".")
	if n, err := strconv.ParseInt(id, 10, 64); err == nil {
		c.within, c.withinID = name, n
	}
	for _, fold := range form["open"] {
		if len(fold) <= 200 && len(c.open) < mostOpen {
			c.open = append(c.open, fold)
		}
	}
	return c
}

// address is that of the map at another choice.
func (c mapChoice) address(path string, change func(*mapChoice)) string {
	c.open = slices.Clone(c.open)
	if change != nil {
		change(&c)
	}
	pairs := []string{"account", c.account, "in", c.in(), "configuration", c.configuration, "tag", c.tag}
	if c.deletes {
		pairs = append(pairs, "deletes", "1")
	}
	for _, fold := range c.open {
		pairs = append(pairs, "open", fold)
	}
	return to(path, pairs...)
}

func (c mapChoice) in() string {
	if c.within == "" {
		return ""
	}
	return c.within + "." + number(c.withinID)
}

// drawing is a map that has been laid out.
type drawing struct {
	root    *cell
	wires   []wire
	ways    [][]point
	records int
	folded  bool // containers are folded as well
	cut     bool // there are more lines than are drawn
	worst   map[string]int
}

// mark is the class of a record's state and its words; "" where it is as it should be.
func (r *mapRecord) mark() (class, words string) {
	s := r.state
	switch {
	case s.state == "Conflict":
		return "bad", "drift: changed on both sides"
	case s.review || strings.HasSuffix(s.state, "Failed"):
		return "bad", "failed"
	case s.state == "Staged":
		return "staged", "staged in a batch"
	case s.state != "Present" && s.state != "":
		return "busy", "waiting: " + strings.ToLower(s.state)
	}
	return "", ""
}

func (r *mapRecord) name() string { return cmp.Or(r.label, "id "+number(r.id)) }

// statesOf are the states of records, to be filled in.
func statesOf(records []*mapRecord) map[recordKey]*recordState {
	states := make(map[recordKey]*recordState, len(records))
	for _, r := range records {
		states[recordKey{r.table.name, r.id}] = &r.state
	}
	return states
}

func (r *mapRecord) link(choice mapChoice) string {
	if choice.deletes {
		return deletesPath(r.table.name, r.id)
	}
	return recordPath(r.table.name, r.id)
}

func deletesPath(table string, id int64) string {
	return "/map/" + url.PathEscape(table) + "/" + number(id) + "?deletes"
}

// chosen returns the records that the map shows: those asked for, with what they lie in.
func (d *mapData) chosen(choice mapChoice) []*mapRecord {
	within := d.by[choice.within][choice.withinID]
	asked := choice.tag != "" || choice.configuration != ""
	keep := map[*mapRecord]bool{}
	for _, r := range d.records {
		if choice.within != "" && (within == nil || !r.within(within)) || !r.chosen ||
			r.table.catalogue && (asked || choice.within != "") {
			continue
		}
		for up := r; up != nil && !keep[up]; up = up.container {
			keep[up] = true
		}
	}
	var list []*mapRecord
	for _, r := range d.records {
		if keep[r] {
			list = append(list, r)
		}
	}
	return list
}

// build makes the boxes and the leaves of records, folded as far as they are too many.
func build(records []*mapRecord, choice mapChoice, containers []string) *drawing {
	// Fold ever more, until there are few enough.
	most, closed := mostAlike, map[string]bool{}
	for {
		b := builder{choice: choice, most: most, closed: closed, containers: containers,
			boxes: map[string]*cell{}, at: map[*mapRecord]*cell{}, worst: map[string]int{}}
		b.run(records)
		if b.leaves <= mostDrawn || most == 1 && len(closed) == len(containers) {
			b.drawing.ways = layOut(b.drawing.root, b.drawing.wires)
			b.drawing.worst = b.worst
			b.drawing.folded = len(closed) > 0
			b.drawing.records = len(records)
			return b.drawing
		}
		if most > 1 {
			most /= 3
			most = max(most, 1)
			continue
		}
		closed[containers[len(containers)-1-len(closed)]] = true
	}
}

type builder struct {
	choice     mapChoice
	most       int
	closed     map[string]bool // tables of containers that are leaves
	containers []string
	boxes      map[string]*cell
	at         map[*mapRecord]*cell
	worst      map[string]int
	leaves     int
	drawing    *drawing
}

// outermost is the closed container in which a record lies, or is itself; nil if none.
func (b *builder) outermost(r *mapRecord) (found *mapRecord) {
	for ; r != nil; r = r.container {
		if b.closed[r.table.name] {
			found = r
		}
	}
	return found
}

func (b *builder) box(key string, up *cell, title, about string) *cell {
	if c := b.boxes[key]; c != nil {
		return c
	}
	c := &cell{key: key, box: true, title: title, about: about}
	b.boxes[key] = c
	up.children = append(up.children, c)
	return c
}

// boxOf is the box of a container, or of a region or an account if there is none.
func (b *builder) boxOf(container *mapRecord, r *mapRecord) *cell {
	if container != nil {
		key := container.table.name + "." + number(container.id)
		if c := b.boxes[key]; c != nil {
			return c
		}
		c := b.box(key, b.boxOf(container.container, container), container.name(), "")
		c.kind, c.href = container.table.name, container.link(b.choice)
		c.class, c.words = container.mark()
		c.about = about(container, c.words)
		b.at[container] = c
		return c
	}
	account := b.box("account "+r.account, b.drawing.root, cmp.Or(r.account, "no account"), "account "+r.account)
	account.kind = "account"
	if r.region == "" {
		c := b.box("global "+r.account, account, "Global", "of no region")
		c.plain = true
		return c
	}
	c := b.box("region "+r.account+" "+r.region, account, r.region, "region "+r.region)
	c.kind = "region"
	return c
}

func about(r *mapRecord, words string) string {
	text := r.table.name + " " + r.name()
	if words != "" {
		text += " – " + words
	}
	if r.state.message != "" {
		text += ": " + printable(r.state.message)
	}
	return text
}

func (b *builder) run(records []*mapRecord) {
	b.drawing = &drawing{root: &cell{box: true, plain: true}}
	slices.SortStableFunc(records, func(x, y *mapRecord) int { // what the provider has comes last
		return cmp.Compare(catalogued(x), catalogued(y))
	})
	isContainer := func(r *mapRecord) bool { return slices.Contains(b.containers, r.table.name) }
	inside := map[*mapRecord]int{} // how much is in a closed container
	alike := map[string][]*mapRecord{}
	var order []string
	up := map[string]*cell{}
	for _, r := range records {
		class, words := r.mark()
		if class != "" {
			word, _, _ := strings.Cut(words, ":")
			b.worst[word]++
		}
		if closed := b.outermost(r); closed != nil && closed != r {
			inside[closed]++
			continue
		}
		if r.table.joins && class != "bad" {
			continue // it is a line
		}
		if isContainer(r) && !b.closed[r.table.name] {
			b.boxOf(r, r)
			continue
		}
		if r.table.catalogue && b.boxes["region "+r.account+" "+r.region] == nil {
			continue // a place where there is nothing else
		}
		in := b.boxOf(r.container, r)
		key := in.key + "/" + r.table.name
		if r.made && class == "" {
			key = in.key + "/~made"
		}
		if alike[key] == nil {
			order = append(order, key)
			up[key] = in
		}
		alike[key] = append(alike[key], r)
	}
	slices.Sort(order)
	for _, key := range order {
		b.kind(key, up[key], alike[key], inside)
	}
	b.group(b.drawing.root)
	b.connect(records)
}

func catalogued(r *mapRecord) int {
	if r.table.catalogue {
		return 1
	}
	return 0
}

// kind draws the records of one kind in a box, or folds them.
func (b *builder) kind(key string, in *cell, alike []*mapRecord, inside map[*mapRecord]int) {
	made := strings.HasSuffix(key, "/~made")
	fold := len(alike) > b.most || made || alike[0].table.catalogue
	shown := alike
	if fold && slices.Contains(b.choice.open, key) {
		fold = false
		shown = alike[:min(len(alike), mostUnfolded)]
	} else if len(alike) == 1 && !made && !alike[0].table.catalogue {
		fold = false
	} else if fold {
		shown = nil
	}
	slices.SortFunc(shown, func(x, y *mapRecord) int {
		return cmp.Or(strings.Compare(x.label, y.label), cmp.Compare(x.id,
			y.id))
	})
	for _, r := range shown {
		c := &cell{key: r.table.name + "." + number(r.id), kind: r.table.name, title: r.name(), href: r.link(b.choice)}
		c.class, c.words = r.mark()
		c.about = about(r, c.words)
		if b.closed[r.table.name] {
			c.class += " fold"
			c.kind += fmt.Sprintf(" · %d inside", inside[r])
			c.about += fmt.Sprintf(", with %d records inside, folded", inside[r])
			c.href = b.choice.address("/map", func(m *mapChoice) { m.within, m.withinID = r.table.name, r.id })
		}
		b.at[r] = c
		in.children = append(in.children, c)
		b.leaves++
	}
	rest := alike[len(shown):]
	if len(rest) == 0 {
		return
	}
	b.leaves++
	c := &cell{key: key, class: "fold", kind: "folded: opens", href: b.choice.address("/map",
		func(m *mapChoice) { m.open = append(m.open, key) })}
	c.title = number(int64(len(rest))) + " " + rest[0].table.name
	if made {
		c.title, c.kind = number(int64(len(rest)))+" by the provider", "made by itself: opens"
	}
	if len(shown) > 0 {
		c.title, c.kind = number(int64(len(rest)))+" more", rest[0].table.name+": to the list"
		c.href = "/records/" + url.PathEscape(rest[0].table.name)
	}
	counts := map[string]int{}
	for _, r := range rest {
		if class, words := r.mark(); class != "" {
			word, _, _ := strings.Cut(words, ":")
			counts[word]++
			if c.words == "" || class == "bad" {
				c.class, c.words = "fold "+class, word
			}
		}
		b.at[r] = c
	}
	if n := counts[c.words]; n > 0 {
		c.words = number(int64(n)) + " " + c.words
	}
	c.about = c.title + ", folded"
	if made {
		var kinds []string
		for _, r := range rest {
			kinds = append(kinds, r.table.name)
		}
		slices.Sort(kinds)
		c.about += ": " + strings.Join(slices.Compact(kinds), ", ")
	}
	if c.words != "" {
		c.about += " – " + c.words
	}
	in.children = append(in.children, c)
}

// group puts what lies in a region, or an account, beside the boxes in it into a box of its own.
func (b *builder) group(c *cell) {
	var boxes, leaves []*cell
	for _, child := range c.children {
		if child.box {
			b.group(child)
			boxes = append(boxes, child)
		} else {
			leaves = append(leaves, child)
		}
	}
	if c.kind == "region" && len(boxes) > 0 && len(leaves) > 0 {
		rest := &cell{key: c.key + " rest", box: true, plain: true, title: "Others in " + c.title,
			about:    "others in the region",
			children: leaves}
		boxes, leaves = append(boxes, rest), nil
	}
	c.children = append(boxes, leaves...)
}

// connect draws the lines between what refers to each other and does not lie in each other.
func (b *builder) connect(records []*mapRecord) {
	for _, r := range records { // what lies in a closed container stands there
		if closed := b.outermost(r); closed != nil && closed != r && b.at[closed] != nil {
			b.at[r] = b.at[closed]
		}
	}
	seen := map[wire]bool{}
	line := func(from, to *mapRecord) {
		w := wire{b.at[from], b.at[to]}
		if w.from == nil || w.to == nil || w.from == w.to || seen[w] || to.table.catalogue || within(w.from, w.to) ||
			within(w.to, w.from) {
			return
		}
		seen[w] = true
		if len(b.drawing.wires) >= mostWires {
			b.drawing.cut = true
			return
		}
		b.drawing.wires = append(b.drawing.wires, w)
	}
	link(b.drawing.root)
	for _, r := range records {
		if r.table.joins && b.at[r] == nil {
			for _, from := range r.targets[0] {
				for _, to := range r.targets[1] {
					line(from, to)
				}
			}
			continue
		}
		for _, targets := range r.targets {
			for _, to := range targets {
				line(r, to)
			}
		}
	}
}

// link tells every cell in what it lies.
func link(c *cell) {
	for _, child := range c.children {
		child.up = c
		link(child)
	}
}

// within reports whether a cell lies in a box.
func within(c, box *cell) bool {
	for ; c != nil; c = c.up {
		if c == box {
			return true
		}
	}
	return false
}
