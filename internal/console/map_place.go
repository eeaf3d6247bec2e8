package console

import (
	"slices"
	"strconv"
	"strings"

	"iasql/internal/modules"
)

// resolve finds the records that the records refer to.
func (d *mapData) resolve() {
	byKey := map[string]map[string]*mapRecord{} // by table and columns
	name := func(t string, r reference) string { return t + " " + strings.Join(r.keys, " ") }
	for _, r := range d.records {
		for i, k := range r.table.keys {
			if r.keys[i] == nil {
				continue
			}
			at := name(r.table.name, k)
			if byKey[at] == nil {
				byKey[at] = map[string]*mapRecord{}
			}
			byKey[at][*r.keys[i]] = r
		}
	}
	for _, r := range d.records {
		r.targets = make([][]*mapRecord, len(r.table.ties))
		for i, k := range r.table.ties {
			if r.refs[i] == nil {
				continue
			}
			if !k.list && !k.byID() {
				if to := byKey[name(k.to, k.reference)][*r.refs[i]]; to != nil {
					r.targets[i] = append(r.targets[i], to)
				}
				continue
			}
			for _, text := range elements(r.refs[i], len(*r.refs[i])) {
				id, err := strconv.ParseInt(text, 10, 64)
				if to := d.by[k.to][id]; err == nil && to != nil {
					r.targets[i] = append(r.targets[i], to)
				}
			}
		}
	}
}

// place finds the container in which each record lies: the innermost one that it refers
// to, or what encloses those. What refers to none lies with what it is a part of, or cannot
// be without.
func (d *mapData) place(places modules.Places) {
	rank := map[string]int{}
	for i, name := range places.Containers {
		rank[name] = i + 1
	}
	slices.SortStableFunc(d.records, func(a, b *mapRecord) int { // the outer ones first
		x, y := rank[a.table.name], rank[b.table.name]
		switch {
		case x == y:
			return 0
		case x == 0:
			return 1
		case y == 0:
			return -1
		}
		return x - y
	})
	direct := map[*mapRecord]bool{}
	for _, r := range d.records {
		for i, k := range r.table.ties {
			if mine := rank[r.table.name]; rank[k.to] == 0 || mine > 0 && rank[k.to] >= mine {
				continue
			}
			for _, to := range r.targets[i] {
				if !direct[r] {
					r.container, direct[r] = to, true
				} else {
					r.container = enclosing(r.container, to, true)
				}
			}
		}
	}
	for range 4 { // a part of a part of a part
		for _, r := range d.records {
			if direct[r] || rank[r.table.name] > 0 {
				continue
			}
			first := true
			for i, k := range r.table.ties {
				if !k.part && !slices.Contains(r.table.notNull, k.column) && !slices.Contains(places.Through, k.to) {
					continue
				}
				for _, to := range r.targets[i] {
					if to.container == nil {
						continue
					}
					if first {
						r.container, first = to.container, false
					} else {
						r.container = enclosing(r.container, to.container, true)
					}
				}
			}
		}
	}
}

// within reports whether the record lies in the container, or is it.
func (r *mapRecord) within(container *mapRecord) bool {
	for ; r != nil; r = r.container {
		if r == container {
			return true
		}
	}
	return false
}

// enclosing returns the innermost container that encloses both; of two of which one lies
// in the other, the inner one if that is asked for. nil if there is none.
func enclosing(a, b *mapRecord, inner bool) *mapRecord {
	if a == nil || b == nil {
		return nil
	}
	if inner && a.within(b) {
		return a
	}
	if inner && b.within(a) {
		return b
	}
	for ; a != nil; a = a.container {
		if b.within(a) {
			return a
		}
	}
	return nil
}
