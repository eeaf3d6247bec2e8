package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
)

// users is how many SQL users edit at once; each has records of its own.
const users = 3

// notes is where the SQL users write down what they want, in the transaction
// that asks for it: what is noted was committed, and nothing else was.
const notes = `
	CREATE SCHEMA chaos;
	CREATE TABLE chaos.object (
		name   text PRIMARY KEY, -- tag Name; for a queue or table, what it was first called
		kind   text NOT NULL,
		parent text REFERENCES chaos.object,
		owner  integer NOT NULL,
		shared boolean NOT NULL DEFAULT false, -- the outsider edits it too; never deleted
		gone   boolean NOT NULL DEFAULT false,
		record bigint,
		batch   text, -- it was made in, if that is still open
		gone_in text, -- batch that it was deleted in, if that is still open
		unsure  boolean NOT NULL DEFAULT false -- a batch was rolled back in part
	);
	CREATE TABLE chaos.wish (
		id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
		object text NOT NULL,
		field  text NOT NULL,
		value  text NOT NULL,
		batch  text -- if that is still open
	);
	CREATE INDEX ON chaos.wish (object, field, id);
	CREATE SEQUENCE chaos.number;
	GRANT USAGE ON SCHEMA chaos TO iasql;
	GRANT ALL ON ALL TABLES IN SCHEMA chaos TO iasql;
	GRANT ALL ON ALL SEQUENCES IN SCHEMA chaos TO iasql`

// lull reports whether it is the last quarter of a minute, in which everybody rests, as
// people do, and the cloud has no faults: full cycles come to their ends then, in which what
// was deleted outside is noticed. A run of less than a minute has none.
func (w *world) lull() bool { return time.Since(w.began)%time.Minute >= 45*time.Second }

// user edits until it is told to stop. A transaction that fails is forgotten:
// its notes went with it.
func (w *world) user(number int, random *rand.Rand, stop <-chan struct{}) {
	for pause(stop, time.Duration(50+random.IntN(500))*time.Millisecond) {
		if w.lull() {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		err := pgx.BeginFunc(ctx, w.users, func(tx pgx.Tx) error {
			s := &session{ctx: ctx, tx: tx, number: number, random: random}
			if err := s.edit(); err != nil {
				return err
			}
			switch random.IntN(10) {
			case 0: // long open
				time.Sleep(time.Duration(random.IntN(2000)) * time.Millisecond)
			case 1: // thought better of
				return pgx.ErrTxClosed
			}
			return nil
		})
		cancel()
		if err == nil {
			w.edits.Add(1)
		} else if !errors.Is(err, pgx.ErrTxClosed) {
			w.refused(err)
		}
	}
}

// session is one transaction of a user.
type session struct {
	ctx    context.Context
	tx     pgx.Tx
	number int
	random *rand.Rand
	batch  string // that it works in; "" for none
}

func (s *session) exec(sql string, args ...any) error {
	_, err := s.tx.Exec(s.ctx, sql, args...)
	return err
}

func (s *session) scalar(into any, sql string, args ...any) error {
	return s.tx.QueryRow(s.ctx, sql, args...).Scan(into)
}

// fresh returns a number that was never used.
func (s *session) fresh() (n int, err error) {
	err = s.scalar(&n, `SELECT nextval('chaos.number')`)
	return n, err
}

// note notes an object, and what its fields shall be.
func (s *session) note(name, kind, parent string, shared bool, record int64, fields map[string]string) error {
	if err := s.exec(`INSERT INTO chaos.object (name, kind, parent, owner, shared, record, batch) VALUES ($1, $2, nullif($3, ''), $4, $5, $6, nullif($7, ''))`,
		name, kind, parent, s.number, shared, record, s.batch); err != nil {
		return err
	}
	return s.wish(name, fields)
}

func (s *session) wish(name string, fields map[string]string) error {
	for field, value := range fields {
		if err := s.exec(`INSERT INTO chaos.wish (object, field, value, batch) VALUES ($1, $2, $3, nullif($4, ''))`,
			name, field, value, s.batch); err != nil {
			return err
		}
	}
	return nil
}

// pick returns one of the user's own objects of a kind.
func (s *session) pick(kind string, deletable bool) (name string, record int64, ok bool, err error) {
	err = s.tx.QueryRow(s.ctx, `
		SELECT name, record FROM chaos.object WHERE owner = $1 AND kind = $2 AND NOT gone AND NOT (shared AND $3)
		ORDER BY random() LIMIT 1`, s.number, kind, deletable).Scan(&name, &record)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", 0, false, nil
	}
	return name, record, err == nil, err
}

func (s *session) count(kind string) (n int, err error) {
	err = s.scalar(&n, `SELECT count(*) FROM chaos.object WHERE owner = $1 AND kind = $2 AND NOT gone`, s.number, kind)
	return n, err
}

