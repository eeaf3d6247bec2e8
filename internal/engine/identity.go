package engine

import (
	"context"
	"fmt"

	"iasql/internal/decide"
	"iasql/internal/modules"
	"iasql/internal/platform"
)

// errorHeld is the SQLSTATE of what was asked about an account of which nothing is done (R27).
const errorHeld = "IA061"

// heldError says that nothing is done about an account, and why.
func heldError(account, why string) error {
	return &platform.UserError{Code: errorHeld, Message: fmt.Sprintf("account %s: %s", account, why),
		Hint: "SELECT * FROM iasql_worlds shows who each account says it is, and who it was."}
}

// identify fails unless an account is who it was, and something may be changed in it if that is to be done: cycles ask
// by themselves, and functions of modules by this.
func (e *Engine) identify(ctx context.Context, account string, acts bool) error {
	if len(e.worlds) == 0 {
		return nil
	}
	var was, restored, provider, moving string
	if err := e.pool.QueryRow(ctx, `
		SELECT coalesce((SELECT identity FROM iasql_internal.world WHERE account = $1), ''), coalesce((SELECT restored_why FROM iasql_internal.server_seen), ''),
		       coalesce((SELECT provider FROM iasql_internal.account WHERE name = $1), ''),
		       coalesce((SELECT cell FROM iasql_internal.moving WHERE account = $1), '')`,
		account).Scan(&was, &restored, &provider, &moving); err != nil {
		return fmt.Errorf("read who account %s is: %w", account, err)
	}
	if acts && e.options.PullOnly {
		return heldError(account, "this engine was started with --read-only")
	}
	if moving != "" && acts {
		return heldError(account, "it is moving to or from cell "+moving)
	}
	if restored != "" && acts {
		return heldError(account, restored)
	}
	world := e.worlds[provider]
	if world == nil {
		return nil
	}
	said, err := world.Identify(ctx, modules.Scope{Account: account}, false)
	switch v := decide.Judge(was, said, err); {
	case v.Held == "":
		return nil
	case err != nil:
		return err
	default:
		return heldError(account, v.Held)
	}
}
