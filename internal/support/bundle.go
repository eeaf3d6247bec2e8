package support

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"iasql/internal/metrics"
	"iasql/internal/postgres"
)

// Part is one file of a bundle.
type Part struct {
	Name string // of the file
	What string // it has
	Text []byte
	Err  error // why it could not be read; Text says so, too
}

// Extra is a part that somebody else reads.
type Extra struct {
	Name, What string
	Read       func(ctx context.Context) (string, error)
	// Metrics: it is in Prometheus' text format, and has names that people have given.
	Metrics bool
}

// Options say what to gather.
type Options struct {
	Version     string // of this program, with its commit
	DatabaseURL string
	// Tables are the names of the tables that the product brings.
	Tables []string
	// Extras are further parts, whose text may be given away but for names in metrics.
	Extras []Extra
	// Limit is how long a part may take; 0 means 15 seconds.
	Limit time.Duration
	// Only is the name of the only part to read; "": all.
	Only string
}

// NamesOfParts are the names of all parts, in their order.
func (o *Options) NamesOfParts() []string {
	names := []string{"about"}
	for _, q := range queries {
		names = append(names, q.name)
	}
	names = append(names, "records", "metrics")
	for _, e := range o.Extras {
		names = append(names, e.Name)
	}
	return names
}

// gatherer is a bundle under way.
type gatherer struct {
	Options
	pool  *pgxpool.Pool
	away  error // why there is no pool
	scrub scrubber
}

// Gather reads the parts. What cannot be read is in its part as the error; it fails only if there is no part of the
// name that was asked for, or if ctx ends.
func Gather(ctx context.Context, o Options) ([]Part, error) {
	if o.Only != "" && !slices.Contains(o.NamesOfParts(), o.Only) {
		return nil, fmt.Errorf("there is no part %q: there are %s", o.Only, strings.Join(o.NamesOfParts(), ", "))
	}
	if o.Limit == 0 {
		o.Limit = 15 * time.Second
	}
	g := &gatherer{Options: o, scrub: scrubber{tables: map[string]bool{}}}
	for _, name := range o.Tables {
		g.scrub.tables[name] = true
	}
	g.connect(ctx)
	if g.pool != nil {
		defer g.pool.Close()
	}
	var parts []Part
	add := func(name, suffix, what string, read func(context.Context) (string, error)) {
		if o.Only == "" || o.Only == name {
			parts = append(parts, g.read(ctx, name, suffix, what, read))
		}
	}
	for i := range queries {
		q := &queries[i]
		add(q.name, ".csv", q.what, func(ctx context.Context) (string, error) { return g.rows(ctx, q.kinds, q.sql) })
	}
	add("records", ".csv", "how many records each table has, 100000 at most", g.records)
	add("metrics", ".txt", "what Prometheus is told of the installation", g.metrics)
	for _, e := range o.Extras {
		add(e.Name, ".txt", e.What, func(ctx context.Context) (string, error) {
			text, err := e.Read(ctx)
			if e.Metrics {
				text = g.scrub.metrics(text)
			}
			return text, err
		})
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if o.Only == "" || o.Only == "about" {
		parts = slices.Insert(parts, 0, Part{Name: "about.txt", What: "what this is, and what was left out",
			Text: g.about(parts)})
	}
	return parts, nil
}

// connect opens the database, in which nothing can be written, and reads by which key its pseudonyms are made.
func (g *gatherer) connect(ctx context.Context) {
	g.scrub.key = []byte(rand.Text())
	ctx, cancel := context.WithTimeout(ctx, g.Limit)
	defer cancel()
	if g.pool, g.away = postgres.ConnectReadOnly(ctx, g.DatabaseURL, g.Limit); g.away != nil {
		return
	}
	var id string
	if err := g.pool.QueryRow(ctx, `SELECT i.id::text FROM iasql_internal.installation i`).Scan(&id); err == nil {
		g.scrub.key = []byte(id)
	}
}

// read reads a part, within its time.
func (g *gatherer) read(ctx context.Context, name, suffix, what string,
	read func(context.Context) (string, error)) Part {
	ctx, cancel := context.WithTimeout(ctx, g.Limit)
	defer cancel()
	text, err := read(ctx)
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("not read within %s", g.Limit)
		} else {
			err = errors.New(redact(err.Error()))
		}
		text += fmt.Sprintf("this part could not be read: %v\n", err)
	}
	return Part{Name: name + suffix, What: what, Text: []byte(text), Err: err}
}

