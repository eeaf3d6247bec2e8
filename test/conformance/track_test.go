package conformance

// TRACK: the tables follow, and the engine makes no mutating call.

func (s *suite) tracksNothing(sub *suite) func() {
	before := sub.calls.count()
	return func() {
		if made := sub.calls.since(before); len(made) > 0 {
			sub.t.Errorf("mutating calls: %v", made)
		}
	}
}

func (s *suite) track(sub *suite) {
	sub.each(track, func(table *Table) {
		if len(table.Create) == 0 {
			return
		}
		sub.create(table, sub.thing(table, "tracked"))
		if table.Skip[adopt] != "" || !sub.tables[table.Name].insert {
			return
		}
		o := sub.thing(table, "adopted")
		for _, c := range table.Change[:min(1, len(table.Change))] {
			sub.commands(table, o, c.CLI)
		}
	})
	sub.sync()
	// Once more: moto keeps a network ACL's associations with deleted subnets, and
	// its filter association.subnet-id wants all of a list's subnets to be asked
	// for, so that a listing of subnets shows other lists than a read of one.
	sub.sync()
}

func (s *suite) tracked(sub *suite, table *Table) {
	sub.skips(table, track)
	if table.Listed != "" || len(table.Create) == 0 {
		return
	}
	sub.loaded(table, sub.thing(table, "tracked"))
	if table.Skip[adopt] != "" || !sub.tables[table.Name].insert {
		return
	}
	for _, c := range table.Change[:min(1, len(table.Change))] {
		if len(c.CLI) > 0 && table.Skip[c.Column+" by the CLI"] == "" {
			sub.holds(table, sub.thing(table, "adopted"), c.Column, c.Then)
		}
	}
}

func (s *suite) trackEnd(sub *suite) {
	sub.eachReversed(track, func(table *Table) {
		if len(table.Create) == 0 || table.Skip[deleteByCLI] != "" {
			return
		}
		sub.delete(table, sub.thing(table, "tracked"))
		if table.Skip[adopt] == "" && sub.tables[table.Name].insert {
			sub.delete(table, sub.thing(table, "adopted"))
		}
	})
	sub.sync()
}

func (s *suite) trackedEnd(sub *suite, table *Table) {
	sub.skips(table, track)
	sub.skips(table, deleteByCLI)
	if table.Listed != "" || len(table.Create) == 0 {
		return
	}
	sub.gone(table, sub.thing(table, "tracked"))
	if table.Skip[adopt] == "" && sub.tables[table.Name].insert {
		sub.gone(table, sub.thing(table, "adopted"))
	}
}
