package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"iasql/internal/aws/cfn"
	"iasql/internal/aws/tfstate"
)

// imported is what import-state prints.
type imported struct {
	Configuration string      `json:"configuration"`
	Resources     int         `json:"resources"` // in the state
	Records       int         `json:"records"`   // mentioned
	Outcome       string      `json:"outcome"`   // previewed, committed
	Left          []leftState `json:"left"`
}

// leftState is a resource that the configuration does not mention, and why.
type leftState struct {
	Address string `json:"address"`
	Why     string `json:"why"`
}

// mentioned is a record.
type mentioned struct {
	table string
	id    int64
}

// stateQuery asks which records resources are: all of one rule at once.
type stateQuery struct {
	rule      tfstate.Rule
	resources []*tfstate.Resource
	values    [][]string // of each column those of the resources
}

func importStateCommand() *cobra.Command {
	var c batchCmd
	var preview bool
	var name string
	cmd := &cobra.Command{
		Use: "import-state FILE", Short: "Make a configuration of what a Terraform state names.",
		Long: "Make a configuration of what a Terraform state (version 4) names: every record that stands for one of " +
			"its resources is mentioned, and what has no table or no record is listed. Nothing is changed, " +
			"here or in the cloud.\nFILE is a path, or - for what `terraform state pull` prints. The modules " +
			"have to be installed. The database is a user's login.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			state, err := readState(args[0], cmd.InOrStdin())
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			if name == "" {
				name = strings.TrimSuffix(filepath.Base(args[0]), filepath.Ext(args[0]))
			}
			c.out = cmd.OutOrStdout()
			if err := c.connect(cmd.Context(), cmd.ErrOrStderr()); err != nil {
				return err
			}
			defer c.conn.Close(context.WithoutCancel(cmd.Context()))
			i := &imported{Configuration: name, Resources: len(state.Resources) + len(state.Elsewhere),
				Left:    []leftState{},
				Outcome: "committed"}
			records, err := c.recordsOfState(cmd.Context(), state, i)
			if err != nil {
				return explained(err)
			}
			i.Records = len(records)
			if preview {
				i.Outcome = "previewed"
			} else if err := c.declareRecords(cmd.Context(), name, records); err != nil {
				return explained(errors.Join(err, c.rollBackOpen(context.WithoutCancel(cmd.Context()))))
			}
			return c.print(i, func() error { return i.write(c.out) })
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	c.declare(flags)
	flags.StringVar(&name, "name", "", "The `configuration`; the name of the file unless given.")
	flags.BoolVar(&preview, "preview", false, "Say what would be mentioned, and declare nothing.")
	flags.BoolVar(&c.JSON, "json", false, "Print JSON.")
	return cmd
}

// readState reads a state from a file, or from standard input.
func readState(path string, stdin io.Reader) (*tfstate.State, error) {
	if path == "-" {
		return tfstate.Parse(stdin)
	}
	file, err := os.Open(path) // #nosec G304 -- the user's own
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return tfstate.Parse(file)
}

// recordsOfState returns the records that the resources of a state are, and notes what is left.
func (c *batchCmd) recordsOfState(ctx context.Context, state *tfstate.State, i *imported) ([]mentioned, error) {
	for _, resource := range state.Elsewhere {
		i.Left = append(i.Left, leftState{resource.Address, "it is no resource of AWS"})
	}
	modules, err := c.modulesOfTables(ctx)
	if err != nil {
		return nil, err
	}
	whys := map[*tfstate.Resource]string{}
	var queries []*stateQuery
	byTable := map[string]*stateQuery{}
	for n := range state.Resources {
		resource := &state.Resources[n]
		whys[resource] = "no table is known for " + resource.Type
		for _, rule := range tfstate.Rules(resource.Type) {
			values, ok := resource.Values(rule)
			switch {
			case !ok:
				whys[resource] = "the state does not say what the cloud calls it"
				continue
			case modules[rule.Table] != "":
				whys[resource] = fmt.Sprintf("its table %s is not there: SELECT * FROM iasql_install('%s')", rule.Table,
					modules[rule.Table])
				continue
			}
			whys[resource] = "the cloud shows no such record of " + rule.Table
			key := resource.Type + " " + rule.Table
			if byTable[key] == nil {
				byTable[key] = &stateQuery{rule: rule, values: make([][]string, len(rule.Columns))}
				queries = append(queries, byTable[key])
			}
			byTable[key].resources = append(byTable[key].resources, resource)
			for column, value := range values {
				byTable[key].values[column] = append(byTable[key].values[column], value)
			}
		}
	}
	var records []mentioned
	for _, q := range queries {
		found, err := q.ask(ctx, c.conn)
		if err != nil {
			return nil, err
		}
		for n, resource := range q.resources {
			switch ids := found[n+1]; len(ids) {
			case 0:
			case 1:
				delete(whys, resource)
				records = append(records, mentioned{q.rule.Table, ids[0]})
			default:
				whys[resource] = fmt.Sprintf("several records of %s are called so: %v", q.rule.Table, ids)
			}
		}
	}
	for n := range state.Resources {
		if why, left := whys[&state.Resources[n]]; left {
			i.Left = append(i.Left, leftState{state.Resources[n].Address, why})
		}
	}
	slices.SortFunc(records, func(a, b mentioned) int {
		if a.table != b.table {
			return strings.Compare(a.table, b.table)
		}
		return int(a.id - b.id)
	})
	return slices.Compact(records), nil
}

// modulesOfTables returns the module of each table that a state can name: "" if the table is there.
func (c *batchCmd) modulesOfTables(ctx context.Context) (map[string]string, error) {
	registry, err := descriptions()
	if err != nil {
		return nil, err
	}
	modules := map[string]string{}
	for _, module := range registry.Modules() {
		for _, resource := range module.Resources {
			modules[resource.Table().Name] = module.Name
		}
	}
	for _, known := range cfn.Known() { // a type of AWS is a module of its own
		modules[known.Name] = known.Name
	}
	rows, err := c.conn.Query(ctx, `SELECT "table" FROM public.iasql_tables`)
	if err != nil {
		return nil, err
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	for _, table := range tables {
		modules[table] = ""
	}
	return modules, err
}

// ask returns the ids of the records by the number of the resource, from 1.
func (q *stateQuery) ask(ctx context.Context, conn *pgx.Conn) (map[int][]int64, error) {
	regions := make([]string, len(q.resources))
	for i, resource := range q.resources {
		regions[i] = resource.Region
	}
	table := pgx.Identifier{"public", q.rule.Table}.Sanitize()
	arrays, names := []string{"$1::text[]"}, []string{"region"}
	args := []any{regions}
	// A table without regions has none in its rows.
	conditions := []string{`(k.region = '' OR coalesce(to_jsonb(t) ->> 'region', k.region) = k.region)`}
	for i, column := range q.rule.Columns {
		args = append(args, q.values[i])
		arrays = append(arrays, fmt.Sprintf("$%d::text[]", len(args)))
		names = append(names, fmt.Sprintf("v%d", i))
		has := "t." + pgx.Identifier{column.Name}.Sanitize() + "::text"
		if column.Table != "" {
			has = fmt.Sprintf(`(SELECT r.%s::text FROM %s r WHERE r.id = t.%s)`, pgx.Identifier{column.Of}.Sanitize(),
				pgx.Identifier{"public", column.Table}.Sanitize(), pgx.Identifier{column.Name}.Sanitize())
		}
		// Names of domains end with a dot here, and without one there.
		conditions = append(conditions, fmt.Sprintf(`rtrim(coalesce(%s, ''), '.') = rtrim(k.v%d, '.')`, has, i))
	}
	rows, err := conn.Query(ctx, fmt.Sprintf(`SELECT k.n, t.id FROM unnest(%s) WITH ORDINALITY k (%s, n) JOIN %s t ON %s`,
		strings.Join(arrays, ", "), strings.Join(names, ", "), table, strings.Join(conditions, " AND ")), args...)
	if err != nil {
		return nil, err
	}
	found := map[int][]int64{}
	var n int
	var id int64
	_, err = pgx.ForEachRow(rows, []any{&n, &id}, func() error {
		found[n] = append(found[n], id)
		return nil
	})
	return found, err
}

// declareRecords declares records as the whole of a configuration, unless that would change something.
func (c *batchCmd) declareRecords(ctx context.Context, name string, records []mentioned) error {
	tables, ids := make([]string, len(records)), make([]int64, len(records))
	for i, r := range records {
		tables[i], ids[i] = r.table, r.id
	}
	for _, s := range []struct {
		sql  string
		args []any
	}{
		{`CALL public.iasql_begin($1)`, []any{"configuration " + name}},
		{`CALL public.iasql_declare($1)`, []any{name}},
		{`SELECT public.iasql_mention(r.t, r.id) FROM unnest($1::text[], $2::bigint[]) r (t, id)`, []any{tables, ids}},
	} {
		if _, err := c.conn.Exec(ctx, s.sql, s.args...); err != nil {
			return err
		}
	}
	var deletes int
	if err := c.conn.QueryRow(ctx, `SELECT count(*) FROM public.iasql_preview() WHERE direction = 'push'`).
		Scan(&deletes); err != nil {
		return err
	}
	if deletes > 0 {
		return &exitError{exitDiffers, fmt.Errorf("configuration %s has %d records already that the state does not "+
			"name, and declaring it anew would delete them: give another --name, or DELETE what is not wanted",
			printable(name), deletes)}
	}
	if _, err := c.conn.Exec(ctx, `CALL public.iasql_declared()`); err != nil {
		return err
	}
	_, err := c.conn.Exec(ctx, `CALL public.iasql_commit('imported from a Terraform state')`)
	return err
}

// write prints it for people.
func (i *imported) write(out io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "configuration %s: %d records of %d resources (%s)\n", printable(i.Configuration), i.Records,
		i.Resources, i.Outcome)
	if len(i.Left) > 0 {
		fmt.Fprintf(&b, "%d resources are not in it:\n", len(i.Left))
	}
	for _, left := range i.Left {
		fmt.Fprintf(&b, "  %s: %s\n", printable(left.Address), printable(left.Why))
	}
	_, err := io.WriteString(out, b.String())
	return err
}
