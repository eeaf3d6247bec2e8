package modules

// Calls are calls of one service that name the objects they touch in the same way.
type Calls struct {
	Names []string
	touch Touch
}

// Request are calls whose request names the objects, at a path.
func Request(path string, names ...string) Calls {
	return Calls{Names: names, touch: Touch{At: []string{"requestParameters." + path}}}
}

// Response are calls whose answer names the objects, at a path.
func Response(path string, names ...string) Calls {
	return Calls{Names: names, touch: Touch{At: []string{"responseElements." + path}}}
}

// Details are what a service does by itself, and where it says to what.
func Details(path string, names ...string) Calls {
	return Calls{Names: names, touch: Touch{At: []string{"serviceEventDetails." + path}}}
}

// Unnamed are calls whose records do not name the objects: the table is listed.
func Unnamed(names ...string) Calls { return Calls{Names: names} }

// Or adds another path at which the same may be.
func (c Calls) Or(path string) Calls {
	c.touch.At = append(c.touch.At[:len(c.touch.At):len(c.touch.At)], path)
	return c
}

// In says which column has what is found; see [Touch.Column].
func (c Calls) In(column string) Calls { c.touch.Column = column; return c }

// Beginning says what that begins with; see [Touch.Prefix].
func (c Calls) Beginning(prefix string) Calls { c.touch.Prefix = prefix; return c }

// After says what stands before it; see [Touch.After].
func (c Calls) After(separator string) Calls { c.touch.After = separator; return c }

// Whole says where each column of an identity of several is; see [Touch.Identity].
func (c Calls) Whole(identity ...IdentityPart) Calls { c.touch.Identity = identity; return c }

// Tags says that they change tags and nothing else.
func (c Calls) Tags() Calls { c.touch.Portion = JustTags; return c }

// Touches returns the touches by calls of a service: "ec2.amazonaws.com".
func Touches(source string, calls ...Calls) []Touch {
	var touches []Touch
	for _, c := range calls {
		for _, name := range c.Names {
			t := c.touch
			t.Source, t.Name = source, name
			touches = append(touches, t)
		}
	}
	return touches
}
