package declare

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"iasql/internal/modules"
)

// Create implements [modules.Creator].
func (r *Resource) Create(ctx context.Context, m modules.Mutation) (modules.Row, error) {
	s, err := r.stepFor(ctx, &m)
	if err != nil {
		return nil, err
	}
	if s, err = r.at(ctx, s, reflect.Value{}, m.Want); err != nil {
		return nil, err
	}
	if r.createBy != nil {
		return r.createBy(ctx, s)
	}
	return s.Create(ctx)
}

// Create creates the object that the step wants by the table's call.
func (s *Step) Create(ctx context.Context) (modules.Row, error) {
	r := s.resource
	create, created := r.create, r.created
	for _, o := range r.origins {
		if v := s.Want[o.Column]; !v.IsNull() && v.String() != "false" {
			create, created = o.Create, o.created
			break
		}
	}
	in := create.input()
	for _, t := range created {
		v := s.Want[t.column.Name]
		if t.column.Column.Same(v, modules.Null) || t.column.hasUsual && t.column.Column.Same(v, t.column.usual) {
			continue // AWS refuses many an empty list
		}
		if err := t.send(ctx, s, in, v); err != nil {
			return nil, err
		}
	}
	if err := s.along(ctx, create, in); err != nil {
		return nil, err
	}
	token := ""
	switch r.description.Creation {
	case modules.ByToken:
		tokenMember(create.in).set(in, reflect.ValueOf(&s.Token))
	case modules.ByTag:
		if r.token != nil {
			tokenMember(create.in).set(in, reflect.ValueOf(&s.Token))
		} else {
			token = s.Token
		}
	}
	if r.tags != nil {
		r.tags.tagging.addTags(in, s.Want, token)
	}
	out, err := create.run(ctx, s, in)
	if err != nil {
		return nil, err
	}
	return r.identify(create, s.Want, out.Elem())
}

// origin is an [Origin] with its columns found in its call's input.
type origin struct {
	Origin
	created []target
}

// bindOrigin finds what the call takes. The column that says from what the object is created has to be among that.
func (b *binding) bindOrigin(o *origin) error {
	defects := []error{o.Create.check(b.service.client, b.columns)}
	note := func(format string, args ...any) {
		defects = append(defects, fmt.Errorf("call %s: %s", o.Create.name, fmt.Sprintf(format, args...)))
	}
	for i := range b.columns {
		c := &b.columns[i]
		if c.Column.Computed || c.tagging != nil || c.Column.Local {
			continue
		}
		if p := o.Create.bind(c); p != nil {
			o.created = append(o.created, target{column: c, path: p})
		}
	}
	says := func(t target) bool {
		return t.column.Name == o.Column && (t.column.along || t.column.Column.CreateOnly)
	}
	if !slices.ContainsFunc(b.along[o.Create], says) && !slices.ContainsFunc(o.created, says) {
		note("no column %s is sent along with it", o.Column)
	}
	if _, err := resolve(o.Create.out, o.Create.answer); err != nil {
		note("%v", err)
	}
	switch token := tokenMember(o.Create.in); {
	case b.description.Creation == modules.ByToken && token == nil, b.token != nil && token == nil:
		note("its input takes no client token")
	case b.description.Creation == modules.ByTag && b.token == nil && b.tags != nil &&
		!b.tags.tagging.created(o.Create.in):
		note("its input takes no tags")
	}
	return errors.Join(defects...)
}

// identify returns what names an object that was created: what users choose, and
// what AWS has answered.
func (b *binding) identify(create *Op, want modules.Row, out reflect.Value) (modules.Row, error) {
	row := modules.Row{}
	answer, _ := resolve(out.Type(), create.answer)
	object, there := answer.get(out)
	for i := range b.columns {
		c := &b.columns[i]
		switch {
		case !c.key:
		case !c.Column.Computed:
			row[c.Name] = want[c.Name]
		case there:
			p := b.answered(c, answer.leaf)
			if p == nil {
				continue
			}
			v, ok := p.get(object)
			value, err := decode(c, v, ok)
			if err != nil {
				return nil, err
			}
			if !value.IsNull() {
				row[c.Name] = value
			}
		}
	}
	if _, ok := b.description.Key(row); !ok {
		return nil, fmt.Errorf("the answer of %s does not say what it has created", create.name)
	}
	return row, nil
}
