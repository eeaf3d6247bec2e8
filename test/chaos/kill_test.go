package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"iasql/test/faultproxy"
)

// points has engines wait at a kill point that is armed, inside the transaction
// that would take the step: when the engine is dead, that transaction is ended,
// so that the step has not been taken.
const points = `
	CREATE TABLE chaos.armed (step text NOT NULL, kind text NOT NULL);
	CREATE FUNCTION chaos.step() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
	DECLARE
		what text := lower(TG_OP);
	BEGIN
		IF current_setting('application_name') NOT LIKE 'chaos-%' OR NOT EXISTS (SELECT FROM chaos.armed a WHERE a.step = TG_ARGV[0]) THEN
			RETURN NULL;
		END IF;
		CASE TG_TABLE_NAME
			WHEN 'iasql_operations' THEN what := CASE WHEN NEW.replaces THEN 'replacing ' ELSE '' END || NEW.kind;
			WHEN 'iasql_audit_log' THEN what := lower(NEW.change_type);
			ELSE NULL;
		END CASE;
		IF EXISTS (SELECT FROM chaos.armed a WHERE a.step = TG_ARGV[0] AND a.kind = what) THEN
			PERFORM pg_advisory_xact_lock_shared(720720);
		END IF;
		RETURN NULL;
	END
	$$;
	CREATE TRIGGER chaos_begin AFTER INSERT ON iasql_operations FOR EACH ROW EXECUTE FUNCTION chaos.step('journal entry');
	CREATE TRIGGER chaos_finish AFTER UPDATE OF ended ON iasql_operations FOR EACH ROW WHEN (OLD.ended IS NULL AND NEW.ended IS NOT NULL) EXECUTE FUNCTION chaos.step('outcome');
	CREATE TRIGGER chaos_settle AFTER UPDATE OF settled ON iasql_audit_log FOR EACH ROW WHEN (NEW.settled AND NEW.origin = 'user') EXECUTE FUNCTION chaos.step('settling');
	CREATE TRIGGER chaos_state AFTER INSERT OR UPDATE OR DELETE ON iasql_internal.record_state FOR EACH ROW EXECUTE FUNCTION chaos.step('record state');
	CREATE TRIGGER chaos_garbage AFTER INSERT OR DELETE ON iasql_internal.garbage FOR EACH ROW EXECUTE FUNCTION chaos.step('old object');
	CREATE TRIGGER chaos_cycle AFTER INSERT OR UPDATE ON iasql_cycles FOR EACH ROW EXECUTE FUNCTION chaos.step('cycle');
	CREATE TRIGGER chaos_pull_vpc AFTER INSERT OR UPDATE OR DELETE ON vpc FOR EACH ROW EXECUTE FUNCTION chaos.step('pull');
	CREATE TRIGGER chaos_pull_queue AFTER INSERT OR UPDATE OR DELETE ON queue FOR EACH ROW EXECUTE FUNCTION chaos.step('pull');`

// killPoint is a step at which an engine is killed. The steps called "call" and
// "answer" are taken at the endpoint: the journal says that the call is about to
// be made, and it is not; or it had its effect, and the answer is never read.
type killPoint struct {
	step, kind string
	hits       int
}

func killPoints() (all []*killPoint) {
	add := func(step string, kinds ...string) {
		for _, kind := range kinds {
			all = append(all, &killPoint{step: step, kind: kind})
		}
	}
	for _, step := range []string{"journal entry", "call", "answer", "outcome"} {
		add(step, "create", "update", "delete", "replacing create", "replacing delete")
	}
	add("settling", "insert", "update", "delete")
	add("record state", "insert", "update", "delete")
	add("old object", "insert", "delete")
	add("pull", "insert", "update", "delete")
	add("cycle", "insert", "update")
	return all
}

// killer kills engines, at random and at each kill point in turn.
type killer struct {
	w      *world
	points []*killPoint
	kills  int
}

func newKiller(w *world) *killer { return &killer{w: w, points: killPoints()} }

func (k *killer) act(random *rand.Rand, stop <-chan struct{}) {
	next := 0
	for pause(stop, time.Duration(random.IntN(600))*time.Millisecond) {
		if k.w.connected() == 0 { // an engine that starts cannot do anything worth killing it for
			for _, e := range k.w.engines {
				e.ensure()
			}
			continue
		}
		victim := k.w.engines[random.IntN(len(k.w.engines))]
		if random.IntN(4) > 0 {
			p := k.points[next%len(k.points)]
			for i := 0; i < len(k.points) && p.hits > k.leastHits(); i++ {
				next++
				p = k.points[next%len(k.points)]
			}
			next++
			if e := k.at(p, stop); e != nil {
				p.hits++
				victim = e
			}
		}
		victim.kill()
		k.kills++
		for _, e := range k.w.engines {
			if e != victim || random.IntN(2) == 0 {
				e.ensure()
			}
		}
	}
}

