package adversary

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"iasql/internal/devenv"
	"iasql/internal/test/harness"
	"iasql/internal/test/testdb"
)

// Whatever somebody puts into schema public, nobody's session but those that look
// there on purpose runs it: not the administrator's that prepares and migrates
// the database, not the engine's.
//
// The traps have the names that our own SQL uses, with types that the arguments
// fit better than those of PostgreSQL's functions and operators: pg_catalog comes
// first in every search path, but a better fit wins (manual, sections 10.2 and 10.3).
func TestSearchPath(t *testing.T) {
	t.Parallel()
	database := testdb.Empty(t)
	w := &harness.World{T: t, AdminURL: database}
	mallory := w.Login("mallory")
	w.Admin(`GRANT CREATE ON SCHEMA public TO ` + login(t, mallory))
	trap(w, mallory)

	// From here on as those who do not look into public.
	plain := *w
	plain.AdminURL = pinned(t, database)
	trapped := func(after string) {
		t.Helper()
		unharmed(&plain, after)
	}
	if out, err := run(t, "migrate", "--database-url", database); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	trapped("engine migrate as a superuser")
	engine := setUp(t, database)
	trapped("engine migrate --admin-url")
	engine.AdminURL = plain.AdminURL
	user := engine.Login("user", "iasql_user")
	letConnect(engine, user)
	engine.UserURL = pinned(t, user)
	engine.Serve()
	trapped("engine serve")
	for _, statement := range []string{`SELECT * FROM public.iasql_install('aws_account')`,
		`UPDATE public.aws_regions SET is_enabled = region = 'us-east-1'`,
		`SELECT * FROM public.iasql_install('aws_vpc', 'aws_sqs')`,
		`INSERT INTO public.queue (name) VALUES ('one')`, `SELECT public.iasql_wait_for_all(30)`,
		`SELECT public.iasql_sync_now()`, `CALL public.iasql_begin('test')`,
		`BEGIN; CALL public.iasql_join('test'); UPDATE public.queue SET delay_seconds = 5; COMMIT`,
		`BEGIN; CALL public.iasql_join('test'); CALL public.iasql_commit(); COMMIT`,
		`SELECT * FROM public.iasql_status`, `DELETE FROM public.queue`, `SELECT public.iasql_wait_for_all(30)`,
		`SELECT * FROM public.iasql_uninstall('aws_sqs')`} {
		engine.PSQL(statement)
		trapped(statement)
	}
	if out, err := run(t, "status", "--database-url", database); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	trapped("engine status as a superuser")
	if out, err := run(t, "migrate", "--admin-url", database, "--database-url", engine.EngineURL); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	trapped("a second engine migrate --admin-url")

	// The traps work.
	_, _ = w.TryPSQL(database, `SELECT 'a'::text || 1::oid`)
	if got := plain.Admin(`SELECT is_called FROM public.trapped`); got != "t" {
		t.Error("the traps do not work")
	}
}

// In "engine dev" the login that everybody uses may create in public, and the
// next start is the superuser's.
func TestSearchPathOfDev(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(harness.Temporary(t), "data")
	pg, err := devenv.StartPostgres(context.Background(), devenv.PostgresOptions{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pg.Stop(context.Background()) })
	w := &harness.World{T: t, AdminURL: pinned(t, pg.AdminURL())}
	trap(w, pg.UserURL())
	if err := pg.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	var said harness.Buffer
	dev := exec.Command(harness.Engine(), "dev", "--data-dir", dir, "--pg-port", fmt.Sprint(pg.Port()),
		"--aws-endpoint", "http://127.0.0.1:1")
	dev.Stdout, dev.Stderr = &said, &said
	if err := dev.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = dev.Process.Signal(os.Interrupt)
		_ = dev.Wait()
	})
	for end := time.Now().Add(60 * time.Second); !strings.Contains(said.String(), "ready: "); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("engine dev does not start:\n%s", &said)
		}
	}
	unharmed(w, "engine dev")
	if got := w.Admin(`SELECT string_agg(DISTINCT usename, ',') FROM pg_stat_activity WHERE application_name LIKE 'iasql%'`); got != "iasql_service" {
		t.Errorf("the engine's sessions are of %s", got)
	}
}

// pinned returns the URL with a search path that leads into no trap.
func pinned(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("options", "-c search_path=pg_catalog,pg_temp")
	u.RawQuery = strings.ReplaceAll(q.Encode(), "+", "%20") // libpq takes + as it is
	return u.String()
}

// unharmed fails if anybody has stepped into a trap. The world's administrator
// does not look into public himself.
func unharmed(w *harness.World, after string) {
	w.Helper()
	if got := w.Admin(`SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM public.trapped`); got != "0" {
		w.Errorf("after %s, %s traps were stepped into, by %s", after, got,
			w.Admin(`SELECT string_agg(DISTINCT who || ': ' || what, ', ') FROM public.proof`))
	}
}

