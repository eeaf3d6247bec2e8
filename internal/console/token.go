package console

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

var (
	errNoReader = errors.New("the role is no member of iasql_reader")
	errToken    = errors.New("the token is not good")
)

// mayUse fails with errNoReader for a role that could not see a single page.
func (s *session) mayUse(ctx context.Context) error {
	var may bool
	err := s.read(ctx, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `SELECT coalesce(has_table_privilege(to_regclass('public.iasql_tables'), 'SELECT') AND has_schema_privilege('iasql_internal', 'USAGE'), false)`).Scan(&may)
	})
	if err == nil && !may {
		err = errNoReader
	}
	return err
}

// redeem is replaced once tokens are there.
func (c *Console) redeem(ctx context.Context, token string) (*session, error) {
	return nil, errToken
}
