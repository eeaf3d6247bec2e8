package simulate

import "testing"

// TestRegressions plays schedules that once found a violation too rare for the
// number of schedules a test run has the time for.
func TestRegressions(t *testing.T) {
	for what, s := range map[string]*Schedule{
		"a reference that is found while a batch is undone": {Seed: 195448, Constrained: true, Slow: true,
			MaxDeletes: 3, Ratio: 1, Rows: 6, Actions: []Action{
				{Do: Cycle, Seed: 1929744203853746817},
				{Do: BatchBegin},
				{Do: Edit, A: 13, B: 13, C: 59, D: 2},
				{Do: BatchCommit, A: 49, Seed: 8700060797962206227, Inject: []Action{
					{Do: Kill, At: 8},
				}},
				{Do: BatchRollback, A: 47, Seed: 18268443393943581577},
			}},
		"a creation in doubt of an object that a batch has adopted and deleted, and a rollback": {Seed: 256295,
			Constrained: false, Slow: false, MaxDeletes: 100, Ratio: 0.4, Rows: 5, Actions: []Action{
				{Do: Cycle, Seed: 11052230999416700449},
				{Do: BatchBegin, Slot: 1},
				{Do: Insert, Slot: 2, A: 41, B: 16, C: 38, D: 43},
				{Do: Insert, Slot: 1, A: 1, B: 56, C: 22, D: 54},
				{Do: BatchCommit, Slot: 1, A: 5, Seed: 9252710810325113585, Faults: 0.3},
				{Do: BatchRollback, Slot: 1, A: 4, Seed: 11493682632027202444},
				{Do: Cycle, Seed: 14036640845443187757, Faults: 0.3, Stale: 0.5},
				{Do: Adopt, Slot: 2, A: 1, B: 9, C: 57, D: 24},
				{Do: BatchBegin, Slot: 2},
				{Do: Remove, Slot: 2, A: 1, B: 49, C: 59, D: 45},
			}},
		"a stale read of a reference, to what another record stands for by now": {Seed: 399550, Constrained: false,
			Slow: true, MaxDeletes: 1, Ratio: 1, Rows: 6, Actions: []Action{
				{Do: Cycle, Seed: 15387234588166971572},
				{Do: Edit, Slot: 1, A: 1, B: 37, C: 28, D: 57},
				{Do: Cycle, Seed: 5909044350532101809, Inject: []Action{
					{Do: Insert, At: 8, A: 1, B: 41, D: 49},
				}},
				{Do: Rule, Slot: 1, A: 1, B: 40, C: 31, D: 10},
				{Do: Remove, A: 1, B: 32, C: 34, D: 3},
				{Do: Remove, A: 1, B: 44, C: 60, D: 31},
				{Do: Adopt, Slot: 2, A: 1, B: 21, C: 57, D: 47},
				{Do: Cycle, Push: true, Seed: 17401580456352127912, Inject: []Action{
					{Do: Cycle, At: 7, Seed: 655731996345788689, Faults: 0.15, Stale: 0.5, Inject: []Action{
						{Do: Wake, At: 12},
						{Do: Insert, At: 8, Slot: 1, A: 5, B: 50, C: 35, D: 51},
					}},
				}},
			}},
		"a pause of a record whose object was made anew": {Seed: 885394, Constrained: false, Slow: true,
			MaxDeletes: 100, Ratio: 1, Rows: 2, Actions: []Action{
				{Do: Cycle, Seed: 11630424854833567873},
				{Do: Rule, A: 1, B: 5, C: 57, D: 29},
				{Do: Insert, Slot: 2, Open: true, A: 46, B: 19, C: 9, D: 11},
				{Do: Insert, Slot: 2, A: 1, B: 48, C: 63, D: 32},
				{Do: CloudRemove, A: 1, B: 62, C: 17, D: 59},
				{Do: Wait, Slot: 1, A: 1, B: 54, C: 48, D: 25, For: 600000000000},
				{Do: Cycle, Seed: 14970274808786055193},
				{Do: Rule, Slot: 1, A: 1, B: 7, C: 30, D: 46},
			}},
		"a record that is inserted again while its object is being deleted": {Seed: 905756, Constrained: false,
			Slow: true, MaxDeletes: 100, Ratio: 0.4, Rows: 0, Actions: []Action{
				{Do: Insert, Slot: 2, B: 19, C: 56, D: 61},
				{Do: Insert, A: 30, B: 56, C: 26, D: 3},
				{Do: Cycle, Seed: 6822072743473723958, Stale: 0.1, Inject: []Action{
					{Do: Remove, At: 18, B: 27, C: 49, D: 45},
					{Do: CloudCreate, At: 2, A: 42, B: 62, D: 63},
					{Do: Wake, At: 2},
				}},
				{Do: Reinsert, Slot: 1, B: 33, C: 49, D: 52},
				{Do: Cycle, Push: true, Seed: 8728924364436080334},
			}},
		"a deletion that is undone before it was begun, of what refers to itself": {Seed: 149530, Constrained: false,
			Slow: true, MaxDeletes: 100, Ratio: 1, Rows: 2, Actions: []Action{
				{Do: Cycle, Seed: 12256694284488619583},
				{Do: Edit, Slot: 2, A: 1, B: 49, C: 25, D: 47},
				{Do: BatchBegin, A: 1, B: 48, D: 38, Seed: 6987114000156387571},
				{Do: Remove, A: 1, B: 20, C: 34, D: 11},
				{Do: BatchCommit, A: 60, Seed: 10148646938017655273, Inject: []Action{
					{Do: Kill, At: 6},
				}},
				{Do: BatchRollback, A: 4, Seed: 4183903202342427203},
			}},
		"a batch that adopts what a replacement has left to be deleted": {Seed: 103832, Constrained: false, Slow: true,
			MaxDeletes: 100, Ratio: 1, Rows: 2, Actions: []Action{
				{Do: Cycle, Seed: 14191419331569952169},
				{Do: Edit, Slot: 2, B: 35, C: 9, D: 18},
				{Do: Cycle, Push: true, Seed: 14929885569486536688},
				{Do: BatchBegin, Slot: 2, B: 10, C: 19, D: 5, Seed: 17531409104278645980},
				{Do: Adopt, Slot: 2, B: 60, C: 57, D: 46},
			}},
		"a creation in doubt, and a pause": {Seed: 30512, Constrained: false, Slow: true, MaxDeletes: 100, Ratio: 1,
			Rows: 0, Actions: []Action{
				{Do: Cycle, Seed: 17655868993286827177},
				{Do: Cycle, Seed: 8103519835777318342, Inject: []Action{
					{Do: Cycle, At: 26, Seed: 12855306835781760165, Inject: []Action{
						{Do: Insert, At: 5, A: 3, B: 34, D: 59},
						{Do: KillAfter, At: 13},
					}},
				}},
				{Do: Rule, Slot: 2, A: 3, B: 31, C: 36, D: 37},
			}},
		"a creation in doubt of a paused record, and an object that somebody else has made": {Seed: 141182,
			Constrained: false, Slow: true, MaxDeletes: 100, Ratio: 1, Rows: 1, Actions: []Action{
				{Do: Cycle, Seed: 18065686363589601042},
				{Do: CloudCreate, Slot: 1, A: 41, B: 42, C: 37, D: 16},
				{Do: CloudCreate, Slot: 2, A: 3, B: 9, C: 25, D: 44},
				{Do: Insert, Slot: 2, A: 3, B: 15, C: 35},
				{Do: Cycle, Seed: 17911799599242178373, Faults: 0.3, Inject: []Action{
					{Do: Protect, At: 1, A: 33, B: 13, C: 12, D: 25},
				}},
				{Do: Rule, Slot: 1, A: 3, B: 51, C: 50, D: 33},
			}},
		"a batch that is undone, of which one record has taken over the object of another": {Seed: 8969,
			Constrained: false, Slow: false, MaxDeletes: 2, Ratio: 1, Rows: 3, Actions: []Action{
				{Do: Cycle, Seed: 12894307696758451726},
				{Do: BatchBegin, Slot: 1, A: 2, B: 62, C: 29, D: 4, Seed: 13005116588593717430},
				{Do: Edit, Slot: 1, A: 2, B: 32, C: 48, D: 42},
				{Do: Insert, Slot: 1, A: 2, B: 1, D: 57},
				{Do: BatchCommit, Slot: 1, A: 2, B: 15, C: 23, D: 49, Seed: 9415793215561350268},
			}},
		"a read that does not show what was found a moment ago, under ENFORCE": {Seed: 780367, Constrained: false,
			Slow: false, MaxDeletes: 100, Ratio: 1, Rows: 5, Actions: []Action{
				{Do: Cycle, Seed: 256819695308324561},
				{Do: Insert, Slot: 2, A: 1, B: 28, C: 40, D: 13},
				{Do: CloudCreate, Slot: 1, A: 29, B: 6, C: 38, D: 17},
				{Do: Cycle, Seed: 609805972097771118, Stale: 0.5, Inject: []Action{
					{Do: Wake, At: 11},
				}},
				{Do: Edit, Slot: 2, A: 1, B: 45, C: 40, D: 57},
				{Do: Cycle, Push: true, Seed: 8045288683958465822, Stale: 0.5, Inject: []Action{
					{Do: Remove, At: 24, A: 1, B: 15, C: 35, D: 24},
					{Do: Rule, At: 3, A: 1, B: 49, C: 20, D: 14},
				}},
			}},
		"a name given to another record, which is deleted before it has taken the object over": {Seed: 385128,
			Constrained: false, Slow: true, MaxDeletes: 100, Ratio: 1, Rows: 0, Actions: []Action{
				{Do: Cycle, Seed: 8633774662510729017},
				{Do: Insert, Slot: 2, A: 2, B: 27, C: 34, D: 32},
				{Do: Edit, Slot: 2, A: 2, B: 14, C: 51, D: 57},
				{Do: Cycle, Seed: 16958752925181822323, Faults: 0.3},
				{Do: Edit, Slot: 2, A: 2, B: 11, C: 48, D: 54},
				{Do: Insert, Slot: 1, A: 2, B: 55, C: 9, D: 18},
				{Do: Cycle, Push: true, Seed: 2895458235387149949, Faults: 0.3},
				{Do: Remove, Slot: 2, A: 2, B: 39, C: 26, D: 35},
				{Do: Remove, Slot: 2, A: 2, B: 3, C: 58, D: 24},
			}},
		"a reference to what a user adopted and moved to another region": {Seed: 987240, Constrained: true, Slow: true,
			MaxDeletes: 100, Ratio: 1, Rows: 2, Actions: []Action{
				{Do: Cycle, Seed: 3173723430570069485},
				{Do: Edit, Slot: 1, B: 44, C: 35, D: 27},
				{Do: Cycle, Seed: 18394035772539815769},
				{Do: Adopt, B: 60, C: 17, D: 49},
				{Do: Cycle, Seed: 3071553191408455407},
				{Do: Edit, Slot: 1, B: 21, C: 31, D: 61},
			}},
		"a name asked for again while its object is being deleted": {Seed: 698642, Constrained: false, Slow: true,
			MaxDeletes: 1, Ratio: 1, Rows: 3, Actions: []Action{
				{Do: Cycle, Seed: 12116934291481795724},
				{Do: Remove, Slot: 1, A: 29, B: 51, C: 40, D: 19},
				{Do: Insert, A: 50, B: 52, C: 25, D: 46},
				{Do: Remove, Slot: 2, A: 4, B: 25, C: 32, D: 3},
				{Do: Insert, A: 2, B: 45, C: 24, D: 39},
				{Do: Remove, Slot: 1, A: 2, B: 61, C: 47, D: 12},
				{Do: Insert, Slot: 2, A: 2, B: 22, C: 1, D: 23},
				{Do: Cycle, Seed: 3718507324559759059},
				{Do: Remove, Slot: 2, A: 2, B: 25, C: 54, D: 22},
				{Do: Cycle, Push: true, Seed: 9144917662077991973, Inject: []Action{
					{Do: Edit, At: 7, Slot: 2, A: 6, B: 44, C: 4, D: 45},
				}},
				{Do: Insert, Slot: 2, A: 2, B: 61, C: 33, D: 29},
				{Do: Cycle, Seed: 10462170948172273700, Inject: []Action{
					{Do: Remove, At: 24, Slot: 2, A: 2, B: 38, C: 31, D: 27},
					{Do: Insert, At: 4, Slot: 1, A: 2, B: 18, C: 45, D: 63},
					{Do: Wake, At: 9},
				}},
			}},
		"a secret that TRACK has given up, and a rule that goes": {Seed: 783099, Constrained: false, Slow: false,
			MaxDeletes: 100, Ratio: 1, Rows: 0, Actions: []Action{
				{Do: Insert, Slot: 1, A: 38, B: 47, C: 53, D: 40},
				{Do: Edit, Slot: 2, A: 2, B: 34, C: 1, D: 53},
				{Do: Cycle, Seed: 13538608869641815295},
				{Do: Edit, Slot: 1, A: 2, B: 40, C: 30, D: 29},
				{Do: Rule, Slot: 2, A: 34, B: 23, C: 45, D: 10},
				{Do: Cycle, Push: true, Seed: 7911033301284931319},
				{Do: Unrule, Slot: 2, A: 2, B: 43, C: 9, D: 29},
				{Do: Edit, Slot: 1, A: 2, B: 49, C: 25, D: 15},
			}},
		"what went along with an object that was deleted late": {Seed: 568275, Constrained: false, Slow: false,
			MaxDeletes: 100, Ratio: 1, Rows: 2, Actions: []Action{
				{Do: Cycle, Seed: 8845428362353343801},
				{Do: Insert, Slot: 1, A: 1, B: 19, C: 10, D: 37},
				{Do: Policy, A: 42, B: 60, C: 46, D: 37},
				{Do: Edit, Slot: 1, A: 1, B: 62, C: 48, D: 25},
				{Do: Insert, A: 1, B: 5, C: 49, D: 54},
				{Do: Cycle, Push: true, Seed: 4248889801165234101},
				{Do: CloudCreate, Slot: 2, A: 1, B: 57, C: 51, D: 14},
				{Do: Edit, Slot: 1, A: 1, C: 9, D: 47},
				{Do: CloudRemove, Slot: 2, A: 1, B: 58, C: 58, D: 42},
				{Do: Remove, Slot: 1, A: 1, B: 37, C: 54, D: 18},
			}},
		"a push within a listing, whose end the database does not get to know": {Seed: 674393, Constrained: false,
			MaxDeletes: 100, Ratio: 1, Rows: 1, Actions: []Action{
				{Do: Insert, Slot: 2, A: 47, B: 1, C: 40, D: 50},
				{Do: Insert, Slot: 2, A: 60, B: 39, C: 48, D: 31},
				{Do: Cycle, Seed: 14670191882838651263, Inject: []Action{
					{Do: Wake, At: 4},
					{Do: Hiccup, At: 23},
				}},
			}},
		"a page read before a push that took longer than the window": {Seed: 90044044, Constrained: false,
			MaxDeletes: 100, Ratio: 1, Rows: 1, Actions: []Action{
				{Do: Cycle, Seed: 15188981727358025809},
				{Do: Edit, Slot: 1, A: 56, B: 44, C: 30, D: 36},
				{Do: Cycle, Seed: 7348732775398481421},
				{Do: Cycle, Seed: 16424297143071093733, Stale: 0.1, Inject: []Action{
					{Do: Wait, At: 10, Slot: 1, A: 32, B: 47, C: 14, D: 52, For: 61000000000},
					{Do: Wake, At: 9},
				}},
			}},
		"what is in an object that was taken over from a deleted record, and replaced": {Seed: 2761382,
			Constrained: false, MaxDeletes: 100, Ratio: 1, Rows: 3, Actions: []Action{
				{Do: Cycle, Push: true, Seed: 12287501193135712885, Inject: []Action{
					{Do: Insert, At: 3, Slot: 2, A: 28, B: 63, C: 57, D: 12},
					{Do: Edit, At: 4, Slot: 2, A: 56, B: 45, C: 55, D: 59},
				}},
				{Do: Remove, Slot: 2, A: 52, B: 34, C: 47, D: 7},
				{Do: CloudCreate, Slot: 1, A: 5, B: 19, C: 52, D: 40},
				{Do: Adopt, Slot: 1, A: 40, B: 33, C: 1, D: 30},
				{Do: Cycle, Seed: 11532009553449419762, Faults: 0.15, Inject: []Action{
					{Do: Wake, At: 21},
				}},
			}},
		"a lost creation, found after its record was settled": &Schedule{Seed: 178569, Constrained: false,
			MaxDeletes: 100, Ratio: 1, Rows: 1, Actions: []Action{
				{Do: Cycle, Seed: 4142137398982127495, Faults: 0.05, Stale: 0.5, Inject: []Action{
					{Do: CloudCreate, At: 6, A: 2, B: 56, C: 46, D: 18},
				}},
				{Do: Insert, Slot: 2, A: 2, B: 32, C: 26, D: 1},
				{Do: Cycle, Seed: 17972810622807256722, Stale: 0.5},
				{Do: Cycle, Seed: 8361407499929825261, Faults: 0.05, Stale: 0.5, Region: "r1"},
				{Do: CloudEdit, Slot: 2, A: 2, B: 38, C: 45},
			}},
		"the same, with a newer change pending": &Schedule{Seed: 435325, Constrained: false, MaxDeletes: 100, Ratio: 1,
			Rows: 0, Actions: []Action{
				{Do: Insert, Slot: 2, A: 2, B: 6, C: 38, D: 31},
				{Do: Cycle, Seed: 16613080743953051092, Stale: 0.5, Inject: []Action{
					{Do: Insert, At: 6, A: 2, B: 33, C: 22, D: 4},
					{Do: CloudCreate, At: 12, A: 43, B: 3, C: 62, D: 34},
					{Do: CloudCreate, At: 1, A: 2, B: 12, C: 22, D: 32},
					{Do: Insert, At: 3, Slot: 2, A: 2, B: 6, C: 5, D: 16},
				}},
				{Do: Cycle, Push: true, Seed: 15456214072048560848, Stale: 0.5, Inject: []Action{
					{Do: Wait, At: 4, Slot: 2, A: 2, B: 55, C: 43, D: 32, For: 1000000000},
				}},
				{Do: CloudEdit, Slot: 2, A: 2, B: 9, C: 55, D: 40},
			}},
		"a name taken by somebody else, under ENFORCE": &Schedule{Seed: 107626, Constrained: false, MaxDeletes: 100,
			Ratio: 1, Rows: 3, Actions: []Action{
				{Do: Cycle, Seed: 5548765872382380426},
				{Do: Rule, Slot: 1, A: 2, B: 13, C: 22, D: 30},
				{Do: CloudCreate, Slot: 1, A: 2, B: 39, C: 49, D: 60},
				{Do: CloudRemove, A: 2, B: 16, C: 35, D: 41},
				{Do: Edit, Slot: 2, A: 2, B: 56, C: 55, D: 45},
			}},
		"a rename to a name that somebody took meanwhile, and a secret": {Seed: 7076004, Constrained: true,
			MaxDeletes: 100, Ratio: 0.4, Rows: 3, Actions: []Action{
				{Do: Cycle, Seed: 9982331501042345862},
				{Do: Edit, Slot: 2, A: 2, B: 20, C: 55, D: 45},
				{Do: CloudCreate, A: 2, B: 23, C: 27, D: 43},
				{Do: Cycle, Seed: 15116989586692674619, Inject: []Action{
					{Do: Cycle, At: 2, Seed: 14540798984992375468, Faults: 0.3},
				}},
			}},
		"what follows what follows a replacement, after a failed listing": {Seed: 20046247, Constrained: false,
			MaxDeletes: 100, Ratio: 1, Rows: 3, Actions: []Action{
				{Do: Cycle, Seed: 953240775273879429},
				{Do: CloudCreate, Slot: 1, A: 21, B: 13, C: 26, D: 27},
				{Do: Edit, A: 38, B: 16, C: 10, D: 28},
				{Do: Cycle, Seed: 1718865014360324590, Faults: 0.15},
				{Do: Edit, Slot: 1, A: 16, B: 7, C: 29, D: 39},
				{Do: Cycle, Seed: 10817210772423035413, Faults: 0.15, Stale: 0.5},
			}},
		"a name asked for last by a record that met an object, and taken by somebody": {Seed: 30519162, MaxDeletes: 100,
			Ratio: 0.4, Rows: 3, Actions: []Action{
				{Do: Insert, A: 2, B: 5, C: 3, D: 60},
				{Do: Edit, Slot: 1, Open: true, A: 2, B: 55, C: 20, D: 45},
				{Do: Cycle, Push: true, Seed: 9248442701447079167, Inject: []Action{
					{Do: Remove, At: 7, Slot: 1, A: 2, B: 13, C: 33, D: 14},
				}},
				{Do: CloudCreate, Slot: 1, A: 2, B: 5, C: 12, D: 26},
			}},
		"a reference to what somebody else has adopted, by a state that is out of date": {Seed: 30659815,
			MaxDeletes: 100, Ratio: 1, Rows: 5, Actions: []Action{
				{Do: Cycle, Seed: 90734585960885308},
				{Do: Remove, Slot: 2, A: 1, B: 2, C: 5, D: 35},
				{Do: CloudCreate, Slot: 1, A: 1, B: 37, C: 38, D: 62},
				{Do: Cycle, Seed: 1997644822854868640, Faults: 0.3},
				{Do: Cycle, Seed: 11951652717803659296, Faults: 0.3, Inject: []Action{
					{Do: Insert, At: 5, Slot: 2, A: 1, B: 31, D: 40},
				}},
				{Do: Edit, A: 1, B: 49, C: 48, D: 20},
				{Do: Insert, Slot: 2, A: 57, B: 35, C: 12, D: 60},
				{Do: Insert, Open: true, A: 1, B: 15, C: 60, D: 49},
				{Do: Cycle, Seed: 3085563958965969145, Faults: 0.3},
				{Do: Adopt, Slot: 2, Open: true, A: 1, B: 35, C: 49, D: 10},
				{Do: Cycle, Push: true, Seed: 2986189951878005341, Faults: 0.3, Inject: []Action{
					{Do: Rule, At: 6, A: 1, B: 11, C: 42, D: 62},
				}},
			}},
		"a creation that waits for its turn for longer than its effect is looked for": {Seed: 40620128, MaxDeletes: 100,
			Ratio: 1, Rows: 1, Actions: []Action{
				{Do: Cycle, Seed: 11823851717772451799, Inject: []Action{
					{Do: Insert, At: 6, Slot: 1, A: 42, C: 56, D: 45},
				}},
				{Do: Retry, A: 1, B: 41, C: 53, D: 62},
				{Do: Cycle, Push: true, Seed: 5009275975555094581, Faults: 0.3, Inject: []Action{
					{Do: Insert, At: 1, Slot: 1, A: 1, B: 34, C: 60, D: 19},
					{Do: Wait, At: 13, Slot: 1, A: 1, B: 26, C: 37, D: 22, For: 600000000000},
				}},
				{Do: Cycle, Seed: 14430461234229238286, Faults: 0.3, Stale: 0.5},
			}},
		"a stale read of a reference to what had no record, and has one": {Seed: 50097972, MaxDeletes: 1, Ratio: 1,
			Rows: 6, Actions: []Action{
				{Do: Cycle, Seed: 9146608365746738059},
				{Do: Cycle, Seed: 11213626998559618125, Inject: []Action{
					{Do: Edit, At: 18, Slot: 1, A: 1, B: 43, C: 49, D: 46},
					{Do: Remove, At: 11, A: 17, B: 42, C: 63, D: 63},
				}},
				{Do: Reinsert, Slot: 1, A: 1, B: 18, C: 42},
				{Do: Cycle, Seed: 15595579770703948831, Stale: 0.5},
			}},
		"what a record names is adopted in the middle of a pass": {Seed: 50233156, Constrained: true, MaxDeletes: 100,
			Ratio: 1, Rows: 5, Actions: []Action{
				{Do: Cycle, Seed: 15638830134174009892},
				{Do: Cycle, Seed: 9953720616869680189, Inject: []Action{
					{Do: Remove, At: 27, Slot: 1, A: 13, B: 59, C: 52, D: 28},
					{Do: Insert, At: 10, Open: true, A: 21, B: 4, C: 32, D: 49},
				}},
				{Do: Insert, Slot: 2, A: 37, B: 39, C: 15, D: 10},
				{Do: Insert, Slot: 1, Open: true, A: 17, B: 23, C: 39, D: 23},
				{Do: Cycle, Seed: 8067080005999552695, Stale: 0.1},
				{Do: Commit, A: 1, B: 16, C: 58, D: 39},
				{Do: Edit, Slot: 1, A: 5, C: 8, D: 34},
				{Do: CloudEdit, A: 17, B: 30, C: 48, D: 19},
				{Do: Cycle, Push: true, Seed: 14028385815251032169, Inject: []Action{
					{Do: Adopt, At: 25, A: 1, B: 46, C: 31, D: 48},
				}},
			}},
		"an event tells of a deletion while a listing fails": {Seed: 538877, MaxDeletes: 100, Ratio: 0.4, Rows: 3,
			Events: true, Actions: []Action{
				{Do: Cycle, Seed: 11824369504490383899},
				{Do: Cycle, Seed: 11181391242515871688, Faults: 0.3, Inject: []Action{
					{Do: CloudRemove, At: 7, A: 2, B: 22, C: 39, D: 42},
					{Do: Wake, At: 7},
				}},
			}},
		"a creation made again after somebody has adopted what it made": {Seed: 50372625, MaxDeletes: 100, Ratio: 1,
			Rows: 4, Actions: []Action{
				{Do: Cycle, Seed: 1092802513240453555},
				{Do: Insert, Slot: 1, A: 3, B: 22, C: 54, D: 22},
				{Do: Remove, Slot: 2, A: 3, B: 6, C: 39, D: 59},
				{Do: Cycle, Seed: 2615530622967408710, Faults: 0.15, Stale: 0.1, Inject: []Action{
					{Do: Insert, At: 24, Slot: 2, A: 3, B: 31, C: 21, D: 49},
				}},
				{Do: Insert, Slot: 2, A: 3, B: 5, C: 11, D: 22},
				{Do: Wait, Slot: 2, A: 11, B: 16, C: 43, D: 14, For: 61000000000},
				{Do: Adopt, Slot: 2, A: 3, B: 48, C: 37, D: 62},
				{Do: Cycle, Seed: 1985806179055940797, Faults: 0.15, Stale: 0.1},
				{Do: Cycle, Seed: 533787327654158564},
				{Do: CloudRemove, Slot: 2, A: 3, B: 26, C: 4, D: 21},
				{Do: CloudCreate, Slot: 1, A: 28, B: 40, C: 12, D: 9},
				{Do: Cycle, Seed: 13271835368726066051, Faults: 0.15, Stale: 0.1},
			}},
		"an object found for a record of a batch, which has deleted the record that stands for it": {Seed: 382067,
			Constrained: true, MaxDeletes: 100, Ratio: 1, Events: true, Actions: []Action{
				{Do: Insert, Slot: 1, A: 3, B: 61, C: 33, D: 45},
				{Do: Cycle, Seed: 3962694495463974776},
				{Do: Adopt, A: 3, B: 54, C: 36, D: 55},
				{Do: BatchBegin, Slot: 1},
				{Do: Edit, Slot: 1, A: 3, B: 56, C: 19, D: 28},
				{Do: Remove, Slot: 1, A: 3, B: 25, C: 62, D: 18},
			}},
		"a name given up and taken, with a conflict resolved": &Schedule{Seed: 206469, Constrained: true,
			MaxDeletes: 100, Ratio: 1, Rows: 3, Actions: []Action{
				{Do: Cycle, Seed: 10647402059139540407},
				{Do: Edit, Slot: 1, A: 6, B: 36, C: 59, D: 15},
				{Do: Cycle, Seed: 1265247362589898462, Inject: []Action{
					{Do: Insert, At: 12, Slot: 2, A: 2, B: 8, C: 37, D: 12},
				}},
				{Do: CloudCreate, A: 2, B: 21, C: 19, D: 21},
				{Do: Resolve, Slot: 1, A: 2, B: 4, C: 27, D: 62},
			}},
		"a creation in doubt whose record is tracked, and untracked again": {Seed: 90580083, MaxDeletes: 3, Ratio: 1,
			Actions: []Action{
				{Do: Insert, A: 3, B: 13, C: 51, D: 25},
				{Do: Cycle, Seed: 16506856100869421823, Inject: []Action{
					{Do: Wake, At: 9},
					{Do: Cycle, At: 18, Seed: 2367442473843395519, Inject: []Action{
						{Do: Rule, At: 23, Slot: 2, A: 3, B: 40, C: 11, D: 44},
						{Do: Rule, At: 2, Slot: 2, A: 3, B: 35, C: 42, D: 19},
					}},
				}},
				{Do: Unrule, Slot: 1, A: 3, B: 24, C: 25, D: 18},
				{Do: Wait, A: 3, B: 30, C: 20, D: 7, For: 600000000000},
				{Do: Cycle, Push: true, Seed: 10582449763439752846, Inject: []Action{
					{Do: KillAfter, At: 8},
				}},
				{Do: Unrule, Slot: 2, A: 3, B: 61, C: 60, D: 55},
			}},
		"replacing creations that are refused for what they name, which destroy nothing": {Seed: 51621,
			Constrained: false, MaxDeletes: 2, Ratio: 1, Rows: 5, Actions: []Action{
				{Do: Cycle, Seed: 17975214311732902126},
				{Do: CloudRemove, Slot: 2, A: 32, B: 17, C: 56, D: 51},
				{Do: Cycle, Seed: 17573807212059273600, Inject: []Action{
					{Do: Remove, At: 8, Slot: 1, A: 30, B: 40, C: 3, D: 2},
					{Do: Insert, At: 29, Slot: 1, A: 15, B: 11, C: 1, D: 60},
					{Do: Edit, At: 5, Slot: 2, A: 25, B: 42, C: 3, D: 19},
					{Do: Wake, At: 5},
				}},
			}},
		"replacing creations that are refused for their values, which destroy nothing": {Seed: 77702,
			Constrained: false, MaxDeletes: 2, Ratio: 1, Rows: 6, Actions: []Action{
				{Do: Cycle, Seed: 1270274506885489890},
				{Do: Edit, A: 32, B: 42, C: 26, D: 51},
				{Do: Cycle, Seed: 15938813981950193772},
				{Do: Edit, Slot: 2, A: 8, B: 51, C: 13, D: 52},
				{Do: Cycle, Seed: 5031532929071672676, Inject: []Action{
					{Do: Remove, At: 28, Slot: 2, A: 59, B: 46, C: 42, D: 21},
					{Do: Edit, At: 46, Slot: 2, A: 12, B: 35, C: 29, D: 13},
				}},
			}},
		"an object adopted while another record's creation of it is in doubt, whose fixed values differ": {Seed: 2192511, MaxDeletes: 100, Ratio: 1, Actions: []Action{
			{Do: Insert, Slot: 2, A: 28, B: 20, C: 5, D: 42},
			{Do: Cycle, Seed: 5913986447421931845, Faults: 0.3},
			{Do: Edit, Slot: 1, A: 4, B: 20, C: 15, D: 5},
			{Do: Adopt, A: 60, B: 57, C: 9, D: 55},
			{Do: Cycle, Seed: 9325577885165172151, Inject: []Action{
				{Do: Kill, At: 23},
			}},
			{Do: Insert, Slot: 1, Open: true, A: 29, B: 55, C: 17, D: 15},
			{Do: Cycle, Seed: 8000955377336640650, Faults: 0.3},
			{Do: CloudRemove, A: 32, B: 1, C: 51, D: 41},
		}},
		"the same, deleted in a batch under PAUSE, which is undone": {Seed: 41341, Constrained: true, MaxDeletes: 100,
			Ratio: 1, Actions: []Action{
				{Do: Insert, Slot: 2, A: 51, B: 1, C: 40, D: 23},
				{Do: Cycle, Seed: 7944873904821024892},
				{Do: Adopt, A: 59, B: 42, C: 21, D: 16},
				{Do: BatchBegin, Slot: 2},
				{Do: Rule, A: 25, B: 47, C: 56, D: 50},
				{Do: BatchBegin},
				{Do: Edit, A: 35, B: 52, C: 11, D: 10},
				{Do: Insert, Slot: 2, A: 39, B: 12, C: 37, D: 19},
				{Do: Remove, A: 11, B: 52, C: 16, D: 54},
			}},
		"the same, deleted in a batch that the other record is none of": {Seed: 21136909, MaxDeletes: 100, Ratio: 0.4,
			Rows: 1, Events: true, Actions: []Action{
				{Do: Cycle, Seed: 4013606090808987480},
				{Do: Insert, Slot: 2, A: 1, B: 27, C: 55, D: 51},
				{Do: Cycle, Seed: 9877690966332333240, Faults: 0.3, Stale: 0.5},
				{Do: Insert, Slot: 2, A: 1, B: 4, C: 12, D: 40},
				{Do: Insert, A: 1, B: 1, C: 28, D: 10},
				{Do: Adopt, Slot: 1, A: 1, B: 30, C: 6, D: 49},
				{Do: BatchBegin},
				{Do: Remove, A: 1, B: 27, C: 39, D: 10},
				{Do: Edit, A: 1, B: 20, C: 39, D: 33},
				{Do: BatchCommit, A: 1, B: 7, C: 23, D: 40, Seed: 13967779563858359639},
			}},
		"what a creation in doubt has made, adopted, deleted and inserted again, and a late read": {Seed: 21259725,
			MaxDeletes: 100, Ratio: 1, Events: true, Actions: []Action{
				{Do: Insert, Slot: 2, A: 3, B: 49, C: 36, D: 34},
				{Do: Cycle, Push: true, Seed: 135004902915850407},
				{Do: Adopt, Slot: 2, A: 3, B: 14, C: 40, D: 8},
				{Do: Cycle, Seed: 5598649143677710700},
				{Do: Remove, A: 3, B: 28, C: 7, D: 8},
				{Do: Remove, Slot: 1, A: 27, B: 6, C: 4, D: 33},
				{Do: Reinsert, Slot: 1, A: 3, B: 62, C: 35, D: 39},
				{Do: Cycle, Seed: 12979445685204514395, Stale: 0.5},
			}},
		"what names itself, deleted in a batch that is undone after it began to be deleted": {Seed: 21214013,
			MaxDeletes: 1, Ratio: 1, Rows: 6, Events: true, Actions: []Action{
				{Do: Cycle, Seed: 13784929564060528861},
				{Do: Edit, Slot: 1, A: 1, B: 11, C: 16, D: 9},
				{Do: BatchBegin, Slot: 1},
				{Do: Insert, Slot: 1, A: 1, B: 56, C: 9, D: 62},
				{Do: Remove, Slot: 1, A: 1, B: 40, C: 33, D: 5},
				{Do: BatchCommit, Slot: 1, A: 43, Seed: 1210363391603291703, Inject: []Action{
					{Do: Kill, At: 15},
				}},
				{Do: BatchRollback, Slot: 1, A: 38, Seed: 5941485980046502527},
			}},
		"a replacement with what was pulled a moment before, and a late read": {Seed: 21441589, MaxDeletes: 100,
			Ratio: 1, Rows: 4, Actions: []Action{
				{Do: Cycle, Seed: 11837494957731211558},
				{Do: Cycle, Seed: 11765547792039517072, Faults: 0.05, Stale: 0.5, Inject: []Action{
					{Do: Wake, At: 7},
					{Do: Edit, At: 19, Slot: 2, A: 14, B: 22, C: 43, D: 33},
					{Do: Wake, At: 19},
					{Do: CloudEdit, At: 24, Slot: 2, A: 42, B: 48, C: 51, D: 5},
					{Do: Wake, At: 24},
					{Do: Wake, At: 55},
					{Do: Protect, At: 49, A: 63, B: 25, C: 58, D: 33},
				}},
			}},
		"what a replacement has left to be deleted, taken over and deleted again": {Seed: 5248423, MaxDeletes: 100,
			Ratio: 0.4, Rows: 3, Events: true, Actions: []Action{
				{Do: Cycle, Seed: 2554690333041432403},
				{Do: Edit, Slot: 2, A: 2, B: 29, C: 36},
				{Do: Cycle, Seed: 5490493172519685757, Inject: []Action{
					{Do: Remove, At: 29, A: 2, B: 49, C: 38, D: 38},
					{Do: Adopt, At: 21, Slot: 1, A: 2, B: 46, C: 39, D: 58},
				}},
			}},
		"the same, which is gone, under PAUSE": {Seed: 7013504, Slow: true, MaxDeletes: 100, Ratio: 0.4, Rows: 3,
			Events: true, Actions: []Action{
				{Do: Cycle, Seed: 3413504531791500073},
				{Do: Edit, A: 34, B: 47, C: 27, D: 27},
				{Do: Cycle, Seed: 6802459175216767375, Stale: 0.5},
				{Do: Insert, A: 2, C: 54, D: 45},
				{Do: Rule, A: 52, B: 7, C: 16, D: 26},
			}},
		"a paused record whose other values a constraint refuses": {Seed: 7016132, Constrained: true, Slow: true,
			MaxDeletes: 100, Ratio: 1, Rows: 1, Actions: []Action{
				{Do: Cycle, Seed: 4499960769687498159},
				{Do: CloudEdit, Slot: 1, B: 36, C: 62, D: 2},
				{Do: Rule, B: 19, C: 13, D: 6},
				{Do: Edit, Slot: 2, B: 48, C: 26, D: 26},
			}},
	} {
		replay(t, what, s)
	}
}

// replay plays a schedule in which nothing is to be found any more.
func replay(t *testing.T, what string, s *Schedule) {
	t.Run(what, func(t *testing.T) {
		t.Parallel()
		if err := Play(s); err != nil {
			t.Error(err)
		}
	})
}
