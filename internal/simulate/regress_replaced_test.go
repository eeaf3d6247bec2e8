package simulate

import "testing"

// TestRegressionsOfReplacements plays schedules that once found a violation about an object
// that was replaced, or about what had been made in its place.
func TestRegressionsOfReplacements(t *testing.T) {
	for what, s := range map[string]*Schedule{
		"a replaced object that was going when a late read proved it absent, and its record is deleted": {Seed: 97959712, Slow: true, MaxDeletes: 100, Ratio: 1, Actions: []Action{
			{Do: Cycle, Seed: 1919882076710348670},
			{Do: CloudEdit, Slot: 1, A: 2, B: 4, C: 5, D: 46},
			{Do: Cycle, Seed: 6918575662209810571},
			{Do: CloudEdit, Slot: 2, A: 14, B: 22, C: 22, D: 41},
			{Do: Cycle, Seed: 16909126858747486217},
			{Do: Insert, Slot: 2, A: 2, B: 27, C: 41, D: 23},
			{Do: Cycle, Push: true, Seed: 17785001508867876150, Stale: 0.5},
			{Do: Edit, Slot: 2, A: 26, B: 53, C: 60, D: 24},
			{Do: Cycle, Push: true, Seed: 12722588206280610639, Stale: 0.5},
			{Do: Cycle, Seed: 15431117646158483649, Stale: 0.5, Inject: []Action{
				{Do: Reinsert, At: 8, Slot: 2, A: 2, B: 24, C: 6, D: 1},
				{Do: Edit, At: 2, A: 2, B: 33, C: 47, D: 14},
			}},
			{Do: Wait, A: 8, B: 19, C: 37, D: 34, For: 61000000000},
			{Do: Cycle, Seed: 17656386757616475482, Inject: []Action{
				{Do: Remove, At: 25, A: 2, B: 28, C: 35, D: 39},
			}},
		}},
		"a batch replaces an object and is undone, and a late read shows the old one": {Seed: 110189519,
			Constrained: true, MaxDeletes: 100, Ratio: 1, Rows: 3, Events: true, Actions: []Action{
				{Do: Cycle, Seed: 13687562389550848055},
				{Do: BatchBegin, Slot: 2},
				{Do: Edit, Slot: 2, A: 22, C: 1, D: 45},
				{Do: BatchCommit, Slot: 2, A: 20, Seed: 6481493135120137741, Inject: []Action{
					{Do: Kill, At: 30},
				}},
				{Do: BatchRollback, Slot: 2, A: 6, Seed: 12499325976651490435, Stale: 0.5},
				{Do: Insert, Slot: 2, A: 26, B: 24, C: 60, D: 23},
				{Do: Remove, Slot: 2, A: 6, B: 15, C: 28, D: 30},
				{Do: BatchBegin, Slot: 1},
				{Do: Edit, Slot: 1, A: 30, B: 41, C: 11, D: 38},
				{Do: BatchCommit, Slot: 1, A: 58, Seed: 10074598757595553226, Inject: []Action{
					{Do: Kill, At: 9},
				}},
				{Do: BatchRollback, Slot: 1, A: 55, Seed: 8141008000281856773},
			}},
		"a record is renamed while nobody knows whether its object was made": {Seed: 110270471, MaxDeletes: 2, Ratio: 1,
			Rows: 4, Actions: []Action{
				{Do: Insert, Slot: 2, A: 6, B: 9, C: 41, D: 30},
				{Do: Cycle, Seed: 517015433587756752, Faults: 0.3, Stale: 0.1, Inject: []Action{
					{Do: Wake, At: 32},
					{Do: Wake, At: 6},
					{Do: Edit, At: 41, A: 38, B: 17, C: 16, D: 21},
				}},
				{Do: Remove, Slot: 2, A: 54, B: 30, C: 44, D: 17},
			}},
		"a replaced object that another record claims, whose own is replaced in turn": {Seed: 110740565,
			MaxDeletes: 100, Ratio: 1, Rows: 2, Actions: []Action{
				{Do: Cycle, Seed: 670485241367966165, Inject: []Action{
					{Do: Hiccup, At: 24},
				}},
				{Do: Edit, Slot: 1, B: 2, C: 21, D: 57},
				{Do: Cycle, Seed: 1611747133683260557, Inject: []Action{
					{Do: Cycle, At: 48, Push: true, Seed: 5983317898617043637},
				}},
				{Do: Adopt, Slot: 2, B: 42, C: 27, D: 54},
				{Do: Insert, Slot: 2, A: 36, B: 34, C: 10, D: 59},
				{Do: Cycle, Push: true, Seed: 11080739177978531802},
				{Do: Edit, B: 22, C: 56, D: 21},
			}},
	} {
		replay(t, what, s)
	}
}
