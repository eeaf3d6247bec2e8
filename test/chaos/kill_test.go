package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"iasql/internal/test/faultproxy"
)

// points has engines wait at a kill point that is armed, inside the transaction
// that would take the step: when the engine is dead, that transaction is ended,
// so that the step has not been taken.
const points = `
	CREATE TABLE chaos.armed (number integer NOT NULL, step text NOT NULL, kind text NOT NULL);
	CREATE FUNCTION chaos.step() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
	DECLARE
		what text := lower(TG_OP);
		hit  integer;
	BEGIN
		IF current_setting('application_name') NOT LIKE 'chaos-%' OR NOT EXISTS (SELECT FROM chaos.armed a WHERE a.step = TG_ARGV[0]) THEN
			RETURN NULL;
		END IF;
		CASE TG_TABLE_NAME
			WHEN 'iasql_operations' THEN what := CASE WHEN NEW.replaces THEN 'replacing ' ELSE '' END || NEW.kind;
			WHEN 'iasql_audit_log' THEN what := lower(NEW.change_type);
			ELSE NULL;
		END CASE;
		SELECT a.number INTO hit FROM chaos.armed a WHERE a.step = TG_ARGV[0] AND a.kind = what;
		IF FOUND THEN
			PERFORM pg_advisory_xact_lock_shared(720720, hit);
		END IF;
		RETURN NULL;
	END
	$$;
	CREATE TRIGGER chaos_begin AFTER INSERT ON iasql_operations FOR EACH ROW EXECUTE FUNCTION chaos.step('journal entry');
	CREATE TRIGGER chaos_finish AFTER UPDATE OF ended ON iasql_operations FOR EACH ROW WHEN (OLD.ended IS NULL AND NEW.ended IS NOT NULL) EXECUTE FUNCTION chaos.step('outcome');
	CREATE TRIGGER chaos_request AFTER UPDATE OF request ON iasql_operations FOR EACH ROW WHEN (NEW.request IS DISTINCT FROM OLD.request) EXECUTE FUNCTION chaos.step('request');
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
	// Of what goes on after its answer: its name is being noted, and how far it is is asked.
	// (That are things alone, which have names: an old one goes before the new one is made,
	// by a creation like any other.)
	add("request", "create")
	add("status", "create", "update", "delete", "replacing delete")
	add("settling", "insert", "update", "delete")
	add("record state", "insert", "update", "delete")
	add("old object", "insert", "delete")
	add("pull", "insert", "update", "delete")
	add("cycle", "insert", "update")
	return all
}

// killer kills engines, at random and at each kill point in turn.
type killer struct {
	w        *world
	points   []*killPoint
	kills    int
	patience time.Duration // how long kill points are waited for
}

func newKiller(w *world) *killer {
	return &killer{w: w, points: killPoints(), patience: minPatience}
}

// pace is the time there is for a kill on average: it makes 240 in ten minutes.
const pace = 2500 * time.Millisecond

func (k *killer) behind(began time.Time) bool {
	return !k.w.lull() && k.kills < int(time.Since(began)/pace)
}

// act kills: whoever it may be while it is behind its pace, and otherwise, and in a lull, the
// first that comes by one of the kill points that were hit least, which takes longer.
func (k *killer) act(random *rand.Rand, stop <-chan struct{}) {
	began := time.Now()
	for {
		// Where kills have to be made up for, engines still have time to do something.
		rest := time.Duration(0)
		if k.behind(began) {
			rest = pace / 2
		}
		if !pause(stop, rest+time.Duration(random.IntN(300))*time.Millisecond) {
			return
		}
		if k.w.connected() == 0 { // an engine that starts cannot do anything worth killing it for
			for _, e := range k.w.engines {
				e.ensure()
			}
			continue
		}
		var victim *engine
		if k.behind(began) {
			victim = k.w.engines[random.IntN(len(k.w.engines))]
			victim.kill()
		} else if victim = k.atPoint(stop); victim == nil {
			continue
		} else {
			k.patience = minPatience
		}
		k.kills++
		for _, e := range k.w.engines {
			if e != victim || random.IntN(2) == 0 {
				e.ensure()
			}
		}
	}
}

// The patience doubles when no engine comes by: some points are reached only by
// cycles that take longer.
const minPatience, maxPatience = 4 * time.Second, 32 * time.Second

// atPoint waits until an engine is at one of the kill points that were hit
// least, kills it there and returns it; nil if none came by.
func (k *killer) atPoint(stop <-chan struct{}) *engine {
	k.w.quiesce.Lock()
	defer k.w.quiesce.Unlock()
	patience := k.patience
	k.patience = min(2*patience, maxPatience)
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, k.w.adminURL)
	if err != nil {
		return nil
	}
	defer conn.Close(context.Background())
	least := k.points[0].hits
	for _, p := range k.points {
		least = min(least, p.hits)
	}
	batch := &pgx.Batch{}
	batch.Queue(`DELETE FROM chaos.armed`)
	called := map[string]*killPoint{}
	for i, p := range k.points {
		switch {
		case p.hits > least:
		case p.step == "call", p.step == "answer", p.step == "status":
			called[p.step+" "+p.kind] = p
		default:
			batch.Queue(`SELECT pg_advisory_lock(720720, $1)`, i)
			batch.Queue(`INSERT INTO chaos.armed VALUES ($1, $2, $3)`, i, p.step, p.kind)
		}
	}
	if err := conn.SendBatch(ctx, batch).Close(); err != nil {
		return nil
	}
	defer func() {
		// First the locks: an engine may have come to wait for one, and no deadlock
		// is noticed while the server's clock jumps.
		ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
		defer cancel()
		_, _ = conn.Exec(ctx, `SELECT pg_advisory_unlock_all()`)
		_, _ = conn.Exec(ctx, `DELETE FROM chaos.armed`)
	}()
	killed := k.atEndpoint(called)
	defer k.w.weather.point.Store(nil)
	for deadline := time.Now().Add(patience); time.Now().Before(deadline) && pause(stop, 5*time.Millisecond); {
		select {
		case e := <-killed:
			return e
		default:
		}
		var backend, number int
		var name string
		err := conn.QueryRow(ctx, `
			SELECT a.pid, a.application_name, l.objid::integer FROM pg_locks l JOIN pg_stat_activity a USING (pid)
			WHERE l.locktype = 'advisory' AND l.classid = 720720 AND NOT l.granted LIMIT 1`).Scan(&backend,
			&name, &number)
		if err != nil {
			continue
		}
		e := k.engine(name)
		if e == nil {
			return nil
		}
		e.kill()
		// Its transaction ends with it, before the lock is given back.
		_, _ = conn.Exec(ctx, `SELECT pg_terminate_backend(pid, 2000) FROM pg_stat_activity WHERE application_name = $1`, name)
		k.points[number].hits++
		return e
	}
	return nil
}

// engine returns the engine whose sessions have that application_name: it begins with
// the one that was given, and ends with the engine's id.
func (k *killer) engine(name string) *engine {
	given, _, _ := strings.Cut(name, " ")
	for _, e := range k.w.engines {
		if e.name == given {
			return e
		}
	}
	return nil
}

// atEndpoint has the engine killed whose call is of one of the wanted kinds, and
// tells which it was.
func (k *killer) atEndpoint(points map[string]*killPoint) <-chan *engine {
	killed := make(chan *engine, 1)
	var once sync.Once
	die := func(p *killPoint, e *engine) {
		once.Do(func() {
			e.kill()
			p.hits++
			killed <- e
		})
	}
	f := func(e *engine, c faultproxy.Call) *faultproxy.Fault {
		var kind string
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := k.w.admin.QueryRow(ctx, `
			SELECT CASE WHEN replaces THEN 'replacing ' ELSE '' END || kind FROM iasql_operations
			WHERE ended IS NULL AND (action = $1 OR $1 = 'GetResourceRequestStatus' AND action IN ('CreateResource', 'UpdateResource', 'DeleteResource')) ORDER BY id DESC LIMIT 1`, c.Action).Scan(&kind); err != nil {
			return nil
		}
		if c.Action == "GetResourceRequestStatus" {
			if p := points["status "+kind]; p != nil {
				die(p, e)
				return &faultproxy.Fault{Cut: true}
			}
			return nil
		}
		if p := points["call "+kind]; p != nil {
			die(p, e)
			return &faultproxy.Fault{Cut: true}
		}
		if p := points["answer "+kind]; p != nil {
			return &faultproxy.Fault{After: func() { die(p, e) }, Lose: true}
		}
		return nil
	}
	if len(points) > 0 {
		k.w.weather.point.Store(&f)
	}
	return killed
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
