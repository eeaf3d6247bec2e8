package awstypes

import (
	"context"
	"errors"
	"testing"

	"iasql/internal/aws/cfn"
	"iasql/internal/modules"
)

// TestFixedColumnWaits: a column that has turned out to be fixed at creation is not changed in place a second time by
// the cycle that has found it out, which does not know yet that the object is to be replaced.
func TestFixedColumnWaits(t *testing.T) {
	t.Parallel()
	var learnt []string
	r := &resource{t: &cfn.Type{Name: "Example::Mail::Sender", Table: &modules.Table{Name: "example_mail_sender"}},
		learn: func(_ context.Context, _ string, columns []string) error {
			learnt = columns
			return nil
		}}
	refusal := r.learnt(t.Context(), []string{"weight"}, errors.New("NotUpdatable"))
	if modules.ClassOf(refusal) != modules.Invalid || len(learnt) != 1 {
		t.Fatalf("%v of class %v; learnt is %v", refusal, modules.ClassOf(refusal), learnt)
	}
	// There are no clients: a call would panic.
	err := r.Update(t.Context(), modules.Mutation{Columns: []string{"name", "weight"}})
	if modules.ClassOf(err) != modules.Transient {
		t.Errorf("another change of it: %v of class %v", err, modules.ClassOf(err))
	}
	if err := r.renewed([]string{"name"}); err != nil {
		t.Errorf("a change of another column: %v", err)
	}
}
