package watch

import (
	"fmt"
	"testing"

	"iasql/internal/aws"
	"iasql/internal/hosts"
	"iasql/internal/modules"
	"iasql/internal/modules/all"
)

// TestGather: of a flood the tables are kept, in memory that does not grow, and nothing that was said is lost.
func TestGather(t *testing.T) {
	t.Parallel()
	g := newGathered()
	for i := range 100_000 {
		g.add(hosts.News{Hints: []hosts.Hint{{Table: "host_file", Column: "path", Value: fmt.Sprint("/", i)}, {Table: "host_unit"}}, Foreign: 1})
		if len(g.news.hints) > maxGathered+1 {
			t.Fatalf("it keeps %d", len(g.news.hints))
		}
	}
	n := g.take()
	if len(n.hints) != 2 || !n.hints[hosts.Hint{Table: "host_file"}] || !n.hints[hosts.Hint{Table: "host_unit"}] || n.foreign != 100_000 || n.dropped == 0 {
		t.Errorf("of a flood there is %+v", n)
	}
	if again := g.take(); len(again.hints) > 0 || again.foreign > 0 {
		t.Errorf("twice: %+v", again)
	}
	g.giveBack(n)
	if again := g.take(); len(again.hints) != 2 || again.foreign != n.foreign || again.dropped != n.dropped {
		t.Errorf("given back: %+v", again)
	}
	// More than is allowed for long: the tables.
	g = newGathered()
	for round := range 3 {
		for i := range maxGathered - 10 {
			g.add(hosts.News{Hints: []hosts.Hint{{Table: "host_file", Column: "path", Value: fmt.Sprint("/", i)}}})
		}
		n := g.take()
		if want := map[int]int{0: maxGathered - 10}[round]; want > 0 && len(n.hints) != want || want == 0 && len(n.hints) != 1 {
			t.Errorf("round %d: %d", round, len(n.hints))
		}
	}
	select {
	case <-g.wake:
	default:
		t.Error("nobody is told")
	}
	g.add(hosts.News{})
	select {
	case <-g.wake:
		t.Error("that the host is there is worth keeping")
	default:
	}
	g.add(hosts.News{Lacking: "unit: no bus"})
	select {
	case <-g.wake:
	default:
		t.Error("nobody is told of what is not watched")
	}
}

// TestHintsNameTables: what a host may name are tables of hosts, and columns that are their identities.
func TestHintsNameTables(t *testing.T) {
	t.Parallel()
	machines := hosts.New(hosts.Options{})
	registry, err := modules.NewRegistry(append(all.Modules(aws.New(aws.Options{})), all.Hosts(machines)...)...)
	if err != nil {
		t.Fatal(err)
	}
	kinds := 0
	for table, column := range hosts.Watched() {
		kinds++
		described := registry.Table(table)
		if described == nil {
			t.Errorf("there is no table %s", table)
			continue
		}
		if identity := described.Identity(); column != "" && (len(identity) != 1 || identity[0] != column) {
			t.Errorf("%s is identified by %v, and not by %s", table, identity, column)
		}
	}
	if kinds < 20 {
		t.Errorf("there are %d", kinds)
	}
}
