package console

import (
	"slices"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// keptPlan is a plan that a session has had made, so that it can be paged through as it was.
type keptPlan struct {
	plan
	seen map[int]bool // pages that have been shown
}

// linesOfPage is how many steps a page shows.
const linesOfPage = 300

// mostKept bounds how many plans a session keeps, and keptSteps how large one may be.
const (
	mostKept  = 3
	keptSteps = 50_000
)

func (k *keptPlan) pages() int { return max(1, (len(k.steps)+linesOfPage-1)/linesOfPage) }

// page returns copies of the steps of a page.
func (k *keptPlan) page(n int) []step {
	first := min((n-1)*linesOfPage, len(k.steps))
	return slices.Clone(k.steps[first:min(first+linesOfPage, len(k.steps))])
}

func (k *keptPlan) pager(path string, n int) g.Node {
	if k.pages() == 1 {
		return nil
	}
	address := func(page int) string { return to(path, "plan", k.hash, "page", number(int64(page))) }
	if len(k.steps) > keptSteps {
		return h.P(h.Class("muted"), g.Text("The plan has "+grouped(int64(len(k.steps)))+
			" lines, which is more than the console pages through: SELECT * FROM iasql_preview()"))
	}
	return h.P(h.Class("pager"), g.If(n > 1, h.A(h.Class("button"), h.Href(address(n-1)), g.Text("← Before"))),
		h.Span(h.Class("muted"), g.Text("Page "+number(int64(n))+" of "+number(int64(k.pages()))+" of the plan")),
		g.If(n < k.pages(), h.A(h.Class("button"), h.Href(address(n+1)), g.Text("Next →"))))
}

// keep has the session keep a plan, with what hurts most first; older ones go.
func (s *session) keep(batch int64, p plan) *keptPlan {
	rank := func(t step) int {
		for i := range kinds {
			if t.isOf(i) {
				return i
			}
		}
		return len(kinds)
	}
	slices.SortStableFunc(p.steps, func(a, b step) int { return rank(a) - rank(b) })
	k := &keptPlan{plan: p, seen: map[int]bool{}}
	s.lock.Lock()
	defer s.lock.Unlock()
	if old := s.plans[batch]; old != nil && old.hash == p.hash {
		k.seen = old.seen // it is the same plan
	}
	if s.plans == nil || s.plans[batch] == nil && len(s.plans) >= mostKept {
		s.plans = map[int64]*keptPlan{}
	}
	if len(p.steps) <= keptSteps {
		s.plans[batch] = k
	} else {
		delete(s.plans, batch)
	}
	return k
}

func (s *session) kept(batch int64) *keptPlan {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.plans[batch]
}

// saw notes that a page of a plan has been shown, and reports whether all have been.
func (s *session) saw(batch int64, hash string, page int) bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	k := s.plans[batch]
	if k == nil || k.hash != hash {
		return false
	}
	if page > 0 {
		k.seen[page] = true
	}
	return len(k.seen) == k.pages()
}
