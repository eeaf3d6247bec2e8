package console

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Somebody who is in a session of his role already signs in with a token of that
// session, without a password. The engine could not act as him: it is not a member
// of his role, and must not be, or whatever runs in such a session could RESET
// ROLE and be the engine. So an administrator makes a login of the console's own,
// which may do nothing, and makes it a member of the roles that may sign in so:
//
//	CREATE ROLE iasql_console LOGIN NOINHERIT PASSWORD '…';
//	GRANT alice TO iasql_console;
//
// Its sessions SET ROLE before anything else. What runs in them are the console's
// statements with parameters, the product's functions, and what administrators have
// attached to managed tables (policies); nothing of the visitor's own, which could
// RESET ROLE: names are looked up in pg_catalog alone, and code of others on a
// managed table takes rights that nobody is granted. Each connection belongs to one
// session, is asked who it is before it is used, and is never handed to another.

var (
	errNoReader = errors.New("the role is no member of iasql_reader")
	errToken    = errors.New("the token is not good")
	errLogin    = errors.New("the login for tokens must have no rights of its own")
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

// tokens reports whether the console takes tokens.
func (c *Console) tokens() bool { return c.options.TokenURL != "" }

// redeem makes a session of the role that made a token.
func (c *Console) redeem(ctx context.Context, token string) (*session, error) {
	if !c.tokens() || len(token) > 200 {
		return nil, errToken
	}
	role, err := c.take(ctx, token)
	if err != nil {
		return nil, err
	}
	own, err := pgx.ParseConfig(c.options.TokenURL)
	if err != nil {
		return nil, fmt.Errorf("--http-token-url: %w", err)
	}
	login := c.login(own.User, own.Password)
	if err := checkTokenLogin(ctx, login.Copy()); err != nil {
		return nil, err
	}
	made, err := newSession(ctx, login, role)
	if err != nil {
		return nil, err
	}
	if err := made.mayUse(ctx); err != nil {
		made.end()
		return nil, err
	}
	return made, nil
}

// take uses a token up, and returns whose it is.
func (c *Console) take(ctx context.Context, token string) (role string, err error) {
	config := c.base.Copy()
	config.RuntimeParams = map[string]string{"application_name": "iasql console tokens"}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return "", err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, `SET search_path = pg_catalog, pg_temp; SET ROLE iasql_engine`); err != nil {
		return "", err
	}
	err = conn.QueryRow(ctx, `
		WITH used AS (DELETE FROM iasql_internal.console_token t WHERE t.hash = sha256(convert_to($1::text, 'UTF8')) RETURNING t.role, t.login, t.made)
		SELECT r.rolname FROM used u JOIN pg_roles r ON r.oid = u.role JOIN pg_roles l ON l.oid = u.login
		WHERE pg_has_role(l.oid, r.oid, 'MEMBER') AND u.made > clock_timestamp() - interval '5 minutes'`,
		token).Scan(&role)
	if errors.Is(err, pgx.ErrNoRows) {
		err = errToken
	}
	return role, err
}

// checkTokenLogin refuses a login that would have rights where it is not somebody
// else: those are what a session that has lost its role falls back to.
func checkTokenLogin(ctx context.Context, login *pgx.ConnConfig) error {
	conn, err := pgx.ConnectConfig(ctx, login)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var powers bool
	if err := conn.QueryRow(ctx, `
		SELECT r.rolsuper OR r.rolcreaterole OR r.rolbypassrls OR r.rolreplication
			OR EXISTS (SELECT FROM pg_catalog.pg_roles g WHERE g.rolname <> current_user AND pg_catalog.pg_has_role(current_user, g.oid, 'USAGE'))
		FROM pg_catalog.pg_roles r WHERE r.rolname = current_user`).Scan(&powers); err != nil {
		return err
	}
	if powers {
		return errLogin
	}
	return nil
}
