package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"iasql/internal/modules"
	"iasql/internal/platform"
)

// Resource types of an account become modules when somebody installs them. How they
// describe themselves is kept in the database, where every engine finds it: before each
// cycle and each request an engine looks whether there is something new.

// learnTypesUpTo does what learnTypes does, unless the engine knows all up to a change.
func (e *Engine) learnTypesUpTo(ctx context.Context, change int64) error {
	e.learning.Lock()
	known := change <= e.learnt
	e.learning.Unlock()
	if known {
		return nil
	}
	return e.learnTypes(ctx)
}

// learnTypes adds the modules of types that the database has and this engine does not know
// yet.
func (e *Engine) learnTypes(ctx context.Context) error {
	if e.types == nil {
		return nil
	}
	e.learning.Lock()
	defer e.learning.Unlock()
	list, newest, err := platform.Types(ctx, e.pool, e.learnt)
	if err != nil {
		return fmt.Errorf("read the resource types: %w", err)
	}
	var made []*modules.Module
	for i := range list {
		m, err := e.types.Module(&list[i])
		if err != nil { // of an engine of another version
			e.log.WarnContext(ctx, "a resource type cannot be made a table", "type", list[i].Name, "error", err)
			continue
		}
		made = append(made, m)
	}
	if err := e.extend(ctx, made); err != nil {
		return err
	}
	e.learnt = newest
	return nil
}

// extend adds modules to those that are known. One that is not right does not keep others
// away.
func (e *Engine) extend(ctx context.Context, made []*modules.Module) error {
	if len(made) == 0 {
		return nil
	}
	err := e.registry.Extend(made...)
	if err == nil || len(made) == 1 {
		return err
	}
	for _, m := range made {
		if err := e.registry.Extend(m); err != nil {
			e.log.WarnContext(ctx, "a resource type cannot be made a table", "type", m.Name, "error", err)
		}
	}
	return nil
}

// chunk is how many types are installed by one transaction: each table takes some locks,
// of which PostgreSQL has so many (max_locks_per_transaction).
const chunk = 40

// installTypes installs the types that the patterns mean, and returns the tables it made by
// module, and the names of the types that are installed now.
func (e *Engine) installTypes(ctx context.Context, request int64, patterns []string) (made map[string][]string,
	err error) {
	made = map[string][]string{}
	if len(patterns) == 0 {
		return made, nil
	}
	scope, err := e.askingScope(ctx)
	if err != nil {
		return nil, err
	}
	names, said, err := e.findTypes(ctx, scope, patterns)
	if err != nil {
		return nil, err
	}
	done := 0
	defer func() { // once for all of them: it has as many parts as there are tables
		err = errors.Join(err, platform.RenewRecords(context.WithoutCancel(ctx), e.pool))
	}()
	for part := range slices.Chunk(names, chunk) {
		tables, refused, err := e.installChunk(ctx, scope, part)
		if err != nil {
			return nil, err
		}
		for name, list := range tables {
			made[name] = list
		}
		said = append(said, refused...)
		done += len(part)
		e.tellProgress(ctx, request, fmt.Sprintf("%d of %d resource types are tables", done-len(said), len(names)))
	}
	if len(names) == 1 && len(said) == 1 && len(made) == 0 {
		return nil, &platform.UserError{Code: "IA009", Message: said[0], Hint: "SELECT * FROM iasql_types('" +
			patterns[0] + "') shows what there is."}
	}
	if len(said) > 0 {
		e.tellProgress(ctx, request, "left out: "+strings.Join(said, "; "))
	}
	return made, nil
}

