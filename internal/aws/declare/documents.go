package declare

import (
	"encoding/json"
	"slices"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// Alike tells whether two JSON documents are the same structure of the SDK's, for
// [Column.Same]: a member that is left out is as good as an empty one. fill adds
// what AWS fills in by itself; nil where that is nothing.
func Alike[T any](fill func(*T)) func(a, b string) bool {
	read := func(text string) (string, error) {
		var structure T
		if err := aws.ParseDocument("", modules.Text(text), &structure); err != nil {
			return "", err
		}
		if fill != nil {
			fill(&structure)
		}
		document, err := aws.Document(structure)
		return document.String(), err
	}
	return Equal(read, func(x, y string) bool { return x == y })
}

// Equal tells whether what is read of two texts is equal, for [Column.Same]. Texts that cannot be read are the same
// if they are equal.
func Equal[T any](read func(text string) (T, error), equal func(x, y T) bool) func(a, b string) bool {
	return func(a, b string) bool {
		x, err := read(a)
		y, failed := read(b)
		return err == nil && failed == nil && equal(x, y) || a == b
	}
}

// SameDocument reports whether two structures of the SDK's are the same document.
func SameDocument(a, b any) bool {
	x, err := aws.Document(a)
	y, failed := aws.Document(b)
	return err == nil && failed == nil && x == y
}

// Shaped are lists of structures, T, as calls take them: what AWS answers with of each besides is left out. order
// puts those that are read, and that are sent, into an order of the module's own; nil leaves theirs.
func Shaped[T any](column string, order func(list []T)) Codec {
	if order == nil {
		order = func([]T) {}
	}
	return Codec{
		Decode: func(member any) (modules.Value, error) {
			text, err := json.Marshal(member)
			if err != nil {
				return modules.Null, err
			}
			var list []T
			if err := json.Unmarshal(text, &list); err != nil || len(list) == 0 {
				return modules.Null, err
			}
			order(list)
			return aws.Document(list)
		},
		Encode: func(v modules.Value) (any, error) {
			var list []T
			err := aws.ParseDocument(column, v, &list)
			order(list)
			return list, err
		},
	}
}

// Both reads the documents that the step has and wants in a column. complete adds what AWS fills in to each; nil adds
// nothing.
func Both[T any](s *Step, column string, complete func(*T)) (have, want T, err error) {
	if err = aws.ParseDocument(column, s.Have[column], &have); err == nil {
		err = aws.ParseDocument(column, s.Want[column], &want)
	}
	if complete != nil {
		complete(&have)
		complete(&want)
	}
	return have, want, err
}

// Parts changes a list of what the API has as objects of their own: it puts those that are new or differ, and then
// removes those that are wanted no longer, which need not be there any more. had is what there is of one that
// differs, nil of one that is new.
func Parts[T any](have, want []T, key func(T) string, same func(a, b T) bool, put func(part T, had *T) error,
	remove func(T) error) error {
	at := func(list []T, part T) int {
		return slices.IndexFunc(list, func(other T) bool { return key(other) == key(part) })
	}
	for _, part := range want {
		var had *T
		if i := at(have, part); i >= 0 {
			had = &have[i]
		}
		if had != nil && same(*had, part) {
			continue
		}
		if err := put(part, had); err != nil {
			return err
		}
	}
	for _, part := range have {
		if at(want, part) < 0 {
			if err := aws.IfExists(remove(part)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Added returns what a list of texts is to get, and to lose.
func (s *Step) Added(column string) (added, gone []string) {
	have, want := s.Have[column].Strings(), s.Want[column].Strings()
	return Without(want, have), Without(have, want)
}

// Without returns the members of list that are not in others.
func Without[T comparable](list, others []T) []T {
	return slices.DeleteFunc(slices.Clone(list), func(member T) bool { return slices.Contains(others, member) })
}

// Or sets a member of a structure that is left out.
func Or[T any](member **T, value T) {
	if *member == nil {
		*member = &value
	}
}
