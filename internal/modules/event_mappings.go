package modules

// Calls are calls of one service that name the objects they touch in the same way.
type Calls struct {
	Names   []string
	mapping EventMapping
}

// Request are calls whose request names the objects, at a path.
func Request(path string, names ...string) Calls {
	return Calls{Names: names, mapping: EventMapping{At: []string{"requestParameters." + path}}}
}

// Response are calls whose answer names the objects, at a path.
func Response(path string, names ...string) Calls {
	return Calls{Names: names, mapping: EventMapping{At: []string{"responseElements." + path}}}
}

// Details are what a service does by itself, and where it says to what.
func Details(path string, names ...string) Calls {
	return Calls{Names: names, mapping: EventMapping{At: []string{"serviceEventDetails." + path}}}
}

// Unnamed are calls whose records do not name the objects: the table is listed.
func Unnamed(names ...string) Calls { return Calls{Names: names} }

// Or adds another path at which the same may be.
func (c Calls) Or(path string) Calls {
	c.mapping.At = append(c.mapping.At[:len(c.mapping.At):len(c.mapping.At)], path)
	return c
}

// In says which column has what is found; see [EventMapping.Column].
func (c Calls) In(column string) Calls { c.mapping.Column = column; return c }

// Beginning says what that begins with; see [EventMapping.Prefix].
func (c Calls) Beginning(prefix string) Calls { c.mapping.Prefix = prefix; return c }

// After says what stands before it; see [EventMapping.After].
func (c Calls) After(separator string) Calls { c.mapping.After = separator; return c }

// Whole says where each column of an identity of several is; see [EventMapping.Identity].
func (c Calls) Whole(identity ...IdentityPart) Calls { c.mapping.Identity = identity; return c }

// Tags says that they change tags and nothing else.
func (c Calls) Tags() Calls { c.mapping.Extent = JustTags; return c }

// EventMappings returns the event mappings by calls of a service: "ec2.amazonaws.com".
func EventMappings(source string, calls ...Calls) []EventMapping {
	var mappings []EventMapping
	for _, c := range calls {
		for _, name := range c.Names {
			t := c.mapping
			t.Source, t.Name = source, name
			mappings = append(mappings, t)
		}
	}
	return mappings
}
