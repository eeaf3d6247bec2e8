package chaos

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"iasql/internal/test/cloudcontrol"
)

// kinds of things are as many resource types, which a fake of Cloud Control has beside the
// emulator: some have an identifier that AWS chooses, some are known by their names, and the
// last two name a thing of the first two.
const kinds = "abcdefghij"

var thingsAt = cloudcontrol.Scope{Account: "123456789012", Region: "us-east-1"}

// thingTable is the table of a kind of things.
func thingTable(kind string) string { return "example_chaos_" + kind }

// thingKind is how notes call a kind.
func thingKind(letter byte) string { return "thing_" + string(letter) }

func isThing(kind string) bool { return strings.HasPrefix(kind, "thing_") }

func thingType(kind string) string {
	return "Example::Chaos::Thing" + strings.ToUpper(strings.TrimPrefix(kind, "thing_"))
}

// parentKind is the kind of things that those of a kind name; "" for none.
func parentKind(kind string) string {
	switch kind {
	case "thing_i":
		return "thing_a"
	case "thing_j":
		return "thing_b"
	}
	return ""
}

// thingSchema describes a kind of things.
func thingSchema(letter byte) []byte {
	kind := thingKind(letter)
	identifier, parent := "ThingId", ""
	if letter%2 == 0 {
		identifier = "ThingName"
	}
	if of := parentKind(kind); of != "" {
		key := "ThingId"
		if of == "thing_b" {
			key = "ThingName"
		}
		parent = fmt.Sprintf(`, "ParentId": {"type": "string", "relationshipRef": {"typeName": %q, "propertyPath": "/properties/%s"}}`, thingType(of), key)
	}
	handler := `{"permissions": ["chaos:Things"]}`
	return fmt.Appendf(nil, `{"typeName": %q, "description": "Things.", "additionalProperties": false,
		"properties": {"ThingId": {"type": "string"}, "ThingName": {"type": "string"}, "Word": {"type": "string"}, "Size": {"type": "integer"}%s},
		"required": ["ThingName"], "primaryIdentifier": ["/properties/%s"], "readOnlyProperties": ["/properties/ThingId"], "createOnlyProperties": ["/properties/ThingName"],
		"tagging": {"taggable": false}, "handlers": {"create": %[4]s, "read": %[4]s, "update": %[4]s, "delete": %[4]s, "list": %[4]s}}`,
		thingType(kind), parent, identifier, handler)
}

// startThings starts the fake, and returns an endpoint that has it beside another one.
func startThings(t *testing.T, others string) (*cloudcontrol.Server, string) {
	schemas := map[string][]byte{}
	for i := range len(kinds) {
		schemas[thingType(thingKind(kinds[i]))] = thingSchema(kinds[i])
	}
	fake := cloudcontrol.Start(t, cloudcontrol.Options{Schemas: schemas, Takes: 250 * time.Millisecond,
		Lag:     500 * time.Millisecond,
		Account: func(string) string { return thingsAt.Account }})
	return fake, fake.Beside(t, others)
}

// someKind returns a kind of things.
func (s *session) someKind() string { return thingKind(kinds[s.random.IntN(len(kinds))]) }

func (s *session) createThing() error {
	kind := s.someKind()
	if n, err := s.count(kind); err != nil || n >= 3 {
		return err
	}
	n, err := s.fresh()
	if err != nil {
		return err
	}
	name, word, size := fmt.Sprintf("a%d-thing", n), s.word(), s.random.IntN(1000)
	columns, values, args, parent := "thing_name, word, size", "$1, $2, $3", []any{name, word, size}, ""
	if of := parentKind(kind); of != "" {
		above, record, ok, err := s.pick(of, false)
		if err != nil {
			return err
		}
		if ok {
			parent, columns, values, args = above, columns+", parent_id_record", values+", $4", append(args, record)
		}
	}
	var record int64
	if err := s.scalar(&record, fmt.Sprintf(`INSERT INTO %s (%s) VALUES (%s) RETURNING id`, thingTable(kind), columns,
		values), args...); err != nil {
		return err
	}
	return s.note(name, kind, parent, false, record,
		map[string]string{"name": name, "v": word, "size": fmt.Sprint(size)})
}

func (s *session) changeThing() error {
	kind := s.someKind()
	return s.change(kind, false, func(_ string, id int64) (map[string]string, error) {
		word, size := s.word(), s.random.IntN(1000)
		return map[string]string{"v": word, "size": fmt.Sprint(size)},
			s.update(`UPDATE `+thingTable(kind)+` SET word = $2, size = $3 WHERE id = $1`, id, word, size)
	})
}

// renameThing replaces a thing; what names it follows.
func (s *session) renameThing() error {
	kind := s.someKind()
	return s.change(kind, true, func(_ string, id int64) (map[string]string, error) {
		n, err := s.fresh()
		if err != nil {
			return nil, err
		}
		if _, err := s.tx.Exec(s.ctx, `SET LOCAL iasql.allow_replace = 'on'`); err != nil {
			return nil, err
		}
		name := fmt.Sprintf("a%d-thing", n)
		return map[string]string{"name": name},
			s.update(`UPDATE `+thingTable(kind)+` SET thing_name = $2 WHERE id = $1`, id, name)
	})
}

