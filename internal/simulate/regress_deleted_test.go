package simulate

import "testing"

// TestRegressionsOfDeletions plays schedules that once found a violation when a deletion
// was settled, or something was inserted again afterwards.
func TestRegressionsOfDeletions(t *testing.T) {
	for what, s := range map[string]*Schedule{
		"a secret of a record that TRACK took back, and one inserted under its id without it": {Seed: 91522777, MaxDeletes: 100, Ratio: 1, Rows: 3, Events: true, Actions: []Action{
			{Do: Cycle, Seed: 14923925901509578247},
			{Do: Remove, A: 14, B: 21, C: 38, D: 22},
			{Do: Cycle, Seed: 15372425505745741235},
			{Do: Reinsert, Slot: 1, A: 54, B: 42, C: 57, D: 42},
			{Do: Rule, Slot: 1, A: 54, B: 62, D: 19},
			{Do: Cycle, Push: true, Seed: 8225907556091682543},
			{Do: Unrule, Slot: 2, A: 63, B: 5, C: 31, D: 49},
			{Do: Reinsert, A: 50, B: 55, C: 46, D: 21},
		}},
		"what was found a moment ago, deleted and inserted again, and a late read": {Seed: 91296790, Slow: true, MaxDeletes: 100, Ratio: 0.4, Events: true, Actions: []Action{
			{Do: CloudCreate, A: 3, B: 40, C: 35, D: 57},
			{Do: Cycle, Seed: 15692552471905781521},
			{Do: CloudEdit, Slot: 2, A: 3, B: 45, C: 48, D: 35},
			{Do: Remove, Slot: 2, A: 3, B: 61, C: 54, D: 57},
			{Do: Cycle, Push: true, Seed: 12020553146183635184, Stale: 0.5, Inject: []Action{
				{Do: Reinsert, At: 10, Slot: 1, A: 3, B: 6, C: 14, D: 33},
			}},
			{Do: Remove, Slot: 1, A: 43, B: 55, C: 59, D: 55},
		}},
		"the same, deleted only": {Seed: 91265926, Slow: true, MaxDeletes: 100, Ratio: 0.4, Events: true, Actions: []Action{
			{Do: CloudCreate, Slot: 2, A: 2, B: 36, C: 56, D: 38},
			{Do: Cycle, Seed: 11423477865135170361},
			{Do: Remove, Slot: 1, A: 2, B: 6, C: 40, D: 18},
			{Do: Cycle, Push: true, Seed: 18435648030606889531, Faults: 0.15, Stale: 0.5},
		}},
	} {
		replay(t, what, s)
	}
}
