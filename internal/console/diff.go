package console

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// How a column's change is shown: of a document, and of tags, the keys that change and not the
// whole. A text that is a document, as policies may be, is one.

// difference is one place of a value that changes.
type difference struct {
	path           string // within the value; "" is all of it
	from, to       any
	removed, added bool // it is not there after, or was not there before
}

// documentIn returns what a value holds, if that is an object or an array.
func documentIn(v any) (any, bool) {
	switch v := v.(type) {
	case map[string]any, []any:
		return v, true
	case string:
		text := strings.TrimSpace(v)
		if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
			return nil, false
		}
		var parsed any
		if decode([]byte(text), &parsed) != nil {
			return nil, false
		}
		return documentIn(parsed)
	}
	return nil, false
}

// decode reads JSON, and leaves numbers as they are written.
func decode(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		return err
	}
	if d.More() {
		return errStrange("there is more than one value")
	}
	return nil
}

// differences are the places in which two values differ, in the order of their keys.
func differences(path string, from, to any) []difference {
	if reflect.DeepEqual(from, to) {
		return nil
	}
	before, isDocument := documentIn(from)
	after, too := documentIn(to)
	if !isDocument || !too {
		return []difference{{path: path, from: from, to: to}}
	}
	if a, ok := before.(map[string]any); ok {
		if b, ok := after.(map[string]any); ok {
			return keyed(a, b, func(key string) string { return joined(path, key) })
		}
	}
	if a, ok := before.([]any); ok {
		if b, ok := after.([]any); ok {
			return inLists(path, a, b)
		}
	}
	return []difference{{path: path, from: from, to: to}}
}

func keyed(a, b map[string]any, at func(string) string) (all []difference) {
	keys := make([]string, 0, len(a)+len(b))
	for key := range a {
		keys = append(keys, key)
	}
	for key := range b {
		if _, both := a[key]; !both {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		from, was := a[key]
		to, is := b[key]
		if was && is {
			all = append(all, differences(at(key), from, to)...)
			continue
		}
		all = append(all, difference{path: at(key), from: from, to: to, removed: !is, added: !was})
	}
	return all
}

// inLists compares statements by their Sid, other objects by their place where as many are left,
// and all else by what came and went.
func inLists(path string, a, b []any) (all []difference) {
	at := func(key string) string { return path + "[" + key + "]" }
	if before, ok := named(a); ok {
		if after, ok := named(b); ok {
			if all = keyed(before, after, at); len(all) > 0 {
				return all
			}
			return []difference{{path: path, from: a, to: b}} // the order alone
		}
	}
	if len(a) == len(b) && slices.ContainsFunc(a, isObject) && slices.ContainsFunc(b, isObject) {
		for i := range a {
			all = append(all, differences(at(strconv.Itoa(i)), a[i], b[i])...)
		}
		return all
	}
	left := map[string]int{}
	for _, v := range b {
		left[exact(v)]++
	}
	common := map[string]int{}
	for _, v := range a {
		if key := exact(v); left[key] > 0 {
			left[key]--
			common[key]++
		} else {
			all = append(all, difference{path: path, from: v, removed: true})
		}
	}
	for _, v := range b {
		if key := exact(v); common[key] > 0 {
			common[key]--
		} else {
			all = append(all, difference{path: path, to: v, added: true})
		}
	}
	if len(all) == 0 {
		return []difference{{path: path, from: a, to: b}}
	}
	return all
}

func exact(v any) string {
	b, _ := json.Marshal(v) // of what was JSON
	return string(b)
}

func isObject(v any) bool { _, ok := v.(map[string]any); return ok }

// named has a list's objects by their Sid, if all have one of their own.
func named(list []any) (map[string]any, bool) {
	by := map[string]any{}
	for _, v := range list {
		o, _ := v.(map[string]any)
		sid, _ := o["Sid"].(string)
		if _, twice := by[sid]; sid == "" || twice {
			return nil, false
		}
		by[sid] = o
	}
	return by, len(by) > 0
}

func joined(path, key string) string {
	if key != "" && !strings.ContainsAny(key, " .[]\"'\n") {
		if path == "" {
			return key
		}
		return path + "." + key
	}
	return path + "[" + strconv.Quote(key) + "]"
}

// mostPlaces bounds how many places of one column are shown.
const mostPlaces = 100

// draw shows a column's change.
func (c change) draw(column, class string) g.Node {
	from, to := c.From, c.To
	switch class { // of one side all keys are new, or go
	case "create":
		from = emptied(to)
	case "delete":
		to = emptied(from)
	}
	all := differences(column, from, to)
	if len(all) == 0 {
		all = []difference{{path: column, from: c.From, to: c.To, added: class == "create", removed: class == "delete"}}
	}
	whole, large := c.To, false
	if class == "delete" {
		whole = c.From
	}
	if d, is := documentIn(whole); is {
		pretty, err := json.MarshalIndent(d, "", "  ")
		if large = err == nil && len(pretty) > 120; large {
			whole = shorten(string(pretty), mostOfValue)
		}
	}
	lines := g.Map(all[:min(len(all), mostPlaces)], func(d difference) g.Node {
		removed, added := d.removed || class == "delete", d.added || class == "create"
		return h.Li(h.Span(h.Class("col"), g.Text(d.path)), g.If(!added, h.Del(g.Text(compact(d.from)))),
			g.If(!added && !removed, g.Text(" → ")), g.If(!removed, h.Ins(g.Text(compact(d.to)))))
	})
	rest := len(all) - mostPlaces
	return g.Group([]g.Node{g.Group(lines), g.If(rest > 0, h.Li(h.Class("muted"),
		g.Text("and "+strconv.Itoa(rest)+" more places of "+column))),
		g.Iff(large, func() g.Node {
			return h.Li(h.Details(h.Class("fold"), h.Summary(g.Text("all of "+column)), h.Pre(g.Text(whole.(string)))))
		})})
}

// emptied is the empty object for a document of scalars, such as tags: each of its keys is then
// shown by itself. Of anything else it is nothing.
func emptied(v any) any {
	o, is := v.(map[string]any)
	if !is || len(o) > 20 {
		return nil
	}
	for _, value := range o {
		if _, nested := documentIn(value); nested {
			return nil
		}
	}
	return map[string]any{}
}
