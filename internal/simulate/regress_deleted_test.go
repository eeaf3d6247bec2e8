package simulate

import "testing"

// TestRegressionsOfDeletions plays schedules that once found a violation when a deletion
// was settled, or something was inserted again afterwards.
func TestRegressionsOfDeletions(t *testing.T) {
	for what, s := range map[string]*Schedule{
		"ENFORCE makes anew what depends on what is completed first": {Seed: 95164587, MaxDeletes: 100, Ratio: 0.4,
			Rows: 2, Events: true, Actions: []Action{
				{Do: Cycle, Seed: 18318981731575986476},
				{Do: CloudRemove, A: 61, B: 25, C: 32, D: 4},
				{Do: Rule, Slot: 1, A: 51, B: 1, C: 16, D: 46},
				{Do: Wait, A: 1, B: 63, C: 31, D: 2, For: 600000000000},
				{Do: CloudRemove, A: 40, B: 17, C: 41, D: 51},
				{Do: Preview, Slot: 1, A: 20, B: 32, C: 15, D: 10, Seed: 10193662095989063606},
			}},
		"a secret of a record that TRACK took back, and one inserted under its id without it": {Seed: 91522777,
			MaxDeletes: 100, Ratio: 1, Rows: 3, Events: true, Actions: []Action{
				{Do: Cycle, Seed: 14923925901509578247},
				{Do: Remove, A: 14, B: 21, C: 38, D: 22},
				{Do: Cycle, Seed: 15372425505745741235},
				{Do: Reinsert, Slot: 1, A: 54, B: 42, C: 57, D: 42},
				{Do: Rule, Slot: 1, A: 54, B: 62, D: 19},
				{Do: Cycle, Push: true, Seed: 8225907556091682543},
				{Do: Unrule, Slot: 2, A: 63, B: 5, C: 31, D: 49},
				{Do: Reinsert, A: 50, B: 55, C: 46, D: 21},
			}},
		"what was found a moment ago, deleted and inserted again, and a late read": {Seed: 91296790, Slow: true,
			MaxDeletes: 100, Ratio: 0.4, Events: true, Actions: []Action{
				{Do: CloudCreate, A: 3, B: 40, C: 35, D: 57},
				{Do: Cycle, Seed: 15692552471905781521},
				{Do: CloudEdit, Slot: 2, A: 3, B: 45, C: 48, D: 35},
				{Do: Remove, Slot: 2, A: 3, B: 61, C: 54, D: 57},
				{Do: Cycle, Push: true, Seed: 12020553146183635184, Stale: 0.5, Inject: []Action{
					{Do: Reinsert, At: 10, Slot: 1, A: 3, B: 6, C: 14, D: 33},
				}},
				{Do: Remove, Slot: 1, A: 43, B: 55, C: 59, D: 55},
			}},
		"the same, deleted only": {Seed: 91265926, Slow: true, MaxDeletes: 100, Ratio: 0.4, Events: true,
			Actions: []Action{
				{Do: CloudCreate, Slot: 2, A: 2, B: 36, C: 56, D: 38},
				{Do: Cycle, Seed: 11423477865135170361},
				{Do: Remove, Slot: 1, A: 2, B: 6, C: 40, D: 18},
				{Do: Cycle, Push: true, Seed: 18435648030606889531, Faults: 0.15, Stale: 0.5},
			}},
		"a deletion that takes time, and a late read from before the object was made": {Seed: 91229548, Slow: true,
			MaxDeletes: 100, Ratio: 1, Actions: []Action{
				{Do: Insert, A: 62, B: 49, C: 21, D: 35},
				{Do: Cycle, Seed: 2882185319512087572},
				{Do: Remove, Slot: 2, A: 30, B: 7, C: 58, D: 34},
				{Do: Cycle, Push: true, Seed: 9503468616757066228},
				{Do: Cycle, Seed: 7423166587996157751, Stale: 0.5},
			}},
		"the same, inserted again in a batch that is undone": {Seed: 91209280, Slow: true, MaxDeletes: 100, Ratio: 1,
			Rows: 4, Events: true, Actions: []Action{
				{Do: Cycle, Seed: 12622080650989145186},
				{Do: Edit, Slot: 2, A: 2, B: 5, C: 18, D: 55},
				{Do: Commit, Slot: 2, A: 26, B: 13, C: 23, D: 1},
				{Do: Cycle, Push: true, Seed: 6649923797647812737, Inject: []Action{
					{Do: Remove, At: 10, Slot: 2, Open: true, A: 2, B: 53, C: 11, D: 12},
					{Do: Insert, At: 7, Slot: 2, A: 2, B: 23, C: 51, D: 22},
					{Do: Commit, At: 30, Slot: 2, A: 2, B: 23, C: 46, D: 1},
					{Do: CloudEdit, At: 27, Slot: 2, A: 2, B: 15, C: 45, D: 50},
				}},
				{Do: BatchBegin, Slot: 2},
				{Do: Cycle, Seed: 4300156609821656888, Stale: 0.5},
				{Do: Reinsert, Slot: 2, A: 2, B: 14, C: 42, D: 39},
				{Do: BatchCommit, Slot: 2, A: 7, Seed: 17840513622088707993},
				{Do: BatchRollback, Slot: 2, A: 2, Seed: 2005600657941257646},
			}},
		"a name asked for and given up while its object is going, whose deletion counts as done": {Seed: 42, Slow: true,
			MaxDeletes: 100, Ratio: 1, Actions: []Action{
				{Do: Insert, A: 2, B: 42, C: 9},
				{Do: Cycle, Push: true, Seed: 294},
				{Do: Remove, A: 2, C: 3, D: 42},
				{Do: Cycle, Push: true, Seed: 546, Stale: 0.5},
				{Do: Wait, For: 100000000000},
				{Do: Reinsert, A: 2, C: 2, D: 2},
				{Do: Remove, A: 2, C: 3, D: 4},
				{Do: Cycle, Push: true, Seed: 714},
			}},
		"what names itself, deleted in a batch in vain, which is undone": {Seed: 92231989, MaxDeletes: 1, Ratio: 1,
			Rows: 5, Events: true, Actions: []Action{
				{Do: Cycle, Seed: 2139533887217763330},
				{Do: Insert, A: 1, B: 60, C: 57, D: 63},
				{Do: BatchBegin},
				{Do: Cycle, Seed: 7582933662370227393},
				{Do: Remove, A: 1, B: 63, C: 16, D: 33},
				{Do: BatchCommit, A: 3, Seed: 7731360031618375645, Faults: 0.15},
				{Do: BatchRollback, A: 34, Seed: 752326052663711653},
			}},
		"what a creation in doubt has made, adopted, and deleted in a batch, which TRACK gives back": {Seed: 92054476,
			Slow: true, MaxDeletes: 100, Ratio: 1, Events: true, Actions: []Action{
				{Do: Insert, Slot: 2, A: 3, B: 29, C: 49, D: 51},
				{Do: Cycle, Push: true, Seed: 12147577444315406713},
				{Do: BatchBegin, Slot: 1},
				{Do: Cycle, Seed: 9647440810652322484, Inject: []Action{
					{Do: Adopt, At: 3, A: 3, B: 7, C: 42, D: 5},
				}},
				{Do: BatchBegin, Slot: 2, A: 3, B: 61, C: 54, D: 52, Seed: 3621840639769044076},
				{Do: Remove, Slot: 2, A: 3, B: 53, C: 42, D: 24},
				{Do: Rule, Slot: 2, A: 3, B: 26, C: 1, D: 57},
			}},
	} {
		replay(t, what, s)
	}
}