// shared decides whether a new object is shared with the outsider: up to most of
// a kind are.
func (s *session) shared(kind string, most int) (shared bool, err error) {
	err = s.scalar(&shared, `SELECT count(*) < $3 FROM chaos.object WHERE owner = $1 AND kind = $2 AND shared`,
		s.number, kind, most)
	return shared && s.random.IntN(3) == 0, err
}

func (s *session) edit() error {
	type step struct {
		weight int
		do     func() error
	}
	steps := []step{
		{3, s.createNetwork}, {3, s.createSubnet}, {3, s.createGroup}, {4, s.createQueue},
		{3, s.tagNetwork}, {4, s.changeSubnet}, {3, s.moveSubnet}, {3, s.tagGroup}, {3, s.describeGroup},
		{5, s.changeQueue}, {5, s.renameQueue}, {3, s.changeForeignQueue},
		{2, s.createTable}, {3, s.tagTable},
		{8, s.createThing}, {8, s.changeThing},
		{2, s.deleteSubnet}, {2, s.deleteGroup}, {3, s.deleteQueue},
	}
	if s.batch == "" { // what is deleted comes back empty, or as another, if a batch is undone
		steps = append(steps, step{1, s.renameTable}, step{1, s.deleteTable}, step{1, s.deleteNetwork},
			step{4, s.renameThing}, step{4, s.deleteThing}, step{3, s.expireQueue}, step{2, s.pauseQueue})
	}
	sum := 0
	for _, st := range steps {
		sum += st.weight
	}
	roll := s.random.IntN(sum)
	for _, st := range steps {
		if roll -= st.weight; roll < 0 {
			return st.do()
		}
	}
	return nil
}

func (s *session) word() string { return fmt.Sprintf("w%d", s.random.IntN(1_000_000)) }

func (s *session) createNetwork() error {
	if n, err := s.count("vpc"); err != nil || n >= 3 {
		return err
	}
	n, err := s.fresh()
	if err != nil {
		return err
	}
	shared, err := s.shared("vpc", 1)
	if err != nil {
		return err
	}
	name, word := fmt.Sprintf("a%d-vpc", n), s.word()
	var id int64
	if err := s.scalar(&id, `INSERT INTO vpc (cidr_block, tags) VALUES ($1, jsonb_build_object('Name', $2::text, 'v', $3::text)) RETURNING id`,
		fmt.Sprintf("10.%d.0.0/16", n%250), name, word); err != nil {
		return err
	}
	if err := s.note(name, "vpc", "", shared, id, map[string]string{"v": word}); err != nil {
		return err
	}
	if err := s.addSubnet(name, id); err != nil {
		return err
	}
	return s.addGroup(name, id)
}

func (s *session) createSubnet() error {
	name, id, ok, err := s.pick("vpc", false)
	if n, cerr := s.count("subnet"); cerr != nil || !ok || n >= 8 {
		return errors.Join(err, cerr)
	}
	return s.addSubnet(name, id)
}

// subnetRange is a part of the VPC's network that none of its subnets has had.
func (s *session) subnetRange(vpc int64, n int) (cidr string, err error) {
	var network string
	if err := s.scalar(&network, `SELECT host(cidr_block) FROM vpc WHERE id = $1`, vpc); err != nil {
		return "", err
	}
	var a, b, c, d int
	if _, err := fmt.Sscanf(network, "%d.%d.%d.%d", &a, &b, &c, &d); err != nil {
		return "", err
	}
	n %= 4096 // subnets of 16 addresses
	return fmt.Sprintf("%d.%d.%d.%d/28", a, b, n/16, n%16*16), nil
}

func (s *session) addSubnet(vpc string, id int64) error {
	n, err := s.fresh()
	if err != nil {
		return err
	}
	cidr, err := s.subnetRange(id, n)
	if err != nil {
		return err
	}
	name, word := fmt.Sprintf("a%d-subnet", n), s.word()
	var record int64
	if err := s.scalar(&record, `INSERT INTO subnet (vpc_id, cidr_block, tags) VALUES ($1, $2, jsonb_build_object('Name', $3::text, 'v', $4::text)) RETURNING id`,
		id, cidr, name, word); err != nil {
		return err
	}
	return s.note(name, "subnet", vpc, false, record, map[string]string{"v": word, "cidr": cidr, "public": "false"})
}

func (s *session) createGroup() error {
	name, id, ok, err := s.pick("vpc", false)
	if n, cerr := s.count("group"); cerr != nil || !ok || n >= 8 {
		return errors.Join(err, cerr)
	}
	return s.addGroup(name, id)
}

