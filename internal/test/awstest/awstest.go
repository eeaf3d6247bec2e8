// Package awstest puts resources of AWS modules through what the contract in
// package modules asks of them, against an emulator.
//
// [Lifecycle] is the whole of it: one object is created, found, read, listed,
// changed in every column that can be changed, and deleted, with the engine's
// steps and nothing else.
package awstest

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"iasql/internal/aws"
	"iasql/internal/modules"
	"iasql/internal/test/testaws"
)

// Scope returns the scope of tests: the account that clients of [Clients] have.
func Scope(region string) modules.Scope { return modules.Scope{Account: "test", Region: region} }

// Clients returns clients of a new account in the emulator.
func Clients(t testing.TB) *aws.Clients {
	t.Helper()
	account := testaws.NewAccount(t)
	return aws.New(aws.Options{
		Endpoint: account.Endpoint,
		Accounts: func(context.Context, string) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: account.AccessKeyID, SecretAccessKey: account.SecretAccessKey}, nil
		},
	})
}

// Fake returns clients of a server that a test has made itself.
func Fake(url string) *aws.Clients {
	return aws.New(aws.Options{
		Endpoint:   url,
		MaxBackoff: time.Millisecond,
		Accounts: func(context.Context, string) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "AKIAFAKE", SecretAccessKey: "fake-secret"}, nil
		},
	})
}

// Journal is a journal in memory.
type Journal struct {
	mu    sync.Mutex
	calls []string
	errs  []error
}

// Begin notes a call.
func (j *Journal) Begin(_ context.Context, call modules.Call) (func(error), error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	i := len(j.calls)
	j.calls = append(j.calls, call.Service+":"+call.Action)
	j.errs = append(j.errs, nil)
	return func(err error) {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.errs[i] = err
	}, nil
}

// Take returns the calls since the last Take, and how each ended.
func (j *Journal) Take() (calls []string, errs []error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	calls, errs = j.calls, j.errs
	j.calls, j.errs = nil, nil
	return calls, errs
}

// Permit returns a permit whose calls nobody looks at.
func Permit() *modules.Permit { return PermitBy(&Journal{}) }

// PermitBy returns a permit whose calls a journal has.
func PermitBy(j modules.Journal) *modules.Permit { return &modules.Permit{Journal: j} }

// Create creates an object.
func Create(ctx context.Context, r modules.Creator, p *modules.Permit, scope modules.Scope, want modules.Row,
	token string) (modules.Row, error) {
	return r.Create(ctx, modules.Mutation{Scope: scope, Want: want, Token: token, Permit: p})
}

// Update changes columns of an object.
func Update(ctx context.Context, r modules.Updater, p *modules.Permit, scope modules.Scope, have, want modules.Row,
	columns []string) error {
	return r.Update(ctx, modules.Mutation{Scope: scope, Have: have, Want: want, Columns: columns, Permit: p})
}

// Delete deletes an object.
func Delete(ctx context.Context, r modules.Deleter, p *modules.Permit, scope modules.Scope, have modules.Row) error {
	return r.Delete(ctx, modules.Mutation{Scope: scope, Have: have, Permit: p})
}

// Case is an object to put through its life.
type Case struct {
	Resource modules.Resource
	Scope    modules.Scope
	// Want describes the object, in cloud terms.
	Want modules.Row
	// Changes are further values, one after the other, of every column that
	// can be changed in place. Those of tags, of booleans and of enumerations
	// need not be given: [Lifecycle] tries every one that the description allows.
	Changes map[string][]modules.Value
	// Tagless: the emulator ignores the tags that objects are created with, so
	// that none can be found by its token.
	Tagless bool
	// Elsewhere are columns that can be changed, and that another test changes.
	Elsewhere []string
	// Unsaid are columns that a read does not always say.
	Unsaid []string
	// Along are, by column, others that a change of it changes in the object as well, because they say the same or AWS
	// allows one of them.
	Along map[string][]string
	// Once: the emulator lets the name be used once, or the object is one of a kind, so that it is not made again.
	Once bool
	// Calls are the mutating calls that a change of the column may take; a
	// column that is missing takes one.
	Calls map[string]int
}