// askingScope is the account whose registry is asked: the default one.
func (e *Engine) askingScope(ctx context.Context) (modules.Scope, error) {
	var scope modules.Scope
	m, t := e.registry.Accounts(e.types.Provider())
	if _, err := platform.Install(ctx, e.pool, e.registry, []string{m.Name}); err != nil {
		return scope, err
	}
	accounts := pgx.Identifier{"public", t.Name}.Sanitize()
	err := e.pool.QueryRow(ctx, `SELECT name FROM `+accounts+
		` ORDER BY NOT is_default, name LIMIT 1`).Scan(&scope.Account)
	if errors.Is(err, pgx.ErrNoRows) {
		return scope, &platform.UserError{Code: "IA013",
			Message: "there is no account whose resource types could be read", Hint: "INSERT INTO " + t.Name +
				" (name) VALUES ('default')"}
	}
	return scope, err
}

// findTypes returns the names of the types that the patterns mean, and what is said of those
// that are left out. One that is named itself has to be there, and to be nobody's.
func (e *Engine) findTypes(ctx context.Context, scope modules.Scope, patterns []string) (names, said []string,
	err error) {
	for _, pattern := range patterns {
		whole := !strings.ContainsAny(pattern, "*?%") && strings.Count(pattern, "::") == 2
		offers, err := e.types.Find(ctx, scope, pattern)
		if err != nil {
			return nil, nil, fmt.Errorf("read the account's resource types: %w", err)
		}
		if len(offers) == 0 {
			return nil, nil, &platform.UserError{Code: "IA009",
				Message: fmt.Sprintf("the account has no resource type %s", pattern),
				Hint:    e.meant(ctx, scope, pattern)}
		}
		for _, o := range offers {
			switch {
			case o.Native == "":
				names = append(names, o.Name)
			case whole:
				return nil, nil, e.managed(ctx, o)
			default:
				said = append(said, fmt.Sprintf("%s (table %s)", o.Name, o.Native))
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), said, nil
}

// managed says which module has the objects of a type already, and where its properties are.
func (e *Engine) managed(ctx context.Context, o modules.Offer) error {
	module := e.moduleOf(o.Native)
	have, err := platform.Installed(ctx, e.pool)
	if err != nil {
		return err
	}
	hint := "Two tables never manage one object. "
	if _, there := have[module]; there {
		hint += fmt.Sprintf("Module %s is installed. ", module)
	} else {
		hint += fmt.Sprintf("SELECT * FROM iasql_install('%s') installs that one. ", module)
	}
	where := fmt.Sprintf("table_name = '%s'", o.Native) // of a type whose objects are a part of the table's
	if e.tells(o.Name) {
		where = fmt.Sprintf("type = '%s'", o.Name)
	}
	return &platform.UserError{Code: "IA022",
		Message: fmt.Sprintf("the objects of %s are managed by the table %s of module %s", o.Name, o.Native, module),
		Hint: hint + fmt.Sprintf("SELECT property, table_name, column_name, reason FROM iasql_properties WHERE %s "+
			"shows which column is which property.", where)}
}

// tells reports whether tables of modules say where the properties of a type are.
func (e *Engine) tells(typeName string) bool {
	for _, m := range e.registry.Modules() {
		for _, t := range m.Tables() {
			if slices.ContainsFunc(t.Properties, func(p modules.Property) bool { return p.Type == typeName }) {
				return true
			}
		}
	}
	return false
}

// meant says where to look for what somebody has misspelt.
func (e *Engine) meant(ctx context.Context, scope modules.Scope, pattern string) string {
	const search = "SELECT * FROM iasql_types('mail') shows which names have a word in them."
	if strings.ContainsAny(pattern, "*?%") {
		return search
	}
	all, err := e.types.Find(ctx, scope, "*")
	if err != nil {
		return search
	}
	nearest, far := "", len(pattern)/3
	for _, o := range all {
		name := o.Name
		if strings.Count(pattern, "::") == 1 {
			name = name[:strings.LastIndex(name, "::")]
		}
		if d := levenshtein.ComputeDistance(strings.ToLower(pattern), strings.ToLower(name)); d < far {
			nearest, far = name, d
		}
	}
	if nearest == "" {
		return search
	}
	return fmt.Sprintf("Do you mean %s? %s", nearest, search)
}

func (e *Engine) moduleOf(table string) string {
	if m := e.registry.Owner(table); m != nil {
		return m.Name
	}
	return table
}

// installChunk describes some types, keeps that, and makes their tables.
func (e *Engine) installChunk(ctx context.Context, scope modules.Scope, names []string) (made map[string][]string,
	refused []string, err error) {
	described := make([]*modules.Description, len(names))
	faults := make([]error, len(names))
	g, read := errgroup.WithContext(ctx)
	g.SetLimit(8)
	for i, name := range names {
		g.Go(func() error {
			d, err := e.types.Describe(read, scope, name)
			if described[i], faults[i] = &d, err; err != nil && modules.ClassOf(err).Heals() &&
				modules.ClassOf(err) != modules.Transient {
				return err
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, nil, fmt.Errorf("read the schemas of resource types: %w", err)
	}
	var good []*modules.Description
	for i, d := range described {
		if faults[i] != nil {
			refused = append(refused, faults[i].Error())
			continue
		}
		good = append(good, d)
	}
	made, left, err := e.keepAndInstall(ctx, good)
	return made, append(refused, left...), err
}

// keepAndInstall keeps how types describe themselves, and makes their tables.
func (e *Engine) keepAndInstall(ctx context.Context, list []*modules.Description) (made map[string][]string,
	refused []string, err error) {
	installed, err := e.installedResources(ctx)
	if err != nil {
		return nil, nil, err
	}
	given := map[string]string{} // types by the tables that they have been given just now
	lay := func(d *modules.Description) error {
		taken := e.taken(d.Name)
		err := e.types.Lay(d, func(table string) bool {
			return taken(table) || given[table] != "" && given[table] != d.Name
		}, installed)
		if err == nil {
			given[tableOf(d)] = d.Name
		}
		return err
	}
	faults, err := platform.KeepTypes(ctx, e.pool, list, lay, e.types.Module)
	if err != nil {
		return nil, nil, err
	}
	var good []string
	for _, d := range list {
		if fault := faults[d.Name]; fault != nil {
			refused = append(refused, fault.Error())
		} else {
			good = append(good, d.Name)
		}
	}
	if err := e.learnTypes(ctx); err != nil {
		return nil, nil, err
	}
	made, left, err := platform.InstallTypes(ctx, e.pool, e.registry, good)
	return made, append(refused, left...), err
}

// tableOf returns the table that a type has been given.
func tableOf(d *modules.Description) string {
	var layout struct {
		Table string `json:"table"`
	}
	_ = json.Unmarshal(d.Layout, &layout) // that is checked where it is used
	return layout.Table
}

// installedResources returns a function that finds what is installed under the name of a
// type or of a table.
func (e *Engine) installedResources(ctx context.Context) (func(name string) modules.Resource, error) {
	have, err := platform.Installed(ctx, e.pool)
	if err != nil {
		return nil, err
	}
	return func(name string) modules.Resource {
		if m := e.registry.Module(name); m != nil && len(m.Resources) == 1 && strings.Contains(name, "::") {
			if _, there := have[name]; there {
				return m.Resources[0]
			}
			return nil
		}
		owner := e.registry.Owner(name)
		if owner == nil {
			return nil
		}
		if _, there := have[owner.Name]; !there {
			return nil
		}
		return e.registry.Resource(name)
	}, nil
}

// relate gives the tables of types foreign keys to those that have come since.
func (e *Engine) relate(ctx context.Context) error {
	if e.types == nil {
		return nil
	}
	installed, err := e.installedResources(ctx)
	if err != nil {
		return err
	}
	var names []string
	for _, m := range e.registry.Modules() {
		if !strings.Contains(m.Name, "::") || installed(m.Name) == nil {
			continue
		}
		r, relates := m.Resources[0].(modules.Relater)
		if relates && slices.ContainsFunc(r.Relates(), func(name string) bool { return installed(name) != nil }) {
			names = append(names, m.Name)
		}
	}
	for part := range slices.Chunk(names, chunk) {
		list, err := platform.KeptTypes(ctx, e.pool, part)
		if err != nil {
			return err
		}
		if _, refused, err := e.keepAndInstall(ctx, list); err != nil {
			return err
		} else if len(refused) > 0 {
			e.log.WarnContext(ctx, "tables of resource types could not be altered", "why", refused)
		}
	}
	return nil
}

// taken returns a function that tells whether another module than that of the type has a
// table.
func (e *Engine) taken(typeName string) func(table string) bool {
	return func(table string) bool {
		m := e.registry.Owner(table)
		return m != nil && m.Name != typeName
	}
}

// tellProgress tells who waits for a request how far it is.
func (e *Engine) tellProgress(ctx context.Context, request int64, text string) {
	if _, err := e.pool.Exec(ctx, `UPDATE iasql_internal.request SET progress = $2 WHERE id = $1`, request, text); err != nil {
		e.log.DebugContext(ctx, "could not say how far a request is", "error", err)
	}
}

// split tells names of modules from those of types.
func (e *Engine) split(names []string) (ours, types []string) {
	for _, name := range names {
		if e.registry.Module(name) == nil && e.types != nil && e.types.Names(name) || strings.Contains(name, "::") {
			types = append(types, name)
		} else {
			ours = append(ours, name)
		}
	}
	return ours, types
}

// installedTypes returns the names of the installed types that patterns mean.
func (e *Engine) installedTypes(ctx context.Context, patterns []string) ([]string, error) {
	var names []string
	for _, pattern := range patterns {
		found, err := platform.InstalledTypes(ctx, e.pool, pattern)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, &platform.UserError{Code: "IA009",
				Message: fmt.Sprintf("no resource type %s is installed", pattern),
				Hint:    "SELECT * FROM iasql_modules_installed() lists what is."}
		}
		names = append(names, found...)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

type typesArgs struct {
	Pattern string `json:"pattern"`
}

type offeredType struct {
	Type      string `json:"type_name"`
	Table     string `json:"table_name"`
	Installed bool   `json:"installed"`
	Native    string `json:"managed_by,omitempty"`
	Publisher string `json:"publisher"`
	Doc       string `json:"description"`
}

func (e *Engine) examplePattern() string {
	if e.types == nil {
		return "*"
	}
	return e.types.Examples().TypePattern
}

// types answers iasql_types.
func (e *Engine) offered(ctx context.Context, raw json.RawMessage) (any, error) {
	var args typesArgs
	if err := json.Unmarshal(raw, &args); err != nil {
		return nil, err
	}
	if e.types == nil || !e.types.Searches(args.Pattern) {
		return nil, &platform.UserError{Code: "IA009",
			Message: fmt.Sprintf("%q is no pattern of resource types", args.Pattern),
			Hint: "SELECT * FROM iasql_types('" + e.examplePattern() +
				"') lists those of a service, iasql_types('mail') those with a word in the name."}
	}
	scope, err := e.askingScope(ctx)
	if err != nil {
		return nil, err
	}
	offers, err := e.types.Find(ctx, scope, args.Pattern)
	if err != nil {
		return nil, fmt.Errorf("read the account's resource types: %w", err)
	}
	there, err := platform.InstalledTypes(ctx, e.pool, "*")
	if err != nil {
		return nil, err
	}
	out := make([]offeredType, 0, len(offers))
	for _, o := range offers {
		t := offeredType{Type: o.Name, Table: o.Table, Installed: slices.Contains(there, o.Name), Native: o.Native,
			Publisher: o.Publisher, Doc: o.Doc}
		if m := e.registry.Module(o.Name); m != nil && t.Installed {
			t.Table = m.Tables()[0].Name
		}
		if o.Native != "" {
			t.Table = o.Native
		}
		out = append(out, t)
	}
	return out, nil
}