var called = regexp.MustCompile(`\b([a-z_][a-z0-9_]*) ?\(`)

// trap has mallory put traps into public. Steps of others are counted by a
// sequence, which no rollback takes back.
func trap(w *harness.World, mallory string) {
	w.Helper()
	var names []string
	for _, pattern := range []string{"../../sql/*.sql", "../../sql/*/*.sql", "../../migrations/*.sql",
		"../../internal/platform/*.go", "../../internal/postgres/*.go", "../../internal/engine/*.go",
		"../../internal/devenv/*.go", "../../internal/modules/*.go", "../../cmd/engine/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			w.Fatalf("%s: %v", pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				w.Fatal(err)
			}
			for _, m := range called.FindAllStringSubmatch(strings.ToLower(string(text)), -1) {
				names = append(names, m[1])
			}
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	for _, known := range []string{"pg_has_role", "format", "has_schema_privilege", "current_setting", "quote_ident"} {
		if !slices.Contains(names, known) {
			w.Fatalf("%s is not among the names that our SQL uses", known)
		}
	}
	list := "'{" + strings.Join(names, ",") + "}'::text[]"
	who := login(w.T, mallory)
	_, err := w.TryPSQL(mallory,
		`CREATE SEQUENCE public.trapped`, `CREATE TABLE public.proof (who text, what text)`,
		`GRANT ALL ON SEQUENCE public.trapped TO PUBLIC`, `GRANT ALL ON public.proof TO PUBLIC`,
		fmt.Sprintf(`CREATE FUNCTION public.step(what text) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog AS $$
			BEGIN
				IF current_user <> '%s' THEN
					PERFORM nextval('public.trapped');
					INSERT INTO public.proof VALUES (current_user, what);
				END IF;
			END $$`, who),
		// Every name that PostgreSQL has, too, with other types.
		`DO $do$
		DECLARE
			types text[] := '{text,name,oid,integer,bigint,varchar,boolean}';
			f record;
			signature text;
		BEGIN
			FOR f IN SELECT DISTINCT ON (p.proname) p.proname, format_type(p.prorettype, NULL) AS result FROM pg_catalog.pg_proc p
					WHERE p.proname = ANY (`+list+
			`) AND p.prokind = 'f' AND p.pronamespace = 'pg_catalog'::regnamespace AND format_type(p.prorettype, NULL) !~ '^"?any|trigger|record|internal|void|cstring'
					ORDER BY p.proname, p.oid LOOP
				FOR signature IN
					SELECT a FROM unnest(types) a UNION ALL SELECT a || ',' || b FROM unnest(types) a, unnest(types) b
					UNION ALL SELECT a || ',' || b || ',' || c FROM unnest(types[1:3]) a, unnest(types[1:3]) b, unnest(types[1:3]) c LOOP
					BEGIN
						EXECUTE format('CREATE FUNCTION public.%I(%s) RETURNS %s LANGUAGE plpgsql SET search_path = pg_catalog AS $f$ BEGIN PERFORM public.step(%L); RETURN NULL; END $f$',
							f.proname, signature, f.result, f.proname || '(' || signature || ')');
					EXCEPTION WHEN others THEN NULL; -- a name that no function may have
					END;
				END LOOP;
			END LOOP;
		END $do$`,
		`DO $do$
		DECLARE
			o record;
		BEGIN
			FOR o IN SELECT op, a, b, row_number() OVER () AS n
					FROM unnest('{||,=,<>,<,>,<=,>=,~~,!~,~,->,->>,?,+,-,*,/,%}'::text[]) op, unnest('{text,name,oid,integer,bigint,varchar,"char",boolean,regclass,regrole}'::text[]) a,
						unnest('{text,name,oid,integer,bigint,varchar,"char",boolean,regclass,regrole}'::text[]) b LOOP
				EXECUTE format('CREATE FUNCTION public.operator_%s(%s, %s) RETURNS %s LANGUAGE plpgsql SET search_path = pg_catalog AS $f$ BEGIN PERFORM public.step(%L); RETURN NULL; END $f$',
					o.n, o.a, o.b, CASE WHEN o.op IN ('||', '->', '->>') THEN 'text' WHEN o.op IN ('+', '-', '*', '/', '%') THEN 'bigint' ELSE 'boolean' END, o.a || ' ' || o.op || ' ' || o.b);
				EXECUTE format('CREATE OPERATOR public.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = public.operator_%s)', o.op, o.a, o.b, o.n);
			END LOOP;
		END $do$`)
	if err != nil {
		w.Fatal(err)
	}
	// Tables and views that are taken for the catalog's, where public comes first.
	for _, view := range []string{"pg_roles", "pg_database", "pg_extension", "pg_namespace", "pg_proc", "pg_class"} {
		if _, err := w.TryPSQL(mallory, `CREATE VIEW public.`+view+` AS SELECT public.step('`+view+`')::text AS oid`); err != nil {
			w.Fatal(err)
		}
	}
}