// Lifecycle puts an object through its life.
func Lifecycle(t *testing.T, c Case) {
	t.Helper()
	r := &run{T: t, Case: c, table: c.Resource.Table(), journal: &Journal{}, ctx: t.Context()}
	r.permit = PermitBy(r.journal)
	if err := r.table.Validate(); err != nil {
		t.Fatal(err)
	}
	if declared, ok := c.Resource.(modules.Validator); ok {
		if err := declared.Validate(); err != nil {
			t.Fatal(err)
		}
	}
	r.refused("create", func() error { _, err := r.create(nil, "refused"); return err })

	created, err := r.create(r.permit, "token-1")
	if err != nil {
		t.Fatalf("create: %v", err)
	}
	r.key, _ = r.table.Key(created)
	if r.key == "" {
		t.Fatalf("create: the row %v has no identity", created)
	}
	if calls, _ := r.journal.Take(); len(calls) != 1 {
		t.Errorf("create made the calls %v, want one", calls)
	}
	r.finds(created)
	have := r.converge(created)
	r.listed(true)

	for _, column := range r.mutable() {
		values := r.Changes[column]
		if len(values) == 0 {
			values = r.generated(column)
		}
		if len(values) == 0 && !slices.Contains(c.Elsewhere, column) && !r.made(column) {
			t.Errorf("column %s can be changed, and the test does not", column)
		}
		for _, value := range values {
			r.Want = r.Want.Clone()
			r.Want[column] = value
			r.refused("update "+column, func() error {
				return Update(r.ctx, r.Resource.(modules.Updater), nil, r.Scope, have, r.Want, []string{column})
			})
			before := have
			r.update(have, column)
			have = r.converge(created)
			r.onlyThat(column, before, have)
			if calls, _ := r.journal.Take(); len(calls) > 0 {
				t.Errorf("after %s was updated there was more to update: %v", column, calls)
			}
		}
	}
	r.deletes(have, created)
	r.again(have)
}

// Get reads the objects with these identities, and returns their rows.
func Get(ctx context.Context, r modules.Resource, scope modules.Scope,
	identities []modules.Row) ([]modules.Row, error) {
	all, err := r.Get(ctx, modules.GetRequest{Scope: scope, Identities: identities})
	return modules.Rows(all), err
}

// Phase returns where in its life the object of a row is.
func Phase(r modules.Phaser, row modules.Row) modules.Phase {
	phase, _ := r.Phase(row)
	return phase
}

// Failed returns why the object of a row failed; "" if it did not.
func Failed(r modules.Phaser, row modules.Row) string {
	_, why := r.Phase(row)
	return why
}

// List gives the rows of all objects of a scope to page.
func List(ctx context.Context, r modules.Resource, scope modules.Scope, page func([]modules.Row) error) error {
	return ListAs(ctx, r, modules.ListRequest{Scope: scope}, page)
}

// ListAs is [List] as a request asks for it.
func ListAs(ctx context.Context, r modules.Resource, asked modules.ListRequest, page func([]modules.Row) error) error {
	return r.List(ctx, asked, func(all []modules.Observation) error { return page(modules.Rows(all)) })
}

type run struct {
	*testing.T
	Case
	table   *modules.Table
	journal *Journal
	permit  *modules.Permit
	ctx     context.Context
	key     string
}

func (r *run) create(p *modules.Permit, token string) (modules.Row, error) {
	return Create(r.ctx, r.Resource.(modules.Creator), p, r.Scope, r.Want, token)
}

// refused checks that the call is refused where the engine only reads.
func (r *run) refused(what string, call func() error) {
	r.Helper()
	if err := call(); modules.ClassOf(err) != modules.ReadOnly || err == nil {
		r.Errorf("%s without permission: got %v, want an error of class %s", what, err, modules.ReadOnly)
	}
}

