package console

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"

	"github.com/jackc/pgx/v5"
)

// sqlNames is what the page of SQL completes: the relations that the visitor may read, with
// the columns of each that he may read, and the product's functions that he may call.
type sqlNames struct {
	Tables    []namedTable `json:"tables"`
	Functions []string     `json:"functions"`
}

type namedTable struct {
	Name    string   `json:"name"`
	Columns []string `json:"columns"`
}

// sqlNames sends the names. A browser that has them asks whether they are still the same.
func (c *Console) sqlNames(v *visit) {
	names := sqlNames{Functions: []string{}}
	err := v.session.read(v.ctx(), func(tx pgx.Tx) error {
		rows, err := tx.Query(v.ctx(), `
			SELECT c.relname, array_agg(a.attname::text ORDER BY a.attnum)
			FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
			WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'v', 'm', 'p', 'f') AND has_column_privilege(c.oid, a.attnum, 'SELECT')
			GROUP BY c.oid, c.relname ORDER BY c.relname LIMIT 5000`)
		if err != nil {
			return err
		}
		names.Tables, err = pgx.CollectRows(rows, pgx.RowToStructByPos[namedTable])
		if err != nil {
			return err
		}
		rows, err = tx.Query(v.ctx(), `SELECT DISTINCT p.proname::text FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace AND p.prorettype <> 'trigger'::regtype AND has_function_privilege(p.oid, 'EXECUTE') ORDER BY 1 LIMIT 2000`)
		if err != nil {
			return err
		}
		names.Functions, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	if err != nil {
		v.failed(err)
		return
	}
	text, err := json.Marshal(names)
	if err != nil {
		v.failed(err)
		return
	}
	sum := sha256.Sum256(append([]byte(v.session.role+"\x00"), text...))
	tag := `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`
	v.w.Header().Set("ETag", tag)
	v.w.Header().Set("Cache-Control", "private, no-cache")
	if v.r.Header.Get("If-None-Match") == tag {
		v.w.WriteHeader(http.StatusNotModified)
		return
	}
	v.w.Header().Set("Content-Type", "application/json")
	_, _ = v.w.Write(text) // #nosec G705 -- it is JSON, and is said to be
}