func (s *session) addGroup(vpc string, id int64) error {
	n, err := s.fresh()
	if err != nil {
		return err
	}
	name, word := fmt.Sprintf("a%d-group", n), s.word()
	var record int64
	if err := s.scalar(&record, `INSERT INTO security_group (group_name, description, vpc_id, tags) VALUES ($1, $2, $3, jsonb_build_object('Name', $1::text, 'v', $2::text)) RETURNING id`,
		name, word, id); err != nil {
		return err
	}
	return s.note(name, "group", vpc, false, record, map[string]string{"v": word, "description": word})
}

func (s *session) createQueue() error {
	if n, err := s.count("queue"); err != nil || n >= 6 {
		return err
	}
	n, err := s.fresh()
	if err != nil {
		return err
	}
	shared, err := s.shared("queue", 2)
	if err != nil {
		return err
	}
	name, seconds := fmt.Sprintf("a%d-queue", n), s.random.IntN(40000)
	var record int64
	if err := s.scalar(&record, `INSERT INTO queue (name, visibility_timeout) VALUES ($1, $2) RETURNING id`, name,
		seconds); err != nil {
		return err
	}
	return s.note(name, "queue", "", shared, record, map[string]string{"name": name, "visibility": fmt.Sprint(seconds)})
}

// createTable makes what holds data.
func (s *session) createTable() error {
	if n, err := s.count("table"); err != nil || n >= 4 {
		return err
	}
	n, err := s.fresh()
	if err != nil {
		return err
	}
	name, word := fmt.Sprintf("a%d-table", n), s.word()
	var record int64
	if err := s.scalar(&record, `INSERT INTO dynamo_table (table_name, primary_key, tags) VALUES ($1, '{"id": "S"}', jsonb_build_object('v', $2::text)) RETURNING id`, name, word); err != nil {
		return err
	}
	return s.note(name, "table", "", false, record, map[string]string{"name": name, "v": word})
}

func (s *session) tagTable() error {
	return s.change("table", false, func(_ string, id int64) (map[string]string, error) {
		word := s.word()
		return map[string]string{"v": word},
			s.update(`UPDATE dynamo_table SET tags = tags || jsonb_build_object('v', $2::text) WHERE id = $1`, id, word)
	})
}

// renameTable gives a table another name, which replaces it.
func (s *session) renameTable() error {
	return s.change("table", true, func(_ string, id int64) (map[string]string, error) {
		n, err := s.fresh()
		if err != nil {
			return nil, err
		}
		if _, err := s.tx.Exec(s.ctx, `SET LOCAL iasql.allow_replace = 'on'`); err != nil {
			return nil, err
		}
		name := fmt.Sprintf("a%d-table", n)
		return map[string]string{"name": name},
			s.update(`UPDATE dynamo_table SET table_name = $2 WHERE id = $1`, id, name)
	})
}

// change updates one of the user's objects of a kind.
func (s *session) change(kind string, deletable bool,
	do func(name string, record int64) (map[string]string, error)) error {
	name, record, ok, err := s.pick(kind, deletable)
	if err != nil || !ok {
		return err
	}
	fields, err := do(name, record)
	if err != nil {
		return err
	}
	return s.wish(name, fields)
}

// update runs an UPDATE that must find its record.
func (s *session) update(sql string, args ...any) error {
	tag, err := s.tx.Exec(s.ctx, sql, args...)
	if err == nil && tag.RowsAffected() != 1 {
		return fmt.Errorf("%s %v: %d records, not 1: one was lost", sql, args, tag.RowsAffected())
	}
	return err
}

func (s *session) tagNetwork() error {
	return s.change("vpc", false, func(_ string, id int64) (map[string]string, error) {
		word := s.word()
		return map[string]string{"v": word},
			s.update(`UPDATE vpc SET tags = tags || jsonb_build_object('v', $2::text) WHERE id = $1`, id, word)
	})
}

func (s *session) changeSubnet() error {
	return s.change("subnet", false, func(_ string, id int64) (map[string]string, error) {
		word, public := s.word(), s.random.IntN(2) == 0
		return map[string]string{"v": word, "public": fmt.Sprint(public)},
			s.update(`UPDATE subnet SET tags = tags || jsonb_build_object('v', $2::text), map_public_ip_on_launch = $3 WHERE id = $1`, id, word, public)
	})
}

// moveSubnet gives a subnet another network, which replaces it.
func (s *session) moveSubnet() error {
	return s.change("subnet", false, func(_ string, id int64) (map[string]string, error) {
		n, err := s.fresh()
		if err != nil {
			return nil, err
		}
		var vpc int64
		if err := s.scalar(&vpc, `SELECT vpc_id FROM subnet WHERE id = $1`, id); err != nil {
			return nil, err
		}
		cidr, err := s.subnetRange(vpc, n)
		if err != nil {
			return nil, err
		}
		return map[string]string{"cidr": cidr}, s.update(`UPDATE subnet SET cidr_block = $2 WHERE id = $1`, id, cidr)
	})
}

