package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// Options say what to examine.
type Options struct {
	Version string // of the engine
	// Registry has the modules, which call AWS by Clients.
	Registry *modules.Registry
	// Clients are asked about AWS; nil: AWS is not examined.
	Clients *aws.Clients
	// Account is what Clients call the account.
	Account string
	// Regions are the ones to read; none: all that are enabled.
	Regions []string
	// Modules are the ones that must be readable; none: all are read, and none
	// must be but the one that all depend on.
	Modules []string
	// DatabaseURL is the engine's login to its database; "": it is not examined.
	DatabaseURL string
	// Worlds examine what is not of AWS.
	Worlds []World
	// Connections is how many connections an engine opens at most.
	Connections int
	// Sample is how many objects of a table and region are read a second time; 0
	// means 20, and less none.
	Sample int
	// Concurrency bounds the listings of one table under way at once, one a region;
	// 0 means 16, as in a cycle.
	Concurrency int
	// Deadline bounds the whole examination; 0 means 5 minutes. What is not done
	// by then the report says.
	Deadline time.Duration
	// Progress is told what is going on; nil is silent. It may be told who the
	// account is, which the report does not say in full.
	Progress func(text string)
}

// World examines what there is of another world than AWS, as far as it comes until ctx ends, and returns its checks.
// [Report] lists the groups that their ids may have. Nothing of it names addresses, logins or keys.
type World func(ctx context.Context, progress func(text string)) []Check

// doctor is an examination under way.
type doctor struct {
	Options
	report   *Report
	scope    modules.Scope
	regions  []string      // that are read
	interval time.Duration // between two cycles
	reads    []*read
	late     bool // the deadline has passed
	misfits  misfits
	database *database // nil where there is none
}

// standardInterval is sync_interval where no database says otherwise.
const standardInterval = time.Minute

// Run examines what the options name. It fails only if they name what there is
// not, or if ctx ends; what is wrong is in the report.
func Run(ctx context.Context, o Options) (*Report, error) {
	d := &doctor{Options: o, interval: standardInterval, scope: modules.Scope{Account: o.Account},
		report: &Report{Format: Format, Version: o.Version, Started: time.Now().Truncate(time.Second)}}
	d.defaults()
	if _, err := d.chosen(); err != nil {
		return nil, err
	}
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, d.Deadline)
	defer cancel()
	d.examineDatabase(limited)
	defer d.database.close(ctx)
	d.examineAWS(limited)
	for _, examine := range d.Worlds {
		for _, check := range examine(limited, d.Progress) {
			d.report.add(check)
		}
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("the examination was stopped: %w", context.Cause(ctx))
	}
	d.report.finish(time.Since(began))
	return d.report, nil
}

func (d *doctor) defaults() {
	if d.Sample == 0 {
		d.Sample = 20
	}
	if d.Concurrency == 0 {
		d.Concurrency = 16
	}
	if d.Deadline == 0 {
		d.Deadline = 5 * time.Minute
	}
	if d.Progress == nil {
		d.Progress = func(string) {}
	}
}

// chosen returns the modules to read, dependencies first.
func (d *doctor) chosen() ([]*modules.Module, error) {
	if len(d.Modules) == 0 {
		return d.Registry.Of(aws.Provider), nil
	}
	chosen, err := d.Registry.Closure(d.Modules...)
	if err != nil {
		var known []string
		for _, m := range d.Registry.Of(aws.Provider) {
			known = append(known, m.Name)
		}
		return nil, fmt.Errorf("%w; there are: %s", err, strings.Join(known, ", "))
	}
	for _, m := range chosen {
		if m.Provider() != aws.Provider {
			return nil, fmt.Errorf("module %s is of no AWS account, and the doctor examines one: leave it out", m.Name)
		}
	}
	return chosen, nil
}

// needed reports whether a module must be readable: it was named, or all others
// depend on it.
func (d *doctor) needed(m *modules.Module) bool {
	return slices.Contains(d.Modules, m.Name) || len(m.Dependencies) == 0
}

// examineAWS looks at the account, and then at what is in it.
func (d *doctor) examineAWS(ctx context.Context) {
	if d.Clients == nil {
		d.skip("AWS is not examined", "account.identity")
		return
	}
	if !d.examineAccount(ctx) {
		d.skip("there is no way into the account", "regions.enabled", "module.all", "objects.all", "cycle.time")
		return
	}
	if !d.examineRegions(ctx) {
		d.skip("no region can be read", "module.all", "objects.all", "cycle.time")
		return
	}
	d.examineModules(ctx)
	d.database.checkValues(ctx, d)
	d.objects()
	d.cycle()
}

// skip notes checks that were not made.
func (d *doctor) skip(why string, ids ...string) {
	for _, id := range ids {
		d.report.add(Check{ID: id, Status: Skipped, Message: why})
	}
}
