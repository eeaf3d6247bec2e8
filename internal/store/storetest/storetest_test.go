package storetest

import "testing"

// The model agrees with itself.
func TestModel(t *testing.T) {
	t.Parallel()
	Run(t, func(testing.TB) Store { return Model() })
}
