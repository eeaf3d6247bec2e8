package modules

import (
	"context"
	"strings"
	"testing"
)

// described is a resource that has nothing but its description.
type described struct{ table *Table }

func (d described) Table() *Table { return d.table }

func (d described) List(context.Context, ListRequest, func([]Observation) error) error { return nil }

func (d described) Get(context.Context, GetRequest) ([]Observation, error) { return nil, nil }

// What names an object in the cloud is its identity, or assigned and unique.
func TestReferenceKey(t *testing.T) {
	t.Parallel()
	text := func(name string) Column { return Column{Name: name, Type: TypeText, Doc: name} }
	table := func(name string, columns ...Column) *Table {
		return &Table{Name: name, Doc: name, Provider: "test",
			Columns: append([]Column{text(ColumnAccount)}, columns...)}
	}
	identity, assigned, chosen := text("name"), text("arn"), text("label")
	identity.Identity, assigned.Computed = true, true
	second := text("path")
	second.Identity = true
	for name, c := range map[string]struct {
		key    string
		change func(*Table)
		wrong  string
	}{
		"the identity": {key: "name"},
		"no column": {key: "nome",
			wrong: "part: column whole_id references whole.nome, which does not exist"},
		"nothing":         {key: "", wrong: "which does not exist"},
		"chosen by users": {key: "label", wrong: "is neither the table's identity nor assigned by the cloud"},
		"a part of the identity": {key: "name", change: func(t *Table) {
			t.Columns = append(t.Columns, second)
		}, wrong: "is neither the table's identity"},
		"replaced by a successor": {key: "arn", wrong: "lacks DestroyBeforeCreate"},
		"assigned": {key: "arn", change: func(t *Table) {
			t.DestroyBeforeCreate = true
		}, wrong: "its Uniques lack {account, arn}"},
		"assigned and unique": {key: "arn", change: func(t *Table) {
			t.DestroyBeforeCreate, t.Uniques = true, [][]string{{"label"}, {ColumnAccount, "arn"}}
		}},
	} {
		whole := table("whole", identity, assigned, chosen)
		if c.change != nil {
			c.change(whole)
		}
		own := text("name")
		own.Identity = true
		part := table("part", own, Column{Name: "whole_id", Type: TypeBigint, Doc: "whole",
			References: &Reference{Table: "whole", Key: c.key}})
		_, err := NewRegistry(&Module{Name: "m", Version: 1, Resources: []Resource{described{whole}, described{part}}})
		switch {
		case c.wrong == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)):
			t.Errorf("%s: %v, want %q", name, err, c.wrong)
		}
	}
}

// Objects are listed within some parents only where a column of the parents says so that
// belongs to the database alone.
func TestListedIf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(whole, part *Table)
		wrong  string
	}{
		"as it should be": {change: func(_, _ *Table) {}},
		"no such column": {func(_, part *Table) {
			part.Columns[1].References.ListedIf = "there"
		}, "whole.there is no Local column of type boolean"},
		"a column of the cloud": {func(whole, _ *Table) {
			whole.Columns[2].Local = false
		}, "whole.listed is no Local column of type boolean"},
		"a text": {func(whole, _ *Table) {
			whole.Columns[2].Type = TypeText
		}, "whole.listed is no Local column of type boolean"},
		"a reference by id": {func(_, part *Table) {
			part.Columns[1].References.ByKey, part.Columns[1].Type = false, TypeBigint
		}, "which holds the key itself"},
		"no part of the identity": {func(_, part *Table) {
			part.Columns[1].Identity = false
		}, "the first column of the identity"},
		"listed in each region": {func(_, part *Table) { part.Reach = PerRegion }, "once an account"},
	} {
		text := func(name string) Column { return Column{Name: name, Type: TypeText, Doc: name, Identity: true} }
		whole := &Table{Name: "whole", Doc: "whole", Provider: "test",
			Columns: []Column{{Name: ColumnAccount, Type: TypeText, Doc: "a"}, text("name"),
				{Name: "listed", Type: TypeBool, Doc: "listed", Local: true}}}
		part := &Table{Name: "part", Doc: "part", Provider: "test",
			Columns: []Column{{Name: ColumnAccount, Type: TypeText, Doc: "a"}, text("whole_name"), text("key")}}
		part.Columns[1].References = &Reference{Table: "whole", Key: "name", ByKey: true, ListedIf: "listed"}
		c.change(whole, part)
		_, err := NewRegistry(&Module{Name: "m", Version: 1, Resources: []Resource{described{whole}, described{part}}})
		if c.wrong == "" && err != nil || c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) {
			t.Errorf("%s: %v, want %q", name, err, c.wrong)
		}
	}
}

// A name that people know a type by is nothing else's.
func TestNameTypes(t *testing.T) {
	t.Parallel()
	r, err := NewRegistry(&Module{Name: "m", Version: 1, Resources: []Resource{described{&Table{Name: "whole", Doc: "whole",
		Provider: "test", Columns: []Column{{Name: ColumnAccount, Type: TypeText, Doc: "account"},
			{Name: "name", Type: TypeText, Doc: "name", Identity: true}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	good := TypeName{Name: "part", Type: "Some::Kind::Of", Doc: "A part."}
	for wrong, names := range map[string][]TypeName{
		"":                     {good, {Name: "piece", Type: "Another::Kind::Of", Doc: "A piece."}},
		"is that of a module":  {good, {Name: "m", Type: "Another::Kind::Of", Doc: "It."}},
		"of a table or":        {good, {Name: "whole", Type: "Another::Kind::Of", Doc: "It."}},
		"is given twice":       {good, {Name: "part", Type: "Another::Kind::Of", Doc: "It."}},
		"or the type has two":  {good, {Name: "piece", Type: "Some::Kind::Of", Doc: "It."}},
		"is no name, no type,": {{Name: "Part", Type: "Some::Kind::Of", Doc: "It."}},
		"or says nothing":      {{Name: "part", Type: "Some::Kind::Of"}},
	} {
		if err := r.NameTypes(names); (err == nil) != (wrong == "") || err != nil && !strings.Contains(err.Error(), wrong) {
			t.Errorf("%v: %v, and not %q", names, err, wrong)
		}
	}
}