// rows runs a query in a transaction that only reads, and returns what may be given away of its rows.
func (g *gatherer) rows(ctx context.Context, kinds []Kind, sql string) (string, error) {
	if g.away != nil {
		return "", g.away
	}
	var text bytes.Buffer
	err := pgx.BeginTxFunc(ctx, g.pool, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		found, err := tx.Query(ctx, sql)
		if err != nil {
			return err
		}
		defer found.Close()
		out := csv.NewWriter(&text)
		line := make([]string, len(found.FieldDescriptions()))
		into := make([]any, len(line))
		values := make([]*string, len(line))
		for i, field := range found.FieldDescriptions() {
			line[i], into[i] = field.Name, &values[i]
		}
		if err := out.Write(line); err != nil {
			return err
		}
		for found.Next() {
			if err := found.Scan(into...); err != nil {
				return err
			}
			for i, v := range values {
				line[i] = ""
				if v != nil {
					line[i] = g.scrub.scrub(kindOf(kinds, i), *v)
				}
			}
			if err := out.Write(line); err != nil {
				return err
			}
		}
		out.Flush()
		return errors.Join(found.Err(), out.Error())
	})
	return text.String(), err
}

// kindOf is the kind of a column: Plain where a part says no more.
func kindOf(kinds []Kind, i int) Kind {
	if i < len(kinds) {
		return kinds[i]
	}
	return Plain
}

// records counts the records of each table, by one query.
func (g *gatherer) records(ctx context.Context) (string, error) {
	if g.away != nil {
		return "", g.away
	}
	var sql string
	if err := g.pool.QueryRow(ctx, `
		SELECT coalesce(string_agg(format('SELECT %L::text AS table_name, (SELECT count(*) FROM (SELECT FROM public.%I LIMIT 100000) r)::text AS records', m.name, m.name), ' UNION ALL ' ORDER BY m.name),
		       'SELECT NULL::text AS table_name, NULL::text AS records WHERE false')
		FROM iasql_internal.managed_table m WHERE to_regclass(format('public.%I', m.name)) IS NOT NULL`).Scan(&sql); err != nil {
		return "", err
	}
	return g.rows(ctx, []Kind{Table}, sql)
}

// metrics returns what each engine tells of the installation.
func (g *gatherer) metrics(ctx context.Context) (string, error) {
	if g.away != nil {
		return "", g.away
	}
	text, err := metrics.OfInstallation(ctx, g.pool)
	return g.scrub.metrics(text), err
}

// about says what the bundle is.
func (g *gatherer) about(parts []Part) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, `Support bundle of iasql
made %s by engine %s

Everything was read in transactions that only read. No part has a column of a record, a statement of a session,
a password or a key.

- account-…, role-…, host-…, table-… and name-… stand for names that people have given. The same name has the same
  pseudonym in each bundle of this installation. The tables that come with iasql keep their names.
- Of free text, such as an error, there are the words that the documentation of iasql has, and the codes of errors.
  … stands for all else.
- Numbers of records (record_id) are those of the tables.

`, time.Now().UTC().Format(time.RFC3339), g.Version)
	for _, p := range parts {
		fmt.Fprintf(&b, "%-18s %s\n", p.Name, p.What)
		if p.Err != nil {
			fmt.Fprintf(&b, "%-18s could not be read: %v\n", "", p.Err)
		}
	}
	return []byte(b.String())
}
