package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"iasql/internal/store"
)

// sizedEdits are the edits after which is measured what one takes.
const sizedEdits = 2000

// measureSizes measures what a record and an edit take on disk and in the write-ahead log. Tables are vacuumed before
// each look, so that what counts is what stays.
func measureSizes(ctx context.Context, url string, sizes []int) error {
	for _, n := range sizes {
		b, err := newBench(ctx, url, n)
		if err != nil {
			return fmt.Errorf("%d objects: %w", n, err)
		}
		err = b.sized(ctx)
		b.pool.Close()
		if err != nil {
			return fmt.Errorf("%d objects: %w", n, err)
		}
	}
	return nil
}

// usage is how much there is of each of the largest relations, with their indexes and what is stored apart, of all of
// the database, and of the log.
type usage struct {
	relations map[string]int64
	all, log  int64
}

func (b *bench) usage(ctx context.Context) (u usage, err error) {
	admin, err := pgx.Connect(ctx, b.url)
	if err != nil {
		return u, err
	}
	defer admin.Close(ctx)
	if _, err := admin.Exec(ctx, `VACUUM (ANALYZE, INDEX_CLEANUP ON)`); err != nil {
		return u, err
	}
	if _, err := admin.Exec(ctx, `CHECKPOINT`); err != nil {
		return u, err
	}
	u.relations = map[string]int64{}
	rows, err := admin.Query(ctx, `
		SELECT c.oid::regclass::text, pg_total_relation_size(c.oid) FROM pg_class c
		WHERE c.relkind = 'r' AND c.relnamespace IN ('public'::regnamespace, 'iasql_internal'::regnamespace)`)
	if err != nil {
		return u, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var size int64
		if err := rows.Scan(&name, &size); err != nil {
			return u, err
		}
		u.relations[name] = size
	}
	if err := rows.Err(); err != nil {
		return u, err
	}
	rows.Close()
	if err := admin.QueryRow(ctx, `SELECT pg_database_size(current_database())`).Scan(&u.all); err != nil {
		return u, err
	}
	u.log, err = b.logged(ctx)
	return u, err
}

// logged is how many bytes have gone into the write-ahead log.
func (b *bench) logged(ctx context.Context) (bytes int64, err error) {
	err = b.pool.QueryRow(ctx, `SELECT pg_current_wal_insert_lsn() - '0/0'`).Scan(&bytes)
	return bytes, err
}

// more says by how much the relations have grown that have grown most, for each of count.
func (u usage) more(before usage, count int) string {
	grown := func(name string) int64 { return (u.relations[name] - before.relations[name]) / int64(count) }
	names := slices.SortedFunc(maps.Keys(u.relations), func(a, b string) int { return cmp.Compare(grown(b), grown(a)) })
	var parts []string
	for _, name := range names {
		if by := grown(name); by >= 10 {
			parts = append(parts, fmt.Sprintf("%s %d", strings.TrimPrefix(name, "iasql_internal."), by))
		}
	}
	return strings.Join(parts, ", ")
}

func (b *bench) sized(ctx context.Context) error {
	empty, err := b.usage(ctx)
	if err != nil {
		return err
	}
	if _, _, _, err := b.run(ctx, store.Full); err != nil {
		return err
	}
	// The log is read before the tables are vacuumed, which writes to it.
	log, err := b.logged(ctx)
	if err != nil {
		return err
	}
	report("a record, imported: write-ahead log", b.n, float64(log-empty.log)/float64(b.n), "bytes", "")

	e, err := b.edit(ctx)
	if err != nil {
		return err
	}
	defer e.stop()
	if err := e.indexed(ctx); err != nil {
		return err
	}
	before, err := b.usage(ctx)
	if err != nil {
		return err
	}
	report("a record, on disk", b.n, float64(before.all-empty.all)/float64(b.n), "bytes", before.more(empty, b.n))
	for range sizedEdits {
		if _, err := e.once(ctx); err != nil {
			return err
		}
		if err := e.settled(ctx); err != nil {
			return err
		}
	}
	if log, err = b.logged(ctx); err != nil {
		return err
	}
	after, err := b.usage(ctx)
	if err != nil {
		return err
	}
	report("an edit, on disk", b.n, float64(after.all-before.all)/sizedEdits, "bytes", after.more(before, sizedEdits))
	report("an edit: write-ahead log", b.n, float64(log-before.log)/sizedEdits, "bytes",
		"with whole pages after a checkpoint")
	return nil
}
