package hostfiles

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"iasql/internal/hosts"
)

// Querier is what [SecretContents] needs of a pool or a connection.
type Querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// SecretContents returns the secret contents that the database keeps. The connection's role must be allowed to read
// secrets, as is iasql_engine.
func SecretContents(db Querier) hosts.SecretContents { return secretContents{db} }

type secretContents struct{ db Querier }

// Sent implements [hosts.SecretContents]. It forgets what nobody asks for any more, and makes the host's key if there
// is none.
func (s secretContents) Sent(ctx context.Context, host string) (sent *hosts.SentContents, err error) {
	failed := func(err error) error { return fmt.Errorf("read which secret contents host %s has: %w", host, err) }
	sent = &hosts.SentContents{Versions: map[string]map[string]string{}}
	if _, err = s.db.Exec(ctx, `SELECT iasql_internal.host_file_forget()`); err != nil {
		return nil, failed(err)
	}
	if sent.Key, err = s.key(ctx, host); err != nil {
		return nil, failed(err)
	}
	rows, err := s.db.Query(ctx, `
		SELECT key, sha256, version FROM iasql_internal.kept_secret
		WHERE table_name = 'host_file' AND account = $1 AND sent IS NOT NULL ORDER BY sent`, host)
	if err != nil {
		return nil, failed(err)
	}
	var path, sum, version string
	_, err = pgx.ForEachRow(rows, []any{&path, &sum, &version}, func() error {
		if sent.Versions[path] == nil {
			sent.Versions[path] = map[string]string{}
		}
		sent.Versions[path][sum] = version
		return nil
	})
	if err != nil {
		return nil, failed(err)
	}
	return sent, nil
}

// key returns the host's key, which it makes if there is none.
func (s secretContents) key(ctx context.Context, host string) (key []byte, err error) {
	err = s.db.QueryRow(ctx, `SELECT convert_to(value, 'UTF8') FROM iasql_internal.account_secret
		WHERE table_name = 'host_file' AND account = $1 AND column_name = 'content_version'`, host).Scan(&key)
	if !errors.Is(err, pgx.ErrNoRows) {
		return key, err
	}
	// Two random UUIDs have 244 bits that nobody knows. A host that is being deleted gets no key that would outlive it.
	err = s.db.QueryRow(ctx, `
		INSERT INTO iasql_internal.account_secret AS s (table_name, account, column_name, value)
		SELECT 'host_file', h.name, 'content_version', gen_random_uuid()::text || gen_random_uuid()::text
		FROM public.host AS h WHERE h.name = $1 FOR KEY SHARE
		ON CONFLICT (table_name, account, column_name) DO UPDATE SET value = s.value
		RETURNING convert_to(value, 'UTF8')`, host).Scan(&key)
	return key, err
}

// keptVersions is how many contents of a file are kept that were sent.
const keptVersions = 10

// Take implements [hosts.SecretContents].
func (s secretContents) Take(ctx context.Context, host, path, version string) (content string, kept bool, err error) {
	err = s.db.QueryRow(ctx, `
		WITH of_file AS (
			SELECT version, sent, row_number() OVER (ORDER BY sent DESC) AS age FROM iasql_internal.kept_secret
			WHERE table_name = 'host_file' AND account = $1 AND key = $2 AND sent IS NOT NULL AND version <> $3
		), forgotten AS (
			DELETE FROM iasql_internal.kept_secret
			WHERE table_name = 'host_file' AND account = $1 AND key = $2
				AND version IN (SELECT version FROM of_file WHERE age >= $4)
		)
		UPDATE iasql_internal.kept_secret SET sent = (SELECT coalesce(max(sent), 0) + 1 FROM of_file)
		WHERE table_name = 'host_file' AND account = $1 AND key = $2 AND version = $3
		RETURNING value`, host, path, version, keptVersions).Scan(&content)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("read a secret content of host %s: %w", host, err)
	}
	return content, true, nil
}
