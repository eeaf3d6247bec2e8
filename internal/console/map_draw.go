package console

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	g "maragu.dev/gomponents"
)

// mapStyle is how a map looks by itself, outside of the console.
const mapStyle = `svg{background:#fff;font-family:system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}` +
	`rect{fill:#fff;stroke:#8a94a6;stroke-width:1.2}.box>rect{fill:#f5f6f8;stroke:#8a94a6}.box.plain>rect{stroke-dasharray:5 4}` +
	`text{fill:#1a2130;font-size:12px;font-weight:600}text.kind{fill:#566074;font-size:11px;font-weight:400}` +
	`.edge{fill:none;stroke:#566074;stroke-width:1.2}.arrow{fill:#566074}.fold>rect{stroke-dasharray:3 3}` +
	`.bad>rect{stroke:#a3202c;stroke-width:2.5;fill:#fdeaea}.busy>rect{stroke:#7a5200;fill:#fdf1d8}` +
	`.staged>rect{stroke:#1d56c9;stroke-width:2;fill:#e6eefb}`

func at(name string, value int) g.Node { return g.Attr(name, strconv.Itoa(value)) }

// fits cuts a text that would not fit into so many places; a wide character takes two.
func fits(text string, places int) string {
	n := 0
	for i, r := range text {
		if n++; r >= 0x1100 && !unicode.Is(unicode.Latin, r) {
			n++
		}
		if n > places {
			return strings.TrimSpace(text[:i]) + "…"
		}
	}
	return text
}

// glyphs tell states by their shape.
var glyphs = map[string]string{"bad": "▲", "busy": "◐", "staged": "✎"}

func (c *cell) glyph() string {
	for class, sign := range glyphs {
		if strings.Contains(" "+c.class+" ", " "+class+" ") {
			return sign
		}
	}
	return ""
}

// inShort is a state in the words that fit into a leaf; its title has all of them.
func inShort(words string) string {
	words, _, _ = strings.Cut(words, ":")
	return strings.TrimSuffix(words, " in a batch")
}

// draw makes the SVG: one that stands alone has its style in it.
func (d *drawing) draw(title string, alone bool) g.Node {
	width, height := d.root.w, d.root.h-headHeight
	content := []g.Node{g.Attr("xmlns", "http://www.w3.org/2000/svg"), at("width", width), at("height", height),
		g.Attr("viewBox", fmt.Sprintf("0 %d %d %d", headHeight, width, height)), g.Attr("role", "group"),
		g.Attr("aria-label", title)}
	if alone {
		content = append(content, g.El("title", g.Text(title)), g.El("style", g.Text(mapStyle)))
	}
	content = append(content, g.El("defs", g.El("marker", g.Attr("id", "arrow"), g.Attr("viewBox", "0 0 6 6"),
		g.Attr("refX", "5"),
		g.Attr("refY", "3"), g.Attr("markerWidth", "6"), g.Attr("markerHeight", "6"), g.Attr("orient", "auto"),
		g.El("path", g.Attr("class", "arrow"), g.Attr("d", "M0 0L6 3L0 6z")))))
	content = append(content, d.root.drawBoxes(alone)...)
	for i, way := range d.ways {
		if len(way) > 1 {
			content = append(content, drawWire(d.wires[i], way))
		}
	}
	content = append(content, d.root.drawLeaves(alone)...)
	return g.El("svg", content...)
}

func drawWire(w wire, way []point) g.Node {
	var path strings.Builder
	for i, p := range way {
		switch {
		case i == 0:
			fmt.Fprintf(&path, "M%d %d", p.x, p.y)
		case p.x == way[i-1].x:
			fmt.Fprintf(&path, "V%d", p.y)
		default:
			fmt.Fprintf(&path, "H%d", p.x)
		}
	}
	return g.El("path", g.Attr("class", "edge"), g.Attr("d", path.String()), g.Attr("marker-end", "url(#arrow)"),
		g.El("title", g.Text(w.from.title+" → "+w.to.title)))
}

// linked wraps what leads somewhere, unless the drawing stands alone.
func (c *cell) linked(class string, alone bool, content ...g.Node) g.Node {
	name := "a"
	content = append([]g.Node{g.Attr("class", strings.TrimSpace(class+" "+c.class))}, content...)
	if alone || c.href == "" {
		name = "g"
	} else {
		content = append(content, g.Attr("href", c.href))
	}
	return g.El(name, content...)
}

func (c *cell) drawBoxes(alone bool) (drawn []g.Node) {
	if !c.box {
		return nil
	}
	if c.up != nil {
		class := "box"
		if c.plain {
			class += " plain"
		}
		text := c.title
		if c.kind != "" && !strings.HasPrefix(c.title, c.kind+"-") {
			text = c.kind + " " + text
		}
		if c.words != "" {
			text = c.glyph() + " " + inShort(c.words) + " · " + text
		}
		drawn = append(drawn, c.linked(class, alone, g.El("title", g.Text(c.about)),
			g.El("rect", at("x", c.x), at("y", c.y), at("width", c.w), at("height", c.h), at("rx", 8)),
			g.El("text", at("x", c.x+12), at("y", c.y+19), g.Text(fits(text, (c.w-24)/8)))))
	}
	for _, child := range c.children {
		drawn = append(drawn, child.drawBoxes(alone)...)
	}
	return drawn
}

func (c *cell) drawLeaves(alone bool) (drawn []g.Node) {
	for _, child := range c.children {
		drawn = append(drawn, child.drawLeaves(alone)...)
	}
	if c.box {
		return drawn
	}
	kind := c.kind
	if c.words != "" {
		kind = c.glyph() + " " + inShort(c.words) + " · " + kind
	}
	return append(drawn, c.linked("node", alone, g.El("title", g.Text(c.about)),
		g.El("rect", at("x", c.x), at("y", c.y), at("width", c.w), at("height", c.h), at("rx", 6)),
		g.El("text", at("x", c.x+10), at("y", c.y+17), g.Text(fits(c.title, 19))),
		g.El("text", g.Attr("class", "kind"), at("x", c.x+10), at("y", c.y+33), g.Text(fits(kind, 26)))))
}