// finds checks that the creation is found again by its token.
func (r *run) finds(created modules.Row) {
	r.Helper()
	if r.table.Creation != modules.ByTag || r.Tagless {
		return
	}
	finder := r.Resource.(modules.Finder)
	found, err := finder.FindCreated(r.ctx, r.Scope, []string{"token-0", "token-1", "token-2"})
	if err != nil {
		r.Fatalf("find created: %v", err)
	}
	if len(found) != 1 {
		r.Fatalf("find created: got %v, want one", found)
	}
	if key, _ := r.table.Key(found["token-1"]); key != r.key {
		r.Errorf("find created: got %v, want the identity of %v", found, created)
	}
}

// get reads the object and checks the form of its row.
func (r *run) get(identity modules.Row) modules.Row {
	r.Helper()
	absent := identity.Clone()
	for _, column := range r.table.Identity() {
		absent[column] = modules.Text(identity[column].String() + "0")
	}
	rows, err := Get(r.ctx, r.Resource, r.Scope, []modules.Row{identity, absent})
	if err != nil {
		r.Fatalf("get: %v", err)
	}
	if len(rows) != 1 {
		r.Fatalf("get: got %d rows, want one: %v", len(rows), rows)
	}
	r.wellFormed(rows[0])
	return rows[0]
}

// wellFormed checks that a row has every column but those that are unsaid, in canonical form.
func (r *run) wellFormed(row modules.Row) {
	r.Helper()
	for i := range r.table.Columns {
		c := &r.table.Columns[i]
		v, ok := row[c.Name]
		scope := c.Name == modules.ColumnAccount || c.Name == modules.ColumnRegion
		if !ok && !c.Local && !c.WriteOnly && !scope && !slices.Contains(r.Unsaid, c.Name) {
			r.Errorf("column %s is missing from %v", c.Name, row)
		}
		if v.IsNull() || c.References != nil && !c.References.ByKey {
			continue
		}
		if canonical, err := c.Type.Canonical(v.String()); err != nil || canonical != v.String() {
			r.Errorf("column %s: %q is not canonical: %q, %v", c.Name, v, canonical, err)
		}
	}
	for name := range row {
		if r.table.Column(name) == nil {
			r.Errorf("column %s is not described", name)
		}
	}
}

// converge updates what differs, as the engine does, and returns the object.
func (r *run) converge(identity modules.Row) modules.Row {
	r.Helper()
	have := r.get(identity)
	if differ := r.differ(have); len(differ) > 0 {
		if err := Update(r.ctx, r.Resource.(modules.Updater), r.permit, r.Scope, have, r.Want, differ); err != nil {
			r.Fatalf("update %v: %v", differ, err)
		}
		have = r.get(identity)
		r.journal.Take()
	}
	if differ := r.differ(have); len(differ) > 0 {
		r.Fatalf("columns %v still differ: got %v, want %v", differ, have, r.Want)
	}
	return have
}

// onlyThat checks that a change of one column has changed nothing else that one may change of the object (R35).
func (r *run) onlyThat(column string, before, after modules.Row) {
	r.Helper()
	for _, name := range r.mutable() {
		was, had := before[name]
		is, has := after[name]
		if name != column && had && has && !slices.Contains(r.Along[column], name) &&
			!r.table.Column(name).Same(was, is) {
			r.Errorf("a change of column %s to %s has changed column %s from %s to %s", column, r.Want[column], name,
				was, is)
		}
	}
}

// again makes the object anew from its row, once it has gone: the two are equal but for what AWS assigns.
func (r *run) again(row modules.Row) {
	r.Helper()
	if r.Once {
		return
	}
	first := r.Want
	r.Want = modules.Row{}
	for i := range r.table.Columns {
		c := &r.table.Columns[i]
		if v, ok := row[c.Name]; ok && !c.Computed && !v.IsNull() {
			r.Want[c.Name] = v
		}
		if c.WriteOnly || c.Local {
			r.Want[c.Name] = first[c.Name]
		}
	}
	created, err := r.create(r.permit, "token-again")
	if err != nil {
		r.Errorf("create again, from its row %v: %v", r.Want, err)
		return
	}
	have := r.converge(created)
	for i := range r.table.Columns {
		c := &r.table.Columns[i]
		if want, ok := r.Want[c.Name]; ok && !c.Local && !c.WriteOnly && !c.Same(have[c.Name], want) {
			r.Errorf("made again from its row, column %s is %s, not %s", c.Name, have[c.Name], want)
		}
	}
	if err := Delete(r.ctx, r.Resource.(modules.Deleter), r.permit, r.Scope, have); err != nil {
		r.Errorf("delete what was made again: %v", err)
	}
}