// deleteThing deletes a thing that nothing names.
func (s *session) deleteThing() error {
	kind := s.someKind()
	name, record, ok, err := s.pick(kind, true)
	if err != nil || !ok {
		return err
	}
	var named bool
	if err := s.scalar(&named, `SELECT EXISTS (SELECT FROM chaos.object WHERE parent = $1 AND NOT gone)`, name); err != nil || named {
		return err
	}
	if err := s.exec(`UPDATE chaos.object SET gone = true, gone_in = nullif($2, '') WHERE name = $1`, name, s.batch); err != nil {
		return err
	}
	return s.update(`DELETE FROM `+thingTable(kind)+` WHERE id = $1`, record)
}

// outsideThing is a thing that the outsider made.
type outsideThing struct {
	kind, id, word string
	gone           bool
}

// editThing makes, changes or deletes a thing.
func (o *outsider) editThing(ctx context.Context, random *rand.Rand) (bool, error) {
	alive := slices.DeleteFunc(slices.Sorted(maps.Keys(o.things)), func(name string) bool {
		return o.things[name].gone
	})
	word := fmt.Sprintf("o%d", o.serial)
	if len(alive) < 4 || random.IntN(4) == 0 && len(alive) < 12 {
		name, kind := fmt.Sprintf("b%d-thing", o.serial), thingKind(kinds[random.IntN(len(kinds))])
		id, err := o.w.things.Put(thingsAt, thingType(kind), map[string]any{"ThingName": name, "Word": word, "Size": 1})
		if err == nil {
			o.things[name] = &outsideThing{kind: kind, id: id, word: word}
		}
		return err == nil, err
	}
	thing := o.things[alive[random.IntN(len(alive))]]
	if random.IntN(4) > 0 {
		err := o.w.things.Edit(thingsAt, thingType(thing.kind), thing.id, func(p map[string]any) { p["Word"] = word })
		if err == nil {
			thing.word = word
		}
		return err == nil, err
	}
	there := o.recorded(ctx, random, `SELECT thing_name FROM `+thingTable(thing.kind))
	if there != nil && !there[alive[0]] {
		return false, nil
	}
	err := o.w.things.Remove(thingsAt, thingType(thing.kind), thing.id)
	thing.gone = err == nil
	return err == nil, err
}

// thingsThere returns the things that there are.
func (w *world) thingsThere() (objects []cloudObject) {
	for i := range len(kinds) {
		kind := thingKind(kinds[i])
		for _, p := range w.things.Objects(thingsAt, thingType(kind)) {
			objects = append(objects, cloudObject{kind, fmt.Sprint(p["ThingName"]),
				map[string]string{"name": fmt.Sprint(p["ThingName"]), "v": fmt.Sprint(p["Word"]),
					"size": fmt.Sprint(p["Size"])}})
		}
	}
	return objects
}

// checkThings checks that what names a thing names its record's object, and the record that
// it was to name.
func (w *world) checkThings(ctx context.Context) {
	for i := range len(kinds) {
		kind := thingKind(kinds[i])
		of := parentKind(kind)
		if of == "" {
			continue
		}
		key := map[string]string{"thing_a": "thing_id", "thing_b": "thing_name"}[of]
		for _, wrong := range w.list(fmt.Sprintf(`
			SELECT concat_ws(' ', c.thing_name, 'names', c.parent_id, 'and not', p.%[3]s, 'of', p.thing_name) FROM %[1]s c JOIN %[2]s p ON p.id = c.parent_id_record
			WHERE c.parent_id IS DISTINCT FROM p.%[3]s
			UNION ALL
			SELECT concat_ws(' ', o.name, 'names the record', c.parent_id_record, 'and not', p.record) FROM chaos.object o JOIN chaos.object p ON p.name = o.parent JOIN %[1]s c ON c.id = o.record
			WHERE o.kind = '%[4]s' AND NOT o.gone AND NOT o.unsure AND NOT p.unsure AND c.parent_id_record IS DISTINCT FROM p.record`, thingTable(kind), thingTable(of), key, kind)) {
			w.t.Errorf("%s: %s", kind, wrong)
		}
		for id, p := range w.things.Objects(thingsAt, thingType(kind)) {
			var want *string
			err := w.admin.QueryRow(ctx, fmt.Sprintf(`SELECT parent_id FROM %s WHERE thing_name = $1`,
				thingTable(kind)), p["ThingName"]).Scan(&want)
			if errors.Is(err, pgx.ErrNoRows) {
				continue // which is told of elsewhere
			}
			if have, _ := p["ParentId"].(string); err != nil || want != nil && have != *want || want == nil &&
				have != "" {
				w.t.Errorf("the object %s of %s names %q, and its row does not: %v", id, kind, have, err)
			}
		}
	}
}
