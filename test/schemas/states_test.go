package schemas

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
	"iasql/internal/modules/all"
)

// declared is a declared table.
type declared interface {
	modules.Phaser
	Members() map[string][]declare.Member
	Object() reflect.Type
}

// What a state is, by its name: the first of these that matches. AWS's names say
// so well enough that every exception has a reason, in [otherwise].
var sounds = []struct {
	like  string
	words *regexp.Regexp
}{
	{"failed", regexp.MustCompile(`(?i)fail|error|incompatible`)},
	{"going", regexp.MustCompile(`(?i)delet|terminat|shutting|draining|deprovision|detach|disassociat|remov|inactive`)},
	{"forming", regexp.MustCompile(`(?i)creating|pending|provisioning|initiating|attaching|associating`)},
}

func sound(state string) string {
	for _, s := range sounds {
		if s.words.MatchString(state) {
			return s.like
		}
	}
	return ""
}

// said is what a resource says of an object whose column has that value.
func said(r declared, column, state string) string {
	row := modules.Row{column: modules.Text(state)}
	switch phase, _ := r.Phase(row); phase {
	case modules.Going:
		return "going"
	case modules.Forming:
		return "forming"
	case modules.Failed:
		return "failed"
	}
	return ""
}

var stateful = regexp.MustCompile(`(^|_)(state|status)$`)

// Every state in which AWS makes an object, deletes it, or could not make it, is
// declared as such (R17), or it is said why not.
func TestStates(t *testing.T) {
	t.Parallel()
	excused, left := map[string]bool{}, map[string]bool{}
	checked := 0
	for _, m := range all.Modules(aws.New(aws.Options{})) {
		for _, resource := range m.Resources {
			r, ok := resource.(declared)
			if !ok { // members of lists, which have no state of their own
				continue
			}
			table, name := table{Table: r.Table(), members: r.Members()}, r.Table().Name
			read := map[string]bool{}
			for i := range table.Columns {
				c := &table.Columns[i]
				key := name + "." + c.Name
				for _, m := range table.members[c.Name] {
					read[m.Path] = true
				}
				if !c.Computed {
					continue // it is what users ask for
				}
				states, _ := table.enumeration(c)
				if told := documented[key]; told != nil {
					states = told
				}
				if states == nil && stateful.MatchString(c.Name) {
					t.Errorf("%s has a state, and nobody says which there are", key)
				}
				for _, state := range states {
					checked++
					is, like := said(r, c.Name, state), sound(state)
					entry := key + " " + state
					if is == like {
						continue
					}
					if otherwise[entry] == "" {
						t.Errorf("%s is %q, sounds like %q, and there is no reason", entry, is, like)
					}
					excused[entry] = true
				}
			}
			for _, path := range states(r.Object(), "", 2) {
				entry := name + ": " + path
				if !read[path] && unread[entry] == "" {
					t.Errorf("%s is read by no column, and there is no reason", entry)
				}
				if !read[path] {
					left[entry] = true
				}
			}
		}
	}
	for entry := range otherwise {
		if !excused[entry] {
			t.Errorf("%s is as it sounds, and has a reason", entry)
		}
	}
	for entry := range unread {
		if !left[entry] {
			t.Errorf("%s has a reason for nothing", entry)
		}
	}
	if checked < 150 {
		t.Errorf("only %d states are compared", checked)
	}
}

// What people have put into an object, and nobody can make again, is not ENFORCE's to
// delete (R18).
func TestHoldsData(t *testing.T) {
	t.Parallel()
	var hold []string
	for _, table := range tables() {
		if table.HoldsData {
			hold = append(hold, table.Name)
		}
	}
	if less, more := without(holdData, hold), without(hold, holdData); len(less)+len(more) > 0 {
		t.Errorf("%v hold data, and do not say so; %v say so, and are not expected to", less, more)
	}
}

// states are the members of a structure, and of those in it, that are states.
func states(of reflect.Type, at string, deep int) (paths []string) {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct || deep == 0 {
		return nil
	}
	for i := range of.NumField() {
		f := of.Field(i)
		path := at + f.Name
		values, _ := valuesOf(f.Type)
		switch {
		case !f.IsExported() || f.Type.Kind() == reflect.Slice:
		case f.Anonymous:
			paths = append(paths, states(f.Type, at, deep)...)
		case slices.ContainsFunc(values, func(v string) bool { return sound(v) != "" }),
			values == nil && f.Type == reflect.TypeFor[*string]() &&
				(strings.HasSuffix(f.Name, "State") || strings.HasSuffix(f.Name, "Status")):
			paths = append(paths, path)
		default:
			paths = append(paths, states(f.Type, path+".", deep-1)...)
		}
	}
	return paths
}