func (k *killer) leastHits() int {
	least := k.points[0].hits
	for _, p := range k.points {
		least = min(least, p.hits)
	}
	return least
}

// patience is how long a kill point is waited for.
const patience = 2500 * time.Millisecond

// at waits until an engine is at a kill point, kills it there and returns it;
// nil if none came by.
func (k *killer) at(p *killPoint, stop <-chan struct{}) *engine {
	k.w.quiesce.Lock()
	defer k.w.quiesce.Unlock()
	if p.step == "call" || p.step == "answer" {
		return k.atEndpoint(p, stop)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, k.w.adminURL)
	if err != nil {
		return nil
	}
	defer conn.Close(context.Background()) // gives the lock back, too
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock(720720)`); err != nil {
		return nil
	}
	if _, err := conn.Exec(ctx, `TRUNCATE chaos.armed`); err != nil {
		return nil
	}
	if _, err := conn.Exec(ctx, `INSERT INTO chaos.armed VALUES ($1, $2)`, p.step, p.kind); err != nil {
		return nil
	}
	defer func() { _, _ = conn.Exec(context.Background(), `TRUNCATE chaos.armed`) }()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline) && pause(stop, 10*time.Millisecond); {
		var backend int
		var name string
		err := conn.QueryRow(ctx, `
			SELECT a.pid, a.application_name FROM pg_locks l JOIN pg_stat_activity a USING (pid)
			WHERE l.locktype = 'advisory' AND l.objid = 720720 AND NOT l.granted LIMIT 1`).Scan(&backend, &name)
		if err != nil {
			continue
		}
		e := k.engine(name)
		if e == nil {
			return nil
		}
		e.kill()
		_, _ = conn.Exec(ctx, `SELECT pg_terminate_backend(a.pid) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
			WHERE l.locktype = 'advisory' AND l.objid = 720720 AND NOT l.granted AND a.application_name = $1`, name)
		return e
	}
	return nil
}

func (k *killer) engine(name string) *engine {
	for _, e := range k.w.engines {
		if e.name == name {
			return e
		}
	}
	return nil
}

// atEndpoint kills the engine whose call of the wanted kind comes by.
func (k *killer) atEndpoint(p *killPoint, stop <-chan struct{}) *engine {
	hit := make(chan *engine, 1)
	die := func(e *engine) {
		select {
		case hit <- e:
			e.kill()
		default: // somebody was killed already
		}
	}
	f := func(e *engine, c faultproxy.Call) *faultproxy.Fault {
		var wanted bool
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		err := k.w.admin.QueryRow(ctx, `
			SELECT CASE WHEN replaces THEN 'replacing ' ELSE '' END || kind = $2 FROM iasql_operations
			WHERE ended IS NULL AND action = $1 ORDER BY id DESC LIMIT 1`, c.Action, p.kind).Scan(&wanted)
		if err != nil || !wanted {
			return nil
		}
		if p.step == "call" {
			die(e)
			return &faultproxy.Fault{Cut: true}
		}
		return &faultproxy.Fault{After: func() { die(e) }, Lose: true}
	}
	k.w.weather.point.Store(&f)
	defer k.w.weather.point.Store(nil)
	select {
	case e := <-hit:
		return e
	case <-time.After(patience):
	case <-stop:
	}
	return nil
}

// check sees to it that a run of ten minutes has been at every kill point.
func (k *killer) check(length time.Duration) {
	var missed []string
	for _, p := range k.points {
		if p.hits == 0 {
			missed = append(missed, p.step+" of "+p.kind)
		}
	}
	if len(missed) > 0 && length >= 10*time.Minute {
		k.w.t.Errorf("no engine was killed at: %s", strings.Join(missed, ", "))
	}
}

// String is the table of the kill points.
func (k *killer) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| killed at | of | times |\n|---|---|---|\n")
	for _, p := range k.points {
		fmt.Fprintf(&b, "| %s | %s | %d |\n", p.step, p.kind, p.hits)
	}
	return b.String()
}
