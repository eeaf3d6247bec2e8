package conformance

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"iasql/internal/test/harness"
	"iasql/internal/test/likeness"
	"iasql/internal/test/testaws"
)

func TestMain(m *testing.M) {
	// moto issues certificates after a minute, all by itself: not in a world that
	// is to be quiet.
	if err := os.Setenv("MOTO_ACM_VALIDATION_WAIT", "3600"); err != nil {
		panic(err)
	}
	// A world waits for its engine, the emulator and the aws command for half the
	// time: twice as many as there are processors keep them busy.
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
			panic(err)
		}
	}
	harness.Main(m)
}

// TestConformance takes the tables of each module through their lives, step by
// step, in a database and an account of their own. Every step is done for all
// tables of the module, and followed by a full cycle that has to find nothing
// left to do.
func TestConformance(t *testing.T) {
	t.Parallel()
	t.Cleanup(func() { summarize(t) })
	for _, m := range described {
		t.Run(m.Name, func(t *testing.T) {
			if !taken(m.Name) {
				t.Skip("takes minutes with all modules: make test-all runs it")
			}
			t.Parallel()
			conform(t, m, *onLikeness)
		})
	}
}

// taken reports whether a module is tested: with -short, as by make test, few stand for all.
func taken(module string) bool {
	return !testing.Short() || module == "aws_sqs" || module == "aws_security_group"
}

// onLikeness has all modules tested on the likeness of AWS: go test ./test/conformance -args -likeness.
var onLikeness = flag.Bool("likeness", false,
	"run before the likeness of AWS, which takes its time and refuses what AWS does")

// TestLikeness takes some modules through the same on the likeness: those in which time
// and refusals make most of a difference.
func TestLikeness(t *testing.T) {
	t.Parallel()
	if *onLikeness {
		return // TestConformance does that
	}
	for _, m := range described {
		if slices.Contains([]string{"aws_sqs", "aws_secrets_manager"}, m.Name) && taken(m.Name) {
			t.Run(m.Name, func(t *testing.T) {
				t.Parallel()
				conform(t, m, true)
			})
		}
	}
}

// conform takes the tables of a module through their lives.
func conform(t *testing.T, m Module, alike bool) {
	s := newSuite(t, m, alike)
	s.t.Run("described", func(t *testing.T) { s.covered(s.with(t)) })
	s.setUp()
	s.step(createBySQL, nil, s.createBySQL, s.createdBySQL)
	s.step(createByCLI, nil, s.createByCLI, s.createdByCLI)
	s.step("change by SQL", nil, s.changeBySQL, s.changedBySQL)
	// Within the window a read that shows what was before the engine's own
	// write is not believed (R13), and the CLI now undoes such writes.
	s.distrust()
	s.step("change by the CLI", nil, s.changeByCLI, s.changedByCLI)
	s.step(replace, nil, s.replace, s.replaced)
	s.step(replace+" by other columns", nil, s.replaceFixed, s.replacedFixed)
	for round := range s.aparts() {
		s.step(fmt.Sprintf("%s apart %d", replace, round+1), nil, s.replaceApart(round), s.replacedApart(round))
		s.step(fmt.Sprintf("%s apart %d to the end", replace, round+1), nil, s.deleteApart(round),
			s.deletedApart(round))
	}
	s.step(deleteBySQL, nil, s.deleteBySQL, s.deletedBySQL)
	s.step(deleteByCLI, nil, s.deleteByCLI, s.deletedByCLI)
	s.step(adopt, nil, s.adopt, s.adopted)
	s.sql(`INSERT INTO iasql_mode (mode) VALUES ('TRACK')`)
	s.step(track, s.tracksNothing, s.track, s.tracked)
	s.step(track+" to the end", s.tracksNothing, s.trackEnd, s.trackedEnd)
	s.step(move, nil, s.move, s.moved)
}

// suite is one module in one world.
type suite struct {
	Module
	t               *testing.T
	account         testaws.Account
	cli             *cli
	calls           *calls
	user, superuser *psql
	vars            map[string]string
	tables          map[string]columns
	things          map[string]map[string]*thing // by table and $n
	dead            map[string]bool              // tables of which a check has failed: what follows would fail too
	alike           bool                         // before the likeness of AWS
	heard           *heard
}

// thing is one object of a table and its record.
type thing struct {
	n, i   string
	id     string
	old    string
	record string
	region string // "" for the world's
}

func newSuite(t *testing.T, m Module, alike bool) *suite {
	w := harness.NewWorld(t)
	if alike {
		w.Endpoint = likeness.Start(t, w.AWS.Endpoint, likeness.AWS(w.AWS.Endpoint, factor)...).URL
	}
	return suiteIn(t, w, m, alike)
}

