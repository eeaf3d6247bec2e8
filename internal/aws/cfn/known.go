package cfn

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"iasql/internal/modules"
)

// namesText has a line for each name: the name, the type, and a sentence with what people call
// its objects.
//
//go:embed names.txt
var namesText string

// Known returns the names that people know types of AWS by, in the order of the file. A type
// that has one can be installed by it, and its table has it: iam_policy is a better name for
// AWS::IAM::ManagedPolicy than the one that the rule gives. Nobody changes what it returns.
var Known = sync.OnceValue(func() []modules.TypeName {
	var names []modules.TypeName
	for line := range strings.Lines(namesText) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		typeName, doc, _ := strings.Cut(rest, " ")
		names = append(names, modules.TypeName{Name: name, Type: typeName, Doc: doc})
	}
	return names
})

// KnownAs returns the type that people know by a name; "" for none.
func KnownAs(name string) string {
	return known(func(k modules.TypeName) bool { return k.Name == name }).Type
}

// Sentence returns what the objects of a type are and what people call them; "" for a type
// that is not [Known].
func Sentence(typeName string) string {
	return known(func(k modules.TypeName) bool { return k.Type == typeName }).Doc
}

func known(is func(modules.TypeName) bool) modules.TypeName {
	if i := slices.IndexFunc(Known(), is); i >= 0 {
		return Known()[i]
	}
	return modules.TypeName{}
}