// differ returns the changeable columns in which the object is not as wanted.
func (r *run) differ(have modules.Row) []string {
	var columns []string
	for _, name := range r.mutable() {
		if want, ok := r.Want[name]; ok && !r.table.Column(name).Same(have[name], want) {
			columns = append(columns, name)
		}
	}
	return columns
}

func (r *run) mutable() []string {
	var columns []string
	for i := range r.table.Columns {
		c := &r.table.Columns[i]
		if !c.Computed && !c.CreateOnly && !c.Local && !c.WriteOnly {
			columns = append(columns, c.Name)
		}
	}
	return columns
}

// made reports whether a column is made of what AWS publishes, and so tested with all of them (TestRichest of package
// declare).
func (r *run) made(column string) bool {
	declared, ok := r.Resource.(interface{ Made() []string })
	return ok && slices.Contains(declared.Made(), column)
}

// generated returns values of a column that its description tells: none where
// it does not, or where another test changes the column.
func (r *run) generated(column string) []modules.Value {
	c := r.table.Column(column)
	var values []modules.Value
	switch {
	case slices.Contains(r.Elsewhere, column), r.made(column):
	case column == modules.ColumnTags:
		values = append(values, modules.StringMap(map[string]string{"a": "1", "b": "2"}),
			modules.StringMap(map[string]string{"b": "3", "c": ""}), modules.Null)
	case c.Type == modules.TypeBool:
		values = append(values, modules.Bool(!r.Want[column].Bool()), modules.Bool(r.Want[column].Bool()))
	default:
		for _, value := range c.Enum {
			if value != r.Want[column].String() {
				values = append(values, modules.Text(value))
			}
		}
	}
	return values
}

func (r *run) update(have modules.Row, column string) {
	r.Helper()
	r.journal.Take()
	if err := Update(r.ctx, r.Resource.(modules.Updater), r.permit, r.Scope, have, r.Want,
		[]string{column}); err != nil {
		r.Fatalf("update %s: %v", column, err)
	}
	allowed := max(1, r.Calls[column])
	if column == modules.ColumnTags {
		allowed = max(2, allowed) // some are set and some removed
	}
	if calls, _ := r.journal.Take(); len(calls) == 0 || len(calls) > allowed {
		r.Errorf("update %s: made the calls %v, want at most %d", column, calls, allowed)
	}
}

// listed checks whether the listing has the object, once.
func (r *run) listed(want bool) {
	r.Helper()
	var keys []string
	err := List(r.ctx, r.Resource, r.Scope, func(rows []modules.Row) error {
		for _, row := range rows {
			r.wellFormed(row)
			key, _ := r.table.Key(row)
			keys = append(keys, key)
		}
		return nil
	})
	if err != nil {
		r.Fatalf("list: %v", err)
	}
	if got := slices.Contains(keys, r.key); got != want {
		r.Errorf("list: has the object: %t, want %t; it has %q", got, want, keys)
	}
	counts := map[string]int{}
	for _, key := range keys {
		counts[key]++
	}
	for key := range maps.Keys(counts) {
		if counts[key] > 1 {
			r.Errorf("list: has %q %d times", key, counts[key])
		}
	}
}

func (r *run) deletes(have, created modules.Row) {
	r.Helper()
	remove := func(p *modules.Permit) error { return Delete(r.ctx, r.Resource.(modules.Deleter), p, r.Scope, have) }
	r.refused("delete", func() error { return remove(nil) })
	if err := remove(r.permit); err != nil {
		r.Fatalf("delete: %v", err)
	}
	rows, err := Get(r.ctx, r.Resource, r.Scope, []modules.Row{created})
	if err != nil || len(rows) != 0 {
		r.Errorf("get after delete: got %v, %v, want no rows", rows, err)
	}
	r.listed(false)
	if err := remove(r.permit); err != nil {
		r.Errorf("delete again: %v", err)
	}
}