// suiteIn is the suite of a module in a world that has no engine yet.
func suiteIn(t *testing.T, w *harness.World, m Module, alike bool) *suite {
	t.Helper()
	calls := watch(t, w)
	w.Serve()
	w.Install([]string{"us-east-1"}, append(slices.Clone(m.Also), m.Name)...)
	s := inWorld(t, w, calls)
	s.Module, s.alike = m, alike
	if alike {
		s.admin(fmt.Sprintf(`UPDATE iasql_settings SET value = '%d milliseconds' WHERE name = 'consistency_window'`,
			likeness.Window(factor).Milliseconds()))
	}
	// No cycle but those that are asked for.
	s.admin(`UPDATE iasql_settings SET value = '1 hour' WHERE name = 'sync_interval'`)
	// Of few objects all are deleted in the cloud, and nobody is to be asked about that.
	s.admin(`UPDATE iasql_settings SET value = '1' WHERE name = 'max_delete_ratio'`)
	s.tables = s.describedBySQL(m.Name)
	s.watched(w.AWS)
	return s
}

// inWorld is a suite of no module yet.
func inWorld(t *testing.T, w *harness.World, calls *calls) *suite {
	stranger := testaws.NewAccount(t)
	account, heard := listenIn(t, w.AWS)
	s := &suite{
		t: t, account: w.AWS, heard: heard, cli: &cli{account, stranger}, calls: calls, user: startPSQL(t, w.UserURL),
		superuser: startPSQL(t, w.AdminURL),
		vars:      map[string]string{"account": w.AWS.ID, "stranger": stranger.ID},
		things:    map[string]map[string]*thing{},
		dead:      map[string]bool{},
	}
	s.sql(`SET statement_timeout = '60s'`)
	s.sql(`SET iasql.allow_replace = 'on'`) // also of what holds data
	return s
}

// with returns the suite, reporting to a subtest.
func (s *suite) with(t *testing.T) *suite {
	sub := *s
	sub.t = t
	return &sub
}

// step does something for all tables, looks at the outcome table by table, and
// then asks for a full cycle, which has nothing to do. around watches over it.
func (s *suite) step(name string, around func(*suite) func(), do func(*suite), look func(*suite, *Table)) {
	s.t.Run(name, func(t *testing.T) {
		sub := s.with(t)
		if around != nil {
			defer around(sub)()
		}
		do(sub)
		for i := range s.Tables {
			table := &s.Tables[i]
			t.Run(table.key(), func(t *testing.T) {
				switch {
				case s.dead[table.key()]:
					t.Skip("an earlier step has failed")
				case table.Missing != "":
					t.Skip(table.Missing)
				}
				defer func() {
					if t.Failed() {
						s.dead[table.key()] = true
					}
				}()
				look(s.with(t), table)
			})
		}
		t.Run("fixpoint", func(t *testing.T) { s.with(t).fixpoint() })
	})
}

// skips skips the running check if the description says why.
func (s *suite) skips(table *Table, check string) {
	if why := table.Skip[check]; why != "" {
		s.t.Skip(why)
	}
}

// each calls do for the tables that take part in a step.
func (s *suite) each(check string, do func(*Table)) {
	for i := range s.Tables {
		if table := &s.Tables[i]; !s.dead[table.key()] && table.Listed == "" && table.Missing == "" &&
			table.Skip[check] == "" {
			do(table)
		}
	}
}

func (s *suite) eachReversed(check string, do func(*Table)) {
	var tables []*Table
	s.each(check, func(table *Table) { tables = append(tables, table) })
	slices.Reverse(tables)
	for _, table := range tables {
		do(table)
	}
}

func (s *suite) setUp() {
	s.t.Helper()
	for _, command := range s.Module.CLI {
		s.must(s.expand(command, nil, nil))
	}
	if len(s.Setup) > 0 {
		for _, statement := range s.Setup {
			s.sql(s.expand(statement, nil, nil))
		}
		s.sql(`SELECT iasql_wait_for_all(60)`)
	}
	s.sync()
	// Commands may name what queries have found, and make something.
	made := false
	for _, queries := range []bool{true, false} {
		for name, query := range s.Vars {
			switch {
			case strings.HasPrefix(query, "SELECT ") != queries:
				continue
			case queries:
				s.vars[name] = s.sql(query)
			default:
				made = true
				s.vars[name] = strings.Trim(s.must(s.expand(query, nil, nil)), `"`)
			}
			if s.vars[name] == "" || s.vars[name] == "null" {
				s.t.Fatalf("$%s: %s returns nothing", name, query)
			}
		}
	}
	if made {
		s.sync()
	}
}

// broken reports an error of one table without ending the step for all.
func (s *suite) broken(table *Table, err error) {
	s.t.Helper()
	s.t.Errorf("%s: %v", table.key(), err)
	s.dead[table.key()] = true
}

// settle waits until the users' changes are dealt with. What has failed shows
// with its table.
func (s *suite) settle() {
	s.t.Helper()
	if _, err := s.user.run(`SELECT iasql_wait_for_all(30)`); err != nil {
		s.t.Errorf("%v\nstatus:\n%s\nunended calls:\n%s", err,
			s.sql(`SELECT table_name, record_id, state, message FROM iasql_status WHERE state <> 'Present'`),
			s.sql(`SELECT table_name, record_id, action, started FROM iasql_operations WHERE ended IS NULL`))
	}
}

// sync runs a full cycle. On the likeness it waits before for as long as AWS's listings
// may lag: nobody can see sooner what somebody else has done.
func (s *suite) sync() {
	s.t.Helper()
	if s.alike {
		time.Sleep(likeness.Window(factor))
	}
	s.sql(`SELECT iasql_sync_now()`)
}
