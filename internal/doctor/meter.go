package doctor

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"iasql/internal/aws/permissions"
	"iasql/internal/modules"
)

// call is what AWS counts calls by.
type call struct{ service, action, region string }

// meter counts calls.
type meter struct {
	lock      sync.Mutex
	calls     map[call]int
	throttled map[call]int
	denied    map[call]*Denied
}

func newMeter() *meter {
	return &meter{calls: map[call]int{}, throttled: map[call]int{}, denied: map[call]*Denied{}}
}

// observe is told of every attempt of a call.
func (m *meter) observe(a modules.Attempt) {
	m.lock.Lock()
	defer m.lock.Unlock()
	c := call{permissions.PackageOf(a.Service), a.Action, a.Region}
	m.calls[c]++
	if a.Err == nil {
		return
	}
	switch a.Err.Class {
	case modules.Throttled:
		m.throttled[c]++
	case modules.Denied:
		one := m.denied[c]
		if one == nil {
			one = &Denied{Call: c.service + ":" + c.action, Region: c.region, Permission: permissionOf(c, a.Err),
				Reason: reason.FindString(a.Err.Message)}
			m.denied[c] = one
		}
		one.Calls++
	}
}

// permissionOf returns IAM's name of what lacks: AWS's own word for it, or else
// what the operation is known to need.
func permissionOf(c call, err *modules.Error) string {
	if told := performs.FindStringSubmatch(err.Message); told != nil {
		return told[1]
	}
	return permissions.Actions(c.service, c.action)[0]
}

// add counts what another meter has counted.
func (m *meter) add(other *meter) {
	m.lock.Lock()
	defer m.lock.Unlock()
	for c, n := range other.calls {
		m.calls[c] += n
	}
	for c, n := range other.throttled {
		m.throttled[c] += n
	}
	for c, one := range other.denied {
		if have := m.denied[c]; have != nil {
			have.Calls += one.Calls
		} else {
			copied := *one
			m.denied[c] = &copied
		}
	}
}

// total returns how many calls were made.
func (m *meter) total() int {
	n := 0
	for _, calls := range m.calls {
		n += calls
	}
	return n
}

// denials lists the calls that were refused.
func (m *meter) denials() []Denied {
	var all []Denied
	for c, one := range m.denied {
		said := *one
		said.Of = m.calls[c]
		all = append(all, said)
	}
	slices.SortFunc(all, func(a, b Denied) int {
		return cmp.Or(cmp.Compare(a.Call, b.Call), cmp.Compare(a.Region, b.Region))
	})
	return all
}

// sortedCalls lists the calls of a count in a stable order.
func sortedCalls(calls map[call]int) []call {
	return slices.SortedFunc(maps.Keys(calls), func(a, b call) int {
		return cmp.Or(cmp.Compare(a.service, b.service), cmp.Compare(a.action, b.action),
			cmp.Compare(a.region, b.region))
	})
}
