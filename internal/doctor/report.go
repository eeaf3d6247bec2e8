package doctor

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Status is the outcome of a check.
type Status string

// The outcomes of checks.
const (
	// OK: nothing to do.
	OK Status = "ok"
	// Warning: the engine works, and somebody should look at this.
	Warning Status = "warning"
	// Failure: mend this before an engine is started.
	Failure Status = "failure"
	// Skipped: not examined, or not there and not needed. The message says why.
	Skipped Status = "skipped"
)

// Format is the version of the report's JSON. It grows when a member changes its
// meaning or goes; new members come without notice.
const Format = 1

// Check is one thing that was looked at.
type Check struct {
	// ID is stable: the group, a dot, and the name, such as "account.clock" or
	// "module.aws_vpc".
	ID      string   `json:"id"`
	Status  Status   `json:"status"`
	Message string   `json:"message"`          // one line
	Advice  string   `json:"advice,omitempty"` // what to do
	Details []string `json:"details,omitempty"`
}

// Report is what an examination has found. It is what --json prints.
type Report struct {
	Format   int       `json:"format"`
	Version  string    `json:"version"` // of the engine
	Started  time.Time `json:"started"`
	Seconds  float64   `json:"seconds"`
	GoOn     bool      `json:"go_on"` // there is no failure
	Failures int       `json:"failures"`
	Warnings int       `json:"warnings"`

	Account  *Account  `json:"account,omitempty"`
	Regions  []Region  `json:"regions,omitempty"`
	Modules  []Module  `json:"modules,omitempty"`
	Misfits  []Misfit  `json:"misfits,omitempty"`
	Cycle    *Cycle    `json:"cycle,omitempty"`
	Database *Database `json:"database,omitempty"`

	Checks []Check `json:"checks"`

	lock sync.Mutex
}

// Account is who the engine would be.
type Account struct {
	ID          string     `json:"id"` // its last four digits
	Partition   string     `json:"partition"`
	Kind        string     `json:"kind"` // of the identity, such as "assumed-role"
	Source      string     `json:"credentials_source"`
	Expires     *time.Time `json:"credentials_expire,omitempty"`
	Region      string     `json:"default_region"`
	SkewSeconds *float64   `json:"clock_skew_seconds,omitempty"` // AWS's clock is ahead by
}

// Region is a region of the account.
type Region struct {
	Name    string `json:"name"`
	OptIn   string `json:"opt_in_status"`
	Enabled bool   `json:"enabled"` // in the account
	Chosen  bool   `json:"chosen"`  // to be read
	Denied  string `json:"denied,omitempty"`
}

// Module is what became of reading a module's tables.
type Module struct {
	Name    string  `json:"name"`
	Status  Status  `json:"status"`
	Objects int     `json:"objects"`
	Calls   int     `json:"calls"` // that a listing of all takes
	Tables  []Table `json:"tables"`
}

// Table is what became of reading a table in all regions.
type Table struct {
	Name       string   `json:"name"`
	Objects    int      `json:"objects"`
	Calls      int      `json:"calls"`
	Seconds    float64  `json:"seconds"`          // of the slowest region
	ReadTwice  int      `json:"read_twice"`       // objects that were read a second time
	Unread     int      `json:"unread,omitempty"` // objects that may not be read, or not wholly
	Denied     []Denied `json:"denied,omitempty"`
	Unreadable []string `json:"unreadable,omitempty"` // regions whose listing failed, and why
}

// Denied is a call that AWS refused for want of a permission.
type Denied struct {
	Call       string `json:"call"`       // such as "s3:GetBucketPolicy"
	Permission string `json:"permission"` // IAM's name of what lacks
	Region     string `json:"region,omitempty"`
	Calls      int    `json:"calls"`            // that were refused
	Of         int    `json:"of"`               // that were made
	Reason     string `json:"reason,omitempty"` // what AWS says of the policy
}

// Misfit is a kind of object that does not fit a table.
type Misfit struct {
	Table   string   `json:"table"`
	Column  string   `json:"column,omitempty"`
	Kind    string   `json:"kind"`   // such as "unknown value": see the constants
	Found   string   `json:"found"`  // the shape of the value
	Wanted  string   `json:"wanted"` // what the table takes
	Objects int      `json:"objects"`
	Regions []string `json:"regions,omitempty"`
}

// Cycle is what a full cycle costs, as far as it lists.
type Cycle struct {
	Objects  int     `json:"objects"`
	Calls    int     `json:"calls"`
	Seconds  float64 `json:"seconds"`
	Interval float64 `json:"interval_seconds"` // between two cycles
	Rates    []Rate  `json:"rates,omitempty"`
}

// Rate compares the calls of a cycle with a rate that AWS documents.
type Rate struct {
	Service   string  `json:"service"`
	Action    string  `json:"action"` // "*": all actions share the rate
	Region    string  `json:"region,omitempty"`
	Calls     int     `json:"calls"` // in a cycle
	PerSecond float64 `json:"documented_per_second"`
	Share     float64 `json:"share"` // of what the rate allows between two cycles
	Source    string  `json:"source"`
}

// Database is what the database says of itself.
type Database struct {
	Server   string `json:"server"` // its version
	Migrated string `json:"migrated_by,omitempty"`
	PGCron   string `json:"pg_cron,omitempty"` // its version
}

func (r *Report) add(c Check) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.Checks = append(r.Checks, c)
}

// Check returns the check of that id, nil if there is none.
func (r *Report) Check(id string) *Check {
	for i := range r.Checks {
		if r.Checks[i].ID == id {
			return &r.Checks[i]
		}
	}
	return nil
}

// groups are the groups of checks, in the order of the report.
var groups = []string{"database", "account", "regions", "module", "objects", "cycle", "host"}

// group returns the group of a check.
func (c Check) group() string {
	group, _, _ := strings.Cut(c.ID, ".")
	return group
}

// finish sorts and counts.
func (r *Report) finish(took time.Duration) {
	slices.SortStableFunc(r.Checks, func(a, b Check) int {
		return cmp.Compare(slices.Index(groups, a.group()), slices.Index(groups, b.group()))
	})
	for _, c := range r.Checks {
		switch c.Status {
		case Failure:
			r.Failures++
		case Warning:
			r.Warnings++
		}
	}
	r.GoOn = r.Failures == 0
	r.Seconds = took.Round(time.Millisecond).Seconds()
}