func (s *session) tagGroup() error {
	return s.change("group", false, func(_ string, id int64) (map[string]string, error) {
		word := s.word()
		return map[string]string{"v": word},
			s.update(`UPDATE security_group SET tags = tags || jsonb_build_object('v', $2::text) WHERE id = $1`, id,
				word)
	})
}

// describeGroup gives a security group another description, which replaces it.
func (s *session) describeGroup() error {
	return s.change("group", false, func(_ string, id int64) (map[string]string, error) {
		word := s.word()
		return map[string]string{"description": word},
			s.update(`UPDATE security_group SET description = $2 WHERE id = $1`, id, word)
	})
}

func (s *session) changeQueue() error {
	return s.change("queue", false, func(_ string, id int64) (map[string]string, error) {
		seconds := s.random.IntN(40000)
		return map[string]string{"visibility": fmt.Sprint(seconds)},
			s.update(`UPDATE queue SET visibility_timeout = $2 WHERE id = $1`, id, seconds)
	})
}

// renameQueue gives a queue another name, which replaces it.
func (s *session) renameQueue() error {
	return s.change("queue", true, func(_ string, id int64) (map[string]string, error) {
		n, err := s.fresh()
		if err != nil {
			return nil, err
		}
		name := fmt.Sprintf("a%d-queue", n)
		return map[string]string{"name": name}, s.update(`UPDATE queue SET name = $2 WHERE id = $1`, id, name)
	})
}

// changeForeignQueue edits a queue that the outsider made and edits as well, in
// another column.
func (s *session) changeForeignQueue() error {
	var name string
	err := s.scalar(&name, `SELECT name FROM queue WHERE name LIKE 'b%-lasting-`+fmt.Sprint(s.number)+
		`' ORDER BY random() LIMIT 1`)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	seconds := s.random.IntN(40000)
	if err := s.update(`UPDATE queue SET visibility_timeout = $2 WHERE name = $1`, name, seconds); err != nil {
		return err
	}
	return s.wish(name, map[string]string{"visibility": fmt.Sprint(seconds)})
}

// remove deletes one of the user's objects of a kind.
func (s *session) remove(kind, table string) error {
	name, record, ok, err := s.pick(kind, true)
	if err != nil || !ok {
		return err
	}
	if err := s.exec(`UPDATE chaos.object SET gone = true, gone_in = nullif($2, '') WHERE name = $1`, name, s.batch); err != nil {
		return err
	}
	return s.update(`DELETE FROM `+table+` WHERE id = $1`, record)
}

func (s *session) deleteSubnet() error { return s.remove("subnet", "subnet") }
func (s *session) deleteGroup() error  { return s.remove("group", "security_group") }
func (s *session) deleteQueue() error  { return s.remove("queue", "queue") }
func (s *session) deleteTable() error  { return s.remove("table", "dynamo_table") }

// expireQueue has a queue deleted in a moment. Nobody edits it any more.
func (s *session) expireQueue() error {
	name, record, ok, err := s.pick("queue", true)
	if err != nil || !ok {
		return err
	}
	if err := s.exec(`UPDATE chaos.object SET gone = true WHERE name = $1`, name); err != nil {
		return err
	}
	return s.exec(`SELECT iasql_expire('queue', $1, clock_timestamp() + $2 * interval '1 second')`, record,
		2+s.random.IntN(8))
}

// pauseQueue has nothing pushed or pulled of a queue for a moment.
func (s *session) pauseQueue() error {
	_, record, ok, err := s.pick("queue", true)
	if err != nil || !ok {
		return err
	}
	return s.exec(`INSERT INTO iasql_mode (table_name, record_id, mode, until) VALUES ('queue', $1, 'PAUSE', clock_timestamp() + $2 * interval '1 second')
		ON CONFLICT DO NOTHING`, record, 2+s.random.IntN(4))
}

// deleteNetwork deletes a VPC with all that is in it.
func (s *session) deleteNetwork() error {
	name, record, ok, err := s.pick("vpc", true)
	if err != nil || !ok {
		return err
	}
	for _, kind := range []struct{ name, table string }{{"subnet", "subnet"}, {"group", "security_group"}} {
		if err := s.exec(`DELETE FROM `+kind.table+
			` WHERE id IN (SELECT record FROM chaos.object WHERE parent = $1 AND kind = $2 AND NOT gone)`, name,
			kind.name); err != nil {
			return err
		}
	}
	if err := s.exec(`UPDATE chaos.object SET gone = true WHERE parent = $1 OR name = $1`, name); err != nil {
		return err
	}
	return s.update(`DELETE FROM vpc WHERE id = $1`, record)
}
