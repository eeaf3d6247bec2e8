package declare

import (
	"context"
	"fmt"
	"reflect"

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
	in := r.create.input()
	for _, t := range r.created {
		v := s.Want[t.column.Name]
		if t.column.Column.Same(v, modules.Null) || t.column.hasUsual && t.column.Column.Same(v, t.column.usual) {
			continue // AWS refuses many an empty list
		}
		if err := t.send(ctx, s, in, v); err != nil {
			return nil, err
		}
	}
	token := ""
	switch r.description.Creation {
	case modules.ByToken:
		tokenMember(r.create.in).set(in, reflect.ValueOf(&s.Token))
	case modules.ByTag:
		if r.token != nil {
			r.createToken().set(in, reflect.ValueOf(&s.Token))
		} else {
			token = s.Token
		}
	}
	if r.tags != nil {
		r.tags.tagging.addTags(in, s.Want, token)
	}
	out, err := r.create.run(ctx, s, in)
	if err != nil {
		return nil, err
	}
	return r.identify(s.Want, out.Elem())
}

// identify returns what names an object that was created: what users choose, and
// what AWS has answered.
func (b *binding) identify(want modules.Row, out reflect.Value) (modules.Row, error) {
	row := modules.Row{}
	answer, _ := resolve(out.Type(), b.create.answer)
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
		return nil, fmt.Errorf("the answer of %s does not say what it has created", b.create.name)
	}
	return row, nil
}
